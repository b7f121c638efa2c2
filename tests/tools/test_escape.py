# SPDX-License-Identifier: Apache-2.0
"""Names out of files that others wrote, in each medium that shows them: seen, and without effect."""

from __future__ import annotations

import csv as csv_module
import html.parser
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import NEWEST, compare, escape, explain, import_ncu, plot, predictions, validate
from occbench_tools.cliffs import command as cliffs_command
from pages import cases, write

ESC = "\x1b]0;owned\x07\x1b[31m\x9b2J"
NAME = f"=cmd()|<img src=x onerror=a()>[red]$x$_b_*c*`d`{ESC}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two experiments, and one that nobody knows; words that the schema leaves free are hostile."""
    rows = [made_up.with_prediction(row) for row in cases() if row["experiment"] in ("registers", "waves")]
    strange = [row | dict(experiment=f"../../{NAME}", case_id=f"x{row['case_id']}") for row in rows[:6]]
    rows = [row | dict(variant=f"{row['variant']}{NAME}", family=f"{NAME}{row['family']}") for row in rows]
    lost = rows[0] | dict(case_id="lost", status="skipped", reason=NAME, throughput=None)
    folder = tmp_path_factory.mktemp("hostile") / f"run{ESC}<b>[red]"
    gpu = made_up.ENV["gpu"] | dict(name=NAME, uuid=NAME)
    write(folder, [*rows, *strange, lost], gpu=gpu, git_commit=NAME, preset=NAME, host=NAME)
    columns = [column["name"] for column in validate.schema()["files"]["samples.csv"]["columns"]]
    samples = [
        dict(schema_version=NEWEST, case_id=row["case_id"], sample=i, time_s=1e-3, discarded=0)
        for row in [*rows, *strange] for i in range(3)
    ]  # fmt: skip
    pd.DataFrame(samples).reindex(columns=columns, fill_value=1).to_csv(folder / "samples.csv", index=False)
    return folder


FORMS = ("table", "csv", "json", "markdown")
CALLS: list[tuple[Callable[[list[str]], int], str]] = [
    *((cliffs_command.main, f"DIR {words}") for words in ("", "--all")),
    *((cliffs_command.main, f"DIR --output - --format {form}") for form in FORMS),
    *((compare.main, f"DIR DIR {words}") for words in ("", "--verbose")),
    *((compare.main, f"DIR DIR --format {form}") for form in ("csv", "json", "markdown", "html")),
    *((explain.main, f"DIR --all --format {form}") for form in ("plain", "markdown", "json")),
    (predictions.main, "DIR"), (predictions.main, "DIR --plain"), (validate.main, "DIR"),
    (plot.main, "DIR --experiment NAME"), (explain.main, "DIR NAME"), (import_ncu.main, "DIR NAME"),
]  # fmt: skip


@pytest.mark.parametrize(("main", "words"), CALLS, ids=lambda each: getattr(each, "__module__", each))
def test_escapes_terminal_control_sequences(
    main: Callable[[list[str]], int], words: str, hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [{"DIR": str(hostile), "NAME": NAME}.get(word, word) for word in words.split()]
    try:
        main(said)
    except SystemExit as ended:  # invalid arguments
        assert ended.code == 2
    out, err = capsys.readouterr()
    assert out or err
    assert (out + err).replace("\n", "").isprintable(), (out + err).encode()


def rendered(text: str) -> set[str]:
    """The tags that a reader of this Markdown gets."""
    markdown = pytest.importorskip("markdown")
    seen: set[str] = set()
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, _: seen.add(tag)
    parser.feed(markdown.markdown(text, extensions=["tables"]))
    return seen


TABLES = (
    (explain.main, "--all --format markdown"),
    (predictions.main, ""),
    (compare.main, "DIR --format markdown"),
    (cliffs_command.main, "--output - --format markdown"),
)


@pytest.mark.parametrize(("main", "words"), TABLES)
def test_markdown(
    main: Callable[[list[str]], int], words: str, hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(hostile), *(word.replace("DIR", str(hostile)) for word in words.split())])
    text = capsys.readouterr().out
    table = {"table", "thead", "tbody", "tr", "th", "td", "p"}
    allowed = table | ({"img"} if main is explain.main else set()) | {"h2", "strong", "code"}
    assert rendered(text) <= allowed
    assert not re.search(r"<(?!/?$)[a-z]", re.sub(r"`[^`]*`", "", text))
    rows = [re.sub(r"\\.", "", line) for line in text.splitlines() if line.startswith("|")]
    assert rows and {line.count("|") for line in rows} <= (
        {5, 9, 10} if main is compare.main else {rows[0].count("|")}
    )


LINES = (
    *("# a", "- a", "1. a", "---", "    a", "> a", "a_b_ _c_ **d**", "[a](b)", "![a](b)", "<a href=b>"),
    *("&lt;b>", "~~a~~", "`a`", "\\<b>", "https://a.b", "a | b"),
)


@pytest.mark.parametrize("text", LINES)
def test_markdown_stays_one_paragraph(text: str) -> None:
    assert rendered(escape.markdown(text)) == {"p"}


def test_escapes_only_what_needs_it() -> None:
    for text in ("latency_hiding", "read-f32-4B-ilp8", "-21 % for loads", "a.b.c", "2.5 x", ""):
        assert escape.markdown(text) == escape.prose(text) == escape.picture(text) == text
    assert escape.prose("with `a|b` <c>") == r"with `a\|b` &lt;c&gt;"
    assert escape.prose("with `a <c>") == r"with \`a &lt;c&gt;"


def test_exports_contain_no_formulas(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for main, words in ((compare.main, [str(hostile)]), (cliffs_command.main, ["--output", "-"])):
        main([str(hostile), *words, "--format", "csv"])
        rows = list(csv_module.reader(io.StringIO(capsys.readouterr().out)))
        assert any(cell.startswith("'=cmd()") or cell.startswith("'-") for row in rows for cell in row)
        for value in (cell for row in rows for cell in row):
            assert value[:1] not in ("=", "+", "-", "@", "\t", "\r") or float(value) is not None


def test_cells() -> None:
    table = pd.DataFrame(
        {
            "name": ["=1+1", "+a", "-a", "@a", "\ta", "\ra", "a=b", "-1.5", "+2e-3", "", None, "a,b\n"],
            "number": [-1.5, float("nan"), *range(10)],
            "=h()": pd.Series(["-x"] * 12, dtype="category"),
        }
    )
    head, *rows = csv_module.reader(io.StringIO(escape.csv(table)))
    assert head == ["name", "number", "'=h()"]
    assert [row[0] for row in rows] == [
        "'=1+1", "'+a", "'-a", "'@a", "'\\x09a", "'\\x0da", "a=b", "-1.5", "+2e-3", "", "", "a,b\\x0a",
    ]  # fmt: skip
    assert [row[1] for row in rows[:3]] == ["-1.5", "", "0.0"] and {row[2] for row in rows} == {"'-x"}


def test_pictures_show_names_literally(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No mathematics, which fails on what is none; and no picture beside the folder."""
    others = set(hostile.parent.rglob("*"))
    assert plot.main([str(hostile)]) == 0
    made = set(hostile.parent.rglob("*")) - others
    assert len(made) >= 3 and {path.parent for path in made} == {hostile}
    assert capsys.readouterr().err == ""
    figure, (axes,), _ = plot.sheet.sheet(1)
    for name in (r"$\frac$", "_hidden", "a$b$"):
        axes.plot([0, 1], label=escape.picture(name))
    legend = axes.legend()
    assert [text.get_text() for text in legend.get_texts()] == [r"\$\frac\$", " _hidden", r"a\$b\$"]
    plot.png(figure)


def test_clips_long_names_in_pictures() -> None:
    names = pd.Series(["L" * 3000, "L" * 3001, "short", None], dtype=object)
    shown = escape.escape_for_picture(pd.DataFrame(dict(variant=names, rate=[1.0] * 4)))["variant"]
    case = "waves.a.b." + "L" * 80 + ".r1.g7"
    assert (
        escape.escape_for_picture(pd.DataFrame(dict(case_id=[case])))["case_id"][0] == case
    )  # asked for its end
    assert shown.nunique() == 3 and shown.str.len().max() <= escape.LONGEST + 1 and shown[2] == "short"


def test_json(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare.main([str(hostile), str(hostile), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["comparisons"][0]
    assert any(NAME in case["variant"] for case in found["cases"])  # whole: JSON has its own escapes
    assert json.loads(escape.as_json("\x7f\x9b\x1b")) == "\x7f\x9b\x1b"
