# SPDX-License-Identifier: Apache-2.0
"""occbench teach at a prompt: a lab that stops and continues, and a run that cannot be added to."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools import teach
from occbench_tools.teach.calculator import Calculator
from occbench_tools.teach.languages import ENGLISH, read_language
from occbench_tools.teach.lessons import LESSONS
from pages import H200, teach_main

pytestmark = pytest.mark.usefixtures("no_prompt")


def test_an_interrupted_lab_resumes(
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "answers.csv"
    prompt = iter(["2.0", "abc", "9", "1"])

    def typed(_: str) -> str:
        for answer in prompt:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", typed)
    assert teach_main(calculator, H200, "--check", file) == 130
    told = capsys.readouterr()
    assert "'abc' is not a number" in told.out and "'9' is none of 1 to 3" in told.out
    assert f"{file} keeps 2 of 15 answers, the same command continues" in told.err
    answers = {row["lesson"]: row["answer"] for row in csv.DictReader(io.StringIO(file.read_text()))}
    assert answers == {"one-more-block": "2.0", "barriers": "1"}
    prompt = iter([])
    monkeypatch.setattr("occbench_tools.teach.is_typed", lambda: True)
    assert teach_main(calculator, H200, "--check", file) == 130
    said = capsys.readouterr().out
    assert "your answer: 2.0" in said and said.endswith("\n\n")  # ends the prompt's line


def test_a_prompt_shows_earlier_answers_in_a_line_each(
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At a terminal; an empty line leaves a question open, and a complete file is shown in full."""
    file = tmp_path / "answers.csv"
    file.write_text("lesson,answer\none-more-block,2.0\nbarriers,abc\n")
    monkeypatch.setattr("occbench_tools.teach.lab.is_typed", lambda: True)
    monkeypatch.setattr("occbench_tools.teach.is_typed", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "")
    assert teach_main(calculator, H200, "--check", file) == 0
    told = capsys.readouterr().out
    assert "Enter alone leaves a question open" in told and str(file) in told
    assert "1/15  One block more than a wave: 2.0, right\n" in told and "your answer:" not in told
    assert "'abc' is not a number" in told and "1 of 15 right, 14 not answered" in told
    assert file.read_text() == "lesson,answer\none-more-block,2.0\nbarriers,abc\n"
    file.write_text("lesson,answer\n" + "".join(f"{lesson.id},1\n" for lesson in LESSONS))
    assert teach_main(calculator, H200, "--check", file) == 0
    assert capsys.readouterr().out.count("your answer: 1") == len(LESSONS)


def test_answers_can_be_changed(
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Impossible answers are asked again, the last one counts, earlier ones stay; Enter keeps the last."""
    file, export = tmp_path / "eve.csv", tmp_path / "class.csv"
    monkeypatch.setattr("occbench_tools.teach.lab.is_typed", lambda: True)
    words = (H200, "--check", file, "--lesson", "half-a-warp", "--export", export)

    def told(*typed: str, options: tuple[str, ...] = ()) -> str:
        prompt = iter(typed)
        monkeypatch.setattr("builtins.input", lambda _: next(prompt))
        assert teach_main(calculator, *words, *options) == 0 and next(prompt, None) is None
        return capsys.readouterr().out

    said = told("-3", "0.75", "75")
    assert (
        "is not negative" in said and "did you mean 75 %?" in said and "You counted threads" not in said[:400]
    )
    assert "A block is divided into warps of 32 threads" in said and "--again" not in said
    assert "wrong: 100 %" in (said := told()) and "--again asks again" in said
    assert "right: 100 %" in told("100", options=("--again",))
    assert "right: 100 %" in told("", options=("--again",))
    assert "right: 100 %" in told("100", options=("--again",))
    assert [row["answer"] for row in csv.DictReader(io.StringIO(file.read_text()))] == ["75", "100"]
    (row,) = csv.DictReader(io.StringIO(export.read_text()))
    assert (row["answer"], row["tries"], row["verdict"]) == ("100", "2", "right")


def test_reports_unwritable_file_before_asking(
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    for words in (("--check", "no/a.csv"), ("--check", "a.csv", "--export", "no/b.csv")):
        assert teach_main(calculator, "--device", "model:t4", *words) == 4
        assert capsys.readouterr().err == f"occbench teach: {words[-1]}: there is no folder no\n"
    assert list(tmp_path.iterdir()) == []


def test_does_not_modify_a_complete_run(
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that the newest run stays the newest; one that lacks a case is completed."""
    monkeypatch.chdir(tmp_path)

    def lesson() -> dict[str, tuple[int, bytes]]:
        assert (
            teach_main(calculator, "--device", "model:t4", "--check", "a.csv", "--lesson", "no-launch") == 0
        )
        capsys.readouterr()
        return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}

    folder = teach.LABS / "t4"
    first = lesson()
    assert lesson() == first
    cases = folder / "cases.csv"
    cases.write_text("".join(cases.read_text().splitlines(keepends=True)[:-1]))
    assert lesson()["cases.csv"][1].count(b"\n") == first["cases.csv"][1].count(b"\n")


def test_skips_unavailable_lesson(
    calculator: Calculator,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    words = ("--check", tmp_path / "a.csv", "--lesson", "tiles")
    assert teach_main(calculator, run, *words) == 0
    assert "skipped: the run has no valid case of tiled_matmul" in capsys.readouterr().out


def test_a_lesson_named_as_a_folder(calculator: Calculator, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        teach_main(calculator, "tiles")
    assert "tiles is a lesson: --check FILE.csv --lesson tiles" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        teach_main(calculator, H200, "--again")
    assert "--again needs --check" in capsys.readouterr().err


def test_reads_a_run_that_cannot_be_resumed(
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As after an update of occbench, whose build differs."""
    monkeypatch.chdir(tmp_path)
    folder = teach.LABS / "t4"
    folder.mkdir(parents=True)
    (folder / "cases.csv").touch()
    refused = subprocess.CompletedProcess([], 2)
    monkeypatch.setattr(teach.subprocess, "run", lambda *_, **__: refused)
    assert teach.measure("model:t4", calculator, ENGLISH) == folder
    said = capsys.readouterr().err
    assert "reads results/lab/t4; delete it to run it again" in said
    assert "results/lab/t4: nothing added; read as it is" in said
    teach.measure("model:t4", calculator, read_language("zh"))
    assert "读取 results/lab/t4" in capsys.readouterr().err
