# SPDX-License-Identifier: Apache-2.0
"""What the program says of a run: read from the folder's findings.json, or asked where there is none.

The program alone decides and words findings (benchmarks/report/findings). A findings.json is believed as far
as it is of the cases.csv beside it and of this schema.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools import NEWEST
from occbench_tools.findings import Sentences, ask, of_json
from occbench_tools.untrusted_files import parse_json, read_untrusted


def read_findings(folder: Path) -> dict[str, Sentences] | None:
    """What the folder's findings.json says; None where there is none, or it is of other rows."""
    path = folder / "findings.json"
    if not path.exists():
        return None
    document = parse_json(read_untrusted(path).decode("utf-8"))
    rows = document.get("cases") if isinstance(document, dict) else None
    content = read_untrusted(folder / "cases.csv")
    here = dict(bytes=len(content), crc32=f"{zlib.crc32(content):08x}")
    if rows != here or document.get("schema_version") != NEWEST:
        return None
    return of_json(document)


def ask_program(rows: pd.DataFrame, env: dict[str, Any]) -> dict[str, Sentences]:
    """What the program says of these valid rows of any schema that is read. Raises Refused, ValueError."""
    rows = rows[np.isfinite(rows["throughput"])]
    if rows.empty:
        return {}
    with tempfile.TemporaryDirectory(prefix="occbench-") as folder:
        rows.assign(status="valid").to_csv(Path(folder, "cases.csv"), index=False, lineterminator="\n")
        Path(folder, "env.json").write_text(json.dumps(used_environment(env)), encoding="utf-8")
        return of_json(ask(folder))


def used_environment(env: dict[str, Any]) -> dict[str, Any]:
    """Of env.json, what a finding may depend on."""
    kept = {name: env.get(name) for name in ("schema_version", "source", "preset", "experiments")}
    gpu = env.get("gpu")
    limit = gpu.get("power_limit_w") if isinstance(gpu, dict) else None
    return kept | dict(gpu=dict(power_limit_w=limit))


def findings_of(folder: Path, rows: pd.DataFrame, env: dict[str, Any]) -> dict[str, Sentences]:
    """What a folder says, whose valid rows and environment these are."""
    found = read_findings(folder)
    return ask_program(rows, env) if found is None else found
