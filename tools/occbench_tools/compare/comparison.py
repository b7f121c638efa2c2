# SPDX-License-Identifier: Apache-2.0
"""BASE and one CANDIDATE: all tables of a comparison, before they are text."""

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from occbench_tools.compare import summary
from occbench_tools.compare.align import align
from occbench_tools.compare.environment import DIFFERENT, device_relation, differences
from occbench_tools.compare.verdicts import compare_cases, default_threshold
from occbench_tools.folder import Folder

ASKED = ("preset", "benchmark_filter")  # fields of env.json that request a run's cases


@dataclass
class Comparison:
    """Tables as the modules of this package describe them; `threshold` is a fraction."""

    base: Folder
    candidate: Folder
    name: str  # of the candidate, unique among candidates
    relation: str
    by: str
    threshold: float
    environment: pd.DataFrame
    warnings: list[str]
    cases: pd.DataFrame
    unpaired: pd.DataFrame
    experiments: pd.DataFrame
    drift: pd.DataFrame
    cliffs: pd.DataFrame

    @property
    def is_modelled(self) -> bool:
        return self.base.is_modelled or self.candidate.is_modelled

    @property
    def verdicts(self) -> dict[str, int]:
        return self.cases["verdict"].value_counts().to_dict()


def names_of(folders: list[Path]) -> list[str]:
    """The shortest end of each path that distinguishes it from the others."""
    depth = 1
    parts = [path.absolute().parts for path in folders]
    while len({p[-depth:] for p in parts}) < len(set(parts)) and depth < max(map(len, parts)):
        depth += 1
    return ["/".join(p[-depth:]) for p in parts]


def compare(
    base: Folder,
    candidate: Folder,
    name: str,
    by: str | None,
    threshold: float | None,
    known_cliffs: dict[frozenset[str], pd.DataFrame],
) -> Comparison:
    """Compares two folders read with their samples. LookupError where they have no case in common.

    by: one of MEASURES; None: seconds for different devices (ceiling where one of them is a model), else
    reference. threshold: a fraction; None: by the relation of the devices. known_cliffs: a cache of cliffs of
    base's cases. Cliffs are compared over the common cases, so that a case that one run lacks makes no cliff
    GONE or NEW; over all cases for different devices with equal requests, since their edges differ.
    """
    relation = device_relation(base.env["gpu"], candidate.env["gpu"])
    pairs, unpaired = align(base.valid, candidate.valid, relation != DIFFERENT)
    if pairs.empty:
        raise LookupError(f"{base.path} and {candidate.path} have no case in common")
    default_measure = "time" if base.is_modelled == candidate.is_modelled else "ceiling"
    by = by or (default_measure if relation == DIFFERENT else "reference")
    if threshold is None:
        threshold = default_threshold(relation, base.is_modelled or candidate.is_modelled)
    environment, warnings = differences(base, candidate, pairs)
    cases = compare_cases(base, candidate, pairs, relation, by, threshold)
    if (base.is_modelled, candidate.is_modelled) != (False, False):
        sides = [side for side, run in (("base", base), ("candidate", candidate)) if run.is_modelled]
        warnings.insert(
            0, f"MODEL: nothing of {' and '.join(sides)} was measured; no verdict here is one of a device"
        )
    ours, theirs = base, candidate
    envs = (base.env, candidate.env)
    asked = [[env.get(name) for name in ASKED] + [set(env["experiments"])] for env in envs]
    if relation != DIFFERENT or asked[0] != asked[1]:
        ours, theirs = (
            replace(run, cases=run.cases[run.cases["case_id"].isin(pairs[name])])
            for run, name in ((base, "base_case_id"), (candidate, "case_id"))
        )
    common = frozenset(ours.valid["case_id"])
    if common not in known_cliffs:
        known_cliffs[common] = summary.cliffs_of(ours)
    return Comparison(
        base=base, candidate=candidate, name=name, relation=relation, by=by, threshold=threshold,
        environment=environment, warnings=[*base.warnings, *candidate.warnings, *warnings], cases=cases,

        unpaired=unpaired, experiments=summary.by_experiment(cases),
        drift=summary.drift(base, candidate, cases),
        cliffs=summary.moved_cliffs(ours, theirs, known_cliffs[common]),
    )  # fmt: skip
