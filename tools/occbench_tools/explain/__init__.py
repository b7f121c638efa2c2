# SPDX-License-Identifier: Apache-2.0
"""occbench explain [DIR] [EXPERIMENT ...]: what a folder of results says, short sentences per experiment.

Paragraphs for a terminal, a Markdown table with the pictures of occbench plot, or JSON, of the findings in
the folder or, without any, from the program. The first line of a model's run says that it is a prediction.
For a folder of `occbench attach`: which kernels to work on first, how, and which are not worth it.
With --order: which SM ran which block, and when, as docs/examples/block_order.cu recorded it.
Exit 0 printed, 1 attach saw no kernel, 2 invalid arguments, 4 a file could not be read.
"""

import textwrap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from occbench_tools.analysis import pluralize, read_folder
from occbench_tools.attached import is_attached
from occbench_tools.attached.findings import headings
from occbench_tools.attached.folder import read_attached
from occbench_tools.command import ALL, CommandError, entry, newest, parser_of, reading
from occbench_tools.curves import what_has_more
from occbench_tools.escape import as_json, file_name, link, markdown, printable, prose
from occbench_tools.explain.achieved import occupancy_clauses
from occbench_tools.explain.block_order import FILE, order_text, read_order
from occbench_tools.explain.program import findings_of
from occbench_tools.findings import Sentences
from occbench_tools.folder import gpu_name
from occbench_tools.folder import read_folder as read_whole
from occbench_tools.lines import print_error, write_whole
from occbench_tools.screen import fill_lines

WIDTH = 80

MAIN = 3  # sentences of an experiment, unless all are asked for

# What people ask about first (docs/questions.md); the other experiments follow by the size of their effect.
FIRST = ("latency_hiding", "registers", "shared_memory", "block_size", "spilling")


ABSENT = "Not in this run."


def reading_order(found: Mapping[str, Iterable[Sentences]]) -> list[str]:
    """The names of experiments in the order to read them: FIRST, then by the largest effect in any run."""

    def key(name: str) -> tuple[int, float, str]:
        place = FIRST.index(name) if name in FIRST else len(FIRST)
        return place, -max(each.effect for each in found[name]), name

    return sorted(found, key=key)


def experiment_names(cases: pd.DataFrame, env: dict[str, Any]) -> list[str]:
    """Names of the experiments that the run describes or has rows of."""
    return sorted({*env["experiments"], *cases["experiment"].dropna()})


def explain_folder(folder: Path) -> dict[str, Sentences]:
    """A folder's sentences on each of its experiments, in reading_order(); none where it has no rows.

    Raises as read_folder does, and as ask_program.
    """
    cases, env = read_folder(folder)
    found = findings_of(folder, cases, env)
    every = {name: [found.get(name, Sentences([]))] for name in experiment_names(cases, env)}
    return {name: every[name][0] for name in reading_order(every)}


def sentences_of(folder: Path) -> dict[str, list[str]]:
    """The sentences of explain_folder() alone."""
    return {name: found.sentences for name, found in explain_folder(folder).items()}


def occupancy_text(folder: Path) -> str:
    """Sentences on achieved occupancy over all rows; empty where the blocks did not record their SMs."""
    return " ".join(f"{words[0].upper()}{words[1:]}." for words in occupancy_clauses(read_folder(folder)[0]))


def table(folder: Path, place: str, most: int | None = MAIN, only: Collection[str] = ()) -> str:
    """The Markdown table of one folder, with its pictures at `place`; `only` these experiments."""
    lines = ["| experiment | picture | what this run says |", "|---|---|---|"]
    for name, words in sentences_of(folder).items():
        if only and name not in only:
            continue
        drawn = f"{place}/{file_name(name)}.png"
        picture = f"![{markdown(name)}]({link(drawn)})" if words else ""
        text = prose(" ".join(words[:most]) or ABSENT)
        lines.append(f"| {markdown(name)} | {picture} | {text} |")
    return "\n".join(lines) + "\n"


def plain_text(folder: Path, most: int | None = MAIN, only: Collection[str] = ()) -> str:
    """Paragraphs for a terminal: the experiments that have rows, or those of `only`, rows or not."""
    _, env = read_folder(folder)
    gpu = gpu_name(env)
    modelled = f"What the {gpu} predicts; nothing here was measured."
    heads = modelled if env["source"] == "model" else f"What {gpu} says, by {folder}."
    paragraphs = [printable(heads) + "\n"]
    left, few = 0, []
    for name, found in explain_folder(folder).items():
        words = found.sentences
        if (only and name not in only) or not (words or only):
            continue
        if not only and found.is_too_few:
            few.append(name)
            continue
        shown = words[:most]
        left += len(words) - len(shown)
        paragraphs.append(printable(name) + "\n" + "".join(map(paragraph, shown or [ABSENT])))
    if few:
        words = f"Not enough points for a finding{what_has_more(env)}: {', '.join(few)}."
        paragraphs.append(paragraph(words).lstrip())
    if not only and (words := occupancy_text(folder)):
        paragraphs.append("achieved occupancy\n" + paragraph(words))
    if left:
        paragraphs.append(f"{pluralize(left, 'sentence')} more: --all\n")
    return "\n".join(paragraphs)


def program_text(folder: Path, most: int | None, form: str) -> str:
    """The findings of a folder of `occbench attach`, in a format. Raises as read_attached, CommandError."""
    program = read_attached(folder)
    if program.kernels.empty:
        raise CommandError(1, program.why_empty)
    found = headings(program.findings, folder)
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
        parts.append(f"{pluralize(left, 'sentence')} more: --all\n")
    return "\n".join(parts)


def paragraph(words: str) -> str:
    """One sentence, indented and wrapped."""
    words = printable(words.replace("`", ""))
    return fill_lines(words, WIDTH, initial_indent="  ", subsequent_indent="    ") + "\n"


def split_words(words: list[str]) -> tuple[Path | None, list[str]]:
    """The folder, if the first word is one, and the experiments."""
    if words and (Path(words[0]).is_dir() or not words[0].isidentifier()):
        return Path(words[0]), words[1:]
    return None, words


def print_order(folder: Path, everything: bool, output: Path | None) -> None:
    """Prints block_order.csv as text, or draws it into a PNG or SVG. Raises CommandError."""
    with reading(folder):
        if output is None:
            print(order_text(folder, everything=everything), end="")
            return
        from occbench_tools.plot import png, svg  # matplotlib takes a second to load
        from occbench_tools.plot.block_order import block_order

        figure = block_order(read_order(folder))
        write_whole(output, (svg if output.suffix == ".svg" else png)(figure))
        print(printable(output))


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
    parser.add_argument("--order", action="store_true", help=f"draw SMs over time, of DIR's {FILE}")
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="with --order: PNG, or SVG by its name (default: as text)"
    )
    options = parser.parse_args(arguments)
    most = None if options.all else MAIN
    named, only = split_words(options.words)
    if options.output and not options.order:
        parser.error("--output goes with --order; occbench plot draws experiments")
    if options.order:
        if named is None or only:
            parser.error(f"--order takes one folder, which has {FILE}")
        print_order(named, options.all, options.output)
        return 0
    folder = named or newest("occbench explain", of=ALL)
    with reading(folder):
        if is_attached(folder):
            if only:
                words = (
                    f"{only[0]} is not a folder, and {folder} is of `occbench attach`: it has no experiments"
                )
                parser.error(printable(words))
            print(program_text(folder, most, options.format), end="")
            return 0
        if strangers := [name for name in only if name not in experiment_names(*read_folder(folder))]:
            names = ", ".join(experiment_names(*read_folder(folder)))
            parser.error(printable(f"no experiment {strangers[0]} in {folder}; there are: {names}"))
        if options.format == "json":
            found = {k: v[:most] for k, v in sentences_of(folder).items() if k in only or (v and not only)}
            text = as_json(found)
        elif options.format == "markdown":
            text = table(folder, folder.as_posix(), most, only)
            if not only and (words := occupancy_text(folder)):
                text += f"\n{prose(words)}\n"
        else:
            text = plain_text(folder, most, only)
    print(text, end="")
    notes = read_whole(folder, samples=False, strict=False).warnings
    for note in notes:
        print_error("occbench explain", note)
    return 1 if notes else 0
