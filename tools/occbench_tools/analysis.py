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
    `outside_model`: why the model does not cover the row's experiment; empty where it does.
    """
    run = folder_reader.read_folder(folder, samples=False, strict=False)
    values = {name: description["outside_model"] for name, description in run.env["experiments"].items()}
    reasons = {name: words for name, words in values.items() if isinstance(words, str)}
    rows = with_predictions(run.valid)
    return rows.assign(outside_model=rows["experiment"].map(reasons).astype(object)), run.env


def with_predictions(cases: pd.DataFrame) -> pd.DataFrame:
    """The rows, with empty columns for predictions where their version has none."""
    columns = ("throughput_predicted", "bound_predicted", "throughput_baseline")
    return cases.assign(**{column: np.nan for column in columns if column not in cases})


def scale_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one experiment with three more columns.

    rate and unit (the throughput for readers) and percent (of the variant's own best).
    """
    scale = rows["throughput_unit"].map({unit: scale for unit, (scale, _) in UNITS.items()}).fillna(1)
    unit = rows["throughput_unit"].map({unit: name for unit, (_, name) in UNITS.items()})
    best = rows.groupby(["family", "variant"])["throughput"].transform("max")
    return rows.assign(
        rate=rows["throughput"] / scale,
        unit=unit.fillna(rows["throughput_unit"]),
        percent=100 * rows["throughput"] / best,
    )


# Two points fit any law, and three fit most. A line of fewer distinct values of its dial is drawn as marks
# alone, and no finding names its best, its knee or its shape.
CURVE_POINTS = 4  # as many as the doublings 8, 16, 32, 64 of an SM's warps


def is_curve(values: Iterable[float]) -> bool:
    """Whether points at these values of a dial are enough for a curve."""
    return len({value for value in values if pd.notna(value)}) >= CURVE_POINTS


def pluralize(count: float, thing: str) -> str:
    """'1 warp', '4 warps'"""
    return f"{count:g} {thing}{'' if count == 1 else 's'}"


def least(rows: pd.DataFrame, x: str, share: float, y: str = "throughput") -> float:
    """The least x at which y reaches `share` of its largest value."""
    return rows.loc[rows[y] >= share * rows[y].max(), x].min()


def best(rows: pd.DataFrame, y: str = "throughput") -> pd.Series:
    """The row with the largest y."""
    return rows.loc[rows[y].idxmax()]


def least_of_baseline(rows: pd.DataFrame, column: str) -> pd.Series:
    """For each row, the column's least value among its baseline's rows at as many warps; NaN without any.

    A row may be its own baseline.
    """
    least_ = rows.groupby(["family", "variant", "warps_per_sm"])[column].min()
    key = pd.MultiIndex.from_frame(rows[["family", "baseline", "warps_per_sm"]])
    return pd.Series(least_.reindex(key).to_numpy(), rows.index, float)


def cycles(rows: pd.DataFrame) -> pd.Series:
    """SM cycles of a loop iteration: by the kernel's own clock where recorded, else by events."""
    own = (
        rows["own_cycles_per_iteration"]
        if "own_cycles_per_iteration" in rows
        else pd.Series(np.nan, rows.index)
    )
    return own.where(own > 0, rows["cycles_per_iteration"])
