# SPDX-License-Identifier: Apache-2.0
"""What the program says of made-up rows: as folders of their own, which it is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from occbench_tools import analysis, command
from occbench_tools.explain.program import explain_rows
from occbench_tools.findings import Sentences

# What the program needs of a row, where a test's has none.
PLAIN = dict(
    family="strangers", variant="kernel", curve="kernel", form=None, baseline=None, status="valid",
    register_route="free", throughput_unit="flop/s", throughput=1e12, warps_per_sm=4,
    occupancy_theoretical=1.0,
)  # fmt: skip


def rows_of(folder: Path, experiment: str) -> pd.DataFrame:
    """Those of one experiment, scaled as the tools draw them."""
    cases, _ = analysis.read_folder(folder)
    return analysis.scale_rows(cases[cases["experiment"] == experiment])


def explain_made_up(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Sentences:
    """What is said of the rows of one experiment; a test without the program is skipped."""
    if not command.occbench():
        pytest.skip("no occbench on the PATH or built here")
    missing = {name: value for name, value in PLAIN.items() if name not in rows}
    return explain_rows(experiment, rows.assign(experiment=experiment, **missing), env)


def own(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> list[str]:
    """The sentences that only this experiment has to say, of however few points."""
    found = explain_made_up(
        experiment, rows, env | dict(experiments={experiment: dict(compares_kernels=True)})
    )
    return found.sentences[: found.own]
