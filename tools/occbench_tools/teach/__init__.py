# SPDX-License-Identifier: Apache-2.0
"""occbench teach: the course text's chapter on occupancy as a lab.

Each lesson asks for a prediction, then reads the student's own run and explains the difference. With DIR
alone the lessons are a page; --check asks and checks at the prompt or from a file; --sheet writes the
questions as a page or a notebook. Every number comes from `occbench calc` or from the rows.
Exit codes are occbench report's; 4 also where there is no occbench, 3 where there is no GPU to run on.
"""

import argparse
import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

from occbench_tools.command import CommandError, entry, folders_of
from occbench_tools.escape import printable
from occbench_tools.lines import print_error, say
from occbench_tools.programs import run_program
from occbench_tools.report import complain_of_rows, page_parser, read_runs, write
from occbench_tools.report.payload import Run, labels
from occbench_tools.teach.calculator import Calculator, Footprint
from occbench_tools.teach.figures import StudentGpu
from occbench_tools.teach.lab import COLUMNS, Answers, is_typed, rows_of, summary, work_through, write_csv
from occbench_tools.teach.languages import LANGUAGES, Language, read_language
from occbench_tools.teach.lessons import LESSONS
from occbench_tools.teach.page import page
from occbench_tools.teach.sheet import write_sheet
from occbench_tools.untrusted_files import read_untrusted

LABS = Path("results/lab")  # runs of the lab's cases, by device
EXPERIMENTS = ",".join(dict.fromkeys(lesson.chart.experiment for lesson in LESSONS))
CASES = "|".join(dict.fromkeys(lesson.cases for lesson in LESSONS if lesson.cases))  # of those experiments


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    command = page_parser("teach", "The course text's chapter on occupancy as a lab: predict, run, check.")
    command.epilog = (
        "Example\n  occbench teach --device model:t4 --check answers.csv\n"
        "  occbench teach results/nvidia-h200/* --output lessons.html\n"
        "  occbench teach --check a.csv --check b.csv --export class.csv results/lab/t4\n"
        "  occbench teach --device t4 --sheet lab.ipynb"
    )
    command.add_argument(
        "--device",
        metavar="DEVICE",
        help="runs the lab's cases on it first, as `occbench run` does (0, model:t4), into "
        f"{LABS}/DEVICE; a run that is there is read",
    )
    command.add_argument(
        "--check",
        metavar="FILE.csv",
        type=Path,
        action="append",
        default=[],
        help="checks the answers in FILE (columns lesson, answer), asks for those that are missing and adds "
        "them; several times for a class",
    )
    command.add_argument(
        "--lesson",
        metavar="ID",
        action="append",
        choices=[lesson.id for lesson in LESSONS],
        help="with --check: this lesson alone; may be repeated",
    )
    command.add_argument(
        "--again",
        action="store_true",
        help="with --check: asks what was answered already, too; of a lesson's answers the last one counts",
    )
    command.add_argument(
        "--export", metavar="FILE.csv", type=Path, help="with --check: verdicts of all answers as one table"
    )
    command.add_argument(
        "--sheet",
        metavar="FILE",
        type=Path,
        help="the questions alone: FILE.html or FILE.pdf to print, FILE.ipynb as a notebook",
    )
    command.add_argument(
        "--language",
        choices=LANGUAGES,
        default="en",
        help="of --check and --sheet: English or Chinese, over the same figures",
    )
    command.add_argument(
        "--occbench",
        metavar="PATH",
        type=Path,
        help="the program (default: $OCCBENCH, on the PATH, or built here)",
    )
    return command


def device_of(run: Run) -> str:
    """The name of a run's GPU for calc."""
    cc = str(run.env["gpu"].get("compute_capability", ""))
    if not re.fullmatch(r"\d{1,2}\.\d", cc):
        raise CommandError(4, f"{run.folder}: env.json has no compute capability")
    return f"cc{cc}"


def is_complete(folder: Path, device: str, calculator: Calculator) -> bool:
    """Whether the lab's run in a folder has all its cases."""
    words = ["list", "--device", device, "--experiment", EXPERIMENTS, "--format", "csv"]
    try:
        listing = run_program([calculator.program, *words], limit_s=60)
        planned = {row["case_id"] for row in csv.DictReader(io.StringIO(listing.stdout))}
        text = read_untrusted(folder / "cases.csv").decode()
        present = {row["case_id"] for row in csv.DictReader(io.StringIO(text))}
    except (OSError, ValueError, KeyError, csv.Error, subprocess.TimeoutExpired):
        return False
    return bool(planned) and present >= {case for case in planned if re.search(CASES, case)}


def measure(device: str, calculator: Calculator, language: Language) -> Path:
    """The folder of the lab's cases on a device, measured now or completed. Raises CommandError."""
    folder = LABS / (re.sub(r"[^a-z0-9.]+", "-", device.lower().removeprefix("model:")).strip("-.") or "gpu")
    is_there = (folder / "cases.csv").exists()
    if is_there:
        print_error("occbench teach", language.say("reads", folder=folder))
        if is_complete(folder, device, calculator):
            return folder
        words = ["--resume", str(folder)]
    else:
        words = ["--device", device, "--output", str(folder)]
        words += ["--experiment", EXPERIMENTS, f"--benchmark_filter={CASES}"]
        print_error("occbench teach", language.say("runs", device=device, folder=folder))
    try:
        done = subprocess.run(
            [calculator.program, "run", *words], stdout=subprocess.PIPE, text=True, check=False
        )
    except OSError as error:
        raise CommandError(4, f"{calculator.program}: {error.strerror}") from error
    if done.returncode not in (0, 1):  # it has printed why
        if not is_there:
            sys.exit(done.returncode)
        print_error("occbench teach", f"{folder}: nothing added; read as it is")
    return folder


def gpus_of(runs: list[Run], calculator: Calculator) -> list[StudentGpu]:
    """A GPU for each run whose architecture calc knows. Raises CommandError where it knows none."""
    gpus: list[StudentGpu] = []
    unknown: CommandError | None = None
    for run, label in zip(runs, labels(runs), strict=True):
        gpu = StudentGpu(calculator, device_of(run), label, run)
        try:
            gpu.ask(Footprint(256))
            gpus.append(gpu)
        except CommandError as error:
            unknown = error
    if unknown and not gpus:
        raise unknown
    return gpus


def read_answers(options: argparse.Namespace) -> list[Answers]:
    """The files of answers. Raises CommandError, also where one cannot be created."""
    for path in filter(None, (*options.check, options.export)):
        folder = path.parent
        if not os.path.isdir(folder):  # False also of a name that is too long
            raise CommandError(4, f"{path}: there is no folder {folder}")
        if not os.path.exists(path) and not os.access(folder, os.W_OK):
            raise CommandError(4, f"{path}: no permission to write into {folder}")
    return [Answers.read(path) for path in dict.fromkeys(options.check)]


def check_all(options: argparse.Namespace, files: list[Answers], gpu: StudentGpu, language: Language) -> None:
    """Works through every file of answers, and exports the verdicts. Raises CommandError."""
    rows = []
    if gpu.run and gpu.run.is_model:
        say(language.say("predicted", label=language.label(gpu.label)))
    for answers in files:
        path = answers.path
        if answers.device not in ("", gpu.label):
            answers.notes.append(f"{path}: answers for {answers.device}; checked on {gpu.label}")
        answers.device = answers.device or gpu.label
        for note in answers.notes:
            print_error("occbench teach", note)
        if is_typed():
            say(language.say("prompt", file=path))
        try:
            results = work_through(gpu, answers, options.lesson, language, options.again)
        except KeyboardInterrupt:
            if is_typed():
                say("")  # ends the prompt's line
            wanted = options.lesson or [lesson.id for lesson in LESSONS]
            given = len(answers.by_lesson.keys() & set(wanted))
            text = language.say("interrupted", file=path, given=given, all=len(wanted))
            raise CommandError(130, text) from None
        if len(results) > 1:
            who = dict(student=answers.student, label=language.label(gpu.label))
            say("", language.say("total", counts=summary(results, language), **who))
        rows += rows_of(answers, gpu.label, results, language)
    if options.export:
        write_csv(options.export, COLUMNS, rows)
        print(printable(options.export))


@entry("occbench teach")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    for name in ("export", "again"):
        if getattr(options, name) and not options.check:
            command.error(f"--{name} needs --check")
    for folder in options.folders:
        if str(folder) in (lesson.id for lesson in LESSONS) and not folder.exists():
            command.error(f"{folder} is a lesson: --check FILE.csv --lesson {folder}")
    if options.export and options.export.resolve() in [path.resolve() for path in options.check]:
        command.error("--export would replace a file of answers: name another file")
    if options.sheet and (options.check or options.output):
        command.error("--sheet writes one file of its own: without --check and --output")
    if options.language != "en" and not (options.check or options.sheet):
        command.error("--language is of --check and --sheet")
    language = read_language(options.language)
    files = read_answers(options)
    calculator = Calculator(options.occbench)
    if options.sheet and not options.folders:
        device = (options.device or "a100").removeprefix("model:")
        gpu = StudentGpu(calculator, device, device.upper())
        write_sheet(options.sheet, gpu, language)
        return 0
    if options.device and options.folders:
        command.error("--device measures a run of its own: without DIR")
    if options.device:
        folders = [measure(options.device, calculator, language)]
    else:
        folders = folders_of(options, "occbench teach")
    runs = read_runs(folders, options.allow_model)
    gpus = gpus_of(runs, calculator)
    if options.sheet:
        write_sheet(options.sheet, gpus[0], language)
        return 0
    if options.check:
        if len(gpus) > 1:
            command.error("--check reads one run")
        check_all(options, files, gpus[0], language)
    else:
        write(options, folders, "teach.html", page(gpus))
    return complain_of_rows("occbench teach", runs)
