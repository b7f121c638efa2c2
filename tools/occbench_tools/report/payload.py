# SPDX-License-Identifier: Apache-2.0
"""Folders of results as one JSON document for the page: runs, and the rows of each experiment in columns."""

import math
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools import explain, validate
from occbench_tools.analysis import CURVE_POINTS, UNITS, scale_rows, with_predictions
from occbench_tools.cliffs.find import table_of
from occbench_tools.curves import Line, description_of, lines, what_has_more
from occbench_tools.explain.phrases import value_text
from occbench_tools.explain.program import document_of
from occbench_tools.findings import Sentences, of_json
from occbench_tools.folder import POSITIVE, POSITIVE_IF_GIVEN, gpu_name, read_folder
from occbench_tools.layout import AXES, panels, words_of
from occbench_tools.schema import WORK

# Without these a row has no place on any chart.
NEEDED = [
    *POSITIVE, "throughput_unit", "occupancy_theoretical",
]  # fmt: skip
SHARED_BY_RUN = {
    "schema_version",
    "source",
    "experiment",
    "status",
    "reason",
}  # written once, not in each row


class Run:
    """One folder of results: `cases` (its valid rows), `env`, `lost` (rows without a time), `notes`."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError or ValueError."""
        self.folder = folder
        run = read_folder(folder, samples=False, strict=False)
        cases, self.env = with_predictions(run.valid), run.env
        self.is_model = self.env["source"] == "model"
        self.gpu = gpu_name(self.env)
        self.notes: list[str] = list(run.warnings)
        cut = cases[NEEDED].isna().any(axis=1)
        cut |= (cases[[*POSITIVE, *POSITIVE_IF_GIVEN]] <= 0).any(axis=1)
        twice = cases["case_id"].duplicated()
        for bad, words in ((cut, "lack numbers"), (twice, "repeat another's case_id")):
            if bad.any():
                first = cases.loc[bad, "case_id"].iloc[0]
                self.notes.append(f"{bad.sum()} valid rows {words} and are left out, the first: {first}")
        self.cases = cases[~cut & ~twice].copy()
        self.cases["in_flight_bytes"] = in_flight_bytes(self.cases)
        self.lost = run.cases[run.cases["status"] != "valid"]

    @cached_property
    def findings(self) -> dict[str, Sentences]:
        """The run's findings, by experiment."""
        return of_json(self.document)

    @cached_property
    def cliffs(self) -> pd.DataFrame:
        """The cliffs that the data show, predicted or not."""
        found = table_of(self.document)
        return found[found["verdict"].isin(["confirmed", "unpredicted"])]

    @cached_property
    def document(self) -> dict[str, Any]:
        """The run's findings.json."""
        return document_of(self.folder, self.cases, self.env)


def schema_columns() -> list[dict[str, Any]]:
    """Columns of cases.csv, by results/schema.json."""
    return validate.schema()["files"]["cases.csv"]["columns"]


def in_flight_bytes(rows: pd.DataFrame) -> pd.Series:
    """The most bytes that an SM's resident warps have in flight, NaN where no column tells.

    Asynchronous copies: the bytes in the pipelines, one per block in tensor_core, one per warp elsewhere.
    Ordinary loads: the independent loads of all lanes.
    """
    pipelines = rows["warps_per_sm"].where(rows["experiment"] != "tensor_core", rows["blocks_per_sm"])
    loads = rows["warps_per_sm"] * 32 * rows["ilp"] * rows["bytes_per_access"]
    return (rows["bytes_in_flight"] * pipelines).fillna(loads)


def labels(runs: list[Run]) -> list[str]:
    """A unique name for each run."""
    names = [run.gpu for run in runs]
    for part in ("git_commit", "folder"):
        if len(set(names)) == len(names):
            break
        more = [run.folder.name if part == "folder" else str(run.env.get(part) or "")[:7] for run in runs]
        names = [
            f"{name}, {word}" if names.count(name) > 1 else name
            for name, word in zip(names, more, strict=True)
        ]
    for i, name in enumerate(names):
        names[i] = name if name not in names[:i] else f"{name} #{i + 1}"
    unmarked = [run.is_model and "model" not in run.gpu for run in runs]
    return [f"{name} (model)" if mark else name for mark, name in zip(unmarked, names, strict=True)]


def flatten(value: object, name: str = "") -> dict[str, str]:
    """env.json as names with dots and words; a parameter of the model is one line."""
    if isinstance(value, dict) and {"value", "unit"} <= set(value):
        ends = f" ({value['low']} to {value['high']})" if value.get("low") is not None else ""
        return {name: f"{value['value']} {value['unit']}{ends}"}
    if isinstance(value, dict):
        return {
            k: v for key, part in value.items() for k, v in flatten(part, f"{name}.{key}".lstrip(".")).items()
        }
    if isinstance(value, list):
        return {name: ", ".join(map(str, value))} if value else {}
    return {} if value is None or value == "" else {name: str(value)}


def pack(column: pd.Series) -> object:
    """A column as JSON: {c: constant}, {d: words, i: which of them}, or numbers to 7 digits and null."""
    text = not pd.api.types.is_numeric_dtype(column)
    cells = column.tolist()
    # A column has few distinct cells, and a number takes a microsecond to shorten.
    short = {v: str(v) if text else shorten(v) for v in set(cells) if not pd.isna(v)}
    values = [short.get(v) for v in cells]
    if len(set(values)) == 1:
        return {"c": values[0]}
    if text:
        words = list(dict.fromkeys(values))
        place = {word: i for i, word in enumerate(words)}
        return {"d": words, "i": [place[v] for v in values]}
    return values


def shorten(number: float) -> float | None:
    """The number to 7 digits, a whole one as an integer; None for an infinite one."""
    if math.isinf(number):
        return None
    number = float(f"{number:.7g}")
    return int(number) if number == int(number) and abs(number) < 2**53 else number


CLIFF_COLUMNS = [
    "from_case_id", "to_case_id", "dial", "from_value", "to_value", "cause", "blocks_from", "blocks_to",
    "drop", "drop_low", "drop_high", "verdict", "note",
]  # fmt: skip


SCALE_IDS = dict(best="best", ceiling="ceiling", cycles="own")  # of env.json, in chart.js


def kernels(rows: pd.DataFrame, found: list[Line], parts: list[str]) -> list[str]:
    """The name of each row's line, without the columns that the experiment splits its lines by.

    The curve's name, after its family where two share it, and any other columns that distinguish its lines.
    """
    shared = rows.groupby("curve")["family"].nunique()
    names = rows["curve"].where(rows["curve"].map(shared) == 1, rows["family"] + " " + rows["curve"]).tolist()
    for line in found:
        if more := words_of(line.parts, [column for column in line.parts if column not in parts]):
            for place in line.places:
                names[place] += ", " + ", ".join(more)
    return names


def key(value: Any) -> str:  # noqa: ANN401
    """A value of pack() as JavaScript writes it."""
    value = pack_cell(value)
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def first_view(
    rows: pd.DataFrame,
    found: list[Line],
    description: dict[str, Any],
    groups: dict[str, dict[str, str]],
    cases: tuple[str, ...],
) -> tuple[str, list[str]]:
    """The scale and the lines that are shown first, as chart.js names and labels them.

    The lines of `cases`, which the first sentence names, and those of the picture's first panel.
    """
    places = [place for case in cases for place in np.flatnonzero(rows["case_id"] == case)]
    places += [line.places[0] for panel in panels(found, description)[:1] for line in panel.lines]
    patterns = []
    for place in places:
        row = rows.iloc[place]
        labels_of_row = [
            words.get(key(row[column]), "") for column, words in groups.items() if len(words) > 1
        ]
        patterns.append(f"^{re.escape(', '.join([row['kernel'], *labels_of_row]))}$")
    unit = UNITS.get(unit := rows["throughput_unit"].iloc[places[0]], (1, unit))[1] if places else ""
    return SCALE_IDS.get(description["scale"]) or unit, patterns


def experiment_of(
    name: str, runs: list[Run], cliffs: list[pd.DataFrame], sentences: list[Sentences]
) -> dict[str, Any]:
    """One experiment of all runs: how to draw it, its rows in columns, findings, cliffs and lost cases."""
    description = next(
        description_of(run.env, name) for run in runs if (run.cases["experiment"] == name).any()
    )
    parts, first = [], []
    for i, run in enumerate(runs):
        rows = run.cases[run.cases["experiment"] == name]
        if len(rows):
            found = list(lines(scale_rows(rows), description))
            parts.append(rows.assign(run=i, kernel=kernels(rows, found, description["split_by"])))
            first = first or found
    # Without the columns that a run leaves empty: pandas would have to guess their type.
    rows = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
    kept = [c for c in rows.columns[rows.notna().any()] if c not in SHARED_BY_RUN]
    groups = {
        c: {key(v): value_text(c, v) for v in rows[c].dropna().unique()}
        for c in description["split_by"]
        if c in rows
    }
    headline = sentences[parts[0]["run"].iloc[0]].cases
    y, show = first_view(parts[0], first, description, groups, headline)
    more = next(filter(None, (what_has_more(run.env) for run in runs)), "")
    steps = [
        [i, *(pack_cell(row[c]) for c in CLIFF_COLUMNS)]
        for i, found in enumerate(cliffs)
        for row in found[found["experiment"] == name].to_dict("records")
    ]
    lost = [
        [i, *(pack_cell(v) for v in row)]
        for i, run in enumerate(runs)
        for row in run.lost.loc[run.lost["experiment"] == name, ["case_id", "status", "reason"]].itertuples(
            index=False
        )
    ]
    return dict(
        name=name, question=description["question"], dial=description["dial"], groups=groups, show=show, y=y,
        findings=[each.sentences for each in sentences], curve_points=CURVE_POINTS, count=len(rows),
        cliffs=steps, lost=lost,
        bare=f"Fewer than {CURVE_POINTS} points are not joined{more}.",
        columns={c: pack(rows[c]) for c in kept},
    )  # fmt: skip


def pack_cell(value: Any) -> object:  # noqa: ANN401
    """One value of a data frame as JSON."""
    if pd.isna(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, str) else float(f"{value:.7g}")


def sentences_by_experiment(runs: list[Run], only: set[str] | None) -> dict[str, list[Sentences]]:
    """Every run's sentences on each experiment that has rows and is wanted."""
    names = {name for run in runs for name in run.cases["experiment"].unique()}
    return {
        name: [run.findings.get(name, Sentences([])) for run in runs]
        for name in names
        if only is None or name in only
    }


def facts(run: Run, label: str) -> dict[str, Any]:
    """The fields of a run in the head and the foot of the page."""
    env = flatten({name: value for name, value in run.env.items() if name != "experiments"})
    fields = dict(
        date="created_utc", commit="git_commit", toolkit="cuda_toolkit", driver="gpu.driver_version"
    )
    valid = len(run.cases)
    return dict(
        label=label, model=run.is_model, valid=valid, total=valid + len(run.lost), notes=run.notes
    ) | dict({fact: env.get(name, "") for fact, name in fields.items()}, env=env)


def units_of(runs: list[Run]) -> dict[str, dict[str, Any]]:
    """Each unit's name, its scale, and the column that counts its work, if any."""
    known = {unit: dict(scale=scale, name=name, work=WORK[unit]) for unit, (scale, name) in UNITS.items()}
    used = {unit for run in runs for unit in run.cases["throughput_unit"].unique()}
    return known | {unit: dict(scale=1, name=unit, work=None) for unit in sorted(used - set(known))}


def document(runs: list[Run], only: set[str] | None = None) -> dict[str, Any]:
    """The whole document. only: the experiments wanted, all if None."""
    cliffs = [run.cliffs for run in runs]
    sentences = sentences_by_experiment(runs, only)
    return dict(
        runs=[facts(run, label) for run, label in zip(runs, labels(runs), strict=True)],
        units=units_of(runs),
        axes={name: axis._asdict() | dict(short=axis.short) for name, axis in AXES.items()},
        docs={c["name"]: [c["unit"], c["doc"]] for c in schema_columns()},
        cliff_columns=["run", *CLIFF_COLUMNS],
        experiments=[
            experiment_of(name, runs, cliffs, sentences[name]) for name in explain.reading_order(sentences)
        ],
    )
