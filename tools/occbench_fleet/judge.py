# SPDX-License-Identifier: Apache-2.0
"""Which cards and groups of cards are odd, with few false alarms over a whole fleet.

A card's effect in a resource is compared with the spread of the fleet's cards in it: the median absolute
deviation, which odd cards do not stretch. A few cards estimate it poorly, so it is moderated as in limma
(Smyth 2004): the variance of the four cards of spread.json counts as PRIOR more observations, and the ratio
has Student's law. It stays Student's in large fleets: cases have heavier tails than a normal law, and so have
medians of some of them. The p-values of all cards, groups and resources are corrected by Holm: a fleet
without an odd card has one reported with probability LEVEL. An effect below the threshold is never odd.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from occbench_tools.stats import deviation, student_tail

from occbench_fleet import THRESHOLD

LEVEL = 0.05  # of the whole fleet
LEAST_CARDS = 3  # two cannot tell which is odd
LEAST_CASES = 3  # needed to judge a resource
LEAST_GROUPS = 3
PRIOR = 2.0  # degrees of freedom of spread.json: two pairs of cards
MOST_FREEDOM = 30.0  # of Student's law, in any fleet
OF_MAD = 0.37  # efficiency of the MAD: effective observations per card
OF_MEDIAN = np.pi / 2  # variance of a median beside a mean's
LEAST_SPREAD = 0.0005  # lower bound, also for a resource that spread.json lacks


def moderate(own: float, cards: int, known: float) -> tuple[float, float]:
    """The standard deviation moderated from the fleet's own and the known one, and its degrees of freedom."""
    freedom = OF_MAD * max(cards - 1, 0)
    known = max(known, LEAST_SPREAD)
    if cards < LEAST_CARDS:
        return known, PRIOR
    variance = (PRIOR * known**2 + freedom * own**2) / (PRIOR + freedom)
    return float(np.sqrt(variance)), min(PRIOR + freedom, MOST_FREEDOM)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjusted p-values that keep the family-wise error."""
    order = np.argsort(p_values)
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    found = np.empty(len(p_values))
    found[order] = np.minimum(steps, 1)
    return found


def card_tests(
    effects: pd.DataFrame, labels: pd.DataFrame, known: dict[str, Any], reference: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tests of all cards and groups, and the spread by group of settings and resource.

    effects: of Store.effects. labels: by card, a column for each kind of group (host, rack); an empty cell is
    no group. known: spread.json's resources. reference: whether the effects are against a reference, whose
    own distance from other cards then counts, too. Columns of the tests: grp, kind ('card' or a label),
    card or name, resource, effect, cases or cards, z, p_value.
    """
    rows: list[pd.DataFrame] = []
    spreads: list[dict[str, Any]] = []
    for (grp, resource), mine in effects[effects["cases"] >= LEAST_CASES].groupby(["grp", "resource"]):
        values = mine["effect"].to_numpy()
        if len(values) < LEAST_CARDS and not reference:
            continue
        before = max(known.get(resource, {}).get("cards", 0.0), LEAST_SPREAD)
        scale, freedom = moderate(deviation(values), len(values), before)
        middle = 0.0 if reference else float(np.median(values))
        off = np.hypot(scale, before) if reference else scale
        spreads.append(dict(grp=grp, resource=resource, cards=len(values), spread=scale))
        z = (values - middle) / off
        rows.append(
            mine[["grp", "card", "resource", "cases"]].assign(
                kind="card",
                name="",
                effect=values - middle,
                z=z,
                p_value=2 * student_tail(np.abs(z), freedom),
            )
        )
        for kind in labels:
            named_cards = mine.assign(name=mine["card"].map(labels[kind]), effect=mine["effect"] - middle)
            rows += group_tests(named_cards[named_cards["name"].fillna("") != ""], kind, scale, freedom)
    if not rows:
        empty = ["grp", "card", "resource", "cases", "kind", "name", "effect", "z", "p_value", "p_holm"]
        return pd.DataFrame(columns=empty), pd.DataFrame(spreads)
    tests = pd.concat(rows, ignore_index=True)
    return tests.assign(p_holm=holm(tests["p_value"].to_numpy())), pd.DataFrame(spreads)


def group_tests(cards: pd.DataFrame, kind: str, scale: float, freedom: float) -> Iterable[pd.DataFrame]:
    """Tests of the medians of groups, of two cards and more.

    Their spread is the larger of that of independent cards and that of the groups themselves: cards of a
    rack share its air.
    """
    groups = cards.groupby("name").agg(
        grp=("grp", "first"), resource=("resource", "first"), effect=("effect", "median"),
        cards=("card", "size"),
    )  # fmt: skip
    groups = groups[groups["cards"] >= 2]
    if len(groups) < LEAST_GROUPS:
        return []
    u = groups["effect"] * np.sqrt(groups["cards"] / OF_MEDIAN)
    center = float(np.median(u))
    z = (u - center) / max(scale, deviation(u.to_numpy()))
    return [
        groups.reset_index().assign(
            kind=kind, card=-1, cases=groups["cards"].to_numpy(), z=z.to_numpy(),
            p_value=2 * student_tail(np.abs(z.to_numpy()), freedom),
        ).drop(columns="cards")
    ]  # fmt: skip


def odd_tests(tests: pd.DataFrame, threshold: float = THRESHOLD, level: float = LEVEL) -> pd.DataFrame:
    """The tests that name an odd card or group, largest effect first."""
    found = tests[(tests["p_holm"] <= level) & (tests["effect"].abs() >= threshold)]
    return found.sort_values("effect", key=np.abs, ascending=False, ignore_index=True)
