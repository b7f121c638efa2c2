# SPDX-License-Identifier: Apache-2.0
"""Pages and tests read committed runs only, not what a user has measured in the same folder."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from occbench_docs import ROOT, DocsError, runs
from occbench_docs.committed import committed_runs
from occbench_docs.runs import percent, rate


def plant(root: Path, folder: str, created: str, source: str) -> None:
    path = root / "results" / folder
    path.mkdir(parents=True)
    (path / "env.json").write_text(json.dumps(dict(created_utc=created, source=source)))
    (path / "cases.csv").touch()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Committed runs of two GPUs, one with two runs on a day, and of a model."""
    planted = (
        ("nvidia-h200/2026-01-02-fff", "2026-01-02T08:00:00Z", "measured"),
        ("nvidia-h200/2026-01-02-aaa", "2026-01-02T09:00:00Z", "measured"),
        ("nvidia-h100-80gb-hbm3/2026-01-03-bbb", "2026-01-03T09:00:00Z", "measured"),
        ("model-h200/2026-01-04-ccc", "2026-01-04T09:00:00Z", "model"),
    )
    for one in planted:
        plant(tmp_path, *one)
    names = "".join(f"{folder}\n" for folder, *_ in planted)
    (tmp_path / "results/committed.txt").write_text(f"# A comment.\n\n{names}")
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    runs.runs.cache_clear()
    yield tmp_path
    runs.runs.cache_clear()


def test_finds_newest_run_of_each_gpu(results: Path) -> None:
    names = [run.name for run in runs.runs()]
    assert names == ["results/nvidia-h200/2026-01-02-aaa", "results/nvidia-h100-80gb-hbm3/2026-01-03-bbb"]
    assert runs.run_of().name == names[0]
    assert runs.run_of("h100").name == names[1]
    with pytest.raises(DocsError, match="no committed run of a 'b200'"):
        runs.run_of("b200")


def test_ignores_user_runs(results: Path) -> None:
    """A model's run, a newer run of a GPU with a committed one, and an incomplete run are ignored."""
    before = committed_runs(root=results), committed_runs("nvidia-h200", root=results), runs.runs()
    plant(results, "nvidia-h200/2099-01-01-eee", "2099-01-01T09:00:00Z", "measured")
    plant(results, "nvidia-b200/2099-01-01-eee", "2099-01-01T09:00:00Z", "measured")
    plant(results, "model-h200/2099-01-01-eee", "2099-01-01T09:00:00Z", "model")
    (results / "results/nvidia-h200/2099-01-02-eee").mkdir()
    runs.runs.cache_clear()
    assert (committed_runs(root=results), committed_runs("nvidia-h200", root=results), runs.runs()) == before
    assert [run.name for run in before[1]] == ["2026-01-02-aaa", "2026-01-02-fff"]


def test_committed_list_matches_git() -> None:
    """No test would read a run that is committed and not listed."""
    listing = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "results/*/*/cases.csv"], capture_output=True, text=True
    )
    if listing.returncode != 0 or not listing.stdout:
        pytest.skip("no checkout with git")
    folders = sorted((ROOT / line).parent for line in listing.stdout.splitlines())
    assert committed_runs() == folders and all((run / "env.json").is_file() for run in folders)


def test_listing_results_raises() -> None:
    """By tests/conftest.py, for every way to name the folder."""
    for folder in (ROOT / "results", ROOT / "results/nvidia-h200"):
        with pytest.raises(AssertionError, match="committed_runs"):
            list(folder.iterdir())
        with pytest.raises(AssertionError, match="committed_runs"):
            list(folder.glob("*/cases.csv"))


LISTS = re.compile(r"directory_iterator|glob\(|iterdir|listdir|scandir|walk\(")
OWN = re.compile(r"\b(folder|empty|home|tmp_path|self\.cwd)\b.*results")  # a test's own working folder


def test_no_other_source_lists_results() -> None:
    """Sources that pytest does not run: C++, CTest's Python, the hunt, the generator of the pages."""
    sources = [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".py", ".cpp", ".cu", ".hpp")]
    sources += (ROOT / "tools/occbench_docs").glob("*.py")
    lines = [(path.name, line) for path in sources for line in path.read_text().splitlines()]
    listing = [(name, line) for name, line in lines if LISTS.search(line) and "results" in line.lower()]
    assert [found for found in listing if found[0] != "test_runs.py" and not OWN.search(found[1])] == []


def test_how_numbers_are_formatted() -> None:
    assert rate(4.4016e12, "byte/s") == "4,402 GB/s"
    assert rate(65.84e12, "flop/s") == "65.8 TFLOP/s"
    assert (percent(0.75), percent(0.125), percent(1 / 64)) == ("75 %", "12.5 %", "1.6 %")
