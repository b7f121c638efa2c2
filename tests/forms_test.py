# SPDX-License-Identifier: Apache-2.0
"""What calc and inspect read: a folder of tests/forms per form, with its files and the right answers.

form.json: `form` (the tool's output), `made_by` (commands that made the files), `asked`: calls. A call:
  words   the command's, run in the folder (["calc", "log.txt", "--block-size", "128"])
  exit    its exit code (0)
  rows    of --format csv, in order: the columns to compare; a kernel by the beginning of its name
  says    texts that the table and stderr together hold, blanks aside; without it stderr is empty
"""

import csv
import io
import json
import subprocess
import unittest
from pathlib import Path

from command import OCCBENCH, ROOT

FORMS = ROOT / "tests/forms"


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


class Forms(unittest.TestCase):
    def test_every_form_has_its_answer(self) -> None:
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
