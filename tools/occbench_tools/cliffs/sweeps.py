# SPDX-License-Identifier: Apache-2.0
"""Sweeps of a run: rows that differ in one dial and its consequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.schema import columns_of_cases, columns_with

# What an experiment asks for, in the order in which a dial is looked for: each row is in one sweep of a dial.
DIALS = columns_with(
    "dial", "sweep",
    first=(
        "dynamic_smem_bytes", "register_cap", "block_size", "grid_size", "live_values", "barriers",
        "cluster_size", "carveout_percent", "working_set_bytes", "stages",
    ),
    last=("tile_width",),
)  # fmt: skip
# What has to be the same along a sweep, besides the dials.
FIXED = columns_with("fixed", last=("idle_values",))
# These dials are compiled into a kernel, so that a sweep of them goes through several kernels of one form.
COMPILED = {name for name, column in columns_of_cases().items() if column.get("compiled")}
# Grids are sized to the blocks that an SM holds, iterations to the time that a launch takes: both follow from
# any other dial, and make a sweep of the grid only where the iterations stay.
GRID = ("iterations", "blocks_per_sm")
# What may go along with a dial, where nothing makes a sweep without it.
FOLLOWS = {
    "register_cap": {"live_values", "idle_values"},
    "live_values": {"idle_values"},
    "block_size": {"dynamic_smem_bytes", "working_set_bytes"},  # so many bytes per thread
    "stages": {"dynamic_smem_bytes", "bytes_in_flight"},
}
LEAST = 3  # points
NEEDED = [
    "experiment", "family", "variant", "curve", "form", "case_id", *DIALS, *FIXED, *GRID, "waves",
    "registers_per_thread", "local_bytes", "static_smem_bytes", "warps_per_sm", "limiters", "time_median_s",
    "time_ci95_low_s", "time_ci95_high_s", "sm_clock_hz", "throughput", "throughput_predicted",
    "bound_predicted", "ceiling_kind", "percent_of_ceiling",
]  # fmt: skip
KEYS = ["experiment", "family", "variant", "form", "whole", *DIALS, *FIXED, *GRID]  # rows are grouped by
NUMBERS = {*DIALS, "throughput", "time_median_s", "time_ci95_low_s", "time_ci95_high_s"}
REQUIRED = ("experiment", "family", "variant", "case_id", "blocks_per_sm", "warps_per_sm", "limiters",
            "time_median_s", "time_ci95_low_s", "time_ci95_high_s", "throughput", "waves")  # fmt: skip


class Cases:
    """Rows of a run, in a form in which thousands of small sweeps are cut out of them within seconds.

    codes: a row for each of KEYS, with the rank of each cell among its column's, empty ones behind all: rows
    of the table that agree have one code, and codes sort as cells do.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table
        names = list(table.columns)
        self.records = [dict(zip(names, row, strict=True)) for row in table.to_numpy(dtype=object)]
        self.codes = np.stack([ranks(table[name]) for name in KEYS])
        self.numbers = {name: table[name].to_numpy(float) for name in names if name in NUMBERS}

    def of(self, name: str) -> np.ndarray:
        """The codes of one column."""
        return self.codes[KEYS.index(name)]


def ranks(column: pd.Series) -> np.ndarray:
    """Of each cell, its place among the column's distinct ones; empty cells come last."""
    codes, distinct = pd.factorize(column, sort=True)
    return np.where(codes < 0, len(distinct), codes)


@dataclass
class Sweep:
    """Rows in the order of the dial, whose values are all different."""

    experiment: str
    family: str
    kernel: str  # the variant, or what its variants have in common: the curve, the form, the family
    name: str  # what the sweep holds fixed, unique in its experiment and dial
    dial: str
    cases: Cases
    places: np.ndarray  # of its rows, in `cases`

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The rows, cells by column."""
        return [self.cases.records[place] for place in self.places]

    @property
    def rows(self) -> pd.DataFrame:
        """The same as a table, which takes a hundred times as long."""
        return self.cases.table.iloc[self.places]

    def column(self, name: str) -> np.ndarray:
        """One of NUMBERS, of all rows."""
        return self.cases.numbers[name][self.places]


def common_name(rows: list[dict[str, Any]]) -> str:
    """What all rows have in common: the variant, else the curve, the form, the family."""
    first = rows[0]
    return next(
        first[name] for name in ("variant", "curve", "form", "family")
        if first[name] == first[name] and all(row[name] == first[name] for row in rows)
    )  # fmt: skip


def find_sweeps(cases: pd.DataFrame) -> Iterator[Sweep]:
    """Every sweep of at least LEAST points. Dials that a version does not have count as empty.

    Raises KeyError where cases lack what every version has.
    """
    for name in REQUIRED:
        cases[name]
    cases = cases.reindex(columns=NEEDED)
    whole = cases["waves"].fillna(1).round(3).mask(cases["waves"] < 1, 0)
    cases = cases.assign(whole=whole)
    run = Cases(cases)
    named = np.flatnonzero(cases["experiment"].notna() & cases["family"].notna())
    order, bounds = grouped([run.of(name)[named] for name in ("experiment", "family")])
    for start, end in bounds:
        places = np.sort(named[order[start:end]])
        for dial in DIALS:
            told = places[~np.isnan(run.numbers[dial][places])]
            if len(np.unique(run.numbers[dial][told])) >= LEAST:
                yield from sweeps_of(run, told, dial)


def grouped(keys: list[np.ndarray], within: np.ndarray | None = None) -> tuple[np.ndarray, list[list[int]]]:
    """The order that brings together what agrees in all keys, sorted by them and then by `within`; and of
    each group its start and end there."""
    order = np.lexsort([*([] if within is None else [within]), *keys[::-1]])
    other = np.zeros(max(len(order) - 1, 0), bool)
    for key in keys:
        other |= np.diff(key[order]) != 0
    edges = [0, *(np.flatnonzero(other) + 1), len(order)]
    return order, np.column_stack([edges[:-1], edges[1:]]).tolist()


def sweeps_of(run: Cases, rows: np.ndarray, dial: str) -> Iterator[Sweep]:
    """Those of one dial, of one experiment and family, at these places."""
    kernel = "form" if dial in COMPILED else "variant"
    keys = [kernel, *(d for d in DIALS if d not in (dial, "grid_size")), *FIXED]
    keys += GRID if dial == "grid_size" else ["whole"]
    followers = FOLLOWS.get(dial, set())
    taken: list[np.ndarray] = []
    for loose in (False, True) if followers else (False,):
        if loose:
            keys = [key for key in keys if key not in followers]
            rows = np.setdiff1d(rows, np.concatenate([rows[:0], *taken]), assume_unique=True)
        if not len(rows):
            return
        codes = run.codes[np.ix_([KEYS.index(key) for key in keys], rows)]
        # Grouping by less is faster.
        many = codes.min(axis=1) != codes.max(axis=1)
        parting = list(codes[many])
        # A variant's name says what is fixed in it.
        told = {*DIALS, "iterations", *(FIXED if kernel == "form" else ())}
        varied = [key for key, parts in zip(keys, many, strict=True) if parts and key in told]
        if loose and dial == "block_size":
            part = run.table.iloc[rows]
            parting.append(ranks(part["dynamic_smem_bytes"] / part["block_size"]))
        values = run.numbers[dial][rows]
        order, bounds = grouped(parting, values)
        values = values[order]
        for start, end in bounds:
            if end - start < LEAST or (values[start + 1 : end] == values[start : end - 1]).any():
                continue
            places = rows[order[start:end]]
            taken.append(places)
            first = run.records[places[0]]
            shown = [f"{key} {cell_text(first[key])}" for key in varied if pd.notna(first[key])]
            name = common_name([run.records[place] for place in places])
            yield Sweep(
                first["experiment"], first["family"], name, ", ".join([name, *shown]), dial, run, places
            )


def cell_text(value: str | float) -> str:
    """A cell in a sweep's name."""
    return value if isinstance(value, str) else f"{value:g}"


def changed(a: dict[str, Any], b: dict[str, Any], dial: str) -> list[str]:
    """Machine code and dials other than `dial` that differ between two rows, as 'name from -> to'."""
    names = ("registers_per_thread", "local_bytes", "static_smem_bytes", *DIALS)
    pairs = [(name, a[name], b[name]) for name in names if name not in (dial, "grid_size")]
    return [f"{name} {x:g} -> {y:g}" for name, x, y in pairs if x != y and pd.notna(x) and pd.notna(y)]
