# SPDX-License-Identifier: Apache-2.0
"""Made-up rows on what memory does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from made_up_row import CEILING, CLOCK, PEAK, SMS, case, read


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
        more = dict(kind="none", block=32, warps=1, bank_conflict=1, own_cycles_per_iteration=cycles)
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
        lone = more | dict(block=32, warps=1, own_cycles_per_iteration=200 * 32, iterations=300)
        grid = dict(grid_size=SMS - idle, operations_per_launch=(SMS - idle) * 300 * 32)
        yield case("clusters", "clusters", "dsmem-latency", 1e9, kind="none", **lone, **grid)
