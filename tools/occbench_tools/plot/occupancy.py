# SPDX-License-Identifier: Apache-2.0
"""The figure of occupancy lost between theory and a launch, all experiments in one."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from occbench_tools.plot.sheet import head, panel, sheet
from occbench_tools.plot.theme import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION

# The parts of theoretical occupancy, in the order of a launch; each with its colour.
PARTS = {
    "occupancy_launch": ("achieved", BLUE),
    "lost_to_unused_places": ("unused places", PURPLE),
    "lost_to_ramp": ("ramp", SKY),
    "lost_to_turnover": ("turnover", GREEN),
    "lost_to_tail": ("tail", ORANGE),
    "lost_to_imbalance": ("imbalance", VERMILION),
}


def rows_with_losses(cases: pd.DataFrame) -> pd.DataFrame:
    """The cases whose blocks recorded their SMs; none in files before version 4, nor of a model."""
    return cases.dropna(subset=list(PARTS)) if set(PARTS) <= set(cases) else cases.iloc[:0]


def stack(axes: Axes, rows: pd.DataFrame, places: np.ndarray) -> None:
    """A bar per row: achieved occupancy and its losses up to theory, %; a mark: occupancy of active SMs."""
    left = np.zeros(len(rows))
    for column, (_, colour) in PARTS.items():
        width = 100 * rows[column].clip(lower=0).to_numpy()
        axes.barh(places, width, 0.8, left, color=colour, linewidth=0)
        left += width
    active = 100 * rows["occupancy_resident"]
    axes.plot(active, places, "|", color=BLACK, markersize=6)
    axes.set(xlim=(0, 103), ylim=(places.max() + 0.6, places.min() - 0.6))


def occupancy(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """The case of each experiment that loses most; and the grids of `waves`, by size."""
    found = rows_with_losses(rows)
    gap = found["occupancy_theoretical"] - found["occupancy_launch"]
    title = "Where occupancy goes between theory and the launch"
    if len(gap):
        title += f": {100 * gap.mean():.1f} points in the mean of {len(gap):,} cases"
    named = found["experiment"].nunique()
    figure, (left, right), _ = sheet(2, height=0.4 + 0.17 * max(8, named))
    words = "Occupancy (%); to the bar's end: theory"
    if panel(left, found, "Of each experiment the case that loses most", words, " "):
        worst = found.loc[gap.groupby(found["experiment"]).idxmax()].sort_values("experiment")
        places = np.arange(len(worst))
        stack(left, worst, places)
        left.set_yticks(places, worst["experiment"], fontsize=8)
    alone = found["asked_grid_size"].notna() & (found["blocks_per_sm"] == 1)
    grids = found[alone & (found["experiment"] == "waves")]
    if panel(right, grids, "waves, 1 block per SM: blocks in the grid", words, " "):
        grids = grids.sort_values("grid_size")
        places = np.arange(len(grids))
        stack(right, grids, places)
        right.set_yticks(places, grids["grid_size"].astype(int), fontsize=8)
        right.set_xlim(0, 103 * grids["occupancy_theoretical"].max())
    if len(found):
        marks = [Patch(color=colour) for _, colour in PARTS.values()]
        marks.append(Line2D([], [], linestyle="none", marker="|", color=BLACK, markersize=8))
        labels = [*(name for name, _ in PARTS.values()), "achieved while active"]
        figure.legend(marks, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    head(figure, title, env)
    return figure
