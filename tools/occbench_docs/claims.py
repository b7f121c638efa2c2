# SPDX-License-Identifier: Apache-2.0
"""The claims of the course texts beside occbench's figures: docs/data/claims.csv as tables.

A figure is `{KIND WORDS}`, KIND@h100 for another GPU's record. One within another is filled in first:
  device NAME VALUE [KEY]                    of `occbench devices --device NAME`
  calc FIELD NAME BLOCK REGISTERS [OPTIONS]  of `occbench calc`
  hide FIELD NAME CYCLES INSTRUCTIONS        of `occbench calc --hide`
  case CASE COLUMN [FORM]                    of a row of the record
  raw CASE COLUMN                            the same, unrounded
  ceiling CASE, divergent CASE               percent of the ceiling, of the warps
  ratio, change, loss or share CASE CASE     of two rows' throughput
  best EXPERIMENT WHERE COLUMN               of the rows for which the pandas query holds, or of all
  rows WHERE                                 how many there are
  picks PERCENT                              kernels so near their best at the block size of the API
  env PATH, fact NAME GPU, figure NAME       of env.json, docs/data/facts.csv and figures.py
  = ARITHMETIC                               of the numbers within
"""

import csv
import json
import math
import re
from collections.abc import Callable
from typing import Any

from occbench_docs import DOCS, DocsError, figures
from occbench_docs.markdown import table
from occbench_docs.program import output
from occbench_docs.runs import Run, group_digits, percent, run_of
from occbench_docs.tables import rows_of

FILE = DOCS / "data" / "claims.csv"
VERDICTS = ("holds", "corrected", "explained")
MARK = re.compile(r"\{(=|[a-z]+)(?:@(\w+))? ([^{}]+)\}")


def claims() -> list[dict[str, str]]:
    """part, text, claim, verdict, ours and why of each, with unfilled figures."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def plain(value: Any) -> str:  # noqa: ANN401
    """'6,912', '97.9', or a text as it is."""
    if isinstance(value, str):
        return value
    return f"{round(value, 1):,}".removesuffix(".0")


def of_json(tree: Any, path: str) -> str:  # noqa: ANN401
    value = figures.value_at(tree, path)
    fraction = path.split(".")[-1].split("_")[0] == "occupancy" or path.endswith("share")
    return percent(value) if fraction else plain(value)


def device(_: Run, name: str, field: str, key: str = "value") -> str:
    found = json.loads(output(f"occbench devices --device {name} --format json"))
    values = [row[key] for row in found if row["name"] == field]
    if not values:
        raise DocsError(f"occbench devices --device {name} has no {field}")
    return plain(float(values[0])) if values[0].isdigit() else values[0].partition(",")[0]


def calc(_: Run, field: str, name: str, block: str, registers: str, *more: str) -> str:
    words = f"--device {name} --block-size {block} --registers {registers} {' '.join(more)}"
    return of_json(figures.calc_json(words), field)


def hide(_: Run, field: str, name: str, cycles: str, instructions: str) -> str:
    words = f"--device {name} --hide {cycles} --instructions {instructions}"
    return of_json(figures.calc_json(words), field)


def compute(_: Run, *words: str) -> str:
    """The value of an expression of numbers, + - * / //, ceil() and round() alone."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(words))
    if re.search(r"[^\d\s.,()+*/-]", re.sub(r"ceil|round", "", text)):
        raise DocsError(f"'{text}' is not arithmetic")
    return plain(eval(text, {"__builtins__": {}, "ceil": math.ceil, "round": round}))


def best(run: Run, experiment: str, where: str, column: str) -> str:
    case = figures.best(experiment, "" if where == "all" else where)
    return figures.throughput(case)(run) if column == "throughput" else figures.ceiling_share(case)(run)


def picks(run: Run, within: str) -> str:
    """'8 of 9': kernels whose throughput at the API's block size is within this percentage of their best."""
    rows = run.of("block_size_pick")
    best = rows.groupby("curve")["throughput"].max()
    picked = rows[rows["block_size"] == rows["block_size_api"]].set_index("curve")["throughput"]
    near = (picked / best.reindex(picked.index)) >= 1 - float(within) / 100
    return f"{near.sum()} of {len(near)}"


def fact(_: Run, name: str, gpu: str) -> str:
    for row in rows_of("facts.csv")[1:]:
        if row[:2] == [name, gpu]:
            return row[3]
    raise DocsError(f"facts.csv has no {name} of {gpu}")


def loss(run: Run, full: str, part: str) -> str:
    return percent(1 - figures.quotient(part, full)(run))


KINDS: dict[str, Callable[..., str]] = {
    "device": device,
    "calc": calc,
    "hide": hide,
    "=": compute,
    "best": best,
    "picks": picks,
    "fact": fact,
    "loss": loss,
    "figure": lambda run, name: figures.FIGURES[name](run),
    "env": lambda run, path: plain(figures.value_at(run.env, path)),
    "case": lambda run, case, column, form=",.0f": figures.cell(case, column, f"{{:{form}}}")(run),
    "raw": lambda run, case, column: str(run.case(case)[column]),
    "ceiling": lambda run, case: figures.ceiling_share(case)(run),
    "divergent": lambda run, case: percent(run.case(case)["divergent_warps"]),
    "ratio": lambda run, a, b, form=".2f": figures.ratio(a, b, form=f"{{:{form}}}")(run),
    "change": lambda run, a, b: figures.change(a, b)(run),
    "share": lambda run, a, b: figures.share(a, b)(run),
    "rows": lambda run, *where: group_digits(len(run.cases.query(" ".join(where)))),
}


def fill_figures(text: str) -> str:
    """The text with its figures, computed now. Raises DocsError."""

    def replace(found: re.Match[str]) -> str:
        kind, gpu, words = found[1], found[2] or "", found[3].split()
        if kind not in KINDS:
            raise DocsError(f"no kind of figure '{kind}'; there are: {', '.join(KINDS)}")
        try:
            return KINDS[kind](run_of(gpu), *words)
        except (ArithmeticError, DocsError, KeyError, SyntaxError, TypeError, ValueError) as error:
            raise DocsError(f"'{found[0]}': {error}") from error

    while (once := MARK.sub(replace, text)) != text:
        text = once
    if "{" in text:
        raise DocsError(f"'{text}': a figure is not closed, or its kind is unknown")
    return text


def page() -> str:
    """The count of each verdict, and a table for each part."""
    rows = claims()
    count = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}
    lines = [f"{len(rows)} claims: {', '.join(f'{number} {verdict}' for verdict, number in count.items())}."]
    for part in dict.fromkeys(row["part"] for row in rows):
        lines += [f"\n## {part}\n"]
        lines += [
            table(
                ["text:line", "claim", "verdict", "ours", "why"],
                [
                    [
                        row["text"],
                        row["claim"],
                        row["verdict"],
                        fill_figures(row["ours"]),
                        fill_figures(row["why"]),
                    ]
                    for row in rows
                    if row["part"] == part
                ],
            )
        ]
    return "\n".join(lines)
