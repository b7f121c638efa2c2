# SPDX-License-Identifier: Apache-2.0
"""Experiment barriers: what a barrier id known only at run time costs, and a barrier's own cycles."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from occbench_tools.analysis import least_of_baseline, pluralize

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def add_barrier_costs(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a barrier's cost, compared with the same work without barriers.

    cycles_per_round (a round is one barrier, or one exchange) and `ratio`: the time over that of the variant
    that never waits, at as many warps; NaN where that was not measured.
    """
    warps = rows["grid_size"] * rows["block_size"] / 32
    rounds = rows["operations_per_launch"] / warps / rows["iterations"]
    ratio = rows["cycles_per_iteration"] / least_of_baseline(rows, "cycles_per_iteration")
    return rows.assign(cycles_per_round=rows["cycles_per_iteration"] / rounds, ratio=ratio)


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure:
    """A barrier's cost over block size at equal warps, alone and with uneven work, and a named one's."""
    rows = add_barrier_costs(rows)
    figure, (alone, uneven, named), _ = plot.sheet(3, wide=1)
    sync = rows[rows["form"] == "sync"]
    sync = sync[sync["curve"] == sync["curve"].min()]
    part = rows[(rows["form"] == "exchange-uneven") & rows["ratio"].notna()]
    both = dict(log=True, among=(sync, part))
    if plot.panel(alone, sync, "__syncthreads and one FMA", "", "SM cycles per barrier"):
        plot.curves(alone, sync, "warps_per_sm", "block_size", "cycles_per_round", **both)
    if plot.panel(uneven, part, "Uneven work before each barrier", "", "Time over that without barriers"):
        plot.curves(uneven, part, "warps_per_sm", "block_size", "ratio", **both)
    part = rows[rows["form"].isin(["exchange", "named", "named-runtime"])]
    if len(part):
        size = part.groupby("block_size")["curve"].nunique().idxmax()  # that most of them have
        part = part[part["block_size"] == size].sort_values("barriers")
    if plot.panel(named, part, "What a barrier's name costs, in blocks of one size", "", " "):
        part = part.loc[part.groupby("curve", sort=False)["blocks_per_sm"].idxmax()]
        names = {"exchange": "__syncthreads", "named-runtime": "an id known at run time"}
        words = [
            f"{names.get(row['form']) or pluralize(row['barriers'], 'named barrier')}: "
            f"{pluralize(row['blocks_per_sm'], 'block')} per SM"
            for _, row in part.iterrows()
        ]
        plot.dots(named, words, [part["rate"].loc[[i]] for i in part.index])
        named.set_xlabel(part["unit"].iloc[0])
    return figure
