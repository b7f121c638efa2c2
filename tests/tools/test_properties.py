# SPDX-License-Identifier: Apache-2.0
"""What holds for any input of the readers and writers in Python; Hypothesis looks for one where it does not.

HOSTILE_EXAMPLES is how many inputs each property gets; the hunt of tests/hostile gives them more.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from occbench_tools import escape, folder, import_ncu, untrusted_files, validate

EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "25"))
many = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="HOSTILE_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
ODD = ["", "0", "-1", "5e-324", "1e400", "nan", "valid", "=cmd()", '"']
CELLS = st.text(max_size=12) | st.sampled_from(ODD)
INTEGERS = st.integers(-(2**63), 2**64 - 1)  # what 64 bits hold; others are refused
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
)
RUN = Path(__file__).with_name("runs") / "schema-3"


@many
@given(TREES)
def test_json_round_trips(tree: object) -> None:
    for text in (json.dumps(tree), json.dumps(tree, ensure_ascii=False)):
        assert untrusted_files.parse_json(text) == tree


@many
@given(st.text(alphabet='[]{}",:\\ab01 \n'))
def test_invalid_json_raises_value_error(text: str) -> None:
    try:
        tree = untrusted_files.parse_json(text)
    except ValueError:
        return
    assert tree == json.loads(text)


@many
@given(st.binary(max_size=300))
def test_invalid_env_json_raises(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "env.json").write_bytes(content)
    with pytest.raises((ValueError, untrusted_files.NotRegular), match=r"env\.json|zero bytes"):
        folder.read_env(tmp_path / "env.json")


@many
@given(st.integers(0, 40), st.integers(0, 200), CELLS, st.booleans())
def test_changed_cell_is_read_or_rejected(
    tmp_path: Path, row: int, column: int, cell: str, strict: bool
) -> None:
    with (RUN / "cases.csv").open(newline="") as text:
        rows = list(csv.reader(text))
    changed = rows[row % len(rows)]
    changed[column % len(changed)] = cell
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows(rows)
    content = table.getvalue().encode("utf-8", "surrogatepass")
    (tmp_path / "cases.csv").write_bytes(content)
    try:
        read = folder.read_csv(tmp_path / "cases.csv", validate.schema(), [], strict)
    except (ValueError, untrusted_files.NotRegular) as error:
        assert "cases.csv" in str(error)
    else:
        assert len(read) == len(rows) - 1


@many
@given(st.lists(st.text(max_size=20), max_size=12))
def test_ncu_output_is_read_or_rejected(lines: list[str]) -> None:
    with contextlib.suppress(import_ncu.NotNcu):
        import_ncu.per_case(import_ncu.csv_launches(lines))


@many
@given(st.text())
def test_terminal_text_is_printable(text: str) -> None:
    shown = escape.printable(text)
    assert all(sign.isprintable() or sign in "\n" for sign in shown)
    assert escape.printable(shown) == shown


@many
@given(st.text())
def test_exported_cells_are_not_formulas(text: str) -> None:
    shown = escape.cell(text)
    if shown[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(shown)
