# SPDX-License-Identifier: Apache-2.0
"""tools/docs fills in marks, names stale ones with their line, and refuses broken ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from occbench_docs import DOCS, DocsError
from occbench_docs.__main__ import refresh_pages
from occbench_docs.blocks import block, select_lines
from occbench_docs.figures import figure
from occbench_docs.marks import fill, without_marks

PAGE = """\
# Page

The best is <!-- =best -->1 GB/s<!-- / -->, not `<!-- =none -->x<!-- / -->`.

<!-- generated: output true -->
old
<!-- /generated -->

```markdown
<!-- generated: output false -->
as <!-- =none -->x<!-- / -->
```
"""


def filled(text: str) -> tuple[str, list[str]]:
    new, stale = fill(text, lambda words: f"[{words}]", lambda name: {"best": "2 GB/s"}[name])
    return new, [f"{mark.line}: {mark}" for mark in stale]


def test_fill() -> None:
    new, stale = filled(PAGE)
    assert new == PAGE.replace("1 GB/s", "2 GB/s").replace("\nold\n", "\n[output true]\n")
    assert stale == [
        "3: best says '1 GB/s', and should say '2 GB/s'",
        "5: output true says 'old', and should say '[output true]'",
    ]
    assert filled(new) == (new, [])


def test_fills_only_the_named_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [tmp_path / "one.md", tmp_path / "other.md"]
    for page in pages:
        page.write_text("<!-- generated: output echo new -->\nold\n<!-- /generated -->\n", encoding="utf-8")
    monkeypatch.setattr("occbench_docs.__main__.pages", lambda: pages)
    monkeypatch.setattr("occbench_docs.__main__.ROOT", tmp_path)
    assert refresh_pages(False, pages[:1]) == 1
    assert refresh_pages(True, pages[:1]) == 0
    assert ["$ echo" in page.read_text(encoding="utf-8") for page in pages] == [True, False]
    with pytest.raises(DocsError, match=r"data/held\.csv is not a page"):
        refresh_pages(True, [DOCS / "data/held.csv"])


def test_removes_marks_from_text() -> None:
    seen = without_marks(PAGE)
    assert "The best is 1 GB/s, not" in seen
    assert "old\n" in seen and "/generated" not in seen


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<!-- generated: output true -->\n", "1: 'output true' has no '<!-- /generated -->'"),
        (
            "<!-- generated: a -->\n<!-- generated: b -->\n<!-- /generated -->\n",
            "1: 'a' has no '<!-- /generated -->'",
        ),
        ("\n<!-- /generated -->\n", "2: '<!-- /generated -->' is out of place"),
        ("<!-- generated output -->\n", "1: '<!-- generated output -->' is out of place"),
        ("a\n<!-- =best -->1<!-- / --> is best\n", "2: figure 'best' begins a line"),
        ("is <!-- =best -->1\n", "1: a figure is not closed"),
    ],
)
def test_broken_marks(text: str, complaint: str) -> None:
    with pytest.raises(DocsError, match=re.escape(complaint)):
        filled(text)


def test_cut() -> None:
    text = "a\nb\nc\nd\n"
    assert select_lines(text, "1-2") == "a\nb\n..."
    assert select_lines(text, "2,4") == "...\nb\n...\nd"
    assert select_lines(text, "3-") == "...\nc\nd"
    for wrong in ("5", "2,1", "x"):
        with pytest.raises(DocsError, match="lines="):
            select_lines(text, wrong)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("nothing", "no kind of block 'nothing'"),
        ("table nothing", "no table 'nothing'"),
        ("csv none.csv", "there is no docs/data/none.csv"),
        ("output true | exit=3", "ends with 0, not 3"),
        ("explain nothing", "no experiment 'nothing'"),
        ("explain registers@h2", "no committed run of a 'h2'"),
    ],
)
def test_refused(words: str, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCCBENCH", "occbench")
    with pytest.raises(DocsError, match=complaint):
        block(words)


def test_rejects_unknown_figures() -> None:
    with pytest.raises(DocsError, match="no figure 'nothing'"):
        figure("nothing")
    assert figure("gpu").startswith("NVIDIA")
