# SPDX-License-Identifier: Apache-2.0
"""A check's result for readers, CI servers (JUnit), Prometheus' textfile collector, and as JSON."""

from collections import Counter
from typing import Any
from xml.etree import ElementTree

import numpy as np
from occbench_tools.escape import as_json, printable
from occbench_tools.screen import align_columns, wrap

from occbench_fleet.check import Checked, Finding
from occbench_fleet.resources import BY_NAME

MOST = 40  # odd cards, and lines, in the text


def count_text(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def change(finding: Finding) -> str:
    """'3.1 % slower'"""
    resource = BY_NAME[finding.resource]
    words = resource.worse if finding.change > 0 else resource.better
    # A clock that is 5 % lower takes 5.3 % more time.
    share = np.expm1(-finding.change) if resource.name == "clock" else np.expm1(finding.change)
    return f"{100 * abs(share):.1f} % {words}"


def verdict(found: Checked) -> str:
    """One sentence."""
    judged = f"{len(found.judged):,} of {count_text(len(found.cards), 'card')} judged"
    odd = Counter({f.kind: 0 for f in found.odd})
    odd.update({(f.kind, f.name): f.kind for f in found.odd if not f.within}.values())
    odd_text = ", ".join(f"{count_text(number, kind)}" for kind, number in odd.items() if number)
    words = [judged, f"odd: {odd_text}" if odd_text else "none is odd"] if found.judged else [judged]
    if found.unread:
        words.append(f"{count_text(len(found.unread), 'folder')} not read")
    if found.failed:
        words.append(f"{count_text(len(found.failed), 'complaint')}")
    return f"{'PASS' if found.passed else 'FAIL'}: {', '.join(words)}"


def as_text(found: Checked, width: int) -> list[str]:
    lines = wrap(verdict(found), width)
    own = [f for f in found.odd if not f.within]
    table = [
        [f.kind, printable(f.name), str(len(f.cards)), f.resource, change(f), f"{f.z:+.1f}"]
        for f in own[:MOST]
    ]
    if table:
        head = ["odd", "which", "cards", "in", "by", "z"]
        lines += ["", *align_columns([head, *table], width, names=1, left=(0, 3))]
    if len(own) > MOST:
        lines.append(f"and {len(own) - MOST:,} more: --format json has all")
    if within := len(found.odd) - len(own):
        lines += wrap(f"{within:,} more are as odd as the group above that they belong to", width)
    for title, spread_rows in (
        ("not read", found.unread),
        ("complaints", found.failed),
        ("notes", found.notes),
    ):
        if spread_rows:
            lines += ["", title]
            for each in spread_rows[:MOST]:
                first, *more = wrap(each, width - 2)
                lines += [f"  {first}", *(f"    {line}" for line in more)]
        if len(spread_rows) > MOST:
            lines.append(f"  and {len(spread_rows) - MOST:,} more")
    if len(found.spreads):
        spread_rows = found.spreads[found.spreads["grp"] == 0]
        spread = ", ".join(f"{row.resource} {100 * row.spread:.2f} %" for row in spread_rows.itertuples())
        lines += ["", *wrap(f"spread of good cards (standard deviation): {spread}", width)]
    return lines


def as_dict(found: Checked) -> dict[str, Any]:
    effects: dict[int, dict[str, Any]] = {}
    for row in found.effects.itertuples():
        effects.setdefault(int(row.card), {})[row.resource] = dict(change=float(row.effect), z=float(row.z))
    return dict(
        passed=found.passed,
        folders=found.folders,
        judged=len(found.judged),
        odd=[
            dict(
                kind=f.kind, name=f.name, resource=f.resource, change=float(f.change), z=float(f.z),
                p_value=float(f.p_value), within=f.within,
                **({"folder": str(f.card.folder)} if f.card else {}),
            )
            for f in found.odd
        ],
        unread=found.unread,
        failed=found.failed,
        notes=found.notes,
        spread=[
            dict(group=int(row.grp), resource=row.resource, cards=int(row.cards), spread=float(row.spread))
            for row in found.spreads.itertuples()
        ],
        cards=[
            dict(
                host=card.host, uuid=card.uuid, folder=str(card.folder), **card.labels,
                resources=effects.get(place, {}),
            )
            for place, card in enumerate(found.cards)
        ],
    )  # fmt: skip


def as_junit(found: Checked) -> str:
    """A case for each card, and one for each complaint and odd group."""
    suite = ElementTree.Element("testsuite", name="occbench fleet check")
    by_card: dict[int, list[Finding]] = {}
    for f in found.odd:
        if f.card:
            by_card.setdefault(id(f.card), []).append(f)
    failures = 0

    def case(name: str, place: str, failure: str) -> None:
        nonlocal failures
        element = ElementTree.SubElement(suite, "testcase", classname=printable(place), name=printable(name))
        if failure:
            failures += 1
            ElementTree.SubElement(element, "failure", message=printable(failure))

    for place, card in enumerate(found.cards):
        if place in found.judged:
            odd = by_card.get(id(card), [])
            case(card.title, card.host, "; ".join(f"{f.resource} {change(f)}" for f in odd))
    for f in found.odd:
        if not f.card:
            case(f"{f.kind} {f.name}", "group", f"{f.resource} {change(f)}")
    for what, lines in (("not read", found.unread), ("complaint", found.failed)):
        for number, line in enumerate(lines, 1):
            case(f"{what} {number}", "folders", line)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failures))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def label(value: str) -> str:
    """A label's value in Prometheus' text format."""
    return printable(value).replace("\\", "\\\\").replace('"', '\\"')


def as_prometheus(found: Checked) -> str:
    """For node_exporter's textfile collector."""
    odd = {(id(f.card), f.resource) for f in found.odd if f.card}
    lines = [
        "# HELP occbench_fleet_passed 1 if every card was judged and none is odd.",
        "# TYPE occbench_fleet_passed gauge",
        f"occbench_fleet_passed {int(found.passed)}",
        "# HELP occbench_fleet_cards Cards that were judged.",
        "# TYPE occbench_fleet_cards gauge",
        f"occbench_fleet_cards {len(found.judged)}",
        "# HELP occbench_fleet_complaints Folders and cards that could not pass.",
        "# TYPE occbench_fleet_complaints gauge",
        f"occbench_fleet_complaints {len(found.failed)}",
        "# HELP occbench_fleet_unread Folders that could not be read.",
        "# TYPE occbench_fleet_unread gauge",
        f"occbench_fleet_unread {len(found.unread)}",
    ]
    help_texts = {
        "change": "A card's excess over the fleet's median, as a fraction; above zero is worse.",
        "odd": "1 if that is odd.",
    }
    for name, help_text in help_texts.items():
        lines += [
            f"# HELP occbench_fleet_card_{name} {help_text}",
            f"# TYPE occbench_fleet_card_{name} gauge",
        ]
        for row in found.effects.itertuples():
            card = found.cards[row.card]
            value = f"{row.effect:.6g}" if name == "change" else int((id(card), row.resource) in odd)
            where = f'host="{label(card.host)}",uuid="{label(card.uuid)}",resource="{row.resource}"'
            lines.append(f"occbench_fleet_card_{name}{{{where}}} {value}")
    return "\n".join(lines) + "\n"


def format_check(found: Checked, form: str, width: int) -> str:
    if form == "json":
        return as_json(as_dict(found))
    if form == "junit":
        return as_junit(found)
    if form == "prometheus":
        return as_prometheus(found)
    return "".join(f"{line}\n" for line in as_text(found, width))
