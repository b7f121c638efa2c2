# SPDX-License-Identifier: Apache-2.0
"""A comparison on one screen: a verdict in one sentence, a table, and the cases that changed most.

Figures are changes of the compared quantity: the time (at one SM clock, unless asked otherwise) or SM cycles
of a unit of work (+ costs more), or the share of a device's own ceiling (+ is nearer to it; work per SM cycle
where no ceiling is shared).
"""

import re

import numpy as np
import pandas as pd

from occbench_tools.compare import opening
from occbench_tools.compare.comparison import Comparison, names_of
from occbench_tools.compare.environment import DIFFERENT, OF_RELATION, SAME_DEVICE, SAME_KIND
from occbench_tools.compare.verdicts import AMBIGUOUS, FASTER, SAME, SLOWER, default_threshold
from occbench_tools.folder import Folder, gpu_name
from occbench_tools.screen import LINES, align_columns, digits, elide, join_parts, wrap

CASES, ROWS, NOTES = 10, 5, 3  # most cases, rows of experiments, and lines of notes
CLIFFS = 3  # most cliffs that are named, those of the largest drop
NAME = 32  # columns of a run's name in a sentence
# The words for FASTER and SLOWER in each quantity.
WORDS = {
    "reference": ("faster", "slower"),
    "time": ("faster", "slower"),
    "cycles": ("fewer", "more"),
    "ceiling": ("nearer", "further"),
}
MIXED = ("better", "worse")  # of several quantities
LEGEND = {
    "reference": "Changes are of the time of a unit of work at one SM clock: + takes longer.",
    "time": "Changes are of the time of a unit of work: + takes longer.",
    "cycles": "Changes are of the SM cycles of a unit of work: + takes more.",
    "ceiling": "Changes are of the share of the device's own ceiling: + is nearer to it.",
    "mixed": "Changes are of the share of the own ceiling (or work per SM cycle): + is better.",
}
JUDGED = (FASTER, SLOWER, AMBIGUOUS)
STYLES = {"unsure": "yellow"} | {
    name: colour
    for pair in (*WORDS.values(), MIXED)
    for name, colour in zip(pair, ("green", "red"), strict=True)
}
CHANCE = {SAME_DEVICE: "on one card", SAME_KIND: "between two cards", DIFFERENT: "between two devices"}


def count_text(number: int, one: str) -> str:
    return f"{number:,} {one}" + "s" * (number != 1)


def figures(one: Comparison) -> pd.Series:
    """Change of each case in the quantity that decides (fraction)."""
    change = one.cases["change"]
    return 1 / (1 + change) - 1 if one.by == "ceiling" else change


def without_ceiling(one: Comparison) -> int:
    """Cases that are judged by SM cycles, as the two sides share no ceiling."""
    return int((one.cases["by"] != one.by).sum())


def words_of(one: Comparison) -> tuple[str, str]:
    """The words for FASTER and SLOWER."""
    return MIXED if without_ceiling(one) else WORDS[one.by]


def quantity(one: Comparison) -> str:
    """The compared quantity, for the verdict."""
    if one.by != "ceiling":
        return {"reference": "time", "time": "time", "cycles": "SM cycles"}[one.by]
    return "share of their own ceiling" + (" or in SM cycles" if without_ceiling(one) else "")


def legend(found: list[Comparison]) -> list[str]:
    """A sentence for each quantity that explains its figures."""
    return list(dict.fromkeys(LEGEND["mixed" if without_ceiling(one) else one.by] for one in found))


def signed_percent(value: float) -> str:
    """'+4.2 %'; empty for NaN."""
    if pd.isna(value):
        return ""
    size = digits(abs(value))
    return size if size == "0.0 %" else ("+" if value > 0 else "-") + size


def gpu(run: Folder) -> str:
    """A GPU's name; for a model 'model of H200'."""
    name = gpu_name(run.env)
    if run.is_modelled and not name.startswith("model of "):
        name = f"model of {name}"
    return elide(name, NAME)


def runs_text(one: Comparison) -> str:
    """The names of the two compared runs."""
    base, name = names_of([one.base.path, one.candidate.path])
    base, name = elide(base, NAME), elide(name, NAME)
    if one.base.path.resolve() == one.candidate.path.resolve():
        return f"{name} against itself"
    if one.is_modelled:
        kinds = [gpu(run) + ", measured" * (not run.is_modelled) for run in (one.candidate, one.base)]
        return f"{name} ({kinds[0]}) against {base} ({kinds[1]})"
    if one.relation == DIFFERENT:  # the devices tell the runs apart, whatever their folders are called
        runs = [f"{gpu(run)} ({elide(run.path.resolve().name, NAME)})" for run in (one.candidate, one.base)]
        return " against ".join(runs)
    card = "the same card" if one.relation == SAME_DEVICE else f"another {gpu(one.candidate)}"
    return f"{name} against {base}, {card}"


def chance(one: Comparison) -> str:
    """The limit that a change must exceed to count."""
    limit = f"{100 * one.threshold:g} %"
    if one.threshold != default_threshold(one.relation, one.is_modelled):
        return f"the {limit} asked for"
    if one.is_modelled:
        return f"the {limit} that the model leaves to chance"
    return f"chance ({limit} {CHANCE[one.relation]})"


def verdict(one: Comparison) -> str:
    """One sentence: the runs, the number of cases, how many differ, by how much, and beyond which limit."""
    counts = one.verdicts
    total, better, worse, unsure = len(one.cases), *(counts.get(v, 0) for v in JUDGED)
    changed = one.cases["verdict"].isin([FASTER, SLOWER])
    number = better + worse
    if unsure == total:
        reasons = one.cases["note"].mode()
        return f"{runs_text(one)}: none of {count_text(total, 'case')} is decided ({', '.join(reasons)})."
    compared = f"{runs_text(one)}: of {count_text(total, 'case')}"
    also = f"; {unsure:,} cannot be told" if unsure else ""
    if not number:
        return f"{compared}, none differs in {quantity(one)} by more than {chance(one)}{also}."
    parts = [f"{n:,} {word}" for n, word in zip((better, worse), words_of(one), strict=True) if n]
    differ = "differs in {} by" if number == 1 else "differ in {} by up to"
    most = digits(figures(one)[changed].abs().max())
    return (
        f"{compared}, {number:,} {differ.format(quantity(one))} {most} ({', '.join(parts)}), "
        f"more than {chance(one)}{also}."
    )


def in_seconds(one: Comparison) -> list[str]:
    """A line on the seconds, where the share of a ceiling decides."""
    times = (1 / (1 + one.cases["time_change"])).dropna()
    if one.by != "ceiling" or times.empty:
        return []
    low, middle, high = (f"{value:.2f}" for value in np.quantile(times, [0.05, 0.5, 0.95]))
    most = f", 90 % of cases {low} to {high} times" if low != high else ""
    return [f"In seconds: {middle} times as fast (median){most}."]


def notes(one: Comparison, width: int) -> list[str]:
    """Other important differences between the runs: at most NOTES lines, the gravest first."""
    texts = [f"! {text}" for text in one.warnings if text not in OF_RELATION.values()]
    texts = [text for text in texts if not text.startswith("! MODEL")]  # the verdict says so
    differences = one.environment[(one.environment["means"] != "") & (one.environment["field"] != "source")]
    differences = [
        f"{row.field} {elide(row.base, 20)} -> {elide(row.candidate, 20)}"
        for row in differences.itertuples() if not any(row.means in text for text in texts)
    ]  # fmt: skip
    if differences:
        texts.append("Differs: " + join_parts(differences, width - 9))
    entries = [wrap(text, width) for text in texts]
    lines: list[str] = []
    while entries and len(lines) + len(entries[0]) <= NOTES - (len(entries) > 1):
        lines += entries.pop(0)
    return lines + [f"! More that differs ({len(entries)}): see --verbose."] * bool(entries)


def outcome(one: Comparison, width: int, names: int = CLIFFS) -> list[str]:
    """Cases without a partner, kernels with other registers, cliffs: a line each, where there are any.

    names: how many cliffs that moved, came or went are named, deepest first.
    """
    lines = []
    sides = one.unpaired["side"].value_counts()
    if len(sides):
        lines.append(f"Not compared: {', '.join(f'{n:,} only in the {side}' for side, n in sides.items())}.")
    if len(one.drift):
        lines.append(f"{count_text(len(one.drift), 'kernel')} with other registers, spills or local memory.")
    cliffs = one.cliffs["verdict"].value_counts()
    if cliffs.drop(SAME, errors="ignore").sum():
        parts = [f"{cliffs[name]:,} {word}" for name, word in
                ((SAME, "in place"), ("MOVED", "moved"), ("GONE", "gone"), ("NEW", "new"),
                 ("UNCLEAR", "unclear")) if name in cliffs]  # fmt: skip
        lines.append(f"Cliffs: {', '.join(parts)}.")
    return lines + [elide(name, width) for name in named_cliffs(one)[:names]]


def named_cliffs(one: Comparison) -> list[str]:
    """'moved: registers load-maxnreg, registers_per_thread 32 -> 33 to 40 -> 41 (drop 21 % to 19 %)', ..."""
    changed = one.cliffs[one.cliffs["verdict"].isin(["MOVED", "GONE", "NEW"])]
    deepest = changed[["base_drop", "candidate_drop"]].max(axis=1).sort_values(ascending=False, kind="stable")
    texts = []
    for row in changed.loc[deepest.index].head(CLIFFS).itertuples():
        sides = dict(GONE=["base"], NEW=["candidate"]).get(row.verdict, ["base", "candidate"])
        at = " to ".join(getattr(row, side) for side in sides)
        drop = " to ".join(digits(getattr(row, f"{side}_drop")) for side in sides)
        texts.append(f"{row.verdict.lower()}: {row.experiment} {row.kernel}, {row.dial} {at} (drop {drop})")
    return texts


def experiments(one: Comparison, width: int) -> list[str]:
    """A row for each experiment that changed, the most changed first, and one for the rest."""
    shown = figures(one)
    cases = one.cases.assign(figure=shown, size=shown.abs())

    def row(name: str, part: pd.DataFrame) -> list[str]:
        counts = part["verdict"].value_counts()
        known = part.dropna(subset="size")
        most = known.loc[known["size"].idxmax(), "figure"] if len(known) else np.nan
        counts_text = [f"{counts.get(v, 0):,}" for v in (SAME, *JUDGED)]
        return [
            name,
            f"{len(part):,}",
            *counts_text,
            signed_percent(known["figure"].median()),
            signed_percent(most),
        ]

    differ = cases["verdict"].ne(SAME).groupby(cases["experiment"]).sum()
    changed = cases["verdict"].isin([FASTER, SLOWER]).groupby(cases["experiment"]).sum()
    order = pd.DataFrame(dict(changed=changed, differ=differ)).query("differ > 0")
    order = order.sort_values(["changed", "differ"], ascending=False, kind="stable")
    first = list(order.index[:ROWS])
    rest = cases[~cases["experiment"].isin(first)]
    others = rest["experiment"].unique()
    head = ["experiment", "cases", "same", *words_of(one), "unsure", "median", "largest"]
    rows = [head, *(row(name, cases[cases["experiment"] == name]) for name in first)]
    if len(others):
        word = "other" if first else "experiment"
        rows.append(row(others[0] if len(others) == 1 else count_text(len(others), word), rest))
    return align_columns(rows, width, 0)


def largest_changes(found: list[Comparison], room: int, width: int, numbered: bool = False) -> list[str]:
    """The cases that changed most, SLOWER and FASTER alternating, then the ambiguous ones."""
    tables = [one.cases.assign(figure=figures(one), run=place) for place, one in enumerate(found, 1)]
    cases = pd.concat(tables, ignore_index=True)
    cases = cases.assign(size=cases["figure"].abs())
    far = cases["size"] >= cases["run"].map({i: one.threshold for i, one in enumerate(found, 1)})
    cases = cases[cases["verdict"].isin([FASTER, SLOWER]) | (cases["verdict"] == AMBIGUOUS) & far]
    cases = cases.sort_values("size", ascending=False, kind="stable", na_position="last")
    cases = cases.assign(turn=cases.groupby("verdict").cumcount(), unsure=cases["verdict"] == AMBIGUOUS)
    shown = cases.sort_values(["unsure", "turn", "size"], ascending=[True, True, False], kind="stable")
    shown = shown.head(max(min(room, CASES), 0))
    order = {SLOWER: 0, FASTER: 1, AMBIGUOUS: 2}
    shown = shown.sort_values("verdict", key=lambda names: names.map(order), kind="stable")
    words = {SLOWER: [], FASTER: [], AMBIGUOUS: []}
    for one in found:
        for name, word in zip((FASTER, SLOWER), words_of(one), strict=True):
            words[name].append(word)
    rows = []
    for row in shown.itertuples():
        word = "unsure" if row.verdict == AMBIGUOUS else words[row.verdict][row.run - 1]
        rows.append([word, signed_percent(row.figure), *([f"{row.run}"] * numbered), row.case_id])
    return align_columns(rows, width, 2 + numbered, left=(0,))


def hidden_text(found: list[Comparison], listed: int) -> str:
    """How many cases are not listed, and how to list them."""
    left = sum(int((one.cases["verdict"] != SAME).sum()) for one in found) - listed
    where = "--verbose, or --format csv"
    return (
        f"{count_text(left, 'more case')}, and the rest: {where}"
        if left and listed
        else f"All of it: {where}"
    )


def screen_of_pair(one: Comparison, width: int) -> list[str]:
    """The whole screen for one candidate."""
    lines = [*wrap(verdict(one), width), *in_seconds(one), *wrap(opening.sentence(one), width)]
    lines += [*notes(one, width), ""]
    lines += [*experiments(one, width), *legend([one]), *outcome(one, width), ""]
    cases = largest_changes([one], LINES - len(lines) - 1, width)
    return [*lines, *cases, hidden_text([one], len(cases))]


def screen_of_several(found: list[Comparison], outliers: list[str], width: int) -> list[str]:
    """The whole screen for several candidates: a row each."""
    changes = [one.verdicts.get(FASTER, 0) + one.verdicts.get(SLOWER, 0) for one in found]
    runs = [found[0].base, *(one.candidate for one in found)]
    names = [
        elide(name, NAME) + " (model)" * run.is_modelled
        for name, run in zip(names_of([run.path for run in runs]), runs, strict=True)
    ]
    differing = sum(n > 0 for n in changes)
    head = f"{differing or 'None'} of {len(found)} runs {'differ' if differing > 1 else 'differs'} "
    head += f"from {names[0]} by more than chance"
    if differing:
        worst = int(np.argmax(changes))
        most = found[worst]
        head += (
            f", most of all {names[1 + worst]}: {changes[worst]:,} of {count_text(len(most.cases), 'case')} "
        )
        head += f"in {quantity(most)}"
    head += "."
    named = {words_of(one) for one in found}
    better = named.pop() if len(named) == 1 else MIXED
    by = ["by"] * (len({one.by for one in found}) > 1)
    rows = [["", "run", *by, "cases", *better, "unsure", "median", "largest"]]
    kept = sorted(sorted(range(len(found)), key=lambda i: -changes[i])[:CASES])
    for i in kept:
        one, shown = found[i], figures(found[i])
        most = shown[shown.abs().idxmax()] if shown.notna().any() else np.nan
        counts = [f"{n:,}" for n in (len(one.cases), *(one.verdicts.get(v, 0) for v in JUDGED))]
        name = [names[1 + i], *([one.by] if by else [])]
        rows.append([str(i + 1), *name, *counts, signed_percent(shown.median()), signed_percent(most)])
    lines = [*wrap(head, width), "", *align_columns(rows, width, 1, left=(2,) if by else ())]
    if len(kept) < len(found):
        lines.append(f"{count_text(len(found) - len(kept), 'more run')}: --verbose")
    lines += legend(found)
    lines += [join_parts(text.split(", "), width) for text in outliers[:NOTES]]
    lines.append("")
    cases = largest_changes(found, LINES - len(lines) - 1, width, numbered=True)
    return [*lines, *cases, hidden_text(found, len(cases))]


def style(line: str) -> str:
    """The style of a line on a terminal."""
    if line.startswith("!"):
        return "bold yellow"
    first = re.match(r"(\w+) +[+-]?[\d.,]+ %", line)
    return STYLES.get(first[1], "") if first else ""
