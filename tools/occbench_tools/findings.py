# SPDX-License-Identifier: Apache-2.0
"""occbench-findings DIR: what a folder of results says, a few short sentences of numbers per experiment.

A Markdown table, computed from cases.csv and env.json alone, with the pictures that tools/plot draws;
the README's gallery is this table. Exit 0 printed, 2 the words of the call, 4 a file could not be read.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from occbench_tools.analysis import (
    behind_routes,
    best,
    busy,
    cusp,
    has_cusp,
    in_flight,
    l1_kib,
    least,
    many,
    meetings,
    parted,
    per_joule,
    picks,
    reached,
    read_folder,
    routes,
    sawtooth,
    scaled,
    tooth,
    turnover,
    waited,
)  # fmt: skip
from occbench_tools.lines import complain, reason

ABSENT = "not in this run"
FAR_FROM_BALANCE = 64  # FMAs per 4-byte load from which on a kernel computes, whatever the GPU
NOTHING = 0.005  # a change below the precision of a case is none


def speed(row: pd.Series, unit: bool = True) -> str:
    """'4,418 GB/s', '65.8 TFLOP/s'"""
    return f"{row['rate']:,.{0 if row['rate'] >= 100 else 1}f}" + (f" {row['unit']}" if unit else "")


def warps_of(count: float, full: float) -> str:
    """'31 warps (49 % occupancy)', of an SM that holds `full`"""
    return f"{count:.0f} warps ({100 * count / full:.0f} % occupancy)"


def occupancy(row: pd.Series) -> str:
    """'12.5 % occupancy'"""
    return f"{100 * row['occupancy_theoretical']:.3g} % occupancy"


def span(values: pd.Series) -> str:
    """'189 to 190', or '209'"""
    low, high = f"{values.min():.0f}", f"{values.max():.0f}"
    return f"{low} to {high}" if low != high else low


def cost(after: float, before: float) -> str:
    """What a throughput that went from `before` to `after` says."""
    loss = 1 - after / before
    if abs(loss) < NOTHING:
        return "no cost"
    return f"costs {100 * loss:.1f} %" if loss > 0 else f"gains {-100 * loss:.1f} %"


# One function for each experiment: its clauses, from its valid rows. A clause whose rows are missing says so.


def block_size(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The kernel that the worst block size hurts most, and the one that it hurts least."""
    worst = [line.loc[line["percent"].idxmin()] for _, line in rows.groupby("variant")]
    worst.sort(key=lambda row: row["percent"])
    for row in worst[:1] + worst[1:][-1:]:
        yield (
            f"`{row['variant']}` keeps {row['percent']:.0f} % of its best at its worst size, "
            f"{row['block_size']:.0f} threads ({occupancy(row)})"
        )


def registers(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The step from 31 to 33 registers."""
    capped = rows[(rows["register_route"] == "maxnreg") & (rows["block_size"] == 512)]
    for kind, words in (("load", "loads"), ("fma", "an FMA chain")):
        line = capped[capped["variant"].str.startswith(kind)]
        before, after = (line[line["registers_per_thread"] == count] for count in (31, 33))
        if before.empty or after.empty:
            yield f"31 -> 33 registers, {words}: {ABSENT}"
            continue
        before, after = best(before), best(after)
        yield (
            f"31 -> 33 registers, {100 * before['occupancy_theoretical']:.3g} -> "
            f"{occupancy(after)} in blocks of 512: {cost(after['rate'], before['rate'])} in {words} "
            f"({speed(before, False)} -> {speed(after)})"
        )


def spilling(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best cap against none, where all values are used and where a quarter is."""
    hot = rows["variant"].str.contains("-hot16-")
    for part, words in ((rows[~hot], "all 64 values in use"), (rows[hot], "16 of 64 values in use")):
        free = part[part["register_route"] == "free"]
        if part.empty or free.empty:
            yield f"{words}: {ABSENT}"
            continue
        top, usual = best(part), best(free)
        yield (
            f"{words}: best at {top['registers_per_thread']:.0f} registers, {top['local_bytes']:.0f} B "
            f"spilled, {speed(top)}, {top['rate'] / usual['rate']:.2f} x uncapped "
            f"({usual['registers_per_thread']:.0f} registers)"
        )
        if top["local_bytes"] == 0 and len(spills := part[part["local_bytes"] > 0]):
            yield f"with any spill at most {best(spills)['rate'] / usual['rate']:.2f} x"


def shared_memory(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What is left of each kernel at the least occupancy."""
    for variant, line in rows.groupby("variant"):
        low = line.loc[line["occupancy_theoretical"].idxmin()]
        yield f"`{variant}` keeps {low['percent']:.0f} % of its best at {occupancy(low)} ({speed(low)})"


def tiled_matmul(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest form against the best of the textbook's."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    if len(text := rows[rows["variant"].str.startswith("textbook")]):
        row = best(text)
        yield (
            f"the textbook's best, `{row['variant']}`, has {speed(row)} at {occupancy(row)}, "
            f"{100 * row['rate'] / top['rate']:.0f} % of that"
        )


def transpose(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best rate with each conflict, and the warps that come near it."""
    for lanes, part in rows.groupby("bank_conflict"):
        top = best(part)
        words = f"{lanes:g} lanes on one bank" if lanes > 1 else "without bank conflicts"
        words += f": best {speed(top)} at {occupancy(top)} with {top['ilp']:g} elements per thread, "
        words += "90 % of it from "
        near = part[part["rate"] >= 0.9 * top["rate"]].groupby("ilp")["warps_per_sm"].min()
        yield words + ", ".join(
            f"{many(count, 'warp')} with {elements:g}" for elements, count in near.items()
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
    capped = rows[rows["register_route"] != "free"]
    for variant, line in capped.groupby("variant"):
        usual = free[free["ilp"] == line["ilp"].iloc[0]]
        if usual.empty:
            continue
        spilled, row = line["local_bytes"].max(), best(line)
        yield (
            f"`{variant}`{f', {spilled:.0f} B spilled' if spilled > 0 else ''}: "
            f"{cost(row['rate'], best(usual)['rate'])} ({row['registers_per_thread']:.0f} registers instead "
            f"of {best(usual)['registers_per_thread']:.0f})"
        )


def reduction(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best, the warps that each load in flight takes to come near it, and the blocks that do so best."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    for (width, ilp), part in rows.groupby(["bytes_per_access", "ilp"]):
        near = part[part["rate"] >= 0.9 * top["rate"]].groupby("block_size")["warps_per_sm"].min()
        words = f"{ilp:g} x {width:g} B in flight per thread: "
        if near.empty:
            words += f"at most {100 * best(part)['rate'] / top['rate']:.0f} % of that"
        else:
            words += "90 % of that from " + ", ".join(
                f"{many(count, 'warp')} in blocks of {threads:g}" for threads, count in near.items()
            )
        yield words


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


def same_occupancy(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What each route loses to the fastest with as large an L1, and what a large L1 is worth."""
    for kernel, part in sorted(routes(rows).groupby("kernel"), key=lambda group: group[0].startswith("L1")):
        behind = behind_routes(part)
        if behind.empty:
            continue
        worst = behind.loc[behind.groupby("route")["loss"].idxmax()].sort_values("loss", ascending=False)
        prices = [
            f"{row['route']} up to {100 * row['loss']:.1f} % slower ({occupancy(row)})"
            for _, row in worst.iterrows()
            if row["loss"] >= NOTHING
        ]
        words = f"`{kernel}`, routes at equal L1: {', '.join(prices) or 'all as fast'}"
        arms = part.groupby(["occupancy_theoretical", "route", "carveout_percent"])["throughput"].max()
        arms = arms.unstack()
        large, small = arms[arms.columns.min()], arms[arms.columns.max()]
        if arms.shape[1] > 1 and len(gain := (large / small).dropna()):
            worth = f"is worth {gain.min():.2f} to {gain.max():.2f} x"
            words += f"; a large L1 {worth if (gain - 1).abs().max() >= NOTHING else 'changes nothing'}"
        yield words


def carveout(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """From the smallest carve-out to the largest, at the same warps."""
    for (family, variant), line in rows.groupby(["family", "variant"]):
        line = line.sort_values("carveout_percent")
        low, high = line.iloc[0], line.iloc[-1]
        kib = low["working_set_bytes"] / 1024
        yield (
            f"{f'a sweep of {kib:g} KiB per block' if family == 'cache_reuse' else f'`{variant}`'}, "
            f"{low['carveout_percent']:.0f} -> {high['carveout_percent']:.0f} % carve-out: "
            f"{cost(high['rate'], low['rate'])} ({speed(low, False)} -> {speed(high)})"
        )


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


def shared_latency(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """A load's latency by two methods, the warps that fill the pipe, and what conflicts leave."""
    by = rows.drop_duplicates("variant").set_index("variant")
    if {"chain", "chain-timed"} <= set(by.index):
        events, clock = by.loc["chain", "cycles_per_pass"], by.loc["chain-timed", "own_cycles_per_pass"]
        yield f"a load takes {events:.1f} cycles by events, {clock:.1f} by the clock around single ones"
    reads = rows[rows["variant"].str.startswith("read-ilp")]
    for ilp, line in reads[reads["bank_conflict"] == 1].groupby("ilp"):
        if ilp in (1, 4):
            top, full = best(line), best(line, "warps_per_sm")
            words = (
                f"ILP {ilp:g}: at best {top['percent_of_ceiling']:.1f} % of the shared memory's rate, at "
                f"{many(top['warps_per_sm'], 'warp')} per SM (90 % of that from "
                f"{least(line, 'warps_per_sm', 0.9):g} on)"
            )
            if full["rate"] < 0.95 * top["rate"]:
                words += f", and {full['warps_per_sm']:g} {cost(full['rate'], top['rate'])}"
            yield words
    if len(reads) and (lanes := reads["bank_conflict"].max()) > 1:
        most = best(reads[reads["bank_conflict"] == lanes])
        left = most["percent_of_ceiling"]
        yield f"{lanes:g} lanes on one bank leave {left:.1f} % (1/{lanes:g} is {100 / lanes:.1f})"


def cache_reuse(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """The best residency of each working set, and what full occupancy costs against it."""
    rows = rows.assign(fill=rows["blocks_per_sm"] * rows["working_set_bytes"] / 1024 / l1_kib(rows, env))
    for _, line in rows.groupby(["working_set_bytes", "ilp"]):
        top, full = best(line), line.loc[line["warps_per_sm"].idxmax()]
        words = f"{top['working_set_bytes'] / 1024:g} KiB per block"
        words += f", ILP {top['ilp']:g}" if top["ilp"] > 1 else ""
        words += f": best {speed(top)} at {many(top['warps_per_sm'], 'warp')}"
        if full["warps_per_sm"] > top["warps_per_sm"]:
            words += f", at {full['warps_per_sm']:g} {cost(full['rate'], top['rate'])}"
        over = line.loc[line["fill"] > 1, "warps_per_sm"]
        yield words + (f" (past the L1 from {over.min():g} on)" if len(over) else "")


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


def barriers(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """A barrier's cycles, what uneven work waits, and the cliff of a barrier id known only at run time."""
    rows = meetings(rows)
    sync = rows[rows["variant"] == "sync-fma1"]
    if len(sync):
        sync = sync[sync["warps_per_sm"] == sync["warps_per_sm"].max()].sort_values("block_size")
        low, high = sync.iloc[0], sync.iloc[-1]
        yield (
            f"a barrier and one FMA: {low['cycles_per_round']:.0f} cycles in blocks of "
            f"{low['block_size']:.0f}, {high['cycles_per_round']:.0f} in blocks of {high['block_size']:.0f} "
            f"({high['warps_per_sm']:.0f} warps per SM)"
        )
    uneven = rows[(rows["variant"] == "exchange-uneven") & rows["ratio"].notna()]
    tops = [best(line, "ratio") for _, line in uneven.groupby("warps_per_sm")]
    if tops:
        waits = " and ".join(
            f"{100 * (top['ratio'] - 1):.0f} % at {top['warps_per_sm']:.0f} warps per SM "
            f"(blocks of {top['block_size']:.0f})"
            for top in tops
        )
        hides = ": more warps hide part of it, not all" if 1.01 < tops[-1]["ratio"] < tops[0]["ratio"] else ""
        yield f"with uneven work barriers cost up to {waits}{hides}"
    fixed, named = (rows[rows["variant"] == name] for name in ("exchange", "named-runtime"))
    sizes = set(fixed["block_size"]) & set(named["block_size"])
    if not sizes:
        yield f"the cliff of a barrier id known only at run time: {ABSENT}"
        return
    size = min(sizes)
    before, after = (best(part[part["block_size"] == size], "blocks_per_sm") for part in (fixed, named))
    yield (
        f"a barrier id known only at run time: {before['blocks_per_sm']:.0f} -> {after['blocks_per_sm']:.0f} "
        f"blocks of {size:.0f} threads per SM, {before['rate'] / after['rate']:.1f} x slower"
    )
    equal = fixed.merge(named, on=["block_size", "blocks_per_sm"], suffixes=("", "_named"))
    if len(equal):
        row = equal.iloc[0]
        yield (
            f"at equal residency, {row['blocks_per_sm']:.0f} of {row['block_size']:.0f}, its code alone "
            f"{cost(row['rate_named'], row['rate'])}"
        )


def divergence(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """One lane against sixteen, whole warps and blocks, nesting, and a boundary."""
    rows = parted(rows)
    one, half = (
        rows[rows["variant"] == f"split-lane-{lanes}"].set_index("warps_per_sm")["ratio"].dropna()
        for lanes in (1, 16)
    )
    both = sorted(set(one.index) & set(half.index))
    if both:
        few, most = both[0], both[-1]
        yield (
            f"1 lane of 32 apart takes {one[most]:.2f} x the time, 16 take {half[most]:.2f} x (ratio "
            f"{one[most] / half[most]:.3f}) at {most:g} warps per SM"
        )
        if few < most:
            hidden = ": more warps do not hide it" if one[most] > 0.95 * one[few] else ""
            yield f"at {few:g} warps {one[few]:.2f} x and {half[few]:.2f} x{hidden}"
    else:
        yield f"1 lane against 16: {ABSENT}"
    whole = rows[rows["variant"].isin(["branch-on-warp", "branch-on-block"]) & rows["ratio"].notna()]
    if len(whole):
        row = best(whole, "ratio")
        side = "below" if row["ratio"] < 1.01 else "not below"
        yield (
            f"whole warps or blocks that part ways: at worst {100 * (row['ratio'] - 1):+.1f} % time "
            f"(`{row['variant']}`, {row['warps_per_sm']:g} warps per SM), {side} 1 %"
        )
    else:
        yield f"whole warps: {ABSENT}"
    deep = rows[rows["variant"].str.startswith("nested") & rows["ratio"].notna()]
    if len(deep):
        top = best(deep, "ratio")
        yield f"{top['variant'].rsplit('-')[-1]} nested branches take {top['ratio']:.1f} x"
    edge = rows[(rows["variant"] == "image-62-rows-76-columns") & rows["loss"].notna()]
    if len(edge):
        row = best(edge, "warps_per_sm")
        yield (
            f"in a 62 x 76 picture {100 * row['divergent_warps']:.1f} % of the warps diverge, and "
            f"{100 * row['loss']:.1f} % of the useful rate is lost where {100 * row['outside']:.1f} % of the "
            "lanes are outside"
        )


def waves(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """How far the time is from whole waves, and what a block's turnover takes."""
    grids, turns = sawtooth(rows), turnover(rows)
    if grids.empty:
        yield f"grids of partial waves: {ABSENT}"
    for blocks, part in grids.groupby("blocks_per_sm"):
        if blocks == 1:
            worst = part.loc[part["off"].abs().idxmax()]
            yield (
                f"1 block per SM: the time is one wave's x the waves rounded up, at worst "
                f"{100 * worst['off']:+.1f} % ({worst['waves']:.2f} waves)"
            )
            alone = part[part["grid_size"] == 1]
            if len(alone):
                yield f"one block alone takes {100 * (1 + alone['off'].iloc[0]):.1f} % of a wave's time"
        elif len(teeth := 100 * tooth(part)):
            yield (
                f"{blocks:g} blocks per SM: one block beyond whole waves costs only {teeth.min():.0f} to "
                f"{teeth.max():.0f} % of a wave, for it runs alone"
            )
    sure = turns[turns["sure"]].sort_values("block_us")
    if sure.empty:
        yield f"turnover: {ABSENT if turns.empty else 'too few to tell'}"
    for blocks, part in sure.groupby("blocks_per_sm"):
        row = part.iloc[0]
        words = "the turnover from block to block takes" if blocks == 1 else "a wave adds"
        words += (
            f" {row['cycles']:.0f} cycles (95 % interval {row['low']:.0f} to {row['high']:.0f}) at "
            f"{many(blocks, 'block')} per SM of {row['block_us']:g} us"
        )
        if blocks > 1 and len(part) > 1:
            last = part.iloc[-1]
            words += f", {last['cycles']:.0f} of {last['block_us']:g} us: the other blocks work meanwhile"
        yield words


def clusters(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Own shared memory against a neighbour's, its latency, and idle SMs."""
    lone = rows[rows["blocks_per_sm"] == 1]
    own, far = (lone[lone["variant"] == name] for name in ("smem-read", "dsmem-read"))
    far = far[far["cluster_size"] > 1].sort_values("cluster_size")
    if own.empty or far.empty:
        yield f"a neighbour's shared memory: {ABSENT}"
    else:
        mine = best(own)
        shares = ", ".join(
            f"{speed(row, False)} in clusters of {row['cluster_size']:.0f} "
            f"({100 * row['rate'] / mine['rate']:.0f} %)"
            for row in (far.iloc[0], far.iloc[-1])
        )
        yield f"own shared memory {speed(mine)}, a neighbour's {shares}"
        each = far["rate"] / far["grid_size"]  # one block per SM: of the SMs that take part
        if len(far) > 2:
            rest = each.iloc[1:]
            words = "it does not fall further" if rest.max() / rest.min() < 1.05 else "it falls"
            sizes = far["cluster_size"].iloc[1:]
            yield (
                f"per SM that works {each.iloc[0]:.1f}, then {rest.min():.1f} to {rest.max():.1f} from "
                f"{sizes.iloc[0]:.0f} to {sizes.iloc[-1]:.0f} blocks: {words}"
            )
    chase = rows[(rows["variant"] == "dsmem-latency") & (rows["cluster_size"] > 1)]
    if len(chase):
        loads = chase["operations_per_launch"] / chase["grid_size"] / chase["iterations"]
        cycles = chase["own_cycles_per_pass"] / loads
        events = chase["cycles_per_pass"] / loads
        yield (
            f"a dependent load of it takes {span(cycles)} cycles in the mean of the SMs, {span(events)} by "
            "events, which wait for the slowest"
        )
    idle = rows[(rows["idle_sms"] > 0) & (rows["cluster_size"] > 1) & (rows["blocks_per_sm"] == 1)]
    if idle.empty:
        yield "no SM idle at any size"
        return
    row = best(idle, "idle_sms")
    words = f"clusters of {row['cluster_size']:.0f} leave {many(row['idle_sms'], 'SM')} idle"
    fma = rows[rows["family"] == "fma_chain"].groupby("cluster_size")["rate"].max()
    if {1, row["cluster_size"]} <= set(fma.index):
        words += f" (an FMA chain: {cost(fma[row['cluster_size']], fma[1])})"
    yield words


def launch_bounds_roulette(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best dial of each kernel against the compiler's own choice."""
    for kernel, part in rows.groupby(rows["variant"].str.split("-").str[0]):
        free = part[part["register_route"] == "free"]
        if free.empty:
            yield f"`{kernel}` without a dial: {ABSENT}"
            continue
        usual, top = best(free), best(part)
        gain = top["rate"] / usual["rate"] - 1
        words = "no dial is faster than the default"
        if gain >= NOTHING:
            words = (
                f"best {top['variant'].split('-', 1)[1]} ({top['registers_per_thread']:.0f} registers, "
                f"{occupancy(top)}), {100 * gain:+.1f} % on the default"
            )
        yield (
            f"`{kernel}`: {words} ({usual['registers_per_thread']:.0f} registers, {occupancy(usual)}, "
            f"{speed(usual)})"
        )


def block_size_pick(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """For how many kernels the API's block size is good, and where it is worst."""
    found = picks(rows)
    if found.empty:
        yield f"the API's pick: {ABSENT}"
        return
    near, nearly = ((found["loss"] <= limit).sum() for limit in (0.01, 0.05))
    yield (
        f"the API's block size is within 1 % of the best for {near} of {len(found)} kernels, within 5 % for "
        f"{nearly}"
    )
    worst = best(found, "loss")
    if worst["loss"] > 0.01:
        yield (
            f"it loses most, {100 * worst['loss']:.1f} %, in {worst['family']} `{worst['variant']}`: "
            f"{worst['pick']:.0f} threads where {worst['best']:.0f} are best"
        )


def energy(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """The occupancy that takes the least energy beside the fastest, and the rate that the board sustains."""
    rows = rows.assign(per_joule=per_joule(rows), busy=busy(rows)).dropna(subset="per_joule")
    if rows.empty:
        yield f"energy: {ABSENT}"
        return
    idle = waited(rows, env)
    if idle.any():
        low, high = 100 * rows["busy"][idle].min(), 100 * rows["busy"][idle].max()
        yield (
            f"no figure: in {idle.sum()} of {len(rows)} cases the device worked only {low:.0f} to "
            f"{high:.0f} % of the time in which its energy was counted, so that the joules are mostly those "
            "of idling"
        )
    for variant, line in rows[~idle].groupby("variant"):
        fast, frugal = best(line), best(line, "per_joule")
        words = (
            f"`{variant}`: {speed(fast)} in single launches, {speed(sustained(fast))} back to back at "
            f"{fast['power_w']:.0f} W ({occupancy(fast)})"
        )
        if len(line) > 1 and fast.name == frugal.name:
            words += ", fastest and of least energy"
        elif len(line) > 1:
            words += (
                f", fastest; least energy at {occupancy(frugal)}, {frugal['power_w']:.0f} W: "
                f"{100 * (1 - fast['per_joule'] / frugal['per_joule']):.1f} % less per operation"
            )
        yield words


def sustained(row: pd.Series) -> pd.Series:
    """The row at the rate from launch to launch while energy was counted."""
    return row.copy().mask(row.index == "rate", row["rate"] * row["busy"])


FINDINGS = (
    latency_hiding, intensity, same_occupancy, block_size, block_size_pick, registers, spilling,
    launch_bounds_roulette, shared_memory, tiled_matmul, transpose, nbody, reduction, black_scholes, carveout,
    cache_reuse, bulk_copy, pointer_chase, shared_latency, tensor_core, barriers, divergence, waves, clusters,
    energy,
)  # fmt: skip


class ModelError(Exception):
    """Findings are asked of a run in which nothing was measured."""


def sentences(clauses: Iterator[str]) -> str:
    """Each clause as a sentence."""
    return " ".join(f"{words[0].upper()}{words[1:]}." for words in list(clauses) or [ABSENT])


def findings(folder: Path) -> Iterator[tuple[str, str]]:
    """Each experiment and what its rows say, empty where it has none. Raises as read_folder does.

    Nor does it speak of a model's run, where nothing was found: ModelError.
    """
    cases, env = read_folder(folder)
    if env["source"] == "model":
        raise ModelError(f"{folder}: a run of the {env['gpu']['name']}: nothing in it was measured or found")
    for finding in FINDINGS:
        rows = cases[cases["experiment"] == finding.__name__]
        yield finding.__name__, sentences(finding(scaled(rows), env)) if len(rows) else ""


def table(folder: Path, link: str) -> str:
    """The Markdown table of one folder, whose pictures are found at `link`."""
    lines = ["| experiment | picture | what this run says |", "|---|---|---|"]
    for name, words in findings(folder):
        picture = f"![{name}]({link}/{name}.png)" if words else ""
        lines.append(f"| {name} | {picture} | {words or sentences(iter(()))} |")
    return "\n".join(lines) + "\n"


def plain(folder: Path) -> str:
    """The same for a terminal: a paragraph for each experiment that has rows."""
    return "\n".join(
        f"{name}\n{textwrap.indent(textwrap.fill(words.replace('`', ''), 112), '  ')}\n"
        for name, words in findings(folder)
        if words
    )


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="occbench-findings", description="Say in a table what each experiment of a results folder found."
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="holds cases.csv, env.json and the pictures")
    parser.add_argument("--plain", action="store_true", help="paragraphs for a terminal, not Markdown")
    options = parser.parse_args(arguments)
    folder = options.folder
    try:
        print(plain(folder) if options.plain else table(folder, folder.as_posix()), end="")
    except ModelError as error:
        complain("occbench-findings", error)
        return 2
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain("occbench-findings", reason(folder, error))
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
