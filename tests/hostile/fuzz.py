# SPDX-License-Identifier: Apache-2.0
"""The fuzz targets of the C++ readers, some executions at a time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from verdict import Fault

RUN = Path(__file__).resolve().parents[1] / "fuzz/run.sh"
EXECUTIONS = 200_000  # a trial, over all targets


def prepare(place: Path, occbench: Path) -> None:
    """Builds the targets once."""
    subprocess.run([RUN, "--runs", "1"], check=True, stdout=-3)


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    words = [RUN, "--runs", str(EXECUTIONS), "--seed", str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(cwd)})
    if done.returncode == 0:
        return []
    return [Fault("crash", (done.stdout + done.stderr)[-1500:])]
