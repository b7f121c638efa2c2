# SPDX-License-Identifier: Apache-2.0
"""results/schema.json as of each version, and checks of env.json against it."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from occbench_tools import SCHEMA_VERSIONS

# Of each throughput_unit the column that counts the work.
WORK = {"byte/s": "bytes_per_launch", "flop/s": "flop_per_launch", "operation/s": "operations_per_launch"}
NESTED = (
    "fields",
    "items",
    "each",
)  # entries of an entry: of an object, of a list's objects, of each by name
SCHEMA_FILE = Path(__file__).with_name("schema.json")  # in the source a link to results/schema.json


def schema() -> dict[str, Any]:
    """The machine-readable schema. Raises OSError when the checkout's results/schema.json is gone."""
    return json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


@cache
def columns_of_cases() -> dict[str, dict[str, Any]]:
    """The entries of cases.csv's columns by their names."""
    return {column["name"]: column for column in schema()["files"]["cases.csv"]["columns"]}


def columns_with(*roles: str) -> list[str]:
    """The columns of cases.csv that have one of these roles, in file order."""
    return [name for name, column in columns_of_cases().items() if column.get("role") in roles]


def of_version(rules: dict[str, Any], version: object) -> dict[str, Any]:
    """The rules for files of a version; those of the schema itself for a version that is not read.

    An entry that has another name by now says it in `now`.
    """
    if version not in SCHEMA_VERSIONS:
        return rules

    def entries(newest: list[dict[str, Any]], gone: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for one in newest:
            if one.get("since", version) <= version:
                yield old_entry(one)
            yield from (old for old in gone if old["after"] == one["name"] and version <= old["until"])

    def old_entry(entry: dict[str, Any]) -> dict[str, Any]:
        entry = entry | {kind: list(entries(entry[kind], [])) for kind in NESTED if kind in entry}
        if entry["name"] == "schema_version":
            entry["allowed"] = [version]
        if (was := entry.get("was")) and version <= was["until"]:
            entry |= dict(name=was.get("name", entry["name"]), now=entry["name"])
            if values := was.get("values"):
                entry["allowed"] = [values.get(value, value) for value in entry["allowed"]]
        return entry

    files = {
        name: {
            kind: list(entries(newest, file.get("gone", []))) if isinstance(newest, list) else newest
            for kind, newest in file.items()
            if kind != "gone"
        }
        for name, file in rules["files"].items()
    }
    return rules | dict(schema_version=version, files=files)


def rename_entries(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries of an older version, under their newest names."""
    return [entry | dict(name=entry.get("now", entry["name"])) for entry in entries]


def rename_fields(values: object, fields: list[dict[str, Any]]) -> None:
    """Gives fields of env.json their newest names. fields: entries of schema.json."""
    if not isinstance(values, dict):
        return
    newest = {field["was"]["name"]: field["name"] for field in fields if "name" in field.get("was", {})}
    renamed = [(newest.get(name, name), value) for name, value in values.items()]  # in their order
    values.clear()
    values.update(renamed)
    for field in fields:
        value = values.get(field["name"])
        if "fields" in field:
            rename_fields(value, field["fields"])
        elif "items" in field and isinstance(value, list):
            for each in value:
                rename_fields(each, field["items"])
        elif "each" in field and isinstance(value, dict):
            for each in value.values():
                rename_fields(each, field["each"])


def complaint(rule: dict[str, Any], value: object) -> str | None:
    """Which of allowed, pattern, minimum and maximum of a schema entry a typed value breaks, or None."""
    if "allowed" in rule and value not in rule["allowed"]:
        return f"{value!r} is not one of {', '.join(map(str, rule['allowed']))}"
    if "pattern" in rule and not re.fullmatch(rule["pattern"], str(value)):
        return f"{value!r} does not match {rule['pattern']}"
    if "minimum" in rule and value < rule["minimum"]:
        return f"{value} is below {rule['minimum']}"
    if "maximum" in rule and value > rule["maximum"]:
        return f"{value} is above {rule['maximum']}"
    return None


JSON_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
}


def field_violations(
    values: dict[str, Any], rules: list[dict], prefix: str = "", types_only: bool = False
) -> Iterator[tuple[str, str]]:
    """(field, what is wrong with it) of one object of env.json. Other fields are allowed.

    types_only: a field may be missing, and may have any value of its type.
    """
    for rule in rules:
        name, value = rule["name"], values.get(rule["name"])
        path = f"{prefix}{name}"
        if name not in values:
            if not types_only and not rule.get("optional"):
                yield name, f"{path} is missing"
        elif value is None:
            if not rule["nullable"]:
                yield name, f"{path}: null, and must not be"
        elif not JSON_TYPES[rule["type"]](value):
            yield name, f"{path}: {value!r:.60} is not of type {rule['type']}"
        elif not types_only and (wrong := complaint(rule, value)):
            yield name, f"{path}: {wrong}"
        elif "fields" in rule:
            yield from field_violations(value, rule["fields"], f"{path}.", types_only)
        elif "items" in rule or "each" in rule:  # objects of these fields: of a list, or by their names
            several = enumerate(value) if "items" in rule else value.items()
            for place, one in several:
                its = f"{path}[{place}]" if "items" in rule else f"{path}.{place}"
                if isinstance(one, dict):
                    inner = rule.get("items") or rule["each"]
                    yield from field_violations(one, inner, f"{its}.", types_only)
                else:
                    yield name, f"{its}: {one!r:.60} is not of type object"
        elif "of" in rule:
            for place, one in enumerate(value):
                if not JSON_TYPES[rule["of"]](one):
                    yield name, f"{path}[{place}]: {one!r:.60} is not of type {rule['of']}"


def check_types(env: dict[str, Any], rules: dict[str, Any]) -> None:
    """Raises ValueError for the first field of env.json whose type is not the schema's.

    Readers then rely on the types.
    """
    fields = of_version(rules, env.get("schema_version"))["files"]["env.json"]["fields"]
    if wrong := next(field_violations(env, fields, types_only=True), None):
        raise ValueError(f"env.json: {wrong[1]}")


HEAD = 1 << 20  # bytes in which a CSV file says its version


def version_of(content: bytes) -> int | None:
    """The version in the first cell of a CSV file's first row; None where there is none."""
    _, _, row = content[:HEAD].partition(b"\n")
    cell = row.partition(b",")[0]
    return int(cell) if cell.isdigit() and len(cell) < 9 else None
