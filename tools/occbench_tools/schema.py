# SPDX-License-Identifier: Apache-2.0
"""results/schema.json as each version of the files has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from occbench_tools import SCHEMA_VERSIONS

SCHEMA_FILE = Path(__file__).with_name("schema.json")  # in the source a link to results/schema.json


def schema() -> dict[str, Any]:
    """The machine-readable schema. Raises OSError when the checkout's results/schema.json is gone."""
    return json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def of_version(rules: dict[str, Any], version: object) -> dict[str, Any]:
    """The rules for files of a version; those of the schema itself for a version that is not read."""
    if version not in SCHEMA_VERSIONS:
        return rules

    def entries(newest: list[dict[str, Any]], gone: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for one in newest:
            if one.get("since", version) <= version:
                yield one | dict(allowed=[version]) if one["name"] == "schema_version" else one
            yield from (old for old in gone if old["after"] == one["name"] and version <= old["until"])

    files = {
        name: {
            kind: list(entries(newest, file.get("gone", []))) if isinstance(newest, list) else newest
            for kind, newest in file.items()
            if kind != "gone"
        }
        for name, file in rules["files"].items()
    }
    return rules | dict(schema_version=version, files=files)


HEAD = 1 << 20  # bytes in which a CSV file says its version


def version_of(content: bytes) -> int | None:
    """What the first row of a CSV file says, in its first cell; None where it says nothing."""
    _, _, row = content[:HEAD].partition(b"\n")
    cell = row.partition(b",")[0]
    return int(cell) if cell.isdigit() and len(cell) < 9 else None
