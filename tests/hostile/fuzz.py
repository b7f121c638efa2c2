# SPDX-License-Identifier: Apache-2.0
"""The fuzz targets of the C++ readers, and the properties of those in Python, some seconds at a time."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

from verdict import Fault

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tests/fuzz/run.sh"
SECONDS = 20  # a trial of one target
EXAMPLES = 300  # of each property in Python
PROPERTIES = 7  # how many there are
PYTHON = "properties"


def targets() -> list[str]:
    listed = (RUN.parent / "CMakeLists.txt").read_text()
    return [*re.findall(r"^occbench_fuzz\((\w+)", listed, re.M), PYTHON]


def prepare(place: Path, occbench: Path) -> None:
    """Builds the targets once. One that fails here fails in its trials, too, and is counted there."""
    subprocess.run([RUN, "--runs", "1"], stdout=subprocess.DEVNULL)


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    target = targets()[seed % len(targets())]
    if target == PYTHON:
        file = ROOT / "tests/tools/test_properties.py"
        words = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
        words += [f"--hypothesis-seed={seed}", str(file)]
        environment = {"HOSTILE_EXAMPLES": str(EXAMPLES), "HYPOTHESIS_STORAGE_DIRECTORY": str(cwd)}
        run = subprocess.run(words, capture_output=True, text=True, env=os.environ | environment)
        executions = EXAMPLES * PROPERTIES
    else:
        drawn = random.Random(seed).randrange(1, 1 << 30)
        words = [str(RUN), "--seconds", str(SECONDS), "--seed", str(drawn), target]
        run = subprocess.run(words, capture_output=True, text=True)
        executions = int((re.search(rf"^{target} (\d+) executions", run.stdout, re.M) or [0, 0])[1])
    with (place / "executions").open("a") as total:
        total.write(f"{target} {executions}\n")
    if run.returncode == 0:
        return []
    return [Fault("crash", f"{target}: {(run.stdout + run.stderr)[-1500:]}")]


def executions(place: Path) -> str:
    """Of each target, for the table's last line; empty where none was run."""
    if not (place / "executions").exists():
        return ""
    count: dict[str, int] = {}
    for line in (place / "executions").read_text().splitlines():
        target, more = line.split()
        count[target] = count.get(target, 0) + int(more)
    each = ", ".join(f"{target} {n:,}" for target, n in sorted(count.items()))
    return f"{sum(count.values()):,} fuzz executions: {each}"
