# SPDX-License-Identifier: Apache-2.0
"""The lab in Chinese: the same lessons over the same figures, its sheet, notebook and answers."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections import Counter
from html import unescape
from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools.teach import languages, sheet
from occbench_tools.teach.calculator import Calculator
from occbench_tools.teach.lesson import Lesson
from occbench_tools.teach.lessons import LESSONS
from pages import H200, teach_main

FIGURE = re.compile(r"\{\w+\}|\d+(?:[.,]\d+)*")
TEXTS = ("title", "claim", "ask", "explain", "choices", "mistakes")


def texts_of(lesson: Lesson, name: str) -> list[str]:
    """The texts of one field: of pairs the second."""
    value = getattr(lesson, name)
    return (
        [value] if isinstance(value, str) else [each if isinstance(each, str) else each[1] for each in value]
    )


def differing(english: Lesson, other: Lesson) -> list[str]:
    """Texts in which one language has a figure that the other has not."""
    return [
        f"{english.id}: {name}: {said}"
        for name in TEXTS
        for ours, said in zip(texts_of(english, name), texts_of(other, name), strict=True)
        if Counter(FIGURE.findall(ours)) != Counter(FIGURE.findall(said))
    ]


def test_both_languages_have_the_same_figures() -> None:
    chinese = languages.read_language("zh")
    assert [lesson.id for lesson in chinese.lessons] == [lesson.id for lesson in LESSONS]
    for ours, theirs in zip(LESSONS, chinese.lessons, strict=True):
        assert differing(ours, theirs) == []
        assert [condition for condition, _ in ours.explain] == [condition for condition, _ in theirs.explain]
        assert ours.figures is theirs.figures
        assert (ours.unit, ours.precision) == (theirs.unit, theirs.precision)
        assert not any(re.search("[A-Za-z]{4}", said) for said in texts_of(theirs, "title"))
    assert chinese.words.keys() == languages.WORDS.keys() and chinese.units.keys() == languages.UNITS.keys()
    for name, said in languages.WORDS.items():
        assert Counter(FIGURE.findall(said)) == Counter(FIGURE.findall(chinese.words[name])), name


def test_detects_stale_translation() -> None:
    """A number or a field that changed in one language alone."""
    cliff, chinese = LESSONS[8], languages.read_language("zh").lessons[8]
    assert differing(cliff, chinese._replace(ask=chinese.ask.replace("512", "256")))
    assert differing(cliff._replace(claim=cliff.claim.replace("33", "34")), chinese)
    condition, said = chinese.explain[0]
    without = ((condition, said.replace("{lower}", "75 %")), *chinese.explain[1:])
    assert differing(cliff, chinese._replace(explain=without))


def test_chinese_answers_are_checked(
    calculator: Calculator,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same verdicts, in Chinese; the table for the teacher keeps its English ids, verdicts and units."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    file = tmp_path / "li.csv"
    file.write_text("lesson,answer\nblock-slots,100\nregister-cliff,33\nno-launch,abc\nbarriers,9\n")
    rows, said = {}, {}
    for name in languages.LANGUAGES:
        export = tmp_path / f"{name}.csv"
        assert teach_main(calculator, H200, "--check", file, "--export", export, "--language", name) == 0
        rows[name], said[name] = (
            list(csv.DictReader(io.StringIO(export.read_text()))),
            capsys.readouterr().out,
        )
    for name in ("lesson", "answer", "verdict", "low", "high", "unit"):
        assert [row[name] for row in rows["en"]] == [row[name] for row in rows["zh"]]
    numbers = [Counter(re.findall(r"\d+(?:[.,]\d+)*", text)) for text in said.values()]
    assert numbers[0] == numbers[1]
    assert "\u201cabc\u201d\u4e0d\u662f" in said["zh"] and "your answer" not in said["zh"]
    assert "li\uff0cNVIDIA H200\uff1a\u5171 15 \u9898" in said["zh"]


def test_model_label_is_translated() -> None:
    english, chinese = (languages.read_language(name) for name in languages.LANGUAGES)
    assert [each.label("model of T4") for each in (english, chinese)] == [
        "model of T4",
        "T4 \u7684\u6a21\u578b",
    ]
    assert chinese.label("NVIDIA H200") == "NVIDIA H200"


def test_chinese_sheet_and_notebook(calculator: Calculator, tmp_path: Path) -> None:
    for name in languages.LANGUAGES:
        for suffix in ("html", "ipynb"):
            path = tmp_path / f"{name}.{suffix}"
            assert teach_main(calculator, "--sheet", path, "--device", "t4", "--language", name) == 0
    english, chinese = ((tmp_path / f"{name}.html").read_text() for name in languages.LANGUAGES)
    assert "<html lang='zh'>" in chinese and chinese.count("<section>") == len(LESSONS)
    plain = [
        unescape(re.sub("<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))
        for page in (english, chinese)
    ]
    assert Counter(FIGURE.findall(plain[0])) == Counter(FIGURE.findall(plain[1]))
    shown = [languages.WORDS[name].strip() for name in ("heading", "prediction", "measured", "check")]
    assert (
        [words for words in shown if words not in plain[0]]
        == []
        == [words for words in shown if words in plain[1]]
    )
    cells = json.loads((tmp_path / "zh.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert [text.count("'--language', 'zh'") for text in (code[1], code[-1])] == [1, 1]
    for text in code:
        compile(text, "cell", "exec")


def test_a_sheet_as_pdf(calculator: Calculator, tmp_path: Path) -> None:
    """Printed by Chromium in both languages, on a machine that has it."""
    for name in languages.LANGUAGES:
        language, path = languages.read_language(name), tmp_path / f"{name}.pdf"
        if not (any(map(shutil.which, sheet.BROWSERS)) and sheet.has_font(language)):
            pytest.skip("no Chromium, or no font with Chinese letters")
        assert teach_main(calculator, "--sheet", path, "--device", "t4", "--language", name) == 0
        printed = path.read_bytes()
        assert printed.startswith(b"%PDF") and len(re.findall(rb"/Type ?/Page\b", printed)) in (3, 4)
        assert (b"Noto" in printed or b"WenQuan" in printed) == (name == "zh")


@pytest.mark.parametrize(
    ("chromium", "fonts", "words"),
    [
        (None, "echo font", "there is none on the PATH"),
        ("exit 1", "echo font", "printed nothing"),
        ("exit 0", "echo font", "printed nothing"),
        ("exit 0", "true", "no font has Chinese letters"),
    ],
)
def test_reports_a_failed_pdf(
    chromium: str | None,
    fonts: str,
    words: str,
    calculator: Calculator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line that names the way around it, and no file."""
    for name, does in (("chromium", chromium), ("fc-list", fonts)):
        if does is not None:
            (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
            (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "lab.pdf"
    assert teach_main(calculator, "--sheet", path, "--device", "t4", "--language", "zh") == 5
    said = capsys.readouterr().err
    assert words in said and "write FILE.html and print it" in said and said.count("\n") == 1
    assert not path.exists()


def test_language_needs_check_or_sheet(calculator: Calculator, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        teach_main(calculator, H200, "--language", "zh")
    assert "--language is of --check and --sheet" in capsys.readouterr().err
