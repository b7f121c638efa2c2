# SPDX-License-Identifier: Apache-2.0
"""The real program, for blocks that show its output and figures that it calculates."""

import os
import subprocess
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from occbench_docs import ROOT, DocsError


@lru_cache(maxsize=1)
def binary() -> Path:
    """$OCCBENCH, or the newest build/*/benchmarks/occbench."""
    if named := os.environ.get("OCCBENCH"):
        return Path(named).resolve()
    built = sorted(ROOT.glob("build/*/benchmarks/occbench"), key=lambda path: path.stat().st_mtime)
    if not built:
        raise DocsError("no build/*/benchmarks/occbench: build it, or set OCCBENCH")
    return built[-1]


@lru_cache
def output(command: str, status: int = 0) -> str:
    """The output of a shell command, both streams, in the repository's root, 80 columns wide."""
    folders = [str(binary().parent), sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    environment = os.environ | {
        "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tools"), str(ROOT / "python")]),
        "CUDA_VISIBLE_DEVICES": "",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    ran = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if ran.returncode != status:
        last = ran.stdout.strip().splitlines()[-1:] or [""]
        raise DocsError(f"'{command}' ends with {ran.returncode}, not {status}: {last[0]}")
    return ran.stdout
