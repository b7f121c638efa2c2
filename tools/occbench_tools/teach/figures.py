# SPDX-License-Identifier: Apache-2.0
"""Figures of sentences, each with the cells that it comes from, and the GPU whose figures a lesson asks for.

A sentence of the lab is a template over figures, so that each number in it can be recomputed from its rows:
tests/tools/contradictions.py does.
"""

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from occbench_tools.report.payload import Run
from occbench_tools.teach.calculator import Answer, Calculator, Footprint

INTERVAL = {
    "throughput": ("time_ci95_high_s", "time_ci95_low_s"),
    "time_median_s": ("time_ci95_low_s", "time_ci95_high_s"),
}
MAX_CLOCK_DIFFERENCE = 0.1  # of two compared rows; beyond it the clock explains the difference


class Skipped(Exception):
    """The lesson is not possible here; one line says why."""


class Source(NamedTuple):
    """How a figure is computed: 'value', 'ratio' or 'loss' of a column of these cases, or 'calc' of a key."""

    operation: str
    of: tuple[str, ...]  # case ids, or the words of `occbench calc`
    key: str


@dataclass(frozen=True)
class Figure:
    """A number, its 95 % interval (itself where nothing was sampled), its format and its source."""

    value: float
    low: float
    high: float
    spec: str
    source: Source | None = None  # None: chosen by the lesson

    def __str__(self) -> str:
        return self.spec.format(self.value)

    def __format__(self, spec: str) -> str:
        return str(self)


def constant(value: float, spec: str = "{:,.0f}") -> Figure:
    """A figure that the lesson sets: a block size, a threshold."""
    return Figure(value, value, value, spec)


def number_list(values: Iterable[float]) -> Figure:
    """'4, 8, 12', as one figure: the last of them."""
    words = [f"{value:.0f}" for value in values]
    return constant(float(words[-1]), ", ".join(words))


SCALES = {"GB/s": 1e-9, "TFLOP/s": 1e-12, "KiB": 1 / 1024, "%": 100.0}


def scale_of(spec: str) -> float:
    """The factor of a raw value, by the unit of the figure's format."""
    return next((scale for unit, scale in SCALES.items() if spec.endswith(unit)), 1.0)


def cell(row: pd.Series, column: str, spec: str = "{:,.0f}") -> Figure:
    """One cell of a row."""
    value = float(row[column]) * scale_of(spec)
    return Figure(value, value, value, spec, Source("value", (str(row["case_id"]),), column))


def bounds(row: pd.Series, column: str) -> tuple[float, float]:
    """The ends of a time's or throughput's 95 % interval; the value twice where the row has none."""
    value, median = float(row[column]), float(row["time_median_s"])
    ends = [float(row[end]) for end in INTERVAL[column]]
    if not all(end > 0 for end in ends):
        return value, value
    if column == "throughput":  # as its time, inverted
        return value * median / ends[0], value * median / ends[1]
    return ends[0], ends[1]


def ratio(above: pd.Series, below: pd.Series, column: str, spec: str = "{:.2f}") -> Figure:
    """above / below of a time or throughput; with '%' in spec 100 times that. Raises Skipped."""
    clocks = [float(row["sm_clock_hz"]) for row in (above, below)]
    if max(clocks) > (1 + MAX_CLOCK_DIFFERENCE) * min(clocks):
        raise Skipped(
            f"{above['case_id']} and {below['case_id']} ran at clocks that differ too much to compare"
        )
    (low, high), (least, most) = bounds(above, column), bounds(below, column)
    scale = scale_of(spec)
    source = Source("ratio", (str(above["case_id"]), str(below["case_id"])), column)
    return Figure(
        scale * above[column] / below[column], scale * low / most, scale * high / least, spec, source
    )


def loss(after: pd.Series, before: pd.Series, spec: str = "{:z.0f} %") -> Figure:
    """By how many percent throughput falls from one row to another; negative if it rises. Raises Skipped."""
    rest = ratio(after, before, "throughput", "{:.1f} %")
    source = Source("loss", rest.source.of if rest.source else (), "throughput")
    return Figure(100 - rest.value, 100 - rest.high, 100 - rest.low, spec, source)


RELATIONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq}


def all_hold(conditions: str, figures: dict[str, Figure]) -> bool:
    """Whether conditions such as 'loss > 2 and fma_loss < 2' are true; '' always is."""

    def is_so(condition: str) -> bool:
        left, relation, right = condition.split()
        value = figures[right].value if right in figures else float(right)
        return RELATIONS[relation](figures[left].value, value)

    return all(map(is_so, re.split(" and ", conditions))) if conditions else True


@dataclass
class StudentGpu:
    """A student's GPU: its name for calc, and the run, None without one."""

    calculator: Calculator
    device: str
    label: str
    run: Run | None = None

    def ask(self, footprint: Footprint) -> Answer:
        """calc's answer on this GPU. Raises CommandError."""
        return self.calculator.ask(footprint, self.device)

    def calc(self, footprint: Footprint, key: str, spec: str = "{:,.0f}") -> Figure:
        """One value of calc's answer; dots lead into it. Raises Skipped where it has none."""
        value: Any = self.ask(footprint)
        for part in key.split("."):
            value = value[part] if value is not None else None
        if value is None:
            raise Skipped(f"`occbench calc` has no {key} for {footprint.words()} on this GPU")
        value = float(value) * scale_of(spec)
        return Figure(value, value, value, spec, Source("calc", tuple(footprint.command(self.device)), key))

    def rows(self, experiment: str, **cells: Any) -> pd.DataFrame:  # noqa: ANN401
        """Valid rows of an experiment whose columns have these values. Raises Skipped if there are none."""
        if self.run is None:
            raise Skipped("there is no run")
        rows = self.run.cases[self.run.cases["experiment"] == experiment]
        for column, value in cells.items():
            rows = rows[rows[column] == value]
        if rows.empty:
            words = "".join(f", {column} {value}" for column, value in cells.items())
            raise Skipped(f"the run has no valid case of {experiment}{words}")
        return rows
