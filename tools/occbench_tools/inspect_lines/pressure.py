# SPDX-License-Identifier: Apache-2.0
"""The use of a kernel's registers: its peak, the values live there, and the lines above a bound."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from occbench_tools import sass
from occbench_tools.inspect_lines.executed import Executed
from occbench_tools.inspect_lines.listing import READS_AND_WRITES, WRITES, Line, Listing, Step
from occbench_tools.sass import Failure

FEWER = re.compile(r"(\d+) registers? fewer$")
RESERVED = (
    2  # registers that a kernel has beyond the highest in its code: in 486 of 486 kernels of this suite
)
STACK_POINTER = 1  # R1
SPILL_SLOT = re.compile(r"\[R1[+\]]")
Chain = tuple[Line, ...]


@dataclass
class Values:
    """Registers that were written at one place. `last_read`: the last place that reads most of them before
    they are overwritten; `above_bound`: instructions above the bound at which each is live, summed."""

    chain: Chain
    registers: list[int] = field(default_factory=list)
    last_read: Chain = ()
    above_bound: int = 0


@dataclass
class LineUse:
    """A source line with its instructions. `live`: most registers live at any; `depth`: loops around it;
    `stored_bytes`, `loaded_bytes`: of spilled registers, by one thread each time. `executed`: instructions,
    by warps; `executed_spills`: those of them that store or load spills."""

    chain: Chain
    live: int = 0
    depth: int = 0
    instructions: int = 0
    above_bound: int = 0
    stored_bytes: int = 0
    loaded_bytes: int = 0
    executed: int = 0
    executed_spills: int = 0

    @property
    def rank(self) -> tuple[int, ...]:
        return (self.live, self.stored_bytes + self.loaded_bytes, self.depth, self.instructions)

    def add(self, other: "LineUse") -> None:
        """Adds the use by another chain of calls to the same line."""
        self.live = max(self.live, other.live)
        self.depth = max(self.depth, other.depth)
        self.instructions += other.instructions
        self.above_bound += other.above_bound
        self.stored_bytes += other.stored_bytes
        self.loaded_bytes += other.loaded_bytes
        self.executed += other.executed
        self.executed_spills += other.executed_spills


@dataclass
class Pressure:
    listing: Listing
    row: Mapping[str, Any]  # of `inspect`
    loops: list[set[int]]  # the instructions of each
    warnings: list[str]
    executed: Executed | None = None  # where a report is given

    @cached_property
    def depths(self) -> list[int]:
        """Loops around each instruction."""
        return [sum(n in body for body in self.loops) for n in range(len(self.listing.steps))]

    @cached_property
    def peak(self) -> int:
        """The instruction with most live registers; of several, the one in most loops."""
        steps = self.listing.steps
        return max(range(len(steps)), key=lambda n: (steps[n].live_count, self.depths[n]))

    @property
    def peak_registers(self) -> int:
        return self.listing.steps[self.peak].live_count

    @property
    def bound(self) -> int | None:
        """Most live registers at the next higher occupancy; None where fewer registers do not raise it."""
        match = FEWER.match(str(self.row.get("gains_with") or ""))
        return self.row["registers_per_thread"] - int(match[1]) - RESERVED if match else None

    @property
    def above_bound(self) -> list[int]:
        """Instructions with more live registers than the bound."""
        bound = self.bound
        return [] if bound is None else [n for n, s in enumerate(self.listing.steps) if s.live_count > bound]

    def line_uses(self) -> list[LineUse]:
        """The uses of all lines, most live registers first."""
        uses: dict[Chain, LineUse] = {}
        above = set(self.above_bound)
        for n, step in enumerate(self.listing.steps):
            use = uses.setdefault(step.chain, LineUse(step.chain))
            use.live = max(use.live, step.live_count)
            use.depth = max(use.depth, self.depths[n])
            use.instructions += 1
            use.above_bound += n in above
            use.stored_bytes += step.spilled_bytes * (step.instruction.base == "STL")
            use.loaded_bytes += step.spilled_bytes * (step.instruction.base == "LDL")
            if self.executed:
                use.executed += self.executed.counts[n]
                use.executed_spills += self.executed.counts[n] * step.is_spill
        return sorted(uses.values(), key=lambda use: use.rank, reverse=True)


def loops_of(steps: list[Step], warnings: list[str]) -> list[set[int]]:
    """The instructions of each loop, by their place in the listing."""
    place = {step.instruction.address: n for n, step in enumerate(steps)}
    try:
        return [{place[a] for a in loop.body} for loop in sass.loops([step.instruction for step in steps])]
    except Failure as failure:
        warnings.append(f"loops are not told apart: {failure}")
        return []


class Flow:
    """Which instructions may follow and precede each, by their place in the listing."""

    def __init__(self, steps: list[Step]) -> None:
        place = {step.instruction.address: n for n, step in enumerate(steps)}
        self.after: list[list[int]] = []
        self.before: list[list[int]] = [[] for _ in steps]
        for n, step in enumerate(steps):
            try:
                following = [place[a] for a in step.instruction.next_addresses if a in place]
            except Failure:  # a branch to an address in a register
                following = []
            self.after.append(following)
            for each in following:
                self.before[each].append(n)

    def walk(self, start: Iterable[int], edges: list[list[int]]) -> Iterable[tuple[int, set[int]]]:
        """Breadth first from `start`, with its successors; the caller may clear that set to stop."""
        seen, level = set(), list(start)
        while level:
            following: list[int] = []
            for n in level:
                if n in seen:
                    continue
                seen.add(n)
                going = set(edges[n])
                yield n, going
                following += going
            level = following


def state(step: Step, register: int) -> str:
    return step.live[register] if register < len(step.live) else " "


def written_at(steps: list[Step], flow: Flow, peak: int, register: int) -> int | None:
    """The nearest instruction before the peak that writes the register's value."""
    for n, going in flow.walk([peak], flow.before):
        at = state(steps[n], register)
        if at in (WRITES, READS_AND_WRITES):
            return n
        if at == " ":
            going.clear()
    return None


def last_read(steps: list[Step], flow: Flow, peak: int, register: int) -> int | None:
    """The farthest instruction after the peak that reads the value before another takes the register."""
    last = None
    for n, going in flow.walk(flow.after[peak], flow.after):
        at = state(steps[n], register)
        if at in ("v", READS_AND_WRITES):
            last = n
        if at in (" ", WRITES, READS_AND_WRITES):
            going.clear()
    return last


def group_by_writer(
    steps: list[Step], flow: Flow, at: int, registers: Iterable[int], above: list[int]
) -> list[Values]:
    """Registers that are live at an instruction, by the place that wrote them, those with most instructions
    above the bound first."""
    groups: dict[Chain, Values] = {}
    reads: dict[Chain, Counter[Chain]] = defaultdict(Counter)
    for register in registers:
        writer = written_at(steps, flow, at, register)
        chain = steps[writer].chain if writer is not None else ()
        group = groups.setdefault(chain, Values(chain))
        group.registers.append(register)
        group.above_bound += sum(state(steps[n], register) != " " for n in above)
        if (reader := last_read(steps, flow, at, register)) is not None:
            reads[chain][steps[reader].chain] += 1
    for chain, group in groups.items():
        if reads[chain]:
            group.last_read = reads[chain].most_common(1)[0][0]
    return sorted(groups.values(), key=lambda group: (-group.above_bound, -len(group.registers)))


def values_at_peak(pressure: Pressure) -> list[Values]:
    steps, peak = pressure.listing.steps, pressure.peak
    live = [n for n, at in enumerate(steps[peak].live) if at != " "]
    return group_by_writer(steps, Flow(steps), peak, live, pressure.above_bound)


def values_waiting(pressure: Pressure) -> tuple[int, list[Values]]:
    """The first instruction of the innermost loop with most live registers, and the values that stay live
    there although none of its instructions reads or writes them."""
    steps = pressure.listing.steps
    inner = [b for b in pressure.loops if not any(other < b for other in pressure.loops)]
    if not inner:
        return 0, []
    body = max(inner, key=lambda body: max(steps[n].live_count for n in body))
    widest = range(max(len(steps[n].live) for n in body))
    waiting = [r for r in widest if r != STACK_POINTER and all(state(steps[n], r) == ":" for n in body)]
    return min(body), group_by_writer(steps, Flow(steps), min(body), waiting, pressure.above_bound)


def mark_spills(listing: Listing, row: Mapping[str, Any], warnings: list[str]) -> None:
    """Marks spills in code of a ptxas before 12.6, which marks none: the accesses that `inspect` counted."""
    steps = listing.steps
    if any(step.is_spill for step in steps):
        return
    accesses = {n for n, s in enumerate(steps) if s.instruction.base in sass.LOCAL}
    if accesses and "spill_bytes" in row and row["spill_bytes"] is None:
        warnings.append("this code does not mark which accesses of local memory are spills: none is counted")
    elif row.get("spill_bytes"):
        stack = (n for n in accesses if any(SPILL_SLOT.match(text) for text in steps[n].instruction.operands))
        for n in stack:
            steps[n] = replace(steps[n], is_spill=steps[n].instruction.guard != "!PT")


def pressure_of(listing: Listing, row: Mapping[str, Any]) -> Pressure:
    """Raises Failure for a listing without instructions."""
    if not listing.steps:
        raise Failure(f"{listing.symbol}: no instructions")
    warnings = []
    if not listing.has_lines:
        warnings.append("no source lines in this code: build it with nvcc's -lineinfo")
    if not listing.has_liveness:
        warnings.append(
            "nvdisasm does not tell live registers in this code: instructions and spills are given by line "
            "alone"
        )
    mark_spills(listing, row, warnings)
    return Pressure(listing, row, loops_of(listing.steps, warnings), warnings)
