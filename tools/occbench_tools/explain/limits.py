# SPDX-License-Identifier: Apache-2.0
"""Sentences on what limits occupancy: block size, registers, shared memory; and on choosing among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import behind_routes, best, picks, routes
from occbench_tools.explain.phrases import (
    ABSENT,
    NOTHING,
    change,
    kernel,
    listed,
    occupancy,
    speed,
)


def registers(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The step from 31 to 33 registers."""
    capped = rows[(rows["register_route"] == "maxnreg") & (rows["block_size"] == 512)]
    said, details, occupancies = [], [], ""
    for kind, words in (("load", "loads"), ("fma", "FMA chains")):
        line = capped[capped["variant"].str.startswith(kind)]
        before, after = (line[line["registers_per_thread"] == count] for count in (31, 33))
        if before.empty or after.empty:
            details.append(f"31 to 33 registers, {words}: {ABSENT}")
            continue
        before, after = best(before), best(after)
        said.append(f"{change(after['rate'], before['rate'])} for {words}")
        occupancies = f"{100 * before['occupancy_theoretical']:.3g} to {occupancy(after)}"
        details.append(f"{words} go from {speed(before)} with 31 registers to {speed(after)} with 33")
    if said:
        yield f"31 to 33 registers: {', '.join(said)} (blocks of 512 threads, {occupancies})"
    yield from details


def spilling(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best cap against none, where all values are used and where a quarter is."""
    hot = rows["variant"].str.contains("-hot16-")
    brings, details = [], []
    for part, words in ((rows[hot], "16 of 64 values in use"), (rows[~hot], "all 64 values in use")):
        free = part[part["register_route"] == "free"]
        if part.empty or free.empty:
            details.append(f"{words}: {ABSENT}")
            continue
        top, usual = best(part), best(free)
        if len(spills := part[part["local_bytes"] > 0]):
            brings.append(f"{best(spills)['rate'] / usual['rate']:.2f} x with {words}")
        details.append(
            f"with {words} {top['registers_per_thread']:.0f} registers are best, {top['local_bytes']:.0f} B "
            f"spilled: {speed(top)}, {top['rate'] / usual['rate']:.2f} x uncapped "
            f"({usual['registers_per_thread']:.0f} registers)"
        )
    if brings:
        yield f"against no cap, spilling reaches at most {' and '.join(brings)}"
    yield from details


def block_size(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The kernel that the worst block size hurts most, and the one that it hurts least."""
    worst = [line.loc[line["percent"].idxmin()] for _, line in rows.groupby("variant")]
    worst.sort(key=lambda row: row["percent"])
    for row in worst[:1] + worst[1:][-1:]:
        yield (
            f"{kernel(row['variant'])} keep {row['percent']:.0f} % of their best speed at the worst block "
            f"size, {row['block_size']:.0f} threads ({occupancy(row)})"
        )


def shared_memory(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What is left of each kernel at the least occupancy."""
    low = [line.loc[line["occupancy_theoretical"].idxmin()] for _, line in rows.groupby("variant")]
    low.sort(key=lambda row: row["percent"])
    least = min(row["occupancy_theoretical"] for row in low)
    said = [
        f"{kernel(row['variant'])} keep {row['percent']:.0f} %"
        for row in low
        if row["occupancy_theoretical"] == least
    ]
    yield f"at {100 * least:.3g} % occupancy {listed(said)} of their best speed"
    for row in low:
        kib = row["dynamic_smem_bytes"] / 1024
        yield f"with {kib:.4g} KiB of shared memory per block, {kernel(row['variant'])} reach {speed(row)}"


KERNELS = {"load": "DRAM loads", "fma": "FMA chains"}


def same_occupancy(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What each route loses to the fastest with as large an L1, and what a large L1 is worth."""
    plain, reuse, worth = [], [], []
    for name, part in routes(rows).groupby("kernel"):
        words = KERNELS.get(name, name.replace("L1, ", "a loop over an L1-resident set, "))
        behind = behind_routes(part)
        if behind.empty:
            continue
        worst = behind.loc[behind.groupby("route")["loss"].idxmax()].sort_values("loss", ascending=False)
        if name in KERNELS:
            plain.append(f"{words} {100 * worst['loss'].max():.1f} %")
        else:
            prices = [f"{100 * row['loss']:.1f} % by {row['route']}" for _, row in worst.iterrows()]
            reuse.append(f"{words}, loses up to {', '.join(prices)}")
        arms = part.groupby(["occupancy_theoretical", "route", "carveout_percent"])["throughput"].max()
        arms = arms.unstack()
        large, small = arms[arms.columns.min()], arms[arms.columns.max()]
        if arms.shape[1] > 1 and len(gain := (large / small).dropna()):
            gained = f"is worth {gain.min():.2f} to {gain.max():.2f} x"
            same = (gain - 1).abs().max() < NOTHING
            worth.append(f"a larger L1 {'changes nothing' if same else gained} for {words}")
    if plain:
        yield f"at equal occupancy and L1 the choice of resource costs {' and '.join(plain)} at most"
    yield from reuse
    yield from reversed(worth)


def block_size_pick(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """For how many kernels the API's block size is good, and where it is worst."""
    found = picks(rows)
    if found.empty:
        yield f"the occupancy API's pick: {ABSENT}"
        return
    near, nearly = ((found["loss"] <= limit).sum() for limit in (0.01, 0.05))
    yield (
        f"the occupancy API's block size is within 5 % of the best for {nearly} of {len(found)} kernels, "
        f"within 1 % for {near}"
    )
    worst = best(found, "loss")
    if worst["loss"] > 0.01:
        yield (
            f"it loses most, {100 * worst['loss']:.1f} %, in {worst['family']} `{worst['variant']}`: it "
            f"picks {worst['pick']:,.0f} threads where {worst['best']:,.0f} are best"
        )


def launch_bounds_roulette(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The best dial of each kernel against the compiler's own choice, the largest gain first."""
    found, missing, tried = [], [], 0
    for name, part in rows.groupby(rows["variant"].str.split("-").str[0]):
        free = part[part["register_route"] == "free"]
        if free.empty:
            missing.append(f"`{name}` without a cap: {ABSENT}")
            continue
        usual, top = best(free), best(part)
        gain = top["rate"] / usual["rate"] - 1
        default = f"{usual['registers_per_thread']:.0f} registers, {speed(usual)}"
        words = (
            f"`{name}`: none of {len(part) - len(free)} caps is faster than the compiler's choice ({default})"
        )
        if gain >= NOTHING:
            words = (
                f"`{name}` gains {100 * gain:.1f} % by {top['variant'].split('-', 1)[1]}, "
                f"{top['registers_per_thread']:.0f} registers at {occupancy(top)} (compiler's choice: "
                f"{default})"
            )
        tried = max(tried, len(part) - len(free))
        found.append((gain, f"`{name}` {100 * gain:.1f} %", words))
    found.sort(key=lambda each: -each[0])
    if len(found) > 1 and found[0][0] < NOTHING:
        yield f"none of {tried} register caps is faster than the compiler's choice in any kernel"
    elif len(found) > 1:
        gains = listed([short for _, short, _ in found])
        yield f"the best of {tried} register caps gains {gains} on the compiler's choice"
    yield from (words for _, _, words in found)
    yield from missing
