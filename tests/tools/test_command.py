# SPDX-License-Identifier: Apache-2.0
"""What every installed command does alike: help, the folder it takes if none is named, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
from occbench_tools import command
from pages import cases, write
from planted import ENTRIES, marker

SCRIPTS = sorted(f"occbench-{word}" for word in ENTRIES)
ENVIRONMENT = os.environ | {"COLUMNS": "80"}
# How each that reads folders is called to print something.
CALLS = {
    "cliffs": ["--output", "-"], "explain": [], "plot": ["--experiment", "waves"], "predictions": [],
    "report": [], "validate": [],
}  # fmt: skip


Done = subprocess.CompletedProcess[str]


def call(script: str, *words: str, cwd: Path, stdout: int = subprocess.PIPE) -> Done:
    program = Path(sys.executable).with_name(script)
    return subprocess.run(
        [program, *words], cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def with_nobody_reading(script: str, *words: str, cwd: Path) -> Done:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return call(script, *words, cwd=cwd, stdout=writer)
    finally:
        os.close(writer)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where results/gpu/new is the newest run; of a few experiments, as what they say is not asked here."""
    home = tmp_path_factory.mktemp("home")
    few = ("latency_hiding", "registers", "shared_memory", "waves")
    rows = [made_up.with_prediction(row) for row in cases() if row["experiment"] in few]
    for place, name in enumerate(("new", "old")):
        (home / "results" / "gpu").mkdir(parents=True, exist_ok=True)
        folder = write(home / "results" / "gpu" / name, rows)
        os.utime(folder / "cases.csv", (1e9 - place, 1e9 - place))
    return home


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script: str, sent: Path) -> None:
    done = call(script, "--help", cwd=sent)
    word = script.removeprefix("occbench-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: occbench {word} ")
    assert f"\nExample\n  occbench {word} " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    done = with_nobody_reading(script, "--help", cwd=sent)
    assert done.returncode in (0, 141) and done.stderr == ""
    assert not marker(sent).exists()


@pytest.mark.slow
@pytest.mark.parametrize("word", CALLS)
def test_uses_newest_folder_and_handles_closed_pipe(word: str, home: Path) -> None:
    done = call(f"occbench-{word}", *CALLS[word], cwd=home)
    assert done.stdout
    assert done.stderr.splitlines()[0] == f"occbench {word}: results/gpu/new, the newest"
    done = with_nobody_reading(f"occbench-{word}", "results/gpu/new", *CALLS[word], cwd=home)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("word", [*CALLS, "profile", "teach"])
def test_reports_missing_results(word: str, tmp_path: Path) -> None:
    done = call(f"occbench-{word}", cwd=tmp_path)
    assert done.returncode == 4 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"occbench {word}: no results under ./results")


def test_writes_page_into_its_folder(home: Path) -> None:
    done = call("occbench-report", "results/gpu/old", cwd=home)
    assert done.stdout == "results/gpu/old/report.html\n" and (home / done.stdout.strip()).exists()
    done = call("occbench-report", "results/gpu/old", "results/gpu/new", cwd=home)
    assert done.stdout == "report.html\n" and (home / "report.html").exists()


@pytest.mark.parametrize(
    "words",
    ["predictions results/gpu/new", "compare OLD OLD", "report --help",
     "plot results/gpu/new --experiment waves", "validate results/gpu/new"],
)  # fmt: skip
def test_full_stdout_is_reported_as_such(words: str, home: Path) -> None:
    old = str(Path(__file__).with_name("runs") / "schema-3")
    word, *rest = words.replace("OLD", old).split()
    with open("/dev/full", "w") as full:
        done = call(f"occbench-{word}", *rest, cwd=home, stdout=full.fileno())
    line = f"occbench {word}: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (4, line)


def test_reports_closed_stdout(home: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("occbench-explain"), "results/gpu/new"], cwd=home,
        stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (4, "occbench explain: standard output: closed\n")


def test_escapes_characters_the_terminal_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONIOENCODING", "ascii")
    run = write(tmp_path / "run", cases()[:20], gpu_name="\N{GREEK SMALL LETTER PI}")
    done = call("occbench-explain", str(run), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(r"What \u03c0 says")


def test_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    @command.entry("occbench x")
    def main(_: list[str] | None) -> int:
        raise KeyboardInterrupt

    assert main(None) == 130 and capsys.readouterr().err == "occbench x: interrupted\n"


def test_newest_can_skip_joined_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "results/gpu/new/counters.csv").touch()
    try:
        assert command.newest("x", without="counters.csv") == Path("results/gpu/old")
        assert command.newest("x") == Path("results/gpu/new")
    finally:
        (home / "results/gpu/new/counters.csv").unlink()


def test_invalid_arguments_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        command.parser_of("cliffs", "Lists cliffs.", "occbench cliffs").parse_args(["--no\npe"])
    said = capsys.readouterr().err
    assert said.endswith("; see `occbench cliffs --help`\n") and said.count("\n") == 1
