# SPDX-License-Identifier: Apache-2.0
"""SAME, FASTER, SLOWER or AMBIGUOUS: one case measured in two runs.

What is compared is the cost of a unit of work, on a log scale: seconds, SM cycles, seconds at a reference
SM clock, or the inverse of the share of the device's own ceiling. At a reference clock a case takes the SM
cycles that it took, or, where DRAM or the L2 binds it, the seconds: they keep their clocks when the SMs'
moves.
Launches of one visit follow one another within milliseconds and count as one: a visit contributes its median
once. Two runs differ by the Hodges-Lehmann estimate (the median over all pairs of visits), with the
95 % interval that belongs to the Mann-Whitney test.

That test alone would call nearly every rerun different, since each process places its data anew. Tested is
therefore whether the difference exceeds that between two processes of the same build: `margin` is that
allowance; see MARGIN and SPREAD_SHARE. The p-values are corrected by Benjamini and Hochberg.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from occbench_tools import stats
from occbench_tools.folder import Folder

SAME, FASTER, SLOWER, AMBIGUOUS = "SAME", "FASTER", "SLOWER", "AMBIGUOUS"
MEASURES = ("reference", "time", "cycles", "ceiling")
LEVEL = 0.05  # of the false discovery rate, and 1 - that of the intervals

# How far medians of one build move from process to process, and from card to card, as fractions: what 95 %
# of 1,769 cases keep to in six pairs of runs on one H200 (0.26-0.29 %), and nearly all of them do between
# two H200s (98 % within 1.9 %).
MARGIN = {"same device": 0.0025, "same kind of device": 0.01, "different devices": 0.01}
# Least change that is reported: clear of these margins.
THRESHOLD = {"same device": 0.005, "same kind of device": 0.03, "different devices": 0.03}
# A case whose launches scatter may find another mix of speeds in the next process. Where a case's visits lie
# over the whole run, as from schema 5 on, its own interval knows that: in a pair of runs on one H200 96 % of
# the cases that scatter by 1 % keep to it. Before, half of the medians that moved by more than 0.5 % moved by
# less than 0.3 of the distance from p10 to p90.
SPREAD_SHARE = 0.1
SPREAD_SHARE_OF_OLD = 0.4
ROUNDS_SINCE = 5  # schema_version: a case's visits lie over the whole run
MODEL_CHANCE = 0.03  # differences that the model's simulation leaves to chance
# With fewer visits no order of the ranks is improbable enough among some thousand cases, and Welch's t test
# takes the place of Mann and Whitney's.
FEW_VISITS = 12
MANY_VISITS = 50  # from here on the normal law is as good, and the exact one takes minutes
SEVERAL_SPEEDS = 0.02  # from p10 to p90: enough to be named as the reason
OWN_CLOCK = ("DRAM", "L2")  # of bound_predicted
SM_BINDS = ("shared memory", "issue", "pipe", "L1", "register port")
MIXED = 0.01  # level of the test whether two runs have the same mix of two speeds


def default_threshold(relation: str, model: bool) -> float:
    """The least change that counts between runs of such devices, a fraction."""
    return max(THRESHOLD[relation], MODEL_CHANCE * model)


@dataclass
class Visits:
    """Visit medians of one run, case after case: logs of seconds and of SM cycles."""

    time: np.ndarray
    cycles: np.ndarray
    cases: pd.DataFrame  # by case_id: start, count; time_spread, ... (log p90/p10 of all launches)


def visits_of(folder: Folder) -> Visits:
    """Samples that count, one number per visit. ValueError where a time is zero."""
    rows = folder.samples
    if rows is None or rows.empty:
        columns = ["start", "count", "time_spread", "cycles_spread"]
        none = np.empty(0)
        return Visits(none, none, pd.DataFrame(columns=columns, dtype=float))
    rows = rows[rows["discarded"] == 0]
    if (rows[["time_s", "sm_clock_hz"]] <= 0).any(axis=None):
        raise ValueError("samples.csv: a time or a clock of 0 is none")
    logs = pd.DataFrame(
        dict(
            case_id=rows["case_id"],
            visit=rows["repetition"] * (rows["round"].max() + 1) + rows["round"],
            time=np.log(rows["time_s"]),
            cycles=np.log(rows["time_s"]) + np.log(rows["sm_clock_hz"]),
        )
    )
    by_visit = logs.groupby(["case_id", "visit"], observed=True)[["time", "cycles"]].median()
    counts = by_visit.groupby(level="case_id", observed=True).size()
    ends = logs.groupby("case_id", observed=True)[["time", "cycles"]].quantile([0.1, 0.9])
    spread = ends.xs(0.9, level=1) - ends.xs(0.1, level=1)
    cases = pd.DataFrame(
        dict(
            start=counts.cumsum() - counts,
            count=counts,
            time_spread=spread["time"],
            cycles_spread=spread["cycles"],
        )
    )
    cases.index = cases.index.astype(object)
    return Visits(by_visit["time"].to_numpy(), by_visit["cycles"].to_numpy(), cases)


def keeps_seconds(rows: pd.DataFrame) -> np.ndarray:
    """Which rows take the same seconds at another SM clock: DRAM and the L2 keep their clocks.

    By the bound that the model predicts; where that is unknown or not a unit, by the ceiling. In two pairs of
    runs on H100s whose clock rose from 1,980 to 1,995 MHz in the first, 550 cases that DRAM or the L2 binds
    follow 0.03 of it in the median, whatever their ceiling, and 926 that the SM's own units bind 0.96.
    A case's own samples show less: within a run the clock moves too little.
    """
    bound = rows["bound_predicted"] if "bound_predicted" in rows else pd.Series("", rows.index)
    by_ceiling = (rows["ceiling_kind"] == "dram") & ~bound.isin(SM_BINDS)
    return (bound.isin(OWN_CLOCK) | by_ceiling).to_numpy()


def has_dram_ceiling(rows: pd.DataFrame) -> np.ndarray:
    """Which rows have DRAM as their ceiling, which is in bytes per second."""
    return (rows["ceiling_kind"] == "dram").to_numpy()


def unit_costs(rows: pd.DataFrame, sms: int) -> pd.DataFrame:
    """Per case the offset from the log of a launch's seconds (cycles) to the log cost of a unit of work.

    cycles are those of the SMs that the grid reaches; ceiling is NaN where a case has none.
    """
    work = rows["throughput"] * rows["time_median_s"]
    factors = dict(
        time=1 / work, cycles=rows["grid_size"].clip(upper=sms) / work, ceiling=rows["ceiling"] / work
    )
    factors["reference"] = factors["time"]
    costs = pd.DataFrame(factors)
    return np.log(costs.where((costs > 0) & np.isfinite(costs)))


def summary_shift(
    base: pd.DataFrame, other: pd.DataFrame, offset: pd.DataFrame, still: np.ndarray
) -> pd.DataFrame:
    """Differences of the log costs by the medians of cases.csv alone, for each measure.

    still: the cases whose seconds, not cycles, count at a reference clock.
    """
    time = np.log(other["time_median_s"].to_numpy()) - np.log(base["time_median_s"].to_numpy())
    clock = np.log(other["sm_clock_hz"].to_numpy()) - np.log(base["sm_clock_hz"].to_numpy())
    raw = dict(time=time, cycles=time + clock, reference=np.where(still, time, time + clock), ceiling=time)
    return pd.DataFrame({measure: raw[measure] + offset[measure] for measure in MEASURES}, index=offset.index)


def shifts(
    base: np.ndarray,
    other: np.ndarray,
    places: pd.DataFrame,
    offset: np.ndarray,
    margin: np.ndarray,
    test: bool = True,
) -> pd.DataFrame:
    """Hodges-Lehmann estimate, interval, Cliff's delta and p-value for every case of `places`.

    places: start_base, count_base, start, count. offset is added to every difference other - base. p_value is
    of the tests of a shift beyond +margin and below -margin: twice the smaller. NaN without
    two visits on either side, and without `test`.
    """
    columns = ["shift", "low", "high", "cliffs_delta", "p_value"]
    found = np.full((len(places), len(columns)), np.nan)
    keys = places[["count_base", "count"]].to_numpy()
    for m, n in np.unique(keys[(keys >= 2).all(axis=1)], axis=0):
        where = np.flatnonzero((keys == (m, n)).all(axis=1))
        z = NormalDist().inv_cdf(1 - LEVEL / 2)
        rank = max(int(np.floor(m * n / 2 - z * np.sqrt(m * n * (m + n + 1) / 12))), 0)
        for some in np.array_split(where, -(-len(where) * m * n // 4_000_000)):
            a, b = (
                values[places[start].to_numpy()[some][:, None] + np.arange(count)]
                for values, start, count in ((base, "start_base", m), (other, "start", n))
            )
            b = b + offset[some][:, None]
            pairs = np.sort((b[:, :, None] - a[:, None, :]).reshape(len(some), m * n), axis=1)
            found[some, :4] = np.column_stack(
                [
                    np.median(pairs, axis=1),
                    pairs[:, rank],
                    pairs[:, m * n - 1 - rank],
                    np.sign(pairs).mean(axis=1),
                ]
            )
            if test:
                allowed = margin[some][:, None]
                longer = greater_tail(b - allowed, a)
                shorter = greater_tail(a, b + allowed)
                found[some, 4] = np.minimum(1, 2 * np.minimum(longer, shorter))
    return pd.DataFrame(found, index=places.index, columns=columns)


def greater_tail(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """p-values, a row each, of b being greater than a."""
    if min(a.shape[1], b.shape[1]) >= FEW_VISITS:
        return stats.mann_whitney(b, a, max(a.shape[1], b.shape[1]) < MANY_VISITS)
    # Two equal visits have no spread, so the test says nothing.
    return np.nan_to_num(stats.welch(b, a), nan=1)


def judge(found: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Adds q_value, verdict and note to rows of shifts() with margin, spread, chance and model.

    low and high are widened by the margin, in quadrature: they bound the difference of the two builds, not of
    the two processes. `chance`: the part of the margin from the case's own clock; `share`: the part of the
    spread that is allowed.
    """
    edge = np.log1p(threshold)
    q_value = pd.Series(np.nan, found.index)
    tested = found["p_value"].notna()
    if tested.any():
        q_value[tested] = stats.false_discovery(found.loc[tested, "p_value"].to_numpy())
    far = found["shift"].abs() >= edge
    low = found["shift"] - np.hypot(found["shift"] - found["low"], found["margin"])
    high = found["shift"] + np.hypot(found["high"] - found["shift"], found["margin"])
    sure = (q_value <= LEVEL) | found["model"]
    # Twice the threshold: once would leave many reruns AMBIGUOUS, since margin and interval are wide.
    near = ~far & ((np.maximum(high, -low) < 2 * edge) | found["model"])
    verdict = np.select(
        [far & sure & (found["shift"] > 0), far & sure, near], [SLOWER, FASTER, SAME], AMBIGUOUS
    )
    clock = found["chance"] > np.maximum(found["share"] * found["spread"], edge)
    note = np.select(
        [
            verdict != AMBIGUOUS,
            found["shift"].isna(),
            clock,
            found["spread"] > SEVERAL_SPEEDS,
            far & (found["visits"] < FEW_VISITS),
        ],
        [
            "",
            found["why"],
            "its SM clock changed, unlike the others'",
            "launches have more than one speed",
            "too few visits",
        ],
        "too close to call",
    )
    return found.assign(low=low, high=high, q_value=q_value, verdict=verdict, note=note)


def speeds_of(
    a: pd.DataFrame, b: pd.DataFrame, offset: pd.Series, clock: np.ndarray | pd.Series | int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Log changes of the `fast` and the `slow` launches where both runs have two speeds, else NaN; and which
    of these cases have another mix of them, by Fisher's exact test at 1 %.

    clock: the addend to the seconds' change where it is judged at one SM clock.
    """
    sides = [rows.reindex(columns=["time_fast_s", "time_slow_s", "slow_share", "samples"]) for rows in (a, b)]
    add = offset.to_numpy() + np.asarray(clock)
    found = pd.DataFrame(
        {
            name: np.log(sides[1][f"time_{name}_s"].to_numpy() / sides[0][f"time_{name}_s"].to_numpy()) + add
            for name in ("fast", "slow")
        }
    )
    mixed = np.zeros(len(found), bool)
    for i in np.flatnonzero(found.notna().all(axis=1)):
        slow, whole = ([side[name].iloc[i] for side in sides] for name in ("slow_share", "samples"))
        counts = [round(part * n) for s, n in zip(slow, whole, strict=True) for part in (s, 1 - s)]
        mixed[i] = stats.fisher(*counts) < MIXED
    return found, mixed


def settle_speeds(judged: pd.DataFrame, changes: pd.DataFrame, mixed: np.ndarray, threshold: float) -> None:
    """Judges cases with visits whose two speeds both stayed, in place: their median may be either speed."""
    stayed = ((changes.abs() < np.log1p(threshold)).all(axis=1) & judged["shift"].notna()).to_numpy()
    judged.loc[stayed & mixed, ["verdict", "note"]] = AMBIGUOUS, "the same two speeds, in another mix"
    judged.loc[stayed & ~mixed, ["verdict", "note"]] = SAME, ""


@dataclass
class Matched:
    """Rows of two runs, pair by pair, and the arrays over all pairs.

    offset: difference of the log costs besides time, by measure. places: positions of a pair's visits in
    `visits`. spreads: p10 to p90 of each side's launches. still: whether seconds, not cycles, count at a
    reference clock. clock: log change of the SM clock. margin_share: allowed part of the spread.
    """

    base: pd.DataFrame
    other: pd.DataFrame
    offset: pd.DataFrame
    visits: list[Visits]
    places: pd.DataFrame
    spreads: list[pd.DataFrame]
    still: np.ndarray
    summary: pd.DataFrame
    clock: pd.Series
    is_modelled: bool
    margin_share: float

    def shifts(self, measure: str, relation: str, test: bool) -> pd.DataFrame:
        """shifts() of one measure, with margin, spread and chance."""
        by_time = dict(time=True, cycles=False, reference=self.still, ceiling=True)[measure]
        # Ceilings of DRAM do not change with the SM clock; the others do.
        clocked = dict(time=1, cycles=0, reference=0, ceiling=has_dram_ceiling(self.other))[measure]
        spreads = [np.where(by_time, side["time_spread"], side["cycles_spread"]) for side in self.spreads]
        spread = np.nan_to_num(np.maximum(*spreads))
        chance = (self.clock - self.clock.median()).abs().fillna(0) * clocked
        margin = np.maximum(np.maximum(self.margin_share * spread, chance), MARGIN[relation])
        values = [np.concatenate([v.time, v.cycles]) for v in self.visits]
        at = self.places.copy()
        for start, v in zip(("start_base", "start"), self.visits, strict=True):
            at[start] += np.where(by_time, 0, len(v.time))
        found = shifts(*values, at, self.offset[measure].to_numpy(), margin.to_numpy(), test)
        if self.is_modelled:  # it has no samples
            found = found.assign(
                shift=self.summary[measure], low=np.nan, high=np.nan, p_value=np.nan, cliffs_delta=np.nan
            )
        return found.assign(margin=margin, spread=spread, chance=chance)

    def judge(self, measured: dict[str, pd.DataFrame], by: str, threshold: float) -> pd.DataFrame:
        """judge() of the measure `by`, or of cycles where a case has no ceiling; column `by` says which."""
        chosen = np.where(measured[by]["shift"].isna() & (by == "ceiling"), "cycles", by)
        table = measured[by].copy()
        table[chosen != by] = measured["cycles"][chosen != by]
        table["model"], table["share"] = self.is_modelled, self.margin_share
        table["visits"] = np.minimum(self.places["count_base"], self.places["count"])
        few = np.where(table["visits"] == 0, "no samples", "too few visits")
        table["why"] = np.where(self.offset["cycles"].notna(), few, "its work is counted differently")
        judged = judge(table, threshold)
        if not self.is_modelled and by != "ceiling":
            clock = {"cycles": self.clock, "reference": np.where(self.still, 0, self.clock)}.get(by, 0)
            speeds = speeds_of(self.base, self.other, self.offset["time"], clock)
            settle_speeds(judged, *speeds, threshold)
        return judged.assign(by=chosen)


def match(base: Folder, other: Folder, pairs: pd.DataFrame) -> Matched:
    """The rows of `pairs` (base_case_id, case_id) side by side."""
    rows = [folder.valid.set_index("case_id") for folder in (base, other)]
    a, b = rows[0].loc[pairs["base_case_id"]], rows[1].loc[pairs["case_id"]]
    sms = [int(folder.env["gpu"].get("sm_count") or 1 << 30) for folder in (base, other)]
    costs = [unit_costs(r, n).reset_index(drop=True) for r, n in zip((a, b), sms, strict=True)]
    offset = costs[1] - costs[0]
    alike = pd.Series(a["throughput_unit"].to_numpy() == b["throughput_unit"].to_numpy())
    offset = offset.where(alike, np.nan)
    kinds = a["ceiling_kind"].to_numpy() == b["ceiling_kind"].to_numpy()
    offset["ceiling"] = offset["ceiling"].where(kinds, np.nan)
    visits = [visits_of(folder) for folder in (base, other)]
    spreads = [v.cases.reindex(ids).reset_index(drop=True) for v, ids in
            zip(visits, (pairs["base_case_id"], pairs["case_id"]), strict=True)]  # fmt: skip
    places = pd.concat(
        [spreads[0][["start", "count"]].add_suffix("_base"), spreads[1][["start", "count"]]], axis=1
    )
    still = keeps_seconds(a) & keeps_seconds(b)  # of both: two runs of one case may have different bounds
    summary = summary_shift(a, b, offset, still)
    new = all(folder.env["schema_version"] >= ROUNDS_SINCE for folder in (base, other))
    return Matched(
        base=a,
        other=b,
        offset=offset,
        visits=visits,
        places=places.fillna(0).astype(int),
        spreads=spreads,
        still=still,
        summary=summary,
        clock=summary["cycles"] - summary["time"] - (offset["cycles"] - offset["time"]),
        is_modelled=base.is_modelled or other.is_modelled,
        margin_share=SPREAD_SHARE if new else SPREAD_SHARE_OF_OLD,
    )


def compare_cases(base: Folder, other: Folder, pairs: pd.DataFrame, relation: str, by: str,
                  threshold: float) -> pd.DataFrame:  # fmt: skip
    """A row for each row of `pairs` (base_case_id, case_id), with the verdict and all measures.

    `by` is the measure that is asked for; cases without a ceiling are judged by cycles instead, and the
    column `by` says so. change, change_low, change_high: the cost's relative change (fraction; positive:
    costs more); time_change, cycles_change and so on: the same of each measure.
    """
    matched = match(base, other, pairs)
    tested = {by, "cycles"} if by == "ceiling" else {by}
    measured = {measure: matched.shifts(measure, relation, measure in tested) for measure in MEASURES}
    judged = matched.judge(measured, by, threshold)
    head = matched.other.reset_index()[["experiment", "family", "variant"]]
    changes = {f"{m}_change": np.expm1(measured[m]["shift"]) for m in MEASURES}
    return pd.concat([pairs.reset_index(drop=True), head], axis=1).assign(
        verdict=judged["verdict"],
        by=judged["by"],
        change=np.expm1(judged["shift"]),
        change_low=np.expm1(judged["low"]),
        change_high=np.expm1(judged["high"]),
        **changes,
        cliffs_delta=judged["cliffs_delta"],
        p_value=judged["p_value"],
        q_value=judged["q_value"],
        spread=np.expm1(judged["spread"]),
        visits_base=matched.places["count_base"],
        visits=matched.places["count"],
        base_time_s=matched.base["time_median_s"].to_numpy(),
        time_s=matched.other["time_median_s"].to_numpy(),
        base_percent_of_ceiling=matched.base["percent_of_ceiling"].to_numpy(),
        percent_of_ceiling=matched.other["percent_of_ceiling"].to_numpy(),
        note=judged["note"],
    )
