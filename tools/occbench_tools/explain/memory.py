# SPDX-License-Identifier: Apache-2.0
"""Sentences on memory: rows and tiles of matrices, the L1, shared memory, clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, is_curve, l1_kib, least, many
from occbench_tools.explain.phrases import (
    ABSENT,
    change,
    cost,
    each_need,
    fastest,
    gains,
    instead,
    kernel,
    listed,
    needs,
    number_in,
    occupancy,
    reach,
    span,
    speed,
    suffices,
    times,
)


def form_of_matmul(variant: str) -> str:
    """'8 x 8 results per thread', 'the textbook's 32 x 32 tile'; others by their name."""
    if found := re.fullmatch(r"register-(\d+x\d+)", variant):
        return f"{found[1].replace('x', ' x ')} results per thread"
    if found := re.fullmatch(r"textbook-tile(\d+)", variant):
        return f"the textbook's {found[1]} x {found[1]} tile"
    return f"`{variant}`"


def tiled_matmul(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest form against the best of the textbook's."""
    top = best(rows)
    yield fastest(top, form_of_matmul(top["variant"]))
    if len(text := rows[rows["variant"].str.startswith("textbook")]):
        row = best(text)
        yield (
            f"{form_of_matmul(row['variant'])} reaches {speed(row)} at {occupancy(row)}: "
            f"{100 * row['rate'] / top['rate']:.0f} % of that"
        )


def transpose(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What each conflict leaves of the best rate, and the warps that come near it without one."""
    tops = {lanes: best(part) for lanes, part in rows.groupby("bank_conflict")}
    if not tops:
        yield f"bank conflicts: {ABSENT}"
        return
    least_lanes = min(tops)
    free = tops.pop(least_lanes)
    how = "without bank conflicts" if least_lanes <= 1 else f"with {least_lanes:g} lanes on one bank"
    for lanes, top in reversed(tops.items()):
        yield (
            f"{lanes:g} lanes on one bank leave {100 * top['rate'] / free['rate']:.0f} % of the best rate, "
            f"{speed(top)} of {speed(free)}"
        )
    part = rows[rows["bank_conflict"] == least_lanes]
    if len(found := needs(part, ["ilp"], free["rate"]).dropna()):
        warps = [f"{row['warps']:g} with {row['ilp']:g} elements per thread" for _, row in found.iterrows()]
        yield f"{how}, 90 % of the best takes this many warps per SM: {listed(warps)}"
    yield f"{how} the best is {speed(free)} at {occupancy(free)}"


def reduction(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The warps that the loads in flight take to come near the best, the fastest, and the blocks."""
    top = best(rows)

    def loads(row: pd.Series) -> str:
        return f"{row['ilp']:g} x {row['bytes_per_access']:g} B in flight per thread"

    def lines(part: pd.DataFrame) -> pd.DataFrame:
        return needs(part, ["bytes_per_access", "ilp"], top["rate"])

    usual = rows[rows["block_size"] == 256]
    found = lines(usual)
    if words := suffices(found, loads, lambda row: f"{row['ilp']:g} x {row['bytes_per_access']:g} B"):
        yield words
    yield fastest(top, f"{loads(top)} in blocks of {top['block_size']:g}")
    for block, part in rows[rows["block_size"] != 256].groupby("block_size"):
        both = part.merge(usual, on=["bytes_per_access", "ilp", "warps_per_sm"], suffixes=("", "_usual"))
        if len(both):
            ratios = times(both["rate"] / both["rate_usual"])
            yield f"blocks of {block:g} instead of 256: {ratios} at equal warps"
    yield from each_need(found, loads)


def gemv(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `reduction`, and what the registers of the loads in flight leave of the warps."""
    yield from reduction(rows, env)
    fit = rows.groupby(["bytes_per_access", "ilp"])[["warps_per_sm", "registers_per_thread"]].max()
    for (width, ilp), line in fit[fit["warps_per_sm"] < fit["warps_per_sm"].max()].iterrows():
        yield (
            f"{ilp:g} x {width:g} B take {line['registers_per_thread']:.0f} registers per thread: at most "
            f"{many(line['warps_per_sm'], 'warp')} fit"
        )


def held(row: pd.Series) -> str:
    """'rows of 1,024 in one warp', 'rows of 1,024 in a block of 256'"""
    who = "one warp" if row["team"] == "warp" else f"a block of {row['block_size']:g}"
    return f"rows of {row['tile_width']:,.0f} in {who}"


def softmax(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Warps' rows against blocks' of one length, the fastest, narrow accesses, the caps, all lengths."""
    top = best(rows)
    rows = rows.assign(team=rows["variant"].str.split("-").str[0])
    rows = rows[(rows["team"] != "warp") | (rows["block_size"] == 128)]  # a warp's row knows no block
    free = rows[rows["register_route"] == "free"]
    wide = free[free["bytes_per_access"] == 16]
    found = needs(wide, ["team", "tile_width", "block_size"], top["rate"])
    both = [length for length, part in wide.groupby("tile_width") if part["team"].nunique() > 1]
    alike = found[found["tile_width"].isin(both)].sort_values(["tile_width", "team", "block_size"])
    own, others = (alike[(alike["team"] == "warp") == is_warp] for is_warp in (True, False))
    if len(own) and len(others) and own["warps"].iloc[0] > 0:
        few, many_ = own.iloc[0], others.iloc[-1]
        yield (
            f"{held(few)} reach 90 % of the best with {many(few['warps'], 'warp')} per SM; in a block of "
            f"{many_['block_size']:g} threads {'they need ' if many_['warps'] > 0 else ''}{reach(many_)}"
        )
    for (length, threads), line in wide[wide["team"] != "warp"].groupby(["tile_width", "block_size"]):
        if words := gains(line, wide[(wide["team"] == "warp") & (wide["tile_width"] == length)]):
            yield f"rows of {length:,.0f} in a block of {threads:g} instead of one warp: {words}"
    yield fastest(top, held(top.to_frame().T.assign(team=top["variant"].split("-")[0]).iloc[0]))
    narrow = free[free["bytes_per_access"] == 4]
    pairs = narrow.merge(
        wide, on=["team", "tile_width", "block_size", "warps_per_sm"], suffixes=("", "_wide")
    )
    if len(pairs):
        yield f"accesses of 4 B instead of 16: {times(pairs['rate'] / pairs['rate_wide'])} at equal warps"
    for variant, line in rows[rows["register_route"] != "free"].groupby("variant"):
        usual, capped = free[free["variant"] == variant.rpartition("-maxnreg")[0]], best(line)
        if len(usual):
            most, before = line["warps_per_sm"].max(), usual["warps_per_sm"].max()
            fit = f", {many(most, 'warp')} fit instead of {before:g}" if most != before else ""
            ratio = change(capped["rate"], best(usual)["rate"])
            yield f"{held(capped)}, {instead(line, usual)}: {ratio} at best{fit}"
    yield from each_need(found, held)


def layer_norm(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `softmax`."""
    yield from softmax(rows, env)


def scan(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest, what elements per thread and shuffles are worth at equal warps, blocks, the cap."""
    top = best(rows)
    rows = rows.assign(form=rows["variant"].str.replace(r"-block\d+", "", regex=True))
    free = rows[rows["register_route"] == "free"]
    usual = free[free["block_size"] == 256]
    way = "a barrier a step" if top["variant"].startswith("kogge") else "shuffles"
    elements = number_in(r"elements(\d+)", top["variant"])
    words = f"{many(elements, 'element')} per thread with {way}" if elements else f"`{top['variant']}`"
    yield fastest(top, f"{words} in blocks of {top['block_size']:g}")
    steps, one, most = (
        usual[usual["form"] == form]
        for form in ("kogge_stone-elements1", "shuffles-elements1", "shuffles-elements8")
    )
    if words := gains(most, one):
        yield f"8 elements per thread instead of 1: {words}"
    if words := gains(one, steps):
        yield f"shuffles instead of a barrier a step: {words}"
    for block, others in free[free["block_size"] != 256].groupby("block_size"):
        pairs = others.merge(usual, on=["form", "warps_per_sm"], suffixes=("", "_usual"))
        if len(pairs):
            ratios = times(pairs["rate"] / pairs["rate_usual"])
            yield f"blocks of {block:,g} instead of 256: {ratios} at equal warps"
    for variant, line in rows[rows["register_route"] != "free"].groupby("variant"):
        uncapped = free[free["variant"] == variant.rpartition("-maxnreg")[0]]
        if words := gains(line, uncapped):
            yield f"{instead(line, uncapped)}: {words}"
    yield from each_need(needs(usual, ["form"], top["rate"]), lambda row: f"`{row['form']}` in blocks of 256")


def convolution(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What outputs per thread are worth to each filter at equal warps, its best, and register caps."""
    rows = rows.assign(radius=rows["variant"].str.extract(r"^radius(\d)", expand=False).astype(float))
    tops, caps = [], []
    for radius, part in reversed(list(rows.groupby("radius"))):
        name, top = f"{1 + 2 * radius:g} x {1 + 2 * radius:g}", best(part)
        tops.append(f"{name} filter: {fastest(top, many(top['ilp'], 'output') + ' per thread')}")
        free = part[(part["register_route"] == "free") & (part["block_size"] == 128)]
        most = free["ilp"].max()
        if most > 1 and (words := gains(free[free["ilp"] == most], free[free["ilp"] == 1])):
            yield f"{name} filter with {most:g} outputs per thread instead of 1: {words}"
        for _, line in part[part["register_route"] != "free"].groupby("variant"):
            usual = free[free["ilp"] == line["ilp"].iloc[0]]
            if words := gains(line, usual):
                caps.append(f"{name} filter, {instead(line, usual)}: {words}")
    yield from tops + caps


def carveout(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """From the smallest carve-out to the largest, at the same warps; the kernel that loses most first."""
    found = []
    for (family, variant), line in rows.groupby(["family", "variant"]):
        line = line.sort_values("carveout_percent")
        low, high = line.iloc[0], line.iloc[-1]
        kib = low["working_set_bytes"] / 1024
        what = f"sweeps of {kib:g} KiB per block" if family == "cache_reuse" else kernel(variant)
        words = (
            f"{low['carveout_percent']:.0f} to {high['carveout_percent']:.0f} % carve-out "
            f"{cost(high['rate'], low['rate'])} for {what}: {speed(low, False)} to {speed(high)}"
        )
        found.append((high["rate"] / low["rate"], words))
    yield from (words for _, words in sorted(found))


def cache_reuse(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """The best residency of each working set, and what full occupancy costs against it; the dearest first."""
    rows = rows.assign(fill=rows["blocks_per_sm"] * rows["working_set_bytes"] / 1024 / l1_kib(rows, env))
    found = []
    for _, line in rows.groupby(["working_set_bytes", "ilp"]):
        top, full = best(line), line.loc[line["warps_per_sm"].idxmax()]
        words = f"{top['working_set_bytes'] / 1024:g} KiB per block"
        words += f" at ILP {top['ilp']:g}" if top["ilp"] > 1 else ""
        words += f" is fastest with {many(top['warps_per_sm'], 'warp')}, {speed(top)}"
        if full["warps_per_sm"] > top["warps_per_sm"]:
            words += f"; {full['warps_per_sm']:g} {cost(full['rate'], top['rate']).replace('costs', 'cost')}"
        over = line.loc[line["fill"] > 1, "warps_per_sm"]
        words += f" (past the L1 from {over.min():g} warps)" if len(over) else ""
        found.append((full["rate"] / top["rate"], words))
    yield from (words for _, words in sorted(found))


def shared_latency(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The warps that fill the pipe, what conflicts leave, and a load's latency by two methods."""
    reads = rows[rows["variant"].str.startswith("read-ilp")]
    plain = reads[reads["bank_conflict"] == 1]
    near = [
        (f"{least(line, 'warps_per_sm', 0.9):g} warps at ILP {ilp:g}", line, ilp)
        for ilp, line in plain.groupby("ilp")
        if ilp in (1, 4) and is_curve(line["warps_per_sm"])
    ]
    if near:
        warps = listed([words for words, _, _ in near])
        yield f"reads of shared memory reach 90 % of their best with {warps}"
    lanes = reads["bank_conflict"].max()
    if lanes > 1:
        left = best(reads[reads["bank_conflict"] == lanes])["percent_of_ceiling"]
        yield (
            f"{lanes:g} lanes on one bank leave {left:.1f} % of the shared memory's rate; 1/{lanes:g} is "
            f"{100 / lanes:.1f}"
        )
    for _, line, ilp in near:
        top, full = best(line), best(line, "warps_per_sm")
        if full["rate"] < 0.95 * top["rate"]:
            change_ = cost(full["rate"], top["rate"]).replace("costs", "cost")
            yield f"at ILP {ilp:g} {full['warps_per_sm']:g} warps {change_} against {top['warps_per_sm']:g}"
    by = rows.drop_duplicates("variant").set_index("variant")
    if {"chain", "chain-timed"} <= set(by.index):
        events, clock = by.loc["chain", "cycles_per_pass"], by.loc["chain-timed", "own_cycles_per_pass"]
        timed = f", {clock:.1f} by the clock around single ones" if clock > 0 else ""
        yield f"a load takes {events:.1f} cycles by events{timed}"
    for _, line, ilp in near:
        top = best(line)
        yield f"at ILP {ilp:g} the best is {top['percent_of_ceiling']:.1f} % of the shared memory's rate"


def clusters(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Own shared memory against a neighbour's, its latency, and idle SMs."""
    lone = rows[rows["blocks_per_sm"] == 1]
    own, far = (lone[lone["variant"] == name] for name in ("smem-read", "dsmem-read"))
    far = far[far["cluster_size"] > 1].sort_values("cluster_size")
    if own.empty or far.empty:
        yield f"a neighbour's shared memory: {ABSENT}"
    else:
        mine, near = best(own), far.iloc[0]
        yield (
            f"a neighbour's shared memory reads at {100 * near['rate'] / mine['rate']:.0f} % of the block's "
            f"own rate: {speed(near, False)} of {speed(mine)} in clusters of {near['cluster_size']:.0f}"
        )
    yield idle_sms(rows)
    chase = rows[(rows["variant"] == "dsmem-latency") & (rows["cluster_size"] > 1)]
    if len(chase):
        loads = chase["operations_per_launch"] / chase["grid_size"] / chase["iterations"]
        cycles, events = (chase[column] / loads for column in ("own_cycles_per_pass", "cycles_per_pass"))
        yield (
            f"a dependent load of a neighbour's takes {span(cycles)} cycles in the mean of the SMs, "
            f"{span(events)} in the slowest"
        )
    each = far["rate"] / far["grid_size"]  # one block per SM: of the SMs that take part
    if is_curve(far["cluster_size"]):
        rest, sizes, unit = each.iloc[1:], far["cluster_size"].iloc[1:], far["unit"].iloc[0]
        words = "it does not fall further" if rest.max() / rest.min() < 1.05 else "it falls"
        yield (
            f"per working SM the rate is {each.iloc[0]:.1f} in pairs, then {rest.min():.1f} to "
            f"{rest.max():.1f} {unit} from {sizes.iloc[0]:.0f} to {sizes.iloc[-1]:.0f} blocks: "
            f"{words}"
        )


def idle_sms(rows: pd.DataFrame) -> str:
    """The most SMs that a cluster's size leaves idle."""
    idle = rows[(rows["idle_sms"] > 0) & (rows["cluster_size"] > 1) & (rows["blocks_per_sm"] == 1)]
    if idle.empty:
        return "no SM is idle at any cluster size"
    row = best(idle, "idle_sms")
    words = f"clusters of {row['cluster_size']:.0f} leave {many(row['idle_sms'], 'SM')} idle"
    fma = rows[rows["family"] == "fma_chain"].groupby("cluster_size")["rate"].max()
    if {1, row["cluster_size"]} <= set(fma.index):
        words += f"; that {cost(fma[row['cluster_size']], fma[1])} of an FMA chain's rate"
    return words
