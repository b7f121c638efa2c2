# SPDX-License-Identifier: Apache-2.0
"""Sentences on blocks and the warps in them: waiting, parting ways, beginning, ending; and their energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import (
    best,
    busy,
    is_curve,
    many,
    meetings,
    parted,
    per_joule,
    sawtooth,
    tooth,
    turnover,
    waited,
)
from occbench_tools.explain.phrases import ABSENT, cost, kernel, listed, occupancy, span, speed


def barriers(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What uneven work waits, the cliff of a barrier id known only at run time, and a barrier's cycles."""
    rows = meetings(rows)
    uneven = rows[(rows["variant"] == "exchange-uneven") & rows["ratio"].notna()]
    tops = [best(line, "ratio") for _, line in uneven.groupby("warps_per_sm")]
    if tops:
        waits = [
            f"{100 * (top['ratio'] - 1):.0f} % with {top['warps_per_sm']:.0f} warps per SM" for top in tops
        ]
        yield f"barriers after uneven work cost up to {listed(waits)}"
    else:
        yield f"barriers after uneven work: {ABSENT}"
    fixed, named = (rows[rows["variant"] == name] for name in ("exchange", "named-runtime"))
    equal = fixed.merge(named, on=["block_size", "blocks_per_sm"], suffixes=("", "_named"))
    if sizes := set(fixed["block_size"]) & set(named["block_size"]):
        size = min(sizes)
        before, after = (best(part[part["block_size"] == size], "blocks_per_sm") for part in (fixed, named))
        yield (
            f"a barrier id known only at run time takes resident blocks of {size:.0f} threads from "
            f"{before['blocks_per_sm']:.0f} to {after['blocks_per_sm']:.0f} per SM: "
            f"{before['rate'] / after['rate']:.1f} x slower"
        )
    else:
        yield f"the cliff of a barrier id known only at run time: {ABSENT}"
    sync = rows[rows["variant"] == "sync-fma1"]
    if len(sync):
        sync = sync[sync["warps_per_sm"] == sync["warps_per_sm"].max()].sort_values("block_size")
        low, high = sync.iloc[0], sync.iloc[-1]
        yield (
            f"with {high['warps_per_sm']:.0f} warps per SM a barrier and one FMA take "
            f"{low['cycles_per_round']:.0f} cycles in blocks of {low['block_size']:,.0f}, "
            f"{high['cycles_per_round']:.0f} in blocks of {high['block_size']:,.0f}"
        )
    if len(equal):
        row = equal.iloc[0]
        yield (
            f"at equal residency, {row['blocks_per_sm']:.0f} blocks of {row['block_size']:.0f}, the code of "
            f"such a barrier alone {cost(row['rate_named'], row['rate'])}"
        )


def divergence(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """One lane against sixteen, whole warps and blocks, a boundary, nesting."""
    rows = parted(rows)
    one, half = (
        rows[rows["variant"] == f"split-lane-{lanes}"].set_index("warps_per_sm")["ratio"].dropna()
        for lanes in (1, 16)
    )
    both = sorted(set(one.index) & set(half.index))
    if both:
        few, most = both[0], both[-1]
        yield (
            f"1 lane of 32 that branches away takes {one[most]:.2f} x the time, 16 lanes {half[most]:.2f} x, "
            f"at {most:g} warps per SM"
        )
        if few < most:
            hidden = "do not hide it" if one[most] > 0.95 * one[few] else "hide part of it"
            yield f"more warps {hidden}: {one[few]:.2f} x at {few:g} per SM, {one[most]:.2f} x at {most:g}"
    else:
        yield f"1 lane against 16: {ABSENT}"
    whole = rows[rows["variant"].isin(["branch-on-warp", "branch-on-block"]) & rows["ratio"].notna()]
    if len(whole):
        row = best(whole, "ratio")
        yield (
            f"branches by whole warps or blocks change the time by at most {100 * (row['ratio'] - 1):+.1f} % "
            f"(`{row['variant']}`, {row['warps_per_sm']:g} warps per SM)"
        )
    else:
        yield f"branches by whole warps: {ABSENT}"
    edge = rows[(rows["variant"] == "image-62-rows-76-columns") & rows["loss"].notna()]
    if len(edge):
        row = best(edge, "warps_per_sm")
        yield (
            f"in a 62 x 76 picture {100 * row['divergent_warps']:.1f} % of the warps diverge, "
            f"{100 * row['outside']:.1f} % of the lanes idle and {100 * row['loss']:.1f} % of the rate is "
            "lost"
        )
    deep = rows[rows["variant"].str.startswith("nested") & rows["ratio"].notna()]
    if len(deep):
        top = best(deep, "ratio")
        yield f"{top['variant'].rsplit('-')[-1]} nested branches take {top['ratio']:.1f} x the time"


def waves(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """How far the time is from whole waves, and what a block's turnover takes."""
    grids, turns = sawtooth(rows), turnover(rows)
    alone = []
    if grids.empty:
        yield f"grids of partial waves: {ABSENT}"
    for blocks, part in grids.groupby("blocks_per_sm"):
        if blocks == 1:
            worst = part.loc[part["off"].abs().idxmax()]
            yield (
                f"with 1 block per SM a partial wave takes a whole one's time, within "
                f"{100 * abs(worst['off']):.1f} % ({worst['waves']:.2f} waves)"
            )
            lone = part[part["grid_size"] == 1]
            if len(lone):
                alone.append(
                    f"one block alone takes {100 * (1 + lone['off'].iloc[0]):.1f} % of a wave's time"
                )
        elif len(teeth := 100 * tooth(part)):
            yield (
                f"with {blocks:g} blocks per SM one block beyond whole waves costs {span(teeth)} % of a "
                "wave: it runs alone"
            )
    sure = turns[turns["sure"]].sort_values("block_us")
    if sure.empty:
        yield f"turnover from block to block: {ABSENT if turns.empty else 'too few blocks to tell'}"
    for blocks, part in sure.groupby("blocks_per_sm"):
        row = part.iloc[0]
        what = "the turnover from block to block takes" if blocks == 1 else "each further wave takes"
        yield (
            f"{what} {row['cycles']:.0f} cycles at {many(blocks, 'block')} per SM of {row['block_us']:g} us "
            f"(95 % interval {row['low']:.0f} to {row['high']:.0f})"
        )
        if blocks > 1 and len(part) > 1:
            last = part.iloc[-1]
            yield (
                f"at {blocks:g} blocks of {last['block_us']:g} us it is {last['cycles']:.0f} cycles: the "
                "other blocks work meanwhile"
            )
    yield from alone


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
            f"in {idle.sum()} of {len(rows)} cases the device worked only {low:.0f} to {high:.0f} % of the "
            "time: their joules are mostly those of idling"
        )
    frugal_ones, rates = [], []
    for variant, line in rows[~idle].groupby("variant"):
        fast, frugal = best(line), best(line, "per_joule")
        if is_curve(line["warps_per_sm"]):
            saved = 1 - fast["per_joule"] / frugal["per_joule"]
            frugal_ones.append((-saved, frugal_words(variant, fast, frugal, saved)))
        rates.append(
            f"{kernel(variant)} reach {speed(fast)} in single launches, {speed(sustained(fast))} back to "
            f"back at {fast['power_w']:.0f} W ({occupancy(fast)})"
        )
    yield from (words for _, words in sorted(frugal_ones))
    yield from rates


def frugal_words(variant: str, fast: pd.Series, frugal: pd.Series, saved: float) -> str:
    """Where a kernel takes least energy."""
    if fast.name == frugal.name:
        return f"{kernel(variant)} take least energy where they are fastest, at {occupancy(fast)}"
    return (
        f"{kernel(variant)} take least energy at {occupancy(frugal)}, {100 * saved:.1f} % less than at "
        f"{occupancy(fast)}, where they are fastest"
    )


def sustained(row: pd.Series) -> pd.Series:
    """The row at the rate from launch to launch while energy was counted."""
    return row.copy().mask(row.index == "rate", row["rate"] * row["busy"])
