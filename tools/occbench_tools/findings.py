# SPDX-License-Identifier: Apache-2.0
"""findings.json: what the program found in a run, by experiment. Needs no data frames."""

from __future__ import annotations

import math
from typing import NamedTuple

from occbench_tools.escape import printable


class Sentences(NamedTuple):
    """Sentences on an experiment, most worth reading first, and the size of its largest effect.

    The size is the logarithm of a ratio; 0 where no effect has one, and less where there are too few points
    to tell. `own`: those that only this experiment has to say. `cases`: case_id of a row of each line that
    the first sentence names, as far as the program says so.
    """

    sentences: list[str]
    effect: float = -1
    own: int = 0
    cases: tuple[str, ...] = ()

    @property
    def is_too_few(self) -> bool:
        """Whether the one sentence is that there are too few points."""
        return self.effect < 0 and bool(self.sentences)


def of_json(document: object) -> dict[str, Sentences]:
    """What findings.json says, by experiment. Raises ValueError where it is none."""
    experiments = document.get("experiments") if isinstance(document, dict) else None
    if not isinstance(experiments, dict):
        raise ValueError("findings.json: not an object with an object experiments")
    return {name: of_experiment(name, entry) for name, entry in experiments.items()}


def of_experiment(name: str, entry: object) -> Sentences:
    """One entry of it."""
    found = entry.get("findings") if isinstance(entry, dict) else None
    effect = entry.get("effect") if isinstance(entry, dict) else None
    is_whole = isinstance(found, list) and all(
        isinstance(each, dict) and isinstance(each.get("sentence"), str) for each in found
    )
    if not is_whole or isinstance(effect, bool) or not isinstance(effect, (int, float)):
        raise ValueError(f"findings.json: {name!s:.60}: not an effect and a list of findings")
    if not math.isfinite(effect):
        raise ValueError(f"findings.json: {name!s:.60}: effect is not a finite number")
    cases = found[0].get("cases", []) if found else []
    if not isinstance(cases, list) or not all(isinstance(each, str) for each in cases):
        raise ValueError(f"findings.json: {name!s:.60}: cases is not a list of words")
    return Sentences(
        [printable(each["sentence"]) for each in found],
        effect,
        sum(each.get("kind") == "own" for each in found),
        tuple(cases),
    )
