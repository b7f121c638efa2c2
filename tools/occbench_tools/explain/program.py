# SPDX-License-Identifier: Apache-2.0
"""The findings of a run: from the folder's findings.json, or from the program where there is none.

The program alone decides and words findings (benchmarks/report/findings). A findings.json is used only if it
belongs to the cases.csv beside it and has this schema.
"""

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools import NEWEST
from occbench_tools.findings import Sentences, ask, of_json
from occbench_tools.schema import field_violations, schema
from occbench_tools.untrusted_files import parse_json, read_untrusted

# The fields of env.json's gpu that findings and cliffs may depend on.
USED_OF_GPU = ("power_limit_w", "compute_capability", "l2_bytes")


def read_document(folder: Path) -> dict[str, Any] | None:
    """The folder's findings.json; None where it is missing, belongs to other rows or has an older form of
    cliffs.

    Raises OSError, and ValueError where it is damaged.
    """
    path = folder / "findings.json"
    if not path.exists():
        return None
    document = parse_json(read_untrusted(path).decode("utf-8"))
    rows = document.get("cases") if isinstance(document, dict) else None
    content = read_untrusted(folder / "cases.csv")
    here = dict(bytes=len(content), crc32=f"{zlib.crc32(content):08x}")
    if rows != here or document.get("schema_version") != NEWEST or "cliffs" not in document:
        return None
    cliffs = document["cliffs"] if isinstance(document["cliffs"], list) else []
    if any(isinstance(row, dict) and "explained" not in row for row in cliffs):
        return None  # from an older program
    fields = schema()["files"]["findings.json"]["fields"]
    if wrong := next(field_violations(document, fields), None):
        raise ValueError(f"findings.json: {wrong[1]}")
    return document


def ask_program(
    rows: pd.DataFrame, env: dict[str, Any], samples: pd.DataFrame | None = None
) -> dict[str, Any]:
    """findings.json of these valid rows, of any schema that can be read. Raises CommandError, ValueError."""
    rows = rows[np.isfinite(rows["throughput"]) & (rows["throughput"] >= 0)]
    if rows.empty:
        return dict(experiments={}, cliffs=[])
    with tempfile.TemporaryDirectory(prefix="occbench-") as folder:
        rows.assign(status="valid").to_csv(Path(folder, "cases.csv"), index=False, lineterminator="\n")
        if samples is not None:
            samples.to_csv(Path(folder, "samples.csv"), index=False, lineterminator="\n")
        Path(folder, "env.json").write_text(json.dumps(used_environment(env)), encoding="utf-8")
        return ask(folder)


def used_environment(env: dict[str, Any]) -> dict[str, Any]:
    """The part of env.json that findings may depend on."""
    kept = {name: env[name] for name in ("schema_version", "source", "preset", "experiments") if name in env}
    gpu = env.get("gpu")
    return kept | dict(gpu={name: gpu[name] for name in USED_OF_GPU if isinstance(gpu, dict) and name in gpu})


def document_of(
    folder: Path, rows: pd.DataFrame, env: dict[str, Any], samples: pd.DataFrame | None = None
) -> dict[str, Any]:
    """The findings.json of a folder with these valid rows, environment and samples."""
    document = read_document(folder)
    return ask_program(rows, env, samples) if document is None else document


def findings_of(folder: Path, rows: pd.DataFrame, env: dict[str, Any]) -> dict[str, Sentences]:
    """The findings of document_of()."""
    return of_json(document_of(folder, rows, env))


def explain_rows(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Sentences:
    """The program's findings on the valid rows of one experiment; empty without rows."""
    return of_json(ask_program(rows, env)).get(experiment, Sentences([]))
