# SPDX-License-Identifier: Apache-2.0
"""Nothing of the working folder is run: it may be a folder of results that somebody sent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
from occbench_tools import audit, command, import_ncu, plot, profile, report
from occbench_tools.cliffs import command as cliffs
from pages import built
from planted import ENTRIES, marker

# Every word of the tools on the folder that one stands in, so that each imports all that it needs.
ROW = {"kernel": "add(float*)", "architecture": "sm_90", "registers_per_thread": 9}
CALLS = {
    "audit": ["--binary", "program"], "caps": ["--", "nvcc", "-arch=sm_90", "no.cu"], "cliffs": ["."],
    "compare": [".", "."], "explain": ["."],
    "fleet": ["check", "."],
    "import-ncu": [".", "counted.ncu-rep"],
    "inspect-lines": ["program", "_Z3addPf", json.dumps([ROW])],
    "inspect-price": [".", "program"],
    "machine-code": ["--kernel", "add", "--warps", "1", "--instructions", "9", "program"],
    "plot": ["--experiment", "waves", "."],
    "predictions": ["."], "profile": ["--count", "1", "--occbench", "/bin/false", "."], "report": ["."],
    "teach": ["."], "validate": ["."],
}  # fmt: skip


def call(program: str | Path, *words: str, cwd: Path, **environment: str) -> str:
    """What it says on stderr; a traceback is an error, an exit code that says what is missing is not."""
    path = os.pathsep.join([".", "", os.environ["PATH"]])
    inherited = {name: value for name, value in os.environ.items() if name not in ("OCCBENCH", "PYTHONPATH")}
    inherited |= {"PATH": path, "CUDA_HOME": "/nowhere"} | environment
    done = subprocess.run([program, *words], cwd=cwd, env=inherited, capture_output=True, text=True)
    assert done.returncode in (0, 1, 4, 5, 77), done.stderr
    return done.stderr


def test_every_entry_point_is_tested() -> None:
    declared = (made_up.REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert set(re.findall(r"^occbench-([\w-]+) = ", declared, re.M)) == set(ENTRIES) == set(CALLS)


@pytest.mark.slow
def test_runs_nothing_from_the_working_folder(sent: Path) -> None:
    scripts = Path(sys.executable).parent
    program = built()
    calls = [
        (program.resolve(), word, *words) if program else (scripts / f"occbench-{word}", *words)
        for word, words in CALLS.items()
    ]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda words: call(*words, cwd=sent), calls))
    assert not marker(sent).exists(), marker(sent).read_text()
    assert "planted" not in "".join(said)
    assert all((sent / name).exists() for name in ("waves.png", "report.html", "cliffs.csv"))


def test_user_python_scripts_start_isolated(tmp_path: Path) -> None:
    """A word that somebody added, beside which a module lies."""
    if not (program := built()):
        pytest.skip("no occbench is built here")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/csv.py").write_text(f"open({str(marker(tmp_path))!r}, 'a')\n")
    (tmp_path / "bin/occbench-own").write_text(f"#!{sys.executable}\nimport csv\n")
    (tmp_path / "bin/occbench-own").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    subprocess.run([program.resolve(), "own"], check=True, env=environment, cwd=tmp_path)
    assert not marker(tmp_path).exists()


@pytest.mark.parametrize(
    ("path", "left"), [("/a:.::/b:c", "/a:/b"), ("", os.defpath), (":.", os.defpath), ("/a", "/a")]
)
def test_searches_only_absolute_path_entries(path: str, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path)
    command.no_relative_path()
    assert os.environ["PATH"] == left


def test_output_does_not_follow_symlinks(run: Path, tmp_path: Path) -> None:
    """Where a tool puts its file by default, whoever sent the folder may have put a link."""
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    joined = tmp_path / "joined"
    joined.mkdir()
    files = [run / name for name in ("report.html", "waves.png", "cliffs.csv")]
    files += [joined / name for name in ("cases.csv", "counters.csv", "env.json")]
    for file in files:
        file.symlink_to(mine)
    assert report.main([str(run)]) == 0
    assert plot.main([str(run), "--experiment", "waves"]) == 0
    assert cliffs.main([str(run), "--experiment", "shared_memory"]) == 0
    import_ncu.write_run(run, import_ncu.per_case([("nobody", {"a__b.sum": 1.0})]), joined)
    assert mine.read_text() == "mine\n"
    assert [file.name for file in files if file.is_symlink()] == []


def test_takes_no_program_from_the_working_folder(
    sent: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no occbench, as with the wheel alone, ./occbench is none."""
    monkeypatch.chdir(sent)
    for module in (audit, profile):
        monkeypatch.setattr(module, "occbench", lambda: None)
    assert audit.main([]) == 2
    assert profile.main([".", "--ncu", "/bin/true"]) == 4
    assert capsys.readouterr().err.count("occbench: no such") == 2
    assert not marker(sent).exists()


# `python -m`, `-c` and `-` would look for modules where one stands.
PYTHON = re.compile(r"""(?:python3?|"\$1"|"\$python")"? +((?:-\S* +)*?)(-m|-c|-(?=\s))""")


def test_scripts_start_python_isolated() -> None:
    tools = made_up.REPOSITORY / "tools"
    scripts = [path for path in tools.iterdir() if path.is_file() and path.suffix in ("", ".sh")]
    calls = [
        (path.name, call[0], re.search(r"-[IP]\b", call[1]))
        for path in scripts
        for call in PYTHON.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(calls) > 8 and [call for *call, isolated in calls if not isolated] == []
