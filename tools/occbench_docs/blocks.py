# SPDX-License-Identifier: Apache-2.0
"""The kinds of blocks: `<!-- generated: KIND WORDS -->`.

output COMMAND [| lines=1-12,20] [| exit=2]   the command and what it prints; {run}, {run@h100}: folders
file docs/data/NAME.txt [| lines=1-12]        a committed recording of output that needs a GPU or shows times
source PATH [| lines=1-12]                    a file of the tree, or some of its lines
csv NAME.csv                                  a file of docs/data as a table
table NAME                                    a table of tables.py
explain EXPERIMENT[@GPU]...                   at most three findings of the run on each
achieved [@GPU]                               achieved occupancy over all experiments
predictions [@GPU]                            the errors of the model in that run
claims                                        the claims of the course texts beside our figures
page EXPERIMENT                               its whole page
columns FILE                                  the columns of cases.csv, attach/kernels.csv, ...
"""

import re
from collections.abc import Callable

from occbench_tools import explain

from occbench_docs import ROOT, DocsError, claims, experiments, schema
from occbench_docs.markdown import console, table
from occbench_docs.program import output
from occbench_docs.runs import run_of
from occbench_docs.tables import TABLES, rows_of

LANGUAGES = {".cu": "cuda", ".cpp": "cpp", ".txt": "cmake"}
OPTION = re.compile(r" \| (lines|exit)=(\S+)$")


def options_of(words: str) -> tuple[dict[str, str], str]:
    """The options at the end of a block's words, and what comes before them."""
    options = {}
    while option := OPTION.search(words):
        options[option[1]] = option[2]
        words = words[: option.start()]
    return options, words


def select_lines(text: str, ranges: str) -> str:
    """Some of the lines, counted from 1, '1-12,20,30-'; '...' marks omitted lines."""
    lines = text.rstrip("\n").split("\n")
    selected: list[str] = []
    last = 0
    for part in ranges.split(","):
        found = re.fullmatch(r"(\d+)(-(\d*))?", part)
        if not found or int(found[1]) <= last or int(found[1]) > len(lines):
            raise DocsError(f"lines={ranges}: of {len(lines)} lines, '1-12,20,30-' in rising order")
        first = int(found[1])
        selected += ["..."] * (first > last + 1)
        last = min(int(found[3] or len(lines)) if found[2] else first, len(lines))
        selected += lines[first - 1 : last]
    return "\n".join(selected + ["..."] * (last < len(lines)))


def fill_runs(command: str) -> str:
    """{run} and {run@h100} as folders."""
    return re.sub(r"\{run(?:@(\w+))?\}", lambda found: run_of(found[1] or "").name, command)


def output_block(words: str) -> str:
    options, command = options_of(words)
    command = fill_runs(command)
    printed = "\n".join(line.rstrip() for line in output(command, int(options.get("exit", 0))).splitlines())
    return console(command, select_lines(printed, options["lines"]) if "lines" in options else printed)


def file_block(words: str) -> str:
    """A recording. Its first line is the command that made it, '$ occbench ...'."""
    options, name = options_of(words)
    path = ROOT / name
    if not path.is_file():
        raise DocsError(f"there is no {name}")
    first, _, text = path.read_text(encoding="utf-8").partition("\n")
    if not first.startswith("$ "):
        raise DocsError(f"{name}: its first line must be the command: '$ occbench ...'")
    return console(first[2:], select_lines(text, options["lines"]) if "lines" in options else text)


def source_block(words: str) -> str:
    """A file as code. Lines are counted as in the file."""
    options, name = options_of(words)
    path = ROOT / name
    if not path.is_file():
        raise DocsError(f"there is no {name}")
    text = path.read_text(encoding="utf-8")
    shown = (
        select_lines(text, options["lines"]) if "lines" in options else text.partition("\n")[2].strip("\n")
    )
    return f"```{LANGUAGES[path.suffix]}\n{shown}\n```"


def csv_block(words: str) -> str:
    """A file of docs/data as a table with its header."""
    head, *rows = rows_of(words)
    return table(head, rows)


def explain_block(words: str) -> str:
    """A paragraph, or a list where there are several."""
    texts = {}
    for word in words.split():
        experiment, _, gpu = word.partition("@")
        texts[word] = " ".join(experiments.sentences(run_of(gpu), experiment))
        if not texts[word]:
            raise DocsError(f"occbench explain has no finding on {word}")
    return "\n".join(
        texts.values() if len(texts) == 1 else (f"- {name}: {text}" for name, text in texts.items())
    )


def achieved_block(gpu: str) -> str:
    return explain.occupancy_text(run_of(gpu.removeprefix("@")).folder)


def predictions_block(gpu: str) -> str:
    run = run_of(gpu.removeprefix("@"))
    bounds = run.folder / "counters.csv"
    words = f" --bounds {run.name}/counters.csv" if bounds.exists() else ""
    return output(f"occbench-predictions {run.name}{words} 2>/dev/null")


def table_block(name: str) -> str:
    if name not in TABLES:
        raise DocsError(f"no table '{name}'; there are: {', '.join(TABLES)}")
    return TABLES[name]()


KINDS: dict[str, Callable[[str], str]] = {
    "output": output_block,
    "file": file_block,
    "source": source_block,
    "csv": csv_block,
    "table": table_block,
    "explain": explain_block,
    "achieved": achieved_block,
    "predictions": predictions_block,
    "claims": lambda _: claims.page(),
    "page": experiments.page,
    "columns": schema.columns,
}


def block(words: str) -> str:
    """The lines of one block. DocsError if the kind is unknown or the block cannot be made."""
    kind, _, rest = words.partition(" ")
    if kind not in KINDS:
        raise DocsError(f"no kind of block '{kind}'; there are: {', '.join(KINDS)}")
    return KINDS[kind](rest.strip())
