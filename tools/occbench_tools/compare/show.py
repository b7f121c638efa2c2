# SPDX-License-Identifier: Apache-2.0
"""A comparison as sections of sentences and tables: for a terminal, Markdown, HTML, JSON or CSV."""

import io
from dataclasses import dataclass, field

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from occbench_tools.compare import opening
from occbench_tools.compare.comparison import Comparison
from occbench_tools.compare.verdicts import AMBIGUOUS, FASTER, SAME, SLOWER
from occbench_tools.escape import as_json as json_text
from occbench_tools.escape import csv, html, printable, records
from occbench_tools.escape import markdown as plain

MOST = {SLOWER: 20, FASTER: 20, AMBIGUOUS: 10}  # lines of the table of cases, unless all are asked for
COLOURS = {SLOWER: "red", FASTER: "green", AMBIGUOUS: "yellow", "GONE": "red", "NEW": "red", "MOVED": "red"}
BY = {
    "reference": "seconds at one SM clock",
    "time": "seconds",
    "cycles": "SM cycles",
    "ceiling": "share of the device's own ceiling",
}
STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums }
table { display: block; overflow-x: auto }
th, td { padding: .15em .8em .15em 0; text-align: left; border-bottom: 1px solid #8884; vertical-align: top }
td { white-space: nowrap } td:last-child { white-space: normal; min-width: 6em }
.SLOWER, .FASTER, .AMBIGUOUS, .GONE, .NEW, .MOVED { font-weight: bold }
.FASTER { color: #0072b2 } .SLOWER, .GONE, .NEW, .MOVED { color: #d55e00 } .warning { font-weight: bold }
svg { max-width: 640px; width: 100%; font-size: 12px } svg text { fill: currentColor }
@media (max-width: 600px) { svg { font-size: 17px } }
.grid { stroke: currentColor; stroke-opacity: .15 }
"""


@dataclass
class Section:
    """One part of the report. Cells are text; the first row of `table` is its head."""

    title: str
    lines: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    picture: str = ""  # an SVG, of the HTML page


def percent(value: float, sign: bool = True) -> str:
    """'+1.3 %' of a fraction; empty for NaN."""
    return "" if pd.isna(value) else f"{100 * value:{'+' if sign else ''}.2f} %"


def sections(one: Comparison, everything: bool) -> list[Section]:
    """The report on one candidate; `everything`: all cases, SAME too, and all without a partner."""
    counts = one.verdicts
    mark = " (MODEL, not measured)" if one.is_modelled else ""
    env = Section(
        f"{one.base.name} against {one.name}: what differs beside the measurements{mark}",
        [f"{one.relation}: {gpu(one.base.env)}; {gpu(one.candidate.env)}"],
        grid(one.environment) if len(one.environment) else [],
        one.warnings,
    )
    if one.environment.empty:
        env.lines.append("Nothing else: the same build, driver, toolkit and call.")
    counts_text = ", ".join(
        f"{counts.get(verdict, 0):,} {verdict}" for verdict in (SAME, FASTER, SLOWER, AMBIGUOUS)
    )
    total = Section(
        f"Cases, by {BY[one.by]}{mark}",
        [
            f"{len(one.cases):,} cases: {counts_text}. A change counts from {100 * one.threshold:g} % on.",
            *unpaired_lines(one, everything),
        ],
        [
            ["experiment", "cases", "same", "faster", "slower", "ambiguous", "median", "largest", "in"],
            *(
                [str(cell) for cell in row[:6]] + [percent(row[6]), percent(row[7]), str(row[8])]
                for row in one.experiments.itertuples(index=False, name=None)
            ),
        ],
    )
    return [env, total, case_section(one, everything, mark), *kernels(one, mark), cliff_section(one, mark)]


def first_section(one: Comparison) -> list[Section]:
    """Throughput over theoretical occupancy, where both runs have its two kernels."""
    sentence = opening.sentence(one)
    title = "Throughput over theoretical occupancy" + " (MODEL, not measured)" * one.is_modelled
    return [Section(title, [sentence], picture=opening.picture(one))] if sentence else []


def gpu(env: dict) -> str:
    return f"{env['gpu'].get('name', '?')} ({env['gpu'].get('uuid') or 'no UUID'})"


def grid(table: pd.DataFrame) -> list[list[str]]:
    return [
        list(table.columns),
        *([str(cell) for cell in row] for row in table.itertuples(index=False, name=None)),
    ]


def unpaired_lines(one: Comparison, everything: bool) -> list[str]:
    """Lines on the cases without a partner: how many, on which side, and why."""
    lines = []
    for (side, reason), rows in one.unpaired.groupby(["side", "why"], sort=True):
        names = rows["case_id"].tolist()
        most = len(names) if everything else 3
        more = f" and {len(names) - most:,} more" if len(names) > most else ""
        lines.append(f"{len(names):,} of {side} without a partner, {reason}: {', '.join(names[:most])}{more}")
    if by := [
        f"{n:,} by {key}" for key, n in one.cases["aligned_by"].value_counts().items() if key != "case_id"
    ]:
        lines.append(f"Aligned by name but for {', '.join(by)}.")
    if one.by == "ceiling" and (n := int((one.cases["by"] == "cycles").sum())):
        lines.append(f"{n:,} cases have no ceiling in common and are judged by cycles.")
    return lines


def case_section(one: Comparison, everything: bool, mark: str) -> Section:
    """The cases that are not SAME, the largest change first, and how many more there are."""
    section = Section(f"Cases that changed or are ambiguous{mark}")
    head = ["verdict", "case", "change", "95 % interval", "seconds", "cycles", "of ceiling", "note"]
    lines, more = [head], []
    for verdict in (SLOWER, FASTER, AMBIGUOUS, SAME):
        rows = one.cases[one.cases["verdict"] == verdict]
        rows = rows.loc[rows["change"].abs().sort_values(ascending=False, na_position="last").index]
        most = len(rows) if everything else MOST.get(verdict, 0)
        if verdict != SAME and len(rows) > most:
            more.append(f"{len(rows) - most:,} more {verdict}")
        for _, row in rows.head(most).iterrows():
            measured = pd.notna(row["change_low"])
            interval = f"{percent(row['change_low'])} to {percent(row['change_high'])}" if measured else ""
            shares = [row["base_percent_of_ceiling"], row["percent_of_ceiling"]]
            of = "" if any(map(pd.isna, shares)) else "{:.1f} -> {:.1f} %".format(*shares)
            changes = [percent(row[f"{measure}_change"]) for measure in ("time", "cycles")]
            lines.append(
                [verdict, row["case_id"], percent(row["change"]), interval, *changes, of, row["note"]]
            )
    if len(lines) > 1:
        section.table = lines
        share = "; FASTER comes nearer to its own device's ceiling" if one.by == "ceiling" else ""
        section.lines.append(f"change: of the cost of a unit of work, by {BY[one.by]}; + costs more{share}.")
    else:
        section.lines.append("None.")
    if more:
        section.lines.append(f"Not shown: {', '.join(more)} (--all, or --format csv).")
    return section


def kernels(one: Comparison, mark: str) -> list[Section]:
    """Toolchain drift, where there is any."""
    if one.drift.empty:
        return []
    head = ["family", "variant", "registers", "local bytes", "blocks per SM", "cases", "median change"]
    lines = [[*map(str, row[:6]), percent(row[6])] for row in one.drift.itertuples(index=False, name=None)]
    return [Section(f"Kernels whose machine code took other registers{mark}", [], [head, *lines])]


def cliff_section(one: Comparison, mark: str) -> Section:
    """Did the cliff move?"""
    counts = one.cliffs["verdict"].value_counts()
    counts_text = (
        ", ".join(f"{n:,} {verdict}" for verdict, n in counts.items()) or "no sweep of both has a cliff"
    )
    moved = one.cliffs[one.cliffs["verdict"] != SAME]
    head = ["cliff", "experiment", "family", "kernel", "dial", "cause", "base", "candidate", "drops"]
    lines = [
        [*map(str, row[["verdict", *head[1:8]]]),
         f"{percent(row['base_drop'], False)} / {percent(row['candidate_drop'], False)}".strip(" /")]
        for _, row in moved.iterrows()
    ]  # fmt: skip
    return Section(f"Did the cliff move?{mark}", [f"Cliffs: {counts_text}."], [head, *lines] if lines else [])


def device_section(table: pd.DataFrame, outliers: list[str]) -> Section:
    """Many cards of one kind, a column each."""
    lines = [[str(row[0]), *map(percent, row[1:])] for row in table.itertuples(index=False, name=None)]
    return Section(
        "Over all cards: median change against base, and their spread",
        [f"{text}." for text in outliers] or ["No card is an outlier."],
        [list(table.columns), *lines],
    )


def terminal(parts: list[Section], width: int | None) -> str:
    """Text with tables of rich; width: None lets rich find it."""
    stream = io.StringIO()
    screen = Console()
    colour = screen.is_terminal
    console = Console(file=stream, force_terminal=colour, width=width or (screen.width if colour else 200))
    for part in parts:
        console.print(Text(printable(part.title), style="bold"))
        for text in part.warnings:
            console.print(Text(f"! {printable(text)}", style="bold yellow"))
        for text in part.lines:
            console.print(Text(printable(text)))
        if part.table:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
            for name in part.table[0]:
                table.add_column(Text(printable(name)), overflow="fold", justify="left")
            for row in part.table[1:]:
                table.add_row(*(Text(printable(cell), style=COLOURS.get(cell, "")) for cell in row))
            console.print(table)
        console.print()
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def markdown(parts: list[Section]) -> str:
    """GitHub's tables."""
    out = []
    for part in parts:
        out += [f"## {plain(part.title)}", ""]
        out += [f"**{plain(text)}**\n" for text in part.warnings] + [
            f"{plain(text)}\n" for text in part.lines
        ]
        if part.table:
            head, *rows = ([plain(cell) for cell in row] for row in part.table)
            out += [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]
    return "\n".join(out)


def page(parts: list[Section]) -> str:
    """One self-contained HTML file."""

    def cell(tag: str, text: str) -> str:
        mark = f' class="{text}"' if text in COLOURS else ""
        return f"<{tag}{mark}>{html(text)}</{tag}>"

    out = ['<!doctype html><html lang="en"><meta charset="utf-8"><title>occbench compare</title>']
    out.append('<meta name="viewport" content="width=device-width">')
    out.append(f"<style>{STYLE}</style><h1>Two runs compared</h1>")
    for part in parts:
        out.append(cell("h2", part.title))
        out += [f'<p class="warning">{html(text)}</p>' for text in part.warnings]
        out += [cell("p", text) for text in part.lines]
        out += [part.picture] * bool(part.picture)
        if part.table:
            head, *rows = part.table
            out.append("<table><tr>" + "".join(cell("th", text) for text in head) + "</tr>")
            out += ["<tr>" + "".join(cell("td", text) for text in row) + "</tr>" for row in rows]
            out.append("</table>")
    return "\n".join(out) + "</html>\n"


def as_csv(found: list[Comparison]) -> str:
    """Every aligned case of every candidate, one row each, fractions as fractions."""
    return csv(pd.concat([labelled_cases(one) for one in found]))


def labelled_cases(one: Comparison) -> pd.DataFrame:
    """The table of cases with the run's name, the devices' relation and both sources."""
    cases = one.cases.copy()
    cases.insert(0, "candidate", one.name)
    return cases.assign(
        relation=one.relation, base_source=one.base.env["source"], source=one.candidate.env["source"]
    )


def as_json(all_of_them: list[Comparison], cards: tuple[pd.DataFrame, list[str]] | None) -> str:
    """All tables; absent numbers are null."""

    found = [
        dict(
            base=str(one.base.path), candidate=str(one.candidate.path), name=one.name, relation=one.relation,
            base_source=one.base.env["source"], source=one.candidate.env["source"], by=one.by,
            threshold=one.threshold, warnings=one.warnings, verdicts=one.verdicts,
            environment=records(one.environment), experiments=records(one.experiments),
            cases=records(labelled_cases(one)), without_partner=records(one.unpaired),
            drift=records(one.drift), cliffs=records(one.cliffs),
        )
        for one in all_of_them
    ]  # fmt: skip
    across = dict(experiments=records(cards[0]), outliers=cards[1]) if cards else None
    return json_text(dict(comparisons=found, devices=across))
