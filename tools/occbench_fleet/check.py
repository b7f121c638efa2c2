# SPDX-License-Identifier: Apache-2.0
"""The check: from the folders of a fleet to its odd cards, by the tests of judge.py."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from occbench_fleet import judge, labels, scan
from occbench_fleet.scan import Card
from occbench_fleet.spread import spread
from occbench_fleet.store import Store


@dataclass
class Finding:
    """An odd card, host, or group of a label. `change` is relative, above zero where it is worse."""

    kind: str
    name: str
    resource: str
    change: float
    z: float
    p_value: float  # Holm's
    cards: frozenset[int]  # their places
    card: Card | None = None
    within: str = ""  # the larger odd group that explains it: 'rack r7'


@dataclass
class Checked:
    """The result of check().

    Lines: `failed` on cards that cannot pass, `unread` on folders that cannot be read, `notes` on the rest.
    """

    folders: int
    cards: list[Card]
    judged: set[int] = field(default_factory=set)  # places in cards
    odd: list[Finding] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    effects: pd.DataFrame = field(default_factory=pd.DataFrame)  # card, resource, effect
    spreads: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def passed(self) -> bool:
        return not (self.odd or self.failed or self.unread) and bool(self.judged)


def check(
    top: Path, reference: Path | None, rows: list[dict[str, str]], threshold: float, ignore: bool = False
) -> Checked:
    """Judges the cards below `top`. ignore: unreadable folders become notes.

    Raises OSError where `top` cannot be read, ValueError where `reference` cannot.
    """
    folders, unread = scan.folders_below(top)
    cards, lines = scan.cards_of(top, folders, unread)
    cards, again = scan.newest_of_each(cards)
    found = Checked(len(folders), cards, failed=lines, notes=again)
    (found.notes if ignore else found.unread).extend(unread)
    found.failed += labels.label(cards, rows)
    if not cards:
        return found
    with tempfile.TemporaryDirectory(prefix="occbench-fleet-", ignore_cleanup_errors=True) as room:
        judge_all(found, Store(Path(room)), reference, threshold)
    return found


def reference_of(path: Path) -> Card:
    """Raises ValueError."""
    lines: list[str] = []
    cards, others = scan.cards_of(path, [path], lines)
    if lines := [*lines, *others]:
        raise ValueError(lines[0])
    return cards[0]


def judge_all(found: Checked, store: Store, reference: Path | None, threshold: float) -> None:
    cards = found.cards
    reference_card = None if reference is None else reference_of(reference)
    wrong = store.read([*cards, reference_card] if reference_card else cards)
    if len(cards) in wrong:
        raise ValueError(wrong[len(cards)])
    found.failed += wrong.values()
    readable = [place for place in range(len(cards)) if place not in wrong]
    counts = store.counts()
    lacking = incomplete_cards(cards, readable, counts)
    found.failed += lacking.values()
    groups = group_cards(found, readable, reference_card)
    if not groups:
        return
    effects = store.effects(groups, len(cards) if reference_card else None)
    names = sorted({name for card in cards for name in card.labels})
    labels_of_cards = pd.DataFrame(
        [{"host": card.host, **card.labels} for card in cards], columns=["host", *names], dtype=object
    )
    tests, found.spreads = judge.card_tests(
        effects, labels_of_cards, spread()["resources"], reference_card is not None
    )
    found.effects = tests[tests["kind"] == "card"][["card", "resource", "effect", "z", "p_holm"]]
    found.judged = set(found.effects["card"])
    for place in sorted(groups.keys() - found.judged - lacking.keys()):
        found.failed.append(f"{cards[place].title}: not judged: too few valid cases")
    members: dict[tuple[str, str], list[int]] = {}
    for place in sorted(found.judged):
        for kind, name in labels_of_cards.iloc[place].items():
            members.setdefault((str(kind), name), []).append(place)
    found.odd = [
        Finding(
            kind=row.kind,
            name=cards[row.card].title if row.kind == "card" else row.name,
            resource=row.resource, change=row.effect, z=row.z, p_value=row.p_holm,
            cards=frozenset([row.card] if row.kind == "card" else members[row.kind, row.name]),
            card=cards[row.card] if row.kind == "card" else None,
        )
        for row in judge.odd_tests(tests, threshold).itertuples()
    ]  # fmt: skip
    note_larger_groups(found.odd, threshold)


def note_larger_groups(odd: list[Finding], threshold: float) -> None:
    """Sets for each finding the larger group that explains it: as odd, in the same resource."""
    groups = sorted((f for f in odd if f.card is None), key=lambda f: -len(f.cards))
    for one in odd:
        for group in groups:
            larger = one.cards < group.cards and one.resource == group.resource
            if larger and abs(one.change - group.change) < threshold:
                one.within = f"{group.kind} {group.name}"
                break


def incomplete_cards(
    cards: list[Card], readable: list[int], counts: dict[int, tuple[int, int, str]]
) -> dict[int, str]:
    """A line for each card with invalid cases, or without cases that others of its settings have."""
    lines = {}
    most: Counter[tuple[str, ...]] = Counter()
    for place in readable:
        key = cards[place].settings
        most[key] = max(most[key], counts[place][0])
    for place in readable:
        card, (rows, invalid, one) = cards[place], counts[place]
        whole = most[card.settings]
        if rows < whole:
            lines[place] = (
                f"{card.title}: {rows} of {whole} cases; `occbench run --resume {card.folder}` continues it"
            )
        elif invalid:
            cases = "1 invalid case," if invalid == 1 else f"{invalid} invalid cases, one of them"
            lines[place] = f"{card.title}: {cases} {one}"
    return lines


def group_cards(found: Checked, readable: list[int], against: Card | None) -> dict[int, int]:
    """The settings' number of each card that can be judged, by its place. Notes why others cannot."""
    groups: dict[int, int] = {}
    place_of = {id(found.cards[place]): place for place in readable}
    several = scan.group_by_settings([found.cards[place] for place in readable])
    main = against.settings if against else several[0][0].settings if several else ()
    for number, mine in enumerate(several):
        settings = mine[0].settings
        who = mine[0].title if len(mine) == 1 else f"{len(mine)} cards ({mine[0].title} for one)"
        what = scan.difference_text(settings, main)
        if against and what:
            found.failed.append(f"{who}: not judged: {what} as the reference has")
        elif not against and len(mine) < judge.LEAST_CARDS:
            few = "no other card to compare with" if len(mine) == 1 else "two cards cannot tell which is odd"
            found.failed.append(f"{who}: not judged: {what or few + '; name --reference RUN'}")
        else:
            if what:
                found.notes.append(f"{who}: {what}: judged separately")
            groups |= {place_of[id(card)]: 0 if against else number for card in mine}
    return groups
