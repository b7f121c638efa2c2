# SPDX-License-Identifier: Apache-2.0
"""Made-up rows on limits, latency, blocks and waves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from made_up_row import CEILING, CLOCK, DRAM, SMS, case, fma, read


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
            own_cycles_per_iteration=cycles,
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
            more |= dict(own_cycles_per_iteration=650 * (1 + 1.5 * (rate / DRAM) ** 4))
            yield case("pointer_chase", "pointer_chase", f"loaded-ilp{ilp}", rate, **more)


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


ITERATION_CYCLES, TURNOVER_CYCLES = 1000, 700


def waves() -> Iterator[dict[str, Any]]:
    """One block per SM; an iteration takes 1,000 cycles, a turnover 700; the largest grid takes 1 % more."""

    def row(marks: str, waves: float, iterations: int, late: float = 1) -> dict[str, Any]:
        whole = math.ceil(waves)
        time_s = late * (whole * iterations * ITERATION_CYCLES + (whole - 1) * TURNOVER_CYCLES) / CLOCK
        shape = dict(block=256, warps=8, kind="fp32", marks=marks, waves=waves, iterations=iterations)
        rate = 1e13 / whole * waves
        return case("waves", "fma_chain", "two-operand-ilp4", rate, time_s=time_s, **shape)

    for grid in (1, 66, 131, 132, 133, 198, 263, 264, 265):
        yield row(f".r1.g{grid}.t200us", grid / SMS, 400, 1.01 if grid == 265 else 1)
    for block_us in (1, 4, 16, 64, 256, 1024):
        many = max(2, 1024 // block_us)
        yield row(f".r1.w{many}.t{block_us}us", many, 2 * block_us)
    yield row(".r1.t1024us", 1, 2030)  # 18 iterations fewer than the short blocks make
    yield row(".r1.t2048us", 1, 4096)
