# SPDX-License-Identifier: Apache-2.0
"""The curves of an experiment: its rows, cut into lines over its dial as the experiment describes itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from occbench_tools.analysis import CURVE_POINTS, is_curve
from occbench_tools.older import PLAIN
from occbench_tools.schema import schema

TOO_FEW = "too few for a finding"

# What is asked of a kernel, or compiled into it, in the order in which rows that share a value of the dial
# are parted by it. Not how residency or a grid was asked for, which the dials say.
ASKED = (
    "form", "block_size", "register_route", "register_cap", "carveout_percent", "cluster_size", "tile_width",
    "working_set_bytes", "stages", "ilp", "bytes_per_access", "data_type", "live_values", "idle_values",
    "fma_per_load", "bytes_in_flight", "bank_conflict", "lanes_apart", "divergent_warps", "barriers",
    "asked_block_s",
)  # fmt: skip


@cache
def numbers() -> frozenset[str]:
    """The columns of cases.csv that hold numbers."""
    columns = schema()["files"]["cases.csv"]["columns"]
    return frozenset(column["name"] for column in columns if column["type"] != "string")


@dataclass
class Line:
    """Rows of one curve in the order of the dial, each value once; `parts`: what else is fixed in it."""

    family: str
    curve: str
    parts: dict[str, Any]
    rows: pd.DataFrame

    @property
    def free(self) -> bool:
        """Whether the compiler chose the registers."""
        return bool((self.rows["register_route"] == "free").all())


def described(env: dict[str, Any], experiment: str) -> dict[str, Any]:
    """What env.json says of an experiment; what is said of any, where it does not or is no description."""
    experiments = env.get("experiments")
    said = experiments.get(experiment) if isinstance(experiments, dict) else None
    it = PLAIN | (said if isinstance(said, dict) else {})
    dial, parts = it["dial"], it["parted_by"]
    known = isinstance(dial, str) and dial in numbers()
    parts = (
        [name for name in parts if isinstance(name, str) and name in numbers() | {*ASKED}]
        if isinstance(parts, list)
        else []
    )
    return it | dict(dial=dial if known else PLAIN["dial"], parted_by=parts)


def lines(rows: pd.DataFrame, it: dict[str, Any]) -> Iterator[Line]:
    """The rows of one experiment that have a value of its dial, in curves. `it`: described()."""
    dial = it["dial"]
    if dial not in rows:
        return
    rows = rows[rows[dial].notna()]
    parts = [name for name in it["parted_by"] if name != dial and name in rows]
    more = [name for name in ASKED if name != dial and name not in parts and name in rows]
    for key, part in rows.groupby(["family", "curve", *parts], dropna=False):
        fixed = {name: value for name, value in zip(parts, key[2:], strict=True) if pd.notna(value)}
        for further, line in apart(part, dial, more):
            yield Line(*key[:2], fixed | further, line.sort_values(dial, kind="stable"))


def apart(rows: pd.DataFrame, dial: str, names: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Rows of one curve, parted by the first of these columns that vary until no value of the dial is twice.

    Rows that none of them tells apart count by the fastest.
    """
    if not rows[dial].duplicated().any():
        yield {}, rows
        return
    curve = is_curve(rows[dial])
    for place, name in enumerate(names):
        parted = rows.groupby(name, dropna=False)[dial].nunique()
        # What leaves no curve of one follows the dial, as a cap on registers does their number.
        if len(parted) > 1 and not (curve and parted.max() < CURVE_POINTS):
            for value, part in rows.groupby(name, dropna=False):
                for more, line in apart(part, dial, names[place + 1 :]):
                    yield ({name: value} if pd.notna(value) else {}) | more, line
            return
    yield {}, rows.loc[rows.groupby(dial)["throughput"].idxmax()]


def points(rows: pd.DataFrame, it: dict[str, Any]) -> int:
    """Of the rows of one experiment: how many values of its dial its longest line has."""
    return max((len(line.rows) for line in lines(rows, it)), default=0)


def too_few(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> str:
    """Why nothing is said of one experiment's rows; empty where its longest line is a curve."""
    it = described(env, experiment)
    found = points(rows, it)
    if it["compares_kernels"] or found >= CURVE_POINTS:
        return ""
    return f"{at_most(found)} {TOO_FEW}{what_has_more(env)}"


def at_most(found: int) -> str:
    """'2 points a line are'"""
    return "1 point a line is" if found == 1 else f"{found} points a line are"


def what_has_more(env: dict[str, Any]) -> str:
    """'; preset standard has more', of a run that was quick."""
    return "; preset standard has more" if env.get("preset") == "quick" else ""


def curved(found: list[Line], dial: str) -> list[Line]:
    """Those of enough points to be spoken of as curves."""
    return [line for line in found if is_curve(line.rows[dial])]
