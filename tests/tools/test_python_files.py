# SPDX-License-Identifier: Apache-2.0
"""occbench.calc(): the golden answers of tests/forms, from Python."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")

from made_up import REPOSITORY
from pages import built

sys.path.insert(0, str(REPOSITORY / "tests"))
import occbench
from forms_test import FORMS, difference
from occbench_tools.caps.builds import add_linked, uses_of

pytestmark = pytest.mark.skipif(not built(), reason="no occbench is built")


def calls() -> list[Any]:
    """Each call of `calc FILE` in tests/forms."""
    found = []
    for path in sorted(FORMS.glob("*/form.json")):
        for asked in json.loads(path.read_text(encoding="utf-8"))["asked"]:
            command, file, *words = asked["words"]
            if command == "calc" and not file.startswith("-"):
                name = " ".join([path.parent.name, file, *words])
                found.append(pytest.param(path.parent / file, words, asked, id=name))
    return found


def cells(row: dict[str, Any]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in row.items()}


@pytest.mark.parametrize(("path", "words", "asked"), calls())
def test_matches_the_program(path: Path, words: list[str], asked: dict[str, Any]) -> None:
    options = {words[n][2:].replace("-", "_"): words[n + 1] for n in range(0, len(words), 2)}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            rows = occbench.calc(path, **options)
        except ValueError as error:
            assert asked.get("exit", 0) > 1
            assert any(text in str(error) for text in asked["says"])
            return
    assert asked.get("exit", 0) <= 1
    if "says" not in asked:
        assert not warned
    if "rows" in asked:
        assert not difference([cells(row) for row in rows], asked["rows"])


def test_missing_inputs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        occbench.calc(tmp_path / "none")
    with pytest.raises(ValueError, match="gives no block size"):
        occbench.calc(FORMS / "ptxas_v/log.txt")
    with pytest.warns(UserWarning, match=r"left out: 1 kernel for cc 19\.9"):
        assert len(occbench.calc(FORMS / "ptxas_archs/log.txt", block_size=128)) == 1


@pytest.mark.parametrize(
    "file",
    [
        "ptxas_v/visual_studio.txt",
        "ptxas_archs/log.txt",
        *(f"nvlink_v/{n}.txt" for n in ("functions", "ptxas", "shared")),
    ],
)
def test_caps_and_calc_parse_compiler_output_alike(file: str) -> None:
    """`caps` has its own reader of what its own calls of ptxas and nvlink print for one architecture."""
    with warnings.catch_warnings(action="ignore"):
        rows = occbench.calc(FORMS / file, block_size=128)
    text = (FORMS / file).read_text(encoding="utf-8")
    uses = uses_of(text)
    architecture = rows[0]["compute_capability"].replace(".", "")
    add_linked(uses, text, f"sm_{architecture}")
    names = ("registers", "static_smem_bytes", "spill_bytes", "stack_bytes", "barriers")
    keys = ("registers_per_thread", *names[1:])
    right = sorted(tuple(row[key] for key in keys) for row in rows)
    assert sorted(tuple(getattr(use, name) for name in names) for use in uses.values()) == right
