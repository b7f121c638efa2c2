# SPDX-License-Identifier: Apache-2.0
"""The cliffs of a run on one screen: how many predicted steps were seen, by dial, and the worst."""

from itertools import groupby
from pathlib import Path

import pandas as pd

from occbench_tools.folder import Folder, gpu_name
from occbench_tools.screen import LINES, align_columns, digits, elide, wrap

LISTED, ROWS, NAME = 10, 5, 32  # most cliffs, rows of dials, and columns of a run's name
NAMES = {"dynamic_smem_bytes": "shared memory", "register_cap": "registers",
         "working_set_bytes": "working set", "ilp": "ILP"}  # fmt: skip
OTHERWISE = {"explained": "absent for a known reason", "unexplained": "for none",
             "unclear": "unclear"}  # fmt: skip
LEGEND = "Explained: absent, and its note says why. Median, worst: cost where seen."


def dial_name(dial: str) -> str:
    return NAMES.get(dial, dial.replace("_", " "))


def add_outcomes(cliffs: pd.DataFrame) -> pd.DataFrame:
    """The rows with `outcome` (seen, explained, unexplained, unclear, unpredicted) and `cost`.

    cost: the fraction of the throughput that the slower side of the step loses.
    """
    outcome = cliffs["verdict"].replace(dict(confirmed="seen", absent="unexplained"))
    outcome = outcome.mask(cliffs["explained"], "explained")
    drop = cliffs["drop"]
    return cliffs.assign(outcome=outcome, cost=drop.where(drop >= 0, -drop / (1 - drop)))


def sentence(run: Folder, cliffs: pd.DataFrame) -> str:
    """How many steps theory predicts, and how many of them were seen."""
    counts = cliffs["outcome"].value_counts()
    gpu = elide(gpu_name(run.env).removeprefix("model of "), NAME)
    who = f"{elide(run.name, NAME)} ({f'model of {gpu}, not measured' if run.is_modelled else gpu})"
    predicted = int(cliffs["predicted"].sum())
    if predicted:
        text = f"of {predicted:,} predicted step{'s' * (predicted != 1)}, {counts.get('seen', 0):,} seen"
        text += "".join(f", {counts[name]:,} {words}" for name, words in OTHERWISE.items() if name in counts)
    else:
        text = "no step is predicted"
    more = counts.get("unpredicted", 0)
    if run.is_modelled:
        return f"{who}: {text}."
    return f"{who}: {text}; {f'{more:,} more' if more else 'none'} that nobody predicted."


def dials(cliffs: pd.DataFrame, width: int) -> list[str]:
    """A row for each dial with predicted steps."""
    predicted = cliffs[cliffs["outcome"] != "unpredicted"]
    order = predicted["dial"].value_counts().index
    rows = [["dial", "predicted", "seen", "explained", "unexplained", "unclear", "median", "worst"]]
    rest = predicted[predicted["dial"].isin(order[ROWS:])]
    parts = [(dial_name(dial), predicted[predicted["dial"] == dial]) for dial in order[:ROWS]]
    for name, part in [*parts, *([(f"{len(order) - ROWS} others", rest)] if len(rest) else [])]:
        counts = part["outcome"].value_counts()
        cost = part.loc[part["outcome"] == "seen", "cost"]
        numbers = [f"{counts.get(outcome, 0):,}" for outcome in rows[0][2:6]]
        ends = [digits(cost.median()), digits(cost.max())] if len(cost) else ["", ""]
        rows.append([name, f"{len(part):,}", *numbers, *ends])
    return [*align_columns(rows, width, 0), LEGEND] if len(rows) > 1 else []


def place(row: pd.Series) -> str:
    """'shared memory 44.5 -> 113 KiB'; the file has the bytes."""
    ends = row["from_value"], row["to_value"]
    if str(row["dial"]).endswith("_bytes"):
        for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
            numbers = [f"{end / size:.3g}" for end in ends]
            if ends[1] >= size and numbers[0] != numbers[1]:
                return f"{dial_name(row['dial'])} {numbers[0]} -> {numbers[1]} {unit}"
    numbers = [f"{end:,.6g}" for end in ends]
    unit = " B" * str(row["dial"]).endswith("_bytes")
    return f"{dial_name(row['dial'])} {numbers[0]} -> {numbers[1]}{unit}"


def main_cliffs(cliffs: pd.DataFrame, room: int, width: int) -> list[str]:
    """The cliffs that matter most: unpredicted ones, those against theory, and the deepest seen."""
    deepest = cliffs.sort_values("cost", ascending=False, kind="stable")
    unexplained = deepest["outcome"] == "unexplained"
    groups = {
        "Not predicted, the deepest first:": deepest[deepest["outcome"] == "unpredicted"],
        "Contradicts theory, unexplained by the data; the worst of each experiment:":
            deepest[unexplained & deepest["against_theory"]].drop_duplicates("experiment"),
        "Seen, the deepest of each experiment:":
            deepest[deepest["outcome"] == "seen"].drop_duplicates("experiment"),
    }  # fmt: skip
    groups = {head: rows for head, rows in groups.items() if len(rows)}
    room = min(room - len(groups), LISTED)
    heads, cells = [], []
    for left, (head, rows) in zip(range(len(groups), 0, -1), groups.items(), strict=True):
        shown = rows.head(max(-(-room // left), 0))  # the next group gets the lines that one leaves
        room -= len(shown)
        heads += [head] * len(shown)
        for _, row in shown.iterrows():
            guess = f" ({row['cause']})" if row["outcome"] == "unpredicted" else ""
            name = f"{row['experiment']}: {row['kernel']}{guess}"
            cells.append(["", digits(row["cost"]), place(row), name])
    lines = zip(heads, align_columns(cells, width, 3, left=(2,)), strict=True)
    return [text for head, part in groupby(lines, lambda pair: pair[0])
            for text in (head, *(line for _, line in part))]  # fmt: skip


def screen(found: list[tuple[Folder, pd.DataFrame]], files: list[Path], width: int) -> list[str]:
    """All lines: of one run, or a sentence for each of several. files: where the lists are."""
    tables = [add_outcomes(cliffs) for _, cliffs in found]
    lines = [line for (run, _), table in zip(found, tables, strict=True)
             for line in wrap(sentence(run, table), width)]  # fmt: skip
    last = ["All of them: --verbose, or --format csv"]
    if files:
        named = str(files[0]) if len(files) == 1 else f"cliffs.csv of each of {len(files)} folders"
        last = wrap(f"All of them: {named}, or --verbose", width)
    if len(found) > 1:
        most = lines[: LINES - 2]
        return [*most, *([f"{len(lines) - len(most)} more lines"] if most != lines else []), *last]
    rows = dials(tables[0], width)
    lines += ["", *rows] if rows else []
    return [*lines, "", *main_cliffs(tables[0], LINES - len(lines) - 1 - len(last), width), *last]


def style(line: str) -> str:
    """The style of a line on a terminal."""
    return "bold" if line.endswith(":") else ""
