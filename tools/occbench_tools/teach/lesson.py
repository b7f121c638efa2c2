# SPDX-License-Identifier: Apache-2.0
"""The type of a lesson: a question, its answer's figures, and explanations over them."""

from collections.abc import Callable
from typing import NamedTuple

from occbench_tools.teach.answers import Figures
from occbench_tools.teach.calculator import Footprint
from occbench_tools.teach.figures import StudentGpu


class Chart(NamedTuple):
    """The picture of a lesson: an experiment, axes, and patterns of the lines that it shows."""

    experiment: str
    x: str
    y: str
    show: tuple[str, ...]


def no_figures(_: StudentGpu) -> Figures:
    """The figures of a question that has none of the GPU."""
    return {}


class Lesson(NamedTuple):
    """ask is a template over `given`; explain and mistakes also over `figures`, with 'answer'.

    given: figures that need no run. explain: (condition, text) pairs. mistakes: (a figure, what was
    overlooked by an answer of it).
    attempt: a command that shows it. precision: what the question rounds to; half of it is allowed on each
    side of the run's interval. choices: of a question without a number, counted from 1. cases: a regular
    expression of the case ids that its run needs. footprints: of the page's table.
    """

    id: str
    title: str
    source: str
    claim: str
    ask: str
    unit: str
    figures: Callable[[StudentGpu], Figures]
    explain: tuple[tuple[str, str], ...]
    attempt: str
    chart: Chart
    precision: float = 0
    given: Callable[[StudentGpu], Figures] = no_figures
    may_be_negative: bool = False
    choices: tuple[str, ...] = ()
    mistakes: tuple[tuple[str, str], ...] = ()
    cases: str = ""
    footprints: tuple[Footprint, ...] = ()
