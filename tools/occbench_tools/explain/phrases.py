# SPDX-License-Identifier: Apache-2.0
"""What the sentences of all experiments share: how a number is said."""

from __future__ import annotations

import pandas as pd

from occbench_tools.analysis import many

ABSENT = "not in this run"
NOTHING = 0.005  # a change below the precision of a case is none


def speed(row: pd.Series, unit: bool = True) -> str:
    """'4,418 GB/s', '65.8 TFLOP/s'"""
    return f"{row['rate']:,.{0 if row['rate'] >= 100 else 1}f}" + (f" {row['unit']}" if unit else "")


def warps_of(count: float, full: float) -> str:
    """'31 warps (49 % occupancy)', of an SM that holds `full`"""
    return f"{count:.0f} warps ({100 * count / full:.0f} % occupancy)"


def occupancy(row: pd.Series) -> str:
    """'12.5 % occupancy'"""
    return f"{100 * row['occupancy_theoretical']:.3g} % occupancy"


def span(values: pd.Series) -> str:
    """'189 to 190', or '209'"""
    low, high = f"{values.min():.0f}", f"{values.max():.0f}"
    return f"{low} to {high}" if low != high else low


def cost(after: float, before: float) -> str:
    """What a throughput that went from `before` to `after` says."""
    loss = 1 - after / before
    if abs(loss) < NOTHING:
        return "no cost"
    return f"costs {100 * loss:.1f} %" if loss > 0 else f"gains {-100 * loss:.1f} %"


def gains(rows: pd.DataFrame, usual: pd.DataFrame) -> str:
    """'5.00 x at 8 warps, 1.25 x at 64': `rows` over `usual` at their fewest warps in common and most.

    Empty where they have fewer than two numbers of warps in common.
    """
    pairs = rows.merge(usual, on="warps_per_sm", suffixes=("", "_usual")).sort_values("warps_per_sm")
    if len(pairs) < 2:
        return ""
    ratios, warps = pairs["rate"] / pairs["rate_usual"], pairs["warps_per_sm"]
    return (
        f"{ratios.iloc[0]:.2f} x at {many(warps.iloc[0], 'warp')}, {ratios.iloc[-1]:.2f} x at "
        f"{warps.iloc[-1]:g}"
    )
