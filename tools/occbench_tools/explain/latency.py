# SPDX-License-Identifier: Apache-2.0
"""Sentences on what hides latency: warps, work in flight within a warp, and copies that run ahead of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, cusp, has_cusp, in_flight, is_curve, least, many, reached
from occbench_tools.curves import what_has_more
from occbench_tools.explain.phrases import (
    ABSENT,
    kernel,
    listed,
    needs,
    occupancy,
    reach,
    span,
    speed,
    warps_of,
)

FAR_FROM_BALANCE = 64  # FMAs per 4-byte load from which on a kernel computes, whatever the GPU


def latency_hiding(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The least warps that come near the best read and FMA rates, by work in flight per thread."""
    full = (rows["warps_per_sm"] / rows["occupancy_theoretical"]).max()
    reads = rows[rows["variant"].str.startswith("read-f32-")]
    chains = rows[rows["variant"].str.startswith("two-operand")]
    if reads.empty:
        yield f"reads: {ABSENT}"
    else:
        top = best(reads)
        found = needs(reads, ["variant"], top["rate"])
        if len(most := found[found["variant"] == "read-f32-16B-ilp4"]):
            row = most.iloc[0]
            yield (
                f"reads reach 90 % of their best with {warps_of(row['warps'], full)} if each thread has "
                "4 x 16 B in flight"
                if row["warps"] > 0
                else f"4 x 16 B in flight per thread: {reach(row)}"
            )
        if len(one := found[found["variant"] == "read-f32-4B-ilp1"]):
            row = one.iloc[0]
            yield (
                f"with one 4-byte load in flight per thread they take {warps_of(row['warps'], full)}"
                if row["warps"] > 0
                else f"with one 4-byte load in flight per thread, {full:.0f} warps reach "
                f"{100 * row['share']:.0f} % of the best read"
            )
    if chains.empty:
        yield f"FMA chains: {ABSENT}"
        return
    top = best(chains)
    found = needs(chains, ["ilp"], top["rate"])
    if len(few := found[found["warps"] > 0]):
        ends = [few.loc[few["warps"].idxmin()], few.iloc[0]]
        words = [f"{many(row['warps'], 'warp')} at ILP {row['ilp']:g}" for row in ends[: len(few)]]
        yield f"FMA chains reach 90 % of {speed(top)} with {listed(words)}"
    if len(reads):
        top = best(reads)
        yield f"the best read rate is {speed(top)}, by {kernel(top['variant'])} at {occupancy(top)}"


def intensity(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """Volkov's cusp: where most warps are needed; and from where on a kernel that computes is flat."""
    needed = cusp(rows)
    if needed.empty:
        yield f"share of the roof: {ABSENT}"
        return
    others = []
    for ilp, line in reversed(list(needed.groupby("ilp"))):
        line = line.sort_values("fma_per_load")
        first, peak, last = line.iloc[0], best(line, "warps"), line.iloc[-1]
        loads, share = f"{many(ilp, 'load')} in flight", f"{line['share'].iloc[0]:g} % of the roof"
        if not is_curve(line["fma_per_load"]):
            counts = f"{len(line)} numbers of FMAs per load are too few to see a cusp"
            words = [f"with {loads}, {counts}{what_has_more(env)}"]
        elif has_cusp(line):
            words = [
                f"most warps are needed at {peak['fma_per_load']:g} FMAs per load: {peak['warps']:.0f} for "
                f"{share}, {first['warps']:.0f} at {first['fma_per_load']:g} and {last['warps']:.0f} at "
                f"{last['fma_per_load']:g} ({loads})",
                f"with {loads} and {peak['fma_per_load']:g} FMAs per load no number of warps passes "
                f"{peak['best']:.0f} % of the roof",
            ]
        else:
            words = [
                f"no cusp with {loads}: {share} takes {many(round(first['warps']), 'warp')} at "
                f"{many(first['fma_per_load'], 'FMA')} per load, {last['warps']:.0f} at "
                f"{last['fma_per_load']:g}"
            ]
        if ilp == needed["ilp"].max():
            yield from words
        else:
            others += words
    line = rows[(rows["ilp"] == needed["ilp"].max()) & (rows["fma_per_load"] >= FAR_FROM_BALANCE)]
    line = line[line["fma_per_load"] == line["fma_per_load"].max()]
    if is_curve(line["warps_per_sm"]):
        full = (line["warps_per_sm"] / line["occupancy_theoretical"]).max()
        flat = reached(line, "warps_per_sm", "throughput", 0.95 * line["throughput"].max())
        agrees = "as" if flat <= full / 2 else "later than"
        yield (
            f"with {line['fma_per_load'].iloc[0]:g} FMAs per load 95 % of the best takes "
            f"{warps_of(flat, full)}, {agrees} the course says (25-50 %)"
        )
    yield from others


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
        yield f"one warp per SM with bulk copies reads {speed(top)}{share} ({occupancy(top)})"
    if loads.empty:
        yield f"ordinary loads: {ABSENT}"
    elif is_curve(loads["warps_per_sm"]):
        top = best(loads)
        yield f"ordinary loads reach {speed(top)} at best, with {many(top['warps_per_sm'], 'warp')} per SM"
    if len(lone) and is_curve(lone["flight"]):
        yield (
            f"95 % of one warp's best takes {least(lone, 'flight', 0.95):g} KiB in flight per SM; the best "
            f"has {best(lone)['flight']:g} KiB"
        )


def pointer_chase(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Each level's latency, DRAM's under load, near and far lines of the L2, and the two methods."""
    by = rows.drop_duplicates("variant").set_index("variant")
    levels = [level for level in ("l1", "l2", "dram") if level in by.index]
    if levels:
        cycles = [f"{by.loc[level, 'cycles_per_pass']:.0f} cycles in {level.upper()}" for level in levels]
        yield f"a dependent load takes {', '.join(cycles)}"
    else:
        yield f"the levels' latencies: {ABSENT}"
    loaded = rows[rows["variant"].str.startswith("loaded")]
    if loaded["own_cycles_per_pass"].notna().any() and by["own_cycles_per_pass"].get("dram", 0) > 0:
        top = best(loaded)
        ratio = top["own_cycles_per_pass"] / by.loc["dram", "own_cycles_per_pass"]
        yield (
            f"under {speed(top)} of other reads a load takes {top['own_cycles_per_pass']:,.0f} cycles, "
            f"{ratio:.1f} x an idle DRAM's"
        )
    else:
        yield f"latency under load: {ABSENT}"
    lines = rows[rows["variant"].str.startswith("l2-line")]["own_cycles_per_pass"].dropna()
    if len(lines) >= 8:
        gap, width = lines.sort_values().diff().max(), lines.max() - lines.min()
        groups = "two groups, near and far" if gap > width / 2 else "no two groups"
        yield f"{len(lines)} lines of the L2 take {span(lines)} cycles: {groups} (widest gap {gap:.0f})"
    for level in levels:
        clock = by["own_cycles_per_pass"].get(f"{level}-timed", 0)
        if clock > 0:
            events = by.loc[level, "cycles_per_pass"]
            yield (
                f"{level.upper()}: {events:.1f} cycles by events, {clock:.1f} by the clock around single "
                f"loads ({100 * (clock / events - 1):+.1f} %)"
            )


def tensor_core(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best wgmma at a quarter of the warps or fewer, and the best mma.sync at any number."""
    wgmma = rows[rows["variant"].str.startswith("wgmma") & (rows["occupancy_theoretical"] <= 0.25)]
    mma = rows[rows["variant"].str.startswith("mma")]
    details = []
    for part, words in ((wgmma, "wgmma"), (mma, "mma.sync")):
        if part.empty:
            yield f"tensor cores by {words}: {ABSENT}"
            continue
        top = best(part)
        share = ""
        if top["percent_of_ceiling"] > 0:
            share = (
                f", {top['percent_of_ceiling']:.1f} % of the peak at its {top['sm_clock_hz'] / 1e9:.2f} GHz"
            )
        yield f"tensor cores reach {speed(top)} by {words} at {occupancy(top)}{share}"
        details.append(
            f"the fastest {words} is `{top['variant']}` with {many(top['warps_per_sm'], 'warp')} per SM: "
            f"{top['per_cycle_per_sm']:,.0f} FLOP per cycle and SM"
        )
    clock = rows["sm_clock_hz"] / 1e9
    if clock.min() < 0.97 * clock.max():
        yield f"the SM clock moved between {clock.min():.2f} and {clock.max():.2f} GHz"
    yield from details
