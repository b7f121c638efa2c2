# SPDX-License-Identifier: Apache-2.0
"""One folder of results as data frames, typed by results/schema.json, or one line that says why not.

occbench validate lists every violation; this reader refuses at the first that would make a number
wrong: another schema, other columns, text or NaN for a number, an empty cell that may not be empty, a
repeated case. A last row without its line feed was cut off while it was written: it is skipped, with a
warning.
"""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd

from occbench_tools import NEWEST, READ, SCHEMA_VERSIONS, schema_upgrade
from occbench_tools.schema import check_types, complaint, of_version, rename_fields, schema, version_of
from occbench_tools.schema_checks import NUMBER, wrong_header
from occbench_tools.untrusted_files import parse_json, plain_or_packed, read_untrusted

# Text that many rows share and none lacks: stored as one code per row instead of one string.
REPEATED = {"samples.csv": ("case_id",)}
# Columns of a valid case of cases.csv that must be above zero: curves are drawn of them or divide by them.
POSITIVE = ("throughput", "time_median_s", "blocks_per_sm", "warps_per_sm")
POSITIVE_IF_GIVEN = ("time_ci95_low_s", "time_ci95_high_s", "sm_clock_hz")
LEAST_INEXACT = 2.0**53  # not every integer from here on is a double
TRUTHS = (b"true", b"True", b"TRUE", b"false", b"False", b"FALSE")


@dataclass
class Folder:
    """A folder's content. `samples` is None unless requested; `warnings` are lines for readers."""

    path: Path
    cases: pd.DataFrame
    env: dict[str, Any]
    samples: pd.DataFrame | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    @property
    def valid(self) -> pd.DataFrame:
        return self.cases[self.cases["status"] == "valid"]

    @property
    def is_modelled(self) -> bool:
        """Whether it is a model's run, without measurements."""
        return self.env["source"] == "model"


def read_folder(path: Path, samples: bool = True, strict: bool = True) -> Folder:
    """Reads env.json, cases.csv and, if asked, samples.csv.

    Not strict, for rows that are not aligned: more columns, empty numbers and repeated cases pass; text for a
    number, no name, infinity, a missing column and another schema do not. OSError where a file cannot be
    read; ValueError, a line that names file and place, where it violates the schema.
    """
    rules = schema()
    warnings: list[str] = []
    env = read_env(path / "env.json")
    cases = schema_upgrade.upgrade_cases(read_csv(path / "cases.csv", rules, warnings, strict))
    env["experiments"] = schema_upgrade.upgrade_experiments(env.get("experiments"), cases)
    if strict:
        check_rows(cases)
    if strict and "source" in cases and len(other := cases.loc[cases["source"] != env["source"], "source"]):
        raise ValueError(f"cases.csv: source {other.iloc[0]}, and env.json says {env['source']}")
    sample_rows = None
    if samples:
        sample_rows = read_csv(path / "samples.csv", rules, warnings, strict, empty=env["source"] == "model")
    return Folder(path, cases, env, sample_rows, warnings)


def gpu_name(env: dict[str, Any]) -> str:
    """The GPU's name in env.json; a foreign folder may lack it."""
    return str(env["gpu"].get("name") or "a GPU without a name")


def read_env(path: Path) -> dict[str, Any]:
    """env.json with `source` (measured where an old file does not say) and a `gpu` object."""
    try:
        env = parse_json(read_untrusted(path).decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"env.json: not JSON: {error}") from error
    if not isinstance(env, dict) or not isinstance(env.get("gpu"), dict):
        raise ValueError("env.json: not an object with an object gpu")
    check_version("env.json", env.get("schema_version"))
    if env.get("kind") == "attach":
        raise ValueError(
            "env.json: of `occbench attach`, which has no cases; report, explain and compare read it"
        )
    check_types(env, rules := schema())
    rename_fields(env, rules["files"]["env.json"]["fields"])
    env = {"source": "measured"} | env
    if env["source"] not in ("measured", "model"):
        raise ValueError(f"env.json: source: {env['source']!s:.60} is not one of measured, model")
    return env


def check_version(name: str, version: object) -> None:
    """Raises ValueError for an unsupported schema version."""
    if version not in SCHEMA_VERSIONS:
        newer = "; a newer occbench wrote it" if isinstance(version, int) and version > NEWEST else ""
        raise ValueError(f"{name} has schema_version {version}, and this tool reads {READ}{newer}")


def read_csv(
    path: Path,
    rules: dict[str, Any],
    warnings: list[str],
    strict: bool,
    empty: bool = False,
    version: int | None = None,
) -> pd.DataFrame:
    """One CSV file of the schema under the newest names of its columns; `empty`: it may have no row.

    version: of a file whose rows do not have it. Integers without an empty cell are int64, other numbers
    float64. Empty text is NaN, and no other text is: a variant may be called "null".
    """
    path = plain_or_packed(path)
    name = path.name.removesuffix(".gz")
    content = read_untrusted(path)
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        warnings.append(f"{path}: the last row is cut off (no line feed at its end) and left out")
    lines = content.count(b"\n", 0, whole)
    if lines < 2 - empty:
        raise ValueError(f"{name} holds no row")
    header = header_of(name, content)
    if header[:1] == ["schema_version"]:
        version = version_of(content)
        if lines > 1:
            check_version(name, version)
    columns = of_version(rules, version)["files"][name]["columns"]
    check_header(name, header, [column["name"] for column in columns], strict)
    columns = [column for column in columns if column["name"] in header]
    numbers = [column["name"] for column in columns if column["type"] != "string"]
    rows = parse_rows(name, io.BytesIO(memoryview(content)[:whole]), header, numbers)
    for column in columns:
        check_column(name, rows, column, strict)
    for column in columns:
        values = rows[column["name"]]
        if column["type"] == "integer" and values.notna().all():
            rows[column["name"]] = values.astype(np.int64)
    return schema_upgrade.rename_columns(rows, rules["files"][name]["columns"])


def header_of(name: str, content: bytes) -> list[str]:
    """The cells of a CSV file's first line. Raises ValueError."""
    first = content[: content.find(b"\n")].decode("utf-8-sig", "replace")
    try:
        return next(csv.reader([first.rstrip("\r")]), [])
    except csv.Error as error:
        raise ValueError(f"{name}: not CSV: {error}") from None


def parse_rows(name: str, content: io.BytesIO, header: list[str], numbers: list[str]) -> pd.DataFrame:
    """Rows whose columns are text but for `numbers`. Raises ValueError, which names the first wrong cell."""
    text = dict.fromkeys((column for column in header if column not in numbers), object)
    text |= dict.fromkeys(REPEATED.get(name, ()), "category")
    options: dict[str, Any] = dict(keep_default_na=False, na_values=[""], index_col=False)
    options["encoding"] = "utf-8-sig"
    try:
        with catch_warnings():
            simplefilter("error", pd.errors.ParserWarning)  # a first row with more cells than the header
            types = text | dict.fromkeys(numbers, np.float64)
            rows = pd.read_csv(content, dtype=types, engine="c", **options)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8: {error.reason}") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(f"{name}: not CSV: {str(error).strip()}") from error
    except ValueError:  # find the cell
        refuse_text(name, content, numbers, options)
        raise
    if any(word in content.getvalue() for word in TRUTHS):  # pandas reads a column of them as ones or zeros
        refuse_text(name, content, numbers, options)
    return rows


def refuse_text(name: str, content: io.BytesIO, numbers: list[str], options: dict[str, Any]) -> None:
    """Raises ValueError for the first cell of `numbers` that holds text, if there is one."""
    content.seek(0)
    words = pd.read_csv(content, dtype=str, **options)
    for column in numbers:
        is_number = words[column].str.strip().str.fullmatch(NUMBER.pattern, flags=re.ASCII, na=True)
        refuse(name, words, column, ~is_number.astype(bool), "is not a number")


def refuse(name: str, rows: pd.DataFrame, column: str, bad: pd.Series | np.ndarray, what: str) -> None:
    """Raises ValueError for the first bad cell, if there is one."""
    if len(places := np.flatnonzero(bad)):
        cell = rows[column].iloc[places[0]]
        text = "(empty)" if pd.isna(cell) else f"{cell!s:.60}"
        raise ValueError(f"{name}:{places[0] + 2}: {column}: {text} {what}")


def check_rows(cases: pd.DataFrame) -> None:
    """Raises ValueError for a repeated case, and for a valid one without time, rate, warps or clock."""
    refuse("cases.csv", cases, "case_id", cases["case_id"].duplicated(), "stands there twice")
    valid = cases["status"] == "valid"
    for name in POSITIVE:
        refuse("cases.csv", cases, name, valid & ~(cases[name] > 0), "is not above zero")
    for name in POSITIVE_IF_GIVEN:
        refuse("cases.csv", cases, name, valid & (cases[name] <= 0), "is not above zero")


def check_header(name: str, header: list[str], known: list[str], strict: bool) -> None:
    """Raises ValueError unless the header has the schema's columns once; if strict, in order and alone."""
    if header == known or (not strict and set(known) <= set(header) and len(set(header)) == len(header)):
        return
    raise ValueError(f"{name}: header {wrong_header(header, known)}"[:300])


def check_column(name: str, rows: pd.DataFrame, column: dict[str, Any], strict: bool) -> None:
    """Raises ValueError for the first invalid cell of a column."""
    title, values = column["name"], rows[column["name"]]
    if not column["nullable"] and (strict or column["type"] == "string"):
        refuse(name, rows, title, values.isna(), "is not allowed")
    if column["type"] == "string":
        wrong = [text for text in values.dropna().unique() if complaint(column, text)]
        rule = f"does not match {column.get('pattern')}"
        if "allowed" in column:
            rule = f"is not one of {', '.join(column['allowed'])}"
        refuse(name, rows, title, values.isin(wrong), rule)
        return
    cells = values.to_numpy()
    is_present = ~np.isnan(cells)
    refuse(name, rows, title, np.isinf(cells), "is not a finite number")
    if column["type"] == "integer":
        no_integer = (cells != np.rint(cells)) | (np.abs(cells) >= LEAST_INEXACT)
        refuse(name, rows, title, is_present & no_integer, "is not an integer")
    if "allowed" in column:
        other = is_present & ~np.isin(cells, column["allowed"])
        refuse(name, rows, title, other, f"is not one of {', '.join(map(str, column['allowed']))}")
    for limit, wrong in (("minimum", np.less), ("maximum", np.greater)):
        if limit in column:
            refuse(name, rows, title, wrong(cells, column[limit]), f"is beyond the {limit}, {column[limit]}")
