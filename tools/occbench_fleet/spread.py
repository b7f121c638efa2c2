# SPDX-License-Identifier: Apache-2.0
"""The spread of good cards of one kind: python -P -m occbench_fleet.spread RUN... [--cases FILE]

Runs of one card are reruns, runs of two cards of one kind a pair of cards. Writes to FILE the cases that are
steadiest on all cards besides their resource, which show an odd card best: benchmarks/burn_in.csv, the cases
of `occbench run --preset burn-in`. Prints spread.json's content:
  cards         name and UUID of each
  resources     by resource: `cards`, standard deviation of a whole resource from card to card; `reruns`, the
                same from run to run; `cases`, quantiles of what a case has besides its resource (log scale).
                Of the cases that are steadiest on cards of the other kinds.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from occbench_tools.folder import Folder, read_folder

from occbench_fleet.resources import RESOURCES, resource_of

QUANTILES = np.linspace(0, 1, 41)
STEADY = 18  # cases of a resource
FEWEST = 6  # cases needed for a resource
FILE = Path(__file__).with_name("spread.json")


def spread() -> dict[str, Any]:
    """The content of spread.json."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def measures(run: Folder) -> pd.DataFrame:
    """Each valid case's resource, and log of seconds, cycles, clock period and power."""
    rows = run.valid.set_index("case_id")
    fields = rows[["bound_predicted", "ceiling_kind", "percent_of_ceiling"]]
    fields = fields.astype(object).where(fields.notna(), None)
    seconds, clock = np.log(rows["time_median_s"]), np.log(rows["sm_clock_hz"])
    return pd.DataFrame(
        dict(
            resource=[resource_of(*each) for each in fields.itertuples(index=False)],
            seconds=seconds, cycles=seconds + clock, clock=-clock, power=np.log(rows["power_w"]),
        ),
        index=rows.index,
    )  # fmt: skip


def differences(a: pd.DataFrame, b: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Each resource, and the excess of b over a, by case."""
    both = a.add_suffix("_a").join(b.add_suffix("_b"), how="inner")
    for resource in RESOURCES:
        mine = both
        if resource.measure in ("seconds", "cycles"):
            mine = both[(both["resource_a"] == resource.name) & (both["resource_b"] == resource.name)]
        yield resource.name, (mine[f"{resource.measure}_b"] - mine[f"{resource.measure}_a"]).dropna()


@dataclass
class Pair:
    """Two runs of one kind of GPU, of one card or two; `more`: the second's excess by resource and case."""

    kind: str
    reruns: bool
    more: dict[str, pd.Series]


def pairs_of(runs: list[Folder]) -> list[Pair]:
    measured = [(run.env["gpu"]["name"], run.env["gpu"]["uuid"], measures(run)) for run in runs]
    return [
        Pair(name, uuid == its, dict(differences(a, b)))
        for (name, uuid, a), (other, its, b) in itertools.combinations(measured, 2)
        if name == other
    ]


def steadiest(pairs: list[Pair], resource: str) -> list[str]:
    """The cases that move least besides their resource, of those that are in each pair."""
    moved = [(pair.more[resource] - pair.more[resource].median()) ** 2 for pair in pairs]
    return sorted(pd.concat(moved, axis=1, join="inner").mean(axis=1).nsmallest(STEADY).index)


def of_runs(runs: list[Folder]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The content of spread.json, and by resource the steadiest cases.

    Raises ValueError where no two runs are of two cards of one kind, for two kinds.
    """
    pairs = pairs_of(runs)
    if len({pair.kind for pair in pairs if not pair.reruns}) < 2:
        raise ValueError("two cards each of two kinds are needed: the cases are chosen on the other kind")
    resources: dict[str, Any] = {}
    steady: dict[str, list[str]] = {}
    for resource in RESOURCES:
        resource_pairs = [pair for pair in pairs if len(pair.more[resource.name]) >= FEWEST]
        has_cases = resource.measure in ("seconds", "cycles")
        if has_cases:
            steady[resource.name] = steadiest(resource_pairs, resource.name)
        medians: dict[bool, list[float]] = {True: [], False: []}
        rest = []
        for pair in resource_pairs:
            more = pair.more[resource.name]
            if has_cases:  # by cards other than these, or they would seem steadier than they are
                known = more.index.intersection(
                    steadiest([other for other in resource_pairs if other.kind != pair.kind], resource.name)
                )
                more = more[known]
            medians[pair.reruns].append(float(more.median()) / np.sqrt(2))  # of one of the two
            if not pair.reruns:
                rest.append((more - more.median()) / np.sqrt(2))
        resources[resource.name] = {
            "cards": round_value(np.sqrt(np.mean(np.square(medians[False])))),
            "reruns": round_value(np.sqrt(np.mean(np.square(medians[True])))),
            "cases": [round_value(value) for value in pd.concat(rest).quantile(QUANTILES)],
        }
    cards = sorted({f"{run.env['gpu']['name']} {run.env['gpu']['uuid']}" for run in runs})
    return dict(cards=cards, resources=resources), steady


def round_value(value: float) -> float:
    return float(f"{value:.3g}")


def main() -> int:
    parser = argparse.ArgumentParser(description="How far good cards of one kind lie apart.")
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path)
    parser.add_argument("--cases", metavar="FILE", type=Path, help="gets a line for each of the steadiest")
    options = parser.parse_args()
    known, steady = of_runs([read_folder(path, samples=False) for path in options.runs])
    json.dump(known, sys.stdout, indent=1)
    print()
    if options.cases:
        lines = [f"{case},{resource}\n" for resource, cases in steady.items() for case in cases]
        options.cases.write_text("".join(["case_id,resource\n", *lines]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
