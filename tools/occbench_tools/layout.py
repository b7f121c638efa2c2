# SPDX-License-Identifier: Apache-2.0
"""The layout of an experiment's picture: curves in panels, their names, and the scales of the axes.

For the picture and the report's chart alike; all is computed from the rows and env.json's description.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from occbench_tools.analysis import CURVE_POINTS, cycles
from occbench_tools.curves import ASKED, Line
from occbench_tools.explain.phrases import VALUES, amount, at

MOST = 6  # lines of a panel: as many names fit, and as many colours differ
PANELS = 6  # of a picture
DOTS = 16  # kernels without a curve, a line of text each


class Axis(NamedTuple):
    """A dial's axis: its label, the factor of its numbers, and the steps of its ticks."""

    label: str
    scale: float = 1
    step: float = 0  # 0: any
    log: bool = False
    bytes: bool = False

    @property
    def short(self) -> str:
        """'resident warps per SM'"""
        return self.label[:1].lower() + self.label[1:].partition(" (")[0]


AXES = {
    "occupancy_theoretical": Axis("Theoretical occupancy (%)", 100, 12.5),
    "warps_per_sm": Axis("Resident warps per SM", 1, 8),
    "in_flight_bytes": Axis("Bytes in flight per SM", log=True, bytes=True),
    "bytes_in_flight": Axis("Bytes in flight per pipeline", log=True, bytes=True),
    "block_size": Axis("Threads per block", 1, 128),
    "registers_per_thread": Axis("Registers per thread", 1, 32),
    "dynamic_smem_bytes": Axis("Dynamic shared memory per block (KiB)", 1 / 1024),
    "carveout_percent": Axis("Carve-out asked for (%)"),
    "working_set_bytes": Axis("Working set", log=True, bytes=True),
    "cluster_size": Axis("Blocks per cluster", log=True),
    "sm_count": Axis("SMs", 1, 16),
    "register_cap": Axis("Registers allowed per thread", 1, 8),
    "lanes_apart": Axis("Lanes of a warp that branch away", 1, 4),
    "waves": Axis("Waves"),
}


def axis(column: str) -> Axis:
    """That of any column."""
    return AXES.get(column) or Axis(column.replace("_", " ").capitalize(), bytes=column.endswith("_bytes"))


# A scale of env.json: what the axis says, and its values of scaled() rows.
SCALES: dict[str, tuple[str, Callable[[pd.DataFrame], pd.Series]]] = {
    "rate": ("", lambda rows: rows["rate"]),
    "best": ("% of the line's best", lambda rows: 100 * rows["throughput"] / rows["throughput"].max()),
    "ceiling": ("% of the ceiling", lambda rows: rows["percent_of_ceiling"]),
    "cycles": ("SM cycles per loop iteration", cycles),
}
# In the order in which lines are split into panels and named; the curve's own name where no column differs.
SPLIT_BY = ("words", "subject", "family", "form", "data_type", *ASKED, "curve")
SHORT = {
    "bank_conflict": "{} on a bank", "bytes_per_access": "{}", "register_cap": "register cap {}",
    "working_set_bytes": "{}",
}  # fmt: skip
NAMED = ("words", "subject", "family", "form", "curve")  # whose values are names
UNSAID = (("register_route", "free"), ("register_cap", 0))  # the compiler's choice
NONE: Mapping[str, str] = MappingProxyType({})


@dataclass
class Panel:
    """Lines of one panel; `names` in their order; `hidden`: how many lines of the kind are not shown."""

    lines: list[Line]
    names: list[str]
    title: str
    numbers: list[float] = field(default_factory=list)  # by which alone the lines differ; empty: by more
    hidden: int = 0
    by: str = ""  # the column of `numbers`

    @property
    def column_alone(self) -> bool:
        """Whether the title says no more than what the lines differ by."""
        return bool(self.by) and self.title.startswith("By ")

    def swept(self, dial: str) -> bool:
        """Whether a line of it has several values of the dial."""
        return any(len(line.places) > 1 for line in self.lines)


def scale_of(it: dict[str, Any]) -> tuple[str, Callable[[pd.DataFrame], pd.Series]]:
    """That which a description names; a rate where it names none."""
    return SCALES.get(it["scale"] if isinstance(it["scale"], str) else "", SCALES["rate"])


def logarithmic(values: Iterable[float]) -> bool:
    """Whether the values are more even in ratios than in differences, over a wide range."""
    there = np.unique([v for v in values if pd.notna(v)])
    if len(there) < 4 or there[0] <= 0 or there[-1] < 8 * there[0]:
        return False
    steps, ratios = np.diff(there), np.diff(np.log(there))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def with_subjects(rows: pd.DataFrame, own: Mapping[str, str]) -> pd.DataFrame:
    """The rows with a column `subject`: the experiment's word for curve, form or family."""
    subject = rows["curve"].map(own).astype(object)
    for column in ("form", "family"):
        if column in rows:
            subject = subject.fillna(rows[column].map(own))
    return rows.assign(subject=subject)


def fixed(line: Line) -> dict[str, Any]:
    """What all rows of a line share, by column: its names and the columns of ASKED."""
    same: dict[str, Any] = {"family": line.family, "curve": line.curve}
    if " " in line.curve:  # what the experiment calls it, and no variant's name
        same["words"] = line.curve
    if "subject" in line.table and (subject := line.first("subject")):
        same["subject"] = subject
    for column in ASKED:
        if column in line.table and len(values := set(line.cells(column))) == 1:
            (same[column],) = values
    return line.parts | same


def distinguishing(told: list[dict[str, Any]]) -> list[str]:
    """The fewest columns, in order, that distinguish these lines."""
    columns: list[str] = []
    groups = [list(range(len(told)))]
    first = ("words", "subject", "family", "form")
    parts = [column for each in told for column in each if column not in SPLIT_BY]
    for column in dict.fromkeys([*first, *parts, *SPLIT_BY]):
        parted: list[list[int]] = []
        for group in groups:
            by: dict[Any, list[int]] = {}
            for i in group:
                by.setdefault(told[i].get(column), []).append(i)
            parted += by.values()
        if len(parted) > len(groups):
            columns.append(column)
            groups = parted
    return columns


def names(
    found: list[Line], told: list[dict[str, Any]], own: Mapping[str, str]
) -> tuple[list[str], list[float], str]:
    """A unique name for each line; numbers and column, where they differ by one column alone."""
    columns = distinguishing(told)
    values = [each.get(columns[0]) for each in told] if len(columns) == 1 else []
    if values and all(isinstance(v, (int, float, np.number)) for v in values):
        return [amount(columns[0], v) for v in values], [float(v) for v in values], columns[0]
    if "curve" in columns:
        columns.remove("curve")
        columns = ["curve", *(c for c in columns if c not in NAMED)]
    said = [
        ", ".join(words_of(each, columns, own)) or line.curve for each, line in zip(told, found, strict=True)
    ]
    return [word if word not in said[:i] else f"{word} #{i + 1}" for i, word in enumerate(said)], [], ""


def words_of(
    told: dict[str, Any], columns: Iterable[str], own: Mapping[str, str] = NONE, whole: bool = False
) -> list[str]:
    """These columns' values of a line, in the experiment's `own` words; of a cap on registers its number.

    whole: as in a title, which no line beside it explains.
    """
    said = {}
    for column in columns:
        if column == "register_route" and told.get("register_cap") is not None:
            column = "register_cap"
        if column == "asked_resident_blocks" and "blocks_per_sm" not in columns:
            said["blocks_per_sm"] = told.get(column)
        elif told.get(column) is not None and (column, told[column]) not in UNSAID:
            said[column] = told[column]
    return [value_of(column, value, own, whole) for column, value in said.items() if value is not None]


def value_of(column: str, value: object, own: Mapping[str, str], whole: bool = False) -> str:
    """One of them: '3 x 3 filters', '4 outputs per thread', 'equal trip counts', 'tile 16'"""
    if column in NAMED:
        return own.get(str(value), str(value))
    if column == "bank_conflict" and value == 1:
        return "no bank conflicts"
    if value == 0 and (none := own.get(f"{column} 0")):
        return none
    return at(column, value, own.get(column) or ("" if whole else SHORT.get(column, "")))


def panels(found: list[Line], it: dict[str, Any], own: Mapping[str, str] = NONE) -> list[Panel]:
    """Lines of one experiment's scaled rows, in at most PANELS panels of at most MOST. it: described().

    Where some are curves, those of one point are left out; so is a unit without a curve, unless kernels are
    what is compared. `own`: the experiment's words, of its findings.
    """
    longest = max((len(line.places) for line in found), default=0)
    enough = CURVE_POINTS if longest >= CURVE_POINTS else 2
    several = longest >= enough
    kinds: dict[tuple[Any, ...], list[Line]] = {}
    for line in found:
        kind = tuple(map(line.first, ("unit", "ceiling_kind"))) if it["scale"] == "rate" else ()
        kinds.setdefault(kind, []).append(line)
    made: list[Panel] = []
    for kind in kinds.values():
        long = [line for line in kind if len(line.places) >= enough]
        short = sorted((line for line in kind if len(line.places) < enough), key=lambda e: -len(e.places))
        if it["compares_kernels"] and it["scale"] != "best" and long:
            made += split_lines(long, MOST, 0, own) + split_lines(short, DOTS, 0, own)
        elif long:
            more = [line for line in short if len(line.places) > 1][: max(0, MOST - len(long))]
            made += split_lines(long + more, MOST, len(short) - len(more), own)
        elif not several:
            made += split_lines(short, DOTS, 0, own)
    name_kernels(made, own)
    made.sort(key=lambda panel: -sum(len(line.places) for line in panel.lines))
    for extra in made[PANELS:]:
        made[PANELS - 1].hidden += len(extra.lines) + extra.hidden
    # Curves first, and in the experiment's own order.
    return sorted(
        made[:PANELS],
        key=lambda panel: (not panel.swept(it["dial"]), min(min(line.places) for line in panel.lines)),
    )


def name_kernels(made: list[Panel], own: Mapping[str, str]) -> None:
    """Gives panels of several kernels, each with one, its name where their titles say none."""
    families = [{line.family for line in panel.lines} for panel in made]
    if any(len(family) != 1 for family in families) or len(set.union(set(), *families)) < 2:
        return
    for panel, (family,) in zip(made, families, strict=True):
        subjects = {fixed(line).get("subject", value_of("family", family, own)) for line in panel.lines}
        if len(subjects) > 1:  # which name the lines
            continue
        kernel = capitalized(subjects.pop(), family)
        if not panel.title:
            panel.title = kernel
        elif panel.column_alone:
            panel.title = f"{kernel}: by {word(panel.by, own)}"


def split_lines(found: list[Line], most: int, hidden: int, own: Mapping[str, str]) -> list[Panel]:
    """Lines of one unit in panels, split by the columns that make the fewest of them."""
    told = [fixed(line) for line in found]
    groups = [list(range(len(found)))]
    while max(map(len, groups)) > most and len(groups) < PANELS:
        large = max(groups, key=len)
        by = splitting_column([told[i] for i in large], most)
        if not by:
            break
        new: dict[Any, list[int]] = {}
        for i in large:
            new.setdefault(told[i].get(by), []).append(i)
        if len(groups) - 1 + len(new) > PANELS:
            break
        place = groups.index(large)
        groups[place : place + 1] = new.values()
    lone = [group for group in groups if len(group) == 1]
    if 1 < len(lone) <= most:  # seen together
        groups = [group for group in groups if len(group) > 1] + [[group[0] for group in lone]]
    made = [panel(found, told, group, most, len(groups) > 1, own) for group in groups]
    made[0].hidden += hidden
    return made


def splitting_column(told: list[dict[str, Any]], most: int) -> str:
    """The column that splits these lines into the fewest groups of at most `most`; else the first."""
    scores: dict[str, tuple[float, ...]] = {}
    for place, column in enumerate(SPLIT_BY):
        values = [each.get(column) for each in told]
        counts = [values.count(value) for value in set(values)]
        if len(counts) > 1 and column != "curve":
            fits = max(counts) <= most
            scores[column] = (0, len(counts), max(counts)) if fits else (1, place)
    return min(scores, key=scores.__getitem__, default="")


def panel(
    found: list[Line],
    told: list[dict[str, Any]],
    group: list[int],
    most: int,
    one_of: bool,
    own: Mapping[str, str],
) -> Panel:
    """One of them. Of too many lines, evenly chosen ones are shown, in the order of their best."""
    hidden = 0
    if len(group) > most:
        group = sorted(group, key=lambda i: found[i].rows["throughput"].max())
        kept = {round(place) for place in np.linspace(0, len(group) - 1, most)}
        hidden, group = len(group) - len(kept), [group[place] for place in sorted(kept)]
    shown, here = [found[i] for i in group], [told[i] for i in group]
    said, numbers, column = names(shown, here, own)
    alike = [c for c in distinguishing(told) if len({each.get(c) for each in here}) == 1] if one_of else []
    if all("subject" in each for each in here):  # which names them as well
        alike = [c for c in alike if c not in ("family", "form")]
    title = ", ".join(words_of(here[0], alike, own, whole=True))
    if not title and len(shown) == 1:
        title = here[0].get("subject", shown[0].curve)
    while (
        len(shown) > 1 and all(", " in name for name in said) and len({n.split(", ")[0] for n in said}) == 1
    ):
        first = said[0].split(", ")[0]
        title = ", ".join(filter(None, (title, own.get(first, first))))
        said = [name.partition(", ")[2] for name in said]
    if column:
        title = f"{title}: by {word(column, own)}" if title else f"By {word(column, own)}"
        order = sorted(range(len(shown)), key=lambda i: numbers[i])
        shown, said, numbers = ([each[i] for i in order] for each in (shown, said, numbers))
    return Panel(shown, said, capitalized(title, shown[0].curve, shown[0].family), numbers, hidden, column)


def capitalized(title: str, *names: str) -> str:
    """With a capital, unless it begins with one of these names of code."""
    return title if re.split("[,:]", title)[0] in names else title[:1].upper() + title[1:]


def word(column: str, own: Mapping[str, str] = NONE) -> str:
    """A column in a few words: 'ILP', 'FMAs per load', 'block size'"""
    said = own.get(column) or VALUES.get(column, "")
    if said.startswith("{} ") or said == "ILP {}":
        return said.replace("{}", "").strip()
    return column.removeprefix("asked_").replace("_", " ")


def ticks(values: Iterable[float]) -> list[float]:
    """Powers of two that cover these, at most nine."""
    there = [v for v in values if v > 0]
    first, last = math.ceil(math.log2(min(there)) - 1e-9), math.floor(math.log2(max(there)) + 1e-9)
    return [2.0**power for power in range(first, last + 1, max(1, math.ceil((last - first) / 7)))]
