# SPDX-License-Identifier: Apache-2.0
"""occbench machine-code FILE --kernel NAME: the instructions that a warp executes, for `occbench whatif`.

FILE is a cubin or a program with machine code for --arch; cuobjdump and nvdisasm read it. How often a warp
executes each instruction comes from a profile, by the first of these that is given:
  --executed 3*12,7*40  of all warps together, instruction by instruction: three times the first 12 ...
  --opcodes FFMA:96,... of all warps together, by opcode: loops are given the trips that come nearest
  --instructions N      of all warps together: enough where the kernel has one loop
Loads and stores that a predicate kept from making a request are told by --loads and --stores.
The output is a description as in describe.py, with family `kernel` and variant `measured`: one trip of the
outermost loop with most executed instructions, or the whole kernel where none has 80 %. An iteration is the
whole kernel, so that `iterations` is one over the trips. Of instructions that only some trips or warps
execute, a matching part is kept. Registers, stack and shared memory are as cuobjdump gives them.

Exit 0 written, 1 the kernel cannot be followed, 2 invalid arguments, 4 FILE holds no such kernel, 5 no
disassembler is here.
"""

import argparse
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from occbench_tools import describe, sass
from occbench_tools.command import CommandError, entry, parser_of
from occbench_tools.programs import demangle
from occbench_tools.sass import Failure, Instruction, Loop, Skip

HOT = 0.8  # share of what is executed that a loop must hold to stand for its kernel
LONGEST = 20000  # instructions of a kernel without such a loop
CONTROL = {"BRA", "JMP", "BRX", "BRXU", "JMX", "JMXU", "EXIT", "RET", "KILL", "CALL"}
USAGE = re.compile(r"\s*Function (\S+):$")
RESOURCE = re.compile(r"(REG|STACK|SHARED):(\d+)")


def parse_usage(lines: Iterable[str]) -> dict[str, describe.Attributes]:
    """The kernels in the output of `cuobjdump -res-usage`, by mangled name."""
    found: dict[str, describe.Attributes] = {}
    name = ""
    for line in lines:
        if match := USAGE.match(line):
            name = match[1]
        elif name and "REG:" in line:
            used = {key: int(value) for key, value in RESOURCE.findall(line)}
            found[name] = describe.Attributes(used["REG"], used.get("STACK", 0), used.get("SHARED", 0))
            name = ""
    return found


def find_kernel(wanted: str, names: Iterable[str]) -> str:
    """The kernel of this name, mangled or as a profiler prints it. Raises Skip unless it is one kernel."""
    names = list(names)
    if wanted in names:
        return wanted
    demangled = demangle(names)
    if demangled is None:
        raise Skip(f"no kernel {wanted}; profile with --print-kernel-base mangled, or install c++filt")

    def bare_name(text: str) -> str:
        return re.sub(r"\s|\((?:int|bool|unsigned int)\)", "", text.removeprefix("void "))

    bare_names = dict(zip(names, map(bare_name, demangled), strict=True))
    found = [name for name, text in bare_names.items() if text == bare_name(wanted)]
    found = found or [name for name, text in bare_names.items() if text.startswith(bare_name(wanted) + "(")]
    if len(found) != 1:
        raise Skip(f"{len(found) or 'no'} kernels are called {wanted}")
    return found[0]


def parse_runs(text: str, length: int) -> list[float]:
    """'3*12,7*40' as a count per instruction. Raises ValueError where they are not `length`."""
    counts: list[float] = []
    for run in text.split(","):
        count, _, times = run.partition("*")
        counts += [float(count)] * int(times or 1)
    if len(counts) > length or (len(counts) < length and counts and length - len(counts) > 64):
        raise ValueError(f"--executed is of {len(counts)} instructions, the kernel has {length}")
    return counts + [0.0] * (length - len(counts))


def innermost(code: list[Instruction], loops: list[Loop]) -> list[int]:
    """The innermost loop of each instruction, by its place in `loops`; -1 outside all loops."""
    homes = []
    for instruction in code:
        around = [n for n, loop in enumerate(loops) if instruction.address in loop.body]
        homes.append(min(around, key=lambda n: len(loops[n].body)) if around else -1)
    return homes


def reachable(code: list[Instruction]) -> list[bool]:
    """Whether each instruction can run without a call: not the traps and padding after the end."""
    at = {i.address: i for i in code}
    seen, todo = set(), [code[0].address]
    while todo:
        if (address := todo.pop()) in seen or address not in at:
            continue
        seen.add(address)
        todo += at[address].next_addresses
    return [i.address in seen for i in code]


def solve_counts(
    code: list[Instruction], homes: list[int], loops: int, counted: dict[str, float]
) -> list[float]:
    """How often each instruction ran, by the counts of opcodes: all instructions of a loop equally often."""
    import numpy as np  # its import takes longer than all the rest

    from occbench_tools.stats import non_negative

    is_reachable = reachable(code)
    shapes: list[Counter[str]] = [Counter() for _ in range(loops + 1)]
    for instruction, home, is_met in zip(code, homes, is_reachable, strict=True):
        if is_met:
            shapes[home][instruction.base] += 1
    names = sorted({name for shape in shapes for name in shape})
    matrix = np.array([[shape[name] for shape in shapes] for name in names], dtype=float)
    wanted = np.array([counted.get(name, 0.0) for name in names])
    scale = 1 / np.maximum(wanted, wanted.max() / 1000)  # relative errors: stores count as much as FMAs
    executed = non_negative(matrix * scale[:, None], wanted * scale)
    return [
        float(executed[home]) if is_met else 0.0 for home, is_met in zip(homes, is_reachable, strict=True)
    ]


def mark_partial(
    code: list[Instruction], homes: list[int], executed: list[float], ran: list[float]
) -> list[Instruction]:
    """The code, with the instructions that a trip skips marked as never running; alternatives share trips."""
    carried: dict[int, float] = defaultdict(float)
    result: list[Instruction] = []
    before: tuple[int, float, bool] | None = None
    for instruction, home, count in zip(code, homes, ran, strict=True):
        if before is None or before[:2] != (home, count):
            share = count / executed[home] if executed[home] > 0 else 0.0
            runs = share > 1 - 1e-3
            if not runs:
                carried[home] += share
                if runs := carried[home] > 1 - 1e-3:
                    carried[home] -= 1
            before = (home, count, runs)
        stays = before[2] or instruction.base in CONTROL  # else the loops would change
        result.append(instruction if stays else replace(instruction, guard="!PT"))
    return result


def subtract_predicated(
    code: list[Instruction], ran: list[float], base: str, requests: float | None
) -> list[float]:
    """How often each ran, without runs whose predicate suppressed the request."""
    surplus = sum(count for i, count in zip(code, ran, strict=True) if i.base == base) - (requests or 0)
    result = list(ran)
    for n, instruction in enumerate(code):
        guarded = instruction.base == base and instruction.guard not in ("", "PT")
        if requests is not None and guarded and 0 < ran[n] <= surplus * 1.001:
            surplus -= ran[n]
            result[n] = 0.0
    return result


def close_kernel(code: list[Instruction]) -> list[Instruction]:
    """The kernel as one loop: its last exit becomes a branch to its first instruction."""
    ends = [n for n, i in enumerate(code) if i.base == "EXIT" and i.guard in ("", "PT")]
    if not ends:
        raise Failure("it has no last instruction")
    first = f"{code[0].address:#x}"
    return [
        replace(i, opcode="BRA", operands=(first,), guard="") if n in ends else i for n, i in enumerate(code)
    ]


def describe_kernel(
    code: list[Instruction], ran: list[float], warps: float, a: describe.Attributes
) -> list[str]:
    """The description of a kernel with these execution counts. Raises Failure."""
    loops = sass.loops(code)
    total = sum(ran)
    index = {i.address: n for n, i in enumerate(code)}
    executed_in = [sum(ran[index[address]] for address in loop.body) for loop in loops]
    hot = max(range(len(loops)), key=lambda n: executed_in[n], default=-1)
    if hot < 0 or executed_in[hot] < HOT * total:
        if total / warps > LONGEST:
            raise Failure(
                f"no loop of its holds {HOT:.0%} of the {total / warps:,.0f} instructions of a warp"
            )
        code = close_kernel(code)
        loops = sass.loops(code)
        hot = next(n for n, loop in enumerate(loops) if loop.header == code[0].address)
    homes = innermost(code, loops)
    executed = [
        max((ran[n] for n, home in enumerate(homes) if home == which), default=0.0)
        for which in range(len(loops))
    ]
    trips = []
    for n, loop in enumerate(loops):
        around = [m for m, other in enumerate(loops) if m != n and loop.header in other.body]
        if n == hot:
            trips.append(1.0)
        elif hot in around:
            parent = min(around, key=lambda m: len(loops[m].body))
            trips.append(float(round(executed[n] / executed[parent])) if executed[parent] > 0 else 0.0)
        else:
            trips.append(0.0)
    if executed[hot] == 0:
        raise Failure("the profile says that none of its loops ran")
    variant = {"family": "kernel", "variant": "measured", "loop_trips": trips}
    head, *lines = describe.describe(variant, mark_partial(code, homes, [*executed, warps], ran), a)
    return [" ".join([*head.split()[:-1], f"{warps / executed[hot]:.9g}"]), *lines]


def parse_words(arguments: list[str] | None) -> argparse.Namespace:
    """The arguments. Raises SystemExit(2) on invalid ones."""
    parser = parser_of(
        "machine-code",
        "The instructions that a kernel's warps execute, for occbench whatif.",
        "occbench machine-code app --kernel _Z3addPf --warps 4224 --instructions 75000",
    )
    parser.add_argument("binary", metavar="FILE", type=Path, help="a cubin, or a program that holds one")
    parser.add_argument("--kernel", required=True, metavar="NAME", help="mangled, or as a profiler prints it")
    parser.add_argument("--arch", default="sm_90", help="whose code (default: %(default)s)")
    parser.add_argument("--warps", required=True, type=float, metavar="N", help="of the launch")
    parser.add_argument("--executed", metavar="RUNS", help="3*12,7*40: how often each instruction ran")
    parser.add_argument("--opcodes", metavar="NAME:N,...", help="how often each opcode ran")
    parser.add_argument("--instructions", type=float, metavar="N", help="that ran in all")
    for what in ("loads", "stores"):
        parser.add_argument(f"--{what}", type=float, metavar="N", help=f"requests of global {what} in all")
    options = parser.parse_args(arguments)
    if not (options.executed or options.opcodes or options.instructions):
        parser.error("one of --executed, --opcodes and --instructions is needed")
    if not options.warps >= 1:
        parser.error("--warps: at least 1")
    return options


def run(options: argparse.Namespace) -> list[str]:
    """The lines of the description. Raises Failure, Skip and ValueError."""
    options.binary.open("rb").close()  # raises the system's error where it cannot be read
    usage = sass.cuobjdump(options.binary, options.arch, ["-res-usage"], parse_usage)
    try:
        name = find_kernel(options.kernel, usage)
    except Skip as error:
        raise Skip(f"{options.binary}: {error}") from None
    code = sass.disassemble(options.binary, options.arch, [name])[name]
    if not code:
        raise Failure(f"several kernels are called {name}")
    if options.executed:
        ran = parse_runs(options.executed, len(code))
    else:
        loops = sass.loops(code)
        homes = innermost(code, loops)
        if options.opcodes:
            pairs = (pair.rpartition(":") for pair in options.opcodes.split(","))
            ran = solve_counts(code, homes, len(loops), {name: float(count) for name, _, count in pairs})
        else:
            is_reachable = reachable(code)
            outside = sum(is_met for is_met, home in zip(is_reachable, homes, strict=True) if home < 0)
            if len(loops) > 1:
                raise Failure(f"it has {len(loops)} loops: a profile must say how often each opcode ran")
            inside = len(loops[0].body) if loops else 1
            executed = max(0.0, options.instructions - outside * options.warps) / inside
            ran = [(executed if home == 0 else options.warps) if is_met else 0.0
                   for is_met, home in zip(is_reachable, homes, strict=True)]  # fmt: skip
    ran = subtract_predicated(
        code, subtract_predicated(code, ran, "LDG", options.loads), "STG", options.stores
    )
    return describe_kernel(code, ran, options.warps, usage[name])


@entry("occbench machine-code")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = parse_words(arguments)
    try:
        print("\n".join(run(options)))
    except Failure as error:
        raise CommandError(1, f"{options.kernel}: {error}") from error
    except Skip as error:
        raise CommandError(5 if "pip install" in str(error) else 4, str(error)) from error
    except OSError as error:
        raise CommandError(4, f"{options.binary}: {error.strerror}") from error
    except (ValueError, KeyError, subprocess.CalledProcessError) as error:
        raise CommandError(4, f"{options.binary}: {error}") from error
    return 0
