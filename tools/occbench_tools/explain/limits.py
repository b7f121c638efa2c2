# SPDX-License-Identifier: Apache-2.0
"""Sentences on what limits occupancy: block size, registers, shared memory; and on choosing among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import behind_routes, best, picks, routes
from occbench_tools.explain.phrases import ABSENT, NOTHING, cost, occupancy, speed


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


def block_size(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The kernel that the worst block size hurts most, and the one that it hurts least."""
    worst = [line.loc[line["percent"].idxmin()] for _, line in rows.groupby("variant")]
    worst.sort(key=lambda row: row["percent"])
    for row in worst[:1] + worst[1:][-1:]:
        yield (
            f"`{row['variant']}` keeps {row['percent']:.0f} % of its best at its worst size, "
            f"{row['block_size']:.0f} threads ({occupancy(row)})"
        )


def shared_memory(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What is left of each kernel at the least occupancy."""
    for variant, line in rows.groupby("variant"):
        low = line.loc[line["occupancy_theoretical"].idxmin()]
        yield f"`{variant}` keeps {low['percent']:.0f} % of its best at {occupancy(low)} ({speed(low)})"


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
