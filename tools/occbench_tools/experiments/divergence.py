# SPDX-License-Identifier: Apache-2.0
"""Experiment divergence: one lane against sixteen, more warps against it, and a picture's boundary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, parted


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """How little the number of lanes that branch away or of warps matters; what a boundary costs."""
    rows = parted(rows)
    split = rows[(rows["form"] == "split-lane") & rows["ratio"].notna()]
    one, half = (
        split[split["lanes_apart"] == lanes].groupby("warps_per_sm")["ratio"].max() for lanes in (1, 16)
    )
    both = sorted(set(one.index) & set(half.index))
    if both:
        few, most = both[0], both[-1]
        yield (
            f"1 lane of 32 that branches away takes {one[most]:.2f} x the time, 16 lanes {half[most]:.2f} x, "
            f"at {most:g} warps per SM"
        )
        if few < most:
            hidden = "do not hide it" if one[most] > 0.95 * one[few] else "hide part of it"
            yield f"more warps {hidden}: {one[few]:.2f} x at {few:g} per SM, {one[most]:.2f} x at {most:g}"
    edges = rows[(rows["form"] == "image") & rows["loss"].notna()]
    if len(edges):
        row = best(edges, "loss")
        yield (
            f"at the boundary of `{row['variant']}` {100 * row['divergent_warps']:.1f} % of the warps "
            f"diverge, {100 * row['outside']:.1f} % of the lanes idle and {100 * row['loss']:.1f} % of the "
            "rate is lost"
        )
