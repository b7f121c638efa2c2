# SPDX-License-Identifier: Apache-2.0
"""One page per experiment, and the list of them.

Question and dial come from the program, the expectation and its source from the header of
benchmarks/CATEGORY/NAME.cpp, findings from the committed runs, and the rest from docs/data/experiments.toml.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from occbench_tools import explain

from occbench_docs import DOCS, ROOT, DocsError, program
from occbench_docs.markdown import table
from occbench_docs.runs import Run, runs

FOLDER = DOCS / "experiments"
SPDX = "<!-- SPDX-License-Identifier: Apache-2.0 -->"
SENTENCES = 3  # of a run on a page, at most
CATEGORIES = {
    "dials": "Vary one resource",
    "mechanisms": "How the hardware works",
    "everyday": "Kernels of real programs",
}


@dataclass(frozen=True)
class Experiment:
    """The parts of an experiment's page that do not depend on a run."""

    name: str
    question: str
    dial: str
    expected: str
    source: str  # may be empty
    category: str
    why: str
    next: Sequence[str]
    path: Path  # of its .cpp


def of_source(path: Path) -> dict[str, str]:
    """'expected' and 'source' of the header of benchmarks/CATEGORY/NAME.cpp. Raises DocsError."""
    text = path.read_text(encoding="utf-8")
    header = re.match(r"(?://.*\n)+", text)
    header_text = (
        " ".join(line.removeprefix("//").strip() for line in header[0].splitlines()[1:]) if header else ""
    )
    parts = dict(
        re.findall(r"(Question|Expected|Found): (.*?)(?= (?:Question|Expected|Found): |$)", header_text)
    )
    if not {"Question", "Expected"} <= set(parts):
        raise DocsError(f"{path.relative_to(ROOT)} has no 'Question:' and 'Expected:' in its header")
    source = parts["Question"].rpartition("?")[2].strip().removesuffix(".")
    return {name: plain(words) for name, words in dict(expected=parts["Expected"], source=source).items()}


def sources() -> dict[str, Path]:
    """The files of the experiments by their names; the folder is the category."""
    return {
        path.stem: path
        for category in CATEGORIES
        for path in sorted((ROOT / "benchmarks" / category).glob("*.cpp"))
    }


@lru_cache(maxsize=1)
def experiments() -> dict[str, Experiment]:
    """Every experiment of the program, in the order of docs/data/experiments.toml."""
    entries = tomllib.loads((DOCS / "data" / "experiments.toml").read_text(encoding="utf-8"))
    listed = json.loads(program.output("occbench list --format json"))["experiments"]
    found = {each["name"]: each for each in listed}
    if gone := sorted(set(entries) - set(found)):
        raise DocsError(f"docs/data/experiments.toml has {', '.join(gone)}, which the program does not have")
    if lost := [name for name, words in entries.items() if not set(words["next"]) <= set(entries)]:
        raise DocsError(f"docs/data/experiments.toml: {lost[0]} names a next experiment that does not exist")
    paths = sources()
    defaults = dict(why="", next=())  # a new experiment needs no entry to have a page
    return {
        name: Experiment(
            name, question=plain(found[name]["question"]), dial=found[name]["dial"], path=paths[name],
            category=paths[name].parent.name, **of_source(paths[name]), **(defaults | entries.get(name, {})),
        )
        for name in [*entries, *sorted(set(found) - set(entries))]
    }  # fmt: skip


def experiment(name: str) -> Experiment:
    if name not in sources():
        raise DocsError(f"no experiment '{name}'")
    return experiments()[name]


@lru_cache
def all_sentences(run: Run) -> dict[str, list[str]]:
    return explain.sentences_of(run.folder)


def sentences(run: Run, name: str) -> list[str]:
    """A run's findings on an experiment, the largest first. Empty if the run has no row of it."""
    experiment(name)
    return all_sentences(run).get(name, [])[:SENTENCES]


def numbered_list(run: Run, name: str) -> str:
    return "\n".join(f"{n}. {words}" for n, words in enumerate(sentences(run, name), 1)) or "Not in this run."


def families(name: str) -> str:
    """The kernels that an experiment runs, as their files or folders."""
    found = sorted({family for run in runs() for family in run.of(name)["family"]})
    each = [path for category in CATEGORIES for path in (ROOT / "kernels" / category).iterdir()]
    paths = {path.stem: f"{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in each}
    return ", ".join(f"`{paths[family]}`" for family in found if family in paths)


def page(name: str) -> str:
    """The page of one experiment, without its marks."""
    described = experiment(name)
    measured = [run for run in runs() if len(run.of(name))]
    found = []
    for run in measured:
        found += [f"On one {run.gpu}:", numbered_list(run, name)]
        if run is runs()[0]:
            found.append(f"![{name} on one {run.gpu}](../images/{name}.svg)")
    kernels = families(name)
    onward = "\n".join(f"- [{other}]({other}.md): {experiment(other).question}" for other in described.next)
    return "\n\n".join(
        [
            f"# {described.question}",
            f"Experiment `{name}` varies `{described.dial}`. "
            + ("\n\n".join(found) or "No committed run has it yet."),
            *(["## Why does it matter?", described.why] if described.why else []),
            "## What is expected?",
            described.expected,
            *([f"Source: {described.source}."] if described.source else []),
            "## How do I run it?",
            f"```console\n$ occbench run --experiment {name}\n"
            f"$ occbench explain {name}{'   # prints the sentences above' if measured else ''}\n```",
            "".join(
                f"The committed run, preset `{run.env['preset']}`, has {len(run.of(name))} valid cases. "
                for run in measured[:1]
            )
            + f"The experiment is `{described.path.relative_to(ROOT)}`"
            + (f", and its kernels are in {kernels}." if kernels else "."),
            *(["## Related experiments", onward] if onward else []),
        ]
    )


def index() -> str:
    """The list of experiments, by category."""
    first = runs()[0]
    parts = []
    for category, title in CATEGORIES.items():
        rows = [
            [
                f"[{each.name}]({each.name}.md)",
                each.question,
                f"`{each.dial}`",
                f"{len(first.of(each.name))}",
            ]
            for each in experiments().values()
            if each.category == category
        ]
        parts.append(f"## {title}\n\n{table(['experiment', 'question', 'dial', 'cases'], rows)}")
    return "\n\n".join(parts)


def plain(text: str) -> str:
    """Text of a C++ file for a page: __names__ become code, so that Markdown does not make them bold."""
    return re.sub(r"(?<![`\w])(__\w+__)", r"`\1`", text)


def skeletons() -> dict[Path, str]:
    """The page files that must exist, each with an empty block."""
    return {
        FOLDER / f"{name}.md": f"{SPDX}\n<!-- generated: page {name} -->\n<!-- /generated -->\n"
        for name in sources()
    }
