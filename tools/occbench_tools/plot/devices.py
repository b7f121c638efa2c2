# SPDX-License-Identifier: Apache-2.0
"""The picture of another device's speed-ups: over the share of DRAM that was used, and by bound."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from occbench_tools.devices import speedup
from occbench_tools.folder import gpu_name
from occbench_tools.plot.sheet import head, panel, sheet
from occbench_tools.plot.theme import BLUE, INK, SKY, VERMILION

MOST = 1.6  # the axis ends at this speed-up and at its inverse


def devices(rows: pd.DataFrame, old: dict[str, Any], new: dict[str, Any], narrow: bool = False) -> Figure:
    """The picture of speedup.pairs_of() rows, by env.json of both runs; narrow: for a telephone's screen."""
    _, median, low, high = speedup.spread(rows["speedup"])
    names = [gpu_name(env).removeprefix("NVIDIA ") for env in (new, old)]
    title = f"{names[0]} against {names[1]}: {low:.2f} to {high:.2f} times as fast, median {median:.2f}"
    figure, (left, right), _ = sheet(2, height=3.4, narrow=narrow)
    shown = rows.assign(speedup=rows["speedup"].clip(1 / MOST, MOST))
    of_dram = shown[shown["kind"] == "DRAM"]
    if panel(
        left, of_dram, "What its DRAM is worth", f"% of DRAM's peak used on {names[1]}", "Times as fast"
    ):
        left.plot(100 * of_dram["share"], of_dram["speedup"], ".", color=SKY, markersize=3.5, mew=0)
        law = speedup.law(of_dram)
        middle = (law["from"] + law["to"]) / 2
        left.fill_between(middle, law["low"], law["high"], color=BLUE, alpha=0.2, linewidth=0)
        left.plot(middle, law["median"], color=BLUE, marker="o")
        left.axhline(1, color=INK, linewidth=1)
        left.set_xlim(0, 100)
    if panel(right, shown, "By what bounds a case", "Times as fast: median and 90 % of cases", " "):
        table = speedup.by_bound(shown).rename(columns=dict(count="cases"))
        places = np.arange(len(table))
        right.hlines(places, table["low"], table["high"], color=SKY, linewidth=5)
        right.plot(table["median"], places, "|", color=VERMILION, markersize=11, mew=2.2)
        right.axvline(1, color=INK, linewidth=1)
        labels = [f"{row.bound} ({row.cases:,})" for row in table.itertuples(index=False)]
        right.set_yticks(places, labels)
        right.set_ylim(len(table) - 0.5, -0.5)
    head(figure, title, new)
    return figure
