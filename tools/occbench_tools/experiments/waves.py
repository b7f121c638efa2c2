# SPDX-License-Identifier: Apache-2.0
"""Experiment waves: grids that are no whole number of waves, and a block's turnover."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from occbench_tools.analysis import is_curve, many, sawtooth, tooth, turnover
from occbench_tools.explain.phrases import at, span

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """How far the time is from whole waves, and what a block's turnover takes."""
    for blocks, part in sawtooth(rows).groupby("blocks_per_sm"):
        if blocks == 1:
            worst = part.loc[part["off"].abs().idxmax()]
            yield (
                f"with 1 block per SM a partial wave takes a whole one's time, within "
                f"{100 * abs(worst['off']):.1f} % ({worst['waves']:.2f} waves)"
            )
        elif len(teeth := 100 * tooth(part)):
            yield (
                f"with {blocks:g} blocks per SM one block beyond whole waves costs {span(teeth)} % of a "
                "wave: it runs alone"
            )
    turns = turnover(rows)
    for blocks, part in turns[turns["sure"]].sort_values("block_us").groupby("blocks_per_sm"):
        row = part.iloc[0]
        what = "the turnover from block to block takes" if blocks == 1 else "each further wave takes"
        yield (
            f"{what} {row['cycles']:.0f} cycles at {many(blocks, 'block')} per SM of {row['block_us']:g} us "
            f"(95 % interval {row['low']:.0f} to {row['high']:.0f})"
        )
    if len(turns) and not turns["sure"].any():
        yield "turnover from block to block: too few blocks to tell"


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure:
    """Time over waves, whose stairs are whole waves, and a block's turnover over its time."""
    figure, (stairs, turns), _ = plot.sheet(2)
    grids = sawtooth(rows)
    grids = grids.assign(ratio=grids["time_median_s"] * np.ceil(grids["waves"]) / grids["expected"])
    if plot.panel(stairs, grids, "Grids around whole waves", "", "Time over one wave's"):
        plot.curves(stairs, grids, "blocks_per_sm", "waves", "ratio")
        steps = np.arange(np.ceil(grids["waves"].max()) + 1)
        stairs.step(steps, steps, where="pre", color=plot.INK, linewidth=0.8, linestyle="--")
        stairs.set_xlabel("Waves: grid over resident blocks; dashed: rounded up")
    found = turnover(rows)
    sure = found[found["sure"]]
    if plot.panel(turns, sure, "Turnover: what a wave adds to its work", "", "SM cycles per wave"):
        lines = list(sure.groupby("blocks_per_sm"))
        for (blocks, part), colour in zip(lines, plot.shades(len(lines)), strict=True):
            part = part.sort_values("block_us")
            x, y = part["block_us"], part["cycles"]
            error = [y - part["low"], part["high"] - y]
            turns.errorbar(x, y, error, fmt="none", ecolor=colour, capsize=3)
            style = "o-" if is_curve(x) else "o"
            turns.plot(x, y, style, color=colour, label=at("blocks_per_sm", blocks))
        plot.fit(turns, "block_us", log=True)
        turns.set_xlabel("Time of a block (us)")
    return figure
