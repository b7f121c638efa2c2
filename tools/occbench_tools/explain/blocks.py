# SPDX-License-Identifier: Apache-2.0
"""Sentences on blocks and the warps in them: waiting, parting ways, beginning, ending; and their energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import (
    best,
    busy,
    many,
    meetings,
    parted,
    per_joule,
    sawtooth,
    tooth,
    turnover,
    waited,
)
from occbench_tools.explain.phrases import ABSENT, cost, occupancy, speed


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
