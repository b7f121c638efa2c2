# SPDX-License-Identifier: Apache-2.0
"""occbench compare, of two folders of `occbench attach`: which kernels of the program changed, and how.

Kernels are matched by name, grid and block, and by shared memory, arguments, NVTX range and a green context's
SMs as well where both runs have the same ones; else signatures that share a name, grid and block are merged.
Compared is the median untouched launch. It moves between two runs of the same build, too: see MARGIN.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from occbench_tools.attached.folder import SHAPE, Attached
from occbench_tools.attached.text import is_in_graph
from occbench_tools.caps.timing import CONFIDENCE, interval
from occbench_tools.compare.verdicts import AMBIGUOUS, FASTER, SAME, SLOWER

# The change that 95 % of kernels of over 20 launches did not exceed in two runs of one transformer layer on
# one H100: 2.2 %.
MARGIN = 0.022
THRESHOLD = 0.03  # least change that counts: clear of MARGIN
NAME_KEY = ["kernel", *SHAPE]
KEY = [*NAME_KEY, "signature"]


@dataclass
class Changes:
    """kernels: a row for each common kernel, most GPU time of the old run first. gone, new_ones: others."""

    old: Attached
    new: Attached
    threshold: float
    kernels: pd.DataFrame
    gone: pd.DataFrame
    new_ones: pd.DataFrame

    @property
    def verdicts(self) -> dict[str, int]:
        return self.kernels["change_verdict"].value_counts().to_dict()


def compare(old: Attached, new: Attached, threshold: float | None) -> Changes:
    """Compares two folders read with launches; threshold: a fraction. LookupError without a common kernel."""
    sides = [
        rows_by_key(folder, kernels)
        for folder, kernels in zip((old, new), add_signatures(old, new), strict=True)
    ]
    both = sides[0].index.intersection(sides[1].index, sort=False)
    if both.empty:
        raise LookupError(f"{old.path} and {new.path} have no kernel in common")
    limit = threshold or THRESHOLD
    pairs = sides[0].loc[both].join(sides[1].loc[both].add_suffix("_new"))
    kernels = judge_pairs(pairs, limit).reset_index()
    gone, more = (
        side.loc[~side.index.isin(both)].reset_index().sort_values("share", ascending=False, kind="stable")
        for side in sides
    )
    return Changes(old, new, limit, kernels, gone, more)


def add_signatures(old: Attached, new: Attached) -> list[pd.DataFrame]:
    """Both folders' kernels with `signature`: shared memory, arguments, part of the SMs and NVTX range where
    the other run has the same ones under that name, grid and block; else empty.
    """
    sides = []
    for folder in (old, new):
        kernels = folder.kernels[~is_in_graph(folder.kernels)]  # their times are the graph's
        own = kernels["dynamic_smem_bytes"].astype(str) + " B " + kernels["arguments"].fillna("").astype(str)
        sms = kernels["part_sms"].map(lambda n: f" {n:.0f} SMs" if n > 0 else "")  # NaN: on all
        own += sms.astype(str)  # for pandas 3 without rows, too
        own += " " + kernels["range"].fillna("").astype(str)
        sides.append(kernels.assign(signature=own))
    sets = [side.groupby(NAME_KEY)["signature"].agg(frozenset) for side in sides]
    both = sets[0].index.intersection(sets[1].index)
    alike = both[(sets[0].loc[both] == sets[1].loc[both]).to_numpy()]
    return [
        side.assign(
            signature=side["signature"].where(pd.MultiIndex.from_frame(side[NAME_KEY]).isin(alike), "")
        )
        for side in sides
    ]


def rows_by_key(folder: Attached, kernels: pd.DataFrame) -> pd.DataFrame:
    """A row for each of KEY: the sums over its kernels, and their untouched launches.

    The occupancy and verdict are those of the kernel with the most GPU time.
    """
    groups = kernels.groupby(KEY, sort=False)
    columns_of_first = ["registers_per_thread", "blocks_per_sm", "occupancy", "verdict", "range", "part_sms"]
    first = groups[columns_of_first].first()
    sums = groups.agg(
        signatures=("kernel_id", "size"), launches=("launches", "sum"), share=("gpu_time_share", "sum"),
        time_total_s=("time_total_s", "sum"), captured=("captured", "sum"),
    )  # fmt: skip
    timed = (sums["launches"] - sums.pop("captured")).where(lambda count: count > 0)
    found = first.join(sums).assign(time_mean_s=sums["time_total_s"] / timed)
    launches = folder.launches
    assert launches is not None
    counts = launches["warm_up"] + launches["overlapped"] == 0
    launches = launches[counts & (launches["arm"] == "untouched")]
    times = launches.join(kernels.set_index("kernel_id")[KEY], on="kernel_id").groupby(KEY)["time_s"]
    columns = ["median_s", "low_s", "high_s", "samples", "is_mixed"]
    medians = {key: middle(values.to_numpy(), folder.findings["limits"]) for key, values in times}
    rows = [medians.get(key, (np.nan, np.nan, np.nan, 0, False)) for key in found.index]
    return found.join(pd.DataFrame(rows, index=found.index, columns=columns))


def middle(times: np.ndarray, limits: dict[str, float]) -> tuple[float, float, float, int, bool]:
    """Median, its 95 % interval, launches, and whether they are of several kinds; NaN for too few.

    limits: as findings.json of attach has them.
    """
    if len(times) < limits["least_samples"] or np.median(times) <= 0:
        return np.nan, np.nan, np.nan, len(times), False
    median, low, high = interval(times, CONFIDENCE)
    away = np.abs(times - median) / median
    spread, elsewhere = limits["most_spread"], limits["most_elsewhere"]
    is_mixed = np.median(away) > spread or (away > 2 * spread).mean() > elsewhere
    return median, low, high, len(times), bool(is_mixed)


def judge_pairs(pairs: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """The pairs with change, change_low, change_high (of the time, fractions), change_verdict and note."""
    change = pairs["median_s_new"] / pairs["median_s"] - 1
    errors = [(pairs[f"high_s{s}"] - pairs[f"low_s{s}"]) / 2 / pairs[f"median_s{s}"] for s in ("", "_new")]
    half = (1 + change) * np.sqrt(errors[0] ** 2 + errors[1] ** 2 + MARGIN**2)
    low, high = change - half, change + half
    few = change.isna()
    mixed = pairs["is_mixed"] | pairs["is_mixed_new"]
    change, low, high = (values.mask(mixed) for values in (change, low, high))
    far, near = change.abs() >= threshold, change.abs() < threshold
    verdict = np.select(
        [few | mixed, far & (low > 0), far & (high < 0), near & (np.maximum(high, -low) < 2 * threshold)],
        [AMBIGUOUS, SLOWER, FASTER, SAME], AMBIGUOUS,
    )  # fmt: skip
    note = np.select(
        [few, mixed, verdict == AMBIGUOUS],
        ["too few launches", "launches of several kinds", "too close to call"], "",
    )  # fmt: skip
    return pairs.assign(change=change, change_low=low, change_high=high, change_verdict=verdict, note=note)


def total_change(changes: Changes) -> tuple[float, float, float, float] | None:
    """Change of the GPU time of the judged kernels, each launched as often as in the old run; its interval;
    and their share of the old run's GPU time. None without any.
    """
    rows = changes.kernels
    rows = rows[rows["change"].notna()]
    before = (rows["launches"] * rows["median_s"]).sum()
    if not before > 0:
        return None
    weight = rows["launches"] * rows["median_s"] / before
    change = (weight * rows["change"]).sum()
    half = (rows["change_high"] - rows["change_low"]) / 2
    # Errors of single kernels cancel; those of the run as a whole do not.
    own = np.sqrt(np.maximum(half**2 - ((1 + rows["change"]) * MARGIN) ** 2, 0))
    error = np.hypot(np.sqrt(((weight * own) ** 2).sum()), (1 + change) * MARGIN)
    return float(change), float(change - error), float(change + error), float(rows["share"].sum())
