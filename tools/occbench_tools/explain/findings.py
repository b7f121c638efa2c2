# SPDX-License-Identifier: Apache-2.0
"""What the rows of any experiment say, by its own description and the columns alone.

The best, the least of the dial that comes near it, what each other dial is worth, what caps on registers do,
the cliffs along the dial, where more warps cost, and what the model missed. Effects carry their size: the
logarithm of a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from occbench_tools.analysis import alone, best, cycles
from occbench_tools.curves import ASKED, Line, Table, curved, described, lines
from occbench_tools.explain.phrases import (
    NEAR,
    NOTHING,
    amount,
    at,
    change,
    name_of,
    several,
    span,
    span_of,
    speed,
    within,
)

Effects = Iterator[tuple[float, str]]  # size and clause

WARPS = ("warps_per_sm", "occupancy_theoretical")  # dials that are residency itself
DEEP = 0.03  # least loss (fraction) that is a cliff, or a cost of more warps
WORTH = 0.02  # least effect of another dial
FAR = 0.1  # error of the model (fraction) that is a miss
EACH = 3  # clauses of one kind, at most
CAPS = ("register_route", "register_cap")
USED = {
    *ASKED, "family", "variant", "curve", "baseline", "rate", "unit", "throughput", "throughput_predicted",
    "percent_of_ceiling", "ceiling_kind", "warps_per_sm", "occupancy_theoretical", "blocks_per_sm",
    "registers_per_thread", "local_bytes", "cycles_per_iteration", "own_cycles_per_iteration", "sm_clock_hz",
}  # fmt: skip


class Findings(NamedTuple):
    """What there is to say of one experiment, and the size of its largest effect: 0 where none has a size."""

    clauses: list[str]
    effect: float


def findings(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Findings:
    """All clauses on the scaled rows of one experiment: what suffices, the best, then effects by size."""
    it = described(env, experiment)
    rows = rows[[name for name in rows if name in USED or name == it["dial"] or name in it["split_by"]]]
    found = curved(list(lines(rows, it)), it["dial"])
    always = [*clock(rows), *missed(rows, env, it)]
    if it["scale"] == "cycles":
        return Findings([*latencies(rows), *always], 0)
    near, best_ = list(suffices(found, it)), list(fastest(rows, found, it))
    of_caps = list(caps(rows, it))
    effects = [*worth(rows, it), *of_caps, *baselines(rows, it)]
    effects += [*cliffs(found, it), *holds(found, it), *dearer(found, it)]
    own = by_size(effects)
    if it["compares_kernels"]:
        clauses = dict.fromkeys([*by_size(of_caps), *own, *keeps(found, it), *near, *best_])
    elif it["scale"] == "best":
        clauses = [*keeps(found, it), *own, *near, *best_]
    else:
        first = near[:1] or own[:1]
        clauses = dict.fromkeys([*first, *best_[:1], *own, *near, *best_])
    return Findings([*clauses, *always], float(max((size for size, _ in effects), default=0)))


def by_size(effects: list[tuple[float, str]]) -> list[str]:
    """The clauses alone, the largest effect first."""
    return [words for _, words in sorted(effects, key=lambda each: -each[0])]


def fastest(rows: pd.DataFrame, found: list[Line], it: dict[str, Any]) -> Iterator[str]:
    """The best rate in each unit that has a curve, where it is reached and by what."""
    units = {line.first("unit") for line in found} or set(rows["unit"])
    parts = [part for unit, part in rows.groupby("unit") if unit in units]
    for part in sorted(parts, key=lambda part: -len(part)):
        top = best(part)
        where = at("occupancy_theoretical", top["occupancy_theoretical"])
        if it["dial"] != "occupancy_theoretical" and pd.notna(top.get(it["dial"])):
            where = at(it["dial"], top[it["dial"]]) + ("" if it["dial"] in WARPS else f", {where}")
        of = ""
        if top.get("percent_of_ceiling", np.nan) > 0:
            of = f" ({top['percent_of_ceiling']:.0f} % of the {kind(top)} ceiling)"
        yield f"fastest is `{top['curve']}` with {where}: {speed(top)}{of}"


def kind(row: pd.Series) -> str:
    """'DRAM', 'FP32', 'shared memory'"""
    name = str(row["ceiling_kind"]).replace("_", " ")
    return name.upper() if len(name) < 5 else name


def groups(found: list[Line]) -> Iterator[list[Line]]:
    """Lines whose rates may be held against each other: of one family, form and unit; the fastest first.

    Without those whose registers are capped, unless all are.
    """
    by: dict[tuple[object, ...], list[Line]] = {}
    for line in [line for line in found if line.free] or found:
        by.setdefault((line.family, line.first("form") or "", line.first("unit")), []).append(line)
    yield from sorted(by.values(), key=lambda some: -max(top(line) for line in some))


def top(line: Line) -> float:
    """Its best rate."""
    return max(line.cells("rate"))


def at_last(line: Line) -> float:
    """Its rate at the largest value of the dial."""
    return line.cells("rate")[-1]


def suffices(found: list[Line], it: dict[str, Any]) -> Iterator[str]:
    """The least of the dial that comes to NEAR of the best, by the line that takes least and by others."""
    dial = it["dial"]
    for some in groups(found):
        peak = max(some, key=top)
        if at_last(peak) < peak.first("rate"):
            continue  # it falls along the dial: holds()
        level = NEAR * top(peak)
        need = sorted(((reached(line, dial, level), line) for line in some), key=lambda each: each[0])
        enough = [each for each in need if each[0] < np.inf]
        (few, first), (most, last) = enough[0], enough[-1]
        words = f"{100 * NEAR:.0f} % of {speed(best(peak.rows))} takes {at(dial, few)} with {name_of(first)}"
        more = f", {amount(dial, most)} with {name_of(last)}" if most > few else ""
        low = min((line for _, line in need[len(enough) :]), key=top, default=None)
        told = None if more else first  # the last line named
        short = f"; {name_of(low, told)} comes to {100 * top(low) / top(peak):.0f} %" if low else ""
        yield within(words, more, short)


def holds(found: list[Line], it: dict[str, Any]) -> Effects:
    """Of lines that fall along the dial: how far the one that falls most keeps NEAR of its best."""
    dial = it["dial"]
    for some in groups(found) if dial not in WARPS else ():
        line = min(some, key=lambda line: at_last(line) / top(line))
        share = at_last(line) / top(line)
        if share < NEAR:
            near = max(there(line, dial, NEAR * top(line)))
            yield (
                -np.log(share),
                f"{name_of(line)} keeps {100 * NEAR:.0f} % of its best up to {at(dial, near)}, and "
                f"{100 * share:.0f} % with {amount(dial, line.cells(dial)[-1])}",
            )


def there(line: Line, dial: str, level: float) -> list[float]:
    """The values of the dial at which the line has that rate."""
    return [value for value, rate in zip(line.cells(dial), line.cells("rate"), strict=True) if rate >= level]


def reached(line: Line, dial: str, level: float) -> float:
    """The least value of the dial at which the line has that rate; infinite where it never has."""
    return min(there(line, dial, level), default=np.inf)


def keeps(found: list[Line], it: dict[str, Any]) -> Iterator[str]:
    """What the worst value of the dial leaves of each line's best: of the line that loses most, and least."""
    dial = it["dial"]
    worst = sorted((min(line.cells("rate")) / top(line), place) for place, line in enumerate(found))
    for share, place in worst[:1] + worst[1:][-1:]:
        if share > 1 - NOTHING:
            yield f"{name_of(found[place])} changes by less than {100 * NOTHING:g} % along the dial"
            continue
        low = found[place].rows.loc[found[place].rows["rate"].idxmin()]
        yield (
            f"{name_of(found[place])} keeps {100 * share:.0f} % of its best at its worst, with "
            f"{at(dial, low[dial])} ({at('occupancy_theoretical', low['occupancy_theoretical'])})"
        )


def cliffs(found: list[Line], it: dict[str, Any]) -> Effects:
    """The deepest loss between neighbours on each curve, with what becomes of residency and of spills.

    Not along residency itself: there more warps that cost are dearer()'s.
    """
    dial = it["dial"]
    deepest: dict[str, tuple[float, str]] = {}
    for line in found if dial not in WARPS else []:
        columns = ("rate", "blocks_per_sm", "local_bytes", dial)
        rows = zip(*map(line.cells, columns), strict=True)
        for before, after in pairwise(dict(zip(columns, row, strict=True)) for row in rows):
            loss = 1 - after["rate"] / before["rate"]
            if loss >= DEEP and loss > deepest.get(line.curve, (0, ""))[0]:
                blocks = [f"{row['blocks_per_sm']:.0f}" for row in (before, after)]
                why = [f"{blocks[0]} to {blocks[1]} blocks per SM"] * (blocks[0] != blocks[1])
                spills = [row["local_bytes"] for row in (before, after)]
                why += [f"{spills[1]:.0f} B spilled"] * (spills[1] > spills[0])
                where = span_of(dial, before[dial], after[dial])
                words = f"{name_of(line)} loses {100 * loss:.1f} % from {where}"
                deepest[line.curve] = loss, words + f" ({', '.join(why)})" * bool(why)
    for loss, words in sorted(deepest.values(), reverse=True)[:EACH]:
        yield -np.log1p(-loss), words


def dearer(found: list[Line], it: dict[str, Any]) -> Effects:
    """Where more warps cost: the line that loses most of its best at its most warps."""
    dial = it["dial"]
    losses = [(1 - at_last(line) / top(line), line) for line in found] if dial in WARPS else []
    over = [each for each in losses if each[0] >= DEEP]
    if over:
        loss, line = max(over, key=lambda each: each[0])
        values = line.cells(dial)
        peak = values[line.cells("rate").index(top(line))]
        yield (
            -np.log1p(-loss),
            f"{name_of(line)} is fastest with {at(dial, peak)}; {amount(dial, values[-1])} cost it "
            f"{100 * loss:.1f} %",
        )
        if len(over) > 1:
            yield -np.log1p(-DEEP), f"more warps cost in {len(over)} of {len(losses)} curves"


def worth(rows: pd.DataFrame, it: dict[str, Any]) -> Effects:
    """What the largest value of each other dial is worth against the smallest, all else being equal.

    Forms that have a baseline are held against that alone, and caps on registers against none.
    """
    dial = it["dial"]
    rows = rows[rows["register_route"] == "free"] if dial in WARPS else rows
    names = [
        name for name in dict.fromkeys([*ASKED, *it["split_by"]])
        if name != dial and name in rows and rows[name].nunique(dropna=False) > 1
    ]  # fmt: skip
    table = Table(rows)
    based = set(rows.loc[rows["baseline"].notna(), "family"])
    for name in names:
        if name in CAPS or name in it["split_by"]:
            continue
        places = range(len(rows))
        if name == "form":
            places = [place for place, family in enumerate(table.column("family")) if family not in based]
        key = ["family", "unit", *(other for other in names if other != name)]
        groups_ = table.grouped(key, places).values()
        effects = [effect for some in groups_ for effect in effect_of(table, some, name, dial)]
        if effects:
            size, words, curve = max(effects)
            yield size, words + f" (`{curve}`)" * (len(effects) > 1)


def effect_of(table: Table, places: list[int], name: str, dial: str) -> Iterator[tuple[float, str, str]]:
    """Size, words and curve of what the largest value of a column does against the smallest: at most one.

    'ILP 8 instead of 1: 5.00 x with 8 warps per SM, 1.25 x with 64'.
    """
    by = table.grouped([name], places)
    ends = sorted(value for (value,) in by if value is not None)
    if len(ends) < 2:
        return
    low, high = (fastest_at(table, by[end,], dial) for end in (ends[0], ends[-1]))
    shared = sorted(low.keys() & high.keys())
    with np.errstate(all="ignore"):  # of rates that no double can divide
        ratio = np.array([high[value] for value in shared]) / np.array([low[value] for value in shared])
        if not shared or (size := float(np.abs(np.log(ratio)).max())) < WORTH:
            return
    than = at(name, ends[0]) if name == "form" else amount(name, ends[0])
    words = f"{at(name, ends[-1])} instead of {than}: {ratio[0]:.2f} x with {at(dial, shared[0])}"
    words += f", {ratio[-1]:.2f} x with {amount(dial, shared[-1])}" if len(shared) > 1 else ""
    yield size, words, table.column("curve")[by[ends[-1],][0]]


def fastest_at(table: Table, places: list[int], dial: str) -> dict[float, float]:
    """The best rate at each value of the dial."""
    rates = table.column("rate")
    return {
        value: max(rates[place] for place in some)
        for (value,), some in table.grouped([dial], places).items()
        if value is not None
    }


def caps(rows: pd.DataFrame, it: dict[str, Any]) -> Effects:
    """What caps on registers make of the compiler's own choice: the best of each curve, and the dearest."""
    loose = {it["dial"], *CAPS, "form", "barriers", "block_size"}
    key = ["family", "curve", "unit", *(name for name in ASKED if name in rows and name not in loose)]
    table = Table(rows)
    route, rate = table.column("register_route"), table.column("rate")

    def best_of(places: list[int]) -> pd.Series:
        return rows.iloc[max(places, key=rate.__getitem__)]

    made: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for (family, curve, *_), part in table.grouped(key, range(len(rows))).items():
        free = [place for place in part if route[place] == "free"]
        for asked, line in table.grouped(CAPS, part).items() if free else ():
            if None not in asked and asked[0] != "free":
                made.setdefault((family, curve), []).append(capped(best_of(line), best_of(free)))
    each = sorted((max(some) for some in made.values()), reverse=True)
    for ratio, words in each[:EACH]:
        yield abs(np.log(ratio)), words
    worst = min((min(some) for some in made.values()), default=None)
    if worst and worst not in each:
        yield 0, worst[1]  # that a cap may be too tight is the least news


def capped(row: pd.Series, usual: pd.Series) -> tuple[float, str]:
    """The best of a cap over the best without, and in words."""
    ratio = row["rate"] / usual["rate"]
    spilled = f", {row['local_bytes']:.0f} B spilled" if row["local_bytes"] > 0 else ""
    registers = f"{row['registers_per_thread']:.0f} registers instead of {usual['registers_per_thread']:.0f}"
    return ratio, f"`{row['curve']}` capped at {registers}{spilled}: {change(ratio, 1)} at best"


def baselines(rows: pd.DataFrame, it: dict[str, Any]) -> Effects:
    """How much longer a loop iteration takes than the baseline's at as many warps: of each form, at most."""
    dial = it["dial"]
    if not (rows["baseline"].notna() & (rows["baseline"] != rows["variant"])).any():
        return
    rows = rows.assign(cycles=cycles(rows))
    rows = rows.assign(ratio=rows["cycles"] / alone(rows, "cycles"))
    named = rows[rows["ratio"].notna() & (rows["baseline"] != rows["variant"])]
    for _, part in named.groupby(["family", "form"], dropna=False):
        row = part.loc[np.log(part["ratio"]).abs().idxmax()]
        most = "up to " if row["ratio"] > 1 else "as little as "
        where = [at(dial, row[dial])] * (dial != "warps_per_sm" and pd.notna(row[dial]))
        where.append(at("warps_per_sm", row["warps_per_sm"]))
        yield (
            abs(np.log(row["ratio"])),
            f"`{row['variant']}` takes {most * (len(part) > 1)}{row['ratio']:.2f} x the time of "
            f"`{row['baseline']}` ({', '.join(where)})",
        )


def latencies(rows: pd.DataFrame) -> Iterator[str]:
    """Cycles of a loop iteration: of each curve without a baseline the least and the most."""
    plain = cycles(rows[rows["baseline"].isna()])
    told = sorted((part.min(), f"{span(part)} in `{curve}`") for curve, part in plain.groupby(rows["curve"]))
    if told:
        yield within(f"cycles of a loop iteration: {told[0][1]}", *(f", {words}" for _, words in told[1:]))


def clock(rows: pd.DataFrame) -> Iterator[str]:
    """Whether the SM clock moved from case to case: rates then compare clocks as well."""
    ghz = rows["sm_clock_hz"] / 1e9
    if ghz.min() < (1 - DEEP) * ghz.max():
        yield f"the SM clock moved between {ghz.min():.2f} and {ghz.max():.2f} GHz"


def missed(rows: pd.DataFrame, env: dict[str, Any], it: dict[str, Any]) -> Iterator[str]:
    """Where the model's word was far from what was measured."""
    if env.get("source") == "model" or it["outside_model"]:
        return
    said = rows["throughput_predicted"].where(rows["throughput_predicted"] > 0)
    error = (said / rows["throughput"] - 1).dropna()
    far = error[error.abs() > FAR]
    if far.empty:
        return
    worst = rows.loc[far.abs().idxmax()]
    where = f" with {at(it['dial'], worst[it['dial']])}" if pd.notna(worst[it["dial"]]) else ""
    yield (
        f"the model is over {100 * FAR:.0f} % off in {len(far)} of {several(len(error), 'case')}, most in "
        f"`{worst['curve']}`{where}: {100 * far[far.abs().idxmax()]:+.0f} %"
    )
