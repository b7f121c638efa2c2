# SPDX-License-Identifier: Apache-2.0
"""What calc and inspect read: a folder of tests/forms per form, with its files and the right answers.

form.json: `form` (the tool's output), `made_by` (commands that made the files), `asked`: calls. A call:
  words   the command's, run in the folder (["calc", "log.txt", "--block-size", "128"])
  exit    its exit code (0)
  rows    of --format csv, in order: the columns to compare; a kernel by the beginning of its name
  says    texts that the table and stderr together hold, blanks aside; without it stderr is empty
"""

import csv
import html
import io
import json
import subprocess
import unittest
from collections.abc import Callable
from functools import partial
from pathlib import Path

from command import OCCBENCH, ROOT, SANITIZED

FORMS = ROOT / "tests/forms"

# What stands before each line where logs are shown, quoted or searched; %d counts lines.
PREFIXES = (
    "> ", ">> > ", "| ", "    ", "\t", "%6d\t", "build.log:%d:", "[rank0]: ", "[1,0]<stdout>:", "app-1  | ",
    "2026-11-27T19:23:04.123Z ", "2026-11-27 19:23:04,12 - INFO - ", "Nov 27 19:23:04 host make[7]: ",
    "  12>", "#12 3.4%d ", "\x1b[36m(Worker pid=7)\x1b[0m ", "test\tRun it\t2026-11-27T19:23:04.1Z ",
)  # fmt: skip


def is_equal(cell: str, right: object) -> bool:
    """A cell of CSV, and a JSON value: null is an empty cell, numbers are equal to 9 digits."""
    if right is None or cell == "":
        return right is None and cell == ""
    if isinstance(right, str):
        return cell == right
    return abs(float(cell) - float(right)) <= 1e-9 * max(1, abs(float(right)))


def difference(rows: list[dict[str, str]], right: list[dict[str, object]]) -> str:
    """The first row that is wrong; empty for none."""
    if len(rows) != len(right):
        return f"{len(rows)} rows instead of {len(right)}: {[row.get('kernel') for row in rows]}"
    for row, wanted in zip(rows, right, strict=True):
        for name, value in wanted.items():
            cell = row.get(name, "no such column")
            if not (cell.startswith(str(value)) if name == "kernel" else is_equal(cell, value)):
                return f"{row.get('kernel')}: {name} is {cell!r} instead of {value!r}"
    return ""


def fault(folder: Path, asked: dict) -> str:
    """What is wrong with the answer to a call; empty if it is right."""

    def run(*more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [OCCBENCH, *asked["words"], *more], cwd=folder, capture_output=True, text=True, timeout=60
        )

    said = run()
    if said.returncode != asked.get("exit", 0):
        return f"exit code {said.returncode}: {said.stderr}"
    together = " ".join((said.stdout + said.stderr).split())
    for text in asked.get("says", []):
        if text not in together:
            return f"{text!r} is not in: {together}"
    if "says" not in asked and said.stderr:
        return said.stderr
    if "rows" not in asked:
        return ""
    return difference(list(csv.DictReader(io.StringIO(run("--format", "csv").stdout))), asked["rows"])


def prefixed(text: str, prefix: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join((prefix % n if "%" in prefix else prefix) + line for n, line in enumerate(lines, 1))


def wrapped(text: str, width: int) -> str:
    """As a terminal shows it, and as it is copied from there."""
    lines = text.splitlines()
    return "".join(line[i : i + width] + "\n" for line in lines for i in range(0, max(len(line), 1), width))


def full_rows(text: str) -> list[list[str]]:
    """Of CSV; ncu leaves out the cells of rules."""
    rows = list(csv.reader(io.StringIO(text)))
    return [row + [""] * (len(rows[0]) - len(row)) for row in rows]


def separated(text: str, separator: str) -> str:
    """As a spreadsheet saves it."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(full_rows(text))
    return out.getvalue()


def markdown(text: str) -> str:
    head, *rows = (f"| {' | '.join(row)} |\n" for row in full_rows(text))
    return head + "|---" * len(full_rows(text)[0]) + "|\n" + "".join(rows)


def indexed(text: str) -> str:
    """As pandas saves a data frame."""
    head, *rows = separated(text, ",").splitlines(keepends=True)
    return f",{head}" + "".join(f"{n},{row}" for n, row in enumerate(rows))


def answers(folder: Path, asked: dict, text: str) -> str:
    """What calc says of another text instead of the file's; stdin in place of the name."""
    words = ["-" if word == asked["words"][1] else word for word in asked["words"]]
    done = subprocess.run(
        [OCCBENCH, *words, "--format", "csv"],
        cwd=folder, capture_output=True, text=True, input=text, timeout=60,
    )  # fmt: skip
    return done.stdout + done.stderr


class Forms(unittest.TestCase):
    files = 0  # of this test so far

    def as_pasted(self, form: str, file: str, changes: dict[str, Callable[[str], str]]) -> None:
        folder = FORMS / form
        text = (folder / file).read_text(encoding="utf-8")
        calls = json.loads((folder / "form.json").read_text(encoding="utf-8"))["asked"]
        asked = next(call for call in calls if call["words"][1] == file)
        right = answers(folder, asked, text)
        self.assertNotEqual(right, "")
        # Under sanitizers a start of the program is most of a call's time: there a file has every third
        # change, and the next file those after them, so that each change and each file is read.
        step = 3 if SANITIZED else 1
        first, self.files = self.files % step, self.files + 1
        for name, change in list(changes.items())[first::step]:
            with self.subTest(form=form, file=file, change=name):
                self.assertEqual(answers(folder, asked, change(text)), right)

    def test_pasted_text_gives_the_same_answer(self) -> None:
        changes = {repr(prefix): partial(prefixed, prefix=prefix) for prefix in PREFIXES} | {
            "CRLF": lambda text: text.replace("\n", "\r\n"),
            "fence": lambda text: f"It prints:\n```text\n{text}```\nWhy?\n",
            "blanks at ends": lambda text: text.replace("\n", "  \n"),
            "HTML": lambda text: html.escape(text, quote=True),
            "no-break spaces": lambda text: text.replace("  ", "\N{NO-BREAK SPACE} "),
        }
        for form, file in (
            ("ptxas_v", "log.txt"), ("nvlink_v", "shared.txt"), ("res_usage", "res_usage.txt"),
            ("ncu_text", "now.txt"), ("ncu_text", "summary.txt"), ("ncu_details_csv", "superbench.csv"),
            ("ncu_raw_csv", "units.csv"), ("ncu_summary_csv", "per_kernel.csv"),
            ("nsys_gpu_trace", "trace.csv"), ("nsys_gpu_trace", "columns.txt"),
            ("compiler_errors", "smem.txt"),
        ):  # fmt: skip
            self.as_pasted(form, file, changes)

    def test_tables_saved_by_other_tools(self) -> None:
        changes = {
            "semicolons": partial(separated, separator=";"),
            "tabs": partial(separated, separator="\t"),
            "fewest quotes": partial(separated, separator=","),
            "Markdown": markdown,
            "pandas": indexed,
            "a quoted table": lambda text: prefixed(separated(text, ";"), "> "),
        }
        for form, file in (
            ("ncu_details_csv", "german.csv"), ("ncu_details_csv", "rules.csv"), ("ncu_raw_csv", "units.csv"),
            ("ncu_raw_csv", "h200.csv"), ("ncu_summary_csv", "per_kernel.csv"),
            ("nsys_gpu_trace", "trace.csv"),
        ):  # fmt: skip
            self.as_pasted(form, file, changes)

    def test_joins_lines_wrapped_by_a_terminal(self) -> None:
        changes = {f"{width} columns": partial(wrapped, width=width) for width in (72, 80, 100, 120)}
        for form, file in (
            ("ptxas_v", "log.txt"), ("ptxas_archs", "five.txt"), ("nvlink_v", "shared.txt"),
            ("res_usage", "res_usage.txt"), ("ncu_text", "h200.txt"), ("ncu_text", "summary.txt"),
            ("compiler_errors", "cap.txt"), ("compiler_errors", "smem.txt"),
        ):  # fmt: skip
            self.as_pasted(form, file, changes)

    def test_every_form_gives_its_answer(self) -> None:
        folders = sorted(path.parent for path in FORMS.glob("*/form.json"))
        self.assertEqual(folders, sorted(path for path in FORMS.iterdir() if path.is_dir()))
        for folder in folders:
            form = json.loads((folder / "form.json").read_text(encoding="utf-8"))
            self.assertLessEqual({"form", "made_by", "asked"}, set(form), folder.name)
            for asked in form["asked"]:
                with self.subTest(form=folder.name, words=" ".join(asked["words"])):
                    wrong = fault(folder, asked)
                    self.assertFalse(wrong, wrong)


if __name__ == "__main__":
    unittest.main()
