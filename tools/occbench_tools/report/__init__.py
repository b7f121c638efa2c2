# SPDX-License-Identifier: Apache-2.0
"""occbench report DIR...: folders of results as one self-contained HTML file that needs no network.

First throughput over theoretical occupancy; for each experiment its curves with intervals, theory and
predictions, its cliffs, and the fewest warps for 90 % of the best. Several devices share a chart, after the
speed-up of each over the first. From cases.csv and env.json alone. For a folder of `occbench attach`: the
program's kernels by their share of GPU time (attached/page.py).
Exit 0 written, 1 written but rows are left out, or nothing valid to show, 2 invalid arguments, 4 a file
could not be read or written.
"""

import argparse
import re
from pathlib import Path
from typing import Any

from occbench_tools.attached import is_attached
from occbench_tools.command import ALL, CommandError, add_folder, entry, folders_of, parser_of, relative
from occbench_tools.escape import file_name, printable
from occbench_tools.lines import make_folder, print_error, reason, write_whole
from occbench_tools.opening import EXPERIMENT, KERNELS, curves, least_occupancy
from occbench_tools.report import devices
from occbench_tools.report.page import render
from occbench_tools.report.payload import Run, document, labels


def read_runs(folders: list[Path], allow_model: bool) -> list[Run]:
    """The folders' runs. Raises CommandError; of a model and of a device together only if that is allowed."""
    runs = []
    for folder in folders:
        try:
            runs.append(Run(folder))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(4, reason(folder, error)) from error
    if len({run.is_model for run in runs}) > 1 and not allow_model:
        model = next(run.folder for run in runs if run.is_model)
        raise CommandError(
            2, f"{model}: a model's run, beside measured ones; --allow-model shows both, marked"
        )
    if not any(len(run.cases) for run in runs):
        raise CommandError(1, f"{folders[0]}: no valid case")
    return runs


def checked_document(runs: list[Run], only: set[str] | None = None) -> dict[str, Any]:
    """document(); raises CommandError with one line where the rows are damaged."""
    try:
        return document(runs, only)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CommandError(4, reason(runs[0].folder, error)) from error


def opening(runs: list[Run]) -> list[dict[str, Any]]:
    """The page's first section: throughput over occupancy of a memory-bound and an arithmetic-bound kernel;
    none where no run has both.
    """
    for run, label in zip(runs, labels(runs), strict=True):
        needed = [f"{least_occupancy(line)} for {words}" for words, line in curves(run.cases).items()]
        if not needed:
            continue
        first = f"Occupancy for 90 % of the best on {label}: {', '.join(needed)}."
        lead = f"{first} `occbench teach` lets you predict such numbers, then checks them."
        show = [f"^{re.escape(variant)}$" for variant in KERNELS]
        return [dict(
            id="throughput-over-occupancy", title="throughput over theoretical occupancy", lead=lead,
            first=first, experiment=EXPERIMENT, x="occupancy_theoretical", y="best", show=show,
        )]  # fmt: skip
    return []


def page_parser(word: str, words: str) -> argparse.ArgumentParser:
    """The parser with the options of both pages."""
    parser = parser_of(word, words, f"occbench {word} results/nvidia-h200/*")
    add_folder(parser, many=True)
    parser.add_argument(
        "--output",
        metavar="FILE.html",
        type=Path,
        help=f"default: DIR/{word}.html; of several folders ./{word}.html",
    )
    parser.add_argument("--allow-model", action="store_true", help="show a model's run beside measured ones")
    return parser


def write(options: argparse.Namespace, folders: list[Path], name: str, text: str) -> None:
    """Writes the page and says where. Raises CommandError."""
    path = options.output or (folders[0] / name if len(folders) == 1 else Path(name))
    try:
        write_whole(path, text)
    except OSError as error:
        raise CommandError(4, reason(path, error)) from error
    print(printable(relative(path)))


def complain_of_rows(program: str, runs: list[Run]) -> int:
    """Names the rows that were left out; the exit code."""
    for run in runs:
        for note in run.notes:
            print_error(program, f"{run.folder}: {note}; see `occbench validate`")
    return 1 if any(run.notes for run in runs) else 0


def title_of(runs: list[Run]) -> str:
    """'Occupancy and speed on NVIDIA H200'"""
    names = ("the " * run.is_model + run.gpu for run in runs)
    return "Occupancy and speed on " + " and ".join(dict.fromkeys(names))


def pictures(runs: list[Run], target: Path) -> None:
    """Draws the PNGs by occbench plot: one run's into `target`, each of several into a folder there."""
    from occbench_tools import plot  # matplotlib takes a second

    names = [run.folder.resolve().name for run in runs]
    for place, (run, name) in enumerate(zip(runs, names, strict=True), 1):
        own = name if names.count(name) == 1 else f"{place}-{name}"
        into = target if len(runs) == 1 else target / own
        try:
            make_folder(into)
        except OSError as error:
            raise CommandError(4, reason(into, error)) from error
        for experiment in plot.drawable(run.cases):
            path = into / f"{file_name(experiment)}.png"
            if code := plot.main([str(run.folder), "--experiment", experiment, "--output", str(path)]):
                raise CommandError(code, f"{path}: not drawn")


def write_program_page(options: argparse.Namespace, folders: list[Path]) -> int:
    """The page on a folder of `occbench attach`; the exit code. Raises CommandError."""
    from occbench_tools.attached import page
    from occbench_tools.attached.folder import read_attached

    if len(folders) > 1:
        other = next(folder for folder in folders if is_attached(folder))
        raise CommandError(2, f"{other}: of `occbench attach`, which has a page of its own; name it alone")
    if options.png:
        raise CommandError(2, f"{folders[0]}: of `occbench attach`, which has no pictures for --png")
    try:
        program = read_attached(folders[0])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(4, reason(folders[0], error)) from error
    if program.kernels.empty:
        raise CommandError(1, program.why_empty)
    for binary in options.binary:
        if not binary.is_file():  # a pipe's other end may never come
            raise CommandError(4, f"{binary}: no file")
    try:
        document = page.document(program, options.binary)  # asks the program for an old folder's findings
    except ValueError as error:
        raise CommandError(4, reason(folders[0], error)) from error
    write(options, folders, "report.html", render(document, page.title(program)))
    for note in program.warnings:
        print_error("occbench report", note)
    return 1 if program.warnings else 0


@entry("occbench report")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = page_parser("report", "Runs as one HTML file that needs no network.")
    parser.add_argument("--png", metavar="DIR", type=Path, help="occbench plot's pictures as well, into DIR")
    parser.add_argument(
        "--binary",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="of a folder of attach: the program or library with its kernels, to show the source lines that "
        "hold their registers; may be repeated",
    )
    options = parser.parse_args(arguments)
    folders = folders_of(options, "occbench report", of=ALL)
    if any(map(is_attached, folders)):
        return write_program_page(options, folders)
    if options.binary:
        raise CommandError(2, "--binary goes with a folder of `occbench attach`")
    runs = read_runs(folders, options.allow_model)
    page = checked_document(runs) | dict(opening=opening(runs))
    write(options, folders, "report.html", render(page, title_of(runs), devices.section(runs)))
    if options.png:
        pictures(runs, options.png)
    return complain_of_rows("occbench report", runs)
