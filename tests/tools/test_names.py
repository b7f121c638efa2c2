# SPDX-License-Identifier: Apache-2.0
"""What a case asks for and does stands in columns: no tool but schema_upgrade.py reads it out of a name."""

from __future__ import annotations

import ast
from pathlib import Path

import made_up
import pytest

TOOLS = made_up.REPOSITORY / "tools"
NAMES = {"variant", "case_id", "curve"}
# Methods that take a text apart, or look into it.
APART = {
    "contains", "endswith", "extract", "find", "findall", "fullmatch", "match", "partition", "removeprefix",
    "removesuffix", "replace", "rpartition", "rsplit", "search", "slice", "split", "startswith", "sub",
}  # fmt: skip


def holds_a_name(node: ast.AST) -> bool:
    """Whether an expression is a column of names, or one: rows["variant"], row["case_id"], row.variant."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in NAMES
    if isinstance(node, ast.Attribute):
        return node.attr in NAMES or (node.attr == "str" and holds_a_name(node.value))
    return False


def sites(text: str) -> list[int]:
    """Lines that take a name apart: by a method of it, a function of re, or a query that does."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in APART:
            asked = [node.func.value]
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                asked = node.args
            if any(map(holds_a_name, asked)):
                found.append(node.lineno)
        said = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if any(f"{name}.str." in said for name in NAMES):
            found.append(node.lineno)
    return found


def test_finds_name_parsing() -> None:
    for text in (
        'rows["variant"].str.startswith("read")', 'row["case_id"].split(".")', "row.variant.partition('-')",
        're.match("x", row["variant"])', "rows.query(\"variant.str.contains('x')\")",
    ):  # fmt: skip
        assert sites(text) == [1], text
    for text in ('rows["variant"] == "uniform"', 'rows["note"].str.contains("x")', 'row["case_id"]'):
        assert sites(text) == [], text


FILES = sorted(
    path
    for room in ("occbench_tools", "occbench_fleet", "occbench_docs")
    for path in (TOOLS / room).rglob("*.py")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TOOLS).as_posix())
def test_no_tool_parses_names(path: Path) -> None:
    name = path.relative_to(TOOLS).as_posix()
    if name != "occbench_tools/schema_upgrade.py":
        found = sites(path.read_text(encoding="utf-8"))
        assert found == [], f"{name}: lines {found}"
