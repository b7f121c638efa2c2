# SPDX-License-Identifier: Apache-2.0
"""A made-up run of every experiment, by the names that the families give their variants, from simple laws."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import described
from made_up_memory import memory
from made_up_row import CLOCK, COLUMNS, DRAM, REPOSITORY, SMS, case
from made_up_rows import ITERATION_CYCLES, TURNOVER_CYCLES, blocks, latency, limits
from occbench_docs.committed import committed_runs
from occbench_tools import NEWEST

__all__ = ["CLOCK", "COLUMNS", "ITERATION_CYCLES", "REPOSITORY", "TURNOVER_CYCLES", "case"]


def newest_run(gpu: str) -> Path:
    """The newest of the committed runs of one GPU."""
    return committed_runs(gpu)[-1]


ENV = dict(
    schema_version=NEWEST, source="measured", git_commit="0123456789abcdef", git_dirty=True,
    created_utc="2025-01-31T12:00:00Z",
    preset="standard",
    gpu=dict(
        name="A GPU", compute_capability="9.0", sm_count=SMS, dram_bytes_per_s_theoretical=DRAM,
        smem_per_sm_bytes=233472,
    ),
)  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """The valid rows of a made-up run of all experiments."""
    return [*limits(), *latency(), *memory(), *blocks()]


ENV["experiments"] = {row["experiment"]: described.experiment(row["experiment"]) for row in cases()}


def with_prediction(
    row: dict[str, Any], off: float = 0, bound: str = "DRAM", baseline: float = 0
) -> dict[str, Any]:
    """The row with a prediction that is `off` (fraction) of the throughput, and a baseline that is."""
    said = dict(throughput_predicted=(1 + off) * row["throughput"], bound_predicted=bound)
    said |= dict(throughput_baseline=(1 + baseline) * row["throughput"])
    return row | dict(schema_version=NEWEST, source="measured") | said


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A folder of results with these rows; its samples.csv is not written."""
    folder.mkdir(exist_ok=True)
    with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as stream:
        columns = dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)])
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "env.json").write_text(json.dumps(ENV), encoding="utf-8")
    return folder


def with_cases(folder: Path, change: Callable[[str], str]) -> Path:
    """The folder, with another text in cases.csv."""
    path = folder / "cases.csv"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder
