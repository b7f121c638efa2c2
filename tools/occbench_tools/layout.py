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
from occbench_tools.explain.phrases import VALUES, amount, value_text

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
    """The axis of any column."""
    return AXES.get(column) or Axis(column.replace("_", " ").capitalize(), bytes=column.endswith("_bytes"))


# A scale of env.json: the axis label, and the values it takes from scale_rows().
SCALES: dict[str, tuple[str, Callable[[pd.DataFrame], pd.Series]]] = {
    "rate": ("", lambda rows: rows["rate"]),
    "best": ("% of the line's best", lambda rows: 100 * rows["throughput"] / rows["throughput"].max()),
    "ceiling": ("% of the ceiling", lambda rows: rows["percent_of_ceiling"]),
    "cycles": ("SM cycles per loop iteration", cycles),
}
# The order in which columns split lines into panels and name them; the curve's own name comes last.
SPLIT_BY = ("words", "subject", "family", "form", "data_type", *ASKED, "curve")
SHORT = {
    "bank_conflict": "{} on a bank", "bytes_per_access": "{}", "register_cap": "register cap {}",
    "working_set_bytes": "{}",
}  # fmt: skip
NAME_COLUMNS = ("words", "subject", "family", "form", "curve")  # their values are names
COMPILER_CHOICES = (("register_route", "free"), ("register_cap", 0))  # the compiler's choice
NONE: Mapping[str, str] = MappingProxyType({})


@dataclass
class Panel:
    """Lines of one panel; `names` in their order; `hidden`: how many lines of the kind are not shown."""

    lines: list[Line]
    names: list[str]
    title: str
    numbers: list[float] = field(default_factory=list)  # the lines differ by these alone; empty: by more
    hidden: int = 0
    by: str = ""  # the column of `numbers`

    @property
    def is_titled_by_column(self) -> bool:
        """Whether the title says no more than what the lines differ by."""
        return bool(self.by) and self.title.startswith("By ")

    def has_sweep(self, dial: str) -> bool:
        """Whether one of its lines has several values of the dial."""
        return any(len(line.places) > 1 for line in self.lines)


def scale_of(description: dict[str, Any]) -> tuple[str, Callable[[pd.DataFrame], pd.Series]]:
    """The scale that a description names; the rate where it names none."""
    return SCALES.get(description["scale"] if isinstance(description["scale"], str) else "", SCALES["rate"])


def is_logarithmic(values: Iterable[float]) -> bool:
    """Whether the values are more even in ratios than in differences, over a wide range."""
    distinct = np.unique([v for v in values if pd.notna(v)])
    if len(distinct) < 4 or distinct[0] <= 0 or distinct[-1] < 8 * distinct[0]:
        return False
    steps, ratios = np.diff(distinct), np.diff(np.log(distinct))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def with_subjects(rows: pd.DataFrame, own: Mapping[str, str]) -> pd.DataFrame:
    """The rows with a column `subject`: the experiment's word for curve, form or family."""
    subject = rows["curve"].map(own).astype(object)
    for column in ("form", "family"):
        if column in rows:
            subject = subject.fillna(rows[column].map(own))
    return rows.assign(subject=subject)


def attributes_of(line: Line) -> dict[str, Any]:
    """The values that all rows of a line share, by column: its names and the columns of ASKED."""
    same: dict[str, Any] = {"family": line.family, "curve": line.curve}
    if " " in line.curve:  # the experiment's words, not a variant's name
        same["words"] = line.curve
    if "subject" in line.table and (subject := line.first("subject")):
        same["subject"] = subject
    for column in ASKED:
        if column in line.table and len(values := set(line.cells(column))) == 1:
            (same[column],) = values
    return line.parts | same


def distinguishing_columns(attributes: list[dict[str, Any]]) -> list[str]:
    """The fewest columns, in order, that distinguish these lines."""
    columns: list[str] = []
    groups = [list(range(len(attributes)))]
    first = ("words", "subject", "family", "form")
    parts = [column for each in attributes for column in each if column not in SPLIT_BY]
    for column in dict.fromkeys([*first, *parts, *SPLIT_BY]):
        split: list[list[int]] = []
        for group in groups:
            by: dict[Any, list[int]] = {}
            for i in group:
                by.setdefault(attributes[i].get(column), []).append(i)
            split += by.values()
        if len(split) > len(groups):
            columns.append(column)
            groups = split
    return columns


def names(
    found: list[Line], attributes: list[dict[str, Any]], own: Mapping[str, str]
) -> tuple[list[str], list[float], str]:
    """A unique name for each line; its number and the column, where the lines differ by one column alone."""
    columns = distinguishing_columns(attributes)
    values = [each.get(columns[0]) for each in attributes] if len(columns) == 1 else []
    if values and all(isinstance(v, (int, float, np.number)) for v in values):
        return [amount(columns[0], v) for v in values], [float(v) for v in values], columns[0]
    if "curve" in columns:
        columns.remove("curve")
        columns = ["curve", *(c for c in columns if c not in NAME_COLUMNS)]
    labels = [
        ", ".join(words_of(each, columns, own)) or line.curve
        for each, line in zip(attributes, found, strict=True)
    ]
    return [word if word not in labels[:i] else f"{word} #{i + 1}" for i, word in enumerate(labels)], [], ""


def words_of(
    attributes: dict[str, Any], columns: Iterable[str], own: Mapping[str, str] = NONE, whole: bool = False
) -> list[str]:
    """These columns' values of a line, in the experiment's `own` words; a register cap is its number.

    whole: with the column's name, as a title needs.
    """
    values = {}
    for column in columns:
        if column == "register_route" and attributes.get("register_cap") is not None:
            column = "register_cap"
        if column == "asked_resident_blocks" and "blocks_per_sm" not in columns:
            values["blocks_per_sm"] = attributes.get(column)
        elif attributes.get(column) is not None and (column, attributes[column]) not in COMPILER_CHOICES:
            values[column] = attributes[column]
    return [value_of(column, value, own, whole) for column, value in values.items() if value is not None]


def value_of(column: str, value: object, own: Mapping[str, str], whole: bool = False) -> str:
    """One value in words: '3 x 3 filters', '4 outputs per thread', 'equal trip counts', 'tile 16'"""
    if column in NAME_COLUMNS:
        return own.get(str(value), str(value))
    if column == "bank_conflict" and value == 1:
        return "no bank conflicts"
    if value == 0 and (none := own.get(f"{column} 0")):
        return none
    return value_text(column, value, own.get(column) or ("" if whole else SHORT.get(column, "")))


def panels(found: list[Line], description: dict[str, Any], own: Mapping[str, str] = NONE) -> list[Panel]:
    """Lines of one experiment's scaled rows, in at most PANELS panels of at most MOST.

    Where some are curves, lines of one point are left out; so is a unit without a curve, unless kernels are
    compared. `description`: description_of(). `own`: the experiment's words, from its findings.
    """
    longest = max((len(line.places) for line in found), default=0)
    enough = CURVE_POINTS if longest >= CURVE_POINTS else 2
    several = longest >= enough
    kinds: dict[tuple[Any, ...], list[Line]] = {}
    for line in found:
        kind = tuple(map(line.first, ("unit", "ceiling_kind"))) if description["scale"] == "rate" else ()
        kinds.setdefault(kind, []).append(line)
    all_panels: list[Panel] = []
    for kind in kinds.values():
        long = [line for line in kind if len(line.places) >= enough]
        short = sorted((line for line in kind if len(line.places) < enough), key=lambda e: -len(e.places))
        if description["compares_kernels"] and description["scale"] != "best" and long:
            all_panels += split_lines(long, MOST, 0, own) + split_lines(short, DOTS, 0, own)
        elif long:
            more = [line for line in short if len(line.places) > 1][: max(0, MOST - len(long))]
            all_panels += split_lines(long + more, MOST, len(short) - len(more), own)
        elif not several:
            all_panels += split_lines(short, DOTS, 0, own)
    name_kernels(all_panels, own)
    all_panels.sort(key=lambda panel: -sum(len(line.places) for line in panel.lines))
    for extra in all_panels[PANELS:]:
        all_panels[PANELS - 1].hidden += len(extra.lines) + extra.hidden
    # Curves first, and in the experiment's own order.
    return sorted(
        all_panels[:PANELS],
        key=lambda panel: (
            not panel.has_sweep(description["dial"]),
            min(min(line.places) for line in panel.lines),
        ),
    )


def name_kernels(panels: list[Panel], own: Mapping[str, str]) -> None:
    """Adds the kernel's name to each title, where panels show one kernel each and their titles lack it."""
    families = [{line.family for line in panel.lines} for panel in panels]
    if any(len(family) != 1 for family in families) or len(set.union(set(), *families)) < 2:
        return
    for panel, (family,) in zip(panels, families, strict=True):
        subjects = {
            attributes_of(line).get("subject", value_of("family", family, own)) for line in panel.lines
        }
        if len(subjects) > 1:  # the subjects name the lines
            continue
        kernel = capitalize(subjects.pop(), family)
        if not panel.title:
            panel.title = kernel
        elif panel.is_titled_by_column:
            panel.title = f"{kernel}: by {word(panel.by, own)}"


def split_lines(found: list[Line], most: int, hidden: int, own: Mapping[str, str]) -> list[Panel]:
    """Lines of one unit in panels, split by the columns that need the fewest panels."""
    attributes = [attributes_of(line) for line in found]
    groups = [list(range(len(found)))]
    while max(map(len, groups)) > most and len(groups) < PANELS:
        large = max(groups, key=len)
        by = splitting_column([attributes[i] for i in large], most)
        if not by:
            break
        new: dict[Any, list[int]] = {}
        for i in large:
            new.setdefault(attributes[i].get(by), []).append(i)
        if len(groups) - 1 + len(new) > PANELS:
            break
        place = groups.index(large)
        groups[place : place + 1] = new.values()
    lone = [group for group in groups if len(group) == 1]
    if 1 < len(lone) <= most:  # seen together
        groups = [group for group in groups if len(group) > 1] + [[group[0] for group in lone]]
    panels = [panel(found, attributes, group, most, len(groups) > 1, own) for group in groups]
    panels[0].hidden += hidden
    return panels


def splitting_column(attributes: list[dict[str, Any]], most: int) -> str:
    """The column that splits these lines into the fewest groups of at most `most`; else the first."""
    scores: dict[str, tuple[float, ...]] = {}
    for place, column in enumerate(SPLIT_BY):
        values = [each.get(column) for each in attributes]
        counts = [values.count(value) for value in set(values)]
        if len(counts) > 1 and column != "curve":
            fits = max(counts) <= most
            scores[column] = (0, len(counts), max(counts)) if fits else (1, place)
    return min(scores, key=scores.__getitem__, default="")


def panel(
    found: list[Line],
    attributes: list[dict[str, Any]],
    group: list[int],
    most: int,
    one_of: bool,
    own: Mapping[str, str],
) -> Panel:
    """One panel of a group of lines. Of too many, an even choice by their best throughput is shown."""
    hidden = 0
    if len(group) > most:
        group = sorted(group, key=lambda i: found[i].rows["throughput"].max())
        kept = {round(place) for place in np.linspace(0, len(group) - 1, most)}
        hidden, group = len(group) - len(kept), [group[place] for place in sorted(kept)]
    shown, shown_attributes = [found[i] for i in group], [attributes[i] for i in group]
    labels, numbers, column = names(shown, shown_attributes, own)
    alike = (
        [
            c
            for c in distinguishing_columns(attributes)
            if len({each.get(c) for each in shown_attributes}) == 1
        ]
        if one_of
        else []
    )
    if all("subject" in each for each in shown_attributes):  # the subject names them as well
        alike = [c for c in alike if c not in ("family", "form")]
    title = ", ".join(words_of(shown_attributes[0], alike, own, whole=True))
    if not title and len(shown) == 1:
        title = shown_attributes[0].get("subject", shown[0].curve)
    while (
        len(shown) > 1
        and all(", " in name for name in labels)
        and len({n.split(", ")[0] for n in labels}) == 1
    ):
        first = labels[0].split(", ")[0]
        title = ", ".join(filter(None, (title, own.get(first, first))))
        labels = [name.partition(", ")[2] for name in labels]
    if column:
        title = f"{title}: by {word(column, own)}" if title else f"By {word(column, own)}"
        order = sorted(range(len(shown)), key=lambda i: numbers[i])
        shown, labels, numbers = ([each[i] for i in order] for each in (shown, labels, numbers))
    return Panel(shown, labels, capitalize(title, shown[0].curve, shown[0].family), numbers, hidden, column)


def capitalize(title: str, *names: str) -> str:
    """The title with a capital, unless it begins with one of these names of code."""
    return title if re.split("[,:]", title)[0] in names else title[:1].upper() + title[1:]


def word(column: str, own: Mapping[str, str] = NONE) -> str:
    """A column in a few words: 'ILP', 'FMAs per load', 'block size'"""
    text = own.get(column) or VALUES.get(column, "")
    if text.startswith("{} ") or text == "ILP {}":
        return text.replace("{}", "").strip()
    return column.removeprefix("asked_").replace("_", " ")


def ticks(values: Iterable[float]) -> list[float]:
    """Powers of two that cover these, at most nine."""
    positive = [v for v in values if v > 0]
    first, last = math.ceil(math.log2(min(positive)) - 1e-9), math.floor(math.log2(max(positive)) + 1e-9)
    return [2.0**power for power in range(first, last + 1, max(1, math.ceil((last - first) / 7)))]
