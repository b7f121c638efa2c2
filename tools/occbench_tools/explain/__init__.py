# SPDX-License-Identifier: Apache-2.0
"""occbench explain DIR: what a folder of results says, a few short sentences of numbers per experiment.

A Markdown table, computed from cases.csv and env.json alone, with the pictures that occbench plot draws;
the README's gallery is this table. Below it, what all of them together say of achieved occupancy.
Exit 0 printed, 2 the words of the call, 4 a file could not be read.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from pathlib import Path

from occbench_tools.analysis import read_folder, scaled
from occbench_tools.explain.achieved import achieved
from occbench_tools.explain.blocks import barriers, divergence, energy, waves
from occbench_tools.explain.latency import (
    adam,
    black_scholes,
    bulk_copy,
    constant_memory,
    dequantize,
    electrostatic,
    intensity,
    latency_hiding,
    lattice_boltzmann,
    monte_carlo,
    mri,
    nbody,
    pointer_chase,
    sha256,
    tensor_core,
)
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

# Each yields the clauses of its experiment, from its valid rows. A clause whose rows are missing says so.
FINDINGS = (
    latency_hiding, intensity, same_occupancy, block_size, block_size_pick, registers, spilling,
    launch_bounds_roulette, shared_memory, tiled_matmul, transpose, nbody, reduction, softmax,
    layer_norm, scan, black_scholes, adam, dequantize, lattice_boltzmann, electrostatic, monte_carlo,
    mri, constant_memory, sha256, gemv, convolution, carveout, cache_reuse, bulk_copy, pointer_chase,
    shared_latency, tensor_core, barriers, divergence, waves, clusters, energy,
)  # fmt: skip


class ModelError(Exception):
    """Findings are asked of a run in which nothing was measured."""


def sentence(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[0].upper()}{clause[1:]}."


def sentences(clauses: Iterator[str]) -> str:
    """Each clause as a sentence."""
    return " ".join(map(sentence, list(clauses) or [ABSENT]))


def sentences_of(folder: Path) -> dict[str, list[str]]:
    """What each experiment's rows say, a sentence each, most worth reading first; [] where it has no rows.

    Raises as read_folder does.
    """
    cases, env = read_folder(folder)
    found = {}
    for finding in FINDINGS:
        rows = cases[cases["experiment"] == finding.__name__]
        found[finding.__name__] = [sentence(c) for c in finding(scaled(rows), env)] if len(rows) else []
    return found


def findings(folder: Path) -> Iterator[tuple[str, str]]:
    """Each experiment and what its rows say, empty where it has none. Raises as read_folder does.

    Nor does it speak of a model's run, where nothing was found: ModelError.
    """
    cases, env = read_folder(folder)
    if env["source"] == "model":
        raise ModelError(f"{folder}: a run of the {env['gpu']['name']}: nothing in it was measured or found")
    for finding in FINDINGS:
        rows = cases[cases["experiment"] == finding.__name__]
        yield finding.__name__, sentences(finding(scaled(rows), env)) if len(rows) else ""


def of_occupancy(folder: Path) -> str:
    """What all rows say of achieved occupancy; empty of a run whose blocks did not say where they were."""
    clauses = list(achieved(read_folder(folder)[0]))
    return sentences(iter(clauses)) if clauses else ""


def table(folder: Path, link: str) -> str:
    """The Markdown table of one folder, whose pictures are found at `link`."""
    lines = ["| experiment | picture | what this run says |", "|---|---|---|"]
    for name, words in findings(folder):
        picture = f"![{name}]({link}/{name}.png)" if words else ""
        lines.append(f"| {name} | {picture} | {words or sentences(iter(()))} |")
    return "\n".join(lines) + "\n"


def plain(folder: Path) -> str:
    """The same for a terminal: a paragraph for each experiment that has rows."""
    return "\n".join(
        f"{name}\n{textwrap.indent(textwrap.fill(words.replace('`', ''), 112), '  ')}\n"
        for name, words in findings(folder)
        if words
    )


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="occbench explain", description="Say in a table what each experiment of a results folder found."
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="holds cases.csv, env.json and the pictures")
    parser.add_argument("--plain", action="store_true", help="paragraphs for a terminal, not Markdown")
    options = parser.parse_args(arguments)
    folder = options.folder
    try:
        print(plain(folder) if options.plain else table(folder, folder.as_posix()), end="")
        if words := of_occupancy(folder):
            print(
                f"achieved occupancy\n{textwrap.indent(textwrap.fill(words.replace('`', ''), 112), '  ')}"
                if options.plain
                else f"\n{words}"
            )
    except ModelError as error:
        complain("occbench explain", error)
        return 2
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain("occbench explain", reason(folder, error))
        return 4
    return 0
