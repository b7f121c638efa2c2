# SPDX-License-Identifier: Apache-2.0
"""Experiment divergence: one divergent lane and sixteen, more warps, and a picture's boundary."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from occbench_tools.analysis import least_of_baseline
from occbench_tools.explain.phrases import value_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def add_losses(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with `ratio`: the time of a loop iteration over the baseline's at as many warps.

    And `loss`, the lost part of the baseline's useful rate, and `outside`, the part of the lanes outside the
    boundary (both fractions).
    """
    lane_flop = rows["flop_per_launch"] / rows["grid_size"] / rows["block_size"] / rows["iterations"]
    rows = rows.assign(lane_flop=lane_flop)
    return rows.assign(
        ratio=rows["cycles_per_iteration"] / least_of_baseline(rows, "cycles_per_iteration"),
        loss=1 - rows["throughput"] / least_of_baseline(rows, "throughput"),
        outside=1 - lane_flop / least_of_baseline(rows, "lane_flop"),
    )


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure:
    """Time over the divergent lanes, and over nested branches; and what boundaries cost."""
    rows = add_losses(rows)
    figure, (one, nested, edges), _ = plot.sheet(3)
    split, deep = (rows[(rows["form"] == form) & rows["ratio"].notna()] for form in ("split-lane", "nested"))
    edge = rows[rows["form"].isin(["vector", "image", "full-tested"]) & rows["loss"].notna()]
    among = (split, deep, edge)
    for axes, part, words in ((one, split, "One branch"), (nested, deep, "Nested branches")):
        if plot.panel(axes, part, words, "", "Time over that of no branch"):
            plot.curves(axes, part, "warps_per_sm", "lanes_apart", "ratio", among=among)
    if plot.panel(edges, edge, "Boundary tests: useful rate lost; x: lanes that stand outside", "", "%"):
        colours = plot.distinct_colours([part["warps_per_sm"].unique() for part in among], numbers=True)
        for warps, part in edge.groupby("warps_per_sm"):
            x, name = 100 * part["divergent_warps"], value_text("warps_per_sm", warps)
            edges.plot(x, 100 * part["loss"], "o", color=colours[warps], markersize=5, label=name)
            edges.plot(x, 100 * part["outside"], "x", color=plot.INK, markersize=7)
        plot.fit(edges, "divergent_warps")
        edges.set_xlabel("Warps that diverge (%)")
    return figure
