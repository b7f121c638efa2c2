# SPDX-License-Identifier: Apache-2.0
"""Experiment energy: the occupancy that takes least energy, beside the fastest."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from occbench_tools.analysis import best, is_curve
from occbench_tools.explain.phrases import at, occupancy, speed
from occbench_tools.schema import WORK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


WORTH_A_WORD = 0.05  # of the energy: so much a launch's moved in three runs on one H100
MOST_OF_LIMIT = 1.05  # runs from before the harness waited for the board to keep to it


def busy(rows: pd.DataFrame) -> pd.Series:
    """Experiment energy: a single launch's time over that from launch to launch while energy was counted."""
    return rows["time_median_s"] * rows["power_w"] / rows["energy_per_launch_j"]


def waited(rows: pd.DataFrame, env: dict[str, Any]) -> pd.Series:
    """Experiment energy: where the device idled between launches, so that its joules are not the work's.

    A device that is less busy because it lowered its clock to keep to its power limit did not. For a while
    it may draw a quarter less than that, as an H100 did.
    """
    limit = env["gpu"].get("power_limit_w") or np.inf
    return (busy(rows) < 0.9) & (rows["power_w"] < 0.7 * limit)


def per_joule(rows: pd.DataFrame) -> pd.Series:
    """Experiment energy: work (byte, flop or operation) per joule of the board; NaN if not measured."""
    work = [row[WORK[row["throughput_unit"]]] for _, row in rows.iterrows()]
    return pd.Series(work, rows.index, dtype=float) / rows["energy_per_launch_j"]


def sentences(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """Where a device only idled, where each kernel takes least energy, and the rate that is sustained."""
    rows = rows.assign(per_joule=per_joule(rows), busy=busy(rows)).dropna(subset="per_joule")
    if rows.empty:
        return
    idle = waited(rows, env)
    if idle.any():
        low, high = 100 * rows["busy"][idle].min(), 100 * rows["busy"][idle].max()
        yield (
            f"in {idle.sum()} of {len(rows)} cases the device worked only {low:.0f} to {high:.0f} % of the "
            "time: their joules are mostly those of idling"
        )
    limit = env["gpu"].get("power_limit_w") or np.inf
    if above := int((rows["power_w"] > MOST_OF_LIMIT * limit).sum()):
        yield (
            f"in {above} of {len(rows)} cases the counter says more than the board's limit of {limit:.0f} W: "
            "no energy of this run is to be trusted"
        )
        return
    frugal_ones, rates = [], []
    for _, line in rows[~idle].groupby(["family", "variant"]):
        fast, frugal = best(line), best(line, "per_joule")
        name = f"`{fast['variant']}`"
        if is_curve(line["warps_per_sm"]):
            saved = 1 - fast["per_joule"] / frugal["per_joule"]
            if saved < WORTH_A_WORD:
                saved, frugal = 0, fast
            than = f", {100 * saved:.1f} % less than with {fast['warps_per_sm']:g}, where it is fastest"
            where = at("warps_per_sm", frugal["warps_per_sm"])
            frugal_ones.append((-saved, f"{name} takes least energy with {where}" + than * bool(saved > 0)))
        sustained = fast.copy().mask(fast.index == "rate", fast["rate"] * fast["busy"])
        rates.append(
            f"{name} reaches {speed(fast)} in single launches, {speed(sustained)} back to back at "
            f"{fast['power_w']:.0f} W ({occupancy(fast)})"
        )
    yield from (words for _, words in sorted(frugal_ones))
    yield from rates


def picture(rows: pd.DataFrame, _: dict[str, Any], plot: ModuleType) -> Figure | None:
    """Speed, and work per joule, over occupancy, each kernel against its best."""
    rows = rows.assign(per_joule=per_joule(rows))
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
            plot.curves(axes, part, "curve", "warps_per_sm", "share", model=model, log=True, among=[swept])
    return figure
