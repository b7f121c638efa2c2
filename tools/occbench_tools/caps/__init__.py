# SPDX-License-Identifier: Apache-2.0
"""occbench caps -- nvcc ... kernel.cu: the same source at every cap on registers that changes occupancy.

nvcc's steps are run one by one: up to PTX once, then ptxas for each cap, which is .maxnreg in the PTX.
(nvcc -maxrregcount does not change a kernel with __launch_bounds__.) All files go to a temporary folder;
the command's -o file is never touched.

With --roles the splits of registers between warp roles (setmaxnreg) are tried in place of caps.

With --run the program is built at every cap and timed: each build once in each round, in random order.

Exit 0 all well, 1 some cap failed or changed the output (its row says why), 2 invalid arguments, 5 no
occbench to ask, 130 interrupted; else nvcc's or the program's own code, and 125 for a failure of caps, 126
where what is called cannot be run, 127 where it is not found.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from occbench_tools.caps import roles, show
from occbench_tools.caps.builds import Build, build_all, waits_of
from occbench_tools.caps.ptx import Limit, kernels
from occbench_tools.caps.steps import Footprint, bounds, caps, device_list, device_of
from occbench_tools.caps.timing import Times, output_of, program_words, time_all
from occbench_tools.caps.toolchain import (
    OWN_FAILURE,
    Children,
    Script,
    StepError,
    compiler_words,
    dryrun,
    ending_children,
    run_steps,
)
from occbench_tools.command import CommandError, entry, occbench, parser_of
from occbench_tools.escape import printable
from occbench_tools.lines import print_error

Builder = Callable[[list[Limit | None], frozenset[str]], list[Build]]
ENDED = (signal.SIGTERM, signal.SIGHUP)
BLOCK = 256  # the default where neither the source nor the call has one


def size(text: str) -> int:
    """4096, 48K or 48KiB."""
    found = re.fullmatch(r"(\d{1,9})\s*(?:(k)(?:i?b)?)?", text, re.IGNORECASE)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number (write 256 or 48K)")
    return int(found[1]) * (1024 if found[2] else 1)


def positive(text: str) -> int:
    value = size(text)
    if value < 1:
        raise argparse.ArgumentTypeError("is less than 1")
    return value


def seconds(text: str) -> float:
    """90s, 30m or 1h; a number alone is of seconds."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smh]?)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time; 90s, 30m or 1h is one")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def regular_expression(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {error}") from None


def parser() -> argparse.ArgumentParser:
    command = parser_of(
        "caps",
        "Effect of register caps on a kernel: compiles a file at each cap that changes occupancy.",
        "occbench caps --block-size 256 -- nvcc -O3 -arch=sm_90 -c kernel.cu\n"
        "  occbench caps --run ./app 4096 -- nvcc -O3 -arch=sm_90 kernel.cu -o app",
    )
    command.usage = "%(prog)s [OPTION]... [--run PROGRAM [WORD]...] -- nvcc [WORD]..."

    def add(option: str, metavar: str, help: str, **kind: Any) -> None:  # noqa: ANN401
        command.add_argument(option, metavar=metavar, help=help, **kind)

    block_default = f"default: what the source is compiled for, else {BLOCK}"
    add("--block-size", "N", f"threads per block ({block_default})", type=positive)
    add("--dynamic-smem", "BYTES", "of each block, at the launch", type=size, default=0)
    add("--device", "NAME", "as calc takes it; `list` lists the names (default: the architecture's)")
    add("--kernel", "TEXT", "cap only kernels with this in their name", default="")
    add("--caps", "N,...", "these caps instead of those that change occupancy")
    add("--bounds", "N,...", "also __launch_bounds__ of these blocks, for each number of them per SM")
    splits = "splits of registers between warp roles (setmaxnreg), as 24/240; without any: all that fit"
    add("--roles", "SPLIT,...", splits, nargs="?", const="")
    smem = "also spill to shared memory (enable_smem_spilling, CUDA 13.0), where registers are spilled"
    command.add_argument("--smem-spilling", action="store_true", help=smem)
    add("--rounds", "N", "of timing (15)", type=positive, default=15)
    by_value = "take the last match in the program's output as its time, not the clock"
    add("--value", "REGEX", by_value, type=regular_expression)
    add("--timeout", "TIME", "of one run of the program (10m)", type=seconds, default=600)
    add("--jobs", "N", "compilers at a time", type=positive, default=os.cpu_count() or 1)
    command.add_argument(
        "--format", choices=["table", "csv", "json"], default="table", help="table, csv or json"
    )
    program = "the program that nvcc makes and its arguments; last before the --"
    add("--run", "WORD", program, nargs=argparse.REMAINDER, default=[])
    return command


def numbers(text: str | None, what: str, most: int, least: int = 1) -> list[int]:
    """'64,96' as numbers. Raises CommandError."""
    found = []
    for word in filter(None, (text or "").split(",")):
        if not word.strip().isdecimal() or not least <= int(word) <= most:
            raise CommandError(2, f"{what} wants whole numbers from {least} to {most}, not '{word}'")
        found.append(int(word))
    return found


def exit_by_signal(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


class Work:
    """The source's kernels, and the builds to make."""

    def __init__(self, options: argparse.Namespace, script: Script, program: Path | None) -> None:
        archs = sorted({step.arch for step in script.ptxas}, key=lambda arch: (len(arch), arch))
        named = [arch for arch in archs if options.device == device_of(arch)]
        self.arch = (named or archs)[-1]
        self.device = options.device or device_of(self.arch)
        found: dict[str, int | None] = {}
        for step in script.ptxas:
            found |= kernels(step.ptx.read_text(encoding="utf-8", errors="replace"))
        self.blocks = {
            name: options.block_size or block or BLOCK
            for name, block in found.items()
            if options.kernel in show.demangle_name(name)
        }
        if not found:
            raise CommandError(2, "the file holds no kernel")
        if not self.blocks:
            names = ", ".join(sorted(show.demangle_name(name) for name in found)[:5])
            raise CommandError(2, f"no kernel's name holds '{options.kernel}'; it has {names}")
        self.names = frozenset(self.blocks)
        self.program = program
        self.options = options

    def steps(self, own: Build, script: Script, build: Builder) -> list[Limit]:
        """The limits to build besides the source: splits, or --caps or every kernel's steps, and --bounds."""
        options = self.options
        if options.roles is not None:
            return self.splits(own, script, build)
        if options.caps:
            limits = [Limit(cap) for cap in sorted(set(numbers(options.caps, "--caps", 255)), reverse=True)]
        else:
            steps = {255}
            for name, use in own.uses.items():
                if name in self.names:
                    steps |= set(caps(self.program, self.device, self.footprint(name, use.static_smem_bytes)))
            limits = [Limit(cap) for cap in sorted(steps, reverse=True)]
        for block in numbers(options.bounds, "--bounds", 1024):
            smem = max(
                (use.static_smem_bytes for name, use in own.uses.items() if name in self.names), default=0
            )
            limits += bounds(self.program, self.device, Footprint(block, 0, smem, options.dynamic_smem))
        return limits

    def splits(self, own: Build, script: Script, build: Builder) -> list[Limit]:
        """The limits of the one kernel that moves registers between warps; drops the other kernels."""
        kernel = roles.kernel_with_roles(own, self.names)
        self.names, self.blocks = frozenset([kernel]), {kernel: self.blocks[kernel]}
        self.read_pools([own])
        requests = roles.read_requests(script, own, kernel)
        launch = roles.launch_registers(requests, own, kernel, lambda limit: build([limit], self.names)[0])
        return [requests.limit(split) for split in roles.chosen_splits(requests, launch, self.options.roles)]

    def read_pools(self, builds: list[Build]) -> None:
        """Reads the warp roles' register requests of the one kernel in each build."""
        ((kernel, block_size),) = self.blocks.items()
        with ThreadPoolExecutor(self.options.jobs) as pool:
            found = pool.map(lambda each: roles.pool_of_build(each, kernel, self.arch, block_size), builds)
            for each, its_pool in zip(builds, found, strict=True):
                each.pool = its_pool

    def build_everything(self, own: Build, script: Script, build: Builder) -> list[Build]:
        """Builds the source as it is, first, and under each limit."""
        builds = [own, *build(self.steps(own, script, build), self.names)]
        if self.options.smem_spilling:
            builds = self.with_smem_spills(builds, build)
        if self.options.roles is not None:
            self.read_pools(builds[1:])
        for each in builds:
            each.waits = waits_of(each, own, self.blocks)
        return builds

    def with_smem_spills(self, builds: list[Build], build: Builder) -> list[Build]:
        """Adds, behind each build that spills registers, one with spills to shared memory."""
        spilling = [
            n for n, each in enumerate(builds)
            if any(use.spill_bytes for name, use in each.uses.items() if name in self.names)
        ]  # fmt: skip
        limits = [(builds[n].limit or Limit())._replace(spills_to_smem=True) for n in spilling]
        twins = dict(zip(spilling, build(limits, self.names), strict=True))
        if not twins:
            print_error("occbench caps", "--smem-spilling: nothing spills registers")
        return [twin for n, each in enumerate(builds) for twin in (each, twins.get(n)) if twin]

    def footprint(
        self, name: str, static_smem_bytes: int, registers: int = 0, barriers: int = 1
    ) -> Footprint:
        return Footprint(self.blocks[name], registers, static_smem_bytes, self.options.dynamic_smem, barriers)


def distinct_builds(builds: list[Build]) -> list[Build]:
    """The successful builds; of equal machine code the first, which lists the others' limits in `alike`."""
    found: dict[tuple[str, ...], Build] = {}
    for build in builds:
        if build.why_not or build.waits:
            continue
        first = found.setdefault(tuple(build.code()), build)
        if first is not build and build.limit:
            first.alike.append(build.limit)
    return list(found.values())


def run(options: argparse.Namespace, words: list[str], children: Children) -> int:
    """Builds, times, prints; returns the exit code. Raises CommandError."""
    program = occbench()
    compiler, output = compiler_words(words)
    call = program_words(options.run, output)
    if options.run and not call:
        raise CommandError(
            2, f"none of the words of --run is what nvcc makes, '{output or 'a.out'}'; {{}} stands for it"
        )
    if options.run and ({"-c", "-dc", "-cubin", "-fatbin"} & set(compiler)):
        raise CommandError(2, "--run needs a program, and nvcc is told to make none; omit -c")
    if options.roles is not None and (options.caps or options.bounds):
        raise CommandError(2, "--roles takes the place of --caps and --bounds: one at a time")
    with tempfile.TemporaryDirectory(prefix="occbench-caps-", ignore_cleanup_errors=True) as place:
        folder = Path(place) / "keep"
        folder.mkdir()
        script = dryrun(compiler, folder, children)
        try:
            run_steps(script.front, script.env, children)
        except StepError as failed:
            raise CommandError(failed.code, f"{compiler[0]}: {failed}") from None
        work = Work(options, script, program)
        settings = dict(arch=work.arch, whole=bool(call), jobs=options.jobs, children=children)
        build = partial(build_all, script, **settings)
        (own,) = build([None], work.names)
        if own.why_not:
            raise CommandError(1, f"{compiler[0]}: {own.why_not}")
        builds = work.build_everything(own, script, build)
        times: list[Times] = []
        if call:
            if own.waits:
                raise CommandError(1, f"the source as it is {'; '.join(own.waits.values())}: it is not run")
            times = time_all(
                distinct_builds(builds), call, options.rounds, options.value, children, options.timeout
            )
            if times[0].why_not:
                raise CommandError(
                    times[0].code, f"{options.run[0]}, the source as it is: {times[0].why_not}"
                )
        show.show(
            options.format, work.program, work.device, work.arch, work.footprint, work.blocks, builds, times
        )
    failed = any(build.why_not for build in builds) or any(each.why_not for each in times)
    return 1 if failed or any(output_of(each, times[0]) == "differs" for each in times) else 0


@entry("occbench caps")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    cut = words.index("--") if "--" in words else len(words)
    options = parser().parse_args(words[:cut])
    if options.device == "list":
        print(device_list(occbench()))
        return 0
    if cut + 1 >= len(words):
        raise CommandError(
            2, "the compiler's call is missing: occbench caps -- nvcc -O3 -arch=sm_90 kernel.cu -c"
        )
    before = {number: signal.signal(number, exit_by_signal) for number in ENDED}
    try:
        with ending_children(Children()) as children:
            return run(options, words[cut + 1 :], children)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise CommandError(OWN_FAILURE, printable(str(error))) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
