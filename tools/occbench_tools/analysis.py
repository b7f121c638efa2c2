# SPDX-License-Identifier: Apache-2.0
"""A folder of results as data frames, and what pictures and findings compute from its rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools import folder as folder_reader

UNITS = {"byte/s": (1e9, "GB/s"), "flop/s": (1e12, "TFLOP/s"), "operation/s": (1e9, "G operations/s")}


def read_folder(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Valid rows of cases.csv, and env.json. Raises OSError or ValueError.

    env["source"] is "measured" or "model". A version without predictions gets their columns, empty. Column
    `outside_model`: why no figure of the model is counted in the row's experiment; empty where it is.
    """
    run = folder_reader.read_folder(folder, samples=False, strict=False)
    said = {name: it["outside_model"] for name, it in run.env["experiments"].items()}
    why = {name: words for name, words in said.items() if isinstance(words, str)}
    rows = with_predictions(run.valid)
    return rows.assign(outside_model=rows["experiment"].map(why).astype(object)), run.env


def with_predictions(cases: pd.DataFrame) -> pd.DataFrame:
    """The rows; those of a version without predictions get their columns, empty."""
    columns = ("throughput_predicted", "bound_predicted", "throughput_baseline")
    return cases.assign(**{column: np.nan for column in columns if column not in cases})


def scaled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one experiment with three columns more.

    rate and unit (the throughput in words for people) and percent (of the variant's own best).
    """
    scale = rows["throughput_unit"].map({unit: scale for unit, (scale, _) in UNITS.items()}).fillna(1)
    unit = rows["throughput_unit"].map({unit: name for unit, (_, name) in UNITS.items()})
    best = rows.groupby(["family", "variant"])["throughput"].transform("max")
    return rows.assign(
        rate=rows["throughput"] / scale,
        unit=unit.fillna(rows["throughput_unit"]),
        percent=100 * rows["throughput"] / best,
    )


# Two points lie on any law, and three on most. Below so many distinct values of its dial a line is its
# marks alone, and nothing is said of its best, its knee or its shape.
CURVE_POINTS = 4  # as many as the doublings 8, 16, 32, 64 of an SM's warps


def is_curve(values: Iterable[float]) -> bool:
    """Whether points at these values of a dial are joined by a line, and may be spoken of as one."""
    return len({value for value in values if pd.notna(value)}) >= CURVE_POINTS


def many(count: float, thing: str) -> str:
    """'1 warp', '4 warps'"""
    return f"{count:g} {thing}{'' if count == 1 else 's'}"


def least(rows: pd.DataFrame, x: str, share: float, y: str = "throughput") -> float:
    """The least x at which y reaches `share` of its largest value."""
    return rows.loc[rows[y] >= share * rows[y].max(), x].min()


def best(rows: pd.DataFrame, y: str = "throughput") -> pd.Series:
    """The row with the largest y."""
    return rows.loc[rows[y].idxmax()]


def alone(rows: pd.DataFrame, column: str) -> pd.Series:
    """For each row the least of a column among its baseline's rows at as many warps; NaN where there is none.

    A row whose baseline is itself is its own.
    """
    least_ = rows.groupby(["family", "variant", "warps_per_sm"])[column].min()
    key = pd.MultiIndex.from_frame(rows[["family", "baseline", "warps_per_sm"]])
    return pd.Series(least_.reindex(key).to_numpy(), rows.index, float)


def cycles(rows: pd.DataFrame) -> pd.Series:
    """SM cycles of a loop iteration: by the kernel's own clock, where it has one, else by events."""
    own = (
        rows["own_cycles_per_iteration"]
        if "own_cycles_per_iteration" in rows
        else pd.Series(np.nan, rows.index)
    )
    return own.where(own > 0, rows["cycles_per_iteration"])
