# SPDX-License-Identifier: Apache-2.0
"""The figure that says where occupancy goes between theory and a launch, all experiments in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from occbench_tools.plot.sheet import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION, head, panel, sheet

# What theory is made of, in the order of a launch; each with its colour.
PARTS = {
    "occupancy_launch": ("achieved", BLUE),
    "lost_to_unused_places": ("unused places", GREY),
    "lost_to_ramp": ("ramp", SKY),
    "lost_to_turnover": ("turnover", GREEN),
    "lost_to_tail": ("tail", ORANGE),
    "lost_to_imbalance": ("imbalance", VERMILION),
}


def accounted(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases whose blocks said where they were; none in files before version 4, and of a model."""
    return cases.dropna(subset=list(PARTS)) if set(PARTS) <= set(cases) else cases.iloc[:0]


def stack(axes: Axes, rows: pd.DataFrame, places: np.ndarray) -> None:
    """A bar per row: achieved occupancy and its losses up to theory, %; a mark: while SMs are active."""
    left = np.zeros(len(rows))
    for column, (name, colour) in PARTS.items():
        width = 100 * rows[column].clip(lower=0).to_numpy()
        axes.barh(places, width, 0.8, left, color=colour, label=name, linewidth=0)
        left += width
    active = 100 * rows["occupancy_resident"]
    axes.plot(active, places, "|", color="black", markersize=6, label="achieved while active")
    axes.set(xlim=(0, 103), ylim=(places.max() + 0.6, places.min() - 0.6))


def occupancy(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Of each experiment the case that loses most; and the grids of `waves`, by size."""
    found = accounted(rows)
    gap = found["occupancy_theoretical"] - found["occupancy_launch"]
    title = "Where occupancy goes between theory and the launch"
    if len(gap):
        title += f": {100 * gap.mean():.1f} points in the mean of {len(gap):,} cases"
    figure, (left, right) = sheet(["AB", "AB"])
    words = "Occupancy (%); to the bar's end: theory"
    if panel(left, found, "The case of each experiment that loses most", words, " "):
        worst = found.loc[gap.groupby(found["experiment"]).idxmax()].sort_values("experiment")
        places = np.arange(len(worst))
        stack(left, worst, places)
        left.set_yticks(places, worst["experiment"], fontsize=8)
    grids = found[(found["experiment"] == "waves") & found["case_id"].str.contains(r"\.r1\.g\d+")]
    if panel(right, grids, "waves, 1 block per SM: blocks in the grid", words, " "):
        grids = grids.sort_values("grid_size")
        places = np.arange(len(grids))
        stack(right, grids, places)
        right.set_yticks(places, grids["grid_size"].astype(int), fontsize=8)
        right.set_xlim(0, 103 * grids["occupancy_theoretical"].max())
    if len(found):
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7, fontsize=9)
    head(figure, title, env)
    return figure
