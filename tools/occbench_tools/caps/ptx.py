# SPDX-License-Identifier: Apache-2.0
"""Kernels of a PTX module, and their limits: .maxnreg, .maxntid, .minnctapersm."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

# .entry NAME ( parameters ) directives {
ENTRY = re.compile(r"(\.entry\s+([\w$%.]+)\s*(?:\([^)]*\))?)([^{;]*)\{")
LIMIT = re.compile(r"^[ \t]*\.(maxnreg|minnctapersm)[ \t]+\d+[ \t]*$\n?", re.MULTILINE)
BLOCK = re.compile(r"\.(maxntid|reqntid)\s+(\d+(?:\s*,\s*\d+)*)")
BLOCK_LINE = re.compile(r"^[ \t]*\.maxntid[\d, \t]+$\n?", re.MULTILINE)


class Limit(NamedTuple):
    """A cap on registers; or, with `block_size`, bounds: blocks of so many threads, `blocks` per SM."""

    registers: int = 0
    block_size: int = 0
    blocks: int = 0

    def words(self) -> str:
        if self.block_size:
            return f"bounds {self.block_size}, {self.blocks}"
        return f"cap {self.registers}"


def kernels(text: str) -> dict[str, int | None]:
    """The kernels, and for how many threads per block each is compiled; None where it says nothing."""
    found = {}
    for entry in ENTRY.finditer(text):
        block = BLOCK.search(entry[3])
        found[entry[2]] = math.prod(map(int, block[2].split(","))) if block else None
    return found


def limited(text: str, limit: Limit, names: frozenset[str]) -> str:
    """The module with these kernels limited so, in place of what limits them now."""

    def edit(entry: re.Match[str]) -> str:
        if entry[2] not in names:
            return entry[0]
        directives = LIMIT.sub("", entry[3])
        if limit.block_size:
            directives = BLOCK_LINE.sub("", directives)
            own = f".maxntid {limit.block_size}, 1, 1\n" if ".reqntid" not in directives else ""
            own += f".minnctapersm {limit.blocks}\n"
        else:
            own = f".maxnreg {limit.registers}\n"
        return f"{entry[1]}{directives.rstrip()}\n{own}{{"

    return ENTRY.sub(edit, text)
