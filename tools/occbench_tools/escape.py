# SPDX-License-Identifier: Apache-2.0
"""Escapes names, reasons and arguments: a function for each medium that shows them.

They come from files that others wrote. Each medium shows them literally: no terminal control, no mark-up, no
formula, no mathematics.
"""

from __future__ import annotations

import bisect
import functools
import html as standard
import json
import re
import urllib.parse
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MARKS = re.compile(r"[\\`*\[\]|~$]|(?<!\w)_|_(?!\w)|(?<=:)/(?=/)|(?<=www)\.")
BEGINS = re.compile(r"^(?=#|[-+=]+(?:\s|$))|(?<=^\d)(?=[.)](?:\s|$))|(?<=^\d\d)(?=[.)](?:\s|$))")
FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LONGEST = 60  # signs of a name in a picture; a sum tells apart those that are cut off


@functools.cache
def unprintable() -> tuple[list[int], list[tuple[int, bool]]]:
    """The ranges of unprintable.txt, which the program also uses: starts; ends, with flags of spaces."""
    table = Path(__file__).with_name("unprintable.txt").read_text()
    rows = [line.split() for line in table.splitlines() if not line.startswith("#")]
    ends = [(int(last, 16), how == "space") for _, last, how in rows]
    return [int(first, 16) for first, _, _ in rows], ends


def visible_form(sign: str) -> str:
    """The sign, ' ' for a special space, or '\\x1b' for a control, an invisible sign or invalid UTF-8."""
    code = ord(sign)
    firsts, ends = unprintable()
    at = bisect.bisect_right(firsts, code) - 1
    if at < 0 or code > ends[at][0]:
        return sign
    if ends[at][1]:
        return " "
    if 0xDC80 <= code <= 0xDCFF:  # how Python holds such a byte of a file's name
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printable(text: object) -> str:
    """For a terminal: one line of visible signs."""
    text = str(text)
    return text if text.isascii() and text.isprintable() else "".join(map(visible_form, text))


def html(text: object) -> str:
    """For HTML, between tags or in a quoted attribute."""
    return standard.escape(printable(text))


def markdown(text: object) -> str:
    """For Markdown: a line, or a table's cell. No HTML, no mark, no link."""
    plain = MARKS.sub(r"\\\g<0>", printable(text).strip())
    return BEGINS.sub(r"\\", standard.escape(plain, quote=False))


def prose(text: str) -> str:
    """For Markdown: a sentence of ours, in which `so` is code; see without_backticks."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return markdown(text)
    parts[1::2] = ["`" + code.replace("|", "\\|") + "`" for code in parts[1::2]]
    parts[::2] = map(escape_part, parts[::2])
    return "".join(parts)


def escape_part(part: str) -> str:
    """markdown() of a part of a line, with the spaces at its ends."""
    inside = part.strip()
    return part.replace(inside, markdown(inside), 1) if inside else part


def without_backticks(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, whose names may then be set between backticks."""
    names = {
        column: rows[column].str.replace("`", "'", regex=False)
        for column in ("case_id", "family", "variant")
        if column in rows and rows[column].str.contains("`", regex=False).any()
    }
    return rows.assign(**names) if names else rows


def picture(text: object) -> str:
    """For matplotlib: no mathematics, and no name that a legend leaves out. Twice is as once."""
    shown = re.sub(r"(?<!\\)\$", r"\\$", printable(text))
    return f" {shown}" if shown.startswith("_") else shown


def escape_for_picture(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with all text escaped by picture() and long text shortened."""

    def short(text: object) -> str:
        shown = picture(text)
        if len(shown) <= LONGEST:
            return shown
        return f"{shown[: LONGEST - 12]}... {zlib.crc32(shown.encode()):08x}"

    text = [column for column in rows if is_text(rows[column])]
    # Parts of a case's name are searched for, and no picture shows it.
    hows = {column: picture if column == "case_id" else short for column in text}
    return rows.assign(**{c: rows[c].map(how, na_action="ignore") for c, how in hows.items()})


def is_text(column: pd.Series) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype  # not for those who have no table

    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def cell(value: Any) -> Any:  # noqa: ANN401
    """For a cell of CSV that a spreadsheet opens: text that would be a formula gets an apostrophe (OWASP)."""
    if not isinstance(value, str) or NUMBER.fullmatch(value):
        return value
    return ("'" if FORMULA.match(value) else "") + printable(value)


def csv(table: pd.DataFrame, float_format: str | None = None) -> str:
    """A table as CSV for people and spreadsheets (RFC 4180, lines end with LF); numbers stay numbers.

    Not for the files of a run, which tools read back: those hold names as they are.
    """
    safe = table.assign(**{c: table[c].map(cell) for c in table if is_text(table[c])})
    return safe.rename(columns=cell).to_csv(index=False, lineterminator="\n", float_format=float_format)


def as_json(value: object) -> str:
    """For JSON on a terminal: ASCII without controls. NaN raises ValueError."""
    return json.dumps(value, indent=1, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table's rows for as_json(); absent numbers are None."""
    return json.loads(table.to_json(orient="records", double_precision=15))


def file_name(name: str) -> str:
    """For a file of that name in a folder of ours: one part of a path, whatever the name says."""
    return urllib.parse.quote(name, safe=" +=,@")


def link(target: object) -> str:
    """For the target of a link in Markdown."""
    return urllib.parse.quote(str(target), safe="/:~=+,@", errors="surrogateescape")
