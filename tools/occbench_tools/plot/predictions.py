# SPDX-License-Identifier: Apache-2.0
"""The picture of predictions and measurements, all experiments in one."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from occbench_tools.plot.sheet import head, panel, prediction_ratio, sheet
from occbench_tools.plot.theme import BLUE, FAINT, INK, SKY, VERMILION

ENDS = (0.5, 1.5)  # of the ratios' axis


def predictions(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Predicted over measured throughput of every case."""
    predicted = rows.assign(ratio=prediction_ratio(rows)).dropna(subset="ratio")
    inside = predicted.loc[predicted["outside_model"].isna(), "ratio"]
    title = "What the model said before the launch, over what was measured"
    if len(inside):
        title += f": {100 * (inside - 1).abs().mean():.1f} % off in the mean of {len(inside):,} cases"
    outside = set(predicted.loc[predicted["outside_model"].notna(), "experiment"])
    names = sorted(predicted["experiment"].unique(), key=lambda name: (name in outside, name))
    words = "Predicted / measured; beyond 0.5 or 1.5: at the edge; light blue: not the model's subject"
    figure, (axes,), _ = sheet(1, height=0.6 + 0.165 * len(names))
    if panel(axes, predicted, "Bars: half of the cases, and the middle", words, " "):
        axes.axvspan(0.9, 1.1, color=FAINT, zorder=0.5)
        axes.axvline(1, color=INK, linewidth=1)
        for place, name in enumerate(names):
            ratios = predicted.loc[predicted["experiment"] == name, "ratio"].sort_values()
            spread = place + 0.6 * (np.arange(len(ratios)) * 0.618034 % 1 - 0.5)  # apart, the same each time
            colour = SKY if name in outside else BLUE
            dots = dict(color=colour, markersize=3, alpha=0.5, mew=0)
            axes.plot(ratios.clip(*ENDS), spread, ".", **dots)
            quarters = ratios.quantile([0.25, 0.5, 0.75]).clip(*ENDS)
            axes.plot(
                quarters.iloc[[0, 2]], [place] * 2, color=VERMILION, linewidth=2.5, solid_capstyle="butt"
            )
            axes.plot(quarters.iloc[1], place, "|", color=VERMILION, markersize=9, mew=2)
        axes.set_xlim(ENDS[0] - 0.02, ENDS[1] + 0.02)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names)
    head(figure, title, env)
    return figure
