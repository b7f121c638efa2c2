# SPDX-License-Identifier: Apache-2.0
"""occbench validate DIR...: does a folder of results keep the promises of schema.json?

One line per violation, `file:line: what is wrong`, then a summary. Exit 0 all well, 1 violations,
2 the words of the call, 4 a file is missing or could not be read. Needs the standard library alone.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from occbench_tools import SCHEMA_VERSIONS
from occbench_tools.attached import is_attached
from occbench_tools.command import ALL, add_folder, entry, folders_of, parser_of
from occbench_tools.escape import printable
from occbench_tools.schema import HEAD, of_version, schema, version_of
from occbench_tools.sent import parse_json, read_sent, written

WORK = {"byte/s": "bytes_per_launch", "flop/s": "flop_per_launch", "operation/s": "operations_per_launch"}
INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Row = dict[str, str]


@dataclass
class Report:
    """Violations found so far, printed as they are found, and the counts of the summary."""

    violations: int = 0
    unreadable: int = 0
    cases: int = 0
    samples: int = 0
    kernels: int = 0  # of folders of attach
    launches: int = 0

    def counts(self) -> str:
        """'62 cases, 806 samples'"""
        told = [(self.kernels, "kernels"), (self.launches, "launches")] if self.kernels else []
        if self.cases or self.samples or not told:
            told = [(self.cases, "cases"), (self.samples, "samples"), *told]
        return ", ".join(f"{count} {what}" for count, what in told)

    def violation(self, path: Path, line: int, what: str) -> None:
        self.violations += 1
        print(printable(f"{path}:{line}: {what}"))

    def missing(self, path: Path, why: str) -> None:
        self.unreadable += 1
        print(printable(f"{path}: {why}"))


def complaint(rule: dict[str, Any], value: object) -> str | None:
    """What allowed, pattern, minimum and maximum of a schema entry hold against a typed value."""
    if "allowed" in rule and value not in rule["allowed"]:
        return f"{value!r} is not one of {', '.join(map(str, rule['allowed']))}"
    if "pattern" in rule and not re.fullmatch(rule["pattern"], str(value)):
        return f"{value!r} does not match {rule['pattern']}"
    if "minimum" in rule and value < rule["minimum"]:
        return f"{value} is below {rule['minimum']}"
    if "maximum" in rule and value > rule["maximum"]:
        return f"{value} is above {rule['maximum']}"
    return None


def cell_check(column: dict[str, Any]) -> Callable[[str], str | None]:
    """The check of one column's cells: text in, None or what is wrong with it out."""
    form, convert, name = {
        "string": (None, str, ""),
        "integer": (INTEGER.fullmatch, int, "an integer"),
        "number": (NUMBER.fullmatch, float, "a finite number"),
    }[column["type"]]

    def check(cell: str) -> str | None:
        if not cell:
            return None if column["nullable"] else "empty, and must not be"
        if form and (not form(cell) or math.isinf(convert(cell))):
            return f"{cell!r} is not {name}"
        return complaint(column, convert(cell))

    return check


def all_good(column: dict[str, Any], check: Callable[[str], str | None], cells: tuple[str, ...]) -> bool:
    """Whether a stretch of one column passes its check; long columns of numbers are checked in bulk."""
    if len(few := set(cells)) < len(cells) / 8:
        return not any(map(check, few))
    if column["type"] == "number" and all(map(NUMBER.fullmatch, cells)):
        numbers = list(map(float, cells))
        return not (check(repr(min(numbers))) or check(repr(max(numbers))))
    return not any(map(check, cells))


def other_version(version: object, rules: dict[str, Any]) -> str:
    known = " or ".join(map(str, SCHEMA_VERSIONS))
    if version in SCHEMA_VERSIONS:
        return f"schema_version {version}, and the first row has {rules['schema_version']}"
    return f"schema_version {version} is not {known}, the versions that this tool reads"


def rows(path: Path, rules: dict[str, Any], report: Report) -> Iterator[tuple[int, list[str], bool]]:
    """Rows of one CSV file as (line of the first cell, cells, no cell is wrong by itself).

    Refuses another schema_version by name, and stops at a header that is not the schema's. OSError
    is the caller's.
    """
    columns = rules["files"][path.name.removesuffix(".gz")]["columns"]
    names = [c["name"] for c in columns]
    checks = [cell_check(c) for c in columns]
    whole, line_feed, tail = read_sent(path).rpartition(b"\n")
    whole += line_feed
    if tail:
        line = whole.count(b"\n") + 1
        report.violation(path, line, "the last row is cut off (no line feed at its end)")
    try:
        whole.decode()
    except UnicodeDecodeError as error:
        report.violation(path, whole.count(b"\n", 0, error.start) + 1, f"not UTF-8: {error.reason}")
        return
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(whole), "utf-8-sig", newline="\n"), strict=True)

    def numbered() -> Iterator[tuple[int, list[str]]]:
        start = 1
        try:
            for cells in reader:
                yield start, cells
                start = reader.line_num + 1
        except csv.Error as error:
            report.violation(path, start, f"not CSV: {error}")

    records = numbered()
    _, header = next(records, (1, []))
    while stretch := list(itertools.islice(records, 8192)):
        line, first = stretch[0]
        if header[:1] == ["schema_version"] and first[:1] != [str(rules["schema_version"])]:
            report.violation(path, line, other_version(first[0] if first else "of an empty row", rules))
            return
        if header != names:
            break
        whole_rows = [cells for _, cells in stretch if len(cells) == len(names)]
        good = len(whole_rows) == len(stretch) and all(
            map(all_good, columns, checks, zip(*whole_rows, strict=True))
        )
        for line, cells in stretch:
            if good:
                yield line, cells, True
            elif len(cells) != len(names):
                report.violation(path, line, f"{len(cells)} cells where the header has {len(names)}")
            else:
                wrong = [
                    (n, what) for n, c, cell in zip(names, checks, cells, strict=True) if (what := c(cell))
                ]
                for name, what in wrong:
                    report.violation(path, line, f"{name}: {what}")
                yield line, cells, not wrong
    if header != names:
        missing = [n for n in names if n not in header]
        extra = [n for n in header if n not in names]
        wrong = [
            f"{what} {', '.join(who)}" for what, who in (("lacks", missing), ("has extra", extra)) if who
        ]
        report.violation(path, 1, f"header {' and '.join(wrong) or 'is out of order or repeats a column'}")


def close(a: float, b: float, relative: float = 1e-6, absolute: float = 0.0) -> bool:
    return math.isclose(a, b, rel_tol=relative, abs_tol=absolute)


@dataclass(frozen=True)
class Said:
    """What env.json says that rows are held against; None where it does not."""

    max_warps: int | None = None
    source: str | None = None
    ordinary: frozenset[str] = frozenset()  # experiments on kernels whose residents cannot always be counted


def case_violations(row: Row, columns: list[dict[str, Any]], said: Said) -> Iterator[str]:
    """What holds between the cells of one row of cases.csv; each cell is already right by itself."""
    status = row["status"]
    valid = status == "valid"
    modelled = row.get("source") == "model"
    measured = valid and not modelled
    counted = measured and row["experiment"] not in said.ordinary
    required = {"valid": valid, "measured": measured, "counted": counted, "not valid": not valid}
    for column in columns:
        name, when = column["name"], column.get("required_when")
        if when and not row[name] and required[when]:
            yield f"{name}: empty in a row with status {status}"
        if modelled and when in ("measured", "counted") and row[name]:
            yield f"{name}: {row[name]}, and source is model"
    if valid and row["reason"]:
        yield "reason: must be empty in a valid row"
    if not valid:
        return

    def numbers(*names: str) -> list[float] | None:
        return [float(row[n]) for n in names] if all(row[n] for n in names) else None

    if modelled != (row["stop_reason"] == "model"):
        yield f"stop_reason: {row['stop_reason']}, and source is {row.get('source', 'measured')}"
    if modelled and row["samples"] != "0":
        yield f"samples: {row['samples']}, and source is model"
    if modelled and (got := numbers("throughput", "throughput_predicted")) and not close(*got):
        yield f"throughput: {got[0]:.9g} in a row of the model, which predicts {got[1]:.9g}"
    # Clusters are placed in whole GPCs: an SM may hold fewer blocks, the device's count is what must agree.
    in_clusters = bool(row["clusters_api"])
    observed = [] if in_clusters or not row["blocks_per_sm_resident"] else ["blocks_per_sm_resident"]
    if (got := numbers("blocks_per_sm", "blocks_per_sm_api", *observed)) and len(set(got)) > 1:
        yield (
            f"blocks_per_sm: theory {row['blocks_per_sm']}, API {row['blocks_per_sm_api']} and "
            f"residency {row['blocks_per_sm_resident']} differ"
        )
    if in_clusters and row["clusters_resident"] != row["clusters_api"]:
        seen = row["clusters_resident"] or "empty"
        yield f"clusters_resident: {seen}, and the API says {row['clusters_api']}"
    if said.max_warps and (got := numbers("occupancy_theoretical", "warps_per_sm")):
        expected = got[1] / said.max_warps
        if not close(got[0], expected, absolute=1e-4):
            of = f"{got[1]:g} warps of {said.max_warps}"
            yield f"occupancy_theoretical: {got[0]:g}, but {of} are {expected:g}"
    if modelled and row.get("occupancy_launch"):
        yield f"occupancy_launch: {row['occupancy_launch']}, and source is model"
    parts = [name for name in row if name == "occupancy_launch" or name.startswith("lost_to_")]
    if (got := numbers("occupancy_theoretical", *parts)) and parts and not close(got[0], sum(got[1:])):
        yield f"occupancy_theoretical: {got[0]:g}, but launch and parts add up to {sum(got[1:]):g}"
    if (got := numbers("time_ci95_low_s", "time_median_s", "time_ci95_high_s")) and sorted(got) != got:
        yield f"time_median_s: {got[1]:g} is outside its interval [{got[0]:g}, {got[2]:g}]"
    if (got := numbers("time_p10_s", "time_median_s", "time_p90_s")) and sorted(got) != got:
        yield f"time_median_s: {got[1]:g} is outside the tenths [{got[0]:g}, {got[2]:g}]"
    work = WORK.get(row["throughput_unit"])
    if work and not row[work]:
        yield f"{work}: empty, and throughput_unit is {row['throughput_unit']}"
    elif work and (got := numbers("throughput", work, "time_median_s")):
        if got[2] == 0:
            yield "time_median_s: 0 is no time"
        elif not close(got[0], got[1] / got[2]):
            yield f"throughput: {got[0]:.9g}, but {work} / time_median_s is {got[1] / got[2]:.9g}"
    if (got := numbers("percent_of_ceiling", "throughput", "ceiling")) and (
        got[2] == 0 or not close(got[0], 100 * got[1] / got[2], relative=1e-4)
    ):
        yield f"percent_of_ceiling: {got[0]:g} is not 100 x throughput / ceiling"
    if bool(row["ceiling"]) != bool(row["percent_of_ceiling"]):
        yield "ceiling: only one of it and percent_of_ceiling is empty"
    if row["ceiling_kind"] == "none" and row["ceiling"]:
        yield f"ceiling: {row['ceiling']}, and ceiling_kind is none"
    if got := numbers("cycles_per_pass", "time_median_s", "sm_clock_hz", "iterations"):
        if got[3] == 0:
            yield "iterations: 0 passes have no time"
        elif not close(got[0], expected := got[1] * got[2] / got[3]):
            yield f"cycles_per_pass: {got[0]:.9g}, but time x clock / iterations is {expected:.9g}"


@dataclass
class Samples:
    """Repetition 0 of one case."""

    kept: array[float] = field(default_factory=lambda: array("d"))
    discarded: int = 0


def check_cases(path: Path, rules: dict[str, Any], said: Said, report: Report) -> dict[str, tuple]:
    """Checks cases.csv. Returns (line, row or None unless valid and whole) by case_id."""
    found: dict[str, tuple[int, Row | None]] = {}
    columns = rules["files"]["cases.csv"]["columns"]
    names = [c["name"] for c in columns]
    for line, cells, good in rows(path, rules, report):
        report.cases += 1
        row = dict(zip(names, cells, strict=True))
        case = row["case_id"]
        if case in found:
            report.violation(path, line, f"case_id: {case} is already on line {found[case][0]}")
            continue
        if good:
            for what in case_violations(row, columns, said):
                report.violation(path, line, what)
            if said.source and row.get("source", "measured") != said.source:
                report.violation(path, line, f"source: {row['source']}, and env.json says {said.source}")
        found[case] = (line, row if good and row["status"] == "valid" else None)
    return found


def check_samples(
    path: Path, rules: dict[str, Any], cases: dict[str, tuple], report: Report
) -> dict[str, Samples]:
    """Checks samples.csv. Returns repetition 0 by case_id."""
    found: dict[str, Samples] = {}
    strangers: set[str] = set()
    for line, (_, case, repetition, _, _, time_s, _, discarded, _), good in rows(path, rules, report):
        report.samples += 1
        if case not in cases and case not in strangers:
            strangers.add(case)
            report.violation(path, line, f"case_id: {case} is not in cases.csv")
        if good and repetition == "0":
            samples = found.get(case) or found.setdefault(case, Samples())
            if discarded == "1":
                samples.discarded += 1
            else:
                samples.kept.append(float(time_s))
    return found


def check_summaries(path: Path, cases: dict[str, tuple], samples: dict[str, Samples], report: Report) -> None:
    """Do the valid rows of cases.csv sum up their samples?"""
    for case, (line, row) in cases.items():
        if row is None:
            continue
        mine = samples.get(case, Samples())
        for name, count in (("samples", len(mine.kept)), ("discarded", mine.discarded)):
            if row[name] and int(row[name]) != count:
                report.violation(path, line, f"{name}: {row[name]}, but samples.csv has {count}")
        if mine.kept and row["time_median_s"] and not close(float(row["time_median_s"]), median(mine.kept)):
            report.violation(
                path,
                line,
                f"time_median_s: {row['time_median_s']}, but its samples' is {median(mine.kept):.9g}",
            )


JSON_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
}


def field_violations(
    values: dict[str, Any], rules: list[dict], prefix: str = ""
) -> Iterator[tuple[str, str]]:
    """(field, what is wrong with it) of one object of env.json. Fields of no rule are welcome."""
    for rule in rules:
        name = rule["name"]
        value = values.get(name)
        if name not in values:
            if rule.get("optional"):
                continue
            yield name, f"{prefix}{name} is missing"
        elif value is None:
            if not rule["nullable"]:
                yield name, f"{prefix}{name}: null, and must not be"
        elif not JSON_TYPES[rule["type"]](value):
            yield name, f"{prefix}{name}: {value!r} is not of type {rule['type']}"
        elif wrong := complaint(rule, value):
            yield name, f"{prefix}{name}: {wrong}"
        elif "fields" in rule:
            yield from field_violations(value, rule["fields"], f"{prefix}{name}.")
        elif "items" in rule:
            for place, one in enumerate(value):
                inside = one if isinstance(one, dict) else {}
                yield from field_violations(inside, rule["items"], f"{prefix}{name}[{place}].")
        elif "of" in rule:
            for place, one in enumerate(value):
                if not JSON_TYPES[rule["of"]](one):
                    yield name, f"{prefix}{name}[{place}]: {one!r} is not of type {rule['of']}"


def check_env(path: Path, rules: dict[str, Any], report: Report) -> Said:
    """Checks env.json. Returns what it says of its rows."""
    text = read_sent(path).decode("utf-8")
    try:
        env = parse_json(text)
        if not isinstance(env, dict):
            raise ValueError("not a JSON object")
    except ValueError as error:
        report.violation(path, getattr(error, "lineno", 1), f"not JSON: {error}")
        return Said()
    lines = text.splitlines()

    def line_of(name: str) -> int:
        return next((i for i, line in enumerate(lines, 1) if f'"{name}"' in line), 1)

    version = env.get("schema_version")
    rules = of_version(rules, version)
    if version is not None and version != rules["schema_version"]:
        report.violation(path, line_of("schema_version"), other_version(version, rules))
        return Said()
    for name, what in field_violations(env, rules["files"]["env.json"]["fields"]):
        report.violation(path, line_of(name), what)
    try:
        max_warps = env["gpu"]["max_threads_per_sm"] // env["gpu"]["warp_size"]
    except (KeyError, TypeError, ZeroDivisionError):
        max_warps = None  # told above
    experiments = env.get("experiments")
    its = experiments.items() if isinstance(experiments, dict) else ()
    ordinary = frozenset(n for n, it in its if isinstance(it, dict) and it.get("ordinary_kernels") is True)
    return Said(max_warps, env.get("source", "measured"), ordinary)


@contextmanager
def readable(path: Path, report: Report) -> Iterator[None]:
    """Turns failures to read `path` into lines of the report."""
    try:
        yield
    except FileNotFoundError:
        report.missing(path, "missing")
    except UnicodeDecodeError as error:
        report.violation(path, 1, f"not UTF-8: {error.reason}")
    except OSError as error:
        report.missing(path, f"cannot be read: {error.strerror}")


def check_folder(folder: Path, rules: dict[str, Any], report: Report) -> None:
    """Checks the files of one folder of results, as far as they can be read."""
    if not folder.is_dir():
        report.missing(folder, "no such folder")
        return
    if is_attached(folder):
        from occbench_tools.attached import check  # which takes from this file

        check.check(folder, rules | dict(files=rules["attach"]), report)
        return
    said, cases, samples = Said(), None, None
    with readable(path := folder / "env.json", report):
        said = check_env(path, rules, report)
    with readable(path := folder / "cases.csv", report):
        its = of_version(rules, version_of(read_sent(path, HEAD)))
        cases = check_cases(path, its, said, report)
    with readable(path := written(folder / "samples.csv"), report):
        its = of_version(rules, version_of(read_sent(path, HEAD)))
        samples = check_samples(path, its, cases or {}, report)
    if cases is not None and samples is not None:
        check_summaries(folder / "cases.csv", cases, samples, report)


@entry("occbench validate")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "validate",
        "Check folders of results against their schema.",
        "occbench validate results/*/*",
    )
    add_folder(parser, many=True, holds="cases.csv, samples.csv, env.json")
    folders = folders_of(parser.parse_args(arguments), "occbench validate", of=ALL)
    report, rules = Report(), schema()
    for folder in folders:
        check_folder(folder, rules, report)
    print(
        f"{len(folders)} folder{'s' * (len(folders) != 1)}, {report.counts()}: "
        f"{report.violations} violation{'s' * (report.violations != 1)}"
        + (f", {report.unreadable} unreadable" if report.unreadable else "")
    )
    return 4 if report.unreadable else 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
