# SPDX-License-Identifier: Apache-2.0
"""docs/extending.md quotes the declarations that decide as they stand in the tree.

Its blocks under <!-- extension: ... --> are built by tests/self_extension_test.py.
"""

from __future__ import annotations

import re

import pytest
from occbench_docs import DOCS, ROOT

PAGE = (DOCS / "extending.md").read_text(encoding="utf-8")
EXCERPTS = re.findall(r"^<!-- excerpt: (\S+) -->\n+```\w*\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("path", "text"), EXCERPTS)
def test_excerpts_match_their_files(path: str, text: str) -> None:
    assert text in (ROOT / path).read_text(encoding="utf-8")


def test_named_files_exist() -> None:
    named = set(re.findall(r"`((?:harness|benchmarks|kernels|tools|tests|results|docs)/[a-z0-9_/.]+)`", PAGE))
    new = {*re.findall(r"^<!-- extension: (\S+)", PAGE, re.MULTILINE)} | {
        "tools/occbench_tools/experiments/axpy_occupancy.py", "harness/parameters/rtx5080.json",
    }  # fmt: skip
    assert len(named) > 60
    assert [path for path in sorted(named - new) if not (ROOT / path).exists()] == []


def test_sections_have_tested_examples() -> None:
    for title, mark in {
        "Add a command": "extension", "Add a column": "excerpt", "Add a GPU": "extension",
        "Register caps": "excerpt",
    }.items():  # fmt: skip
        section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        assert f"\n<!-- {mark}: " in section, title


def test_register_routes_match_the_source() -> None:
    section = PAGE.partition("\n## Register caps\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\|[^|]+\| `(\w+)` \|", section, re.MULTILINE)
    kinds = (ROOT / "harness/device/kernel.hpp").read_text(encoding="utf-8")
    declared = re.search(r"enum class RegisterRoute \{ (.*) \};", kinds)
    assert declared and named == declared[1].split(", ")
