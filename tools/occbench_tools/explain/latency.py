# SPDX-License-Identifier: Apache-2.0
"""Sentences on what hides latency: warps, work in flight within a warp, and copies that run ahead of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, cusp, has_cusp, in_flight, least, many, reached
from occbench_tools.explain.phrases import ABSENT, cost, gains, occupancy, span, speed, warps_of

FAR_FROM_BALANCE = 64  # FMAs per 4-byte load from which on a kernel computes, whatever the GPU


def latency_hiding(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best read and FMA rates, and the least warps that come within 10 % of them, by work per warp."""
    for part, words, forms in (
        (rows[rows["variant"].str.startswith("read-f32-")], "read",
         {"read-f32-16B-ilp4": "4 x 16 B in flight per thread", "read-f32-4B-ilp1": "4 B"}),
        (rows[rows["variant"].str.startswith("two-operand")], "FMA rate",
         {"two-operand-ilp4": "ILP 4", "two-operand-ilp1": "ILP 1"}),
    ):  # fmt: skip
        if part.empty:
            yield f"{words}: {ABSENT}"
            continue
        top, needs = best(part), []
        for variant, form in forms.items():
            line = part[part["variant"] == variant]
            warps = line.loc[line["rate"] >= 0.9 * top["rate"], "warps_per_sm"].min()
            if len(line):
                needs.append(f"{many(warps, 'warp') if warps > 0 else 'more warps than fit'} with {form}")
        yield f"best {words} {speed(top)} at {occupancy(top)}, 90 % of it from {', '.join(needs)}"


def intensity(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Volkov's cusp: where most warps are needed; and from where on a kernel that computes is flat."""
    needed = cusp(rows)
    if needed.empty:
        yield f"share of the roof: {ABSENT}"
        return
    for ilp, line in needed.groupby("ilp"):
        line = line.sort_values("fma_per_load")
        first, peak, last = line.iloc[0], best(line, "warps"), line.iloc[-1]
        words = f"{many(ilp, 'load')} in flight: {line['share'].iloc[0]:g} % of the roof takes "
        words += f"{many(round(first['warps']), 'warp')} at {many(first['fma_per_load'], 'FMA')} per load, "
        if has_cusp(line):
            words += f"{peak['warps']:.0f} at {peak['fma_per_load']:g} (most: the cusp), "
        words += f"{last['warps']:.0f} at {last['fma_per_load']:g}"
        if has_cusp(line):
            words += f"; at the cusp no number of warps passes {peak['best']:.0f} %"
        else:
            words += ": no cusp" if len(line) > 2 else " (too few counts to see a cusp)"
        yield words
    line = rows[(rows["ilp"] == needed["ilp"].max()) & (rows["fma_per_load"] >= FAR_FROM_BALANCE)]
    if line.empty:
        yield f"a kernel that computes: {ABSENT}"
        return
    line = line[line["fma_per_load"] == line["fma_per_load"].max()]
    full = (line["warps_per_sm"] / line["occupancy_theoretical"]).max()
    flat = reached(line, "warps_per_sm", "throughput", 0.95 * line["throughput"].max())
    agrees = "as" if flat <= full / 2 else "later than"
    yield (
        f"with {line['fma_per_load'].iloc[0]:g} FMAs 95 % of the best takes {warps_of(flat, full)}, {agrees} "
        "the course says (25-50 %)"
    )


def caps(rows: pd.DataFrame, free: pd.DataFrame) -> Iterator[str]:
    """What each cap on registers costs or gains: its best against that of as many per thread among `free`."""
    for variant, line in rows[rows["register_route"] != "free"].groupby("variant"):
        usual = free[free["ilp"] == line["ilp"].iloc[0]]
        if usual.empty:
            continue
        spilled, row = line["local_bytes"].max(), best(line)
        yield (
            f"`{variant}`{f', {spilled:.0f} B spilled' if spilled > 0 else ''}: "
            f"{cost(row['rate'], best(usual)['rate'])} ({row['registers_per_thread']:.0f} registers instead "
            f"of {best(usual)['registers_per_thread']:.0f})"
        )


def nbody(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest, the warps that each number of bodies per thread takes to come near it, and the caps."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    free = rows[rows["register_route"] == "free"]
    near = free[free["rate"] >= 0.9 * top["rate"]].groupby("ilp")["warps_per_sm"].min()
    for bodies in sorted(free["ilp"].unique()):
        yield f"90 % of that with {bodies:g} to a thread takes " + (
            many(near[bodies], "warp") if bodies in near else "more warps than were tried"
        )
    yield from caps(rows, free)


def electrostatic(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `nbody`, and what coarsening gains at the fewest warps and at the most, in blocks of one size."""
    yield from nbody(rows, env)
    free = rows[(rows["register_route"] == "free") & (rows["block_size"] == 128)]
    one, most = (free[free["ilp"] == points] for points in (1, free["ilp"].max()))
    if free["ilp"].max() > 1 and (words := gains(most, one)):
        yield f"{free['ilp'].max():g} points to a thread instead of 1: {words}"


def monte_carlo(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `nbody`, and what registers to interleave paths in gain at the fewest warps and at the most."""
    yield from nbody(rows, env)
    most = rows[(rows["ilp"] == rows["ilp"].max()) & (rows["block_size"] == 128)]
    free = most[most["register_route"] == "free"]
    given = most[most["registers_per_thread"] == most["registers_per_thread"].max()]
    if free["ilp"].max() > 1 and given["register_route"].ne("free").all() and (words := gains(given, free)):
        yield (
            f"{free['ilp'].iloc[0]:g} to a thread with {given['registers_per_thread'].iloc[0]:.0f} registers "
            f"instead of {free['registers_per_thread'].iloc[0]:.0f}: {words}"
        )


def mri(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `electrostatic`."""
    yield from electrostatic(rows, env)


def constant_memory(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """How each fares with the most warps, by the warp's address, by each lane's (indexed) and from shared
    memory, and what these gain over each other."""
    usual = rows[(rows["register_route"] == "free") & (rows["block_size"] == 128)]
    constant, indexed, shared = parts = [
        usual[usual["variant"].str.startswith(kind)] for kind in ("constant", "indexed", "shared")
    ]
    if constant.empty:
        yield f"samples from constant memory: {ABSENT}"
    for part in parts:
        for variant, line in part.groupby("variant"):
            top, last = best(line), line.loc[line["warps_per_sm"].idxmax()]
            words = f"`{variant}` is fastest with {many(top['warps_per_sm'], 'warp')}, {speed(top)}"
            if last["warps_per_sm"] > top["warps_per_sm"]:
                words += f"; with {last['warps_per_sm']:.0f} it has {last['rate'] / top['rate']:.2f} of that"
            yield words
    for points in sorted(usual["ilp"].unique()):
        one, other, tiles = (part[part["ilp"] == points] for part in (constant, indexed, shared))
        if words := gains(one, tiles):
            yield f"constant memory instead of shared with {points:g} to a thread: {words}"
        if words := gains(other, one):
            yield f"each lane's address instead of the warp's with {points:g} to a thread: {words}"


def black_scholes(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest, the warps that options per thread stand in for, caps on registers, larger blocks."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    usual = rows[rows["block_size"] == rows["block_size"].min()]
    for variant, line in usual.groupby("variant"):
        near = line[line["rate"] >= 0.9 * top["rate"]]["warps_per_sm"]
        words = f"90 % of that from {many(near.min(), 'warp')}"
        if near.empty:
            words = f"at most {100 * best(line)['rate'] / top['rate']:.0f} % of that"
        yield f"`{variant}` ({line['registers_per_thread'].max():.0f} registers): {words}"
    same = ["variant", "warps_per_sm"]
    for block, larger in rows[rows["block_size"] > rows["block_size"].min()].groupby("block_size"):
        pairs = larger.merge(usual, on=same, suffixes=("", "_usual"))
        if len(pairs):
            ratio = pairs["rate"] / pairs["rate_usual"]
            yield (
                f"blocks of {block:g} instead of {usual['block_size'].iloc[0]:g} at equal warps: "
                f"{ratio.min():.2f} to {ratio.max():.2f} x"
            )


def adam(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `black_scholes`, and what register caps are worth at equal warps."""
    yield from black_scholes(rows, env)
    usual = rows[rows["block_size"] == rows["block_size"].min()]
    for variant, line in usual[usual["register_route"] != "free"].groupby("variant"):
        free = usual[usual["variant"] == variant.rpartition("-maxnreg")[0]]
        if words := gains(line, free):
            registers = [f"{each['registers_per_thread'].max():.0f}" for each in (line, free)]
            spilled = line["local_bytes"].max()
            yield (
                f"`{variant}`{f', {spilled:.0f} B spilled' if spilled > 0 else ''}, {registers[0]} registers "
                f"instead of {registers[1]}: {words}"
            )


def dequantize(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `adam`, and what one wide load is worth instead of as many bytes in narrow ones."""
    yield from adam(rows, env)
    usual = rows[(rows["register_route"] == "free") & (rows["block_size"] == rows["block_size"].min())]
    wide, narrow = (
        usual[(usual["bytes_per_access"] == width) & (usual["ilp"] == loads)]
        for width, loads in ((16, 1), (4, 4))
    )
    if words := gains(wide, narrow):
        yield f"1 x 16 B instead of 4 x 4 B: {words}"


def lattice_boltzmann(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `adam` on either lattice, and what the larger number of arrays is worth at equal warps."""
    lattices = {lattice: rows[rows["variant"].str.startswith(f"{lattice}-")] for lattice in ("d2q9", "d3q19")}
    for lattice, part in lattices.items():
        yield f"{lattice.upper()}: {'; '.join(adam(part, env)) if len(part) else ABSENT}"
    plane, space = (
        part[
            (part["register_route"] == "free")
            & (part["ilp"] == 1)
            & (part["block_size"] == rows["block_size"].min())
        ]
        for part in lattices.values()
    )
    if words := gains(space, plane):
        yield f"19 arrays instead of 9 with one site to a thread: {words}"


def sha256(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest, the warps that each number of chains takes to come near it, unrolled rounds, the caps."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    free = rows[rows["register_route"] == "free"]
    rolled = free[free["variant"].str.endswith("-rounds16")]
    needs = []
    for chains, line in rolled.groupby("ilp"):
        near = line.loc[line["rate"] >= 0.9 * top["rate"], "warps_per_sm"].min()
        needs.append(
            f"{many(near, 'warp') if near > 0 else 'more warps than were tried'} with {chains:g} to a thread"
        )
    yield f"90 % of that takes {', '.join(needs)}" if needs else f"16 rounds per turn: {ABSENT}"
    unrolled = free[free["variant"].str.endswith("-rounds64")]
    same = ["ilp", "block_size", "warps_per_sm"]
    pairs = unrolled.merge(rolled, on=same, suffixes=("", "_rolled"))
    if len(pairs):
        ratio = pairs["rate"] / pairs["rate_rolled"]
        yield f"all rounds unrolled instead of 16 at equal warps: {ratio.min():.2f} to {ratio.max():.2f} x"
    yield from caps(rows, rolled)


def bulk_copy(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """One warp's best with bulk copies, its knee, and ordinary loads."""
    lone = rows[rows["variant"].str.startswith("bulk") & (rows["warps_per_sm"] == 1)]
    loads = rows[rows["bytes_in_flight"].isna()]
    if lone.empty:
        yield f"one warp with bulk copies: {ABSENT}"
    else:
        lone = lone.assign(flight=in_flight(lone) / 1024)
        top = best(lone)
        theory = env["gpu"].get("dram_bytes_per_s_theoretical")
        share = f", {100 * top['throughput'] / theory:.1f} % of the theoretical rate" if theory else ""
        yield (
            f"one warp per SM ({occupancy(top)}) reads {speed(top)}{share}, with {top['flight']:g} KiB in "
            f"flight; 95 % of that takes {least(lone, 'flight', 0.95):g} KiB"
        )
    if loads.empty:
        yield f"ordinary loads: {ABSENT}"
    else:
        top = best(loads)
        less = len(lone) and lone["rate"].max() > top["rate"]
        yield (
            f"ordinary loads at best {speed(top)}, at {many(top['warps_per_sm'], 'warp')} per SM"
            + (": full occupancy is not needed" if less else "")
        )


def pointer_chase(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Each level's latency by two methods, near and far lines of the L2, and latency under load."""
    by = rows.drop_duplicates("variant").set_index("variant")
    for level in ("l1", "l2", "dram"):
        if {level, f"{level}-timed"} <= set(by.index):
            events, clock = by.loc[level, "cycles_per_pass"], by.loc[f"{level}-timed", "own_cycles_per_pass"]
            yield (
                f"{level.upper()} {events:.1f} cycles by events, {clock:.1f} by the clock around single "
                f"loads ({100 * (clock / events - 1):+.1f} %)"
            )
        else:
            yield f"{level.upper()} by two methods: {ABSENT}"
    lines = rows[rows["variant"].str.startswith("l2-line")]["own_cycles_per_pass"]
    if len(lines) > 1:
        gap, width = lines.sort_values().diff().max(), lines.max() - lines.min()
        groups = "in two groups, near and far" if gap > width / 2 else "not in two groups, near and far"
        words = f"{len(lines)} lines of the L2 {span(lines)}"
        yield words + (f", {groups} (widest gap {gap:.0f})" if len(lines) >= 8 else "")
    loaded = rows[rows["variant"].str.startswith("loaded")]
    if len(loaded) and "dram" in by.index:
        top = best(loaded)
        yield (
            f"at {speed(top)} of other reads {top['own_cycles_per_pass']:.0f}, "
            f"{top['own_cycles_per_pass'] / by.loc['dram', 'own_cycles_per_pass']:.1f} x the idle DRAM's"
        )
    else:
        yield f"under load: {ABSENT}"


def tensor_core(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best wgmma at a quarter of the warps or fewer, and the best mma.sync at any number."""
    wgmma = rows[rows["variant"].str.startswith("wgmma") & (rows["occupancy_theoretical"] <= 0.25)]
    mma = rows[rows["variant"].str.startswith("mma")]
    for part, words in ((wgmma, "at 25 % occupancy or less wgmma"), (mma, "at any occupancy mma.sync")):
        if part.empty:
            yield f"{words}: {ABSENT}"
            continue
        top = best(part)
        share = ""
        if top["percent_of_ceiling"] > 0:
            share = f" = {top['percent_of_ceiling']:.1f} % of the peak"
        yield (
            f"{words} reaches {speed(top)}, {top['per_cycle_per_sm']:,.0f} FLOP per cycle and SM{share} at "
            f"its {top['sm_clock_hz'] / 1e9:.2f} GHz, as `{top['variant']}` with "
            f"{many(top['warps_per_sm'], 'warp')} per SM ({occupancy(top)})"
            + (": full occupancy is not needed" if part is wgmma else "")
        )
    clock = rows["sm_clock_hz"] / 1e9
    if clock.min() < 0.97 * clock.max():
        yield f"the board's clock moved between {clock.min():.2f} and {clock.max():.2f} GHz"
