# SPDX-License-Identifier: Apache-2.0
"""occbench teach DIR...: the course text's worked examples of occupancy as a page of lessons.

Each has what the text computes, what the hardware does and why, the curve that was measured, and a question
to try. The text is Hwu, Kirk and El Hajj, 'Programming Massively Parallel Processors' (PMPP), 4th edition,
sections 4.7 and 5.6; only what it prints is quoted. Every other number is asked of `occbench calc` or
computed from the rows. Exit codes are occbench report's; 4 also where there is no occbench to ask.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from occbench_tools.command import Refused, entry, folders_of, occbench
from occbench_tools.programs import run_program
from occbench_tools.report import checked, page_parser, read_runs, warn, write
from occbench_tools.report.lessons import LESSONS, Answer, Footprint, Lesson, percent, rows_of, share
from occbench_tools.report.page import render
from occbench_tools.report.payload import Run, labels

BOOK = "a100"  # the device of its examples


class Calculator:
    """`occbench calc`; Refused where there is none, or where it fails on the text's own device."""

    def __init__(self, program: Path | None) -> None:
        found = program or occbench()
        if not found:
            raise Refused(4, "no occbench to compute with: build it, or name it with --occbench PATH")
        self.program = str(found)

    def ask(self, footprint: Footprint, device: str) -> Answer:
        """What it says of a footprint on a device that it knows by name or as ccX.Y. Raises Refused."""
        command = [self.program, *footprint.command(device), "--format", "json"]
        try:
            done = run_program(command, limit_s=60)
            if done.returncode in (0, 1):  # 1: it cannot launch, and that is the answer
                return json.loads(done.stdout)
            words = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        except OSError as error:
            words = str(error.strerror)
        except (ValueError, subprocess.TimeoutExpired) as error:
            words = str(error)
        raise Refused(4, f"{' '.join(command)}: {words}")


def devices(runs: list[Run], calculator: Calculator) -> dict[str, str]:
    """The text's device, and those of the runs as ccX.Y: what calc calls them, and what people do."""
    found = {BOOK: "A100"}
    for run, label in zip(runs, labels(runs), strict=True):
        cc = str(run.env["gpu"].get("compute_capability", ""))
        if not re.fullmatch(r"\d+\.\d", cc) or f"cc{cc}" in found:
            continue
        try:
            calculator.ask(Footprint(256), f"cc{cc}")
        except Refused:  # of an architecture that it does not know
            continue
        found[f"cc{cc}"] = label
    return found


def exact(answer: Answer) -> str:
    """'75 %, 6 blocks: shared memory'"""
    if not answer["blocks_per_sm"]:
        return f"{share(answer)}: cannot launch"
    blocks = "1 block" if answer["blocks_per_sm"] == 1 else f"{answer['blocks_per_sm']} blocks"
    return f"{share(answer)}, {blocks}: {answer['limiters'].replace('_', ' ').replace('+', ', ')}"


def table(
    lesson: Lesson, calculator: Calculator, named: dict[str, str]
) -> tuple[list[Answer], dict[str, Any]]:
    """The answers on the text's device, and a row for each footprint, bold where plain division is wrong."""
    answers, body = [], []
    for footprint in lesson.footprints:
        by_device = [calculator.ask(footprint, device) for device in named]
        answers.append(by_device[0])
        cells = [
            dict(text=exact(each), bold=abs(each["occupancy"] - each["occupancy_textbook"]) > 0.001)
            for each in by_device
        ]
        body.append([footprint.words(), percent(by_device[0]["occupancy_textbook"]), *cells])
    head = ["footprint of a block", "plain division, A100", *(f"exact, {name}" for name in named.values())]
    return answers, dict(kind="table", head=head, body=body)


def section(lesson: Lesson, runs: list[Run], calculator: Calculator, named: dict[str, str]) -> dict[str, Any]:
    """One lesson as report.js takes it."""
    answers, computed = table(lesson, calculator, named)

    def before() -> Iterator[dict[str, Any]]:
        yield dict(kind="text", text=lesson.claim, className="claim")
        if answers:
            yield computed
        yield dict(kind="heading", text="What the hardware does, and why")
        yield dict(kind="text", text=lesson.why(answers))
        yield dict(kind="heading", text="What the runs say")
        measured = [run for run in runs if len(rows_of(run, lesson.experiment))]
        for run, label in zip(runs, labels(runs), strict=True):
            words = lesson.measured(run, lesson.experiment) if run in measured else "This run did not try it."
            who = f"{label}, predicted" if run.is_model else label
            yield dict(kind="text", text=f"{who}. {words or 'See the chart.'}")

    there = any(len(rows_of(run, lesson.experiment)) for run in runs)
    after = [dict(kind="heading", text="Try it"), dict(kind="text", text=lesson.question)]
    return dict(
        id=lesson.id, title=lesson.title, lead=lesson.source, first=lesson.claim, before=list(before()),
        experiment=lesson.experiment if there else None, x=lesson.x, y=lesson.y, show=lesson.show,
        after=[*after, dict(kind="code", text="\n".join(lesson.attempt))],
    )  # fmt: skip


TITLE = "Occupancy by the book, and as measured"


@entry("occbench teach")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = page_parser("teach", "The course text's examples of occupancy as a page of lessons.")
    parser.add_argument(
        "--occbench",
        metavar="PATH",
        type=Path,
        help="the program (default: $OCCBENCH, on the PATH, or built here)",
    )
    options = parser.parse_args(arguments)
    runs = read_runs(folders_of(options, "occbench teach"), options.allow_model)
    calculator = Calculator(options.occbench)
    named = devices(runs, calculator)
    data = checked(runs, {lesson.experiment for lesson in LESSONS})
    data["sections"] = [section(lesson, runs, calculator, named) for lesson in LESSONS]
    write(options, [run.folder for run in runs], "teach.html", render(data, TITLE))
    return warn("occbench teach", runs)


if __name__ == "__main__":
    sys.exit(main())
