# SPDX-License-Identifier: Apache-2.0
"""Experiment intensity: the warps that a share of the roof takes, by the FMAs on each load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.analysis import best, is_curve, many
from occbench_tools.curves import what_has_more
from occbench_tools.explain.phrases import warps_of

FAR_FROM_BALANCE = 64  # FMAs per 4-byte load from which on a kernel computes, whatever the GPU


def reached(rows: pd.DataFrame, x: str, y: str, level: float) -> float:
    """The x at which y first comes to `level`, on straight lines from the origin and between points."""
    rows = rows.sort_values(x)
    xs, ys = ([0.0, *rows[column]] for column in (x, y))
    for i in range(1, len(xs)):
        if ys[i] >= level:
            return xs[i - 1] + (level - ys[i - 1]) / (ys[i] - ys[i - 1]) * (xs[i] - xs[i - 1])
    return np.nan


def cusp(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment intensity: the warps that come to one share of the roof, by ilp and fma_per_load.

    `share`, in percent: the largest multiple of 5 that every fma_per_load of this ilp comes to. `best`: the
    share at the best.
    """
    needed = []
    roof = "percent_of_ceiling"
    for ilp, part in rows.dropna(subset=roof).groupby("ilp"):
        lines = [
            (fmas, line) for fmas, line in part.groupby("fma_per_load") if is_curve(line["warps_per_sm"])
        ]
        if not lines:
            continue
        share = min(line[roof].max() for _, line in lines) // 5 * 5
        needed += [
            (ilp, fmas, share, reached(line, "warps_per_sm", roof, share), line[roof].max())
            for fmas, line in lines
            if share > 0
        ]
    return pd.DataFrame(needed, columns=["ilp", "fma_per_load", "share", "warps", "best"])


def has_cusp(line: pd.DataFrame) -> bool:
    """Whether one ilp of cusp() needs most warps neither with the fewest FMAs per load nor with the most."""
    warps = line.sort_values("fma_per_load")["warps"]
    return len(warps) > 2 and warps.iloc[1:-1].max() > warps.iloc[[0, -1]].max()


def sentences(rows: pd.DataFrame, env: dict[str, Any]) -> Iterator[str]:
    """Volkov's cusp: where most warps are needed; and from where on a kernel that computes is flat."""
    for _, line in reversed(list(cusp(rows).groupby("ilp"))):
        yield of_ilp(line.sort_values("fma_per_load"), env)
    most = rows[(rows["ilp"] == rows["ilp"].max()) & (rows["fma_per_load"] >= FAR_FROM_BALANCE)]
    line = most[most["fma_per_load"] == most["fma_per_load"].max()]
    if is_curve(line["warps_per_sm"]):
        full = (line["warps_per_sm"] / line["occupancy_theoretical"]).max()
        flat = reached(line, "warps_per_sm", "throughput", 0.95 * line["throughput"].max())
        agrees = "as" if flat <= full / 2 else "later than"
        yield (
            f"with {line['fma_per_load'].iloc[0]:g} FMAs per load 95 % of the best takes "
            f"{warps_of(flat, full)}, {agrees} the course says (25-50 %)"
        )


def of_ilp(line: pd.DataFrame, env: dict[str, Any]) -> str:
    """Where one number of loads in flight takes most warps; `line`: cusp()'s rows of it."""
    first, peak, last = line.iloc[0], best(line, "warps"), line.iloc[-1]
    loads, share = (
        f"{many(line['ilp'].iloc[0], 'load')} in flight",
        f"{line['share'].iloc[0]:g} % of the roof",
    )
    if not is_curve(line["fma_per_load"]):
        few = f"{len(line)} numbers of FMAs per load are too few to see a cusp"
        return f"with {loads}, {few}{what_has_more(env)}"
    if has_cusp(line):
        return (
            f"most warps are needed at {peak['fma_per_load']:g} FMAs per load: {peak['warps']:.0f} for "
            f"{share}, {first['warps']:.0f} at {first['fma_per_load']:g} and {last['warps']:.0f} at "
            f"{last['fma_per_load']:g} ({loads})"
        )
    return (
        f"no cusp with {loads}: {share} takes {many(round(first['warps']), 'warp')} at "
        f"{many(first['fma_per_load'], 'FMA')} per load, {last['warps']:.0f} at {last['fma_per_load']:g}"
    )
