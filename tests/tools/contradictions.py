# SPDX-License-Identifier: Apache-2.0
"""Holds each figure of the lab's sentences against the cells that it names, read anew.

python tests/tools/contradictions.py DIR...: one line for each sentence that its rows contradict; exit code 1
if there is one. Cells are read from cases.csv here, and `occbench calc` is asked anew: nothing of what the
lab computed is taken over but the names of rows and columns. The findings of `occbench explain` are searched
for a change from a value to itself.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from occbench_tools.report.payload import Run
from occbench_tools.teach.calculator import Calculator
from occbench_tools.teach.figures import Figure, Skipped, StudentGpu, all_hold, scale_of
from occbench_tools.teach.lab import figures_at
from occbench_tools.teach.lessons import LESSONS

Rows = dict[str, dict[str, str]]  # of cases.csv, by case_id
MAX_CLOCK_DIFFERENCE = 0.1


class Sentence(NamedTuple):
    """What a lesson says, its template and condition, and the figures in it."""

    lesson: str
    text: str
    template: str
    condition: str
    figures: dict[str, Figure]


def rows_of(folder: Path) -> Rows:
    with (folder / "cases.csv").open(encoding="utf-8", newline="") as file:
        return {row["case_id"]: row for row in csv.DictReader(file)}


def sentences(gpu: StudentGpu) -> list[Sentence]:
    """Of every lesson that can be had here."""
    said = []
    for lesson in LESSONS:
        try:
            figures = figures_at(gpu, lesson)
        except Skipped:
            continue
        condition, template = next(each for each in lesson.explain if all_hold(each[0], figures))
        said.append(Sentence(lesson.id, template.format(**figures), template, condition, figures))
    return said


def computed(figure: Figure, rows: Rows, calculator: Calculator) -> float:
    """The figure from its cells alone."""
    assert figure.source is not None
    operation, of, key = figure.source
    if operation == "calc":
        value = calculator.run(list(of))
        for part in key.split("."):
            value = value[part]
        return float(value) * scale_of(figure.spec)
    cells = [float(rows[case][key]) for case in of]
    if operation == "value":
        return cells[0] * scale_of(figure.spec)
    share = cells[0] / cells[1]
    return 100 * (1 - share) if operation == "loss" else share * scale_of(figure.spec)


def wrong_figures(said: Sentence, rows: Rows, calculator: Calculator) -> Iterator[str]:
    """Each figure of the sentence that its cells do not give, and a condition that they do not meet."""
    again = {}
    for name, figure in said.figures.items():
        value = figure.value if figure.source is None else computed(figure, rows, calculator)
        again[name] = Figure(value, value, value, figure.spec)
        if f"{{{name}}}" in said.template and str(again[name]) != str(figure):
            yield f"{said.lesson}: {name} is {again[name]} by its rows, and {figure} is said"
        if figure.source and figure.source.operation in ("ratio", "loss"):
            clocks = [float(rows[case]["sm_clock_hz"]) for case in figure.source.of]
            if max(clocks) > (1 + MAX_CLOCK_DIFFERENCE) * min(clocks):
                yield f"{said.lesson}: {name} compares rows at clocks of {clocks[0]:g} and {clocks[1]:g} Hz"
    if not all_hold(said.condition, again):
        yield f"{said.lesson}: '{said.condition}' does not hold by the rows: {said.text}"
    if said.template.format(**again) != said.text:
        yield f"{said.lesson}: by the rows it is '{said.template.format(**again)}', not '{said.text}'"


def repeated(where: str, text: str) -> Iterator[str]:
    """A change 'from 32 to 32' that a sentence speaks of."""
    for start, end in re.findall(r"[Ff]rom ([\d.,]+ ?%?) to ([\d.,]+ ?%?)", text):
        if start.strip(" .,") == end.strip(" .,"):
            yield f"{where}: says from {start} to {end}, which is not a change: {text}"


def unsaid_dips(said: Sentence, rows: Rows) -> Iterator[str]:
    """A larger number of warps that is slower than the answer by 10 %, where the sentence names none."""
    source = said.figures["answer"].source
    if source is None or source.key != "warps_per_sm":
        return
    least = rows[source.of[0]]
    slower = [
        row["warps_per_sm"]
        for row in rows.values()
        if row["experiment"] == least["experiment"] and row["variant"] == least["variant"]
        if row["status"] == "valid" and int(row["warps_per_sm"]) > int(least["warps_per_sm"])
        if float(row["throughput"]) < 0.9 * float(least["throughput"])
    ]
    slower.sort(key=int)
    if slower and not any(f"{warps} warps" in said.text for warps in slower):
        yield f"{said.lesson}: {', '.join(slower)} warps are slower, and that is not said: {said.text}"


def wrong(said: list[Sentence], rows: Rows, calculator: Calculator) -> list[str]:
    """One line for each contradiction."""
    lines = []
    for each in said:
        lines += wrong_figures(each, rows, calculator)
        lines += repeated(each.lesson, each.text)
        lines += unsaid_dips(each, rows)
    return lines


def found(folder: Path, gpu: StudentGpu) -> list[str]:
    """The contradictions of one run."""
    return wrong(sentences(gpu), rows_of(folder), gpu.calculator)


def main(folders: list[str]) -> int:
    calculator, count, said = Calculator(None), 0, 0
    for folder in map(Path, folders):
        run = Run(folder)
        gpu = StudentGpu(calculator, f"cc{run.env['gpu']['compute_capability']}", run.gpu, run)
        said += len(sentences(gpu))
        told = [(name, text) for name, of in run.findings.items() for text in of.sentences]
        said += len(told)
        for line in [*found(folder, gpu), *(line for each in told for line in repeated(*each))]:
            print(f"{run.gpu}: {line}")
            count += 1
    print(f"{len(folders)} runs, {said} sentences, {count} contradictions")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
