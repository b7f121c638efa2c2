# SPDX-License-Identifier: Apache-2.0
"""occbench teach: lessons and their answers, the lab at the prompt and from files, page and sheets."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pandas")

import contradictions
import made_up
from occbench_tools import teach
from occbench_tools.command import CommandError
from occbench_tools.report.payload import Run
from occbench_tools.teach.calculator import Calculator
from occbench_tools.teach.figures import Figure, StudentGpu, all_hold
from occbench_tools.teach.lab import (
    Answers,
    check,
    figures_at,
    question,
    work_through,
)
from occbench_tools.teach.lessons import LESSONS
from occbench_tools.teach.sheet import HELPERS, SETUP
from pages import H200, assert_quiet, document, opened, teach_main

pytestmark = pytest.mark.usefixtures("made_up_cliffs", "no_prompt")

BY_HAND = {  # cc 9.0, 8.9 and 7.5: the text's arithmetic with the units of the hardware
    "half-a-warp": (100, 100, 100),
    "block-slots": (50, 50, 50),
    "register-cliff": (33, 41, 65),
    "register-units": (75, 83.3, 87.5),
    "no-launch": (0, 0, 0),
    "shared-per-sm": (228, 100, 64),
    "shared-memory": (6, 5, 2),
}


@pytest.fixture(scope="session")
def gpu(calculator: Calculator) -> StudentGpu:
    """The committed run of an H200."""
    return StudentGpu(calculator, "cc9.0", "NVIDIA H200", Run(H200))


def test_lesson_count_and_order() -> None:
    assert 12 <= len(LESSONS) <= 15 and len({lesson.id for lesson in LESSONS}) == len(LESSONS)
    sections = [re.search(r"\d\.\d", lesson.source)[0] for lesson in LESSONS]  # type: ignore[index]
    assert sections == sorted(sections)
    for lesson in LESSONS:
        assert lesson.explain[-1][0] == ""  # one explanation always holds


def test_footprints_depend_on_the_gpu(calculator: Calculator) -> None:
    for place, device in enumerate(("cc9.0", "rtx4060", "t4")):
        gpu = StudentGpu(calculator, device, device)
        for lesson in LESSONS:
            if lesson.id in BY_HAND:
                answer = figures_at(gpu, lesson)["answer"]
                assert answer.value == pytest.approx(BY_HAND[lesson.id][place], rel=1e-3), (lesson.id, device)
    assert "64 threads with 65 registers" in question(
        gpu, next(x for x in LESSONS if x.id == "register-units")
    )


def test_committed_run_answers_every_lesson(gpu: StudentGpu) -> None:
    measured = {lesson.id: figures_at(gpu, lesson)["answer"].value for lesson in LESSONS}
    assert measured["one-more-block"] == pytest.approx(2, abs=0.05)
    assert measured["one-lane"] == pytest.approx(2, abs=0.05)
    assert measured["fma-warps"] == 16 and measured["wide-loads"] < measured["load-warps"]


def test_questions_name_what_their_answers_depend_on(gpu: StudentGpu) -> None:
    """Of the run, and on a sheet of a smaller GPU, which has none."""
    lessons = {lesson.id: lesson for lesson in LESSONS}
    small = StudentGpu(gpu.calculator, "t4", "T4")
    for at, warps, tried in (
        (gpu, 64, "4, 8, 12, 16, 20, 24, 32, 40, 48, 64)"),
        (small, 32, "4, 8, 12, 16, 20, 24, 32)"),
    ):
        assert f"holds all {warps} warps" in question(at, lessons["barriers"])
        for name in ("fma-warps", "load-warps", "wide-loads"):
            assert question(at, lessons[name]).endswith(f"(the fewest of {tried}")


def test_register_files_and_best_occupancies_are_introduced() -> None:
    said = {lesson.id: lesson.explain[0][1] for lesson in LESSONS}
    for name in ("register-units", "no-launch"):
        assert said[name].index("are four files") < said[name].index("Each file holds")
    assert "It runs fastest at {part} occupancy, tiles of 16 x 16 at {full}" in said["tiles"]


def test_names_an_answers_file_with_a_too_long_name() -> None:
    long = Path("a" * 300)
    with pytest.raises(CommandError, match="File name too long") as refused:
        Answers.read(long)
    assert str(long) in str(refused.value) and refused.value.code == 4


def test_rejects_answers_that_are_not_utf8(
    gpu: StudentGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), "utf-8"))
    with pytest.raises(CommandError, match="standard input: not UTF-8") as refused:
        work_through(gpu, Answers(tmp_path / "eve.csv", "eve"), [LESSONS[0].id])
    assert refused.value.code == 4


def test_checks_right_wrong_and_invalid_answers(
    calculator: Calculator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, export = tmp_path / "eve.csv", tmp_path / "class.csv"
    answers = "lesson,answer,device\nblock-slots,100,T4\nregister-cliff,33,\nno-launch,abc,\nof-none,1,\n"
    file.write_text(answers)
    assert teach_main(calculator, H200, "--check", file, "--export", export) == 0
    told = capsys.readouterr()
    assert "'abc' is not a number" in told.out and "there is no lesson 'of-none'" in told.err
    assert "answers for T4; checked on NVIDIA H200" in told.err
    rows = {row["lesson"]: row for row in csv.DictReader(io.StringIO(export.read_text()))}
    assert list(rows) == [lesson.id for lesson in LESSONS]
    assert rows["register-cliff"]["verdict"] == "right" and rows["register-cliff"]["student"] == "eve"
    assert rows["block-slots"]["verdict"] == "wrong" and "block slots" in rows["block-slots"]["overlooked"]
    assert rows["tiles"]["verdict"] == rows["no-launch"]["verdict"] == "not answered"
    assert "5.8 times" not in told.out  # no answer before the student's


def test_occupancy_loss_is_not_accepted_as_rate_loss(gpu: StudentGpu) -> None:
    """Loads lose less than occupancy does: who answers with the loss of occupancy is told so."""
    cliff = next(lesson for lesson in LESSONS if lesson.id == "cliff-cost")
    assert check(gpu, cliff, "20").verdict == "right"
    assert check(gpu, cliff, "25").verdict == "wrong" and "as occupancy" in check(gpu, cliff, "25").overlooked


@pytest.mark.parametrize("model", ["t4", "rtx4060", "a100", "h200"])
def test_complete_session_of_a_student(
    model: str, calculator: Calculator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a model from start to end: wrong, odd, then right answers; no sentence contradicts its rows."""
    monkeypatch.chdir(tmp_path)
    export = Path("class.csv")

    def checked(answers: dict[str, str]) -> dict[str, dict[str, str]]:
        lines = ["lesson,answer", *(f'{lesson},"{answer}"' for lesson, answer in answers.items())]
        Path("answers.csv").write_text("\n".join(lines) + "\n")
        words = ("--device", f"model:{model}", "--check", "answers.csv", "--export", export)
        assert teach_main(calculator, *words) == 0
        return {row["lesson"]: row for row in csv.DictReader(io.StringIO(export.read_text()))}

    wrong = checked({lesson.id: "7" if not lesson.choices else "abc" for lesson in LESSONS})
    assert {row["verdict"] for row in wrong.values() if row["unit"] != "choice"} == {"wrong"}
    impossible = checked({lesson.id: "-1" for lesson in LESSONS if lesson.id != "cliff-cost"})
    assert {row["verdict"] for row in impossible.values()} == {"not answered"}
    figures = {lesson.id: wrong[lesson.id]["low"] or "1" for lesson in LESSONS}
    figures["cliff-cost"] += " %"  # of less than one percent, and no fraction
    right = checked(figures)
    assert all(row["verdict"] == "right" for row in right.values() if row["unit"] != "choice")
    (folder,) = Path("results/lab").iterdir()
    cc = Run(folder).env["gpu"]["compute_capability"]
    assert contradictions.found(folder, StudentGpu(calculator, f"cc{cc}", model, Run(folder))) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n", "no column answer"),
        (b"\xff\xfe", "utf-8"),
        (b'lesson,answer\n"x', "end of data"),
        (b"student,lesson,answer\nann,tiles,1\nbob,tiles,2\n", "answers of ann and of bob"),
    ],
)
def test_rejects_files_without_answers(
    content: bytes, words: str, calculator: Calculator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    assert teach_main(calculator, H200, "--check", file) == 4
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1
    assert teach_main(calculator, H200, "--check", tmp_path) == 4
    assert capsys.readouterr().err == f"occbench teach: {tmp_path}: Is a directory\n"


def test_export_does_not_overwrite_the_answers(
    calculator: Calculator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("lesson,answer\ntiles,1\n" + "nope,1\n" * 1000)
    with pytest.raises(SystemExit, match="2"):
        teach_main(calculator, H200, "--check", file, "--export", tmp_path / "." / "a.csv")
    assert "--export would replace" in capsys.readouterr().err
    assert teach_main(calculator, H200, "--check", file) == 0
    assert capsys.readouterr().err.count("\n") == 2  # the first row of no lesson, and how many more


def test_rejects_unknown_device(
    calculator: Calculator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert teach_main(calculator, "--device", "nope", "--sheet", "a.html") == 2
    assert "unknown device 'nope'" in capfd.readouterr().err
    with pytest.raises(SystemExit) as ended:
        teach_main(calculator, "--device", "model:nope", "--check", "a.csv")
    told = capfd.readouterr().err.splitlines()
    assert (
        ended.value.code == 2 and "there is no model of 'nope'" in told[-1] and not Path("results").exists()
    )


def test_a_run_without_the_labs_cases_skips_them(
    calculator: Calculator, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "class.csv"
    file = tmp_path / "a.csv"
    file.write_text("lesson,answer\n" + "".join(f"{lesson.id},1\n" for lesson in LESSONS))
    assert teach_main(calculator, run, "--check", file, "--export", export) == 0
    assert "skipped: the run has no valid case of " in capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(export.read_text())))
    assert len(rows) == len(LESSONS) and {row["verdict"] for row in rows} == {"wrong", "skipped"}


def test_teaching_needs_a_calculator(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert teach.main([str(run), "--occbench", str(tmp_path / "none"), "--output", str(tmp_path / "p")]) == 4
    said = capsys.readouterr().err
    assert "none" in said and said.count("\n") == 1


def test_a_notebook_run_again_keeps_earlier_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells whose answers are empty again, and the other columns of the file."""
    monkeypatch.chdir(tmp_path)
    done = SimpleNamespace(returncode=0, stdout="", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    Path("answers.csv").write_text("student,device,lesson,answer\nAda,T4,barriers,1\n")
    names: dict[str, Any] = {}
    exec(HELPERS.replace("OPTION", ""), names)
    names["check"]("tiles", 2)
    names["check"]("tiles", "")
    assert Path("answers.csv").read_text().splitlines()[1:] == ["Ada,T4,barriers,1", ",,tiles,2"]


def test_notebook_installs_the_adjacent_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no package of that name, which is not published."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    installed: list[str] = []
    monkeypatch.setattr(subprocess, "run", lambda words, **_: installed.append(words[-1]))
    with pytest.raises(SystemExit, match=r"no occbench-\*\.whl beside this notebook"):
        exec(SETUP, {})
    assert installed == []
    Path("occbench-0.3.0-py3-none-any.whl").touch()
    exec(SETUP, {})
    assert installed == ["./occbench-0.3.0-py3-none-any.whl[report]"]


@pytest.mark.parametrize(("device", "model"), [("t4", "t4"), ("cc9.0", "t4"), ("h200", "h200")])
def test_notebook_without_gpu_uses_an_existing_model(
    calculator: Calculator, tmp_path: Path, device: str, model: str
) -> None:
    assert teach_main(calculator, "--sheet", tmp_path / "lab.ipynb", "--device", device) == 0
    assert f'else \\"model:{model}\\"' in (tmp_path / "lab.ipynb").read_text()


def test_sheet_and_notebook_contain_no_answers(calculator: Calculator, tmp_path: Path) -> None:
    for suffix in ("html", "ipynb"):
        assert teach_main(calculator, "--sheet", tmp_path / f"lab.{suffix}", "--device", "t4") == 0
    page = (tmp_path / "lab.html").read_text()
    assert page.count("<section>") == len(LESSONS) and "64 threads with 65 registers" in page
    assert (
        "{" not in re.sub("<style>.*?</style>", "", page, flags=re.DOTALL) and "Not on this GPU" not in page
    )
    notebook = json.loads((tmp_path / "lab.ipynb").read_text())
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds.count("markdown") == len(LESSONS) + 1 and notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), "cell", "exec")
    assert teach_main(calculator, "--sheet", tmp_path / "lab.docx") == 2


def test_textbook_and_exact_numbers(run: Path, tmp_path: Path, calculator: Calculator) -> None:
    page = tmp_path / "teach.html"
    assert teach_main(calculator, run, "--output", page) == 0
    lessons = {lesson["id"]: lesson for lesson in document(page)["sections"]}
    assert list(lessons) == [lesson.id for lesson in LESSONS]

    def row(lesson: str, words: str) -> list[Any]:
        parts = next(part for part in lessons[lesson]["before"] if part["kind"] == "fold")["parts"]
        body = next(part for part in parts if part["kind"] == "table")["body"]
        found = next(cells for cells in body if cells[0] == words)
        return [cell if isinstance(cell, str) else cell["text"].split(":")[0] for cell in found[1:]]

    assert row("block-slots", "32 threads, 32 registers") == ["50 %", "50 %, 32 blocks", "50 %, 32 blocks"]
    assert row("block-slots", "768 threads, 32 registers")[:2] == ["75 %", "75 %, 2 blocks"]
    assert row("register-cliff", "512 threads, 33 registers")[:2] == ["75 %", "75 %, 3 blocks"]
    assert row("register-units", "64 threads, 33 registers")[:2] == ["96.9 %", "75 %, 24 blocks"]
    smem = row("shared-memory", "256 threads, 32 registers, 32 KiB shared")
    assert smem == ["62.5 %", "50 %, 4 blocks", "75 %, 6 blocks"]
    assert row("no-launch", "320 threads, 200 registers") == ["15.6 %", "0 %", "0 %"]


def test_no_sentence_contradicts_its_rows(gpu: StudentGpu) -> None:
    for name in ("nvidia-h100-80gb-hbm3", "nvidia-h200"):
        folder = made_up.newest_run(name)
        assert contradictions.found(folder, StudentGpu(gpu.calculator, "cc9.0", name, Run(folder))) == []


def test_no_finding_describes_a_zero_change(calculator: Calculator, tmp_path: Path) -> None:
    """On the model of an A100, which has no limit on named barriers."""
    words = ["run", "--device", "model:a100", "--experiment", "barriers", "--output"]
    subprocess.run([calculator.program, *words, tmp_path / "run"], check=True, capture_output=True)
    told = Run(tmp_path / "run").findings["barriers"].sentences
    assert told and [line for text in told for line in contradictions.repeated("barriers", text)] == []


@pytest.mark.parametrize(
    ("lesson", "values", "absent", "present"),
    [
        ("one-lane", dict(answer=1.9, sixteen=1.2), "does not matter", "1.2 times with sixteen"),
        ("cliff-cost", dict(answer=1, fma=30), "enough is in flight", "a chain of FMAs 30 %"),
        ("cliff-cost", dict(answer=20, fma=-0.3), "-0 %", "FMAs loses 0 %"),
        ("cliff-cost", dict(answer=5.2, fma=0), "cliff is real", "a step rather than a cliff"),
        ("cliff-cost", dict(answer=-20, fma=0), "enough is in flight", "loads lose -20 %"),
        ("fma-warps", dict(answer=8, dip=12, dip_share=75), "is not needed", "12 warps reach 75 %"),
        ("fma-warps", dict(answer=8, dip_share=100), "slower", "Full occupancy is not needed"),
        ("load-warps", dict(answer=16), "needs many warps", "Even so 16 of 64 warps"),
    ],
)
def test_sentences_depend_on_their_conditions(
    lesson: str, values: dict[str, float], absent: str, present: str, gpu: StudentGpu
) -> None:
    """Figures that no committed run has: lanes whose number matters, FMAs that lose where loads do not."""
    it = next(each for each in LESSONS if each.id == lesson)
    figures = figures_at(gpu, it)
    for name, value in values.items():
        spec = figures[name].spec.replace("2f", "1f")
        figures[name] = Figure(value, value, value, spec)
    said = next(text for condition, text in it.explain if all_hold(condition, figures)).format(**figures)
    assert absent not in said and present in said


def test_detects_planted_contradictions(gpu: StudentGpu, tmp_path: Path) -> None:
    """A changed row, a condition that does not hold, one 'from 32 to 32', more warps that are slower."""
    said = contradictions.sentences(gpu)
    rows = contradictions.rows_of(H200)
    assert contradictions.wrong(said, rows, gpu.calculator) == []
    loads = next(each for each in said if each.lesson == "cliff-cost")
    after = loads.figures["answer"].source.of[0]
    changed = rows | {after: rows[after] | dict(throughput=str(2 * float(rows[after]["throughput"])))}
    assert any("answer" in words for words in contradictions.wrong([loads], changed, gpu.calculator))
    other = loads._replace(text=loads.text.replace("lose 21 %", "lose 12 %"))
    assert contradictions.wrong([other], rows, gpu.calculator)
    same = loads._replace(text=loads.text.replace("From 32 to 33", "From 33 to 33"))
    assert any(
        "from 33 to 33" in words.lower() for words in contradictions.wrong([same], rows, gpu.calculator)
    )
    flat = loads._replace(condition="answer < 3")
    assert any("answer < 3" in words for words in contradictions.wrong([flat], rows, gpu.calculator))
    warps = next(each for each in said if each.lesson == "fma-warps")
    silent = warps._replace(text=warps.text.replace("20 warps", "Others"))
    assert any("20, 24, 40 warps are slower" in words for words in contradictions.unsaid_dips(silent, rows))


def test_lessons_in_a_browser(browser: Any, tmp_path: Path, calculator: Calculator) -> None:  # noqa: ANN401
    page = tmp_path / "teach.html"
    assert teach_main(calculator, H200, "--output", page) == 0
    opened(browser, page)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    drawn = browser.execute_script("return sections.map((s) => (s.figure ? s.figure.traces.length : 0))")
    assert all(drawn)
    words = browser.find_element("tag name", "main").text
    assert "75 %, 6 blocks: shared memory" in words and "undefined" not in words
    # A lesson shows the lines that it speaks of, and no others.
    for lesson in LESSONS:
        labels = browser.execute_script(
            "const on = document.querySelectorAll(`#${arguments[0]} .legend .on`);"
            "return [...on].map((e) => e.dataset.line)",
            lesson.id,
        )
        assert labels and all(any(re.search(word, label) for word in lesson.chart.show) for label in labels)
    assert_quiet(browser, page)
