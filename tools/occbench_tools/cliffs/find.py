# SPDX-License-Identifier: Apache-2.0
"""Cliffs of all sweeps of a run as one table: where theory has them, and where only the data do."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools import stats
from occbench_tools.analysis import l1_kib
from occbench_tools.cliffs.steps import POINTS, Step, find_steps
from occbench_tools.cliffs.sweeps import Sweep, changed, find_sweeps

COLUMNS = [
    "experiment", "family", "kernel", "sweep", "dial", "from_value", "to_value", "from_case_id",
    "to_case_id", "cause", "predicted", "blocks_from", "blocks_to", "drop", "drop_low", "drop_high",
    "p_value", "verdict", "note",
]  # fmt: skip
SMALLEST = 0.01  # least drop that matters, a fraction
# Standard deviation of a case's throughput from process to process: the median over the 1,769 cases of four
# `standard` runs of one build on an H200. No interval of a single run holds it.
REPEATS = 0.0006
CAUSES = {
    "registers": "register unit", "blocks": "block slot", "warps": "warp slot",
    "shared_memory": "shared memory", "barriers": "barrier",
}  # fmt: skip
UNEXPLAINED = "unexplained"  # in the note of an absent cliff that no cell of its rows accounts for
EXACT = 8  # times on a side, up to which all orders of the ranks are counted
CEILING = 90  # percent from which a ceiling explains that nothing is lost


def find_cliffs(
    cases: pd.DataFrame, env: dict[str, Any], samples: pd.DataFrame | None = None, notes: bool = True
) -> pd.DataFrame:
    """A row per cliff, with COLUMNS; cases and env as analysis.read_folder gives them.

    from and to are neighbours on a sweep's dial, from_value the smaller. drop is 1 - throughput(to) /
    throughput(from), negative for a gain, with its 95 % interval; of an unpredicted cliff it is the step
    beyond the trend on both sides. p_value: of no difference (predicted; by Mann-Whitney where `samples`,
    samples.csv, are given), or of such a step anywhere in the sweep by noise alone (unpredicted).
    verdict: confirmed (it goes as theory says, beyond noise), absent (what theory says is less than SMALLEST
    by the whole interval), unclear (neither), unpredicted. A modelled run has no intervals. Without `notes`,
    which take a tenth of the time, predicted cliffs have none.
    """
    times = None
    if samples is not None:
        good = samples[(samples["repetition"] == 0) & (samples["discarded"] == 0)]
        times = {case: part.to_numpy() for case, part in good.groupby("case_id", observed=True)["time_s"]}
    modelled = env.get("source") == "model"
    found = [row for sweep in find_sweeps(cases) for row in cliffs_of(sweep, env, times, modelled, notes)]
    rank_tests(found)
    return pd.DataFrame(found, columns=COLUMNS)


def rank_tests(found: list[dict[str, Any]]) -> None:
    """Puts the p-value of Mann and Whitney's test in every row that brings `sides`, its two lots of times.

    Lots of one size are tested at once. Those of eight or less are not: there each pair's ties decide
    whether the test is exact.
    """
    alike: dict[object, list[dict[str, Any]]] = defaultdict(list)
    for place, row in enumerate(found):
        if "sides" in row:
            sizes = tuple(map(len, row["sides"]))
            alike[sizes if min(sizes) > EXACT else place].append(row)
    for rows in alike.values():
        a, b = (np.stack([row["sides"][side] for row in rows]) for side in (0, 1))
        for row, p_value in zip(rows, stats.mann_whitney_two_sided(a, b, EXACT), strict=True):
            row["p_value"] = float(p_value)


def cliffs_of(
    sweep: Sweep, env: dict[str, Any], times: dict[str, np.ndarray] | None, modelled: bool, notes: bool
) -> list[dict[str, Any]]:
    """Those of one sweep, in the order of its dial."""
    records, found, known = sweep.records, {}, []
    for place, (a, b) in enumerate(pairwise(records)):
        causes, sign = predicted_causes(a, b, sweep.dial)
        if causes:
            row = base(sweep, a, b) | dict(cause=" + ".join(causes), predicted=True) | drop_of(a, b, times)
            row["verdict"] = verdict(row, sign)
            row["note"] = note(row, a, b, sign, sweep, modelled) if notes else ""
            found[place] = row
            if row["verdict"] == "confirmed" or abs(row["drop"]) > SMALLEST:
                known.append(place)
    # Without noise every bend of a simulation would be certain.
    if modelled or len(records) < POINTS:
        return list(found.values())
    low, high, middle = map(sweep.column, ("time_ci95_low_s", "time_ci95_high_s", "time_median_s"))
    with np.errstate(all="ignore"):
        half = (high - low) / 2 / middle
    noise = float(np.hypot(np.median(np.where(np.isnan(half), 0, half)) / 1.96, REPEATS))
    for step in find_steps(sweep.column(sweep.dial), sweep.column("throughput"), SMALLEST, noise, known):
        a, b = records[step.place : step.place + 2]
        low, high = (step.height + step.half, step.height - step.half)
        row = base(sweep, a, b) | dict(cause=guess(sweep, step, env), predicted=False)
        row |= {name: 1 - np.exp(value) for name, value in
                (("drop", step.height), ("drop_low", low), ("drop_high", high))}  # fmt: skip
        also = changed(a, b, sweep.dial)
        row |= dict(p_value=step.p_value, verdict="unpredicted")
        row["note"] = "beyond the trend on both sides" + (f"; also {', '.join(also)}" if also else "")
        found[step.place] = row
    return [found[place] for place in sorted(found)]


def base(sweep: Sweep, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """What every row has: where the cliff is."""
    return dict(
        experiment=sweep.experiment, family=sweep.family, kernel=sweep.kernel, sweep=sweep.name,
        dial=sweep.dial, from_value=a[sweep.dial], to_value=b[sweep.dial], from_case_id=a["case_id"],
        to_case_id=b["case_id"], blocks_from=int(a["blocks_per_sm"]), blocks_to=int(b["blocks_per_sm"]),
    )  # fmt: skip


def predicted_causes(a: dict[str, Any], b: dict[str, Any], dial: str) -> tuple[list[str], int]:
    """Why theory has a cliff between two rows; and +1 where it says a loss, -1 a gain, 0 both."""
    causes, signs = [], set()
    if a["warps_per_sm"] != b["warps_per_sm"]:
        fewer = b if b["warps_per_sm"] < a["warps_per_sm"] else a
        causes += [CAUSES.get(name, name) for name in str(fewer["limiters"]).split("+")]
        signs.add(1 if fewer is b else -1)
    spills = [row["local_bytes"] if row["local_bytes"] > 0 else 0 for row in (a, b)]
    if min(spills) == 0 < max(spills):
        causes.append("spill onset")
        signs.add(1 if spills[1] else -1)
    if dial == "grid_size" and np.ceil(a["waves"]) != np.ceil(b["waves"]):
        causes.append("tail")
        signs.add(1 if filled(b) < filled(a) else -1)
    return causes, signs.pop() if len(signs) == 1 else 0


def filled(row: dict[str, Any]) -> float:
    """The part of its waves that a grid fills."""
    return row["waves"] / np.ceil(row["waves"])


def drop_of(a: dict[str, Any], b: dict[str, Any], times: dict[str, np.ndarray] | None) -> dict[str, Any]:
    """drop, drop_low, drop_high and p_value of two rows; the last three are empty without intervals. And
    `sides` where there are `times` of both, for rank_tests().

    Intervals of logarithms add in quadrature, and what changes from process to process comes on top.
    """
    ratio = b["throughput"] / a["throughput"]
    result = dict(drop=1 - ratio, drop_low=np.nan, drop_high=np.nan, p_value=np.nan)
    if not 0 < ratio < np.inf:  # of rates that no double can divide
        return result
    (a_low, a_high), (b_low, b_high) = (
        [abs(math.log(row[f"time_ci95_{end}_s"] / row["time_median_s"])) for end in ("low", "high")]
        for row in (a, b)
    )
    repeats = 1.96 * REPEATS * math.sqrt(2)
    down, up = math.hypot(a_low, b_high, repeats), math.hypot(a_high, b_low, repeats)
    if math.isnan(down + up):
        return result
    result |= dict(drop_low=1 - ratio * math.exp(up), drop_high=1 - ratio * math.exp(-down))
    result["p_value"] = 2 * float(stats.normal_tail(abs(math.log(ratio)) / ((down + up) / 2 / 1.96)))
    if times and a["case_id"] in times and b["case_id"] in times:
        # A kernel's work per launch may change along a dial: times of the same work are compared.
        work = a["time_median_s"] / b["time_median_s"] / ratio
        result["sides"] = times[a["case_id"]], times[b["case_id"]] * work
    return result


def oriented(row: dict[str, Any], sign: int) -> tuple[float, float, float]:
    """drop, its low and its high end as theory says it: positive where theory is right."""
    ends = [row["drop"] if pd.isna(row[name]) else row[name] for name in ("drop_low", "drop_high")]
    if (sign or np.sign(row["drop"])) < 0:
        return -row["drop"], -ends[1], -ends[0]
    return row["drop"], *ends


def verdict(row: dict[str, Any], sign: int) -> str:
    """By the interval of drop; sign: as predicted_causes gives it."""
    _, low, high = oriented(row, sign)
    if high < SMALLEST:
        return "absent"
    return "confirmed" if low > 0 else "unclear"


def percent(share: float) -> str:
    """One decimal, and no minus before zero."""
    return f"{round(100 * share, 1) + 0.0:.1f}"


def loss_or_gain(drop: float, low: float = np.nan, high: float = np.nan) -> str:
    """A drop (fraction) and its interval for people: '12.5 % (12.1 to 12.9)'; from twice on 'gain x 2.31'."""
    if drop < -1:
        ends = "" if np.isnan(low) else f" ({1 - high:.3g} to {1 - low:.3g})"
        return f"gain x {1 - drop:.3g}{ends}"
    return f"{percent(drop)} %" + ("" if np.isnan(low) else f" ({percent(low)} to {percent(high)})")


def expected_of(a: dict[str, Any], b: dict[str, Any]) -> float:
    """drop by the model; NaN where it said nothing."""
    said = (a["throughput_predicted"], b["throughput_predicted"])
    return 1 - said[1] / said[0] if min(said) > 0 else np.nan


def note(
    row: dict[str, Any], a: dict[str, Any], b: dict[str, Any], sign: int, sweep: Sweep, modelled: bool
) -> str:
    """What changes, what the model says; and why there is no cliff, where there is none."""
    words = []
    if a["warps_per_sm"] != b["warps_per_sm"]:
        words.append(f"{a['warps_per_sm']:g} -> {b['warps_per_sm']:g} warps")
    if "tail" in row["cause"]:
        words.append(f"{a['waves']:.5g} -> {b['waves']:.5g} waves, {100 * filled(a):.0f} -> "
                     f"{100 * filled(b):.0f} % filled")  # fmt: skip
    if "spill onset" in row["cause"]:
        words.append(f"{a['local_bytes']:g} -> {b['local_bytes']:g} B spilled")
    expected = expected_of(a, b)
    if not pd.isna(expected) and not modelled:
        words.append(f"the model: {loss_or_gain(expected)}")
    if row["verdict"] == "unclear":
        words.append("the interval holds both none and one that matters")
    if row["verdict"] == "absent":
        words.append(why_absent(row, a, b, sign, expected, sweep))
    return "; ".join(words)


def turns_filled(row: dict[str, Any]) -> float:
    """The part of a scheduler's turns that its warps' FMAs fill, where the pipe is the bound.

    A dependent FMA waits for four cycles, and an SM has four schedulers: FMAs in flight come round by fours,
    and ten warps take as many rounds as twelve (experiment latency_hiding).
    """
    in_flight = row["warps_per_sm"] / 4 * (row["ilp"] if row["ilp"] > 0 else 1)
    return in_flight / (4 * np.ceil(in_flight / 4))


def why_absent(
    row: dict[str, Any], a: dict[str, Any], b: dict[str, Any], sign: int, expected: float, sweep: Sweep
) -> str:
    """The first reason that the rows themselves give."""
    bound, bounds = a["bound_predicted"], {a["bound_predicted"], b["bound_predicted"]}
    if oriented(row, sign)[2] < 0:  # the whole interval says the opposite
        spilled = [row["local_bytes"] for row in (a, b)]
        if expected * row["drop"] > 0 and abs(expected) > abs(row["drop"]) / 2:
            return "it goes the other way, as the model expects" + (f" ({bound})" if len(bounds) == 1 else "")
        if (spilled[1] - spilled[0]) * row["drop"] > 0:
            return f"it goes the other way: {spilled[0]:g} -> {spilled[1]:g} B spilled weigh more"
        turns = [turns_filled(row) for row in (a, b)]
        if a["ceiling_kind"] == "fp32" and (1 - turns[1] / turns[0]) / row["drop"] > 0.5:
            said = " -> ".join(f"{100 * part:.0f}" for part in turns)
            return f"it goes the other way: FMAs come round by fours, and {said} % of their turns are filled"
        if pd.notna(a["working_set_bytes"]):
            return "it goes the other way: fewer working sets share the caches"
        if abs(row["drop"]) > SMALLEST:
            return f"it goes the other way, {UNEXPLAINED}"
    reached = min(a["percent_of_ceiling"], b["percent_of_ceiling"])
    if reached >= CEILING:
        return f"both sides at {reached:.0f} % of the {a['ceiling_kind']} ceiling or more"
    of_best = min(a["throughput"], b["throughput"]) / np.fmax.reduce(sweep.column("throughput"))
    if of_best > 1 - SMALLEST:
        return f"both sides at {100 * of_best:.1f} % of the sweep's best or more"
    if abs(expected) < SMALLEST:
        return "the model expects none either" + (f" ({bound} on both sides)" if len(bounds) == 1 else "")
    share = abs(b["warps_per_sm"] / a["warps_per_sm"] - 1)
    if 0 < share < 0.05:
        return f"a change of {100 * share:.1f} % in warps is too small to tell"
    return f"{UNEXPLAINED}, and under {100 * SMALLEST:g} %"


def guess(sweep: Sweep, step: Step, env: dict[str, Any]) -> str:
    """The likeliest cause of a step that theory does not have, or 'unknown'."""
    a, b = sweep.records[step.place : step.place + 2]
    if sweep.dial == "working_set_bytes":
        l1 = 1024 * l1_kib(sweep.rows, env).iloc[step.place]
        for name, size in (("L1", l1), ("L2", env["gpu"].get("l2_bytes") or 0)):
            if a[sweep.dial] < size <= b[sweep.dial]:
                return f"{name} capacity?"
    clock = np.log(b["sm_clock_hz"] / a["sm_clock_hz"])
    if clock * step.height > 0 and abs(clock) > abs(step.height) / 2:
        return "SM clock?"
    for name, cause in (("local_bytes", "more spills?"), ("registers_per_thread", "other machine code?")):
        if a[name] != b[name] and not (pd.isna(a[name]) or pd.isna(b[name])):
            return cause
    return "unknown"
