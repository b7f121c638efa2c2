# SPDX-License-Identifier: Apache-2.0
"""Where an experiment has too few points for a finding: its longest line is no curve (analysis.is_curve)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from occbench_tools.analysis import CURVE_POINTS
from occbench_tools.layout import kernels, layout

TOO_FEW = "too few for a finding"

# What these compare has names and no dial: ways to cap registers, levels of the memory.
NAMED = {"launch_bounds_roulette", "pointer_chase"}


def points(rows: pd.DataFrame, experiment: str) -> int:
    """Of the rows of one experiment: how many distinct values of its dial its longest line has."""
    how = layout(experiment)
    by: list[Any] = [kernels(rows, experiment)]
    by += [rows[column] for column in how.groups if column != how.dial]
    return int(rows.groupby(by, dropna=False)[how.dial].nunique().max()) if len(rows) else 0


def too_few(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> str:
    """Why nothing is said of one experiment's rows; empty where its longest line is a curve."""
    found = points(rows, experiment)
    if experiment in NAMED or found >= CURVE_POINTS:
        return ""
    return f"{at_most(found)} {TOO_FEW}{what_has_more(env)}"


def at_most(found: int) -> str:
    """'2 points a line are'"""
    return "1 point a line is" if found == 1 else f"{found} points a line are"


def what_has_more(env: dict[str, Any]) -> str:
    """'; preset standard has more', of a run that was quick."""
    return "; preset standard has more" if env.get("preset") == "quick" else ""
