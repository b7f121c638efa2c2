# SPDX-License-Identifier: Apache-2.0
"""Experiment energy: the occupancy that takes least energy, beside the fastest."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from occbench_tools.schema import WORK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def work_per_joule(rows: pd.DataFrame) -> pd.Series:
    """Experiment energy: work (byte, flop or operation) per joule of the board; NaN if not measured."""
    work = [row[WORK[row["throughput_unit"]]] for _, row in rows.iterrows()]
    return pd.Series(work, rows.index, dtype=float) / rows["energy_per_launch_j"]


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure | None:
    """Speed, and work per joule, over occupancy, each kernel against its best."""
    rows = rows.assign(per_joule=work_per_joule(rows), subject=rows["subject"].fillna(rows["curve"]))
    swept = rows[rows.groupby(["family", "variant"])["warps_per_sm"].transform("nunique") > 1]
    if swept["per_joule"].isna().all():
        return None
    figure, panels, _ = plot.sheet(2)
    for axes, y, words in (
        (panels[0], "throughput", "Speed of single launches"),
        (panels[1], "per_joule", "Work per joule of the whole board"),
    ):
        part = swept.assign(share=100 * swept[y] / swept.groupby(["family", "variant"])[y].transform("max"))
        if plot.panel(axes, part, words, "", "% of the kernel's own best"):
            model = y == "throughput"
            plot.curves(axes, part, "subject", "warps_per_sm", "share", model=model, log=True, among=[swept])
    return figure
