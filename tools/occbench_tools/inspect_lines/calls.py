# SPDX-License-Identifier: Apache-2.0
"""Live registers of a kernel that calls functions in its own code, such as the slow path of a division.

nvdisasm takes each of them for a function of the ABI: it marks as written at a call every register that such
a function might write, and as live at the return every register that it must keep. ptxas knows both sides of
the call, and so does this module: a function's live registers are those that it needs, and its caller's.
"""

from collections.abc import Iterable, Iterator, Mapping

from occbench_tools.sass import Failure, Instruction

EVERY = (1 << 256) - 1  # registers, one bit each
MOST_WALKS = 200  # through a function, each for another set of registers that its caller holds
Masks = dict[int, int]


def mask(states: str, marks: str) -> int:
    return sum(1 << register for register, at in enumerate(states) if at in marks)


class Liveness:
    """Raises Failure where a call or branch cannot be followed, or where functions call each other."""

    def __init__(self, code: Mapping[int, Instruction], live: Mapping[int, str]) -> None:
        self.code = code
        own = {at: "" if code[at].base == "CALL" else live.get(at, "") for at in code}
        self.reads: Masks = {at: mask(states, "vx") for at, states in own.items()}
        self.writes: Masks = {at: mask(states, "^x") for at, states in own.items()}
        self.may_keep: Masks = {}  # registers that a guarded instruction may write or leave unchanged
        for at, step in code.items():
            before = mask(live.get(at - 16, ""), ":^x")
            self.may_keep[at] = self.writes[at] & before if step.guard not in ("", "PT") else 0
        self.walks = 0
        self.summaries: dict[int, tuple[int, int]] = {}
        self.open: set[int] = set()
        self.drawn: Masks = {}  # the most that are live at each instruction, of all calls

    def next_of(self, at: int) -> list[int]:
        step = self.code[at]
        following = [at + 16] if step.base == "CALL" else step.next_addresses
        if any(each not in self.code for each in following):
            raise Failure(f"{step.opcode} at {at:#x} leaves the kernel")
        return following

    def body(self, entry: int) -> dict[int, list[int]]:
        """The instructions of a function, with the successors of each."""
        found: dict[int, list[int]] = {}
        waiting = [entry]
        while waiting:
            if (at := waiting.pop()) not in found:
                found[at] = self.next_of(at)
                waiting += found[at]
        return found

    def summary(self, entry: int) -> tuple[int, int]:
        """The registers a function needs, and those it needs or does not write."""
        if entry not in self.summaries:
            if entry in self.open or entry not in self.code:
                raise Failure(f"the function at {entry:#x} cannot be followed")
            self.open.add(entry)
            body = self.body(entry)
            self.summaries[entry] = self.walk(body, 0)[0][entry], self.walk(body, EVERY)[0][entry]
            self.open.remove(entry)
        return self.summaries[entry]

    def before(self, at: int, after: int) -> int:
        if self.code[at].base == "CALL":
            needed, passed = self.summary(self.code[at].target)
            return needed | (after & passed)
        return self.reads[at] | (after & ~(self.writes[at] & ~self.may_keep[at]))

    def walk(self, body: dict[int, list[int]], held: int) -> tuple[Masks, Masks]:
        """Live before and after each instruction, where the caller holds `held` across the call."""
        self.walks += 1
        if self.walks > MOST_WALKS:
            raise Failure("too many calls to follow")
        callers: dict[int, list[int]] = {at: [] for at in body}
        for at, following in body.items():
            for each in following:
                callers[each].append(at)
        live: Masks = {}
        after: Masks = {}
        waiting = sorted(body)
        while waiting:
            at = waiting.pop()
            after[at] = held if self.code[at].base == "RET" else 0
            for each in body[at]:
                after[at] |= live.get(each, 0)
            if (now := self.before(at, after[at])) != live.get(at):
                live[at] = now
                waiting += callers[at]
        return live, after

    def draw(self, entry: int, held: int, done: set[tuple[int, int]]) -> None:
        """Live registers of a function and of all that it calls."""
        if (entry, held) in done:
            return
        done.add((entry, held))
        live, after = self.walk(self.body(entry), held)
        for at, registers in live.items():
            drawn = registers | self.writes[at]
            if drawn.bit_count() >= self.drawn.get(at, 0).bit_count():
                self.drawn[at] = drawn
            if self.code[at].base == "CALL":
                self.draw(self.code[at].target, after[at], done)


def states_of(drawn: int, states: str) -> str:
    """nvdisasm's state string of one instruction, for the registers that are live."""
    marks = (states[n] if n < len(states) and states[n] in "^vx" else ":" for n in range(drawn.bit_length()))
    return "".join(at if drawn >> n & 1 else " " for n, at in enumerate(marks))


def states_without_calls(
    live: Mapping[int, str], code: Mapping[int, Instruction]
) -> Iterator[tuple[int, str]]:
    """nvdisasm's state strings without the writes of called functions."""
    for at, states in live.items():
        yield at, states.replace("^", " ").rstrip() if code[at].base == "CALL" else states


def are_followed(steps: Iterable[tuple[Instruction, str]]) -> bool:
    """Whether with_calls() followed all calls: only nvdisasm's own states let a call read registers."""
    return not any(step.base == "CALL" and mask(states, "vx") for step, states in steps)


def with_calls(code: Mapping[int, Instruction], live: dict[int, str]) -> dict[int, str]:
    """Register states by offset, with each call followed where it can be."""
    if not live or not any(step.base == "CALL" for step in code.values()):
        return live
    try:
        liveness = Liveness(code, live)
        liveness.draw(min(code), 0, set())
    except (Failure, RecursionError):
        return dict(states_without_calls(live, code))
    plain = {at: "" if code[at].base == "CALL" else states for at, states in live.items()}
    return {at: states_of(liveness.drawn.get(at, 0), plain[at]) for at in live}
