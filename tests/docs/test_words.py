# SPDX-License-Identifier: Apache-2.0
"""No retired word in identifiers, comments and pages: docs/data/retired_words.txt lists them."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest
from occbench_docs import DOCS, ROOT
from occbench_docs.marks import BEGIN, END

LIST = DOCS / "data" / "retired_words.txt"
ROOMS = ("benchmarks", "cmake", "docs", "harness", "include", "kernels", "python", "tests", "tools", "")
CODE = {
    ".hpp": "//",
    ".cpp": "//",
    ".cuh": "//",
    ".cu": "//",
    ".js": "//",
    ".py": "#",
    ".cmake": "#",
    ".txt": "#",
}
EXEMPT = re.compile(
    r"CHANGELOG\.md|docs/history(\.md|/.*)|tests/(data|samples|tools/runs|fuzz/corpus)/.*|.*schema_upgrade.*|"
    r"tests/docs/test_words\.py|.*/(?!CMakeLists)[^/]*\.txt"
)
MARKED = re.compile(r"retired", re.IGNORECASE)  # a line that reads an old name
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
NAME = re.compile(r"[A-Za-z_]\w*")
GAP = r"(?:[\s\"]|//[/!<]*|#)+"  # between two words of a phrase: also where a comment or text is broken

Words = list[tuple[str, str]]


@lru_cache(maxsize=1)
def retired() -> Words:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def is_name(word: str) -> bool:
    """An identifier; all else is a phrase."""
    return NAME.fullmatch(word) is not None


def is_type(word: str) -> bool:
    """A capital and small letters: English too, so it counts in code and in `code` alone."""
    return re.fullmatch(r"[A-Z][a-z]+", word) is not None


def code_of(line: str, comment: str) -> str:
    """The code of a line, and what its comment sets in `code`; of Markdown the latter alone."""
    code, _, said = STRING.sub('""', line).partition(comment) if comment else ("", "", line)
    return f"{code} {' '.join(re.findall(r'`([^`]+)`', said))}"


def without_recordings(text: str) -> str:
    """A page without the output that docs/data keeps as it was printed; lines keep their numbers."""
    lines, recorded = [], False
    for line in text.splitlines():
        if begun := BEGIN.match(line):
            recorded = begun["words"].startswith("file ")
        lines.append("" if recorded else line)
        recorded = recorded and line != END
    return "\n".join(lines)


def found_in(text: str, suffix: str, words: Words) -> list[tuple[int, str, str]]:
    """Line, old word and new word of each that stands in a text."""
    text = without_recordings(text) if suffix == ".md" else text
    lines = ["" if MARKED.search(line) else line for line in text.splitlines()]
    names = {old: new for old, new in words if is_name(old)}
    found = []
    for number, line in enumerate(lines, 1):
        for old in sorted(names.keys() & set(NAME.findall(line))):
            if not is_type(old) or old in NAME.findall(code_of(line, CODE.get(suffix, ""))):
                found.append((number, old, names[old]))
    text = "\n".join(lines)
    spaced = re.sub(GAP, " ", text).lower()
    for old, new in words:
        if is_name(old) or re.sub(GAP, " ", old).lower() not in spaced:
            continue
        parts = GAP.join(re.escape(part) for part in re.split(GAP, old))
        edges = (r"(?<!\w)" if old[0].isalnum() else "", r"(?!\w)" if old[-1].isalnum() else "")
        for hit in re.finditer(edges[0] + parts + edges[1], text, re.IGNORECASE):
            found.append((text.count("\n", 0, hit.start()) + 1, old, new))
    return sorted(found)


def files(room: str) -> list[Path]:
    """Sources and pages of a room; of the repository's root those that lie in it."""
    below = (ROOT / room).rglob("*") if room else ROOT.glob("*")
    return sorted(
        path
        for path in below
        if path.suffix in (*CODE, ".md")
        and path.is_file()
        and not EXEMPT.fullmatch(path.relative_to(ROOT).as_posix())
    )


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room or "root")
def test_no_retired_word(room: str) -> None:
    said = [
        f"{path.relative_to(ROOT)}:{line}: '{old}' is now '{new}'"
        for path in files(room)
        for line, old, new in found_in(path.read_text(encoding="utf-8"), path.suffix, retired())
    ]
    assert not said, "\n" + "\n".join(said)


def test_retired_list_has_no_plain_english_word() -> None:
    """English goes on being written: what is retired has a mark of code in it, or is a phrase."""
    olds = [old for old, _ in retired()]
    assert [old for old in olds if re.fullmatch(r"[a-z]+", old)] == []
    assert sorted({old for old in olds if olds.count(old) > 1}) == []
    assert all(len(pair) == 2 and all(pair) for pair in retired())


WORDS = [("Lookout", "InterferenceProbe"), ("set_room", "set_free_at"), ("left alone", "skipped")]


@pytest.mark.parametrize(
    ("suffix", "text", "hits"),
    [
        (".cpp", "Lookout lookout;\n", ["Lookout"]),
        (".cpp", "// Lookout for dips.\n", []),
        (".cpp", "/// Whether `Lookout` saw it.\n", ["Lookout"]),
        (".py", 'word = "Lookout"\n', []),
        (".md", "Lookout duty. The `Lookout` class.\n", ["Lookout"]),
        (".cu", "int x = set_room(3);  // my_set_room\n", ["set_room"]),
        (".hpp", "// A kernel that is left\n// alone by it.\n", ["left alone"]),
        (".cpp", '"is left "\n    "alone"\n', ["left alone"]),
        (".py", 'RETIRED = {"left alone": "skipped"}\n', []),
        (".md", "<!-- generated: file docs/data/a.txt -->\nleft alone\n<!-- /generated -->\n", []),
        (".md", "<!-- generated: table a -->\nleft alone\n<!-- /generated -->\n", ["left alone"]),
        (".md", "It is left aloner.\n", []),
    ],
)
def test_finds_retired_words(suffix: str, text: str, hits: list[str]) -> None:
    assert [old for _, old, _ in found_in(text, suffix, WORDS)] == hits


def test_at_most_40_project_terms() -> None:
    """At most 40 terms of the project's own, each defined once, on one line."""
    page = (DOCS / "terms.md").read_text(encoding="utf-8")
    terms = [term for term in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE) if term != "term"]
    assert 0 < len(terms) <= 40 and len(set(terms)) == len(terms)
    assert "docs/terms.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "terms.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
