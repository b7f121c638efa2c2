# SPDX-License-Identifier: Apache-2.0
"""occbench predictions DIR: the model's prediction of each case, compared with its measurement.

A Markdown table from cases.csv alone, as the README has it: per experiment and in all, the error
predicted / measured - 1 of the throughput. mean: of its absolute value; 90 % within: its 90th percentile;
worst: with its sign, the case last in the line; bias: the signed median; the same for the baseline,
min(latency bound, throughput bounds). Experiments that say they are outside the model follow below the total,
and a second total has them in it.
--model MODEL takes the predictions from a run of the model (`occbench run --device model:NAME`) instead of
the run's own: today's model compared with an older measurement.
--bounds FILE adds how often hardware counters, read by occbench profile, name the model's bound, by the rule
of counters.py. Where predictions have bands (`run --bands`), a line says how many of the
measured cases lie within. Exit 0 printed, 1 nothing was predicted, 2 invalid arguments, 4 a file could
not be read, or has no predictions of measured cases.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from occbench_tools import screen
from occbench_tools.analysis import read_folder
from occbench_tools.command import CommandError, add_folder, entry, folder_of, parser_of, reading
from occbench_tools.counters import bounds_of, read_counters
from occbench_tools.escape import printable, prose, without_backticks
from occbench_tools.lines import say

BAND = ("throughput_predicted_low", "throughput_predicted_high")
COLUMNS = ("source", "throughput_predicted", "bound_predicted", "throughput_baseline")
AIM = {"mean": 0.05, "90 % within": 0.10, "worst": 0.25}
HEAD = ["experiment", "cases", "mean", "90 % within", "worst", "bias", "min(): mean", "90 % within", "worst",
        "bias", "not predicted", "worst case"]  # fmt: skip


def read_predictions(folder: Path, model: Path | None = None) -> pd.DataFrame:
    """Valid, measured rows, with `error` and `baseline_error` (fractions; NaN where nothing was predicted).

    `model`: a model's run, whose predictions replace those of the rows. Raises as read_folder does, and
    ValueError where a run has no such columns or was not measured, or `model` was.
    """
    cases, _ = read_folder(folder)
    if lacking := [name for name in COLUMNS if name not in cases]:
        versions = " and ".join(map(str, sorted(set(cases["schema_version"])))) or "none"
        raise ValueError(
            f"cases.csv (schema_version {versions}) has no {', '.join(lacking)}: "
            "it is older than the model; run again with this build"
        )
    if (cases["source"] != "measured").any():
        raise ValueError("a run of the model: nothing in it was measured, and nothing can be compared")
    if model:
        model_rows, env = read_folder(model)
        if env["source"] != "model":
            raise ValueError(f"--model {model}: measured, not a run of the model")
        model_rows = model_rows.set_index("case_id")
        columns = [name for name in (*COLUMNS[1:], *BAND) if name in model_rows]
        cases = cases.drop(columns=cases.columns.intersection(BAND))
        cases = cases.assign(**{name: cases["case_id"].map(model_rows[name]) for name in columns})
        other_unit = cases["case_id"].map(model_rows["throughput_unit"]) != cases["throughput_unit"]
        rates = ["throughput_predicted", "throughput_baseline", *cases.columns.intersection(BAND)]
        cases.loc[other_unit, rates] = float("nan")
    errors = {
        name: cases[column].where(cases[column] > 0) / cases["throughput"] - 1
        for name, column in (("error", "throughput_predicted"), ("baseline_error", "throughput_baseline"))
    }
    return cases.assign(**errors)


@dataclass
class Errors:
    """Errors of one set of cases, as fractions. worst_case: case_id."""

    mean: float
    most: float  # 90th percentile of the absolute value
    worst: float
    worst_case: str
    bias: float


def errors_of(rows: pd.DataFrame, column: str) -> Errors | None:
    """The errors of the rows that have one; None without any."""
    rows = rows.dropna(subset=column)
    if rows.empty:
        return None
    size = rows[column].abs()
    worst = rows.loc[size.idxmax()]
    return Errors(size.mean(), size.quantile(0.9), worst[column], worst["case_id"], rows[column].median())


def line(name: str, rows: pd.DataFrame) -> list[str]:
    """The table's cells of one set of rows."""
    cells = [name, f"{len(rows):,}"]
    model, baseline = errors_of(rows, "error"), errors_of(rows, "baseline_error")
    for errors in (model, baseline):
        numbers = (errors.mean, errors.most, errors.worst, errors.bias) if errors else [None] * 4
        forms = ("{:.1f} %", "{:.1f} %", "{:+.1f} %", "{:+.1f} %")
        cells += [form.format(100 * n) if errors else "" for form, n in zip(forms, numbers, strict=True)]
    worst = f"`{model.worst_case.removeprefix(f'{name}.')}`" if model else ""
    return [*cells, f"{100 * rows['error'].isna().mean():.3g} %", worst]


def lines(rows: pd.DataFrame) -> list[list[list[str]]]:
    """The table's lines: the experiments inside the model, their total, those outside, and the total."""
    outside = rows["outside_model"].notna()
    each, outside_lines = (
        [line(name, some) for name, some in part.groupby("experiment")]
        for part in (rows[~outside], rows[outside])
    )
    whole = [line("all, and those outside", rows)] if outside_lines else []
    return [each, [line("all of these", rows[~outside])], outside_lines, whole]


def band_coverage(rows: pd.DataFrame) -> str:
    """How many of the measured cases lie within their bands, and how wide these are; empty without bands."""
    rows = rows.dropna(subset=list(BAND)) if set(BAND) <= set(rows) else rows[:0]
    if rows.empty:
        return ""
    low, high = (rows[name] for name in BAND)
    parts = {"": rows["outside_model"].isna(), ", with those outside the model": pd.Series(True, rows.index)}
    parts_text = [
        f"{100 * within.mean():.1f} % of {len(within):,} measured cases{which}"
        for which, some in parts.items()
        if len(within := rows["throughput"].between(low, high)[some])
    ]
    wide = f"Half of the bands are +-{100 * ((high / low).median() ** 0.5 - 1):.1f} % or less."
    return f"Within their 90 % bands: {'; '.join(dict.fromkeys(parts_text))}. {wide}"


def verdict(rows: pd.DataFrame) -> str:
    """Whether the model meets its aims over the cases inside it, and the reasons of those outside."""
    inside = rows[rows["outside_model"].isna()]
    errors = errors_of(inside, "error")
    if not errors:
        return "None of the cases that count was predicted."
    found = {"mean": errors.mean, "90 % within": errors.most, "worst": abs(errors.worst)}
    missed = [f"{name} {100 * found[name]:.1f} %" for name in AIM if found[name] > AIM[name]]
    aims = ", ".join(f"{name} {100 * most:.0f} %" for name, most in AIM.items())
    text = f"Aims, at most: {aims}. " + (f"Missed: {', '.join(missed)}" if missed else "All met")
    if silent := inside["error"].isna().sum():
        text += f", without the {silent:,} of {len(inside):,} cases that were not predicted"
    reasons_outside = rows.dropna(subset="outside_model").groupby("experiment")["outside_model"].first()
    if len(reasons_outside):
        reasons = "".join(f"\n- {name}: {prose(reason)}." for name, reason in reasons_outside.items())
        return f"{text}.\n\nOutside the model, and in the second total alone:\n{reasons}"
    return f"{text}."


def compare(rows: pd.DataFrame, counters: pd.DataFrame) -> pd.DataFrame:
    """Cases with a prediction and counters: `model`, `counted` (the highest), `agree`.

    Bound `launch` is left out: no counter of a kernel sees what comes before it.
    """
    rows = rows[rows["bound_predicted"].notna() & (rows["bound_predicted"] != "launch")]
    both = rows[rows["outside_model"].isna()].merge(counters, on="case_id")
    names = [bounds_of(row) for _, row in both.iterrows()]
    return pd.DataFrame(
        dict(
            case_id=both["case_id"],
            model=both["bound_predicted"],
            counted=[found[0] for found in names],
            agree=[bound in found for bound, found in zip(both["bound_predicted"], names, strict=True)],
        )
    )


def confusion(found: pd.DataFrame) -> list[list[str]]:
    """Head and lines: cases by the model's bound, down, and the highest that the counters name, across."""
    counts = pd.crosstab(found["model"], found["counted"])
    share = found.groupby("model")["agree"].mean()
    return [
        ["model, counters", *map(str, counts.columns), "agree"],
        *(
            [model, *(f"{n:g}" if n else "" for n in row), f"{100 * share[model]:.0f} %"]
            for model, row in counts.iterrows()
        ),
    ]


def markdown_table(head: list[str], *parts: list[list[str]]) -> str:
    """A table; Markdown has no rules within one, so that an empty line sets the parts apart."""
    out = [head, ["---"] * len(head)]
    for part in filter(None, parts):
        out += [[""] * len(head)] * (len(out) > 2) + [[*map(prose, cells)] for cells in part]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in out)


# Columns of HEAD on a terminal too narrow for all, as many as fit: the last ones are dropped first.
MAIN = ("experiment", "cases", "mean", "90 % within", "worst", "worst case", "bias", "not predicted")


def fitting_columns(table: list[list[str]], room: int) -> list[int]:
    """The places of the columns that fit a terminal of `room` columns. table: its head, and its lines."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    places = [*range(len(widths))]
    if sum(widths) + 2 * (len(widths) - 1) > room and table[0][0] == HEAD[0]:
        places = [table[0].index(name) for name in MAIN]
    while len(places) > 1 and sum(widths[i] for i in places) + 2 * (len(places) - 1) > room:
        places.pop()
    return sorted(places)


def plain_table(head: list[str], *parts: list[list[str]]) -> str:
    """A table for a terminal: columns, numbers to the right, a rule between parts."""
    parts = tuple([[printable(cell.replace("`", "")) for cell in cells] for cells in part] for part in parts)
    head = [*map(printable, head)]
    table = [head, *(cells for part in parts for cells in part)]
    names = {0, len(head) - 1}
    if sys.stdout.isatty():
        places = fitting_columns(table, screen.columns())
        head, *parts = ([[row[i] for i in places] for row in part] for part in ([head], *parts))
        head, names = head[0], {place for place, i in enumerate(places) if i in names}
        table = [head, *(cells for part in parts for cells in part)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def columns(cells: list[str]) -> str:
        return "  ".join(
            cell.ljust(width) if place in names else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    rule = "-" * (sum(widths) + 2 * len(widths) - 2)
    blocks = ["\n".join(map(columns, part)) for part in ([head], *parts) if part]
    return f"\n{rule}\n".join(blocks) + "\n"


def report(
    folder: Path, bounds: Path | None, table: type(markdown_table) = markdown_table, model: Path | None = None
) -> str:
    """The command's output. Raises as read_predictions and read_counters do; CommandError: no case."""
    rows = without_backticks(read_predictions(folder, model))
    if rows["error"].isna().all():
        reason = "no valid case has a prediction; the device's parameters come from `occbench calibrate`"
        raise CommandError(1, f"{folder}: {reason}")
    text = table(HEAD, *lines(rows)) + f"\n{verdict(rows)}\n"
    if bands := band_coverage(rows):
        text += f"\n{bands}\n"
    if bounds:
        counters = read_counters(bounds)
        found = compare(rows, counters)
        if found.empty:
            reason = f"{bounds}: none of its {len(counters)} cases is predicted in this folder"
            raise CommandError(1, f"{folder}: {reason}")
        head, *body = confusion(found)
        text += (
            f"\nThe counters name the model's bound in {found['agree'].sum()} of {len(found)} cases "
            f"({100 * found['agree'].mean():.0f} %).\n\n{table(head, body)}"
        )
    return text


@entry("occbench predictions")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "predictions",
        "Compare the model's predictions with the measurements.",
        "occbench predictions --plain",
    )
    add_folder(parser)
    parser.add_argument(
        "--bounds", metavar="FILE", type=Path, help="hardware counters that occbench profile read"
    )
    parser.add_argument(
        "--model", metavar="MODEL", type=Path, help="a model's run: its predictions instead of the rows' own"
    )
    parser.add_argument("--plain", action="store_true", help="columns, as on a terminal, not Markdown")
    options = parser.parse_args(arguments)
    folder = folder_of(options, "occbench predictions")
    with reading(folder):
        table = plain_table if options.plain or sys.stdout.isatty() else markdown_table
        text = report(folder, options.bounds, table, options.model)
        say(*text.splitlines())  # tables fit a terminal, and sentences are broken
    return 0
