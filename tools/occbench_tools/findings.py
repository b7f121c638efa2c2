# SPDX-License-Identifier: Apache-2.0
"""findings.json: what the program found in a run, by experiment. Needs no data frames."""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from occbench_tools.command import CommandError, occbench
from occbench_tools.escape import printable
from occbench_tools.programs import run_program
from occbench_tools.untrusted_files import parse_json

MISSING = "the program occbench is not on the PATH, and it words the findings"


class Sentences(NamedTuple):
    """Sentences on an experiment, the most important first, and the size of its largest effect.

    The size is the logarithm of a ratio; 0 where no effect has one, and negative where there are too few
    points. `own`: the number of findings of a kind only this experiment has. `cases`: case_id of a row of
    each line that the first sentence names, where the program gives it. `words`: its names of curves, forms,
    families and, with {}, of a column's values.
    """

    sentences: list[str]
    effect: float = -1
    own: int = 0
    cases: tuple[str, ...] = ()
    words: Mapping[str, str] = MappingProxyType({})

    @property
    def is_too_few(self) -> bool:
        """Whether the one sentence is that there are too few points."""
        return self.effect < 0 and bool(self.sentences)

    def headline(self, experiment: str) -> str:
        """The first sentence, for titles; the experiment's name where there is none."""
        return next(iter(self.sentences), experiment)


def ask(folder: str | Path) -> Any:  # noqa: ANN401 - what findings.json has
    """The program's findings.json of a folder. Raises CommandError, ValueError."""
    program = occbench()
    if program is None:
        raise CommandError(5, MISSING)
    try:
        ran = run_program([program, "findings", folder])
    except OSError as error:
        raise CommandError(5, f"{program}: cannot be run: {error.strerror}") from None
    if ran.returncode:
        raise ValueError(ran.stderr.strip().removeprefix("occbench: ").replace(f"{folder}/", ""))
    return parse_json(ran.stdout)


def of_json(document: object) -> dict[str, Sentences]:
    """findings.json as sentences by experiment. Raises ValueError where its form is wrong."""
    experiments = document.get("experiments") if isinstance(document, dict) else None
    if not isinstance(experiments, dict):
        raise ValueError("findings.json: not an object with an object experiments")
    return {name: of_experiment(name, entry) for name, entry in experiments.items()}


def of_experiment(name: str, entry: object) -> Sentences:
    """The sentences of one experiment's entry."""
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
    words = entry.get("words", {})
    if not isinstance(words, dict) or not all(isinstance(each, str) for each in words.values()):
        raise ValueError(f"findings.json: {name!s:.60}: words is not an object of words")
    return Sentences(
        [printable(each["sentence"]) for each in found],
        effect,
        sum(each.get("kind") == "own" for each in found),
        tuple(cases),
        {key: printable(each) for key, each in words.items()},
    )
