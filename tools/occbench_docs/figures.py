# SPDX-License-Identifier: Apache-2.0
"""Every figure that stands in prose, by its name: `<!-- =NAME -->...<!-- / -->`, NAME@h100 of another GPU.

One line each. A figure is a function of a run; the helpers below make them:
  throughput(case)              '2,060 GB/s' of one case            throughput(best(experiment, where))
  occupancy(case), warps(case), registers(case), spills(case)      '75 %', '48 warps', '33 registers', '176 B'
  cell(case, column, form)      any column, as a format string says
  ratio(a, b), change(a, b)     '1.03', '-21.0 %' of two cases' throughput: a over b, from a to b
  warps_for(share, experiment, where)   '12 warps': the fewest that reach this share of the best
  count(experiment, where)      '2,394' cases
  calc(words, field, form)      of `occbench calc WORDS --format json`; the field's path has dots
  env(field, form)              of env.json
A case is a case_id, or best() and least() of an experiment; `where` is a pandas query over cases.csv.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pandas as pd

from occbench_docs import DocsError
from occbench_docs.program import output
from occbench_docs.runs import Run, grouped, percent, rate, run_of

Figure = Callable[[Run], str]
Case = Callable[[Run], pd.Series]


def case(which: str | Case) -> Case:
    """A case by its name, or as best() and least() find it."""
    return which if callable(which) else lambda run: run.case(which)


def best(experiment: str, where: str = "", by: str = "throughput") -> Case:
    """The case with the largest `by`."""
    return lambda run: (rows := run.rows(experiment, where)).loc[rows[by].idxmax()]


def least(experiment: str, where: str = "", by: str = "throughput") -> Case:
    """The case with the smallest `by`."""
    return lambda run: (rows := run.rows(experiment, where)).loc[rows[by].idxmin()]


def throughput(which: str | Case) -> Figure:
    def say(run: Run) -> str:
        row = case(which)(run)
        return rate(row["throughput"], row["throughput_unit"])

    return say


def cell(which: str | Case, column: str, form: str = "{:,.0f}", scale: float = 1) -> Figure:
    def say(run: Run) -> str:
        value = case(which)(run)[column]
        return form.format(value if isinstance(value, str) else value * scale)

    return say


def occupancy(which: str | Case) -> Figure:
    return lambda run: percent(case(which)(run)["occupancy_theoretical"])


def warps(which: str | Case) -> Figure:
    return cell(which, "warps_per_sm", "{:.0f} warps")


def registers(which: str | Case) -> Figure:
    return cell(which, "registers_per_thread", "{:.0f} registers")


def spills(which: str | Case) -> Figure:
    return cell(which, "spill_bytes", "{:.0f} B")


def quotient(a: str | Case, b: str | Case, column: str = "throughput") -> Callable[[Run], float]:
    return lambda run: case(a)(run)[column] / case(b)(run)[column]


def ratio(a: str | Case, b: str | Case, column: str = "throughput", form: str = "{:.2f}") -> Figure:
    """a over b."""
    return lambda run: form.format(quotient(a, b, column)(run))


def change(a: str | Case, b: str | Case, column: str = "throughput", form: str = "{:+.1f} %") -> Figure:
    """From a to b."""
    return lambda run: form.format(100 * (quotient(b, a, column)(run) - 1))


def share(a: str | Case, b: str | Case, column: str = "throughput", digits: int = 1) -> Figure:
    """a in percent of b."""
    return lambda run: percent(quotient(a, b, column)(run), digits)


def of_ceiling(which: str | Case, digits: int = 1) -> Figure:
    return lambda run: percent(case(which)(run)["percent_of_ceiling"] / 100, digits)


def warps_for(part: float, experiment: str, where: str = "", of: Case | None = None) -> Figure:
    """The fewest warps whose throughput reaches `part` of the best of these rows, or of another case."""

    def say(run: Run) -> str:
        rows = run.rows(experiment, where)
        level = part * (of(run)["throughput"] if of else rows["throughput"].max())
        reached = rows.loc[rows["throughput"] >= level, "warps_per_sm"]
        if reached.empty:
            raise DocsError(f"no case of {experiment} with {where} reaches {part} of that")
        return f"{reached.min():.0f} warps"

    return say


def count(experiment: str = "", where: str = "", thing: str = "") -> Figure:
    def say(run: Run) -> str:
        rows = run.rows(experiment, where) if experiment else run.cases
        return f"{grouped(len(rows))}{thing and ' '}{thing}"

    return say


def value_at(tree: Any, path: str) -> Any:  # noqa: ANN401
    """A value in nested objects: 'gpu.name', 'cliffs.registers_per_thread.loses.value'."""
    for key in path.split("."):
        if not isinstance(tree, dict) or key not in tree:
            raise DocsError(f"there is no {path}")
        tree = tree[key]
    return tree


def env(path: str, form: str = "{}", scale: float = 1) -> Figure:
    def say(run: Run) -> str:
        value = value_at(run.env, path)
        return form.format(value if isinstance(value, str) else value * scale)

    return say


@lru_cache
def calculated(words: str) -> Any:  # noqa: ANN401
    return json.loads(output(shlex.join(["occbench", "calc", *shlex.split(words), "--format", "json"])))


def calc(words: str, path: str, form: str = "{:,}") -> Figure:
    """Needs no run. Fractions say themselves as percent with form='%'."""

    def say(_: Run) -> str:
        value = value_at(calculated(words), path)
        return percent(value) if form == "%" else form.format(value)

    return say


READS = "family == 'stream' and variant.str.startswith('read')"

FIGURES: dict[str, Figure] = {
    "run": lambda run: f"`{run.name}`",
    "gpu": lambda run: run.gpu,
    "commit": env("git_commit", "`{:.12}`"),
    "cases": count(),
    "read-best": throughput(best("latency_hiding", READS)),
    "read-best-occupancy": occupancy(best("latency_hiding", READS)),
    "loads-31": throughput("registers.register_pressure.load-live17-maxnreg31.b512"),
    "loads-33": throughput("registers.register_pressure.load-live19-maxnreg33.b512"),
    "loads-31-33": change(
        "registers.register_pressure.load-live17-maxnreg31.b512",
        "registers.register_pressure.load-live19-maxnreg33.b512",
    ),
    "bulk-one-warp": throughput(best("bulk_copy", "family == 'bulk_copy' and warps_per_sm == 1")),
    "exact-33x256": calc("--device h200 --block-size 256 --registers 33", "occupancy", "%"),
    "textbook-33x256": calc("--device h200 --block-size 256 --registers 33", "occupancy_textbook", "%"),
}


def figure(name: str) -> str:
    """The words of one figure: NAME of the default GPU's run, NAME@GPU of another's. DocsError if none is."""
    short, _, gpu = name.partition("@")
    if short not in FIGURES:
        raise DocsError(f"no figure '{short}' in tools/occbench_docs/figures.py")
    try:
        return FIGURES[short](run_of(gpu))
    except (DocsError, KeyError, ValueError) as error:
        raise DocsError(f"figure '{name}': {error}") from error
