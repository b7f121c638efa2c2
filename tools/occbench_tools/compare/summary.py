# SPDX-License-Identifier: Apache-2.0
"""Summaries of the cases: per experiment, kernel with other machine code, cliff and card."""

from collections import defaultdict

import numpy as np
import pandas as pd

from occbench_tools.compare.verdicts import AMBIGUOUS, FASTER, SAME, SLOWER
from occbench_tools.folder import Folder

CODE = ("registers_per_thread", "local_bytes")
SWEEP = ["experiment", "family", "kernel", "sweep", "dial"]
MATCHED = [*SWEEP, "from_value", "to_value", "cause", "drop", "verdict"]
CLIFF = ("confirmed", "unpredicted")  # verdicts of find_cliffs that confirm a cliff
# Least change of a drop (fraction of the throughput) where a cliff comes or goes: in six pairs of reruns on
# one H200 the drops of cliffs that only one run confirms differ by less.
CLIFF_CHANGE = 0.03
OUTLIER = 3  # median absolute deviations


def by_experiment(cases: pd.DataFrame) -> pd.DataFrame:
    """Cases, verdicts, the median change and the largest (fractions) of each experiment."""
    lines = []
    judged = cases[["experiment", "case_id", "verdict", "change"]]
    for experiment, rows in judged.groupby("experiment", sort=True):
        counts = rows["verdict"].value_counts()
        known = rows.dropna(subset="change")
        worst = known.loc[known["change"].abs().idxmax()] if len(known) else None
        most = (np.nan, "") if worst is None else (worst["change"], worst["case_id"])
        each = (counts.get(verdict, 0) for verdict in (SAME, FASTER, SLOWER, AMBIGUOUS))
        middle = known["change"].median() if len(known) else np.nan
        lines.append((experiment, len(rows), *each, middle, *most))
    names = [
        "experiment",
        "cases",
        "same",
        "faster",
        "slower",
        "ambiguous",
        "median_change",
        "most",
        "most_case",
    ]
    return pd.DataFrame(lines, columns=names)


def drift(base: Folder, other: Folder, cases: pd.DataFrame) -> pd.DataFrame:
    """Kernels whose registers, spills or local memory differ: toolchain drift, a line per kernel and change.

    Columns family, variant, what changed (base -> candidate), blocks per SM where they changed too, how many
    cases run it, and their median change (fraction).
    """
    columns = [*CODE, "blocks_per_sm"]
    a = base.valid.set_index("case_id").loc[cases["base_case_id"], columns].fillna(0).reset_index(drop=True)
    b = other.valid.set_index("case_id").loc[cases["case_id"], columns].fillna(0).reset_index(drop=True)
    moved = (a[list(CODE)] != b[list(CODE)]).any(axis=1)

    def arrow(i: int, column: str) -> str:
        return "" if a.at[i, column] == b.at[i, column] else f"{a.at[i, column]:g} -> {b.at[i, column]:g}"

    lines = [
        (
            *cases.loc[i, ["family", "variant"]],
            *(arrow(i, column) for column in columns),
            cases.at[i, "change"],
        )
        for i in np.flatnonzero(moved)
    ]
    key = ["family", "variant", *columns]
    found = pd.DataFrame(lines, columns=[*key, "change"])
    return found.groupby(key, sort=False)["change"].agg(cases="size", median_change="median").reset_index()


def cliffs_of(folder: Folder) -> pd.DataFrame:
    """The cliffs that theory predicts or the run's cases show, with a verdict on each."""
    from occbench_tools.cliffs import find_cliffs

    return find_cliffs(folder.valid, folder.env)


def kernels_of(folder: Folder) -> set[tuple[str, str, str]]:
    """All names that a sweep of its valid cases may have, with experiment and family."""
    rows = folder.valid
    names = (rows.get(name) for name in ("variant", "curve", "form", "family"))
    return {
        key for name in names if name is not None
        for key in zip(rows["experiment"], rows["family"], name, strict=True)
    }  # fmt: skip


def moved_cliffs(base: Folder, other: Folder, known: pd.DataFrame | None = None) -> pd.DataFrame:
    """Did the cliff move? Columns of a sweep, cause, base and candidate ('128 -> 129'), their drops, verdict.

    SAME: between the same values of the dial. MOVED: the sweep has one of the same cause at other values.
    GONE and NEW: one side has none. UNCLEAR: one side cannot tell, or its cliff is little deeper than the
    other's drop there. Only kernels that both runs have. known: cliffs_of(base), if available.
    """
    known = cliffs_of(base) if known is None else known
    tables = [table[MATCHED].assign(side=side) for side, table in enumerate((known, cliffs_of(other)))]
    both = kernels_of(base) & kernels_of(other)
    cliffs = pd.concat(tables, ignore_index=True)
    by_sweep: dict[int, tuple[list[dict], list[dict]]] = defaultdict(lambda: ([], []))
    for number, row in zip(
        cliffs.groupby(SWEEP, dropna=False, sort=True).ngroup(), cliffs.to_dict("records"), strict=True
    ):
        by_sweep[number][row["side"]].append(row)
    lines = []
    for _, rows in sorted(by_sweep.items()):
        sweep = [next(filter(None, rows))[0][name] for name in SWEEP]
        if tuple(sweep[:3]) not in both:
            continue
        for pair, verdict in match_cliffs(*rows):
            steps = [f"{row['from_value']:g} -> {row['to_value']:g}" if row else "" for row in pair]
            drops = [row["drop"] if row else np.nan for row in pair]
            cause = next(row["cause"] for row in pair if row)
            lines.append((*sweep, cause, *steps, *drops, verdict))
    names = [*SWEEP, "cause", "base", "candidate", "base_drop", "candidate_drop", "verdict"]
    return pd.DataFrame(lines, columns=names)


def match_cliffs(ours: list[dict], theirs: list[dict]) -> list[tuple[tuple[dict | None, dict | None], str]]:
    """Pairs the cliffs of one sweep: at the same place first, then the nearest of its cause."""
    pairs: list[tuple[tuple[dict | None, dict | None], str]] = []
    for row in list(ours):
        place = (row["from_value"], row["to_value"])
        if twin := next((r for r in theirs if (r["from_value"], r["to_value"]) == place), None):
            ours.remove(row)
            theirs.remove(twin)
            sure = [r["verdict"] in CLIFF for r in (row, twin)]
            is_different = abs(row["drop"] - twin["drop"]) >= CLIFF_CHANGE
            doubt = "UNCLEAR" if not is_different or "unclear" in (row["verdict"], twin["verdict"]) else ""
            if any(sure):
                pairs.append(((row, twin), SAME if all(sure) else doubt or ("GONE" if sure[0] else "NEW")))
    ours, theirs = ([row for row in side if row["verdict"] in CLIFF] for side in (ours, theirs))
    near = sorted(
        ((abs(a["to_value"] - b["to_value"]), i, k) for i, a in enumerate(ours) for k, b in enumerate(theirs))
    )
    left, right = set(range(len(ours))), set(range(len(theirs)))
    for _, i, k in near:
        if i in left and k in right and ours[i]["cause"] == theirs[k]["cause"]:
            left.remove(i)
            right.remove(k)
            pairs.append(((ours[i], theirs[k]), "MOVED"))
    unmatched = [((ours[i], None), "GONE") for i in sorted(left)] + [
        ((None, theirs[k]), "NEW") for k in sorted(right)
    ]
    return pairs + [
        (pair, verdict if next(filter(None, pair))["drop"] >= CLIFF_CHANGE else "UNCLEAR")
        for pair, verdict in unmatched
    ]


def across_devices(tables: dict[str, pd.DataFrame], floor: float) -> tuple[pd.DataFrame, list[str]]:
    """Many cards of one kind: median change of each experiment on each (fraction), spread, outliers.

    An outlier is further from the median of all cards, base included at 0, than `floor` and than OUTLIER
    median absolute deviations.
    """
    table = pd.DataFrame(
        {name: cases.groupby("experiment")["change"].median() for name, cases in tables.items()}
    )
    table.insert(0, "base", 0.0)
    middle = table.median(axis=1)
    away = table.sub(middle, axis=0).abs()
    far = away.gt(np.maximum(floor, OUTLIER * away.median(axis=1)), axis=0)
    outliers = []
    for card in table.columns:
        rows = [f"{e} ({100 * (table.at[e, card] - middle[e]):+.1f} %)" for e in table.index[far[card]]]
        if rows:
            outliers.append(f"{card} is an outlier in {', '.join(rows)}")
    spread = table.max(axis=1) - table.min(axis=1)
    return table.assign(spread=spread).rename_axis("experiment").reset_index(), outliers
