# SPDX-License-Identifier: Apache-2.0
"""Kernels of a PTX module and what limits their registers: .maxnreg, .maxntid, .minnctapersm, setmaxnreg."""

import math
import re
from typing import NamedTuple

# .entry NAME ( parameters ) directives {
ENTRY = re.compile(r"(\.entry\s+([\w$%.]+)\s*(?:\([^)]*\))?)([^{;]*)\{")
LIMIT = re.compile(r"^[ \t]*\.(maxnreg|minnctapersm)[ \t]+\d+[ \t]*$\n?", re.MULTILINE)
BLOCK = re.compile(r"\.(maxntid|reqntid)\s+(\d+(?:\s*,\s*\d+)*)")
FUNCTION = re.compile(r"^(?=[^\n/]*\.(?:entry|func)\b)", re.MULTILINE)
REQUEST = re.compile(r"(\bsetmaxnreg\.(inc|dec)\.sync\.aligned\.u32\s+)(\d+)")
SPILLS_TO_SMEM = '\n.pragma "enable_smem_spilling";'  # of PTX 9.0, the first statement of a kernel
BLOCK_LINE = re.compile(r"^[ \t]*\.maxntid[\d, \t]+$\n?", re.MULTILINE)


class Limit(NamedTuple):
    """A cap on registers; or, with `block_size`, bounds: blocks of so many threads, `blocks` per SM; or, with
    `requests`, setmaxnreg's register counts in the source and the new ones, by warp role. `spills_to_smem`:
    to shared memory first."""

    registers: int = 0
    block_size: int = 0
    blocks: int = 0
    requests: tuple[tuple[int, int], ...] = ()
    spills_to_smem: bool = False

    def words(self) -> str:
        own = f"cap {self.registers}" if self.registers else ""
        if self.block_size:
            own = f"bounds {self.block_size}, {self.blocks}"
        elif self.requests:
            own = "roles " + "/".join(str(new) for _, new in self.requests)
        return ", ".join(filter(None, ("smem spills" if self.spills_to_smem else "", own)))


def kernels(text: str) -> dict[str, int | None]:
    """The kernels, and the threads per block that each is compiled for; None where it says nothing."""
    found = {}
    for entry in ENTRY.finditer(text):
        block = BLOCK.search(entry[3])
        found[entry[2]] = math.prod(map(int, block[2].split(","))) if block else None
    return found


def requests(text: str, kernel: str) -> dict[int, set[str]]:
    """The registers that a kernel's setmaxnreg instructions name, each with 'inc' or 'dec' or both."""
    found: dict[int, set[str]] = {}
    for function in FUNCTION.split(text):
        entry = ENTRY.search(function)
        for _, action, count in REQUEST.findall(function) if entry and entry[2] == kernel else ():
            found.setdefault(int(count), set()).add(action)
    return found


def apply_limit(text: str, limit: Limit, names: frozenset[str]) -> str:
    """The module with this limit on these kernels, in place of their present ones."""
    new_requests = dict(limit.requests)

    def edit_head(entry: re.Match[str]) -> str:
        directives = entry[3]
        if limit.block_size:
            directives = BLOCK_LINE.sub("", LIMIT.sub("", directives)).rstrip() + "\n"
            directives += f".maxntid {limit.block_size}, 1, 1\n" if ".reqntid" not in directives else ""
            directives += f".minnctapersm {limit.blocks}\n"
        elif limit.registers:
            directives = f"{LIMIT.sub('', directives).rstrip()}\n.maxnreg {limit.registers}\n"
        return f"{entry[1]}{directives}{{{SPILLS_TO_SMEM * limit.spills_to_smem}"

    def edit(function: str) -> str:
        entry = ENTRY.search(function)
        if not entry or entry[2] not in names:
            return function
        function = ENTRY.sub(edit_head, function, count=1)
        return REQUEST.sub(lambda m: f"{m[1]}{new_requests.get(int(m[3]), m[3])}", function)

    return "".join(map(edit, FUNCTION.split(text)))
