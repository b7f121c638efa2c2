# SPDX-License-Identifier: Apache-2.0
"""What holds for the tests of tools and of pages: which are slow, what workers share, whose runs are read."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = str(ROOT / "results")
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python")]


def refuse_listing(event: str, arguments: tuple[object, ...]) -> None:
    """Stops a test that lists results/ or results/<gpu>/; a run's own folder may be listed."""
    if event not in ("os.scandir", "os.listdir") or not isinstance(arguments[0], (str, os.PathLike)):
        return
    folder = os.path.abspath(arguments[0])
    if RESULTS in (folder, os.path.dirname(folder)):
        raise AssertionError(f"{folder} was listed: committed_runs() of tools/occbench_docs names the runs")


# No test chooses among the runs in results/ by itself: what lies there depends on what a user measured.
sys.addaudithook(refuse_listing)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: whole models, browsers, clusters: not in tools/test --fast")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever opens a browser is slow, or needs what takes as long."""
    for item in items:
        if {"browser", "quick", "simulated", "site"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """once(NAME, MAKE): a folder that MAKE fills, by one of pytest's workers for all of them."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = base / f"once-{name}", base / f"once-{name}.done"
        with (base / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return made
