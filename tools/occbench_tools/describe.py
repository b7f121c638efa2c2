# SPDX-License-Identifier: Apache-2.0
"""A kernel's description for the model: one trip of its loop, read from the built machine code.

A folder per architecture holds a file per family. A description is a line per variant, `family variant
registers local static_smem block_limit iterations` (what a launch takes, as in Attributes; how many
iterations of the kernel's loop the instructions make up), then a line per instruction, in the order in which
a warp executes them:

    [COUNT*]OPCODE STALL WRITE READ WAIT PORTS PORTS_ALONE

`COUNT*{` begins what a warp executes COUNT times (trips of an inner loop), `}` ends it. Variants whose
lines stand one below the other share the instructions that follow.

STALL is the number of cycles before the warp's next instruction may issue; WRITE and READ the scoreboard
(0-5, or -) that is held until the result is there or the operands have been read; WAIT the scoreboards, as
a hexadecimal mask, that must be free. The compiler wrote all of these into the instruction (Jia et al.
2018, 'Dissecting the NVIDIA Volta GPU architecture', 2.1). A load or store of global memory that begins
where the one before it ended is a NEXT: 'STG.32.NEXT'; a load that every trip makes of the same address is
a SAME (repeats.py): 'LDG.32.SAME'. A branch that is taken says how many instructions back it goes:
'BRA.TAKEN.394', or none where the loop has made its trips. PORTS is two digits: how many registers the even
and the odd bank of the register file must deliver, less those that the operand cache kept from the
instruction before; PORTS_ALONE the same when another warp came between. `00` is an instruction that reads
none, or one of memory, tensor cores or control, whose reads are not counted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from occbench_tools.repeats import repeated_instructions
from occbench_tools.sass import (
    ARITHMETIC,
    INTEGER,
    LOCAL,
    Failure,
    Instruction,
    Loop,
    cuobjdump,
    loops,
)

# Whose operands come straight from the two banks of the register file, a register a cycle from each.
MOVES = {"MOV", "SEL", "FSEL", "IABS", "FMNMX", "IMNMX", "VIMNMX", "VIADDMNMX", "VIADD", "LEA"}
COMPARISONS = {"ISETP", "FSETP", "DSETP", "FSET"}
TWO_BANKS = ARITHMETIC | INTEGER | MOVES | COMPARISONS
PAIRS = {"DFMA", "DADD", "DMUL", "DSETP", "FFMA2", "FADD2", "FMUL2"}  # their operands are 64 bits wide
SECOND_SLOT = {"MOV", "IABS"}  # their one operand comes as the second of three
REGISTER = re.compile(r"[-|~!]*R(\d+)")
PLACE = re.compile(r"\[(R\d+[.\w]*)(?:\+(-?0x[0-9a-f]+))?\]$")
PREDICATE = re.compile(r"!?U?P[\dT]$")

SECTION = re.compile(r"\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s.*NOBITS.*\s\.nv\.shared\.(\S+)$")
DEBUG = re.compile(r"\.section (\.rel)?\.(nv_)?debug_")
COUNTED = re.compile(r"\s+Value:\s+function: (\S+?)\(0x[0-9a-f]+\)\s+(register count|frame size): (\w+)")


@dataclass
class Attributes:
    """What a launch of a kernel takes: registers per thread; stack per thread and static shared memory per
    block (byte); most threads of a block by __launch_bounds__ (0: none). And its instructions, as a hash."""

    registers: int = 0
    local_bytes: int = 0
    static_smem_bytes: int = 0
    block_limit: int = 0
    code: str = ""


def parse_attributes(lines: Iterable[str], reserved_bytes: int) -> dict[str, Attributes]:
    """The functions in the output of `cuobjdump -elf`, by mangled name.

    `reserved_bytes` of each section of shared memory are the driver's.
    """
    found: dict[str, Attributes] = defaultdict(Attributes)
    code: dict[str, Any] = defaultdict(sha256)
    section, kernel, limits = "", "", False
    for line in lines:
        if line.startswith("."):
            section = "debug" if DEBUG.match(line) else "code" if line.startswith(".text.") else ""
            if line.startswith((".text.", ".nv.info.")):
                kernel = line.rstrip().removeprefix(".text.").removeprefix(".nv.info.")
        elif section == "debug":
            continue  # two lines of three
        elif section == "code":
            code[kernel].update(line.encode())
        elif match := COUNTED.match(line):
            value = int(match[3], 0)
            if match[2] == "register count":
                found[match[1]].registers = value
            else:
                found[match[1]].local_bytes = value
        elif match := SECTION.match(line):
            found[match[2]].static_smem_bytes = max(0, int(match[1], 16) - reserved_bytes)
        elif "Attribute:" in line:
            limits = "EIATTR_MAX_THREADS" in line
        elif limits and kernel and "Value:" in line:
            x, y, z = (int(word, 16) for word in line.split()[1:4])
            found[kernel].block_limit = x * y * z
    for name, digest in code.items():
        found[name].code = digest.hexdigest()
    return dict(found)


def attributes(binary: Path, arch: str) -> dict[str, Attributes]:
    """Those of every kernel of `binary` for `arch`. Raises Skip as cuobjdump() does."""
    # A block's KiB that the driver keeps lies in the kernel's own section from compute capability 9.0 on.
    reserved_bytes = 1024 if int(re.sub(r"\D", "", arch) or 0) >= 90 else 0
    return cuobjdump(binary, arch, ["-elf"], lambda lines: parse_attributes(lines, reserved_bytes))


def scheduling(instruction: Instruction) -> tuple[int, str, str, int]:
    """Stall (cycles), write scoreboard, read scoreboard (0-5 or '-'), wait mask: bits 105-125 of the 128."""
    bits = instruction.encoding >> 41
    write, read = (bits >> 5) & 7, (bits >> 8) & 7
    return bits & 15, "-" if write == 7 else str(write), "-" if read == 7 else str(read), (bits >> 11) & 63


def register_reads(instruction: Instruction) -> list[tuple[int, int, bool]]:
    """The registers that it reads by the two banks: slot of the operand (0-2), number, whether the cache
    keeps it."""
    if instruction.base not in TWO_BANKS:
        return []
    operands = [o for o in instruction.operands if not PREDICATE.match(o)]
    sources = operands if instruction.base.endswith("SETP") else operands[1:]  # the first is written
    reads = []
    for slot, operand in enumerate(sources, start=instruction.base in SECOND_SLOT):
        if match := REGISTER.match(operand):
            wide = ".WIDE" in instruction.opcode and slot == 2  # a 64-bit sum
            pair = instruction.base in PAIRS or ".64" in operand or wide
            reads += [(slot, int(match[1]) + i, ".reuse" in operand) for i in range(2 if pair else 1)]
    return reads


def ports(instruction: Instruction, before: Instruction) -> tuple[str, str]:
    """Registers that the even and the odd bank deliver, a digit each: with the operand cache as `before`
    left it, and without. A register that several operands name is delivered once."""
    kept = {(slot, register) for slot, register, keep in register_reads(before) if keep}
    reads = {(slot, register) for slot, register, _ in register_reads(instruction)}

    def by_bank(wanted: set[tuple[int, int]]) -> str:
        odd = [register % 2 for register in {register for _, register in wanted}]
        return f"{odd.count(0)}{odd.count(1)}"

    return by_bank(reads - kept), by_bank(reads)


def opcode(instruction: Instruction) -> str:
    """The opcode with what the model must know: 'LDG.128' (bits per lane), 'LDLU.32' (for the last time),
    'HGMMA.256' (columns), 'SYNCS.ARRIVE', 'DEPBAR.WAIT.1' (groups left pending), 'BAR.REGISTER' (its id or
    its number of threads is in one), 'IMAD.WIDE' (more than the low half of a product); bare for all else."""
    base, *suffixes = instruction.opcode.split(".")
    if base in LOCAL:
        base += "U" * ("LU" in suffixes)  # a load that is the last use of its line
        return f"{base}.{next((s for s in suffixes if s in ('64', '128')), '32')}"
    if base == "IMAD" and suffixes[:1] in (["WIDE"], ["HI"]):
        return "IMAD.WIDE"
    if base == "HGMMA":
        return f"{base}.{suffixes[0].split('x')[1]}"
    if base == "SYNCS":
        return f"{base}.{suffixes[0]}"
    if base == "BAR" and any(re.match(r"U?R\d", operand) for operand in instruction.operands):
        return f"{base}.REGISTER"
    if "DEPBAR" in (base, *suffixes[:1]):
        pending = instruction.operands[-1]
        return f"{base}.WAIT.{int(pending, 16) if pending else 0}"
    return base if base in TWO_BANKS else instruction.audited_class or base


def place(instruction: Instruction) -> tuple[str, int, int] | None:
    """Where an access to global memory goes: the register that its address is in, and the offsets (byte) at
    which a warp's 32 lanes side by side begin and end. None for all else."""
    operand = {"LDG": 1, "STG": 0}.get(instruction.base)
    if operand is None or not (match := PLACE.search(instruction.operands[operand])):
        return None
    begin = int(match[2] or "0", 16)
    return match[1], begin, begin + 32 * int((instruction.audited_class or ".32").split(".")[-1]) // 8


def whole(trips: float) -> int:
    """Raises Failure when it is none."""
    if trips != round(trips):
        raise Failure(f"it declares {trips:g} trips of a loop, which is not a whole number")
    return round(trips)


# What a warp executes, in order: the index of an instruction, or the trips of an inner loop.
Steps = list["int | list[Steps]"]


class Nest:
    """The loops of one function and how often each runs, by the address of its header.

    trips: of each loop of the function, by address: of an outermost one per iteration (1/8: one trip makes
    eight iterations; 0: not part of it), of an inner one per trip of the loop around it (-8: 0, 1, ... 7 one
    after the other). Empty: one trip of the one outermost loop that does audited work or accesses memory, and
    of every loop in it. Raises Failure when that names no one sequence.
    """

    def __init__(self, code: list[Instruction], trips: list[float]) -> None:
        found = loops(code)
        if not found:
            raise Failure("it has no loop")
        if trips and len(trips) != len(found):
            raise Failure(f"it declares the trips of {len(trips)} loops, its machine code has {len(found)}")
        self.at = {i.address: i for i in code}
        self.inner: dict[int, dict[int, Loop]] = {loop.header: {} for loop in found}  # others by header
        outermost: list[Loop] = []
        for loop in found:
            around = [o for o in found if o is not loop and loop.header in o.body]
            if around:
                self.inner[min(around, key=lambda o: len(o.body)).header][loop.header] = loop
            else:
                outermost.append(loop)
        if not trips:
            outermost = self.only_busy(outermost)
        self.trips = dict(zip((loop.header for loop in found), trips or [1.0] * len(found), strict=True))
        self.running = [loop for loop in outermost if self.trips[loop.header] > 0]
        if not self.running:
            raise Failure("none of its loops runs")
        if len(self.running) > 1 and any(self.trips[loop.header] < 1 for loop in self.running):
            raise Failure("a loop that makes several iterations a trip stands beside another that runs")
        self.walked: list[tuple[Instruction, bool]] = []
        self.visits: Counter[int] = Counter()

    def only_busy(self, outermost: list[Loop]) -> list[Loop]:
        """The one loop that does audited work. Raises Failure when there are several."""
        hot = {a for a, i in self.at.items() if i.audited_class and i.base not in INTEGER}
        found = [loop for loop in outermost if hot & loop.body] or outermost
        if len(found) > 1:
            raise Failure(f"it has {len(found)} loops one after the other, and declares no trips")
        return found

    def walk(self, loop: Loop) -> Steps:
        """One trip of a loop; its instructions are appended to `walked`."""
        steps: Steps = []
        inner = self.inner[loop.header]
        theirs = set().union(*(o.body for o in inner.values()))
        back = -1
        for address in sorted(loop.body):
            instruction = self.at[address]
            if address in inner:
                count = whole(self.trips[address])
                count = count if count >= 0 else self.visits[address] % -count
                steps.append([self.walk(inner[address]) for _ in range(count)])
                self.visits[address] += 1
            elif address not in theirs and instruction.guard != "!PT":
                if instruction.base == "BRA" and loop.header in instruction.next_addresses:
                    back = len(self.walked)  # the last one: those before it wait for something
                steps.append(len(self.walked))
                self.walked.append((instruction, False))
        if back >= 0:
            self.walked[back] = (self.walked[back][0], True)
        return steps


def trace(code: list[Instruction], trips: list[float]) -> tuple[list[tuple[Instruction, bool]], Steps, float]:
    """The instructions that make up one loop iteration or several, each with whether it is a branch that is
    taken (the one back to its loop's head; all others fall through); the steps through them; and the number
    of iterations. trips, errors: see Nest.
    """
    nest = Nest(code, trips)
    steps: Steps = [
        [nest.walk(loop) for _ in range(whole(max(1.0, nest.trips[loop.header])))] for loop in nest.running
    ]
    return nest.walked, steps, max(1.0, 1 / nest.trips[nest.running[0].header])


def fold_repeats(steps: Steps, lines: list[str]) -> list[str]:
    """The lines of `steps`; consecutive repeats stand once, with their count."""
    text: list[str] = []
    for part, same in groupby(
        part
        for step in steps
        for part in (
            [[lines[step]]] if isinstance(step, int) else [fold_repeats(trip, lines) for trip in step]
        )
    ):
        count = len(list(same))
        if count == 1:
            text += part
        elif len(part) == 1 and "*" not in part[0]:
            text.append(f"{count}*{part[0]}")
        elif part:
            text += [f"{count}*{{", *part, "}"]
    return text


def describe(variant: dict[str, Any], code: list[Instruction], attributes: Attributes | None) -> list[str]:
    """The lines of one variant. Raises Failure when its loop cannot be followed, or without attributes."""
    if attributes is None:
        raise Failure("cuobjdump -elf does not name its kernel")
    walked, steps, iterations = trace(code, variant["loop_trips"])
    before = walked[-1][0]  # of the trip before
    lines = []
    last: dict[str, tuple[str, int]] = {}  # load's and store's register, and where it ended
    again = repeated_instructions([instruction for instruction, _ in walked])
    after = [instruction for instruction, _ in [*walked[1:], walked[0]]]
    number = {address: n for n, address in enumerate(sorted({i.address for i, _ in walked}))}
    for (instruction, taken), following, same in zip(walked, after, again, strict=True):
        stall, write, read, wait = scheduling(instruction)
        name = opcode(instruction)
        if taken:
            back = number[instruction.address] - number[following.address]
            name += f".TAKEN.{back}" if back > 0 else ".TAKEN"
        if here := place(instruction):
            name += ".NEXT" if here[:2] == last.get(instruction.base) else ""
            last[instruction.base] = here[0], here[2]
        name += ".SAME" if same else ""
        lines.append(" ".join([name, f"{stall} {write} {read} {wait:02x}", *ports(instruction, before)]))
        before = instruction
    a = attributes
    launch = f"{a.registers} {a.local_bytes} {a.static_smem_bytes} {a.block_limit}"
    return [f"{variant['family']} {variant['variant']} {launch} {iterations:g}", *fold_repeats(steps, lines)]
