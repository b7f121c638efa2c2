# SPDX-License-Identifier: Apache-2.0
"""How often each instruction was executed, from `ncu --import REPORT --page source --csv` (Nsight Compute,
section SourceCounters).

The file has a table for each launch: its kernel's name, a header, and the instructions in their order. ncu
spells names unlike the demangler here, so a table belongs to the kernel if its instructions match.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from occbench_tools.sass import Failure, Instruction

NAME, ADDRESS, SOURCE, COUNT = "Kernel Name", "Address", "Source", "Instructions Executed"
PADDING = {"BRA", "NOP"}  # after the last instruction
HOW = "print it with `ncu --import REPORT --page source --csv`, of a collection with --section SourceCounters"


@dataclass
class Table:
    """One launch."""

    kernel: str
    opcodes: list[str] = field(default_factory=list)  # without modifiers: 'LDG'
    executed: list[int] = field(default_factory=list)  # by warps


@dataclass
class Executed:
    """The execution count of each instruction of a kernel, summed over launches."""

    launches: int
    counts: list[int]


def opcode_of(source: str) -> str:
    """'LDG' of '@!P0 LDG.E R2, [R4]'; empty for none."""
    words = source.split()
    return next((word.split(".")[0].rstrip(";") for word in words if not word.startswith("@")), "")


def tables_of(lines: Iterator[str], report: Path) -> Iterator[Table]:
    """Raises Failure where a table is not as ncu writes it."""
    table: Table | None = None
    header: dict[str, int] = {}
    reader = csv.reader(lines)
    for row in reader:
        if row[:1] == [NAME] and len(row) > 1:
            if table:
                yield table
            table, header = Table(row[1]), {}
        elif table and {ADDRESS, SOURCE} <= set(row):
            header = {name: n for n, name in reversed(list(enumerate(row)))}
            if COUNT not in header:
                raise Failure(f"{report}: has no column {COUNT!r}: {HOW}")
        elif table and header and row:
            try:
                count = int(row[header[COUNT]].replace(",", ""))
                opcode = opcode_of(row[header[SOURCE]])
            except (IndexError, ValueError):
                raise Failure(
                    f"{report}, line {reader.line_num}: is not an instruction of ncu's source page"
                ) from None
            table.opcodes.append(opcode)
            table.executed.append(count)
    if table:
        yield table


def read_executed(report: Path, instructions: list[Instruction]) -> Executed:
    """Raises Failure where the report cannot be read or no launch has these instructions."""
    opcodes = [instruction.base for instruction in instructions]
    found = Executed(0, [0] * len(opcodes))
    others: list[str] = []
    try:
        with report.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            for table in tables_of(lines, report):
                own, padding = table.opcodes[: len(opcodes)], table.opcodes[len(opcodes) :]
                if own != opcodes or not PADDING.issuperset(padding):
                    others.append(table.kernel)
                    continue
                found.launches += 1
                found.counts = [a + b for a, b in zip(found.counts, table.executed, strict=False)]
    except (OSError, csv.Error) as error:
        raise Failure(f"{report}: {getattr(error, 'strerror', None) or error}") from None
    if found.launches:
        return found
    if not others:
        raise Failure(f"{report}: has no kernel's instructions: {HOW}")
    raise Failure(
        f"{report}: no launch has the {len(opcodes):,} instructions of this kernel (another build?); "
        f"it has {len(others):,}, the first of {others[0][:80]}"
    )
