# SPDX-License-Identifier: Apache-2.0
"""Which runs the pages are about: the newest measured one of each GPU, whatever their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from occbench_docs import DocsError, runs
from occbench_docs.runs import percent, rate


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two GPUs, one of them with two runs of a day, and a model's."""
    for folder, created, source in (
        ("nvidia-h200/2026-01-02-fff", "2026-01-02T08:00:00Z", "measured"),
        ("nvidia-h200/2026-01-02-aaa", "2026-01-02T09:00:00Z", "measured"),
        ("nvidia-h100-80gb-hbm3/2026-01-03-bbb", "2026-01-03T09:00:00Z", "measured"),
        ("model-h200/2026-01-04-ccc", "2026-01-04T09:00:00Z", "model"),
    ):
        path = tmp_path / "results" / folder
        path.mkdir(parents=True)
        (path / "env.json").write_text(json.dumps(dict(created_utc=created, source=source)))
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    runs.runs.cache_clear()
    yield tmp_path
    runs.runs.cache_clear()


def test_the_newest_of_each(results: Path) -> None:
    names = [run.name for run in runs.runs()]
    assert names == ["results/nvidia-h200/2026-01-02-aaa", "results/nvidia-h100-80gb-hbm3/2026-01-03-bbb"]
    assert runs.run_of().name == names[0]
    assert runs.run_of("h100").name == names[1]
    with pytest.raises(DocsError, match="no committed run of a 'b200'"):
        runs.run_of("b200")


def test_how_numbers_are_said() -> None:
    assert rate(4.4016e12, "byte/s") == "4,402 GB/s"
    assert rate(65.84e12, "flop/s") == "65.8 TFLOP/s"
    assert (percent(0.75), percent(0.125), percent(1 / 64)) == ("75 %", "12.5 %", "1.6 %")
