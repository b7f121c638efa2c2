# SPDX-License-Identifier: Apache-2.0
"""The speed-up from one device to another: over the share of a ceiling, by what bounds a case, over a dial.

A speed-up is seconds of the old device over seconds of the new one, for the same work. The tables have a
row per group with count, median, low and high: the 5th and the 95th percentile of its cases.
"""

from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.analysis import CURVE_POINTS

ENDS = (0.05, 0.95)  # of the spread that tables give
BANDS = tuple(range(0, 101, 10))  # percent of the old device's ceiling
# Names of ceilings, in this order; a case without one measures a latency or a cost.
KINDS = {
    "dram": "DRAM", "l1": "L1", "shared_memory": "shared memory", "fp32": "FP32", "fp64": "FP64",
    "tensor_bf16": "tensor", "issue": "issue", "none": "latency",
}  # fmt: skip
BOUNDS = ("DRAM", "L2", "L1", "shared memory", "FP32", "FP64", "tensor", "issue", "latency", "other")
DIVERGENCE = 0.03  # a curve diverges where its speed-up is so far from that at its lowest dial value


def bound_of(rows: pd.DataFrame) -> pd.Series:
    """The bound of each case, one of BOUNDS: by the model where it predicted, else by the ceiling's kind."""
    kind = rows["ceiling_kind"].map(KINDS)
    predicted = rows["bound_predicted"].reindex(rows.index) if "bound_predicted" in rows else kind
    bounds = predicted.where(
        predicted != "pipe", kind.where(kind.isin(["FP32", "FP64", "tensor"]), "issue")
    ).fillna(kind)
    return bounds.where(bounds.isin(BOUNDS), "other")


def pairs_of(base: pd.DataFrame, other: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Rows of the old device, with `speedup`, `share` (fraction of its ceiling), `bound` and `kind`.

    pairs: base_case_id and case_id, as align() pairs the valid rows of both. `new_cycles`, `new_own_cycles`
    and `new_case_id` are the other's. Cases whose work is counted differently have no speed-up and are left
    out.
    """
    ours = base.set_index("case_id", drop=False).loc[pairs["base_case_id"]].reset_index(drop=True)
    theirs = other.set_index("case_id", drop=False).loc[pairs["case_id"]].reset_index(drop=True)
    alike = (ours["throughput_unit"] == theirs["throughput_unit"]) & (ours["throughput"] > 0)
    rows = ours.assign(
        speedup=theirs["throughput"] / ours["throughput"],
        share=ours["percent_of_ceiling"] / 100,
        bound=bound_of(ours),
        kind=ours["ceiling_kind"].map(KINDS).fillna("latency"),
        new_case_id=theirs["case_id"],
        new_time_s=theirs["time_median_s"],
        new_cycles=theirs["cycles_per_iteration"],
        new_own_cycles=theirs.get("own_cycles_per_iteration", np.nan),
        new_sm_clock_hz=theirs["sm_clock_hz"],
    )
    return rows[alike & np.isfinite(rows["speedup"]) & (rows["speedup"] > 0)].reset_index(drop=True)


def spread(values: pd.Series) -> tuple[int, float, float, float]:
    """count, median, low, high"""
    low, high = values.quantile(ENDS) if len(values) else (np.nan, np.nan)
    return len(values), float(values.median()), float(low), float(high)


def law(rows: pd.DataFrame) -> pd.DataFrame:
    """kind, from, to (percent of the old device's ceiling of that kind), then the spread."""
    found = []
    for kind in dict.fromkeys(KINDS.values()):
        of_kind = rows[(rows["kind"] == kind) & rows["share"].notna()]
        # Shares above the peak (rounding, caches) belong to the last band.
        place = np.clip((100 * of_kind["share"]) // 10, 0, 9).astype(int)
        found += [
            (kind, BANDS[i], BANDS[i + 1], *spread(part["speedup"])) for i, part in of_kind.groupby(place)
        ]
    return pd.DataFrame(found, columns=["kind", "from", "to", "count", "median", "low", "high"])


def by_bound(rows: pd.DataFrame) -> pd.DataFrame:
    """bound, then the spread, in the order of BOUNDS."""
    found = [(bound, *spread(part["speedup"])) for bound, part in rows.groupby("bound")]
    table = pd.DataFrame(found, columns=["bound", "count", "median", "low", "high"])
    return table.sort_values("bound", key=lambda names: names.map(BOUNDS.index)).reset_index(drop=True)


def curves(rows: pd.DataFrame, experiments: dict[str, Any]) -> pd.DataFrame:
    """A row for each experiment: its dial, the median speed-up at both ends, and where its curves diverge.

    first and last are the dial's ends over all curves, `at_first` and `at_last` the median speed-ups there.
    `diverging` of `curves` lines leave the speed-up of their lowest dial value by more than DIVERGENCE for
    good, at `diverges_at` of the dial (their median). `spread` holds low and high of all cases.
    """
    columns = ["experiment", "dial", "count", "median", "low", "high", "first", "at_first", "last", "at_last",
               "curves", "diverging", "diverges_at"]  # fmt: skip
    found = []
    for name, part in rows.groupby("experiment"):
        description = experiments.get(name) or {}
        dial = description.get("dial")
        cells = [name, dial or "", *spread(part["speedup"])]
        if dial not in part or part[dial].nunique() < 2:
            found.append((*cells, *[np.nan] * 4, 0, 0, np.nan))
            continue
        over = part.groupby(dial)["speedup"].median()
        key = ["family", "curve", *(c for c in description.get("split_by", []) if c in part)]
        values = [divergence_value(line, dial) for _, line in part.groupby(key, dropna=False)]
        lines = [value for value in values if value is not None]
        diverging = [value for value in lines if value == value]
        found.append(
            (*cells, over.index[0], over.iloc[0], over.index[-1], over.iloc[-1], len(lines), len(diverging),
             float(np.median(diverging)) if diverging else np.nan)
        )  # fmt: skip
    return pd.DataFrame(found, columns=columns).sort_values("median", ascending=False, ignore_index=True)


def divergence_value(line: pd.DataFrame, dial: str) -> float | None:
    """The dial value from which a curve's speed-up diverges; NaN if none; None if it is not a curve."""
    over = line.groupby(dial)["speedup"].median()
    if len(over) < CURVE_POINTS:
        return None
    away = (np.log(over / over.iloc[0])).abs() > np.log1p(DIVERGENCE)
    stays = away[::-1].cumprod()[::-1].astype(bool)  # away from here to the end
    return float(over.index[stays][0]) if stays.any() else float("nan")


def latencies(rows: pd.DataFrame) -> pd.DataFrame:
    """The kernel, then cycles and ns of both devices, of kernels that time a chain of dependent operations.

    Such a case has no ceiling and a single block.
    """
    single = rows[(rows["kind"] == "latency") & (rows["grid_size"] == 1)]
    own = (
        single["own_cycles_per_iteration"]
        if "own_cycles_per_iteration" in single
        else pd.Series(np.nan, single.index)
    )
    timed = own.notna() & single["new_own_cycles"].notna()
    cycles = own.where(timed, single["cycles_per_iteration"])
    new = single["new_own_cycles"].where(timed, single["new_cycles"])
    table = pd.DataFrame(
        dict(
            experiment=single["experiment"], family=single["family"], variant=single["variant"],
            cycles=cycles, new_cycles=new, ns=1e9 * cycles / single["sm_clock_hz"],
            new_ns=1e9 * new / single["new_sm_clock_hz"],
        )
    )  # fmt: skip
    return table.drop_duplicates(["family", "variant"]).sort_values("cycles", ignore_index=True)
