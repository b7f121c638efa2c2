# SPDX-License-Identifier: Apache-2.0
"""The lab sheet: the questions without their answers, as a page, as PDF and as a notebook."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from occbench_tools.command import CommandError
from occbench_tools.escape import html, printable
from occbench_tools.lines import reason, write_whole
from occbench_tools.programs import run_program
from occbench_tools.teach.figures import Skipped, StudentGpu
from occbench_tools.teach.lab import question
from occbench_tools.teach.languages import ENGLISH, Language
from occbench_tools.teach.lesson import Lesson

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PRINT = ("--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-pdf-header-footer")
PRINT_SECONDS = 120
INSTEAD = "or write FILE.html and print it"

STYLE = """
body { font: 11pt/1.45 system-ui, sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em; }
h2 { font-size: 1.1em; margin: 1.6em 0 .2em } section { break-inside: avoid }
.source { color: #555 } .answer { border-bottom: 1px solid #333; display: inline-block; width: 12em }
code { font: .9em ui-monospace, monospace } @page { margin: 18mm }
"""

PAGE = """\
<!doctype html><html lang='{language}'><meta charset='utf-8'>
<meta name='viewport' content='width=device-width'><title>{title}</title><style>{style}</style>
<h1>{title}</h1><p>{words}</p><p>{check}<code>occbench teach --device 0 --check answers.csv{option}</code></p>
{parts}</html>
"""

SETUP = """\
# Installs occbench from a wheel file beside this notebook.
# Once occbench is published, pip install "occbench[report]" does without the file.
import glob, shutil, subprocess, sys
if not shutil.which("occbench"):
    wheels = sorted(glob.glob("./occbench-*.whl"))
    if not wheels:
        sys.exit("no occbench-*.whl beside this notebook: upload one, then run this cell again")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", f"{wheels[-1]}[report]"], check=True)
"""

HELPERS = """\
import csv, os, subprocess
has_gpu = subprocess.run(["occbench", "devices"], capture_output=True).returncode == 0
device = "0" if has_gpu else "model:DEVICE"
print("measured on this GPU" if has_gpu else f"no GPU here: {device} predicts instead")

def check(lesson, answer):
    \"\"\"Checks one answer; '' only asks. Answers are kept in answers.csv.\"\"\"
    names, rows = ["lesson", "answer"], []
    if os.path.exists("answers.csv"):
        with open("answers.csv", newline="") as file:
            reader = csv.DictReader(file)
            rows, names = list(reader), reader.fieldnames or names
    if str(answer):  # of a lesson's rows the last one counts
        with open("answers.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows([*rows, {"lesson": lesson, "answer": answer}])
    words = ["occbench", "teach", "--device", device, "--check", "answers.csv", "--lesson", lesson]OPTION
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(done.stdout + done.stderr * (done.returncode > 1))
"""

EXPORT = """\
# All answers as a table, for the teacher.
words = ["occbench", "teach", "--device", device, "--check", "answers.csv", "--export", "lab.csv"]OPTION
print(subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.splitlines()[-2])
"""


def question_text(gpu: StudentGpu, lesson: Lesson, language: Language) -> str:
    """The question for this GPU, or why there is none."""
    try:
        return question(gpu, lesson)
    except Skipped as reason:
        return language.say("not_here", why=reason)


def option(language: Language) -> str:
    """The option of `occbench teach` for this language."""
    return "" if language is ENGLISH else f" --language {language.name}"


def sheet(gpu: StudentGpu, language: Language = ENGLISH) -> str:
    """The page: each question with a line for the answer."""

    def parts() -> Iterator[str]:
        for place, lesson in enumerate(language.lessons, 1):
            yield (
                f"<section><h2>{place}. {html(lesson.title)}</h2><p class='source'>{html(lesson.source)}. "
                f"{html(lesson.claim)}</p><p>{html(question_text(gpu, lesson, language))}</p>"
                f"<p>{html(language.words['prediction'])}<span class='answer'>&nbsp;</span> "
                f"{html(language.units[lesson.unit])} &emsp; {html(language.words['measured'])}"
                "<span class='answer'>&nbsp;</span></p></section>"
            )

    return PAGE.format(
        language=language.name,
        title=html(language.say("title", label=gpu.label)),
        style=STYLE,
        words=html(language.words["introduction"]),
        check=html(language.words["check"]),
        option=option(language),
        parts="".join(parts()).replace(" %", "&nbsp;%"),
    )


def model_of(gpu: StudentGpu) -> str:
    """The model that a notebook uses without a GPU: the GPU's, or a T4, which clouds lend."""
    words = ["list", "--preset", "quick", "--experiment", "waves", "--device", f"model:{gpu.device}"]
    try:
        listed = run_program([gpu.calculator.program, *words], limit_s=60)
    except (OSError, subprocess.TimeoutExpired):
        return "t4"
    return "t4" if listed.returncode else gpu.device


def notebook(gpu: StudentGpu, language: Language = ENGLISH) -> str:
    """The same as a notebook: a cell that installs, then a question and a cell for each lesson."""
    cells: list[dict[str, object]] = []

    def add(kind: str, text: str) -> None:
        code = dict(execution_count=None, outputs=[]) if kind == "code" else {}
        cells.append(
            dict(
                cell_type=kind,
                id=f"cell-{len(cells)}",
                metadata={},
                source=text.splitlines(keepends=True),
                **code,
            )
        )

    introduction = f"{language.words['introduction']} {language.say('note', label=gpu.label)}"
    add("markdown", f"# {language.words['heading']}\n\n{introduction}\n")
    add("code", SETUP)
    helpers = HELPERS.replace("DEVICE", model_of(gpu))
    in_language = f" + {option(language).split()}" * (language is not ENGLISH)
    add("code", helpers.replace("OPTION", in_language))
    for place, lesson in enumerate(language.lessons, 1):
        words = f"{lesson.claim}\n\n**{question_text(gpu, lesson, language)}**"
        add("markdown", f"## {place}. {lesson.title} ({lesson.source})\n\n{words}\n")
        blank = language.say("blank", unit=language.units[lesson.unit])
        add("code", f'check("{lesson.id}", "")  # {blank}\n')
    add("code", EXPORT.replace("OPTION", in_language))
    kernel = dict(display_name="Python 3", language="python", name="python3")
    return (
        json.dumps(
            dict(cells=cells, metadata=dict(kernelspec=kernel), nbformat=4, nbformat_minor=5), indent=1
        )
        + "\n"
    )


def has_font(language: Language) -> bool:
    """Whether a font has the language's letters; True where fontconfig cannot be asked."""
    program = shutil.which("fc-list")
    if language is ENGLISH or not program:
        return True
    found = subprocess.run([program, f":lang={language.name}"], capture_output=True, check=False)
    return found.returncode != 0 or bool(found.stdout.strip())


def pdf(gpu: StudentGpu, language: Language = ENGLISH) -> bytes:
    """The page as Chromium prints it. Raises CommandError."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        raise CommandError(5, f"a PDF needs Chromium, and there is none on the PATH: install it, {INSTEAD}")
    if not has_font(language):
        raise CommandError(5, f"no font has Chinese letters: install one, as fonts-noto-cjk, {INSTEAD}")
    with tempfile.TemporaryDirectory() as folder:
        page, printed = Path(folder, "lab.html"), Path(folder, "lab.pdf")
        page.write_text(sheet(gpu, language), encoding="utf-8")
        # root has no sandbox; the page is this file's own
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        words = [program, *PRINT, *as_root, f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}"]
        try:
            subprocess.run([*words, page.as_uri()], capture_output=True, timeout=PRINT_SECONDS, check=True)
            return printed.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise CommandError(5, f"{program} printed nothing: check its installation, {INSTEAD}") from error


def write_sheet(path: Path, gpu: StudentGpu, language: Language = ENGLISH) -> None:
    """Writes the sheet in the format of its suffix, and prints its path. Raises CommandError."""
    kinds = {".html": sheet, ".ipynb": notebook, ".pdf": pdf}
    if path.suffix not in kinds:
        raise CommandError(2, f"--sheet {path}: a sheet is FILE.html, FILE.pdf or FILE.ipynb")
    try:
        write_whole(path, kinds[path.suffix](gpu, language))
    except OSError as error:
        raise CommandError(4, reason(path, error)) from error
    print(printable(path))
