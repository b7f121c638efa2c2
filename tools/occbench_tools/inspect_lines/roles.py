# SPDX-License-Identifier: Apache-2.0
"""Warp roles of a kernel that moves registers between its warps (setmaxnreg, in machine code USETMAXREG).

The branches before it tell which warpgroup requests how many: the code is followed once for the first thread
of each warpgroup, with the registers whose values follow from its thread index alone.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from occbench_tools import sass
from occbench_tools.inspect_lines.listing import Line, Listing, Step
from occbench_tools.inspect_lines.pressure import RESERVED, Flow
from occbench_tools.sass import Instruction

WARPGROUP = 128  # threads
UNIT, LEAST, MOST = 8, 24, 256  # setmaxnreg's register counts; a launch allocates in the same unit
SM_REGISTERS = 65_536  # of each architecture that has setmaxnreg
WORD = (1 << 32) - 1
SETS = "USETMAXREG"
REGISTER = re.compile(r"U?R\d+$")
PREDICATE = re.compile(r"!?(?:U?P\d|U?PT)$")
# Instructions that write one register, or by their suffix; others are assumed to write up to four.
SINGLE = {"IADD3", "IMAD", "LD", "LDC", "LDG", "LDL", "LDS", "LEA", "LOP3", "MOV", "PRMT", "R2UR", "S2R",
          "SEL", "SHF", "SHFL", "VIADD"}  # fmt: skip
SUFFIXES = {"WIDE": 2, "64": 2, "128": 4}
WIDEST = 4
MOST_VISITS = 32  # of an instruction, on average

Known = dict[str, int]  # registers and predicates, by name


def to_signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


COMPARISONS = {
    "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
}  # fmt: skip


def operand(known: Known, text: str) -> int | None:
    """The value of a source; None if it is not known."""
    text = text.removesuffix(".reuse")
    if text in ("RZ", "URZ"):
        return 0
    if PREDICATE.match(text):
        name = text.removeprefix("!")
        value = 1 if name in ("PT", "UPT") else known.get(name)
        return value if value is None or name == text else 1 - value
    try:
        return int(text, 0) & WORD
    except ValueError:
        pass
    sign, name = (-1, text[1:]) if text.startswith("-") else (1, text)
    value = known.get(name)
    return None if value is None else sign * value & WORD


def lookup(table: int, a: int, b: int, c: int) -> int:
    """LOP3's function of three words."""
    terms = (
        (a if n & 4 else ~a) & (b if n & 2 else ~b) & (c if n & 1 else ~c) for n in range(8) if table >> n & 1
    )
    result = 0
    for term in terms:
        result |= term
    return result & WORD


def compare(opcode: str, a: int, b: int, other: int) -> int | None:
    _, comparison, *rest = opcode.split(".")
    if comparison not in COMPARISONS or "EX" in rest:
        return None
    if "U32" not in rest:
        a, b = to_signed(a), to_signed(b)
    result = int(COMPARISONS[comparison](a, b))
    return result & other if "AND" in rest else result | other if "OR" in rest else None


def width_of(i: Instruction) -> int:
    """The number of registers that it may write."""
    base, *suffixes = i.opcode.split(".")
    if base.removeprefix("U") not in SINGLE:
        return WIDEST
    return max(SUFFIXES.get(suffix, 1) for suffix in ("", *suffixes))


def destination(i: Instruction) -> str:
    return i.operands[1 if i.base == "SHFL" else 0]  # its first is a predicate


def result_of(known: Known, i: Instruction, thread: int) -> int | None:
    """The value that an instruction writes to its destination; None if it is not known."""
    base = i.base.removeprefix("U")
    if i.base in ("S2R", "S2UR"):
        return {"SR_TID.X": thread, "SR_TID.Y": 0, "SR_TID.Z": 0}.get(i.operands[1])
    if base == "SHFL":
        return operand(known, i.operands[2]) if i.opcode == "SHFL.IDX" and i.operands[3] == "RZ" else None
    if base == "ISETP":
        values = [operand(known, text) for text in i.operands[2:5]]
        return None if None in values or i.operands[1] not in ("PT", "UPT") else compare(i.opcode, *values)
    if base == "PLOP3" and i.operands[1] in ("PT", "UPT"):
        a, b, c, table = (operand(known, text) for text in i.operands[2:6])
        return None if None in (a, b, c, table) else table >> (4 * a + 2 * b + c) & 1
    if PREDICATE.match(i.operands[0]):  # whether the result of a bitwise operation is not zero
        values = [operand(known, text) for text in i.operands[2:6]]
        is_plain = base == "LOP3" and len(values) == 4 and i.operands[-1] == "!PT" and None not in values
        return int(lookup(values[3], *values[:3]) != 0) if is_plain else None
    values = [operand(known, text) for text in i.operands[1:] if text not in ("PT", "UPT")]  # no carry
    if None in values[:3]:
        return None
    match base, values:
        case ("MOV" | "R2UR", [a, *_]):
            return a
        case ("IMAD", [a, b, c]) if ".WIDE" not in i.opcode and ".HI" not in i.opcode:
            return a * b + c & WORD
        case ("VIADD", [a, b]) | ("IADD3", [a, b]):
            return a + b & WORD
        case "IADD3", [a, b, c]:
            return a + b + c & WORD
        case "LOP3", [a, b, c, table, *_] if table is not None:
            return lookup(table, a, b, c)
        case "SHF", [low, count, high] if count < 32 and ".R." in i.opcode:
            word = high if ".HI" in i.opcode else low
            return (to_signed(word) if ".S32" in i.opcode else word) >> count & WORD
        case "SHF", [low, count, _] if count < 32 and ".L." in i.opcode and ".HI" not in i.opcode:
            return low << count & WORD
        case "LEA", [low, b, high, count] if count is not None and 0 < count < 32 and ".HI" in i.opcode:
            return b + ((high << 32 | low) >> (32 - count)) & WORD
    return None


def known_after(known: Known, i: Instruction, thread: int) -> Known:
    """The known values after an instruction."""
    runs = operand(known, i.guard) if i.guard else 1
    if runs == 0:
        return known
    if i.base in sass.TENSOR or i.base == "CALL":
        return {}
    known = dict(known)
    result = result_of(known, i, thread) if runs else None
    for text in i.operands[:2]:  # what it may write
        if PREDICATE.match(text):
            known.pop(text, None)
        elif REGISTER.match(text) and (text == destination(i) or PREDICATE.match(i.operands[0])):
            prefix, number = text.rstrip("0123456789"), int(text.lstrip("UR"))
            for n in range(number, number + width_of(i)):
                known.pop(f"{prefix}{n}", None)
    if result is not None:
        known[destination(i)] = result
    return known


def requests_of(steps: list[Step], flow: Flow, thread: int) -> tuple[set[int], set[int]]:
    """The places of the first USETMAXREGs that a thread may reach (-1: the kernel's end without one), and all
    places up to there.

    The first set is empty where following the code takes too long: each register whose value a loop makes
    unknown costs one more round.
    """
    before: dict[int, Known] = {0: {}}
    todo, found = [0], set()
    left = MOST_VISITS * len(steps)
    while todo:
        n = todo.pop()
        left -= 1
        if left < 0:
            return set(), set()
        i = steps[n].instruction
        if i.base == SETS:
            found.add(n)
            continue
        known = known_after(before[n], i, thread)
        following = list(flow.after[n])
        if i.base == "BRA" and len(following) == 2:
            sources = [i.guard or "PT", *(t for t in i.operands if PREDICATE.match(t))]
            values = [operand(known, text) for text in sources]
            if 0 in values:
                following = following[1:]
            elif None not in values and ".DIV" not in i.opcode:
                following = following[:1]
        if not following:
            found.add(-1)
        for each in following:
            old = before.get(each)
            new = known if old is None else dict(old.items() & known.items())
            if old is None or new != old:
                before[each] = new
                todo.append(each)
    return found, set(before)


@dataclass(frozen=True)
class Role:
    """Warpgroups that ask for `request` registers at one place, or keep those of the launch. `warpgroups`:
    empty where the branches before cannot be read; `live`: most registers live from there on, None where
    nvdisasm cannot tell; `spilled_bytes`: in code that no other role runs."""

    warpgroups: tuple[int, ...]
    request: int
    chain: tuple[Line, ...]
    live: int | None
    spilled_bytes: int
    asks: bool = True  # else it keeps the registers of the launch

    @property
    def least_request(self) -> int:
        """The smallest request that holds the live registers."""
        return max(LEAST, -(-((self.live or 0) + RESERVED) // UNIT) * UNIT)


@dataclass(frozen=True)
class Pool:
    """The registers that a block's launch allocates, per thread of a warpgroup, and the roles' requests."""

    groups: int
    own: int  # registers per thread of the launch
    roles: tuple[Role, ...]  # by warpgroup, or in the order of the code
    shared_spilled_bytes: int  # in code that several roles run, or before them

    @property
    def allocated(self) -> int:
        return self.groups * self.own

    @property
    def is_read(self) -> bool:
        """Whether the warpgroups of each role are known."""
        return all(role.warpgroups for role in self.roles)

    @property
    def total_request(self) -> int:
        return sum(role.request * len(role.warpgroups) for role in self.roles)

    def launch_with(self, request: int) -> int:
        """Registers per thread of the launch if the largest request were `request`.

        ptxas gives the launch no more than the largest request. If that is all it has, a larger one makes the
        launch grow, as far as the launch bounds go: at least until fewer blocks fit.
        """
        if self.own < max(role.request for role in self.roles):
            return self.own
        per_register = self.groups * WARPGROUP
        blocks = max(1, SM_REGISTERS // (self.own * per_register))
        return max(self.own, min(request, SM_REGISTERS // (blocks * per_register) // UNIT * UNIT))

    def better_split(self) -> dict[Role, int] | None:
        """Requests of each role, with more for the largest, where others request more than they need."""
        largest = max(self.roles, key=lambda role: role.request)
        others = [role for role in self.roles if role is not largest]
        if any(role.live is None for role in others):
            return None
        for request in range(MOST, largest.request, -UNIT):
            launch = self.launch_with(request)
            split = {r: min(r.request, r.least_request) if r.asks else launch for r in others} | {
                largest: request
            }
            if sum(n * len(role.warpgroups) for role, n in split.items()) <= self.groups * launch:
                return split
        return None


def role_at(
    steps: list[Step], place: int, region: set[int], spilled_bytes: int, warpgroups: list[int], own: int
) -> Role:
    """`region`: the code after its request, or all its code if it requests none (place -1)."""
    step = steps[max(place, 0)]
    return Role(
        tuple(warpgroups),
        int(step.instruction.operands[-1], 0) if place >= 0 else own,
        step.chain,
        max(steps[n].live_count for n in region) if any(steps[n].live for n in region) else None,
        spilled_bytes,
        place >= 0,
    )


def spilled_by(steps: list[Step], places_by_role: Mapping[int, set[int]]) -> tuple[dict[int, int], int]:
    """Spilled bytes in each role's own code, and in all other code."""
    count = Counter(at for places in places_by_role.values() for at in places)
    spilled = {
        n: sum(steps[at].spilled_bytes for at in places if count[at] == 1)
        for n, places in places_by_role.items()
    }
    return spilled, sum(step.spilled_bytes for step in steps) - sum(spilled.values())


def pool_of(listing: Listing, row: Mapping[str, Any]) -> Pool | None:
    """None for a kernel without setmaxnreg, or for blocks that are not of whole warpgroups."""
    steps = listing.steps
    threads = row.get("block_size") or 0
    roles_at: dict[int, list[int]] = {n: [] for n, s in enumerate(steps) if s.instruction.base == SETS}
    if not roles_at or threads < WARPGROUP or threads % WARPGROUP:
        return None
    flow = Flow(steps)
    groups = range(threads // WARPGROUP)
    own = -(-row["registers_per_thread"] // UNIT) * UNIT
    reached = [requests_of(steps, flow, WARPGROUP * group) for group in groups]
    before: dict[int, set[int]] = {}  # its request
    if all(len(found) == 1 for found, _ in reached):
        for group, ((n,), places) in zip(groups, reached, strict=True):
            roles_at.setdefault(n, []).append(group)
            before[n] = before.get(n, set()) | places
        roles_at = {n: warpgroups for n, warpgroups in roles_at.items() if warpgroups}
    behind = {n: {at for at, _ in flow.walk([n], flow.after)} if n >= 0 else before[n] for n in roles_at}
    runs = {n: behind[n] | before.get(n, set()) for n in roles_at}
    spilled, shared = spilled_by(steps, runs)
    in_order = sorted(roles_at.items(), key=lambda item: (item[1], item[0]))
    roles = (role_at(steps, n, behind[n], spilled[n], warpgroups, own) for n, warpgroups in in_order)
    return Pool(len(groups), own, tuple(roles), shared)
