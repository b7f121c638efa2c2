# SPDX-License-Identifier: Apache-2.0
"""The two marks of a page, and how they are filled in.

A block has lines of its own; the text between them is replaced:
    <!-- generated: KIND WORDS -->
    ...
    <!-- /generated -->
A figure is in prose, never at the beginning of a line (Markdown would take the line for HTML):
    the best read is <!-- =read-best -->4,402 GB/s<!-- / -->
Marks in hand-written fences and in `code` are ignored.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from occbench_docs import DocsError

BEGIN = re.compile(r"^<!-- generated: (?P<words>.+?) -->$")
END = "<!-- /generated -->"
FIGURE = re.compile(r"<!-- =(?P<name>\S+) -->(?P<text>.*?)<!-- / -->")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


@dataclass(frozen=True)
class Stale:
    """A mark whose text is stale."""

    line: int
    mark: str
    actual: str
    expected: str

    def __str__(self) -> str:
        return f"{self.mark} says '{self.actual}', and should say '{self.expected}'"


def first_difference(actual: str, expected: str) -> tuple[str, str]:
    """The first lines that differ of two texts."""
    ours, theirs = actual.splitlines(), expected.splitlines()
    for i in range(max(len(ours), len(theirs))):
        pair = tuple(lines[i] if i < len(lines) else "(end)" for lines in (ours, theirs))
        if pair[0] != pair[1]:
            return pair[0][:100], pair[1][:100]
    return "", ""


def fill(text: str, block: Callable[[str], str], figure: Callable[[str], str]) -> tuple[str, list[Stale]]:
    """The text with every mark filled in, and the marks that were stale.

    `block` returns the lines of a block, `figure` the text of a figure, by what the mark names; each raises
    DocsError, to which the line is added here.
    """
    lines, stale, fence = [], [], ""
    source = iter(enumerate(text.splitlines(), 1))
    for number, line in source:
        if fence or (opened := re.match(r" *(```+|~~~+)", line)):
            if not fence:
                fence = opened[1]
            elif line.strip() == fence:
                fence = ""
            lines.append(line)
            continue
        try:
            if begun := BEGIN.match(line):
                actual = []
                for _, inner in source:
                    if inner == END:
                        break
                    if BEGIN.match(inner):
                        raise DocsError(f"'{begun['words']}' has no '{END}'")
                    actual.append(inner)
                else:
                    raise DocsError(f"'{begun['words']}' has no '{END}'")
                expected = block(begun["words"]).strip("\n")
                if "\n".join(actual) != expected:
                    stale.append(
                        Stale(number, begun["words"], *first_difference("\n".join(actual), expected))
                    )
                lines += [line, expected, END]
            elif line == END or line.startswith("<!-- generated"):
                raise DocsError(f"'{line}' is out of place, or is not '<!-- generated: KIND WORDS -->'")
            else:
                lines.append(fill_line(line, number, figure, stale))
        except DocsError as error:
            raise DocsError(f"{number}: {error}") from error
    return "\n".join(lines) + "\n", stale


def fill_line(line: str, number: int, figure: Callable[[str], str], stale: list[Stale]) -> str:
    """One line of prose with its figures."""
    code = [range(*found.span()) for found in CODE.finditer(line)]

    def replace(found: re.Match[str]) -> str:
        if any(found.start() in span for span in code):
            return found[0]
        if not line[: found.start()].strip():
            raise DocsError(f"figure '{found['name']}' begins a line, which Markdown takes for HTML")
        expected = figure(found["name"])
        if found["text"] != expected:
            stale.append(Stale(number, found["name"], found["text"], expected))
        return f"<!-- ={found['name']} -->{expected}<!-- / -->"

    filled = FIGURE.sub(replace, line)
    if "<!-- =" in CODE.sub("", FIGURE.sub("", line)):
        raise DocsError("a figure is not closed on its line: '<!-- =NAME -->...<!-- / -->'")
    return filled


def without_marks(text: str) -> str:
    """The text without the marks, as a reader sees it."""
    blocks = re.compile(r"^<!-- (generated: .+?|/generated) -->\n", re.MULTILINE)
    return FIGURE.sub(lambda found: found["text"], blocks.sub("", text))
