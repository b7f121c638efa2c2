# SPDX-License-Identifier: Apache-2.0
"""Verdicts of compare on real samples: two processes of one card, changes planted in them, and pairs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("rich")

import numpy as np
import pandas as pd
from occbench_tools import stats
from occbench_tools.compare import verdicts
from occbench_tools.compare.align import align
from occbench_tools.folder import Folder, read_folder
from occbench_tools.untrusted_files import plain_or_packed, read_untrusted
from parts import FIRST, RERUN, scaled


@pytest.fixture(scope="module")
def whole() -> Folder:
    return read_folder(FIRST)


def judged(base: Folder, other: Folder, by: str = "time", threshold: float = 0.005) -> pd.DataFrame:
    pairs, _ = align(base.valid, other.valid, True)
    return verdicts.compare_cases(base, other, pairs, "same device", by, threshold).set_index("case_id")


@pytest.mark.slow
@pytest.mark.parametrize("by", verdicts.MEASURES)
def test_detects_synthetic_changes_between_processes(whole: Folder, by: str) -> None:
    """False verdicts at most 1 % of cases; of 2 % shifts 97 % found, of 1 % 80 % (85 at one SM clock)."""
    base, other = whole, read_folder(RERUN)
    calm = judged(base, other, by)
    assert len(calm) == len(whole.valid)
    assert calm["verdict"].isin([verdicts.FASTER, verdicts.SLOWER]).mean() <= 0.01
    assert (calm["verdict"] == verdicts.SAME).mean() > 0.9
    chance = np.random.default_rng(5)
    for size, least in ((0.02, 0.97), (0.01, 0.85 if by == "reference" else 0.80)):
        planted = chance.permutation(calm.index)[:500]
        sign = chance.choice([-1, 1], 500)
        found = judged(base, scaled(other, pd.Series((1 + size) ** sign, planted)), by)
        expected = np.where(sign > 0, verdicts.SLOWER, verdicts.FASTER)
        got = found.loc[planted, "verdict"].to_numpy()
        assert (got == expected).mean() >= least
        assert not np.any((got != expected) & np.isin(got, [verdicts.FASTER, verdicts.SLOWER]))
        rest = found.drop(planted)["verdict"]
        assert rest.isin([verdicts.FASTER, verdicts.SLOWER]).mean() <= 0.01
        shift = found.loc[planted, "change"] - ((1 + size) ** sign - 1)
        assert shift.abs().median() < 0.002


def test_bimodal_launches_are_ambiguous(whole: Folder) -> None:
    """A case that is 8 % slower in some visits: another mix of them is not a change that anybody can name."""
    case = "block_size.fma_chain.two-operand-ilp1.b256"
    runs = []
    for slow in ((1, 2, 3), (2, 3, 4, 5, 6, 7, 8, 9)):
        samples = whole.samples[whole.samples["case_id"] == case].copy()
        samples.loc[samples["round"].isin(slow), "time_s"] *= 1.08
        runs.append(Folder(whole.path, whole.cases[whole.cases["case_id"] == case], whole.env, samples))
    row = judged(*runs).loc[case]
    assert (row["verdict"], row["note"]) == (verdicts.AMBIGUOUS, "launches have more than one speed")


def of_two_speeds(whole: Folder, slow: int, faster_by: float = 1, slower_by: float = 1) -> Folder:
    """One case with `slow` of 30 launches 8 % slower, as its row says too; either speed may have changed."""
    case = "block_size.fma_chain.two-operand-ilp1.b256"
    row = whole.cases[whole.cases["case_id"] == case].copy()
    times = np.full(30, row["time_median_s"].iloc[0] * faster_by)
    times[:slow] *= 1.08 * slower_by / faster_by
    times *= 1 + 1e-4 * np.random.default_rng(slow).standard_normal(30)
    one = whole.samples[whole.samples["case_id"] == case].iloc[[0]]
    samples = pd.concat([one] * 30, ignore_index=True).assign(time_s=times, round=range(30), sample=range(30))
    row = row.assign(
        throughput=row["throughput"] * row["time_median_s"] / np.median(times),
        time_median_s=np.median(times), samples=30, speeds="two", time_fast_s=np.median(times[slow:]),
        time_slow_s=np.median(times[:slow]), slow_share=slow / 30,
    )  # fmt: skip
    return Folder(whole.path, row, whole.env, samples)


def test_compares_bimodal_cases_mode_by_mode(whole: Folder) -> None:
    """The median of 13 slow launches of 30 and of 17 is another; both speeds are what they were."""
    base = of_two_speeds(whole, 13)
    mix = "the same two speeds, in another mix"
    for other, verdict, note in (
        (of_two_speeds(whole, 17), verdicts.SAME, ""),
        (of_two_speeds(whole, 29), verdicts.AMBIGUOUS, mix),
        (of_two_speeds(whole, 13, slower_by=1.03), verdicts.AMBIGUOUS, "launches have more than one speed"),
        (of_two_speeds(whole, 13, 1.2, 1.2), verdicts.SLOWER, ""),
    ):
        row = judged(base, other, "reference").iloc[0]
        assert (row["verdict"], row["note"]) == (verdict, note)


def test_clock_change_of_one_case_is_ambiguous(whole: Folder) -> None:
    case = "block_size.fma_chain.two-operand-ilp1.b256"
    other = scaled(whole, pd.Series({case: 1.03}))
    other.samples.loc[other.samples["case_id"] == case, "sm_clock_hz"] /= 1.03
    other.cases.loc[other.cases["case_id"] == case, "sm_clock_hz"] /= 1.03
    row = judged(whole, other).loc[case]
    assert (row["verdict"], row["note"]) == (verdicts.AMBIGUOUS, "its SM clock changed, unlike the others'")
    assert judged(whole, other, "cycles").loc[case, "verdict"] == verdicts.SAME


def test_lower_clock_is_not_a_code_change(whole: Folder) -> None:
    """0.75 % lower in all cases: seconds follow it, but where DRAM or the L2 binds. At one none changed."""
    rows = whole.valid
    dram, bound = rows["ceiling_kind"] == "dram", rows["bound_predicted"]
    sm = ["issue", "pipe", "shared memory", "L1", "register port"]
    clocked = rows.loc[bound.isin(sm) | (~dram & ~bound.isin(["DRAM", "L2"])), "case_id"]
    assert (dram & bound.isin(sm)).any() and (~dram & (bound == "L2")).any()
    other = scaled(whole, pd.Series(1.0075, clocked))
    other.samples["sm_clock_hz"] /= 1.0075
    other.cases["sm_clock_hz"] /= 1.0075
    slower = {by: set(found.index[found["verdict"] == verdicts.SLOWER])
              for by in ("reference", "time") for found in [judged(whole, other, by)]}  # fmt: skip
    assert slower["reference"] == set() and slower["time"] <= set(clocked)
    assert len(slower["time"]) > 0.8 * len(clocked) > 100
    assert (judged(whole, other, "reference")["change"].abs() < 1e-9).all()


def test_compares_cycles_if_bounds_differ(whole: Folder) -> None:
    """By their cycles then: seconds of one run against cycles of the other would be off by the clock's Hz."""
    other = scaled(whole, pd.Series(dtype=float))
    rows = other.cases["bound_predicted"]
    other.cases["bound_predicted"] = rows.map({"DRAM": "issue", "issue": "DRAM", "L2": ""}).fillna(rows)
    assert (other.cases["bound_predicted"] != rows).sum() > 100
    for by in verdicts.MEASURES:
        found = judged(whole, other, by)
        changes = found[["change", *(f"{measure}_change" for measure in verdicts.MEASURES)]]
        assert (changes.abs().fillna(0) < 1e-9).all(axis=None)


def test_few_visits(whole: Folder) -> None:
    """Three visits, as preset quick makes, still show what is large; one has no interval."""

    def first(visits: int) -> Folder:
        few = whole.samples[whole.samples["round"] < visits]
        return Folder(whole.path, whole.cases, whole.env, few)

    other = Folder(whole.path, whole.cases, whole.env, whole.samples[whole.samples["round"].between(3, 5)])
    calm = judged(first(3), other)["verdict"]
    assert calm.isin([verdicts.FASTER, verdicts.SLOWER]).mean() <= 0.01
    planted = calm.index[::20]
    found = judged(first(3), scaled(other, pd.Series(1.1, planted))).loc[planted, "verdict"]
    assert (found == verdicts.SLOWER).mean() > 0.8 and not (found == verdicts.FASTER).any()
    for visits, note in ((1, "too few visits"), (0, "no samples")):
        found = judged(first(visits), scaled(first(visits), pd.Series(1.1, calm.index)))
        assert set(found["verdict"]) == {verdicts.AMBIGUOUS} and found["note"].mode()[0] == note


def test_aligns_devices_by_warps(whole: Folder) -> None:
    """A device with other ballast, grids and carve-outs: the names differ, and what was asked does not."""
    other = whole.valid[whole.valid["experiment"].isin(["shared_memory", "waves", "spilling"])].copy()
    other["case_id"] = other["case_id"].str.replace(r"\.(s|g|c)(\d+)", r".\g<1>9\2", regex=True)
    other["dynamic_smem_bytes"] += 128
    other["grid_size"] = other["grid_size"] * 108 // 132
    pairs, alone = align(whole.valid, other, False)
    a, b = (
        rows.set_index("case_id").loc[pairs[name]]
        for rows, name in ((whole.valid, "base_case_id"), (other, "case_id"))
    )
    for column in ("experiment", "family", "variant", "warps_per_sm", "block_size", "register_route"):
        assert a[column].tolist() == b[column].tolist()
    assert not pairs["case_id"].duplicated().any() and not pairs["base_case_id"].duplicated().any()
    assert set(b["experiment"]) == {"shared_memory", "waves", "spilling"}
    steps = other[other["experiment"] == "shared_memory"].groupby(["variant", "warps_per_sm"]).ngroups
    assert (b["experiment"] == "shared_memory").sum() >= steps
    assert len(alone[alone["why"] == "no such experiment"]) == len(whole.valid) - len(
        whole.valid[whole.valid["experiment"].isin(other["experiment"])]
    )
    assert len(pairs) + (alone["side"] == "candidate").sum() == len(other)


def test_aligns_a_run_with_itself(whole: Folder) -> None:
    pairs, alone = align(whole.valid, whole.valid, True)
    assert (pairs["base_case_id"] == pairs["case_id"]).all() and len(pairs) == len(whole.valid)
    assert alone.empty


COPIES = 45  # of a run's samples: more than a million


@pytest.mark.slow
def test_a_million_samples(whole: Folder, tmp_path: Path) -> None:
    """Many copies of every case: more than a million rows come through, whatever the time they take."""
    shutil.copy(FIRST / "env.json", tmp_path)
    for file in ("cases.csv", "samples.csv"):
        head, *lines = read_untrusted(plain_or_packed(FIRST / file)).decode().splitlines(keepends=True)
        before = lines[0][: lines[0].index(lines[0].split(",")[head.split(",").index("case_id")])]
        with (tmp_path / file).open("w", encoding="utf-8", newline="") as stream:
            stream.write(head)
            for i in range(COPIES):
                stream.writelines(line.replace(before, f"{before}copy{i}.", 1) for line in lines)
    run = read_folder(tmp_path)
    assert len(run.samples) > 1_000_000
    found = judged(run, run)
    assert len(found) == COPIES * len(whole.valid) and not found["verdict"].isin(["FASTER", "SLOWER"]).any()


def test_normal_approximation_matches_exact_test() -> None:
    random = np.random.default_rng(1)
    for shift in (0, 0.2, 0.6):
        few = random.normal(size=(20, verdicts.MANY_VISITS - 1))
        exact = verdicts.greater_tail(few + shift, random.normal(size=few.shape))
        assert ((exact >= 0) & (exact <= 1)).all()
        many = random.normal(size=(20, verdicts.MANY_VISITS))
        other = random.normal(size=many.shape)
        near = stats.mann_whitney(many + shift, other, exact=True)
        assert verdicts.greater_tail(many + shift, other) == pytest.approx(near, abs=0.002)
