# SPDX-License-Identifier: Apache-2.0
"""The runs of the repository, as listed in results/committed.txt; needs no git."""

from pathlib import Path

from occbench_docs import ROOT


def committed_runs(gpu: str = "", root: Path = ROOT) -> list[Path]:
    """Their folders, sorted; of one GPU by its folder's name ('nvidia-h200'). Without a user's own runs."""
    lines = (root / "results/committed.txt").read_text(encoding="utf-8").splitlines()
    names = sorted(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    return [root / "results" / name for name in names if not gpu or name.startswith(f"{gpu}/")]
