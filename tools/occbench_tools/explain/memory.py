# SPDX-License-Identifier: Apache-2.0
"""Sentences on the memory within an SM and its neighbours': tiles, L1, shared memory, clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, l1_kib, least, many
from occbench_tools.explain.phrases import ABSENT, cost, gains, occupancy, span, speed


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


def softmax(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest, the warps that each row takes to come near it, narrow accesses, and the caps."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    free = rows[rows["register_route"] == "free"]
    free = free.assign(held=free["variant"].str.replace(r"-\d+B$", "", regex=True))
    wide = free["bytes_per_access"] == 16
    for variant, line in free[wide].groupby("variant"):
        words = f"at most {100 * best(line)['rate'] / top['rate']:.0f} % of that"
        if (near := line[line["rate"] >= 0.9 * top["rate"]]["warps_per_sm"]).size:
            words = f"90 % of that from {many(near.min(), 'warp')}"
        most = best(line, "warps_per_sm")
        yield (
            f"`{variant}`: {words}, of up to {most['warps_per_sm']:g} with "
            f"{most['registers_per_thread']:.0f} registers per thread"
        )
    pairs = free[~wide].merge(free[wide], on=["held", "warps_per_sm"], suffixes=("", "_wide"))
    if len(pairs):
        ratio = pairs["rate"] / pairs["rate_wide"]
        low, high = 100 * (ratio.min() - 1), 100 * (ratio.max() - 1)
        yield f"accesses of 4 B instead of 16 at equal warps: {low:+.1f} to {high:+.1f} %"
    for variant, line in rows[rows["register_route"] != "free"].groupby("variant"):
        usual, capped = free[free["variant"] == variant.rpartition("-maxnreg")[0]], best(line)
        if len(usual):
            yield (
                f"`{variant}`, {line['local_bytes'].max():.0f} B spilled: "
                f"{cost(capped['rate'], best(usual)['rate'])} "
                f"({many(line['warps_per_sm'].max(), 'warp')} instead of {usual['warps_per_sm'].max():g})"
            )


def layer_norm(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `softmax`, and what blocks make of the rows that warps hold too, at equal warps."""
    yield from softmax(rows, env)
    free = rows[(rows["register_route"] == "free") & (rows["bytes_per_access"] == 16)]
    team = free["variant"].str.split("-").str[0]
    warps = free[(team == "warp") & (free["block_size"] == 128)]
    for (length, threads), line in free[team != "warp"].groupby(["tile_width", "block_size"]):
        if words := gains(line, warps[warps["tile_width"] == length]):
            yield f"rows of {length:g} in blocks of {threads:g} instead of warps: {words}"


def scan(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The fastest, the warps that each form takes to come near it, what shuffles and elements per thread are
    worth at equal warps, larger and smaller blocks, and the caps."""
    top = best(rows)
    yield f"`{top['variant']}` is fastest, {speed(top)} at {occupancy(top)}"
    rows = rows.assign(form=rows["variant"].str.replace(r"-block\d+", "", regex=True))
    free = rows[rows["register_route"] == "free"]
    usual = free[free["block_size"] == 256]
    for form, line in usual.groupby("form"):
        words = f"at most {100 * best(line)['rate'] / top['rate']:.0f} % of that"
        if (near := line[line["rate"] >= 0.9 * top["rate"]]["warps_per_sm"]).size:
            words = f"90 % of that from {many(near.min(), 'warp')}"
        yield f"`{form}` in blocks of 256: {words}"
    steps, one, most = (
        usual[usual["form"] == form]
        for form in ("kogge_stone-elements1", "shuffles-elements1", "shuffles-elements8")
    )
    if words := gains(one, steps):
        yield f"shuffles instead of a barrier a step: {words}"
    if words := gains(most, one):
        yield f"8 elements to a thread instead of 1: {words}"
    for block, others in free[free["block_size"] != 256].groupby("block_size"):
        pairs = others.merge(usual, on=["form", "warps_per_sm"], suffixes=("", "_usual"))
        if len(pairs):
            ratio = pairs["rate"] / pairs["rate_usual"]
            words = f"{ratio.min():.2f} to {ratio.max():.2f} x"
            yield f"blocks of {block:,g} instead of 256 at equal warps: {words}"
    for variant, line in rows[rows["register_route"] != "free"].groupby("variant"):
        uncapped = free[free["variant"] == variant.rpartition("-maxnreg")[0]]
        if words := gains(line, uncapped):
            registers = [f"{each['registers_per_thread'].max():.0f}" for each in (line, uncapped)]
            yield f"`{variant}`, {registers[0]} registers instead of {registers[1]}: {words}"


def gemv(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """As of `reduction`, and what the registers of the loads in flight leave of the warps."""
    yield from reduction(rows, env)
    fit = rows.groupby(["bytes_per_access", "ilp"])[["warps_per_sm", "registers_per_thread"]].max()
    for (width, ilp), line in fit[fit["warps_per_sm"] < fit["warps_per_sm"].max()].iterrows():
        yield (
            f"with {ilp:g} x {width:g} B, {line['registers_per_thread']:.0f} registers per thread, "
            f"{many(line['warps_per_sm'], 'warp')} are the most of these that fit"
        )


def convolution(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Each filter's best, what outputs per thread are worth to it, and what register caps, at equal warps."""
    rows = rows.assign(radius=rows["variant"].str.extract(r"^radius(\d)", expand=False).astype(float))
    for radius, part in rows.groupby("radius"):
        side = 1 + 2 * radius
        name, top = f"{side:g} x {side:g}", best(part)
        yield f"{name}: best {speed(top)} at {occupancy(top)} with {many(top['ilp'], 'output')} per thread"
        free = part[(part["register_route"] == "free") & (part["block_size"] == 128)]
        most = free["ilp"].max()
        if most > 1 and (words := gains(free[free["ilp"] == most], free[free["ilp"] == 1])):
            yield f"{name} with {most:g} per thread instead of 1: {words}"
        for _, line in part[part["register_route"] != "free"].groupby("variant"):
            usual = free[free["ilp"] == line["ilp"].iloc[0]]
            if words := gains(line, usual):
                registers = [f"{each['registers_per_thread'].iloc[0]:g}" for each in (line, usual)]
                yield f"{name} with {registers[0]} registers instead of {registers[1]}: {words}"


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
