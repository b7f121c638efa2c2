# SPDX-License-Identifier: Apache-2.0
"""The lessons as a page: each with its question first, the exact answers, the curve, and a command to try."""

from collections.abc import Iterator
from typing import Any

from occbench_tools.report import checked_document
from occbench_tools.report.page import render
from occbench_tools.teach.calculator import Answer, Calculator
from occbench_tools.teach.figures import Skipped, StudentGpu, all_hold
from occbench_tools.teach.lab import attempt, figures_at, question
from occbench_tools.teach.lesson import Lesson
from occbench_tools.teach.lessons import LESSONS

BOOK = "a100"  # the device of the text's examples
TITLE = "Occupancy by the book, and as measured"

Part = dict[str, Any]  # of a section, as report.js takes it


def percent(fraction: float) -> str:
    """'62.5 %'"""
    return f"{100 * fraction:.3g} %"


def occupancy_words(answer: Answer) -> str:
    """'75 %, 6 blocks: shared memory'"""
    if not answer["blocks_per_sm"]:
        return f"{percent(answer['occupancy'])}: cannot launch"
    blocks = "1 block" if answer["blocks_per_sm"] == 1 else f"{answer['blocks_per_sm']} blocks"
    limiters = answer["limiters"].replace("_", " ").replace("+", ", ")
    return f"{percent(answer['occupancy'])}, {blocks}: {limiters}"


def table(lesson: Lesson, calculator: Calculator, named: dict[str, str]) -> Part:
    """A row for each footprint, bold where plain division is wrong."""
    body = []
    for footprint in lesson.footprints:
        by_device = [calculator.ask(footprint, device) for device in named]
        cells = [
            dict(text=occupancy_words(each), bold=abs(each["occupancy"] - each["occupancy_textbook"]) > 0.001)
            for each in by_device
        ]
        body.append([footprint.words(), percent(by_device[0]["occupancy_textbook"]), *cells])
    head = ["footprint of a block", "plain division, A100", *(f"exact, {name}" for name in named.values())]
    return dict(kind="table", head=head, body=body)


def explanation(gpu: StudentGpu, lesson: Lesson) -> str:
    """The explanation by calc and the rows of one run, or why there is none."""
    try:
        figures = figures_at(gpu, lesson)
        text = next(text for condition, text in lesson.explain if all_hold(condition, figures))
        return text.format(**figures)
    except Skipped as reason:
        return f"Skipped: {reason}."


def questions(gpus: list[StudentGpu], lesson: Lesson) -> Iterator[str]:
    """The lesson's questions, one if it is the same on all GPUs."""
    label_by_question: dict[str, str] = {}
    for gpu in gpus:
        try:
            label_by_question.setdefault(question(gpu, lesson), gpu.label)
        except Skipped as reason:
            label_by_question.setdefault(f"Skipped: {reason}.", gpu.label)
    return (
        f"{who}: {words}" if len(label_by_question) > 1 else words for words, who in label_by_question.items()
    )


def gpu_words(gpu: StudentGpu) -> str:
    """'NVIDIA H200'; for a model 'model of T4, predicted'."""
    return f"{gpu.label}, predicted" if gpu.run and gpu.run.is_model else gpu.label


def section(lesson: Lesson, gpus: list[StudentGpu], named: dict[str, str]) -> Part:
    """One lesson as report.js takes it."""
    calculator = gpus[0].calculator
    ask = [dict(kind="text", text=f"Predict first. {words}") for words in questions(gpus, lesson)]
    found = [dict(kind="text", text=f"{gpu_words(gpu)}. {explanation(gpu, lesson)}") for gpu in gpus]
    footprints = [table(lesson, calculator, named)] if lesson.footprints else []
    before = [dict(kind="text", text=lesson.claim, className="claim"), *ask]
    has_chart = any(
        gpu.run is not None and (gpu.run.cases["experiment"] == lesson.chart.experiment).any() for gpu in gpus
    )
    try:
        command = " ".join(attempt(gpus[0], lesson, figures_at(gpus[0], lesson)))
    except Skipped:
        command = f"occbench teach --check answers.csv {gpus[0].run.folder if gpus[0].run else ''}"
    after = [dict(kind="heading", text="Try it"), dict(kind="code", text=command)]
    return dict(
        id=lesson.id, title=lesson.title, lead=lesson.source, first=lesson.claim,
        before=[*before, dict(kind="fold", title="The answer, and why", parts=[*found, *footprints])],
        experiment=lesson.chart.experiment if has_chart else None, x=lesson.chart.x, y=lesson.chart.y,
        show=lesson.chart.show, after=after,
    )  # fmt: skip


def page(gpus: list[StudentGpu]) -> str:
    """The page of runs. Raises CommandError."""
    runs = [gpu.run for gpu in gpus if gpu.run]
    data = checked_document(runs, {lesson.chart.experiment for lesson in LESSONS})
    named = {BOOK: "A100"} | {gpu.device: gpu.label for gpu in gpus if gpu.device != "cc8.0"}
    data["sections"] = [section(lesson, gpus, named) for lesson in LESSONS]
    return render(data, TITLE)
