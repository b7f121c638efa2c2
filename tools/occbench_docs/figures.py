# SPDX-License-Identifier: Apache-2.0
"""Every figure in prose, by its name: `<!-- =NAME -->...<!-- / -->`, NAME@h100 for another GPU.

One line each. A figure is a function of a run; the helpers below make them:
  throughput(case)              '2,060 GB/s' of one case            throughput(best(experiment, where))
  occupancy(case), warps(case), registers(case), spills(case)      '75 %', '48 warps', '33 registers', '176 B'
  cell(case, column, form)      any column, as a format string says
  ratio(a, b), change(a, b)     '1.03', '-21.0 %' of two cases' throughput: a over b, from a to b
  warps_for(share, experiment, where), occupancy_for(...)   the fewest warps that reach this share of the best
  count(experiment, where)      '2,394' cases
  calc(words, field, form)      of `occbench calc WORDS --format json`; the field's path has dots
  env(field, form)              of env.json
A case is a case_id, or best() and least() of an experiment; `where` is a pandas query over cases.csv.
"""

import json
import re
import shlex
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pandas as pd
from occbench_tools.explain.achieved import POINTS
from occbench_tools.predictions import AIM

from occbench_docs import DocsError
from occbench_docs.program import output
from occbench_docs.runs import Run, group_digits, percent, rate, run_of
from occbench_docs.tables import rows_of

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
    def text_of(run: Run) -> str:
        row = case(which)(run)
        return rate(row["throughput"], row["throughput_unit"])

    return text_of


def cell(which: str | Case, column: str, form: str = "{:,.0f}", scale: float = 1) -> Figure:
    def text_of(run: Run) -> str:
        value = case(which)(run)[column]
        return form.format(value if isinstance(value, str) else value * scale)

    return text_of


def occupancy(which: str | Case) -> Figure:
    return lambda run: percent(case(which)(run)["occupancy_theoretical"])


def warps(which: str | Case) -> Figure:
    return cell(which, "warps_per_sm", "{:.0f} warps")


def registers(which: str | Case) -> Figure:
    return cell(which, "registers_per_thread", "{:.0f} registers")


def spills(which: str | Case) -> Figure:
    return cell(which, "local_bytes", "{:.0f} B")


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
    return lambda run: f"{100 * quotient(a, b, column)(run):.{digits}f} %"


def ceiling_share(which: str | Case, digits: int = 1) -> Figure:
    return lambda run: f"{case(which)(run)['percent_of_ceiling']:.{digits}f} %"


def fewest_warps(part: float, experiment: str, where: str = "", of: Case | None = None) -> Case:
    """The case of fewest warps whose throughput reaches `part` of these rows' best, or of another case."""

    def find(run: Run) -> pd.Series:
        rows = run.rows(experiment, where)
        level = part * (of(run)["throughput"] if of else rows["throughput"].max())
        reached = rows[rows["throughput"] >= level]
        if reached.empty:
            raise DocsError(f"no case of {experiment} with {where} reaches {part} of that")
        return reached.loc[reached["warps_per_sm"].idxmin()]

    return find


def warps_for(part: float, experiment: str, where: str = "", of: Case | None = None) -> Figure:
    return warps(fewest_warps(part, experiment, where, of))


def occupancy_for(part: float, experiment: str, where: str = "", of: Case | None = None) -> Figure:
    return occupancy(fewest_warps(part, experiment, where, of))


def count(experiment: str = "", where: str = "", thing: str = "") -> Figure:
    def text_of(run: Run) -> str:
        rows = run.rows(experiment, where) if experiment else run.cases
        return f"{group_digits(len(rows))}{thing and ' '}{thing}"

    return text_of


def value_at(tree: Any, path: str) -> Any:  # noqa: ANN401
    """A value in nested objects: 'gpu.name', 'cliffs.registers_per_thread.loses.value'."""
    for key in path.split("."):
        if not isinstance(tree, dict) or key not in tree:
            raise DocsError(f"there is no {path}")
        tree = tree[key]
    return tree


def counter_agrees(run: Run) -> str:
    """'2,471 of 2,538': cases whose block records and hardware counter agree, as `explain` counts them."""
    both = run.cases.dropna(subset=["occupancy_resident", "occupancy_achieved"])
    differences = (both["occupancy_resident"] - both["occupancy_achieved"]).abs()
    return f"{group_digits(int((differences <= POINTS).sum()))} of {group_digits(len(both))}"


def env(path: str, form: str = "{}", scale: float = 1) -> Figure:
    def text_of(run: Run) -> str:
        value = value_at(run.env, path)
        return form.format(value if isinstance(value, str) else value * scale)

    return text_of


@lru_cache
def calc_json(words: str) -> Any:  # noqa: ANN401
    return json.loads(output(shlex.join(["occbench", "calc", *shlex.split(words), "--format", "json"])))


def calc(words: str, path: str, form: str = "{:,}") -> Figure:
    """Needs no run. A fraction becomes percent with form='%'."""

    def text_of(_: Run) -> str:
        value = value_at(calc_json(words), path)
        return percent(value) if form == "%" else form.format(value)

    return text_of


def latency_hiding(variant: str, warps: int) -> str:
    return f"latency_hiding.{variant}.b128.r{warps // 4}"


def frozen_figure(form: str, value: Callable[[list[list[str]]], float]) -> Figure:
    """Of docs/data/frozen.csv; needs no run."""
    return lambda _: form.format(value(rows_of("frozen.csv")[1:]))


def last_number(cell: str) -> float:
    """Of '3.9 to 4.2 %' the last."""
    return float(re.findall(r"[+-]?[0-9.]+", cell)[-1])


def mean_of(rows: list[list[str]]) -> float:
    return sum(last_number(row[2]) for row in rows) / len(rows)


def rows_without_mri(rows: list[list[str]]) -> list[list[str]]:
    """Without `mri`, whose constant memory the model does not cover: it outweighs all others."""
    return [row for row in rows if not row[1].startswith("mri")]


def meets_aims(row: list[str]) -> bool:
    """Whether mean, 90 % and worst meet the aims of `occbench predictions`."""
    return all(abs(last_number(cell)) <= 100 * most for cell, most in zip(row[2:], AIM.values(), strict=True))


READS = [f"read-f32-{width}B-ilp{ilp}" for width in (4, 8, 16) for ilp in (1, 2, 4, 8)]
ANY_READ = best("latency_hiding", f"variant in {READS}")
FMA2 = "fma_chain.two-operand-ilp1"
WIDE = "family == 'stream' and variant == 'read-f32-16B-ilp{}'"
REGISTERS = "registers.register_pressure.{}.b512"
ONE_WARP = best("bulk_copy", "family == 'bulk_copy' and warps_per_sm == 1")
STENCIL = "launch_bounds_roulette.launch_bounds_roulette.stencil-free.b256.c14"
# Kernels that use a quarter of their values: 32 FLOP an iteration, where the others make 128.
IDLE_SPILLS = "flop_per_launch < 64 * grid_size * block_size * iterations"
LDS = best("shared_latency", "variant == 'read-ilp1-conflict1'")
CALC = "--device h200 --block-size 256 --registers 33"

PROFILED = "block_size_pick.intensity.ilp1-fma16.b128"  # tests/samples/intensity_ncu.csv

FIGURES: dict[str, Figure] = {
    # The runs.
    "run": lambda run: f"`{run.name}`",
    "gpu": lambda run: run.gpu,
    "commit": env("git_commit", "`{:.12}`"),
    "cases": count(),
    "experiments": lambda run: f"{run.cases['experiment'].nunique()}",
    "counter-agrees": counter_agrees,
    # Limits of an SM.
    "slots": env("gpu.max_threads_per_sm", "{:.0f}", 1 / 32),
    "slots-half": env("gpu.max_threads_per_sm", "{:.0f} resident warps", 1 / 64),
    "smem-without-opt-in": env("gpu.smem_per_block_bytes", "{:.0f} KiB", 1 / 1024),
    "exact-33x256": calc(CALC, "occupancy", "%"),
    "textbook-33x256": calc(CALC, "occupancy_textbook", "%"),
    # Reads.
    "read-best": throughput(ANY_READ),
    "read-best-occupancy": occupancy(ANY_READ),
    "read-4B-best": throughput(best("latency_hiding", "variant == 'read-f32-4B-ilp1'")),
    **{
        f"{name}90-16B-{ilp}": text_of(0.9, "latency_hiding", WIDE.format(ilp), of=ANY_READ)
        for ilp in (1, 2, 4)
        for name, text_of in (("w", warps_for), ("o", occupancy_for))
    },
    "bulk-best-1w": throughput(ONE_WARP),
    "bulk-best-1w-occupancy": occupancy(ONE_WARP),
    # FMA chains.
    "fma-best": throughput(best("latency_hiding", "family == 'fma_chain'")),
    "fma-ilp1-4w": ceiling_share(latency_hiding(FMA2, 4)),
    "fma-ilp4-4w": ceiling_share(latency_hiding("fma_chain.two-operand-ilp4", 4)),
    "fma2-best": ceiling_share(best("latency_hiding", "variant == 'two-operand-ilp1'")),
    "fma3-best": ceiling_share(best("latency_hiding", "variant == 'three-operand-ilp1'")),
    **{f"fma-{warps}w": ceiling_share(latency_hiding(FMA2, warps)) for warps in (16, 20, 24, 32)},
    # Registers and spills.
    "loads-31": throughput(REGISTERS.format("load-live17-maxnreg31")),
    "loads-33": throughput(REGISTERS.format("load-live19-maxnreg33")),
    "loads-31-33": change(
        REGISTERS.format("load-live17-maxnreg31"), REGISTERS.format("load-live19-maxnreg33")
    ),
    "fma-31-33": change(REGISTERS.format("fma-live23-maxnreg31"), REGISTERS.format("fma-live25-maxnreg33")),
    "occupancy-31": occupancy(REGISTERS.format("load-live17-maxnreg31")),
    "occupancy-33": occupancy(REGISTERS.format("load-live19-maxnreg33")),
    "spill-idle-bytes": spills(best("spilling", IDLE_SPILLS)),
    "spill-idle-gain": ratio(
        best("spilling", IDLE_SPILLS),
        best("spilling", f"{IDLE_SPILLS} and register_route == 'free'"),
        form="{:.2f} times",
    ),
    "roulette-stencil-gain": change(
        STENCIL, best("launch_bounds_roulette", "ceiling_kind == 'dram'"), form="{:.0f} %"
    ),
    # Blocks.
    "barrier-b32": cell("barriers.barriers.sync-fma1.b32.r32", "cycles_per_iteration", "{:.0f} cycles"),
    "barrier-b512": cell("barriers.barriers.sync-fma1.b512.r2", "cycles_per_iteration", "{:.0f} cycles"),
    "barrier-constant-blocks": cell("barriers.barriers.exchange.b32", "blocks_per_sm", "{:.0f}"),
    "barrier-runtime-blocks": cell("barriers.barriers.named-runtime.b32", "blocks_per_sm", "{:.0f}"),
    "barrier-runtime-slower": ratio(
        "barriers.barriers.exchange.b32", "barriers.barriers.named-runtime.b32", form="{:.1f}"
    ),
    **{
        f"diverge-{lanes}": ratio(
            "divergence.divergence.split-lane-0.b128.r16",
            f"divergence.divergence.split-lane-{lanes}.b128.r16",
        )
        for lanes in (1, 16)
    },
    # Caches, shared memory, tensor cores.
    "lds-best-warps": warps(LDS),
    "lds-64w": share("shared_latency.shared_latency.read-ilp1-conflict1.b128.r16", LDS, digits=0),
    "constant-64w": share(
        "constant_memory.mri.constant-points1.b128.r16",
        "constant_memory.mri.constant-points1.b128.r4",
        digits=0,
    ),
    "tensor-4w": share(best("tensor_core", "warps_per_sm == 4"), best("tensor_core"), digits=0),
    # The model on kernels it had not seen.
    "frozen-mean-but-mri": frozen_figure("{:.1f} %", lambda rows: mean_of(rows_without_mri(rows))),
    "frozen-families-but-mri": frozen_figure("{:.0f}", lambda rows: len(rows_without_mri(rows))),
    "frozen-families": frozen_figure("{:.0f}", len),
    "frozen-kept": frozen_figure("{:.0f}", lambda rows: sum(map(meets_aims, rows))),
    "frozen-mean": frozen_figure("{:.1f} %", mean_of),
    # The changes in docs/whatif.md, measured.
    "whatif-block-32": ratio(PROFILED, "block_size_pick.intensity.ilp1-fma16.b32"),
    "whatif-block-256": ratio(PROFILED, "block_size_pick.intensity.ilp1-fma16.b256"),
    "whatif-smem": ratio(PROFILED, "intensity.intensity.ilp1-fma16.b128.r4"),
    "frozen-worst": frozen_figure("{:.0f} %", lambda rows: max(abs(last_number(row[4])) for row in rows)),
}


CHINESE = {" resident warps": " 个驻留线程束", " warps": " 个线程束"}


def chinese_figure(name: str) -> str:
    """figure() on a page of docs/zh. Raises DocsError."""
    text = figure(name)
    for unit, words in CHINESE.items():
        text = text.removesuffix(unit) + words * text.endswith(unit)
    return text


def figure(name: str) -> str:
    """The text of one figure: NAME of the default GPU's run, NAME@GPU of another's. Raises DocsError."""
    short, _, gpu = name.partition("@")
    if short not in FIGURES:
        raise DocsError(f"no figure '{short}' in tools/occbench_docs/figures.py")
    try:
        return FIGURES[short](run_of(gpu))
    except (DocsError, KeyError, ValueError) as error:
        raise DocsError(f"figure '{name}': {error}") from error
