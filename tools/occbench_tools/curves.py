# SPDX-License-Identifier: Apache-2.0
"""The curves of an experiment: its rows split into lines over its dial, by its description in env.json."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pandas as pd

from occbench_tools.analysis import CURVE_POINTS
from occbench_tools.schema import columns_of_cases, columns_with
from occbench_tools.schema_upgrade import PLAIN

# What a case asks for or a kernel has compiled in, in the order in which it splits rows that share a value of
# the dial. Not how residency or a grid was asked for, which the dials say.
ASKED = sorted(
    columns_with("dial", "fixed", "curve"), key=lambda name: columns_of_cases()[name].get("split_order", 0)
)


@cache
def numeric_columns() -> frozenset[str]:
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

    def group_rows(self, names: Iterable[str], places: Iterable[int]) -> dict[tuple[Any, ...], list[int]]:
        """Places of the rows that agree in all these columns, by the agreeing cells."""
        columns = [self.column(name) for name in names]
        by: dict[tuple[Any, ...], list[int]] = {}
        for place in places:
            by.setdefault(tuple(column[place] for column in columns), []).append(place)
        return by


def sort_groups(by: dict[tuple[Any, ...], list[int]]) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Groups sorted by their cells, empty cells last."""

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
        """The rows as a data frame; a hundred times slower than cells()."""
        return self.table.rows.iloc[self.places]

    def cells(self, column: str) -> list[Any]:
        """The line's cells of a column; None for an empty one."""
        cells = self.table.column(column)
        return [cells[place] for place in self.places]

    def first(self, column: str) -> Any:  # noqa: ANN401
        """The cell of the line's first row."""
        return self.table.column(column)[self.places[0]]

    @property
    def free(self) -> bool:
        """Whether the compiler chose the registers."""
        return set(self.cells("register_route")) == {"free"}


def description_of(env: dict[str, Any], experiment: str) -> dict[str, Any]:
    """env.json's description of an experiment, with defaults for what it lacks."""
    experiments = env.get("experiments")
    entry = experiments.get(experiment) if isinstance(experiments, dict) else None
    description = PLAIN | (entry if isinstance(entry, dict) else {})
    dial, parts = description["dial"], description["split_by"]
    is_number = isinstance(dial, str) and dial in numeric_columns()
    parts = (
        [name for name in parts if isinstance(name, str) and name in numeric_columns() | {*ASKED}]
        if isinstance(parts, list)
        else []
    )
    return description | dict(dial=dial if is_number else PLAIN["dial"], split_by=parts)


def lines(rows: pd.DataFrame, description: dict[str, Any]) -> Iterator[Line]:
    """The curves of one experiment's rows that have a value of its dial. `description`: description_of()."""
    dial = description["dial"]
    if dial not in rows:
        return
    table = Table(rows)
    values = table.column(dial)
    places = [place for place, value in enumerate(values) if value is not None]
    parts = [name for name in description["split_by"] if name != dial and name in rows]
    more = [name for name in ASKED if name != dial and name not in parts and name in rows]
    for key, part in sort_groups(table.group_rows(["family", "curve", *parts], places)):
        fixed = {name: value for name, value in zip(parts, key[2:], strict=True) if value is not None}
        for further, line in split_rows(table, part, dial, more):
            yield Line(*key[:2], fixed | further, table, sorted(line, key=values.__getitem__))


def split_rows(
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
        by = table.group_rows([name], places)
        if len(by) < 2:
            continue

        # A column that leaves no curve follows the dial, as a register cap follows the number of registers.
        if count < CURVE_POINTS or any(
            len({values[place] for place in part}) >= CURVE_POINTS for part in by.values()
        ):
            for (value,), part in sort_groups(by):
                for more, line in split_rows(table, part, dial, names[position + 1 :]):
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
    """' (preset standard has them)' for a quick run, else empty."""
    return " (preset standard has them)" if env.get("preset") == "quick" else ""
