# SPDX-License-Identifier: Apache-2.0
"""docs/data/occbench.1, which is installed: the program's help by help2man, and docs/data/occbench.h2m."""

import csv
import re
import shutil
import tempfile
from pathlib import Path

from occbench_tools.programs import run_program

from occbench_docs import ROOT, DocsError
from occbench_docs.program import binary

PAGE = ROOT / "docs/data/occbench.1"


def page() -> str | None:
    """The current page; None without help2man. Raises DocsError."""
    help2man = shutil.which("help2man")
    if help2man is None:
        return None
    with open(ROOT / "docs/data/exit-codes.csv", encoding="utf-8", newline="") as file:
        codes = "".join(f".TP\n{row['code']}\n{row['meaning']}\n" for row in csv.DictReader(file))
    version = run_program([binary(), "--version"]).stdout.split()[1]
    more = (ROOT / "docs/data/occbench.h2m").read_text(encoding="utf-8").replace("@exit_codes@\n", codes)
    with tempfile.TemporaryDirectory() as folder:
        include = Path(folder) / "more"
        include.write_text(more, encoding="utf-8")
        words = [help2man, "--no-info", "--section=1", f"--source=occbench {version}", f"--include={include}"]
        words += [f"--version-string={version}", "--help-option=--help-all", str(binary())]
        ran = run_program(words)
    if ran.returncode:
        raise DocsError(f"help2man: {ran.stderr.strip()}")
    return re.sub(r'^(\.TH \S+ "1" )"[^"]*"', r'\1""', ran.stdout, flags=re.MULTILINE)  # the day it was made
