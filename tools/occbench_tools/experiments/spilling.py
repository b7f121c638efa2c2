# SPDX-License-Identifier: Apache-2.0
"""Experiment spilling: the rate over the registers that a cap leaves, and the bytes that spill."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure:
    """Kernels with all values hot, and with few: their rate by block size, and spilled bytes below."""
    figure, panels, below = plot.sheet(2, strips=True)
    idle = rows["idle_values"].fillna(0) > 0
    for axes, strip, part, words in zip(
        panels, below, (rows[~idle], rows[idle]), ("All values hot", "Few of them hot"), strict=True
    ):
        part = part[part["register_route"].isin(["maxnreg", "free"])]
        if not plot.panel(axes, part, words, ""):
            continue
        part = part[part["carveout_percent"] == part["carveout_percent"].min()]
        part = part.loc[part.groupby(["block_size", "registers_per_thread"])["throughput"].idxmax()]
        plot.curves(axes, part, "block_size", "registers_per_thread", "rate", model=True, among=[rows])
        spilled = part.groupby("registers_per_thread")["local_bytes"].min()
        strip.bar(spilled.index, spilled, 2.4, color=plot.BLUE)
        strip.set_title("Spilled (bytes per thread)", fontsize=8.5, pad=2)
        strip.set_xlabel(axes.get_xlabel())
        axes.set_xlabel("")
    return figure
