# SPDX-License-Identifier: Apache-2.0
"""The sweeps that cliffs looks through, as arrays find them, are those that plain groups of a table say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from occbench_tools import stats
from occbench_tools.cliffs import find, steps, sweeps
from occbench_tools.cliffs.sweeps import COMPILED, DIALS, FIXED, FOLLOWS, GRID, LEAST, NEEDED
from occbench_tools.compare import summary
from occbench_tools.folder import Folder, read_folder
from parts import RUN

NAMES = ("variant", "curve", "form", "family")  # the first that all rows of a sweep share is its kernel's
Told = tuple[str, str, str, str, str, list[object]]


def plainly(cases: pd.DataFrame) -> Iterator[Told]:
    """What find_sweeps says, cut out of the table group by group: experiment, family, kernel, name, dial,
    labels of the rows."""
    cases = cases.reindex(columns=NEEDED)
    whole = cases["waves"].fillna(1).round(3).mask(cases["waves"] < 1, 0)
    cases = cases.assign(whole=whole)
    for _, rows in cases.groupby(["experiment", "family"], sort=True):
        for dial in DIALS:
            if rows[dial].nunique() >= LEAST:
                yield from along(rows[rows[dial].notna()], dial)


def along(rows: pd.DataFrame, dial: str) -> Iterator[Told]:
    """Those of one dial, of one experiment and family."""
    keys = ["form" if dial in COMPILED else "variant", *(d for d in DIALS if d not in (dial, "grid_size"))]
    keys += [*FIXED, *(GRID if dial == "grid_size" else ["whole"])]
    followers = FOLLOWS.get(dial, set())
    taken: set[object] = set()
    for loose in (False, True) if followers else (False,):
        if loose:
            keys = [key for key in keys if key not in followers]
            rows = rows[~rows.index.isin(taken)]
            if dial == "block_size":
                rows = rows.assign(bytes_per_thread=rows["dynamic_smem_bytes"] / rows["block_size"])
                keys.append("bytes_per_thread")
        shown = [
            key for key in keys
            if (key in (*DIALS, "iterations") or (key in FIXED and dial in COMPILED))
            and rows[key].nunique(dropna=False) > 1
        ]  # fmt: skip
        for _, part in rows.groupby(keys, dropna=False, sort=True):
            if len(part) < LEAST or part[dial].duplicated().any():
                continue
            taken.update(part.index)
            first = part.iloc[0]
            whole = (column for column in NAMES if part[column].nunique(dropna=False) == 1)
            name = next(first[column] for column in whole if pd.notna(first[column]))
            held = [f"{key} {sweeps.cell_text(first[key])}" for key in shown if pd.notna(first[key])]
            labels = part.sort_values(dial).index.tolist()
            yield first["experiment"], first["family"], name, ", ".join([name, *held]), dial, labels


def told(cases: pd.DataFrame) -> list[Told]:
    """The same of find_sweeps."""
    return [
        (one.experiment, one.family, one.kernel, one.name, one.dial, one.rows.index.tolist())
        for one in sweeps.find_sweeps(cases)
    ]


@pytest.fixture(scope="module")
def run() -> Folder:
    return read_folder(RUN, samples=False)


def test_sweeps_of_a_run(run: Folder) -> None:
    """Also where rows stand in another order, and where names repeat in other families."""
    found = told(run.valid)
    assert len(found) > 400 and {one[4] for one in found} >= {"block_size", "grid_size", "register_cap"}
    assert found == list(plainly(run.valid))
    part = run.valid[run.valid["experiment"].isin(["registers", "waves", "block_size", "stages"])]
    mixed = pd.concat([part, part.assign(family="another")], ignore_index=True).sample(frac=1, random_state=1)
    assert told(mixed) == list(plainly(mixed))


@pytest.mark.parametrize("seed", range(4))
def test_sweeps_of_chance(run: Folder, seed: int) -> None:
    """Few values in every dial and many empty cells: sweeps that follow, repeat and stand beside others."""
    chance = np.random.default_rng(seed)
    rows = run.valid.sample(240, random_state=seed).reset_index(drop=True)
    rows["experiment"] = chance.choice(["one", "two"], len(rows))
    rows["family"] = "family"
    rows["variant"] = chance.choice(["load4", "load8", "fma"], len(rows))
    rows["curve"] = rows["form"] = rows["variant"].map({"load4": "load", "load8": "load", "fma": "fma"})
    rows["waves"] = chance.choice([0.5, 1, np.nan], len(rows), p=[0.1, 0.6, 0.3])
    for name in (*DIALS, *FIXED, *GRID):
        rows[name] = np.nan if name not in ("blocks_per_sm", "data_type") else rows[name].iloc[0]
    rows["register_cap"] = chance.choice([np.nan, 32, 64], len(rows), p=[0.8, 0.1, 0.1])
    rows["block_size"] = chance.choice([np.nan, *range(1, 40)], len(rows))
    rows["stages"] = chance.choice([np.nan, *range(1, 20)], len(rows), p=[0.4] + [0.6 / 19] * 19)
    rows["dynamic_smem_bytes"] = rows["block_size"] * chance.choice([4, 8], len(rows))
    found = told(rows)
    assert len(found) > 3 and found == list(plainly(rows))
    assert told(rows.iloc[:0]) == []


def test_records_and_columns_are_the_rows(run: Folder) -> None:
    for sweep in list(sweeps.find_sweeps(run.valid))[::50]:
        rows = sweep.rows
        assert rows[sweep.dial].is_monotonic_increasing
        found = pd.DataFrame(sweep.records, rows.index)[NEEDED]
        pd.testing.assert_frame_equal(found, rows[NEEDED], check_dtype=False)
        np.testing.assert_array_equal(sweep.column("throughput"), rows["throughput"])


def test_the_half_of_an_interval_is_of_the_tails() -> None:
    assert stats.student_tail(steps.HALF, steps.TAILS) == pytest.approx(0.025, rel=1e-14)


def test_rank_tests_at_once_are_those_one_by_one() -> None:
    """Also where lots are few, of several sizes, and have ties."""
    chance = np.random.default_rng(4)
    sizes = [(36, 36), (36, 36), (9, 9), (9, 9), (9, 36), (8, 8), (8, 8), (3, 36), (1, 1)] * 5
    spans = [10 ** (i % 7 + 1) for i in range(len(sizes))]
    sides = [
        tuple(chance.integers(0, span, n) / 7 for n in size) for span, size in zip(spans, sizes, strict=True)
    ]
    rows: list[dict[str, Any]] = [dict(sides=each, p_value=0.5) for each in sides] + [dict(p_value=0.5)]
    find.rank_tests(rows)
    alone = [stats.mann_whitney_two_sided(a[None], b[None], find.EXACT)[0] for a, b in sides]
    assert [row["p_value"] for row in rows] == [*alone, 0.5]


def moved_plainly(base: Folder, other: Folder, ours: pd.DataFrame, theirs: pd.DataFrame) -> list[tuple]:
    """What moved_cliffs says, cut out of both tables sweep by sweep."""
    tables = pd.concat([ours.assign(side=0), theirs.assign(side=1)], ignore_index=True)
    both = [
        {key for name in NAMES for key in map(tuple, each.valid[["experiment", "family", name]].to_numpy())}
        for each in (base, other)
    ]
    lines: list[tuple] = []
    for sweep, rows in tables.groupby(summary.SWEEP, dropna=False, sort=True):
        if sweep[:3] not in both[0] & both[1]:
            continue
        sides: list[Any] = [rows[rows["side"] == side].to_dict("records") for side in (0, 1)]
        for pair, verdict in summary.matched(*sides):
            spans = [f"{row['from_value']:g} -> {row['to_value']:g}" if row else "" for row in pair]
            drops = [row["drop"] if row else np.nan for row in pair]
            lines.append((*sweep, next(row["cause"] for row in pair if row), *spans, *drops, verdict))
    return lines


def test_cliffs_that_moved(run: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run and one in which some cliffs are deeper, elsewhere or gone, and a family is missing."""
    ours = find.find_cliffs(run.valid, run.env)
    theirs = ours.copy()
    theirs.loc[::7, "drop"] += 0.1
    theirs.loc[::11, ["from_value", "to_value"]] += 1
    theirs.loc[::5, "verdict"] = "absent"
    theirs, ours = theirs.drop(theirs.index[::13]), ours.drop(ours.index[5::17])
    other = Folder(Path("other"), run.cases[run.cases["family"] != "register_pressure"], run.env)
    monkeypatch.setattr(summary, "cliffs_of", lambda folder: theirs)
    found = summary.moved_cliffs(run, other, ours)
    assert set(found["verdict"]) == {"SAME", "MOVED", "GONE", "NEW", "UNCLEAR"}
    expected = pd.DataFrame(moved_plainly(run, other, ours, theirs), columns=found.columns)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
