# SPDX-License-Identifier: Apache-2.0
"""Experiment same_occupancy: one occupancy by three routes, with a large L1 and with a small one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import behind_routes, routes
from occbench_tools.explain.phrases import NOTHING, listed


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What the worst route loses to the best with as large an L1, and what a larger L1 is worth."""
    prices, worth = [], []
    for kernel, part in routes(rows).groupby("kernel"):
        behind = behind_routes(part)
        if len(behind):
            worst = behind.loc[behind["loss"].idxmax()]
            price = f"{100 * worst['loss']:.1f} % (`{kernel}`, by {worst['route']})"
            prices.append((worst["loss"], price))
        arms = (
            part.groupby(["occupancy_theoretical", "route", "carveout_percent"])["throughput"].max().unstack()
        )
        gain = (arms[arms.columns.min()] / arms[arms.columns.max()]).dropna()
        if arms.shape[1] > 1 and len(gain) and (gain - 1).abs().max() >= NOTHING:
            worth.append(f"a larger L1 is worth {gain.min():.2f} to {gain.max():.2f} x for `{kernel}`")
    if prices:
        said = listed([words for _, words in sorted(prices)])
        yield f"at equal occupancy and L1 the route costs at most {said}"
    yield from worth
