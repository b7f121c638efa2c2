# SPDX-License-Identifier: Apache-2.0
"""Sweeps of a run: rows that differ in one dial, and in what follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# What an experiment asks for, in the order in which a dial is looked for: each row is in one sweep of a dial.
DIALS = (
    "dynamic_smem_bytes", "register_cap", "block_size", "grid_size", "live_values", "barriers",
    "cluster_size", "carveout_percent", "working_set_bytes", "stages", "ilp", "fma_per_load", "bank_conflict",
    "lanes_apart", "divergent_warps", "tile_width",
)  # fmt: skip
# What has to be the same along a sweep, besides the dials.
FIXED = ("bytes_per_access", "data_type", "register_route", "bytes_in_flight")
# These dials are in the kernel's name, so that a sweep of them goes through several kernels.
COMPILED = {"register_cap", "live_values", "barriers", "working_set_bytes", "stages", "ilp", "fma_per_load",
            "bank_conflict", "lanes_apart", "divergent_warps"}  # fmt: skip
# Grids are sized to the blocks that an SM holds, passes to the time that a launch takes: both follow from any
# other dial, and make a sweep of the grid only where the passes stay.
GRID = ("iterations", "blocks_per_sm")
# What may go along with a dial, where nothing makes a sweep without it.
FOLLOWS = {
    "register_cap": {"live_values"},
    "block_size": {"dynamic_smem_bytes", "working_set_bytes"},  # so many bytes per thread
    "stages": {"dynamic_smem_bytes", "bytes_in_flight"},
}
LEAST = 3  # points
NEEDED = [
    "experiment", "family", "variant", "case_id", *DIALS, *FIXED, *GRID, "waves", "registers_per_thread",
    "spill_bytes", "local_bytes", "static_smem_bytes", "warps_per_sm", "limiters", "time_median_s",
    "time_ci95_low_s", "time_ci95_high_s", "sm_clock_hz", "throughput", "throughput_predicted",
    "bound_predicted", "ceiling_kind", "percent_of_ceiling",
]  # fmt: skip
NUMBER = r"\d+(?:[KM]iB)?"  # in a kernel's name
REQUIRED = ("experiment", "family", "variant", "case_id", "blocks_per_sm", "warps_per_sm", "limiters",
            "time_median_s", "time_ci95_low_s", "time_ci95_high_s", "throughput", "waves")  # fmt: skip


@dataclass
class Sweep:
    """Rows in the order of the dial, whose values are all different."""

    experiment: str
    family: str
    variant: str  # with * for the numbers that change
    name: str  # what the sweep holds fixed, unique in its experiment and dial
    dial: str
    rows: pd.DataFrame


def common_name(names: list[str]) -> str:
    """The names with * for each number that is not the same in all."""
    parts = [re.split(f"({NUMBER})", name) for name in names]
    if len({len(part) for part in parts}) > 1:
        return re.sub(NUMBER, "*", names[0])
    return "".join(column[0] if len(set(column)) == 1 else "*" for column in zip(*parts, strict=True))


def find_sweeps(cases: pd.DataFrame) -> Iterator[Sweep]:
    """Every sweep of at least LEAST points. Dials that a version does not have count as empty.

    Raises KeyError where cases lack what every version has.
    """
    for name in REQUIRED:
        cases[name]
    cases = cases.reindex(columns=NEEDED)
    whole = cases["waves"].fillna(1).round(3).mask(cases["waves"] < 1, 0)
    cases = cases.assign(series=cases["variant"].str.replace(NUMBER, "*", regex=True), whole=whole)
    for _, rows in cases.groupby(["experiment", "family"], sort=True):
        for dial in DIALS:
            if rows[dial].nunique() >= LEAST:
                yield from sweeps_of(rows, dial)


def alike(rows: pd.DataFrame, keys: list[str]) -> list[np.ndarray]:
    """Places of the rows that agree in all keys, in their order; most groups are too small to be cut out."""
    if not keys:
        return [np.arange(len(rows))]
    number = rows.groupby(keys, dropna=False, sort=True).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


def sweeps_of(rows: pd.DataFrame, dial: str) -> Iterator[Sweep]:
    """Those of one dial, of one experiment and family."""
    rows = rows[rows[dial].notna()]
    kernel = "series" if dial in COMPILED else "variant"
    keys = [kernel, *(d for d in DIALS if d not in (dial, "grid_size")), *FIXED]
    keys += GRID if dial == "grid_size" else ["whole"]
    followers = FOLLOWS.get(dial, set())
    taken: set[object] = set()
    for loose in (False, True) if followers else (False,):
        if loose:
            keys = [key for key in keys if key not in followers]
            rows = rows[~rows.index.isin(taken)]
            if dial == "block_size":
                rows = rows.assign(bytes_per_thread=rows["dynamic_smem_bytes"] / rows["block_size"])
                keys.append("bytes_per_thread")
        named = [key for key in keys if key in DIALS or key == "iterations"]
        parting = [key for key in keys if rows[key].nunique(dropna=False) > 1]  # grouping by less is faster
        varied = [key for key in named if key in parting]
        for places in alike(rows, parting):
            if len(places) < LEAST:
                continue
            part = rows.iloc[places]
            if part[dial].duplicated().any():
                continue
            taken.update(part.index)
            first = part.iloc[0]
            shown = [f"{key} {first[key]:g}" for key in varied if pd.notna(first[key])]
            name = common_name(list(part["variant"]))
            yield Sweep(
                first["experiment"], first["family"], name, ", ".join([name, *shown]), dial,
                part.sort_values(dial),
            )  # fmt: skip


def changed(a: dict[str, Any], b: dict[str, Any], dial: str) -> list[str]:
    """Machine code and dials other than `dial` that differ between two rows, as 'name from -> to'."""
    names = ("registers_per_thread", "spill_bytes", "local_bytes", "static_smem_bytes", *DIALS)
    pairs = [(name, a[name], b[name]) for name in names if name not in (dial, "grid_size")]
    return [f"{name} {x:g} -> {y:g}" for name, x, y in pairs if x != y and pd.notna(x) and pd.notna(y)]
