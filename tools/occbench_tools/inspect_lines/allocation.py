# SPDX-License-Identifier: Apache-2.0
"""Why ptxas takes more registers than are live at the peak, as far as the code proves it.

A value above the peak needs its register if no register below the peak is free for as long as it lives. A
vector needs registers in a row, aligned to its length: they may be taken where single registers are free.
What still has room below the peak, with all that moved there before, ptxas could have put there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from occbench_tools.inspect_lines.calls import are_followed, mask
from occbench_tools.inspect_lines.listing import Listing
from occbench_tools.inspect_lines.pressure import RESERVED, Flow, Pressure, state

TOLERATED = 2  # registers above peak and reserve of which nothing is said
NAMED = re.compile(r"\bR(\d+)")
WIDEST = 4  # registers; longer operands of matrix instructions are aligned as four are


@dataclass
class Excess:
    """Registers above those that are live at the peak and those reserved, by what takes them."""

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
    """Registers in use behind each instruction, one bit each."""

    def __init__(self, listing: Listing) -> None:
        self.steps = listing.steps
        flow = Flow(self.steps)
        self.before = [mask(step.live, ":vx") for step in self.steps]
        written = [mask(step.live, "^x") for step in self.steps]
        self.ends = list(written)  # values that an instruction overwrites
        for n, step in enumerate(self.steps):
            if step.instruction.guard not in ("", "PT"):
                held = 0  # what may stay as it was
                for previous in flow.before[n]:
                    held |= self.before[previous] | written[previous]
                self.ends[n] &= ~held
                self.before[n] |= written[n] & held
            if step.instruction.base.endswith("GMMA"):
                self.ends[n] = 0  # adds to its accumulators, in the same registers
        self.flow = flow
        self.behind = list(written)
        for n, following in enumerate(flow.after):
            for each in following:
                self.behind[n] |= self.before[each]

    def values(self, register: int) -> Iterator[list[int]]:
        """Of each value that the register ever holds, the instructions behind which it lives."""
        bit = 1 << register
        seen: set[int] = set()
        for start, registers in enumerate(self.behind):
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
        """Neighbours of an instruction behind which the register holds the same value."""
        readers = [each for each in self.flow.after[n] if self.before[each] & bit]
        if not self.ends[n] & bit:
            readers.append(n)
        for reader in readers:
            yield from (each for each in self.flow.before[reader] if self.behind[each] & bit)
            if self.behind[reader] & bit and not self.ends[reader] & bit:
                yield reader

    def taken(self, value: list[int]) -> int:
        registers = 0
        for n in value:
            registers |= self.behind[n]
        return registers

    def vector(self, register: int, value: list[int]) -> range:
        """The longest operand that holds the register while the value lives."""
        users = {*value, *(each for n in value for each in self.flow.after[n])}
        return max((self.operand(n, register) for n in users), key=len)

    def operand(self, n: int, register: int) -> range:
        step = self.steps[n]
        if state(step, register) not in ("^", "v", "x"):
            return range(register, register + 1)
        named = {int(one) for text in step.instruction.operands for one in NAMED.findall(text)}
        first = max((one for one in named if one <= register), default=register)
        end = register + 1
        while end not in named and state(step, end) in ("^", "v", "x"):
            end += 1
        return range(first, end)


class Packing:
    """Moves values from above the peak to registers below, one by one, as far as there is room."""

    def __init__(self, code: Code, peak: int) -> None:
        self.code = code
        self.peak = peak
        self.moved: dict[range, list[tuple[set[int], int]]] = {}  # where a vector lived, and its new start

    def room(self, value: list[int], register: int, vector: range) -> int | None:
        """The first register of aligned ones that are free for a vector while one of its values lives."""
        length = min(1 << (len(vector) - 1).bit_length(), WIDEST)
        at = register - vector.start
        for lives, base in self.moved.get(vector, []):
            rest = [n for n in value if n not in lives]
            if not lives.isdisjoint(value) and not self.code.taken(rest) >> (base + at) & 1:
                return base
        taken = self.code.taken(value)
        need = (1 << max(len(vector), length)) - 1
        starts = range(0, self.peak - need.bit_length() + 1, length)
        return next((base for base in starts if not taken >> base & need), None)

    def reason(self, register: int) -> str:
        """Why a register above the peak is in use: the strongest reason of all its values."""
        found = "would_fit"
        for value in self.code.values(register):
            if not ~self.code.taken(value) & ((1 << self.peak) - 1):
                return "lifetimes"
            vector = self.code.vector(register, value)
            if (base := self.room(value, register, vector)) is None:
                found = "vectors"
                continue
            self.moved.setdefault(vector, []).append((set(value), base))
            for n in value:
                self.code.behind[n] |= ((1 << len(vector)) - 1) << base
        return found


def excess_of(pressure: Pressure) -> Excess | None:
    """None where the count is as the peak says, or live registers are not known."""
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
        why = packing.reason(register)
        setattr(excess, why, getattr(excess, why) + 1)
    excess.not_explained = count - peak - RESERVED - excess.registers
    return excess
