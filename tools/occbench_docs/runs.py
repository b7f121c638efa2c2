# SPDX-License-Identifier: Apache-2.0
"""The committed runs: the newest of each GPU, and how numbers are formatted."""

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
from occbench_tools.analysis import UNITS, read_folder

from occbench_docs import ROOT, DocsError
from occbench_docs.committed import committed_runs

DEFAULT = "h200"  # the GPU of a mark that names none


@dataclass(frozen=True)
class Run:
    """One folder of results."""

    folder: Path

    @cached_property
    def _read(self) -> tuple[pd.DataFrame, dict[str, Any]]:
        return read_folder(self.folder)

    @property
    def cases(self) -> pd.DataFrame:
        """Its valid rows."""
        return self._read[0]

    @property
    def env(self) -> dict[str, Any]:
        return self._read[1]

    @property
    def name(self) -> str:
        """results/<gpu>/<date>-<commit>"""
        return self.folder.relative_to(ROOT).as_posix()

    @property
    def gpu(self) -> str:
        """'NVIDIA H200'"""
        return self.env["gpu"]["name"]

    def case(self, case_id: str) -> pd.Series:
        """The row of one valid case."""
        found = self.cases[self.cases["case_id"] == case_id]
        if found.empty:
            raise DocsError(f"no valid case {case_id} in {self.name}")
        return found.iloc[0]

    def of(self, experiment: str) -> pd.DataFrame:
        """The rows of one experiment; none if it was not run."""
        return self.cases[self.cases["experiment"] == experiment]

    def rows(self, experiment: str, where: str = "") -> pd.DataFrame:
        """The rows of one experiment for which the pandas query `where` holds."""
        found = self.of(experiment)
        found = found.query(where, engine="python") if where else found
        if found.empty:
            raise DocsError(f"no valid case of {experiment} with {where or 'any dial'} in {self.name}")
        return found


@lru_cache(maxsize=1)
def runs() -> tuple[Run, ...]:
    """The newest measured run of each GPU, by its env.json; that of DEFAULT first."""
    newest: dict[str, tuple[str, Path]] = {}
    for folder in committed_runs(root=ROOT):
        env = json.loads((folder / "env.json").read_text(encoding="utf-8"))
        if env.get("source", "measured") == "measured":
            gpu = folder.parent.name
            newest[gpu] = max(newest.get(gpu, ("", folder)), (env["created_utc"], folder))
    found = [Run(folder) for _, folder in sorted(newest.values(), key=lambda pair: pair[1])]
    return tuple(sorted(found, key=lambda run: DEFAULT not in run.folder.parent.name.split("-")))


def run_of(gpu: str = "") -> Run:
    """The run of a GPU by a word of its folder's name: 'h100' of results/nvidia-h100-80gb-hbm3."""
    for run in runs():
        if (gpu or DEFAULT) in run.folder.parent.name.split("-"):
            return run
    raise DocsError(f"no committed run of a '{gpu or DEFAULT}': results/committed.txt names them")


def group_digits(value: float, digits: int = 0) -> str:
    """'2,609'"""
    return f"{value:,.{digits}f}"


def rate(value: float, unit: str) -> str:
    """'4,402 GB/s', '65.8 TFLOP/s' of a number of byte/s, flop/s or operation/s."""
    scale, name = UNITS[unit]
    return f"{group_digits(value / scale, 0 if value / scale >= 100 else 1)} {name}"


def percent(fraction: float, digits: int = 1) -> str:
    """'12.5 %', without zeros at the end"""
    text = f"{100 * fraction:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"
