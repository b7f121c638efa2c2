# SPDX-License-Identifier: Apache-2.0
"""How far good cards of one kind lie apart, by resource: python -P -m occbench_tools.fleet.spread RUN...

Runs of one card are reruns, runs of two cards of one kind a pair of cards. Writes spread.json's content:
  cards         name and UUID of each
  resources     by resource: `cards`, standard deviation of a whole resource from card to card; `reruns`, the
                same from run to run; `cases`, quantiles of what a case has besides its resource (log scale)
  steady        by resource: the cases that move least by themselves, which tell an odd card best
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.fleet.resources import RESOURCES, resource_of
from occbench_tools.folder import Folder, read_folder

QUANTILES = np.linspace(0, 1, 41)
STEADY = 16  # cases of a resource
FEWEST = 6  # cases from which a resource is told
FILE = Path(__file__).with_name("spread.json")


def spread() -> dict[str, Any]:
    """What spread.json says."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def measures(run: Folder) -> pd.DataFrame:
    """Of each valid case: its resource, and log of seconds, cycles, period of the clock and power."""
    rows = run.valid.set_index("case_id")
    said = rows[["bound_predicted", "ceiling_kind", "percent_of_ceiling"]]
    said = said.astype(object).where(said.notna(), None)
    seconds, clock = np.log(rows["time_median_s"]), np.log(rows["sm_clock_hz"])
    return pd.DataFrame(
        dict(
            resource=[resource_of(*each) for each in said.itertuples(index=False)],
            seconds=seconds, cycles=seconds + clock, clock=-clock, power=np.log(rows["power_w"]),
        ),
        index=rows.index,
    )  # fmt: skip


def differences(a: pd.DataFrame, b: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Each resource, and what b has more than a, by case."""
    both = a.add_suffix("_a").join(b.add_suffix("_b"), how="inner")
    for resource in RESOURCES:
        mine = both
        if resource.measure in ("seconds", "cycles"):
            mine = both[(both["resource_a"] == resource.name) & (both["resource_b"] == resource.name)]
        yield resource.name, (mine[f"{resource.measure}_b"] - mine[f"{resource.measure}_a"]).dropna()


def of_runs(runs: list[Folder]) -> dict[str, Any]:
    """Raises ValueError where no two runs are of two cards of one kind."""
    told = [(run.env["gpu"]["name"], run.env["gpu"]["uuid"], measures(run)) for run in runs]
    within: dict[str, list[pd.Series]] = {}
    between: dict[str, list[pd.Series]] = {}
    for (name, uuid, a), (other, its, b) in itertools.combinations(told, 2):
        if name == other:
            for resource, more in differences(a, b):
                (within if uuid == its else between).setdefault(resource, []).append(more)
    if not between:
        raise ValueError("no two runs are of two cards of one kind")
    resources: dict[str, Any] = {}
    steady: dict[str, list[str]] = {}
    for resource in RESOURCES:
        pairs = [more for more in between.get(resource.name, []) if len(more) >= FEWEST]
        if not pairs:
            continue
        # A difference of two cards has twice the variance of one.
        apart = np.sqrt(np.mean([more.median() ** 2 / 2 for more in pairs]))
        again = np.sqrt(np.mean([more.median() ** 2 / 2 for more in within[resource.name]]))
        rest = pd.concat([(more - more.median()) / np.sqrt(2) for more in pairs])
        resources[resource.name] = dict(
            cards=float(f"{apart:.3g}"), reruns=float(f"{again:.3g}"),
            cases=[float(f"{value:.3g}") for value in rest.quantile(QUANTILES)],
        )  # fmt: skip
        if resource.measure in ("seconds", "cycles"):
            squares = pd.concat([rest, *(more / np.sqrt(2) for more in within[resource.name])]) ** 2
            moved = squares.groupby(level=0).agg(["mean", "size"])
            everywhere = moved[moved["size"] == moved["size"].max()]
            steady[resource.name] = sorted(everywhere["mean"].nsmallest(STEADY).index)
    cards = sorted({f"{name} {uuid}" for name, uuid, _ in told})
    return dict(cards=cards, resources=resources, steady=steady)


def main() -> int:
    parser = argparse.ArgumentParser(description="How far good cards of one kind lie apart.")
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path)
    runs = [read_folder(path, samples=False) for path in parser.parse_args().runs]
    json.dump(of_runs(runs), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
