# SPDX-License-Identifier: Apache-2.0
"""Cells, rows and env.json against the entries of schema.json; violations go to a Report."""

import csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from occbench_tools import READ, SCHEMA_VERSIONS
from occbench_tools.lines import say
from occbench_tools.schema import complaint, field_violations, of_version, rename_fields
from occbench_tools.untrusted_files import parse_json, read_untrusted

INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Row = dict[str, str]


MOST_ALIKE = 5  # printed violations of one file that differ in their numbers and names alone
VARIES = re.compile(r"'[^']*'|\[\d+\]|(?<![\w.])[+-]?\d[\d.e+-]*|\b(?:nan|inf)\b")


@dataclass
class Report:
    """Violations found so far, printed as they are found, and the counts of the summary."""

    violations: int = 0
    alike: Counter[tuple[Path, str]] = field(default_factory=Counter)  # by file and what is wrong
    unreadable: int = 0
    cases: int = 0
    samples: int = 0
    kernels: int = 0  # of folders of attach
    launches: int = 0

    def counts(self) -> str:
        """'62 cases, 806 samples'"""
        parts = [(self.kernels, "kernels"), (self.launches, "launches")] if self.kernels else []
        if self.cases or self.samples or not parts:
            parts = [(self.cases, "cases"), (self.samples, "samples"), *parts]
        return ", ".join(f"{count} {what}" for count, what in parts)

    def violation(self, path: Path, line: int, what: str) -> None:
        self.violations += 1
        alike = path, VARIES.sub("...", what)
        self.alike[alike] += 1
        if self.alike[alike] <= MOST_ALIKE:
            say(f"{path}:{line}: {what}")

    def report_rest(self) -> None:
        """Prints the number of violations that violation() did not print."""
        for (path, what), count in self.alike.items():
            if count > MOST_ALIKE:
                say(f"{path}: {count - MOST_ALIKE:,} more: {what}")

    def missing(self, path: Path, reason: str) -> None:
        self.unreadable += 1
        say(f"{path}: {reason}")


def cell_check(column: dict[str, Any]) -> Callable[[str], str | None]:
    """The check of one column's cells: from text to the violation, or None."""
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
    if version in SCHEMA_VERSIONS:
        return f"schema_version {version}, and the first row has {rules['schema_version']}"
    return f"schema_version {version} is not one of {READ}, the versions that this tool reads"


def rows(path: Path, rules: dict[str, Any], report: Report) -> Iterator[tuple[int, list[str], bool]]:
    """Rows of one CSV file as (line of the first cell, cells, no cell is wrong by itself).

    Refuses another schema_version by name, and stops at a header that is not the schema's. OSError
    is the caller's.
    """
    columns = rules["files"][path.name.removesuffix(".gz")]["columns"]
    names = [c["name"] for c in columns]
    checks = [cell_check(c) for c in columns]
    records = numbered_records(path, report)
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
        report.violation(path, 1, f"header {wrong_header(header, names)}")


def numbered_records(path: Path, report: Report) -> Iterator[tuple[int, list[str]]]:
    """The whole records of a CSV file, each with the line that it begins on; reports what is not a CSV."""
    whole, line_feed, tail = read_untrusted(path).rpartition(b"\n")
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
    start = 1
    try:
        for cells in reader:
            yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        report.violation(path, start, f"not CSV: {error}")


def wrong_header(header: list[str], known: list[str]) -> str:
    """'lacks waves and has extra note': how a header differs from the schema's."""
    missing = [name for name in known if name not in header]
    extra = [name for name in header if name not in known]
    parts = [
        f"{what} {', '.join(names)}" for what, names in (("lacks", missing), ("has extra", extra)) if names
    ]
    return " and ".join(parts) or "is out of order or repeats a column"


def close(a: float, b: float, relative: float = 1e-6, absolute: float = 0.0) -> bool:
    return math.isclose(a, b, rel_tol=relative, abs_tol=absolute)


@dataclass(frozen=True)
class RunFacts:
    """What env.json says that rows are checked against; None where it does not."""

    max_warps: int | None = None
    source: str | None = None
    user_kernels: frozenset[str] = frozenset()  # experiments whose residents cannot always be counted
    version: int | None = None


def check_env(path: Path, rules: dict[str, Any], report: Report) -> RunFacts:
    """Checks env.json. Returns what it says of its rows."""
    text = read_untrusted(path).decode("utf-8")
    try:
        env = parse_json(text)
        if not isinstance(env, dict):
            raise ValueError("not a JSON object")
    except ValueError as error:
        report.violation(path, getattr(error, "lineno", 1), f"not JSON: {error}")
        return RunFacts()
    lines = text.splitlines()

    def line_of(name: str) -> int:
        return next((i for i, line in enumerate(lines, 1) if f'"{name}"' in line), 1)

    version = env.get("schema_version")
    newest, rules = rules["files"]["env.json"]["fields"], of_version(rules, version)
    if version is not None and version != rules["schema_version"]:
        report.violation(path, line_of("schema_version"), other_version(version, rules))
        return RunFacts()
    for name, what in field_violations(env, rules["files"]["env.json"]["fields"]):
        report.violation(path, line_of(name), what)
    try:
        max_warps = env["gpu"]["max_threads_per_sm"] // env["gpu"]["warp_size"]
    except (KeyError, TypeError, ZeroDivisionError):
        max_warps = None  # reported above
    rename_fields(env, newest)
    experiments = env.get("experiments")
    named = experiments.items() if isinstance(experiments, dict) else ()
    uncounted = frozenset(
        n
        for n, description in named
        if isinstance(description, dict) and description.get("user_kernels") is True
    )
    return RunFacts(max_warps, env.get("source", "measured"), uncounted, version)


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
