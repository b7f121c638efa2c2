# SPDX-License-Identifier: Apache-2.0
"""The command under test, run to its end, for tests of what it says and leaves. OCCBENCH names the binary.

Classes named OnDevice need a device and are skipped without one; all others hide it.
"""

import contextlib
import csv
import gzip
import json
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile
import termios
import threading
import tomllib
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OCCBENCH = Path(os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")).resolve()
HAS_GPU = subprocess.run([OCCBENCH, "devices"], capture_output=True).returncode == 0
SANITIZED = "ASAN_OPTIONS" in os.environ  # by preset asan: there a loop takes some twenty times as long
on_device = unittest.skipUnless(HAS_GPU, "needs a GPU")
CALC = "calc --device h200 --block-size 256 --registers 32"
HEADER = "device,block_size,registers_per_thread,static_smem_bytes,dynamic_smem_bytes"
PARAMETERS = ROOT / "tests/made_up_parameters.json"


def commands() -> list[str]:
    """All that --help lists, in its order."""
    text = subprocess.run([OCCBENCH, "--help"], text=True, capture_output=True, check=True).stdout
    return re.findall(r"^  ([a-z][a-z-]+) +[A-Z]", text, re.MULTILINE)


def built_in() -> list[str]:
    """Those that are no Python tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [name for name in commands() if f"occbench-{name}" not in project["scripts"]]


def parameters_but(**changed: object) -> str:
    """The made-up parameters file with some parameters replaced by these, or left out where None."""
    content = json.loads(PARAMETERS.read_text())
    content["parameters"] |= changed
    content["parameters"] = {k: v for k, v in content["parameters"].items() if v is not None}
    return json.dumps(content)


def validated(folder: Path) -> "subprocess.CompletedProcess[str]":
    """`occbench validate FOLDER`, of this tree."""
    words = [sys.executable, "-m", "occbench_tools", "validate", folder]
    tools = os.environ | {"PYTHONPATH": str(ROOT / "tools")}
    return subprocess.run(words, text=True, capture_output=True, env=tools)


def on_terminal(columns: int, *words: str, environment: dict[str, str] | None = None) -> str:
    """What it prints on a terminal as wide, in both streams."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (50, columns))
    child = subprocess.Popen(
        [OCCBENCH, *words], stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=environment
    )
    end = b"\x04"  # our own: a terminal that nobody holds open may drop what was not read yet

    def ended() -> None:
        child.wait()
        os.write(its, end)

    waiting = threading.Thread(target=ended)
    waiting.start()
    said = b""
    while not said.endswith(end):
        said += os.read(ours, 1 << 16)
    waiting.join()
    os.close(its)
    os.close(ours)
    assert child.returncode == 0
    return said.removesuffix(end).decode().replace("\r\n", "\n")


def occbench(
    *words: str, stdin: str = "", gpu: bool = True, room_bytes: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs it to its end. `room_bytes` is the size at which its files stop growing: a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    environment = os.environ if gpu else os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}
    before = None if room_bytes is None else limit
    return subprocess.run(
        [OCCBENCH, *words],
        input=stdin,
        text=True,
        capture_output=True,
        env=environment,
        timeout=300,
        preexec_fn=before,
    )


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield Path()
        finally:
            os.chdir(before)


def content(folder: Path) -> dict[str, str]:
    return {str(p): p.read_text() if p.is_file() else "" for p in sorted(folder.rglob("*")) if not p.is_dir()}


def rows(path: Path) -> list[dict[str, str]]:
    """Those of a CSV file; of samples also where they are packed."""
    with path.open(newline="") if path.exists() else gzip.open(f"{path}.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def some_cases(count: int) -> list[str]:
    """Of preset quick; each has its dials within the reach of any device."""
    cases = json.loads(occbench("list", "--preset", "quick", "--format", "json").stdout)["cases"]
    return [case["case_id"] for case in cases[:count]]
