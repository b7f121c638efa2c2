# SPDX-License-Identifier: Apache-2.0
"""occbench explain [DIR] [EXPERIMENT ...]: what a folder of results says, short sentences per experiment.

Paragraphs for a terminal, a Markdown table with the pictures of occbench plot, or JSON; each computed from
cases.csv and env.json alone. Of a model's run it is what the model predicts, and the first line says so.
Exit 0 printed, 2 the words of the call, 4 a file could not be read.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from occbench_tools.analysis import many, read_folder, scaled
from occbench_tools.command import entry, newest, parser_of
from occbench_tools.curves import TOO_FEW, too_few, what_has_more
from occbench_tools.escape import as_json, link, printable, prose, without_backticks
from occbench_tools.explain.achieved import achieved
from occbench_tools.explain.blocks import barriers, divergence, energy, waves
from occbench_tools.explain.everyday import (
    adam,
    black_scholes,
    constant_memory,
    dequantize,
    electrostatic,
    lattice_boltzmann,
    monte_carlo,
    mri,
    nbody,
    sha256,
)
from occbench_tools.explain.latency import bulk_copy, intensity, latency_hiding, pointer_chase, tensor_core
from occbench_tools.explain.limits import (
    block_size,
    block_size_pick,
    launch_bounds_roulette,
    registers,
    same_occupancy,
    shared_memory,
    spilling,
)
from occbench_tools.explain.memory import (
    cache_reuse,
    carveout,
    clusters,
    convolution,
    gemv,
    layer_norm,
    reduction,
    scan,
    shared_latency,
    softmax,
    tiled_matmul,
    transpose,
)
from occbench_tools.explain.phrases import ABSENT
from occbench_tools.lines import complain, reason

WIDTH = 80

# Each yields the clauses of its experiment, from its valid rows. A clause whose rows are missing says so.
FINDINGS = (
    latency_hiding, intensity, same_occupancy, block_size, block_size_pick, registers, spilling,
    launch_bounds_roulette, shared_memory, tiled_matmul, transpose, nbody, reduction, softmax,
    layer_norm, scan, black_scholes, adam, dequantize, lattice_boltzmann, electrostatic, monte_carlo,
    mri, constant_memory, sha256, gemv, convolution, carveout, cache_reuse, bulk_copy, pointer_chase,
    shared_latency, tensor_core, barriers, divergence, waves, clusters, energy,
)  # fmt: skip


MAIN = 3  # sentences of an experiment, unless all are asked for


def sentence(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[0].upper()}{clause[1:]}."


def said_of(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> list[str]:
    """What the valid rows of one experiment say, a sentence each, most worth reading first.

    Of too few points (curves.too_few) that alone; nothing of no rows, or of an experiment that is not known.
    """
    finding = next((finding for finding in FINDINGS if finding.__name__ == experiment), None)
    if finding is None or rows.empty:
        return []
    rows = without_backticks(rows)
    if words := too_few(experiment, rows, env):
        return [sentence(words)]
    return [sentence(clause) for clause in list(finding(scaled(rows), env)) or [ABSENT]]


def headline(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> str:
    """The first of these, for titles and lists; of an experiment that is not known its name."""
    return next(iter(said_of(experiment, rows, env)), experiment)


def sentences_of(folder: Path) -> dict[str, list[str]]:
    """said_of each experiment of a folder; [] where it has no rows. Raises as read_folder does."""
    cases, env = read_folder(folder)
    return {
        finding.__name__: said_of(finding.__name__, cases[cases["experiment"] == finding.__name__], env)
        for finding in FINDINGS
    }


def of_occupancy(folder: Path) -> str:
    """What all rows say of achieved occupancy; empty of a run whose blocks did not say where they were."""
    return " ".join(map(sentence, achieved(read_folder(folder)[0])))


def table(folder: Path, place: str, most: int | None = MAIN, only: Collection[str] = ()) -> str:
    """The Markdown table of one folder, whose pictures are found at `place`; `only` these experiments."""
    lines = ["| experiment | picture | what this run says |", "|---|---|---|"]
    for name, words in sentences_of(folder).items():
        if only and name not in only:
            continue
        picture = f"![{name}]({link(place)}/{name}.png)" if words else ""
        lines.append(f"| {name} | {picture} | {prose(' '.join(words[:most]) or sentence(ABSENT))} |")
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
        paragraphs.append(name + "\n" + "".join(map(paragraph, shown or [sentence(ABSENT)])))
    if few:
        words = f"These have points {TOO_FEW}{what_has_more(env)}: {', '.join(few)}."
        paragraphs.append(paragraph(words).lstrip())
    if not only and (words := of_occupancy(folder)):
        paragraphs.append("achieved occupancy\n" + paragraph(words))
    if left:
        paragraphs.append(f"{many(left, 'sentence')} more: --all\n")
    return "\n".join(paragraphs)


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


def chosen(words: list[str], known: Collection[str]) -> tuple[Path | None, list[str]]:
    """The folder, if the first word is one, and the experiments. Raises ValueError."""
    folder = None
    if words and words[0] not in known:
        folder, words = Path(words[0]), words[1:]
    for word in words:
        if word not in known:
            raise ValueError(f"no experiment {word}; there are: {', '.join(known)}")
    return folder, words


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
        help="a run's folder (default: the newest under ./results), and experiments (default: all)",
    )  # fmt: skip
    parser.add_argument("-v", "--all", action="store_true", help=f"all sentences, not the first {MAIN}")
    parser.add_argument(
        "--format", choices=("plain", "markdown", "json"), default="plain",
        help="paragraphs; a table with the pictures of occbench plot; an object of lists (default: plain)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    most = None if options.all else MAIN
    try:
        named, only = chosen(options.words, [finding.__name__ for finding in FINDINGS])
    except ValueError as error:
        parser.error(str(error))
    folder = named or newest("occbench explain")
    try:
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
    return 0
