# SPDX-License-Identifier: Apache-2.0
"""Occupancy of footprints by `occbench calc --batch`, and the register caps at which it changes."""

import csv
import io
from pathlib import Path
from typing import NamedTuple

from occbench_tools.caps.ptx import Limit
from occbench_tools.command import CommandError
from occbench_tools.programs import run_program

NO_OCCBENCH = "no occbench to ask for occupancy: build it, name it in OCCBENCH, or pip install occbench"
VIRTUAL_RESOURCES = 128  # of an SM since cc 10.0, by cuda_occupancy.h
LEAST, MOST = 24, 255  # registers that ptxas gives a kernel of today's GPUs, and that a thread may have
COLUMNS = (
    "device",
    "block_size",
    "registers_per_thread",
    "static_smem_bytes",
    "dynamic_smem_bytes",
    "barriers",
)


class Footprint(NamedTuple):
    block_size: int
    registers: int
    static_smem_bytes: int = 0
    dynamic_smem_bytes: int = 0
    barriers: int = 1


class Residency(NamedTuple):
    blocks: int
    occupancy: float
    status: str

    def limit_blocks(self, virtual_resources: int) -> "Residency":
        """The residency of blocks that take so many of the SM's virtual resources (tensor memory)."""
        most = VIRTUAL_RESOURCES // virtual_resources if virtual_resources else self.blocks
        if most >= self.blocks:
            return self
        status = (
            f"by cuda_occupancy.h, {virtual_resources} virtual resources per block (tensor memory) "
            f"leave room for {most} block{'s' * (most != 1)}; not measured on a GPU"
        )
        return Residency(most, self.occupancy * most / self.blocks, status)


def device_of(arch: str) -> str:
    """'sm_90a' as calc names it: 'cc9.0'."""
    digits = arch.removeprefix("sm_").rstrip("abcdefghijklmnopqrstuvwxyz")
    return f"cc{digits[:-1]}.{digits[-1]}"


def residencies(program: Path | None, device: str, footprints: list[Footprint]) -> list[Residency]:
    """By the package occbench if installed and if it knows the device, else by calc. Raises CommandError."""
    try:
        return by_package(device, footprints)
    except ImportError:
        if not program:
            raise CommandError(5, NO_OCCBENCH) from None
    except ValueError as error:  # such as a device of this machine
        if not program:
            raise CommandError(2, str(error)) from None
    return by_program(program, device, footprints)


def by_package(device: str, footprints: list[Footprint]) -> list[Residency]:
    """Raises ImportError or ValueError."""
    from occbench import occupancy

    if not footprints:
        return []
    threads, registers, static, dynamic, barriers = zip(*footprints, strict=True)
    found = occupancy(device, threads, registers, static, dynamic, barriers)
    parts = (found.blocks_per_sm, found.occupancy, found.status)
    return [Residency(int(blocks), float(share), text) for blocks, share, text in zip(*parts, strict=True)]


def by_program(program: Path, device: str, footprints: list[Footprint]) -> list[Residency]:
    """Raises CommandError."""
    rows = [",".join(map(str, (device, *footprint))) for footprint in footprints]
    try:
        ran = run_program([program, "calc", "--batch", "-"], stdin="\n".join([",".join(COLUMNS), *rows]))
    except OSError as error:
        raise CommandError(5, f"{program}: cannot be run: {error.strerror}") from None
    if ran.returncode:
        raise CommandError(ran.returncode, ran.stderr.strip().removeprefix("occbench: "))
    answers = list(csv.DictReader(io.StringIO(ran.stdout)))
    if bad := next((row["status"] for row in answers if row["status"].startswith("invalid")), None):
        raise CommandError(2, bad.removeprefix("invalid: "))
    return [Residency(int(row["blocks_per_sm"]), float(row["occupancy"]), row["status"]) for row in answers]


def device_list(program: Path | None) -> str:
    """The names that --device takes, as calc lists them, else those of the package. Raises CommandError."""
    if program:
        return run_program([program, "calc", "--device", "list"]).stdout.rstrip("\n")
    try:
        from occbench.library import devices
    except ImportError:
        raise CommandError(5, NO_OCCBENCH) from None
    return "\n".join(devices())


def caps(program: Path | None, device: str, footprint: Footprint) -> list[int]:
    """The most registers at each number of resident blocks, in decreasing order from 255."""
    counts = range(MOST, LEAST - 1, -1)
    found = residencies(program, device, [footprint._replace(registers=count) for count in counts])
    steps, blocks = [], 0
    for count, residency in zip(counts, found, strict=True):
        if residency.blocks > blocks:
            steps.append(count)
            blocks = residency.blocks
    return steps


def bounds(program: Path | None, device: str, footprint: Footprint) -> list[Limit]:
    """__launch_bounds__ of this block size, for each number of resident blocks that registers allow."""
    found = residencies(
        program, device, [footprint._replace(registers=count) for count in caps(program, device, footprint)]
    )
    return [Limit(block_size=footprint.block_size, blocks=each.blocks) for each in found if each.blocks]
