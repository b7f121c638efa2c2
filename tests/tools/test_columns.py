# SPDX-License-Identifier: Apache-2.0
"""One declaration of a column decides: a new dial of results/schema.json is one to every reader."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools.schema import schema

READ = """
import sys
from pathlib import Path
from occbench_tools import schema
schema.SCHEMA_FILE = Path(sys.argv[1])
import pandas as pd
from occbench_tools import curves, layout, schema_upgrade
from occbench_tools.compare import align
from occbench_tools.explain import phrases
for names in (curves.ASKED, curves.numeric_columns(), layout.SPLIT_BY, align.ASKED):
    assert "unroll" in names, names
assert curves.ASKED[0] == "unroll", curves.ASKED
assert phrases.value_text("unroll", 4) == "unrolled 4 times"
old = schema_upgrade.upgrade_cases(pd.DataFrame(dict(case_id=["a"], variant=["b"], curve=["b"])))
assert old["unroll"].isna().all()
"""


def test_new_dial_needs_one_declaration(tmp_path: Path) -> None:
    rules = schema()
    dial = dict(name="unroll", type="integer", unit="", nullable=True, role="dial", compiled=True)
    dial["split_order"] = -100  # before all others
    dial |= dict(words="unrolled {} times", doc="Loop iterations per trip.")
    rules["files"]["cases.csv"]["columns"].insert(20, dial)
    (tmp_path / "schema.json").write_text(json.dumps(rules), encoding="utf-8")
    words = [sys.executable, "-c", READ, str(tmp_path / "schema.json")]
    subprocess.run(words, check=True)


def test_column_roles_are_valid() -> None:
    columns = schema()["files"]["cases.csv"]["columns"]
    assert {column["role"] for column in columns if "role" in column} == {"dial", "fixed", "curve", "sweep"}
    assert all("role" in column for column in columns if "compiled" in column or "split_order" in column)
