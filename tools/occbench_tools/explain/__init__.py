# SPDX-License-Identifier: Apache-2.0
"""occbench explain [DIR] [EXPERIMENT ...]: what a folder of results says, short sentences per experiment.

Paragraphs for a terminal, a Markdown table with the pictures of occbench plot, or JSON; each computed from
cases.csv and env.json alone. Of a model's run it is what the model predicts, and the first line says so.
Of a folder of `occbench attach` it is which kernels to work on first, how, and what is not worth it.
Exit 0 printed, 1 attach saw no kernel, 2 invalid arguments, 4 a file could not be read.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from occbench_tools import experiments
from occbench_tools.analysis import many, read_folder, scaled
from occbench_tools.attached import is_attached, said
from occbench_tools.attached.folder import read_attached
from occbench_tools.command import ALL, Refused, entry, newest, parser_of
from occbench_tools.curves import TOO_FEW, too_few, what_has_more
from occbench_tools.escape import as_json, file_name, link, markdown, printable, prose, without_backticks
from occbench_tools.explain.achieved import achieved
from occbench_tools.explain.findings import findings
from occbench_tools.explain.phrases import ABSENT
from occbench_tools.folder import read_folder as read_whole
from occbench_tools.lines import complain, reason

WIDTH = 80

LEAST = 1e-200  # a throughput below it is 0 in larger units, and nothing can be divided by it

MAIN = 3  # sentences of an experiment, unless all are asked for

# What people ask about first (docs/questions.md); the other experiments follow by the size of their effect.
FIRST = ("latency_hiding", "registers", "shared_memory", "block_size", "spilling")


class Sentences(NamedTuple):
    """Sentences on an experiment, most worth reading first, and the size of its largest effect.

    The size is 0 where no effect has one, and less where there are too few points to tell.
    """

    sentences: list[str]
    effect: float = -1


def sentence(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[0].upper()}{clause[1:]}."


def explain_rows(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Sentences:
    """Sentences on the valid rows of one experiment, most worth reading first, and its largest effect.

    What its own module says (experiments/NAME.py), then what is said of any experiment. Of too few points
    (curves.too_few) that alone; nothing of no rows.
    """
    rows = rows[np.isfinite(rows["throughput"]) & (rows["throughput"] > LEAST)]
    if rows.empty:
        return Sentences([])
    rows = without_backticks(rows)
    if words := too_few(experiment, rows, env):
        return Sentences([sentence(words)])
    rows = scaled(rows)
    module = experiments.module_of(experiment)
    own = module.sentences(rows, env) if hasattr(module, "sentences") and env["schema_version"] >= 5 else ()
    found = findings(experiment, rows, env)
    return Sentences([sentence(clause) for clause in [*own, *found.clauses] or [ABSENT]], found.effect)


def sentences_of_rows(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> list[str]:
    """The sentences alone."""
    return explain_rows(experiment, rows, env).sentences


def in_order(found: Mapping[str, Iterable[Sentences]]) -> list[str]:
    """The names of experiments as they are read: FIRST, then by the largest effect in any of the runs."""

    def key(name: str) -> tuple[int, float, str]:
        place = FIRST.index(name) if name in FIRST else len(FIRST)
        return place, -max(each.effect for each in found[name]), name

    return sorted(found, key=key)


def headline(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> str:
    """The first of these, for titles and lists; the experiment's name where there is none."""
    return next(iter(sentences_of_rows(experiment, rows, env)), experiment)


def known(cases: pd.DataFrame, env: dict[str, Any]) -> list[str]:
    """Names of experiments: those that the run describes, and those that have rows."""
    return sorted({*env["experiments"], *cases["experiment"].dropna()})


def sentences_of(folder: Path) -> dict[str, list[str]]:
    """Those of each experiment of a folder, in_order; [] where it has no rows. Raises as read_folder does."""
    cases, env = read_folder(folder)
    found = {
        name: [explain_rows(name, cases[cases["experiment"] == name], env)] for name in known(cases, env)
    }
    return {name: found[name][0].sentences for name in in_order(found)}


def of_occupancy(folder: Path) -> str:
    """What all rows say of achieved occupancy; empty of a run whose blocks did not say where they were."""
    return " ".join(map(sentence, achieved(read_folder(folder)[0])))


def table(folder: Path, place: str, most: int | None = MAIN, only: Collection[str] = ()) -> str:
    """The Markdown table of one folder, whose pictures are found at `place`; `only` these experiments."""
    lines = ["| experiment | picture | what this run says |", "|---|---|---|"]
    for name, words in sentences_of(folder).items():
        if only and name not in only:
            continue
        drawn = f"{place}/{file_name(name)}.png"
        picture = f"![{markdown(name)}]({link(drawn)})" if words else ""
        told = prose(" ".join(words[:most]) or sentence(ABSENT))
        lines.append(f"| {markdown(name)} | {picture} | {told} |")
    return "\n".join(lines) + "\n"


def plain(folder: Path, most: int | None = MAIN, only: Collection[str] = ()) -> str:
    """Paragraphs for a terminal: each experiment that has rows; those of `only`, rows or not."""
    _, env = read_folder(folder)
    gpu = env["gpu"]["name"]
    modelled = f"What the {gpu} predicts; nothing here was measured."
    heads = modelled if env["source"] == "model" else f"What {gpu} says, by {folder}."
    paragraphs = [printable(heads) + "\n"]
    left, few = 0, []
    for name, words in sentences_of(folder).items():
        if (only and name not in only) or not (words or only):
            continue
        if not only and words and TOO_FEW in words[0]:
            few.append(name)
            continue
        shown = words[:most]
        left += len(words) - len(shown)
        paragraphs.append(printable(name) + "\n" + "".join(map(paragraph, shown or [sentence(ABSENT)])))
    if few:
        words = f"{TOO_FEW}{what_has_more(env)}: {', '.join(few)}."
        paragraphs.append(paragraph(words).lstrip())
    if not only and (words := of_occupancy(folder)):
        paragraphs.append("achieved occupancy\n" + paragraph(words))
    if left:
        paragraphs.append(f"{many(left, 'sentence')} more: --all\n")
    return "\n".join(paragraphs)


def of_program(folder: Path, most: int | None, form: str) -> str:
    """What a folder of `occbench attach` says, in one of the formats. Raises as read_attached, Refused."""
    program = read_attached(folder)
    if program.kernels.empty:
        raise Refused(1, program.why_empty)
    found = said.sentences(program)
    if form == "json":
        return as_json({heading: words[:most] for heading, words in found.items()})
    if form == "markdown":
        parts = (f"**{heading}**\n\n" + "".join(f"- {prose(each)}\n" for each in words[:most])
                 for heading, words in found.items())  # fmt: skip
        return "\n".join(parts)
    head = printable(f"What {program.gpus} says of {program.program}, by {folder}.")
    head = textwrap.fill(head, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"
    parts = [head, *(f"{name}\n" + "".join(map(paragraph, words[:most])) for name, words in found.items())]
    if left := sum(len(words[most:]) for words in found.values() if most is not None):
        parts.append(f"{many(left, 'sentence')} more: --all\n")
    return "\n".join(parts)


def paragraph(words: str) -> str:
    """One sentence, indented and wrapped."""
    return (
        textwrap.fill(
            printable(words.replace("`", "")),
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        + "\n"
    )


def chosen(words: list[str]) -> tuple[Path | None, list[str]]:
    """The folder, if the first word is one, and the experiments."""
    if words and (Path(words[0]).is_dir() or not words[0].isidentifier()):
        return Path(words[0]), words[1:]
    return None, words


@entry("occbench explain")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of(
        "explain",
        "Say in a few sentences what each experiment of a run found.",
        "occbench explain registers softmax --all",
    )
    parser.usage = "%(prog)s [DIR] [EXPERIMENT ...] [options]"
    parser.add_argument(
        "words", metavar="DIR, EXPERIMENT", nargs="*",
        help="a run's folder, or attach's (default: the newest under ./results), and a run's experiments",
    )  # fmt: skip
    parser.add_argument("-v", "--all", action="store_true", help=f"all sentences, not the first {MAIN}")
    parser.add_argument(
        "--format", choices=("plain", "markdown", "json"), default="plain",
        help="paragraphs; a table with the pictures of occbench plot; an object of lists (default: plain)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    most = None if options.all else MAIN
    named, only = chosen(options.words)
    folder = named or newest("occbench explain", of=ALL)
    try:
        if is_attached(folder):
            if only:
                words = f"{only[0]} is no folder, and {folder} is of `occbench attach`: it has no experiments"
                parser.error(printable(words))
            print(of_program(folder, most, options.format), end="")
            return 0
        if strangers := [name for name in only if name not in known(*read_folder(folder))]:
            there = ", ".join(known(*read_folder(folder)))
            parser.error(printable(f"no experiment {strangers[0]} in {folder}; there are: {there}"))
        if options.format == "json":
            found = {k: v[:most] for k, v in sentences_of(folder).items() if k in only or (v and not only)}
            text = as_json(found)
        elif options.format == "markdown":
            text = table(folder, folder.as_posix(), most, only)
            if not only and (words := of_occupancy(folder)):
                text += f"\n{prose(words)}\n"
        else:
            text = plain(folder, most, only)
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain("occbench explain", reason(folder, error))
        return 4
    print(text, end="")
    notes = read_whole(folder, samples=False, strict=False).warnings
    for note in notes:
        complain("occbench explain", note)
    return 1 if notes else 0
