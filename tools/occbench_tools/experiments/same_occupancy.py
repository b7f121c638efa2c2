# SPDX-License-Identifier: Apache-2.0
"""Experiment same_occupancy: one occupancy by three routes, with a large L1 and with a small one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.explain.phrases import NOTHING, listed


def routes(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment same_occupancy: `kernel`, and the `route` by which it came to its occupancy.

    Ballast is asked for; the others are block sizes that do not fit, and registers. A kernel that reuses a
    working set is one for all blocks whose warps reuse as much each.
    """
    ballast = rows["asked_resident_blocks"].notna()
    usual = rows.loc[ballast, "block_size"].mode()
    misfit = rows["block_size"] != (usual.iloc[0] if len(usual) else 0)
    per_warp = rows["working_set_bytes"] / 1024 / (rows["block_size"] / 32)
    form = rows["form"].where(rows["form"].notna(), rows["curve"])
    return rows.assign(
        kernel=form.mask(per_warp.notna(), per_warp.map("L1, {:g} KiB per warp".format)),
        route=np.select([ballast, misfit], ["shared memory", "block size"], "registers"),
    )


def behind_routes(rows: pd.DataFrame) -> pd.DataFrame:
    """Of one kernel of routes(): what each route loses (fraction) to the fastest with as large an L1.

    By occupancy, carve-out and route, where there are two routes or more.
    """
    key = ["occupancy_theoretical", "carveout_percent"]
    arms = rows.groupby([*key, "route"])["throughput"].max().reset_index()
    several = arms[arms.groupby(key)["route"].transform("size") > 1]
    top = several.groupby(key)["throughput"].transform("max")
    return several.assign(loss=1 - several["throughput"] / top)


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What the worst route loses to the best with as large an L1, and what a larger L1 is worth."""
    prices, worth = [], []
    for kernel, part in routes(rows).groupby("kernel"):
        behind = behind_routes(part)
        if len(behind):
            worst = behind.loc[behind["loss"].idxmax()]
            price = f"`{kernel}` {100 * worst['loss']:.1f} % ({worst['route']})"
            prices.append((worst["loss"], price))
        arms = (
            part.groupby(["occupancy_theoretical", "route", "carveout_percent"])["throughput"].max().unstack()
        )
        gain = (arms[arms.columns.min()] / arms[arms.columns.max()]).dropna()
        if arms.shape[1] > 1 and len(gain) and (gain - 1).abs().max() >= NOTHING:
            worth.append(f"a larger L1 is worth {gain.min():.2f} to {gain.max():.2f} x for `{kernel}`")
    if prices:
        said = listed([words for _, words in sorted(prices)])
        yield f"at equal occupancy and L1 the worst route costs {said}"
    yield from worth
