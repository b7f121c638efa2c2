# SPDX-License-Identifier: Apache-2.0
"""Experiment latency_hiding: reads by what each thread has in flight, and chains by their operands."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 5  # amounts in flight that are shown


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure:
    """Over resident warps: loads of one width, and FMA chains with two and with three operands."""
    figure, (reads, two, three), _ = plot.sheet(3)
    load = rows[(rows["form"] == "read") & (rows["data_type"] == "f32")]
    load = load.assign(flight=load["ilp"] * load["bytes_per_access"])
    load = load.loc[load.groupby(["flight", "warps_per_sm"])["throughput"].idxmax()]
    names = {flight: f"{flight:g} B" for flight in sorted(load["flight"].dropna().unique())[:FEW]}
    if plot.panel(reads, load, "Reads from DRAM, by bytes in flight per thread", ""):
        plot.curves(reads, load, "flight", "warps_per_sm", "rate", model=True, log=True, names=names)
        plot.ceiling(reads, load, "theoretical DRAM rate")
    forms = ("two-operand", "three-operand")
    chains = [rows[(rows["form"] == form) & rows["ilp"].isin([1, 2, 4])] for form in forms]
    for axes, form, part in zip((two, three), forms, chains, strict=True):
        if plot.panel(axes, part, f"FMA chains, {form}, by ILP", ""):
            plot.curves(axes, part, "ilp", "warps_per_sm", "rate", model=True, log=True, among=chains)
            plot.ceiling(axes, part, "peak")
    return figure
