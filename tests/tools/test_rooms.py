# SPDX-License-Identifier: Apache-2.0
"""One room per experiment under occbench_tools/experiments, found by its name, and none needed."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from occbench_tools import experiments

ROOMS = sorted(path.stem for path in Path(experiments.__file__).parent.glob("[!_]*.py"))


@pytest.mark.parametrize(
    "name", ["", "nothing_of_that_name", "..analysis", "os", "a.b", "../plot", "Waves", "__init__", "wa ves"]
)
def test_what_is_no_room_is_none(name: str) -> None:
    assert experiments.module_of(name) is None


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_has_what_is_asked_of_it(name: str) -> None:
    found = experiments.module_of(name)
    assert found is not None
    takes = {word: getattr(found, word) for word in ("picture", "sentences") if hasattr(found, word)}
    assert takes, "a room without a picture and without sentences"
    for word, function in takes.items():
        assert len(inspect.signature(function).parameters) == dict(picture=3, sentences=2)[word]
