# SPDX-License-Identifier: Apache-2.0
"""docs/zh says what the English pages say: the same figures, generated blocks, pictures and numbers."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from occbench_docs import DOCS, figures
from occbench_docs.marks import BEGIN, FIGURE
from prose import COMMENT, text_of, without_generated

CHINESE = sorted(path.name for path in (DOCS / "zh").glob("*.md"))
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def content(page: str) -> dict[str, Counter[str]]:
    """The figures, blocks and pictures of a page by name, and the numbers that are written by hand."""
    text = text_of(page)
    marks = [
        found["words"].replace(".zh.txt", ".txt") for found in map(BEGIN.match, text.splitlines()) if found
    ]
    by_hand = COMMENT.sub("", "\n".join(line for _, line in without_generated(text)))
    return dict(
        figures=Counter(found["name"] for found in FIGURE.finditer(text)),
        blocks=Counter(marks),
        pictures=Counter(re.findall(r"images/[\w.]+", text)),
        numbers=Counter(NUMBER.findall(by_hand)),
        commands=Counter(line.split(" #")[0].replace(" --language zh", "").strip()
                         for line in text.splitlines() if line.startswith("$ occbench teach --device")),
    )  # fmt: skip


def only_in_one(english: str, chinese: str) -> list[str]:
    """What one of two pages has and the other lacks, named."""
    ours, theirs = content(english), content(chinese)
    return [
        f"{kind}: {', '.join(more)} only in {page}"
        for kind in ours
        for page, more in ((english, ours[kind] - theirs[kind]), (chinese, theirs[kind] - ours[kind]))
        if more
    ]


@pytest.mark.parametrize("name", CHINESE)
def test_both_languages_have_the_same_figures(name: str) -> None:
    assert only_in_one(f"docs/{name}", f"docs/zh/{name}") == []
    assert f"(zh/{name})" in text_of(f"docs/{name}") and f"(../{name})" in text_of(f"docs/zh/{name}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("41 registers", "42 registers", "numbers: 41 only in docs/zh"),
        ("docs/data/teach.txt", "docs/data/my_bench.txt", "blocks: "),
    ],
)
def test_detects_stale_translation(old: str, new: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {page: text_of(page) for page in ("docs/lab.md", "docs/zh/lab.md")}
    pages["docs/lab.md"] = pages["docs/lab.md"].replace(old, new)
    monkeypatch.setattr(f"{__name__}.text_of", pages.__getitem__)
    assert any(said in words for words in only_in_one("docs/lab.md", "docs/zh/lab.md"))


def test_recordings_show_the_same_numbers() -> None:
    """The lab as recorded in both languages, without the command."""
    english, chinese = (
        Counter(NUMBER.findall(text.partition("\n")[2]))
        for text in map(text_of, ("docs/data/teach.txt", "docs/data/teach.zh.txt"))
    )
    assert english == chinese


def test_units_of_figures_are_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "figure", lambda name: name)
    assert figures.chinese_figure("40 warps") == "40 \u4e2a\u7ebf\u7a0b\u675f"
    assert figures.chinese_figure("32 resident warps") == "32 \u4e2a\u9a7b\u7559\u7ebf\u7a0b\u675f"
    assert figures.chinese_figure("2,636 GB/s") == "2,636 GB/s"
