# SPDX-License-Identifier: Apache-2.0
"""One page per experiment, and the list of them.

The question, the dial, what is expected and its source are read from benchmarks/NAME.cpp; what the GPU says
from the committed runs; the rest from docs/data/experiments.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from occbench_tools import explain

from occbench_docs import DOCS, ROOT, DocsError
from occbench_docs.markdown import table
from occbench_docs.runs import Run, runs

FOLDER = DOCS / "experiments"
SPDX = "<!-- SPDX-License-Identifier: Apache-2.0 -->"
SENTENCES = 3  # that a page says of a run, at most
SHELVES = {
    "dials": "What varies one resource",
    "mechanisms": "How the hardware works",
    "everyday": "Kernels of everyday work",
}


@dataclass(frozen=True)
class Experiment:
    """What is said of one before it runs."""

    name: str
    question: str
    dial: str
    expected: str
    source: str  # may be empty
    shelf: str
    why: str
    next: Sequence[str]


def of_source(path: Path) -> dict[str, str]:
    """What benchmarks/NAME.cpp says: question and dial of its Experiment, the rest of its header."""
    text = path.read_text(encoding="utf-8")
    header = re.match(r"(?://.*\n)+", text)
    said = " ".join(line.removeprefix("//").strip() for line in header[0].splitlines()[1:]) if header else ""
    parts = dict(re.findall(r"(Question|Expected|Found): (.*?)(?= (?:Question|Expected|Found): |$)", said))
    fields = {
        name: "".join(re.findall(r'"([^"]*)"', found[1]))
        for name in ("question", "dial")
        if (found := re.search(rf'\.{name} = ((?:"[^"]*"\s*)+)', text))
    }
    if len(fields) < 2 or not {"Question", "Expected"} <= set(parts):
        raise DocsError(
            f"{path.relative_to(ROOT)} lacks a question, a dial, or 'Question:' and 'Expected:' on top"
        )
    source = parts["Question"].rpartition("?")[2].strip().removesuffix(".")
    return {
        name: plain(words)
        for name, words in (fields | {"expected": parts["Expected"], "source": source}).items()
    }


@lru_cache(maxsize=1)
def experiments() -> dict[str, Experiment]:
    """Every experiment of the program, in the order of docs/data/experiments.toml."""
    path = DOCS / "data" / "experiments.toml"
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {
        source.stem: source
        for source in (ROOT / "benchmarks").glob("*.cpp")
        if "const AddExperiment " in source.read_text(encoding="utf-8")
    }
    if gone := sorted(set(told) - set(found)):
        raise DocsError(f"docs/data/experiments.toml has {', '.join(gone)}, which benchmarks/ has not")
    for name, words in told.items():
        if words["shelf"] not in SHELVES or not set(words["next"]) <= set(told):
            raise DocsError(
                f"docs/data/experiments.toml: {name} names a shelf or a next one that is not there"
            )
    nothing = dict(shelf="everyday", why="", next=())  # a new experiment needs no word here to have a page
    return {
        name: Experiment(name, **of_source(found[name]), **(nothing | told.get(name, {})))
        for name in [*told, *sorted(set(found) - set(told))]
    }


def experiment(name: str) -> Experiment:
    if name not in experiments():
        raise DocsError(f"no experiment '{name}'")
    return experiments()[name]


@lru_cache
def all_sentences(run: Run) -> dict[str, list[str]]:
    return explain.sentences_of(run.folder)


def sentences(run: Run, name: str) -> list[str]:
    """What a run says of an experiment, the most telling first. Empty where it has no row of it."""
    experiment(name)
    return all_sentences(run).get(name, [])[:SENTENCES]


def said(run: Run, name: str) -> str:
    return "\n".join(f"- {words}" for words in sentences(run, name)) or "Not in this run."


def families(name: str) -> str:
    """The kernels that an experiment runs, as their files."""
    found = sorted({family for run in runs() for family in run.of(name)["family"]})
    return ", ".join(f"`kernels/{family}.cu`" for family in found)


def page(name: str) -> str:
    """The page of one experiment, without its marks."""
    it = experiment(name)
    first = runs()[0]
    rows = first.of(name)
    told = []
    for run in runs():
        told.append(f"## What one {run.gpu} says")
        if run is first and len(rows):
            told.append(f"![{name} on one {run.gpu}](../images/{name}.png)")
        told += [f"`occbench explain {name}` says:", said(run, name)]
    kernels = families(name)
    onward = "\n".join(f"- [{other}]({other}.md): {experiment(other).question}" for other in it.next)
    return "\n\n".join(
        [
            f"# {name}",
            f"*Question:* {it.question}",
            *(["## Why it matters", it.why] if it.why else []),
            "## What to expect",
            it.expected,
            *([f"Source: {it.source}."] if it.source else []),
            *told,
            "## Run it",
            f"```console\n$ occbench run --experiment {name}\n$ occbench explain {name}\n```",
            f"The dial is `{it.dial}`. The committed run, preset `{first.env['preset']}`, "
            f"has {len(rows)} valid cases. "
            f"The question is asked in `benchmarks/{name}.cpp`" + (f", of {kernels}." if kernels else "."),
            *(["## What to look at next", onward] if onward else []),
        ]
    )


def index() -> str:
    """The list of experiments, by shelf."""
    first = runs()[0]
    parts = []
    for shelf, title in SHELVES.items():
        rows = [
            [
                f"[{it.name}]({it.name}.md)",
                it.question,
                f"`{it.dial}`",
                f"{len(first.of(it.name))}",
            ]
            for it in experiments().values()
            if it.shelf == shelf
        ]
        parts.append(f"## {title}\n\n{table(['experiment', 'question', 'dial', 'cases'], rows)}")
    return "\n\n".join(parts)


def plain(text: str) -> str:
    """Text of a C++ file for a page: __names__ are code, and no bold."""
    return re.sub(r"(?<![`\w])(__\w+__)", r"`\1`", text)


def skeletons() -> dict[Path, str]:
    """The page files that must be there, with what stands around their block."""
    return {
        FOLDER / f"{name}.md": f"{SPDX}\n<!-- generated: page {name} -->\n<!-- /generated -->\n"
        for name in experiments()
    }
