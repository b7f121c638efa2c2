# SPDX-License-Identifier: Apache-2.0
"""Experiment clusters: another block's shared memory compared with the own, and idle SMs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, many
from occbench_tools.explain.phrases import cost, span, speed


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The rate and latency of another block's shared memory, and idle SMs."""
    lone = rows[rows["blocks_per_sm"] == 1]
    several = lone[lone["cluster_size"] > 1]
    own, far = lone[lone["form"] == "smem-read"], several[several["form"] == "dsmem-read"]
    if len(own) and len(far):
        mine, near = best(own), far.loc[far["cluster_size"].idxmin()]
        yield (
            f"a neighbour's shared memory reads at {100 * near['rate'] / mine['rate']:.0f} % of the block's "
            f"own rate: {speed(near, False)} of {speed(mine)} in clusters of {near['cluster_size']:.0f}"
        )
    idle = several[several["idle_sms"] > 0]
    if idle.empty:
        yield "no SM is idle at any cluster size"
    else:
        row = best(idle, "idle_sms")
        words = f"clusters of {row['cluster_size']:.0f} leave {many(row['idle_sms'], 'SM')} idle"
        fma = rows[rows["unit"] == "TFLOP/s"].groupby("cluster_size")["rate"].max()
        if {1, row["cluster_size"]} <= set(fma.index):
            words += f"; that {cost(fma[row['cluster_size']], fma[1])} of an FMA chain's rate"
        yield words
    chase = several[several["form"] == "dsmem-latency"]
    if len(chase):
        loads = chase["operations_per_launch"] / chase["grid_size"] / chase["iterations"]
        cycles, events = (
            chase[column] / loads for column in ("own_cycles_per_iteration", "cycles_per_iteration")
        )
        yield (
            f"a dependent load of a neighbour's takes {span(cycles)} cycles in the mean of the SMs, "
            f"{span(events)} in the slowest"
        )
