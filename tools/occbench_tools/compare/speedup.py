# SPDX-License-Identifier: Apache-2.0
"""Runs of different devices compared: the speed-up comes first, then all differences."""

import numpy as np
import pandas as pd

from occbench_tools.compare import opening, show
from occbench_tools.compare.align import align
from occbench_tools.compare.comparison import Comparison, names_of
from occbench_tools.compare.digest import (
    JUDGED,
    NAME,
    chance,
    count_text,
    gpu,
    hidden_text,
    largest_changes,
    notes,
    outcome,
)  # fmt: skip
from occbench_tools.compare.environment import DIFFERENT
from occbench_tools.compare.show import Section
from occbench_tools.compare.verdicts import FASTER, SAME, SLOWER
from occbench_tools.devices import speedup
from occbench_tools.folder import Folder
from occbench_tools.screen import LINES, align_columns, elide, join_parts, wrap

ROWS = 4  # of curves on the screen
LISTED = 6  # cases on the screen
MATRIX = 6  # runs of a matrix on the screen
TIMED = "timed"  # form of the chains that one thread times: one number per kind of memory


def is_upgrade(one: Comparison) -> bool:
    """Whether it compares two devices by the seconds that a user waits, both measured or both of a model."""
    return (
        one.relation == DIFFERENT and one.by == "time" and one.base.is_modelled == one.candidate.is_modelled
    )


def rows_of(one: Comparison) -> pd.DataFrame:
    """speedup.pairs_of() of the two runs."""
    return speedup.pairs_of(one.base.valid, one.candidate.valid, one.cases)


def times_text(value: float) -> str:
    """'1.07' for a speed-up; empty for NaN."""
    return "" if pd.isna(value) else f"{value:.2f}"


def range_text(row: pd.Series) -> str:
    """'1.02-1.39'"""
    return f"{times_text(row['low'])}-{times_text(row['high'])}" if row["count"] > 1 else ""


def devices(one: Comparison) -> tuple[str, str]:
    """The new device and the old one; their runs too, where the names do not tell them apart."""
    runs = (one.candidate, one.base)
    names = [gpu(run) for run in runs]
    if names[0] == names[1]:
        paths = names_of([run.path for run in runs])
        names = [f"{name} ({elide(path, NAME)})" for name, path in zip(names, paths, strict=True)]
    return names[0], names[1]


def headline(one: Comparison, rows: pd.DataFrame) -> list[str]:
    """The speed-up, then how many cases are faster and slower by more than chance."""
    new, old = devices(one)
    count, median, low, high = speedup.spread(rows["speedup"])
    if not count:
        return [f"{new} against {old}: no case counts its work alike in both."]
    counts = [f"{one.verdicts.get(name, 0):,} {name}" for name in (JUDGED[0], JUDGED[1], SAME, JUDGED[2])]
    return [
        f"{new} against {old}: {times_text(low)} to {times_text(high)} times as fast "
        f"(90 % of {count_text(count, 'case')}); median {times_text(median)}.",
        f"{', '.join(counts)}: in seconds, by more than {chance(one)}.",
    ]


def law_rows(rows: pd.DataFrame) -> list[list[str]]:
    """The bands of DRAM, the only ceiling whose share predicts the gain by another DRAM."""
    table = speedup.law(rows)
    table = table[table["kind"] == "DRAM"]
    if table.empty:
        return []
    body = [[f"{row['from']}-{row['to']} %", f"{row['count']:,}", times_text(row["median"]), range_text(row)]
            for _, row in table.iterrows()]  # fmt: skip
    return [["DRAM used", "cases", "median", "90 %"], *body]


def bound_rows(rows: pd.DataFrame) -> list[list[str]]:
    """Speed-ups by the cases' bound on the old device."""
    body = [
        [row["bound"], f"{row['count']:,}", times_text(row["median"]), range_text(row)]
        for _, row in speedup.by_bound(rows).iterrows()
    ]
    return [["bound by", "cases", "median", "90 %"], *body] if body else []


def place_side_by_side(left: list[str], right: list[str], width: int) -> list[str]:
    """Two tables side by side where they fit, else one below the other."""
    room = max(map(len, left), default=0) + 4
    if not left or room + max(map(len, right), default=0) > width:
        return [*left, *right]
    lines = max(len(left), len(right))
    padded = ([*lines_of, *[""] * (lines - len(lines_of))] for lines_of in (left, right))
    return [f"{a.ljust(room)}{b}".rstrip() for a, b in zip(*padded, strict=True)]


def curve_rows(one: Comparison, rows: pd.DataFrame) -> list[list[str]]:
    """Per experiment the speed-up at both ends of its dial, and where its curves diverge."""
    head = ["experiment", "median", "over its dial", "from", "to", "curves part", "at"]
    body = []
    for _, row in speedup.curves(rows, one.base.env["experiments"]).iterrows():
        parts = f"{row['diverging']} of {row['curves']}" if row["curves"] else ""
        at = f"{row['diverges_at']:g}" if pd.notna(row["diverges_at"]) else ""
        dial = f"{row['dial']} {row['first']:g} to {row['last']:g}" if pd.notna(row["first"]) else row["dial"]
        body.append([row["experiment"], times_text(row["median"]), dial, times_text(row["at_first"]),
                     times_text(row["at_last"]), parts, at])  # fmt: skip
    return [head, *body]


def latency_words(rows: pd.DataFrame) -> list[str]:
    """'l2-timed 276 -> 283', of the chains that one thread times."""
    timed = rows[rows["form"] == TIMED] if "form" in rows else rows[:0]
    return [
        f"{row['variant']} {row['cycles']:.0f} -> {row['new_cycles']:.0f}"
        for _, row in speedup.latencies(timed).iterrows()
    ]


def screen(one: Comparison, width: int) -> list[str]:
    """The whole screen: speed-up by share of the old device, where curves diverge, and the environment."""
    rows = rows_of(one)
    lines = wrap(" ".join([*headline(one, rows), opening.sentence(one)]), width)
    tables = [align_columns(table, width, 0) for table in (law_rows(rows), bound_rows(rows))]
    lines += ["", *place_side_by_side(*tables, width)]
    last = [*outcome(one, width, names=1), *notes(one, width)]
    if latencies := latency_words(rows):
        last = [*wrap(f"Latency, cycles: {join_parts(latencies, 2 * width - 25)}.", width), *last]
    room = LINES - len(lines) - len(last) - 3
    parting = curve_rows(one, rows)[: max(0, min(ROWS, room - 1)) + 1]
    if room > 2 and len(parting) > 1:
        lines += ["", *align_columns(parting, width, 2, left=(0,))]
    lines += ["", *last]
    cases = largest_changes([one], min(LISTED, LINES - len(lines) - 2), width)
    return [*lines, *([""] if cases else []), *cases, hidden_text([one], len(cases))]


def sections(one: Comparison, everything: bool) -> list[Section]:
    """All tables; the environment, which two devices never share, comes last."""
    rows = rows_of(one)
    mark = " (MODEL, not measured)" if one.is_modelled else ""
    lines = headline(one, rows)
    environment, total, cases, *rest = show.sections(one, everything)
    parts = [Section(f"Speed-up{mark}", lines, bound_rows(rows))]
    parts.append(Section(f"Speed-up over the share of the old device's ceiling{mark}", [], every_law(rows)))
    explanation = "A curve parts where its speed-up leaves that of its lowest dial value by "
    explanation += f"{100 * speedup.DIVERGENCE:g} % for good; median over its curves."
    parts.append(Section("Speed-up over the dial of each experiment", [explanation], curve_rows(one, rows)))
    if len(chains := latency_rows(rows)) > 1:
        parts.append(Section("Latencies side by side: one thread, one chain", [], chains))
    kinds = ("gpu.", "cuda_toolkit", "git_commit", "preset", "benchmark_filter")
    changes = one.environment[one.environment["field"].str.startswith(kinds)]
    environment.table = show.grid(changes) if len(changes) else []
    return [*parts, total, *rest, cases, environment]


def every_law(rows: pd.DataFrame) -> list[list[str]]:
    """All kinds of ceiling, band by band."""
    body = [
        [
            row["kind"],
            f"{row['from']}-{row['to']} %",
            f"{row['count']:,}",
            times_text(row["median"]),
            range_text(row),
        ]
        for _, row in speedup.law(rows).iterrows()
    ]
    return [["ceiling", "share used", "cases", "median", "90 %"], *body]


def latency_rows(rows: pd.DataFrame) -> list[list[str]]:
    head = ["experiment", "kernel", "cycles, old", "new", "ns, old", "new"]
    return [head, *(
        [row["experiment"], row["variant"], *(f"{row[name]:.1f}" for name in
                                              ("cycles", "new_cycles", "ns", "new_ns"))]
        for _, row in speedup.latencies(rows).iterrows()
    )]  # fmt: skip


def speedups(runs: list[Folder]) -> list[list[tuple[int, float, float, float]]]:
    """speedup.spread() of each run (row) against each (column), of the cases that both have."""
    found = [[(0, 1.0, 1.0, 1.0)] * len(runs) for _ in runs]
    for i, new in enumerate(runs):
        for k, old in enumerate(runs[:i]):
            pairs, _ = align(old.valid, new.valid, False)
            cases = speedup.pairs_of(old.valid, new.valid, pairs)
            count, median, low, high = speedup.spread(cases["speedup"])
            found[i][k] = count, median, low, high
            found[k][i] = count, 1 / median, 1 / high, 1 / low
    return found


def labels(runs: list[Folder]) -> list[str]:
    """A short, unique name for each run."""
    names = [gpu(run).removeprefix("NVIDIA ") for run in runs]
    return [name if names.count(name) == 1 else f"{name} #{names[: i + 1].count(name)}"
            for i, name in enumerate(names)]  # fmt: skip


def matrix(runs: list[Folder]) -> Section:
    """The whole matrix, with the spread; BASE is 0."""
    head = ["", "device", *(f"against {i}" for i in range(len(runs)))]
    rows = [
        [f"{i}", name, *(f"{times_text(median)} {times_text(low)}-{times_text(high)}" * (i != k)
                         for k, (_, median, low, high) in enumerate(row))]
        for i, (name, row) in enumerate(zip(labels(runs), speedups(runs), strict=True))
    ]  # fmt: skip
    lines = ["Row over column: median of the cases, and the range of 90 % of them."]
    return Section("Times as fast", lines, [head, *rows])


def screen_of_several(found: list[Comparison], width: int) -> list[str]:
    """The whole screen of several devices: a matrix of medians, and the verdicts against BASE."""
    bests = [speedup.spread(rows_of(one)["speedup"])[1] if is_upgrade(one) else 0.0 for one in found]
    place = int(np.argmax(np.nan_to_num(bests)))
    new, old = devices(found[place])
    head = f"{len(found) + 1} runs: {new} is fastest, "
    head += f"{times_text(bests[place])} times as fast as {old} (median)."
    runs = [found[0].base, *(one.candidate for one in found)][:MATRIX]
    counts = [["", "", ""], *([f"{one.verdicts.get(name, 0):,}" for name in (FASTER, SLOWER, SAME)]
                              for one in found)]  # fmt: skip
    rows = [["", "device", *(f"vs {i}" for i in range(len(runs))), "faster", "slower", "same"]]
    for i, (name, row) in enumerate(zip(labels(runs), speedups(runs), strict=True)):
        rows.append([f"{i}", name, *(times_text(median) for _, median, _, _ in row), *counts[i]])
    lines = [*wrap(head, width), "", *align_columns(rows, width, 1)]
    if len(found) + 1 > len(runs):
        lines.append(f"{count_text(len(found) + 1 - len(runs), 'more run')}: --verbose")
    lines += wrap("Times as fast, median of the cases: row over column. Verdicts: compared with 0.", width)
    lines.append("")
    cases = largest_changes(found, LINES - len(lines) - 1, width, numbered=True)
    return [*lines, *cases, hidden_text(found, len(cases))]
