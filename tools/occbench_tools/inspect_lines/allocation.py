# SPDX-License-Identifier: Apache-2.0
"""Why ptxas takes more registers than are live at the peak, as far as the code proves it.

A value above the peak needs its register if no register below the peak is free for as long as it lives. A
vector needs registers in a row, aligned to its length, which may be in use where single registers are free.
A value that still has room below the peak, after all earlier moves, could have been placed there by ptxas.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from occbench_tools.inspect_lines.calls import are_followed, mask
from occbench_tools.inspect_lines.listing import Listing
from occbench_tools.inspect_lines.pressure import RESERVED, Flow, Pressure, state

TOLERATED = 2  # registers above peak and reserve that are not reported
NAMED = re.compile(r"\bR(\d+)")
WIDEST = 4  # registers; longer operands of matrix instructions are aligned as four are


@dataclass
class Excess:
    """Registers beyond those live at the peak and those reserved, by reason."""

    lifetimes: int = 0
    vectors: int = 0
    would_fit: int = 0
    called_functions: int = 0
    warp_roles: int = 0
    not_explained: int = 0

    @property
    def registers(self) -> int:
        return sum(getattr(self, one.name) for one in fields(self))


class Code:
    """Registers in use after each instruction, one bit each."""

    def __init__(self, listing: Listing) -> None:
        self.steps = listing.steps
        flow = Flow(self.steps)
        self.live_before = [mask(step.live, ":vx") for step in self.steps]
        written = [mask(step.live, "^x") for step in self.steps]
        self.overwritten = list(written)  # values that an instruction overwrites
        for n, step in enumerate(self.steps):
            if step.instruction.guard not in ("", "PT"):
                unchanged = 0  # registers that may keep their value
                for previous in flow.before[n]:
                    unchanged |= self.live_before[previous] | written[previous]
                self.overwritten[n] &= ~unchanged
                self.live_before[n] |= written[n] & unchanged
            if step.instruction.base.endswith("GMMA"):
                self.overwritten[n] = 0  # adds to its accumulators, in the same registers
        self.flow = flow
        self.live_after = list(written)
        for n, following in enumerate(flow.after):
            for each in following:
                self.live_after[n] |= self.live_before[each]

    def values(self, register: int) -> Iterator[list[int]]:
        """For each value that the register ever holds, the instructions after which it is live."""
        bit = 1 << register
        seen: set[int] = set()
        for start, registers in enumerate(self.live_after):
            if not registers & bit or start in seen:
                continue
            value: list[int] = []
            waiting = [start]
            while waiting:
                if (n := waiting.pop()) in seen:
                    continue
                seen.add(n)
                value.append(n)
                waiting += self.same_value(n, bit)
            yield value

    def same_value(self, n: int, bit: int) -> Iterator[int]:
        """Neighbours of an instruction after which the register holds the same value."""
        readers = [each for each in self.flow.after[n] if self.live_before[each] & bit]
        if not self.overwritten[n] & bit:
            readers.append(n)
        for reader in readers:
            yield from (each for each in self.flow.before[reader] if self.live_after[each] & bit)
            if self.live_after[reader] & bit and not self.overwritten[reader] & bit:
                yield reader

    def registers_in_use(self, value: list[int]) -> int:
        registers = 0
        for n in value:
            registers |= self.live_after[n]
        return registers

    def vector(self, register: int, value: list[int]) -> range:
        """The longest operand that holds the register while the value lives."""
        users = {*value, *(each for n in value for each in self.flow.after[n])}
        return max((self.operand(n, register) for n in users), key=len)

    def operand(self, n: int, register: int) -> range:
        step = self.steps[n]
        if state(step, register) not in ("^", "v", "x"):
            return range(register, register + 1)
        registers = {int(one) for text in step.instruction.operands for one in NAMED.findall(text)}
        first = max((one for one in registers if one <= register), default=register)
        end = register + 1
        while end not in registers and state(step, end) in ("^", "v", "x"):
            end += 1
        return range(first, end)


class Packing:
    """Moves values from above the peak to registers below, one by one, as far as there is room."""

    def __init__(self, code: Code, peak: int) -> None:
        self.code = code
        self.peak = peak
        self.moved: dict[range, list[tuple[set[int], int]]] = {}  # where a vector lived, and its new start

    def free_place(self, value: list[int], register: int, vector: range) -> int | None:
        """The first register of aligned ones that are free for a vector while one of its values lives."""
        length = min(1 << (len(vector) - 1).bit_length(), WIDEST)
        place = register - vector.start
        for lives, base in self.moved.get(vector, []):
            rest = [n for n in value if n not in lives]
            if not lives.isdisjoint(value) and not self.code.registers_in_use(rest) >> (base + place) & 1:
                return base
        in_use = self.code.registers_in_use(value)
        needed = (1 << max(len(vector), length)) - 1
        starts = range(0, self.peak - needed.bit_length() + 1, length)
        return next((base for base in starts if not in_use >> base & needed), None)

    def reason(self, register: int) -> str:
        """Why a register above the peak is in use: the strongest reason of all its values."""
        found = "would_fit"
        for value in self.code.values(register):
            if not ~self.code.registers_in_use(value) & ((1 << self.peak) - 1):
                return "lifetimes"
            vector = self.code.vector(register, value)
            if (base := self.free_place(value, register, vector)) is None:
                found = "vectors"
                continue
            self.moved.setdefault(vector, []).append((set(value), base))
            for n in value:
                self.code.live_after[n] |= ((1 << len(vector)) - 1) << base
        return found


def excess_of(pressure: Pressure) -> Excess | None:
    """The excess; None where the count fits the peak, or live registers are not known."""
    listing, peak = pressure.listing, pressure.peak_registers
    count = pressure.row["registers_per_thread"]
    if not listing.has_liveness or abs(count - peak - RESERVED) <= TOLERATED:
        return None
    if any(step.instruction.base == "USETMAXREG" for step in listing.steps):
        return Excess(warp_roles=count - peak - RESERVED)
    if not are_followed((step.instruction, step.live) for step in listing.steps):
        return Excess(
            called_functions=count - peak - RESERVED
        )  # some of their registers, which are not known
    excess = Excess()
    top = max(len(step.live) for step in listing.steps)
    packing = Packing(Code(listing), peak)
    for register in range(peak, min(top, count - RESERVED)):
        reason = packing.reason(register)
        setattr(excess, reason, getattr(excess, reason) + 1)
    excess.not_explained = count - peak - RESERVED - excess.registers
    return excess
