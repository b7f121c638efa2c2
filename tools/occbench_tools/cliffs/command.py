# SPDX-License-Identifier: Apache-2.0
"""occbench cliffs DIR...: the cliffs of each sweep, predicted and not, in short and as DIR/cliffs.csv.

Exit 0 all well, 1 a folder has no sweep, 2 invalid arguments, 4 a file could not be read or written.
"""

import json
import os
import sys
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from occbench_tools import escape
from occbench_tools.cliffs import digest
from occbench_tools.cliffs.find import EXTRA, WORDS, table_of
from occbench_tools.command import CommandError, add_folder, entry, folders_of, parser_of, reading
from occbench_tools.escape import printable
from occbench_tools.explain.program import document_of
from occbench_tools.folder import Folder, check_rows, read_folder
from occbench_tools.lines import print_error, write_whole
from occbench_tools.screen import columns, paint

COLOURS = {"confirmed": "bold", "unpredicted": "bold magenta", "unclear": "yellow", "absent": "dim"}


def read(folder: Path) -> Folder:
    """The folder, with samples where there are any.

    Raises OSError, and ValueError for rows that no run writes; complains on stderr of rows left out.
    """
    has_samples = any(os.path.lexists(folder / name) for name in ("samples.csv", "samples.csv.gz"))
    run = read_folder(folder, samples=has_samples, strict=False)
    check_rows(run.cases)
    for warning in run.warnings:
        print_error("occbench cliffs", warning)
    return run


def csv(cliffs: pd.DataFrame) -> str:
    """escape.csv()'s; `predicted` is 1 or 0, an empty cell means not applicable."""
    table = cliffs.drop(columns=EXTRA).assign(predicted=cliffs["predicted"].astype(int))
    return escape.csv(table, "%.8g")


def cells(row: pd.Series) -> list[str]:
    """The cells of one cliff's row for readers."""
    p_value = "" if pd.isna(row["p_value"]) else f"{row['p_value']:.1g}"
    step = f"{row['from_value']:,.10g} -> {row['to_value']:,.10g}"
    return [row["sweep"], row["dial"], step, row["cause"], row[WORDS], p_value, row["verdict"], row["note"]]


HEAD = ["sweep", "dial", "from -> to", "cause", "drop (95 %)", "p", "verdict", "note"]


def summary(cliffs: pd.DataFrame) -> str:
    """'12 predicted: 7 confirmed, 5 absent; 1 unpredicted'"""
    counts = cliffs["verdict"].value_counts()
    counts_text = [f"{counts[name]} {name}" for name in ("confirmed", "absent", "unclear") if name in counts]
    predicted = f"{int(cliffs['predicted'].sum())} predicted" + (
        f": {', '.join(counts_text)}" if counts_text else ""
    )
    return f"{predicted}; {counts.get('unpredicted', 0)} unpredicted"


def print_tables(title: str, cliffs: pd.DataFrame, absent: bool) -> None:
    """One table per experiment; without those that are absent, unless asked for."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else 240, highlight=False)
    console.print(Text(printable(f"{title}: {summary(cliffs)}")))
    for experiment, part in cliffs.groupby("experiment"):
        shown = part if absent else part[part["verdict"] != "absent"]
        title = printable(f"{experiment}: {summary(part)}")
        table = Table(title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD)
        for name in HEAD:
            table.add_column(name, justify="right" if name in ("from -> to", "drop (95 %)", "p") else "left")
        for _, row in shown.iterrows():
            table.add_row(*(Text(printable(cell)) for cell in cells(row)), style=COLOURS[row["verdict"]])
        console.print(table if len(shown) else Text(title, "bold"))
    if not absent and (cliffs["verdict"] == "absent").any():
        console.print("--all lists the absent ones too, each with the reason.")


def markdown(cliffs: pd.DataFrame) -> str:
    """One table for all."""
    lines = [["experiment", *HEAD], ["---"] * (len(HEAD) + 1)]
    lines += [[*map(escape.markdown, (row["experiment"], *cells(row)))] for _, row in cliffs.iterrows()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def show(found: list[tuple[Path, pd.DataFrame]], form: str, absent: bool) -> None:
    """Prints all cliffs. Several folders in one CSV or JSON get a column `folder` in front."""
    if form == "table":
        for folder, cliffs in found:
            print_tables(str(folder), cliffs, absent)
        return
    if form == "markdown":
        for folder, cliffs in found:
            print((f"{escape.markdown(folder)}\n\n" if len(found) > 1 else "") + markdown(cliffs))
        return
    tables = [cliffs for _, cliffs in found]
    if len(found) > 1:
        for folder, cliffs in found:
            cliffs.insert(0, "folder", str(folder))
    whole = pd.concat(tables, ignore_index=True)
    records = json.loads(whole.drop(columns=EXTRA).to_json(orient="records"))
    print(csv(whole) if form == "csv" else escape.as_json(records), end="")


@entry("occbench cliffs")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "cliffs",
        "Cliffs of every sweep: those that theory predicts, confirmed by the data or not, and those that "
        "nobody predicted. Writes DIR/cliffs.csv.",
        "occbench cliffs --experiment registers --verbose",
    )
    add_folder(parser, many=True)
    parser.add_argument("--output", metavar="FILE", help="the CSV's place; -: stdout, and no file")
    parser.add_argument("--format", choices=("table", "csv", "json", "markdown"), help="of what is printed")
    parser.add_argument("--experiment", metavar="NAME", action="append", help="only it; may be repeated")
    parser.add_argument("--verbose", action="store_true", help="print every cliff that is not absent")
    parser.add_argument("--all", action="store_true", help="--verbose with the absent ones too")
    options = parser.parse_args(arguments)
    if len(options.folders) > 1 and options.output not in (None, "-"):
        parser.error("--output takes one file, and so one DIR")
    folders = folders_of(options, "occbench cliffs")
    found: list[tuple[Path, pd.DataFrame]] = []
    runs: list[Folder] = []
    files: list[Path] = []
    for folder in folders:
        with reading(folder):
            run = read(folder)
            cliffs = table_of(document_of(folder, run.valid, run.env, run.samples))
        if options.experiment:
            cliffs = cliffs[cliffs["experiment"].isin(options.experiment)]
        if cliffs.empty:
            raise CommandError(1, f"{folder}: no cliff, predicted or not: no sweep of valid rows has any")
        found.append((folder, cliffs))
        run.samples = None  # large, and no longer needed
        runs.append(run)
    for folder, cliffs in found:
        if options.output != "-":
            path = Path(options.output) if options.output else folder / "cliffs.csv"
            with reading(folder):
                write_whole(path, csv(cliffs))
            files.append(path)
    form = options.format or ("csv" if options.output == "-" else "table")
    if form == "table" and not (options.verbose or options.all):
        tables = [(run, cliffs) for run, (_, cliffs) in zip(runs, found, strict=True)]
        print(paint(digest.screen(tables, files, columns()), digest.style), end="")
    else:
        show(found, form, options.all)
    return 0
