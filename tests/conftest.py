# SPDX-License-Identifier: Apache-2.0
"""No test chooses among the runs in results/ by itself: what lies there depends on what a user measured."""

from __future__ import annotations

import os
import sys
from pathlib import Path

RESULTS = str(Path(__file__).resolve().parents[1] / "results")


def refuse_listing(event: str, arguments: tuple[object, ...]) -> None:
    """Stops a test that lists results/ or results/<gpu>/; a run's own folder may be listed."""
    if event not in ("os.scandir", "os.listdir") or not isinstance(arguments[0], (str, os.PathLike)):
        return
    folder = os.path.abspath(arguments[0])
    if RESULTS in (folder, os.path.dirname(folder)):
        raise AssertionError(f"{folder} was listed: committed_runs() of tools/occbench_docs names the runs")


sys.addaudithook(refuse_listing)
