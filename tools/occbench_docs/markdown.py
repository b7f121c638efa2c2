# SPDX-License-Identifier: Apache-2.0
"""Markdown tables and console blocks."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar within a cell is escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)


def console(command: str, text: str) -> str:
    """A command and its output."""
    return f"```console\n$ {command}\n{text.rstrip()}\n```"
