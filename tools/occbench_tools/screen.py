# SPDX-License-Identifier: Apache-2.0
"""Text for one screen: few lines, none wider than the terminal, names whole where they fit."""

import io
import re
import shutil
import textwrap
from collections.abc import Callable

from occbench_tools.escape import printable

LINES = 23  # most that a command says without --verbose: a terminal of 24 rows still shows the first
UNIT = re.compile(r"(?<=\d) (?=(?:%|x|B|KiB|KB|GB/s|TFLOP/s|us|ms|s|GHz|W)(?!\w))")  # after its number
NARROWEST = 60  # columns; a terminal that has fewer breaks the lines itself


def columns(requested: int | None = None) -> int:
    """The requested columns, else COLUMNS, else the terminal's, else 80."""
    return max(requested or shutil.get_terminal_size().columns, NARROWEST)


def elide(name: str, room: int) -> str:
    """The name; if it is longer than `room`, its two ends with '...' between: case names differ at both."""
    name = printable(name)
    if len(name) <= room:
        return name
    head = (room - 3) // 2
    return f"{name[:head]}...{name[len(name) - (room - 3 - head) :]}"


def fill_lines(text: str, width: int, **indents: str) -> str:
    """Lines of whole words, a number never without its unit."""
    text = UNIT.sub("\N{NO-BREAK SPACE}", text)
    return textwrap.fill(text, width, break_on_hyphens=False, **indents).replace("\N{NO-BREAK SPACE}", " ")


def wrap(text: str, width: int) -> list[str]:
    """The lines of fill_lines(); a word that no line holds is elided."""
    words = " ".join(elide(word, width) for word in printable(text).split())
    return fill_lines(words, width).splitlines()


def join_parts(parts: list[str], width: int) -> str:
    """As many parts as fit one line, with commas, and the number of the others."""
    for count in range(len(parts), 0, -1):
        more = f" and {len(parts) - count} more" if count < len(parts) else ""
        if len(line := ", ".join(parts[:count]) + more) <= width:
            return line
    return elide(parts[0], width) if parts else ""


def align_columns(rows: list[list[str]], width: int, names: int, left: tuple[int, ...] = ()) -> list[str]:
    """A table's lines: where they are too wide, the column `names` is elided.

    Columns of `left`, and that of names, are flush left; the others, figures, flush right.
    """
    if not rows:
        return []
    widths = [max(len(printable(cell)) for cell in column) for column in zip(*rows, strict=True)]
    rest = sum(widths) - widths[names] + 2 * (len(widths) - 1)
    widths[names] = min(widths[names], max(width - rest, 10))

    def line(row: list[str]) -> str:
        cells = [elide(cell, room) for cell, room in zip(row, widths, strict=True)]
        return "  ".join(
            cell.ljust(room) if i == names or i in left else cell.rjust(room)
            for i, (cell, room) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    return [line(row) for row in rows]


def digits(share: float) -> str:
    """A fraction as '73 %', '4.2 %', '0.3 %': a run resolves tenths of a percent."""
    value = 100 * share
    return f"{value:.1f} %" if abs(round(value, 1)) < 10 else f"{value:,.0f} %"


def paint(lines: list[str], style: Callable[[str], str]) -> str:
    """The lines as text; on a terminal each in its style, one of rich's or ''."""
    from rich.console import Console  # not for those who only cut names
    from rich.text import Text

    stream, colour = io.StringIO(), Console().is_terminal
    console = Console(file=stream, force_terminal=colour, width=10_000, highlight=False)
    for line in lines:
        console.print(Text(printable(line), style(line)))
    return stream.getvalue()
