# SPDX-License-Identifier: Apache-2.0
"""Which loads of a loop every trip makes of the same addresses, read from its machine code.

Values are numbered (Cocke and Schwartz 1970): the same operation on the same values is one value, whatever
register holds it. So an address that a trip computes again, for want of registers, is recognised.
"""

import re
from collections.abc import Hashable, Iterable
from typing import Any

from occbench_tools.sass import TENSOR, Instruction

REGISTER = re.compile(r"\b(U?[RP])(\d+)(\.64)?")
RESULT = re.compile(r"U?R\d")
PREDICATE = re.compile(r"!?U?P[\dT]$")
NO_RESULT = {"STG", "STS", "STL", "ST", "RED", "BRA", "BAR", "EXIT"}
# What these give may be another value next time.
ANEW = {
    "LDG", "LDS", "LDSM", "LDL", "LD", "LDGSTS", "ATOM", "ATOMG", "ATOMS", "SHFL", "VOTE", "VOTEU", "REDUX",
    "MATCH", "SYNCS", "S2R", "S2UR", "CS2R", "CS2UR", "P2R",
}  # fmt: skip


def results_and_sources(instruction: Instruction) -> tuple[list[str], list[str]]:
    """Its operands: what it writes, predicates and a register, comes first."""
    operands = list(instruction.operands)
    if instruction.base in NO_RESULT:
        return [], operands
    results: list[str] = []

    def take(form: re.Pattern[str], most: int) -> None:
        while operands and most and form.match(operands[0]):
            results.append(operands.pop(0))
            most -= 1

    take(PREDICATE, 2)
    if not instruction.base.endswith("SETP"):
        take(RESULT, 1)
        take(PREDICATE, 2)  # what it carries
    return results, operands


def width(instruction: Instruction) -> int:
    """Registers that its result fills, or more."""
    suffixes = set(instruction.opcode.split("."))
    if instruction.base in TENSOR:
        return 128
    if "128" in suffixes:
        return 4
    wide = instruction.base[0] == "D" or instruction.base in ("CS2R", "FFMA2", "FADD2", "FMUL2")
    return 2 if wide or {"WIDE", "64", "F64"} & suffixes else 1


class Values:
    """The value that each register holds, as a number: equal numbers are equal values."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.held: dict[str, int] = {}

    def number(self, value: Hashable) -> int:
        """Of a value that is described so."""
        return self.numbers.setdefault(value, len(self.numbers))

    def read(self, operand: str, registers: int = 1) -> tuple[Any, ...]:
        """What an operand stands for, each of its registers being the first of so many (two: 'R2.64')."""
        form = REGISTER.sub(lambda match: match[1] + (match[3] or ""), operand).replace(".reuse", "")
        names = [
            f"{file}{int(first) + i}"
            for file, first, pair in REGISTER.findall(operand)
            for i in range(1 if "P" in file else 2 if pair else registers)
        ]
        return form, *(self.held.get(name, self.number(name)) for name in names)

    def run(self, instruction: Instruction, once: Hashable) -> tuple[Any, ...]:
        """Executes it; `once` tells this time from all others. Returns its sources."""
        results, operands = results_and_sources(instruction)
        if instruction.base == "R2P":  # predicates, which it does not name
            for name in [name for name in self.held if "P" in name]:
                self.held[name] = self.number((once, name))
            return ()
        count = width(instruction)
        sources = tuple(self.read(operand, min(count, 2)) for operand in operands)
        value: Any = (instruction.opcode, *sources, once if instruction.base in ANEW else None)
        copied = count == 1 and "MOV" in instruction.opcode and len(sources[-1]) == 2
        always = instruction.guard in ("", "PT")
        guard = None if always else self.read(instruction.guard)
        for at, result in enumerate(results):
            for file, first, _ in REGISTER.findall(result):
                for i in range(1 if "P" in file else count):
                    name = f"{file}{int(first) + i}"
                    if always and copied:
                        self.held[name] = sources[-1][1]
                    else:  # where the guard says no, it is what it was
                        before = None if always else self.held.get(name, self.number(name))
                        self.held[name] = self.number((value, at, i, guard, before))
        return *sources, guard


def repeated_instructions(trip: Iterable[Instruction]) -> list[bool]:
    """Of each instruction of a loop's trip, whether it is a load from global memory that every trip makes of
    the same address."""
    trip = list(trip)
    if all(instruction.base != "LDG" for instruction in trip):
        return [False] * len(trip)
    values = Values()
    # Three trips, for what the first finds in registers was computed before the loop, by other instructions.
    _, before, after = (
        [values.run(instruction, (time, at)) for at, instruction in enumerate(trip)] for time in range(3)
    )
    return [
        instruction.base == "LDG" and first == then
        for instruction, first, then in zip(trip, before, after, strict=True)
    ]
