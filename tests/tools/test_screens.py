# SPDX-License-Identifier: Apache-2.0
"""What every command prints on a terminal of 80 columns: no line is wider, and a pipe gets the same words."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
from pages import built, cases, write
from planted import ENTRIES

COLUMNS = 80
SAMPLES = made_up.REPOSITORY / "tests" / "samples"
CUBINS = [str(SAMPLES / name) for name in ("inspect.cubin", "inspect_capped.cubin")]
CAPTURED = [str(SAMPLES / "intensity_ncu.csv"), "--code", str(SAMPLES / "intensity_code.txt")]
CALC = ["calc", "--device", "h200", "--block-size"]
pytestmark = pytest.mark.skipif(not built(), reason="no occbench is built")

# Of each command what it has to say where there is no GPU. BASE and NEW stand for folders of runs.
CALLS = {
    "version": ["--version"],
    "help of all": ["--help-all"],
    "calc": [*CALC, "256", "--registers", "33", "--dynamic-smem", "32KiB"],
    "calc, gains": [*CALC, "256", "--registers", "64"],
    "calc, every option": [
        *CALC, "1024", "--registers", "32", "--static-smem", "40KiB", "--dynamic-smem", "50KiB",
        "--barriers", "9", "--carveout", "100", "--cluster-size", "16",
    ],
    "calc, cannot launch": [*CALC, "1024", "--registers", "255"],
    "calc, streaming": [*CALC, "256", "--registers", "64", "--predict", "streaming"],
    "calc, compute": [*CALC, "256", "--registers", "64", "--predict", "compute", "--ilp", "4"],
    "calc, ranked": [*CALC, "all", "--registers", "40"],
    "calc of a compiler": ["calc", str(SAMPLES / "ptxas.txt"), *CALC[1:], "256"],
    "calc of a trace": ["calc", str(SAMPLES / "pytorch_trace.json")],
    "calc, tour": ["calc", "--tour"],
    "calc, no such device": ["calc", "--device", "none", "--block-size", "256", "--registers", "33"],
    "devices": ["devices"],
    "list": ["list"],
    "list, variants": ["list", "--variants"],
    "inspect": ["inspect", CUBINS[0]],
    "inspect, cannot launch": ["inspect", CUBINS[0], "--block-size", "256"],
    "inspect, ranked": ["inspect", CUBINS[0], "--block-size", "all"],
    "inspect, diff": ["inspect", "--diff", *CUBINS],
    "inspect, no binary": ["inspect", str(SAMPLES / "ptxas.txt")],
    "whatif": ["whatif", *CAPTURED, "--block-size", "64,512", "--gpu", "a100"],
    "run": [
        "run", "--device", "model:h200", "--experiment", "registers", "--preset", "quick", "--output", "out",
    ],
    "calibrate": ["calibrate"],
    "attach": ["attach", "--", "true"],
    "explain": ["explain", "BASE", "--all"],
    "compare": ["compare", "BASE", "NEW", "--verbose"],
    "cliffs": ["cliffs", "BASE", "--verbose", "--output", "cliffs.csv"],
    "predictions": ["predictions", "BASE"],
    "predictions, none": ["predictions", "OTHER"],
    "validate": ["validate", "BASE"],
    "plot": ["plot", "BASE", "--experiment", "none"],
    "fleet": ["fleet", "check", "BASE", "NEW"],
    "import-ncu": ["import-ncu", "BASE", str(made_up.REPOSITORY / "tests" / "tools" / "ncu_raw.csv")],
    "no such command's option": ["explain", "--none-of-these-options-is-there-for-this-command-of-occbench"],
}  # fmt: skip


def environment() -> dict[str, str]:
    """The program finds the tools that are installed beside this Python; no width but the terminal's."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    return inherited | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "xterm",
    }


def at_terminal(words: list[str], cwd: Path) -> list[str]:
    """The lines that the program leaves on a terminal, progress among them, without what colours them."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    program = subprocess.Popen(
        [built(), *words], cwd=cwd, env=environment(), stdin=other, stdout=other, stderr=other
    )
    os.close(other)
    said = b""
    while True:
        try:
            said += os.read(main, 1 << 16)
        except OSError:  # EIO: the last that held the other end is gone
            break
    os.close(main)
    program.wait()
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    write(home / "BASE", [made_up.with_prediction(row) for row in cases()])
    write(home / "NEW", [made_up.with_prediction(row, 0.2) for row in cases()], gpu_name="Another GPU")
    write(home / "OTHER")
    return home


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_no_line_is_wider_than_the_terminal(name: str, home: Path) -> None:
    lines = at_terminal(CALLS[name], home)
    assert any(lines), "says nothing"
    assert not any("Traceback" in line for line in lines)
    assert [line for line in lines if len(line) > COLUMNS] == []


def own_commands() -> list[str]:
    """Those of the program itself; of the tools' helps test_command.py asks the same."""
    if not built():
        return []
    ran = subprocess.run([built(), "--help"], capture_output=True, text=True, check=True)
    listed = re.findall(r"^  ([a-z][a-z-]+) ", ran.stdout.partition("\nOptions\n")[0], re.MULTILINE)
    return [word for word in listed if word not in ENTRIES]


@pytest.mark.parametrize("command", [None, *own_commands()])
def test_no_help_is_wider_than_the_terminal(command: str | None, tmp_path: Path) -> None:
    words = [command] if command else []
    lines = at_terminal([*words, "--help"], tmp_path)
    assert any(line.startswith("Usage: ") for line in lines)
    assert [line for line in lines if len(line) > COLUMNS] == []


@pytest.mark.parametrize("name", ["calc", "calc, streaming", "calc, tour", "list", "inspect, diff"])
def test_pipe_gets_the_same_text_unwrapped(name: str, home: Path) -> None:
    ran = subprocess.run([built(), *CALLS[name]], cwd=home, env=environment(), capture_output=True, text=True)
    assert max(map(len, ran.stdout.splitlines())) > COLUMNS
    assert set(ran.stdout.split()) == set(" ".join(at_terminal(CALLS[name], home)).split())
