# SPDX-License-Identifier: Apache-2.0
"""The findings of `occbench attach`, as the program words them (benchmarks/commands/attach).

Read from the folder's findings.json if that belongs to its tables and this schema; else from the program.
"""

import zlib
from pathlib import Path
from typing import Any

from occbench_tools import NEWEST
from occbench_tools.findings import ask
from occbench_tools.schema import field_violations
from occbench_tools.untrusted_files import parse_json, read_untrusted

TABLES = ("kernels.csv", "arms.csv", "registers.csv", "counters.csv")


def read_findings(folder: Path, rules: dict[str, Any]) -> dict[str, Any]:
    """The document that results/schema.json describes. Raises OSError, ValueError, and as ask does."""
    document = None
    if (path := folder / "findings.json").exists():
        document = parse_json(read_untrusted(path).decode("utf-8"))
    if not is_current(document, folder):
        document = ask(folder)
    if wrong := violation(document, rules):
        raise ValueError(f"findings.json: {wrong}")
    return document


def is_current(document: object, folder: Path) -> bool:
    """Whether it has this schema and belongs to the tables in the folder."""
    if not isinstance(document, dict) or document.get("schema_version") != NEWEST:
        return False
    here = {
        name: f"{zlib.crc32(read_untrusted(folder / name)):08x}"
        for name in TABLES
        if (folder / name).exists()
    }
    return document.get("tables") == here


def violation(document: object, rules: dict[str, Any]) -> str | None:
    """The first violation of the schema; None without any."""
    if not isinstance(document, dict):
        return "not an object"
    wrong = next(field_violations(document, rules["files"]["findings.json"]["fields"]), None)
    return wrong and wrong[1]


def headings(document: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    """Sentences by heading; the one on fewer warps ends with the command that shows it."""
    return {
        each["title"]: [add_command(words, document, folder) for words in each["sentences"]]
        for each in document["headings"]
    }


def add_command(words: str, document: dict[str, Any], folder: Path) -> str:
    """The sentence; with the command that applies the findings if it is the one on that."""
    if not words or words != document["apply"]:
        return words
    return f"{words} `occbench attach --apply best --from {folder}`"
