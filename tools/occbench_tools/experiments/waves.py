# SPDX-License-Identifier: Apache-2.0
"""Experiment waves: grids that are no whole number of waves, and a block's turnover."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from occbench_tools.analysis import is_curve
from occbench_tools.explain.phrases import value_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def add_expected_times(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of grids that are no whole number of waves, with the time that theory expects.

    `expected`: one wave's time x the waves rounded up; `off`: how much longer it took (fraction).
    """
    grids = rows[rows["asked_grid_size"].notna()]
    one = grids[grids["waves"] == 1].groupby("blocks_per_sm")["time_median_s"].first()
    expected = np.ceil(grids["waves"]) * grids["blocks_per_sm"].map(one)
    return grids.assign(expected=expected, off=grids["time_median_s"] / expected - 1).dropna(
        subset="expected"
    )


def turnover_cycles(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment waves: SM cycles that each wave after the first adds, by blocks_per_sm and block_us.

    With one block per SM that is a turnover, from a block's end to the first iteration of the next; with
    several, the others work meanwhile, and it is the part they do not hide. Computed as the time of w
    waves of short blocks less that of one wave of as many iterations, over w - 1. Where rounding makes a few
    iterations more or less, they count by the long blocks' time per iteration. low and high bound the 95 %
    interval: those of the two medians, in quadrature. `sure`: half of it is less than half of the value, or
    than 100 cycles.
    """
    block_us = (1e6 * rows["asked_block_s"]).round(3)
    rows = rows.assign(block_us=block_us)[rows["asked_grid_size"].isna()]
    lone = rows["waves"] == 1
    found = []
    for _, short in rows[~lone & rows["block_us"].notna()].iterrows():
        waves = round(short["waves"])
        iterations = waves * short["iterations"]
        whole = rows[
            lone & (rows["blocks_per_sm"] == short["blocks_per_sm"]) & (rows["variant"] == short["variant"])
        ]
        whole = whole[(whole["iterations"] / iterations - 1).abs() < 0.25]
        if whole.empty:
            continue
        one = whole.loc[(whole["iterations"] - iterations).abs().idxmin()]
        same_work_s = one["time_median_s"] * iterations / one["iterations"]
        cycles = short["sm_clock_hz"] / (waves - 1)
        up, down = (
            np.hypot(
                short[f"time_ci95_{end}_s"] - short["time_median_s"],
                one[f"time_ci95_{other}_s"] - one["time_median_s"],
            )
            for end, other in (("high", "low"), ("low", "high"))
        )
        middle = short["time_median_s"] - same_work_s
        found.append(
            (
                short["blocks_per_sm"],
                short["block_us"],
                *(cycles * s for s in (middle, middle - down, middle + up)),
            )
        )
    columns = ["blocks_per_sm", "block_us", "cycles", "low", "high"]
    turnovers = pd.DataFrame(found, columns=columns, dtype=float)
    half = (turnovers["high"] - turnovers["low"]) / 2
    return turnovers.assign(sure=half < np.maximum(turnovers["cycles"].abs() / 2, 100))


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure:
    """Time over waves, whose stairs are whole waves, and a block's turnover over its time."""
    figure, (stairs, turnovers), _ = plot.sheet(2)
    grids = add_expected_times(rows)
    grids = grids.assign(ratio=grids["time_median_s"] * np.ceil(grids["waves"]) / grids["expected"])
    found = turnover_cycles(rows)
    sure = found[found["sure"]]
    among = (grids, sure)
    if plot.panel(stairs, grids, "Grids around whole waves", "", "Time over one wave's"):
        plot.curves(stairs, grids, "blocks_per_sm", "waves", "ratio", among=among)
        steps = np.arange(np.ceil(grids["waves"].max()) + 1)
        stairs.step(steps, steps, where="pre", color=plot.INK, linewidth=0.8, linestyle="--")
        stairs.set_xlabel("Waves: grid over resident blocks; dashed: rounded up")
    if plot.panel(turnovers, sure, "Turnover: what a wave adds to its work", "", "SM cycles per wave"):
        colours = plot.distinct_colours([part["blocks_per_sm"].unique() for part in among], numbers=True)
        for blocks, part in sure.groupby("blocks_per_sm"):
            colour = colours[blocks]
            part = part.sort_values("block_us")
            x, y = part["block_us"], part["cycles"]
            error = [y - part["low"], part["high"] - y]
            turnovers.errorbar(x, y, error, fmt="none", ecolor=colour, capsize=3)
            style = "o-" if is_curve(x) else "o"
            turnovers.plot(x, y, style, color=colour, label=value_text("blocks_per_sm", blocks))
        plot.fit(turnovers, "block_us", log=True)
        turnovers.set_xlabel("Time of a block (us)")
    return figure
