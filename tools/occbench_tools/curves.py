# SPDX-License-Identifier: Apache-2.0
"""The curves of an experiment: its rows split into lines over its dial, by its description in env.json."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pandas as pd

from occbench_tools.analysis import CURVE_POINTS, is_curve
from occbench_tools.schema import columns_of_cases, columns_with
from occbench_tools.schema_upgrade import PLAIN

# What a case asks for or a kernel has compiled in, in the order in which it splits rows that share a value of
# the dial. Not how residency or a grid was asked for, which the dials say.
ASKED = sorted(
    columns_with("dial", "fixed", "curve"), key=lambda name: columns_of_cases()[name].get("split_order", 0)
)


@cache
def numbers() -> frozenset[str]:
    """The columns of cases.csv that hold numbers."""
    return frozenset(name for name, column in columns_of_cases().items() if column["type"] != "string")


class Table:
    """Rows whose columns are read as lists, with None for an empty cell. Data frames of thousands of small
    groups would be too slow: a millisecond each."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows
        self.columns: dict[str, list[Any]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def column(self, name: str) -> list[Any]:
        """All cells of a column."""
        if name not in self.columns:
            cells = self.rows[name].tolist()
            self.columns[name] = [cell if cell == cell else None for cell in cells]
        return self.columns[name]

    def grouped(self, names: Iterable[str], places: Iterable[int]) -> dict[tuple[Any, ...], list[int]]:
        """The places of rows that agree in all columns, by their cells."""
        columns = [self.column(name) for name in names]
        by: dict[tuple[Any, ...], list[int]] = {}
        for place in places:
            by.setdefault(tuple(column[place] for column in columns), []).append(place)
        return by


def in_order(by: dict[tuple[Any, ...], list[int]]) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Groups, sorted by their cells; empty ones come last."""

    def key(group: tuple[tuple[Any, ...], list[int]]) -> list[tuple[bool, Any]]:
        return [(cell is None, 0 if cell is None else cell) for cell in group[0]]

    return sorted(by.items(), key=key)


@dataclass
class Line:
    """Rows of one curve in the order of the dial, each value once; `parts`: what else is fixed in it."""

    family: str
    curve: str
    parts: dict[str, Any]
    table: Table
    places: list[int]  # of its rows in the table

    @cached_property
    def rows(self) -> pd.DataFrame:
        """As a data frame, which takes a hundred times as long as cells()."""
        return self.table.rows.iloc[self.places]

    def cells(self, column: str) -> list[Any]:
        """Those of a column, None where one is empty."""
        cells = self.table.column(column)
        return [cells[place] for place in self.places]

    def first(self, column: str) -> Any:  # noqa: ANN401
        """The cell of its first row."""
        return self.table.column(column)[self.places[0]]

    @property
    def free(self) -> bool:
        """Whether the compiler chose the registers."""
        return set(self.cells("register_route")) == {"free"}


def described(env: dict[str, Any], experiment: str) -> dict[str, Any]:
    """What env.json says of an experiment, and defaults for the rest."""
    experiments = env.get("experiments")
    said = experiments.get(experiment) if isinstance(experiments, dict) else None
    it = PLAIN | (said if isinstance(said, dict) else {})
    dial, parts = it["dial"], it["split_by"]
    known = isinstance(dial, str) and dial in numbers()
    parts = (
        [name for name in parts if isinstance(name, str) and name in numbers() | {*ASKED}]
        if isinstance(parts, list)
        else []
    )
    return it | dict(dial=dial if known else PLAIN["dial"], split_by=parts)


def lines(rows: pd.DataFrame, it: dict[str, Any]) -> Iterator[Line]:
    """The rows of one experiment that have a value of its dial, in curves. `it`: described()."""
    dial = it["dial"]
    if dial not in rows:
        return
    table = Table(rows)
    values = table.column(dial)
    told = [place for place, value in enumerate(values) if value is not None]
    parts = [name for name in it["split_by"] if name != dial and name in rows]
    more = [name for name in ASKED if name != dial and name not in parts and name in rows]
    for key, part in in_order(table.grouped(["family", "curve", *parts], told)):
        fixed = {name: value for name, value in zip(parts, key[2:], strict=True) if value is not None}
        for further, line in apart(table, part, dial, more):
            yield Line(*key[:2], fixed | further, table, sorted(line, key=values.__getitem__))


def apart(
    table: Table, places: list[int], dial: str, names: list[str]
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Rows of one curve, split by the first columns of `names` that vary until no value of the dial repeats.

    Of rows that no column distinguishes, the fastest counts.
    """
    values = table.column(dial)
    count = len({values[place] for place in places})
    if count == len(places):
        yield {}, places
        return
    for position, name in enumerate(names):
        by = table.grouped([name], places)
        if len(by) < 2:
            continue
        # What leaves no curve of one follows the dial, as a cap on registers does their number.
        if count < CURVE_POINTS or any(
            len({values[place] for place in part}) >= CURVE_POINTS for part in by.values()
        ):
            for (value,), part in in_order(by):
                for more, line in apart(table, part, dial, names[position + 1 :]):
                    yield ({} if value is None else {name: value}) | more, line
            return
    rate = table.column("throughput")
    fastest: dict[float, int] = {}
    for place in places:
        before = fastest.setdefault(values[place], place)
        if rate[place] is not None and (rate[before] is None or rate[place] > rate[before]):
            fastest[values[place]] = place
    yield {}, list(fastest.values())


def what_has_more(env: dict[str, Any]) -> str:
    """' (preset standard has them)', of a run that was quick."""
    return " (preset standard has them)" if env.get("preset") == "quick" else ""


def curved(found: list[Line], dial: str) -> list[Line]:
    """Those of enough points for a curve."""
    return [line for line in found if is_curve(line.cells(dial))]
