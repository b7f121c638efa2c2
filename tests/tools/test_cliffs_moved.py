# SPDX-License-Identifier: Apache-2.0
"""Cliffs that moved between two runs, as tables find them, are those that a plain loop over sweeps says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from occbench_tools.cliffs import find
from occbench_tools.compare import summary
from occbench_tools.folder import Folder, read_folder
from parts import RUN

NAMES = ("variant", "curve", "form", "family")  # the first that all rows of a sweep share is its kernel's


@pytest.fixture(scope="module")
def run() -> Folder:
    return read_folder(RUN, samples=False)


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
        for pair, verdict in summary.match_cliffs(*sides):
            spans = [f"{row['from_value']:g} -> {row['to_value']:g}" if row else "" for row in pair]
            drops = [row["drop"] if row else np.nan for row in pair]
            lines.append((*sweep, next(row["cause"] for row in pair if row), *spans, *drops, verdict))
    return lines


def test_classifies_moved_cliffs(run: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
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
