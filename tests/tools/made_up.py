# SPDX-License-Identifier: Apache-2.0
"""A made-up run of every experiment, by the names that the families give their variants, from simple laws."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

import described  # noqa: E402
from occbench_tools import NEWEST, validate  # noqa: E402


def newest_run(gpu: str) -> Path:
    """The newest of the committed runs of one GPU."""
    return max((REPOSITORY / "results" / gpu).glob("*/cases.csv")).parent


COLUMNS = [c["name"] for c in validate.schema()["files"]["cases.csv"]["columns"]]
SMS, CLOCK, DRAM, PEAK = 132, 1.98e9, 4.8e12, 66.9e12
ENV = dict(
    schema_version=NEWEST, source="measured", git_commit="0123456789abcdef", git_dirty=True,
    created_utc="2025-01-31T12:00:00Z",
    preset="standard",
    gpu=dict(
        name="A GPU", compute_capability="9.0", sm_count=SMS, dram_bytes_per_s_theoretical=DRAM,
        smem_per_sm_bytes=233472,
    ),
)  # fmt: skip
UNIT = {"dram": "byte", "l1": "byte", "shared_memory": "byte", "fp32": "flop", "tensor_bf16": "flop"}
CEILING = {"dram": DRAM, "fp32": PEAK, "l1": 128 * SMS * CLOCK, "shared_memory": 128 * SMS * CLOCK}
CEILING |= {"tensor_bf16": 989e12, "issue": 128 * SMS * CLOCK}


def case(
    experiment: str, family: str, variant: str, rate: float, *, kind: str = "dram", block: int = 128,
    warps: int = 16, marks: str = "", time_s: float = 1e-3, iterations: int = 1000, waves: float = 1,
    **dials: Any,  # noqa: ANN401
) -> dict[str, Any]:  # fmt: skip
    """One row: `rate` in byte, flop or operation/s, `marks` what the case's name has behind the block."""
    blocks = max(1, warps * 32 // block)
    unit = UNIT.get(kind, "operation")
    row: dict[str, Any] = dict(
        schema_version=NEWEST, source="measured", experiment=experiment, family=family, variant=variant,
        status="valid", ilp=1,
        case_id=f"{experiment}.{family}.{variant}.b{block}{marks}", block_size=block, waves=waves,
        grid_size=round(waves * blocks * SMS), data_type="f32", register_route="free",
        registers_per_thread=32, local_bytes=0, static_smem_bytes=0, dynamic_smem_bytes=0,
        carveout_percent=100, barriers=1,
        blocks_per_sm=blocks, warps_per_sm=warps, occupancy_theoretical=warps / 64, limiters="warps",
        occupancy_textbook=warps / 64, blocks_per_sm_api=blocks, blocks_per_sm_resident=blocks, idle_sms=0,
        block_size_api=1024, counter_status="off", iterations=iterations, verified="repeat",
        samples=13, discarded=0,
        stop_reason="precision", time_median_s=time_s, time_ci95_low_s=0.998 * time_s,
        time_ci95_high_s=1.002 * time_s, speeds="one", sm_clock_hz=CLOCK,
        throughput=rate, throughput_unit=f"{unit}/s",
        ceiling_kind=kind, per_cycle_per_sm=rate / CLOCK / SMS, cycles_per_pass=time_s * CLOCK / iterations,
    )  # fmt: skip
    row[validate.WORK[f"{unit}/s"]] = rate * time_s
    if kind in CEILING:
        row |= dict(ceiling=CEILING[kind], percent_of_ceiling=100 * rate / CEILING[kind])
    return row | described.kernel(variant, marks) | dials


def read(warps: float, bytes_in_flight: float) -> float:
    """Little's law with a soft knee: bytes/s of `warps` a SM with so many bytes in flight per thread."""
    return 0.92 * DRAM * math.tanh(SMS * warps * 32 * bytes_in_flight / 0.9e-6 / DRAM)


def fma(warps: float, ilp: int) -> float:
    return 0.985 * PEAK * min(1, warps * ilp / 16)


def limits() -> Iterator[dict[str, Any]]:
    for size in (32, 64, 96, 128, 256, 512, 768, 1024):
        warps = {32: 32, 96: 63, 768: 48}.get(size, 64)
        shape = dict(block=size, warps=warps)
        yield case("block_size", "stream", "read-f32-4B-ilp1", read(warps, 4), **shape)
        yield case("block_size", "fma_chain", "two-operand-ilp4", fma(warps, 4), kind="fp32", **shape)
        yield case("block_size_pick", "stream", "read-f32-4B-ilp1", read(warps, 4), **shape)
        slower = 1 - 0.08 * (size / 1024)
        yield case("block_size_pick", "barriers", "exchange", 1e12 * slower, kind="none", **shape)
    for kib in (0, 16, 28, 32, 48, 75, 113, 227):
        warps = 8 * min(8, 228 // (kib + 1))
        bytes_ = dict(block=256, warps=warps, dynamic_smem_bytes=kib * 1024)
        yield case("shared_memory", "stream", "read-f32-4B-ilp1", read(warps, 4), **bytes_)
        yield case("shared_memory", "fma_chain", "two-operand-ilp4", fma(warps, 4), kind="fp32", **bytes_)
    for registers in (16, 24, 31, 32, 33, 40, 48, 64, 96, 128, 168, 255):
        warps = min(64, 65536 // (-(-registers // 8) * 8 * 512) * 16)
        if not warps:  # no block fits
            continue
        dials = dict(block=512, warps=warps, registers_per_thread=registers, register_route="maxnreg")
        for kernel, kind, rate in (("load", "dram", read(warps, 4)), ("fma", "fp32", fma(warps, 4))):
            name = f"{kernel}-live9-maxnreg{registers}"
            yield case("registers", "register_pressure", name, rate, kind=kind, **dials)
    for registers in (32, 40, 48, 56, 64, 72, 80):
        spilled = max(0, 4 * (72 - registers))
        capped = "free" if registers == 80 else f"maxnreg{registers}"
        dials = dict(kind="fp32", block=256, warps=64 * 32 // registers, registers_per_thread=registers)
        dials |= dict(register_route=capped.rstrip("0123456789"), local_bytes=spilled)
        for name, cost in (("", 0.02), ("-hot16", 0.0005)):
            rate = 30e12 / (1 + cost * spilled) / registers * 72
            hot = dict(idle_values=48) if name else {}
            kernel = f"update-live64{name}-{capped}"
            yield case("spilling", "register_pressure", kernel, rate, **dials, **hot)
        for kernel in ("stencil", "hash", "gemm"):
            kind = dict(stencil="dram", hash="issue", gemm="fp32")[kernel]
            rate = CEILING[kind] * 0.7 / (1 + (0.02 if kernel == "gemm" else 0.001) * spilled)
            family = "launch_bounds_roulette"
            yield case(family, family, f"{kernel}-{capped}", rate, **dials | dict(kind=kind))
    for warps in (16, 32, 48):
        for kernel, kind, rate in (
            ("load", "dram", read(warps, 4)), ("fma", "fp32", fma(warps, 4)), ("ilp1-4KiB", "l1", 1.5e13)
        ):  # fmt: skip
            family = "cache_reuse" if kind == "l1" else "register_pressure"
            plain = f"{kernel}-maxnreg32" if kind == "l1" else f"{kernel}-live5-maxnreg16"
            wide = plain.replace("live5", "live50").rstrip("0123456789") + "64"
            for carveout in (100, 28):
                best = rate * (1.4 if kind == "l1" and carveout < 100 else 1)
                dials = dict(kind=kind, carveout_percent=carveout, warps=warps)
                misfit = dict(block=96, marks="" if carveout == 100 else ".c28")
                if kind == "l1":  # 1 KiB per warp
                    dials["working_set_bytes"], misfit["working_set_bytes"] = 4096, 3072
                arm = "" if carveout == 100 else ".c28"
                if carveout == 100:
                    yield case("same_occupancy", family, plain, best, marks=f".r{warps // 4}", **dials)
                yield case("same_occupancy", family, plain, 0.99 * best, **dials | misfit)
                yield case("same_occupancy", family, wide, 1.01 * best, marks=arm, **dials)


def latency() -> Iterator[dict[str, Any]]:
    for warps in (4, 8, 16, 20, 32, 64):
        dials = dict(warps=warps, marks=f".r{warps // 4}")
        for width in (4, 16):
            for ilp in (1, 4):
                name = f"read-f32-{width}B-ilp{ilp}"
                load = dict(ilp=ilp, bytes_per_access=width)
                yield case("latency_hiding", "stream", name, read(warps, width * ilp), **load, **dials)
        for form in ("two-operand-ilp1", "two-operand-ilp4", "three-operand-ilp1"):
            rate = fma(warps, int(form[-1])) / (2 if form.startswith("three") else 1)
            yield case("latency_hiding", "fma_chain", form, rate, kind="fp32", ilp=int(form[-1]), **dials)
        for ilp in (1, 4):
            for fmas in (0, 8, 16, 32, 64, 256):
                loads = 1 / max(4 / read(warps, 4 * ilp), (2 * fmas + 1) / fma(warps, ilp))
                kind, work = ("dram", 4) if fmas < 32 else ("fp32", 2 * fmas + 1)
                name = f"ilp{ilp}-fma{fmas}"
                more = dict(ilp=ilp, fma_per_load=fmas, kind=kind)
                yield case("intensity", "intensity", name, loads * work, **dials, **more)
        for accumulators in (1, 2, 8):
            rate = 620e12 * min(1, warps * accumulators / 16)
            more = dict(kind="tensor_bf16", ilp=accumulators)
            yield case("tensor_core", "tensor_core", f"mma-acc{accumulators}", rate, **dials, **more)
        for columns in (64, 256):
            rate = 650e12 * min(1, (warps / 4) * columns / 256)
            if warps <= 16:
                more = dict(kind="tensor_bf16", tile_width=columns)
                yield case("tensor_core", "tensor_core", f"wgmma-n{columns}-ss1", rate, **dials, **more)
    more = dict(kind="tensor_bf16", block=384, warps=12, tile_width=256)
    yield case("tensor_core", "tensor_core", "wgmma-specialised2-b", 640e12, **more)
    yield case("tensor_core", "tensor_core", "wgmma-pipelined2-b", 600e12, **more | dict(block=256, warps=8))
    for route, stage, warps in (("bulk", 4096, 1), ("bulk", 8192, 1), ("bulk", 4096, 4), ("async", 2048, 1)):
        for stages in (2, 4, 8, 16):
            rate = (0.95 if route == "bulk" else 0.7) * DRAM * math.tanh(stages * stage * warps / 40000)
            more = dict(block=32 * warps, warps=warps, marks=".r1")
            more |= dict(stages=stages, bytes_in_flight=stages * stage)
            yield case("bulk_copy", "bulk_copy", f"{route}-s{stages}-{stage}B", rate, **more)
    for warps, block in ((1, 32), (48, 128)):
        yield case("bulk_copy", "stream", "read-f32-16B-ilp4", read(warps, 64), block=block, warps=warps)

    def chase(variant: str, cycles: float, size: int, events: float = 1.01) -> dict[str, Any]:
        loads = 3 if variant.endswith("timed") else 1
        return case(
            "pointer_chase", "pointer_chase", variant, 1e8, kind="none", block=32, warps=1,
            working_set_bytes=size, time_s=events * loads * cycles * 5000 / CLOCK, iterations=5000,
            own_cycles_per_pass=cycles,
        )  # fmt: skip

    for name, cycles, size in (("l1", 34, 1 << 14), ("l2", 262, 1 << 21), ("dram", 650, 1 << 30)):
        yield chase(name, cycles, size)
        yield chase(f"{name}-timed", cycles + 1, size)
    yield chase("dram-32MiB", 560, 1 << 25)
    for power in range(12, 31, 2):
        yield chase(f"walk-{power}", 34 if power < 18 else 270 if power < 26 else 640, 1 << power)
    for line in range(4):
        yield chase(f"l2-line{line}", 250 + 10 * line, 128)
    for ilp in (1, 4):
        for warps in (4, 8, 16, 32, 64):
            rate = read(warps, 16 * ilp)
            more = dict(ilp=ilp, warps=warps, working_set_bytes=1 << 30)
            more |= dict(own_cycles_per_pass=650 * (1 + 1.5 * (rate / DRAM) ** 4))
            yield case("pointer_chase", "pointer_chase", f"loaded-ilp{ilp}", rate, **more)


def memory() -> Iterator[dict[str, Any]]:
    for tiles, rate in (("textbook-tile8", 3e12), ("register-4x4", 3e13)):
        for warps in (8, 32, 64):
            shape = dict(block=64, warps=warps, kind="fp32")
            yield case("tiled_matmul", "tiled_matmul", tiles, rate * warps**0.3, **shape)
    for warps in (8, 16, 32, 64):
        for elements in (4, 8):
            for lanes in (1, 4, 32):
                more = dict(block=1024 // elements, ilp=elements, bank_conflict=lanes, warps=warps)
                rate = min(read(warps, 4 * elements), 60e12 / (1 + lanes))
                yield case("transpose", "transpose", f"conflict{lanes}-rows{elements}", rate, **more)
        for bodies, cap in ((1, 0), (2, 0), (4, 0), (4, 40)):
            name = f"tile128-bodies{bodies}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(kind="fp32", ilp=bodies, warps=warps, registers_per_thread=cap or 32 + 4 * bodies)
            more |= dict(register_route="maxnreg" if cap else "free")
            rate = (0.7 - 0.005 * cap) * PEAK * min(1, warps * bodies / 32)
            yield case("nbody", "nbody", name, rate, **more)
        for block in (128, 256, 512):
            for width, ilp in ((4, 1), (4, 4), (16, 1), (16, 4)):
                more = dict(block=block, bytes_per_access=width, ilp=ilp, warps=warps)
                rate = (1 - block / 5120) * read(warps, width * ilp)
                yield case("reduction", "reduction", f"row{block}-{width}B-ilp{ilp}", rate, **more)
        for points, cap in ((1, 0), (2, 0), (8, 0), (8, 24)):
            name = f"block128-points{points}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(kind="fp32", ilp=points, warps=warps, registers_per_thread=cap or 31)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = (0.5 if points > 1 else 0.4) * (0.9 if cap else 1) * PEAK * min(1, warps * points / 32)
            yield case("electrostatic", "electrostatic", name, rate, **more)
        for paths, cap in ((1, 0), (2, 0), (4, 0), (2, 24), (4, 24), (4, 48)):
            name = f"paths{paths}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(kind="fp32", ilp=paths, registers_per_thread=cap or (21 if paths == 1 else 32))
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = (0.15 if cap == 24 else 0.2) * PEAK * min(1, warps * (4 if cap == 48 else 1) / 32)
            for block in (128,) if cap else (64, 128, 256):
                shape = dict(block=block, warps=warps, marks=f".r{warps * 32 // block}")
                if (cap or 32) * 32 * warps <= 65536:
                    yield case("monte_carlo", "monte_carlo", name, rate, **shape, **more)
        for memory, points, registers, cap, blocks in (
            ("shared128", 1, 32, 0, (128,)), ("shared128", 4, 48, 0, (128,)),
            ("shared128", 4, 32, 32, (128,)), ("shared256", 4, 48, 0, (256,)),
            ("constant", 1, 22, 0, (128, 256)), ("constant", 4, 32, 0, (128, 256)),
            ("constant", 4, 48, 48, (128,)), ("indexed", 1, 24, 0, (128,)),
        ):  # fmt: skip
            name = f"{memory}-points{points}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(kind="fp32", ilp=points, registers_per_thread=registers, warps=warps)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            more |= dict(local_bytes=48 if cap == 32 else 0)
            needed = {"constant": 16, "indexed": 8}.get(memory, 32)
            rate = (0.2 if cap == 32 else 0.25) * PEAK * min(1, warps / needed)
            for block in blocks:
                if registers * 32 * warps <= 65536:
                    shape = dict(block=block, marks=f".r{warps * 32 // block}")
                    if memory.startswith("shared"):
                        yield case("mri", "mri", name, rate, **shape, **more)
                    if memory != "shared256" and cap != 32:
                        yield case("constant_memory", "mri", name, rate, **shape, **more)
        for block in (128, 256):
            for width, ilp in ((4, 1), (16, 1), (16, 4)):
                if (registers := 56 if width * ilp == 64 else 32) * 32 * warps > 65536:
                    continue
                more = dict(block=block, bytes_per_access=width, ilp=ilp, warps=warps)
                more |= dict(registers_per_thread=registers)
                rate = read(warps, width * ilp)
                yield case("gemv", "gemv", f"block{block}-{width}B-ilp{ilp}", rate, **more)
        for family, team, length, width, registers, cap in (
            ("softmax", "warp", 256, 4, 30, 0), ("softmax", "warp", 256, 16, 26, 0),
            ("softmax", "warp", 1024, 16, 54, 0), ("softmax", "warp", 1024, 16, 40, 40),
            ("softmax", "block128", 1024, 16, 26, 0),
            ("layer_norm", "warp", 256, 16, 37, 0), ("layer_norm", "warp", 1024, 4, 56, 0),
            ("layer_norm", "warp", 1024, 16, 79, 0), ("layer_norm", "warp", 1024, 16, 96, 96),
            ("layer_norm", "block128", 1024, 16, 40, 0), ("layer_norm", "block256", 8192, 16, 68, 0),
        ):  # fmt: skip
            if -(-registers // 8) * 8 * 32 * warps > 65536:
                continue
            block = int(team.removeprefix("block")) if team != "warp" else 128
            elements = length // (32 if team == "warp" else block)
            spilled = 32 if cap and family == "softmax" else 0
            more = dict(ilp=elements * 4 // width, bytes_per_access=width, tile_width=length, warps=warps)
            more |= dict(block=block, registers_per_thread=registers, local_bytes=spilled)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = (0.5 if spilled else 0.8) * (1 - 0.4 / width) * read(warps, 4 * elements)
            name = f"{team}-row{length}-{width}B" + (f"-maxnreg{cap}" if cap else "")
            yield case(family, family, name, rate, marks=f".r{warps * 32 // block}", **more)
        for block in (128, 256, 1024):
            for way, elements, cap in (
                ("kogge_stone", 1, 0), ("shuffles", 1, 0), ("shuffles", 8, 0), ("shuffles", 8, 24)
            ):  # fmt: skip
                if 32 * warps % block or (cap and block != 256):
                    continue
                name = f"{way}-block{block}-elements{elements}" + (f"-maxnreg{cap}" if cap else "")
                more = dict(block=block, warps=warps, registers_per_thread=cap or 28)
                more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
                rate = (0.5 if way == "kogge_stone" else 0.8) * (1 - block / 4096) * read(warps, 4 * elements)
                yield case("scan", "scan", name, rate, marks=f".r{32 * warps // block}", **more)
        for radius, points, cap in ((1, 1, 0), (1, 4, 0), (2, 4, 0), (3, 1, 0), (3, 4, 0), (3, 4, 24)):
            name = f"radius{radius}-rows4-points{points}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(ilp=points, warps=warps, registers_per_thread=cap or 32)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            reads = (2 * radius + 1) * (2 * radius + points) / points  # of shared memory, by an output
            rate = (0.9 if cap else 1) * min(read(warps, 8 * points), 6.6e13 / reads)
            yield case("convolution", "convolution", name, rate, **more)
        for options, cap in ((1, 0), (2, 0), (4, 0), (4, 40)):
            name = f"options{options}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(ilp=options, warps=warps, registers_per_thread=cap or 32)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = 0.9 * read(warps, (16 if cap else 12) * options)
            yield case("black_scholes", "black_scholes", name, rate, marks=f".r{warps // 4}", **more)
            if not cap:
                more |= dict(block=256, marks=f".r{warps // 8}")
                yield case("black_scholes", "black_scholes", name, 0.98 * rate, **more)
        for width, ilp, registers, cap in ((4, 1, 28, 0), (16, 1, 40, 0), (16, 4, 72, 0), (16, 4, 80, 80)):
            if -(-registers // 8) * 8 * 32 * warps > 65536:
                continue
            name = f"{width}B-ilp{ilp}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(ilp=ilp, bytes_per_access=width, warps=warps, registers_per_thread=registers)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = 0.9 * read(warps, (4 if cap else 3) * width * ilp)
            yield case("adam", "adam", name, rate, marks=f".r{warps // 4}", **more)
            if not cap:
                more |= dict(block=256, marks=f".r{warps // 8}")
                yield case("adam", "adam", name, 0.98 * rate, **more)
        for width, ilp, registers, cap in (
            (4, 1, 24, 0), (4, 4, 32, 0), (16, 1, 32, 0), (16, 2, 55, 0), (16, 4, 68, 0),
            (16, 4, 64, 64), (16, 2, 40, 40),
        ):  # fmt: skip
            if -(-registers // 8) * 8 * 32 * warps > 65536:
                continue
            name = f"{width}B-ilp{ilp}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(data_type="i8", ilp=ilp, bytes_per_access=width, warps=warps)
            more |= dict(registers_per_thread=registers, local_bytes=32 if cap == 40 else 0)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = (0.8 if cap == 40 else 0.9) * (1 - 0.4 / width) * read(warps, 2 * width * ilp)
            yield case("dequantize", "dequantize", name, rate, marks=f".r{warps // 4}", **more)
            if not cap:
                more |= dict(block=256, marks=f".r{warps // 8}")
                yield case("dequantize", "dequantize", name, 0.98 * rate, **more)
        for lattice, sites, registers, cap in (
            (9, 1, 32, 0), (9, 2, 40, 0), (9, 4, 96, 0), (9, 2, 46, 48), (9, 4, 64, 64),
            (19, 1, 40, 0), (19, 2, 56, 0), (19, 1, 32, 32),
        ):  # fmt: skip
            if -(-registers // 8) * 8 * 32 * warps > 65536:
                continue
            name = f"d{3 if lattice == 19 else 2}q{lattice}-sites{sites}" + (f"-maxnreg{cap}" if cap else "")
            spills = cap in (32, 64)
            more = dict(ilp=sites, bytes_per_access=4, warps=warps, registers_per_thread=registers)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            more |= dict(local_bytes=4 * cap if spills else 0)
            in_flight = (4 if cap and not spills else 2) * lattice * sites
            rate = (0.7 if spills else 0.9) * read(warps, in_flight)
            yield case("lattice_boltzmann", "lattice_boltzmann", name, rate, marks=f".r{warps // 4}", **more)
            if not cap:
                more |= dict(block=256, marks=f".r{warps // 8}")
                yield case("lattice_boltzmann", "lattice_boltzmann", name, 0.98 * rate, **more)
        for chains, rounds, registers, cap in (
            (1, 16, 32, 0), (2, 16, 56, 0), (4, 16, 128, 0), (1, 64, 32, 0), (2, 64, 56, 0),
            (1, 16, 46, 64), (2, 16, 48, 48), (2, 16, 32, 32), (4, 16, 96, 96),
        ):  # fmt: skip
            if -(-registers // 8) * 8 * 32 * warps > 65536:
                continue
            name = f"chains{chains}-rounds{rounds}" + (f"-maxnreg{cap}" if cap else "")
            more = dict(kind="none", data_type="u32", ilp=chains, warps=warps)
            more |= dict(registers_per_thread=registers, local_bytes=0 if registers != cap else 80)
            more |= dict(register_route="maxnreg" if cap else "free", register_cap=cap)
            rate = (0.8 if more["local_bytes"] else 1) * (1.1 if rounds == 64 else 1)
            rate *= 16e9 * min(1, warps * chains / 16)
            yield case("sha256", "sha256", name, rate, marks=f".r{warps // 4}", **more)
            if not cap and rounds == 16:
                more |= dict(block=256, marks=f".r{warps // 8}")
                yield case("sha256", "sha256", name, 0.98 * rate, **more)
    for percent in (2, 14, 44, 72, 100):
        more = dict(block=1024, warps=64, carveout_percent=percent)
        rate = 1.4e13 if percent < 60 else 9e12
        reuse = more | dict(kind="l1", working_set_bytes=65536)
        yield case("carveout", "cache_reuse", "ilp1-64KiB", rate, marks=f".c{percent}", **reuse)
        yield case("carveout", "stream", "read-f32-4B-ilp1", 2.6e12, marks=f".c{percent}", **more)
    for kib in (4, 16, 32):
        for blocks in (1, 2, 4, 8, 16):
            rate = 2e12 * blocks if blocks * kib <= 124 else 6e12
            more = dict(kind="l1", warps=4 * blocks, carveout_percent=50, working_set_bytes=kib * 1024)
            yield case("cache_reuse", "cache_reuse", f"ilp1-{kib}KiB", min(rate, 3e13), **more)
    for warps in (1, 4, 16, 32, 64):
        for ilp, lanes in ((1, 1), (4, 1), (4, 8), (4, 32)):
            rate = 0.97 * CEILING["l1"] * min(warps * ilp / 24, 1 / lanes)
            more = dict(kind="shared_memory", ilp=ilp, warps=warps, bank_conflict=lanes)
            yield case("shared_latency", "shared_latency", f"read-ilp{ilp}-conflict{lanes}", rate, **more)
    for name, cycles in (("chain", 24), ("chain-timed", 24.5)):
        more = dict(kind="none", block=32, warps=1, bank_conflict=1, own_cycles_per_pass=cycles)
        events = dict(time_s=cycles * (3 if "timed" in name else 1) * 1e5 / CLOCK, iterations=100000)
        yield case("shared_latency", "shared_latency", name, 1e9, **more, **events)
    whole = dict(block=1024, warps=32)
    yield case("clusters", "clusters", "smem-read", 3.2e13, kind="shared_memory", cluster_size=1, **whole)
    for size in (1, 2, 4, 8, 16):
        idle = {8: 0, 16: 12}.get(size, 0)
        more = dict(cluster_size=size, clusters_api=(SMS - idle) // size, idle_sms=idle, **whole)
        for name, rate in (("dsmem-read", 2e13 / (1 + size / 16)), ("dsmem-spread", 1.8e13 / (1 + size / 8))):
            yield case("clusters", "clusters", name, rate, kind="shared_memory", **more)
        rate = PEAK * (SMS - idle) / SMS
        yield case("clusters", "fma_chain", "two-operand-ilp4", rate, kind="fp32", **more)
        lone = more | dict(block=32, warps=1, own_cycles_per_pass=200 * 32, iterations=300)
        grid = dict(grid_size=SMS - idle, operations_per_launch=(SMS - idle) * 300 * 32)
        yield case("clusters", "clusters", "dsmem-latency", 1e9, kind="none", **lone, **grid)


def blocks() -> Iterator[dict[str, Any]]:
    def meeting(variant: str, cycles: float, rounds: int = 8, **shape: Any) -> dict[str, Any]:  # noqa: ANN401
        time_s = cycles * 1000 / CLOCK
        row = case("barriers", "barriers", variant, 0, kind="none", time_s=time_s, **shape)
        work = row["grid_size"] * row["block_size"] / 32 * 1000 * rounds
        return row | dict(operations_per_launch=work, throughput=work / time_s)

    for warps in (32, 64):
        for size in (32, 64, 256, 1024):
            if warps * 32 // size <= 32:
                yield meeting("sync-fma1", 200 + 0.3 * size, block=size, warps=warps)
        yield meeting("free-fma1", 60, block=256, warps=warps)
    for warps in (16, 64):
        for size in (64, 512):
            yield meeting("exchange-uneven", 4000 * (1.2 + size / 1000), block=size, warps=warps)
        yield meeting("uneven-free", 4000, block=128, warps=warps)
    for name, resident in (("exchange", 32), ("named-4", 16), ("named-16", 4), ("named-runtime", 4)):
        reserved = 16 if name == "named-runtime" else 1
        yield meeting(name, 300 + 20 * resident, block=64, warps=2 * resident, barriers=reserved)

    def branch(variant: str, ratio: float, warps: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        flop = SMS * warps * 32 * 100 * 4096.0 * more.pop("inside", 1)
        time_s = 1e-3 * ratio * max(1, warps / 16)
        row = case(
            "divergence", "divergence", variant, flop / time_s, kind="fp32", time_s=time_s, iterations=100,
            warps=warps, **more,
        )  # fmt: skip
        return row | dict(flop_per_launch=flop)

    for warps in (4, 16, 64):
        yield branch("uniform", 1, warps, lanes_apart=0)
        yield branch("branch-on-warp", 1.002, warps, lanes_apart=0)
        yield branch("branch-on-block", 1.001, warps, lanes_apart=0)
        for lanes in (0, 1, 4, 16):
            yield branch(f"split-lane-{lanes}", 1 if lanes == 0 else 2.01, warps, lanes_apart=lanes)
        for depth in (1, 2, 5):
            yield branch(f"nested-{depth}", 2**depth * 1.01, warps, lanes_apart=16)
    for warps in (16, 64):
        for name, inside, share in (
            ("full-untested", 1, 0), ("full-tested", 1, 0), ("vector-100-b64", 0.78, 0.25),
            ("image-62-rows-76-columns", 0.92, 31 / 160),
        ):  # fmt: skip
            ratio = 1 if name == "full-untested" else 1.01
            yield branch(name, ratio, warps, inside=inside, divergent_warps=share)
    yield from waves()
    for kernel, kind in (("read-f32-16B-ilp1", "dram"), ("two-operand-ilp4", "fp32")):
        for warps in (4, 8, 16, 32, 64):
            rate = read(warps, 16) if kind == "dram" else fma(warps, 4)
            watts = 250 + 3 * warps
            more = dict(kind=kind, warps=warps, power_w=watts, energy_per_launch_j=watts * 1e-3)
            yield case("energy", "stream" if kind == "dram" else "fma_chain", kernel, rate, **more)


PASS_CYCLES, TURNOVER_CYCLES = 1000, 700


def waves() -> Iterator[dict[str, Any]]:
    """A block an SM; a pass takes 1,000 cycles, a turnover 700; the largest grid takes 1 % more than that."""

    def row(marks: str, waves: float, passes: int, late: float = 1) -> dict[str, Any]:
        whole = math.ceil(waves)
        time_s = late * (whole * passes * PASS_CYCLES + (whole - 1) * TURNOVER_CYCLES) / CLOCK
        shape = dict(block=256, warps=8, kind="fp32", marks=marks, waves=waves)
        rate = 1e13 / whole * waves
        return case("waves", "fma_chain", "two-operand-ilp4", rate, iterations=passes, time_s=time_s, **shape)

    for grid in (1, 66, 131, 132, 133, 198, 263, 264, 265):
        yield row(f".r1.g{grid}.t200us", grid / SMS, 400, 1.01 if grid == 265 else 1)
    for block_us in (1, 4, 16, 64, 256, 1024):
        many = max(2, 1024 // block_us)
        yield row(f".r1.w{many}.t{block_us}us", many, 2 * block_us)
    yield row(".r1.t1024us", 1, 2030)  # 18 passes fewer than the short blocks make
    yield row(".r1.t2048us", 1, 4096)


def cases() -> list[dict[str, Any]]:
    """The valid rows of a made-up run of all experiments."""
    return [*limits(), *latency(), *memory(), *blocks()]


ENV["experiments"] = {row["experiment"]: described.experiment(row["experiment"]) for row in cases()}


def foretold(row: dict[str, Any], off: float = 0, bound: str = "DRAM", baseline: float = 0) -> dict[str, Any]:
    """The row with a prediction that is `off` (fraction) of the throughput, and a baseline that is."""
    said = dict(throughput_predicted=(1 + off) * row["throughput"], bound_predicted=bound)
    said |= dict(throughput_baseline=(1 + baseline) * row["throughput"])
    return row | dict(schema_version=NEWEST, source="measured") | said


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A folder of results with these rows; its samples.csv is not written."""
    folder.mkdir(exist_ok=True)
    with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as stream:
        columns = dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)])
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "env.json").write_text(json.dumps(ENV), encoding="utf-8")
    return folder
