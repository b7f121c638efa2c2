# SPDX-License-Identifier: Apache-2.0
"""One build for each limit: what its kernels use, and on request the program itself."""

import hashlib
import re
import shlex
import struct
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from occbench_tools.caps.ptx import Limit, apply_limit
from occbench_tools.caps.toolchain import OUT, Children, Ptxas, Script, StepError, run_steps
from occbench_tools.cubin import sections_of, virtual_resources_of
from occbench_tools.inspect_lines.roles import Pool

ENTRY = re.compile(r"Compiling entry function '(.*)' for '(sm_\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
BARRIERS = re.compile(r"used (\d+) barriers")
SMEM = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
LINKED = re.compile(r"nvlink info\s*: Function properties for '(.*)':")
LINKED_USE = re.compile(r"nvlink info\s*: used (\d+) registers, .*?(\d+) stack, (\d+) bytes smem")
RESERVED = 1024  # bytes of the driver, which nvlink counts since cc 9.0
UNSUPPORTED = re.compile(r"ptxas \w+\s*: (Pragma .* unsupported)")  # by a ptxas before CUDA 13.0
SET_MAX_REGISTERS = 0x9C8  # opcode of USETMAXREG, which setmaxnreg becomes


@dataclass
class Use:
    """ptxas's numbers on one kernel, and the bytes of its machine code."""

    registers: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0  # stores and loads
    static_smem_bytes: int = 0
    barriers: int = 1
    code_bytes: int = 0
    requests: tuple[int, ...] = ()  # registers that setmaxnreg asks for
    virtual_resources: int = 0  # of an SM's, per block: noted with tcgen05.alloc
    code: str = ""  # a hash of the code and of all other fields


@dataclass
class Build:
    """A build under one limit; None is the source as it is. `why_not`: where it failed, in one line."""

    limit: Limit | None
    uses: dict[str, Use] = field(default_factory=dict)  # of the architecture in question
    program: Path | None = None
    cubin: Path | None = None  # of that architecture
    pool: Pool | None = None  # the warp roles of the kernel whose split is tried
    waits: dict[str, str] = field(default_factory=dict)  # kernels whose requests are never met, and why
    why_not: str = ""
    remark: str = ""  # a warning of ptxas
    alike: list[Limit] = field(default_factory=list)  # limits of other builds with the same machine code

    def code(self) -> list[str]:
        """The kernels' hashes; equal lists mean equal machine code."""
        return [use.code for _, use in sorted(self.uses.items())]


def uses_of(output: str) -> dict[str, Use]:
    """The numbers in the output of `ptxas -v`, by kernel."""
    found: dict[str, Use] = {}
    kernel, own = "", False
    for line in output.splitlines():
        if entry := ENTRY.search(line):
            kernel, own = entry[1], True
            found[kernel] = Use()
        elif "Function properties for " in line:
            own = line.endswith(f" {kernel}")
        elif kernel and own and (spills := SPILLS.search(line)):
            found[kernel].stack_bytes = int(spills[1])
            found[kernel].spill_bytes = int(spills[2]) + int(spills[3])
        elif kernel and (used := USED.search(line)):
            use = found[kernel]
            use.registers = int(used[1])
            use.barriers = int(barriers[1]) if (barriers := BARRIERS.search(line)) else 1
            use.static_smem_bytes = int(smem[1]) if (smem := SMEM.search(line)) else 0
    return found


def add_linked(uses: dict[str, Use], output: str, arch: str) -> None:
    """Adds the numbers of `nvlink -v`: device linking sets registers and shared memory."""
    kernel = ""
    for line in output.splitlines():
        if named := LINKED.search(line):
            kernel = named[1]
        elif (used := LINKED_USE.search(line)) and kernel in uses:
            use = uses[kernel]
            use.registers, use.stack_bytes, smem = map(int, used.groups())
            counts_reserved = int(re.sub(r"\D", "", arch)) >= 90 and smem >= RESERVED
            use.static_smem_bytes = smem - RESERVED * counts_reserved
            if barriers := BARRIERS.search(line):
                use.barriers = int(barriers[1])


def requests_of(code: bytes) -> tuple[int, ...]:
    """Registers per thread that setmaxnreg asks for, in instructions of 16 bytes."""
    words = struct.iter_unpack("<IIQ", code[: len(code) // 16 * 16])
    return tuple(sorted({count & 0x1FF for low, count, _ in words if low & 0xFFF == SET_MAX_REGISTERS}))


def pool_needed(own: Use, block_size: int) -> int:
    """Registers per thread at the launch that meet as many requests as those of the source as it is."""
    groups, unit = block_size // 128, 8
    if not own.requests or not groups:
        return 0
    least, most = own.requests[0], own.requests[-1]
    spare = groups * (-(-own.registers // unit) * unit - least)
    served = max(1, min(groups, spare // (most - least) if most > least else groups))
    needed = (groups - served) * least + served * most
    return -(-needed // (groups * unit)) * unit


def waits_of(build: Build, own: Build, block_sizes: dict[str, int]) -> dict[str, str]:
    """The kernels of a build that would wait forever for registers that the launch does not have."""
    found = {}
    for kernel, use in build.uses.items():
        if kernel not in block_sizes:
            continue
        requested = own.uses[kernel]
        needed = pool_needed(requested, block_sizes[kernel])
        if build.pool and build.pool.total_request > build.pool.allocated:
            asks = f"asks for {build.pool.total_request} registers"
            found[kernel] = f"{asks}, and the launch has {build.pool.allocated}: a warpgroup waits forever"
        elif not build.pool and use.registers < needed:
            found[kernel] = (
                f"moves registers between its warps (setmaxnreg {requested.requests[0]} to "
                f"{requested.requests[-1]}): with fewer than {needed} at the launch, its requests "
                "are never met"
            )
    return found


def ptxas(
    step: Ptxas, limit: Limit | None, names: frozenset[str], env: dict[str, str], children: Children
) -> str:
    """Runs ptxas with -v, under the limit. Returns its output; raises StepError."""
    command = step.command + " -v"
    if limit:
        edited = apply_limit(step.ptx.read_text(encoding="utf-8", errors="replace"), limit, names)
        step.ptx.unlink()  # a link to a file that all builds share
        step.ptx.write_text(edited, encoding="utf-8")
        if limit.registers or limit.block_size:
            command = re.sub(r"\s--?maxrregcount[= ]\s*\d+", "", command)
    output = run_steps([command], env, children)
    if limit and limit.spills_to_smem and (unsupported := UNSUPPORTED.search(output)):
        raise StepError(1, unsupported[1])
    return output


def is_link(step: str | Ptxas) -> bool:
    """Whether the step runs the device linker."""
    return isinstance(step, str) and Path(shlex.split(step)[0]).name == "nvlink"


def build(
    script: Script,
    place: Path,
    limit: Limit | None,
    names: frozenset[str],
    arch: str,
    whole: bool,
    children: Children,
) -> Build:
    """One build in a folder of its own; `whole`: to the end, else machine code alone."""
    done = Build(limit)
    try:
        own = script.in_folder(place)
        links = [n for n, step in enumerate(own.back) if is_link(step)]
        for step in own.back if whole or not links else own.back[: links[-1] + 1]:
            if isinstance(step, Ptxas):
                output = ptxas(step, limit, names, own.env, children)
                if step.arch != arch:
                    continue
                done.cubin = step.cubin
                sections = sections_of(step.cubin.read_bytes())
                for name, use in uses_of(output).items():
                    code = sections.get(f".text.{name}", b"")
                    use.code_bytes = len(code)
                    use.requests = requests_of(code)
                    use.virtual_resources = virtual_resources_of(sections.get(f".nv.info.{name}", b""))
                    use.code = hashlib.sha256(code).hexdigest()
                    done.uses[name] = use
                if warned := re.search(r"ptxas \w+\s*: (For entry .*|.*setmaxnreg.*)", output):
                    done.remark = warned[1]
            elif is_link(step):
                output = run_steps([step + " -v"], own.env, children)
                if re.search(rf"arch[= ]{arch}\b", step):
                    add_linked(done.uses, output, arch)
            elif whole or links:
                run_steps([step], own.env, children)
        for use in done.uses.values():  # with setmaxnreg, equal code is launched with other registers
            use.code = hashlib.sha256(repr(use).encode()).hexdigest()
        done.program = own.folder / OUT if whole else None
        if not links and any(" --compile-only " in step.command for step in own.ptxas):
            done.remark = done.remark or "not linked: at least these registers; give caps the whole link"
    except (StepError, OSError) as error:
        done.uses.clear()  # may be filled before the step that failed
        done.why_not = str(error)
    return done


def build_all(
    script: Script,
    limits: list[Limit | None],
    names: frozenset[str],
    arch: str,
    whole: bool,
    jobs: int,
    children: Children,
) -> list[Build]:
    """A build for each limit, in their order, `jobs` at a time."""
    places = [Path(tempfile.mkdtemp(dir=script.folder.parent)) / "build" for _ in limits]
    with ThreadPoolExecutor(jobs) as pool:
        futures = [
            pool.submit(build, script, place, limit, names, arch, whole, children)
            for place, limit in zip(places, limits, strict=True)
        ]
        try:
            return [each.result() for each in futures]
        except BaseException:
            children.end()  # else the pool would wait for them
            raise
