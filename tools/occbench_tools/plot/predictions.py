# SPDX-License-Identifier: Apache-2.0
"""The figure that holds the model against the measurement, all experiments in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from occbench_tools.analysis import scaled
from occbench_tools.plot.sheet import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MODEL,
    VERMILION,
    as_predicted,
    head,
    join,
    name_ends,
    note,
    panel,
    sheet,
)  # fmt: skip

ENDS = (0.5, 1.5)  # of the ratios that are told apart
# Curves over resident warps: experiment, head, and variants with their names.
CURVES = (
    ("latency_hiding", "Reads from DRAM", {
        "read-f32-4B-ilp1": "4 B", "read-f32-4B-ilp4": "4 x 4 B", "read-f32-16B-ilp4": "4 x 16 B"}),
    ("latency_hiding", "FMA chains", {
        "three-operand-ilp1": "three operands", "two-operand-ilp1": "ILP 1", "two-operand-ilp4": "ILP 4"}),
    ("shared_latency", "Reads of shared memory", {
        "read-ilp4-conflict8": "8 a bank", "read-ilp1-conflict1": "ILP 1", "read-ilp4-conflict1": "ILP 4"}),
    ("cache_reuse", "Sweeps of a working set per block", {
        "ilp1-32KiB": "32 KiB", "ilp1-16KiB": "16 KiB", "ilp1-4KiB": "4 KiB"}),
)  # fmt: skip


def predictions(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Predicted over measured throughput of every case, and a few curves with the model's line."""
    rows = scaled(rows).assign(ratio=as_predicted(rows))
    said = rows.dropna(subset="ratio")
    inside = said.loc[said["outside_model"].isna(), "ratio"]
    title = "What the model said before the launch, over what was measured"
    if len(inside):
        title += f": {100 * (inside - 1).abs().mean():.1f} % off in the mean of {len(inside):,} cases"
    figure, (left, *others) = sheet(["AABBCC", "AADDEE"])
    if panel(left, said, "All cases; bars: half of them, and the middle", "Predicted / measured", " "):
        apart = set(said.loc[said["outside_model"].notna(), "experiment"])
        names = sorted(said["experiment"].unique(), key=lambda name: (name in apart, name))
        left.axvspan(0.9, 1.1, color=GREY, alpha=0.18, linewidth=0)
        left.axvline(1, color=INK, linewidth=1)
        for place, name in enumerate(names):
            ratios = said.loc[said["experiment"] == name, "ratio"].sort_values()
            spread = place + 0.6 * (np.arange(len(ratios)) * 0.618034 % 1 - 0.5)  # apart, the same each time
            colour = GREY if name in apart else BLUE
            left.plot(ratios.clip(*ENDS), spread, ".", color=colour, markersize=3, alpha=0.5, mew=0)
            quarters = ratios.quantile([0.25, 0.5, 0.75]).clip(*ENDS)
            left.plot(
                quarters.iloc[[0, 2]], [place] * 2, color=VERMILION, linewidth=2.5, solid_capstyle="butt"
            )
            left.plot(quarters.iloc[1], place, "|", color=VERMILION, markersize=9, mew=2)
        left.set_xlim(ENDS[0] - 0.02, ENDS[1] + 0.02)
        left.set_ylim(len(names) - 0.5, -0.5)
        left.set_yticks(range(len(names)), names, fontsize=9)
        note(left, 0.01, -0.11, f"beyond {ENDS[0]:g} or {ENDS[1]:g}: at the edge; grey: outside the model")
    for axes, (experiment, words, variants) in zip(others, CURVES, strict=True):
        part = rows[(rows["experiment"] == experiment) & rows["variant"].isin(variants)]
        if not panel(axes, part, words, "Resident warps per SM"):
            continue
        ends = []
        for (variant, name), colour in zip(variants.items(), (VERMILION, GREEN, BLUE), strict=True):
            line = part[part["variant"] == variant].sort_values("warps_per_sm")
            axes.plot(line["warps_per_sm"], line["rate"], "o", color=colour, markersize=3.5)
            model = line["rate"] * line["ratio"]
            join(axes, line["warps_per_sm"], model, color=colour, linewidth=1, gid=MODEL)
            ends.append((line, name, colour))
        axes.set(ylim=(0, 1.15 * part["rate"].max()), xlim=(0, 1.45 * part["warps_per_sm"].max()))
        name_ends(axes, ends, "warps_per_sm")
        if axes is others[0]:
            note(axes, 0.02, 0.93, "dots: measured; lines: the model")
    head(figure, title, env)
    return figure
