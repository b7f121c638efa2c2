# SPDX-License-Identifier: Apache-2.0
"""Optional modules of experiments under occbench_tools/experiments, found by the experiment's name."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from occbench_tools import experiments

MODULES = sorted(path.stem for path in Path(experiments.__file__).parent.glob("[!_]*.py"))


@pytest.mark.parametrize(
    "name", ["", "nothing_of_that_name", "..analysis", "os", "a.b", "../plot", "Waves", "__init__", "wa ves"]
)
def test_unknown_module_is_none(name: str) -> None:
    assert experiments.module_of(name) is None


@pytest.mark.parametrize("name", MODULES)
def test_modules_define_their_functions(name: str) -> None:
    found = experiments.module_of(name)
    assert found is not None
    takes = {word: getattr(found, word) for word in ("picture", "sentences") if hasattr(found, word)}
    assert takes, "a module without a picture and without sentences"
    for word, function in takes.items():
        assert len(inspect.signature(function).parameters) == dict(picture=3, sentences=2)[word]
