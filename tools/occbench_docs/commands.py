# SPDX-License-Identifier: Apache-2.0
"""Every command's --help, as the program prints it."""

import re
import tomllib

from occbench_docs import DOCS, ROOT
from occbench_docs.markdown import console
from occbench_docs.program import output

DEVELOPERS = ("audit",)  # of use only beside the sources
KERNELS = ("caps",)
PAGES = {  # of commands whose page has another name
    "audit": "extending.md", "calc": "your-kernel.md", "calibrate": "model.md",
    "caps": "your-kernel.md", "cliffs": "comparing.md", "compare": "comparing.md",
    "explain": "questions.md", "import-ncu": "nsight.md",
    "list": "experiments/index.md", "machine-code": "whatif.md", "plot": "index.md",
    "predictions": "model.md", "profile": "nsight.md", "report": "index.md", "run": "measures.md",
    "teach": "lab.md", "validate": "row.md",
}  # fmt: skip


PYTHON = "They are Python programs; `pip install 'occbench[report]'` installs the packages they use."


def tools() -> list[str]:
    """The commands that are Python: `occbench WORD` finds occbench-WORD."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [script.removeprefix("occbench-") for script in project["scripts"]]


def built_in() -> list[str]:
    """The commands of the program itself, as its --help lists them."""
    listed = re.findall(r"^  ([a-z][a-z-]+)\s", output("occbench --help"), re.MULTILINE)
    return [word for word in dict.fromkeys(listed) if word not in tools() and word != "occbench"]


def help_block(name: str, program: str) -> str:
    """A command's help, under its public name."""
    text = "\n".join(line.rstrip() for line in output(f"{program} --help").splitlines())
    return console(f"{name} --help", text)


def section(word: str, program: str) -> str:
    """Its heading, a link to the page that explains it, and its help."""
    more = ""
    page = PAGES.get(word, f"{word}.md")
    if (DOCS / page).is_file():
        title = re.search(r"^# (.+)", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)[1]
        more = f"More: [{title}]({page}).\n\n"
    return f"### {word}\n\n{more}{help_block(f'occbench {word}', program)}"


def commands() -> str:
    """A section for each command."""
    everyday = [word for word in tools() if word not in (*DEVELOPERS, *KERNELS)]
    sections = {
        "Commands of the program\n\nThey are built in. Only `inspect --lines` and `--price` call Python.": [
            (word, f"occbench {word}") for word in built_in()
        ],
        f"Commands on your own kernels\n\n{PYTHON}": [
            (word, f"occbench-{word}") for word in tools() if word in KERNELS
        ],
        f"Commands on results\n\n{PYTHON}": [(word, f"occbench-{word}") for word in everyday],
        "Commands for developers\n\nThey need the source tree.": [
            (word, f"occbench-{word}") for word in tools() if word in DEVELOPERS
        ],
    }
    parts = [help_block("occbench", "occbench")]
    for title, words in sections.items():
        parts.append(f"## {title}")
        parts += [section(word, program) for word, program in words]
    return "\n\n".join(parts)
