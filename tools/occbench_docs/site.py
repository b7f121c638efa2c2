# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hook: removes marks, lists experiments by category, keeps links within docs/,
writes the calculator's page."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from occbench_tools.screen import UNIT

from occbench_docs import ROOT
from occbench_docs.experiments import CATEGORIES, sources
from occbench_docs.marks import without_marks
from occbench_docs.program import binary

# The license is in each file, not on each page.
SPDX = re.compile(r"^<!-- SPDX.*-->\n", re.MULTILINE)
CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<[^>]+>)", re.DOTALL)
LONG = 30  # letters of a name without a space, from which a table gives it several lines
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
LONG_CELL = re.compile(r"<td>((?:(?!</td>).){100,})</td>", re.DOTALL)  # which takes a phone's width
LONG_CODE = re.compile(rf"<code>([^<\s]{{{LONG},}})</code>")
LONG_WORD = re.compile(rf"[A-Za-z]{{{LONG},}}")
OUTSIDE = re.compile(r"\[([^]]+)\]\(\.\./(?:\.\./)?((?!images/)[\w./-]+)\)")


def source_url() -> str | None:
    """The repository's URL, from pyproject.toml alone; None while that names no host."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    url = content["project"]["urls"]["Source"]
    return None if (urlsplit(url).hostname or "").endswith(".invalid") else url


def on_config(config: Any) -> Any:  # noqa: ANN401
    """Links to the repository, and fills in the experiments below the entry that holds their list."""
    config.repo_url = source_url()
    config.repo_name = "Source" if config.repo_url else None
    listed = [
        {
            title: [
                {name: f"experiments/{name}.md"}
                for name, path in sources().items()
                if path.parent.name == category
            ]
        }
        for category, title in CATEGORIES.items()
    ]
    for entry in config.nav:
        for pages in entry.values():
            if pages == ["experiments/index.md"]:
                pages += listed
    return config


# lunr joins a node's edges into its key without a separator, so that an edge "1" to node 23 and edges "1" to
# node 2 and "3" may be one. In pages full of numbers a search then meets terms that no page has, and fails.
NODE_KEY = ("e=e+s+o.id}return e", 'e=e+s+o.id+","}return e')


def on_post_build(config: Any) -> None:  # noqa: ANN401
    """Writes the calculator's page, which the program holds, and mends the search."""
    [worker] = Path(config["site_dir"]).glob("assets/javascripts/workers/search.*.min.js")
    script = worker.read_text(encoding="utf-8")
    if NODE_KEY[0] not in script:
        raise ValueError(f"{worker.name}: is of another lunr; see whether its keys still need the separator")
    worker.write_text(script.replace(*NODE_KEY), encoding="utf-8")
    page = Path(config["site_dir"]) / "calculator-page.html"
    subprocess.run([binary(), "calc", "--page", page], check=True, stdout=subprocess.DEVNULL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """A link to a file of the source tree becomes its name: the site does not contain the file."""
    depth = page.file.src_uri.count("/")
    markdown = without_marks(SPDX.sub("", markdown, count=1))

    def name(found: re.Match[str]) -> str:
        leaves = found[0].count("../") > depth
        return f"{found[1]} (`{found[2]}`)" if leaves else found[0]

    return OUTSIDE.sub(name, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Names the language of a translated page, for screen readers and hyphens."""
    language = page.file.src_uri.partition("/")[0]
    return output.replace('<html lang="en"', f'<html lang="{language}"', 1) if language == "zh" else output


def on_page_content(html: str, **_: Any) -> str:  # noqa: ANN401
    """A number and its unit stay on one line; a long name may end one between its parts. In a table's code a
    bar loses its backslash, which keeps it from ending the cell."""
    parts = CODE.split(html)
    parts[::2] = [
        LONG_WORD.sub(
            lambda word: re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", word[0]), UNIT.sub("\u00a0", part)
        ).replace("_", "_<wbr>")
        for part in parts[::2]
    ]
    # Elsewhere code keeps to its line.
    html = LONG_CELL.sub(r'<td class="long">\1</td>', "".join(parts))
    return TABLE.sub(lambda table: LONG_CODE.sub(broken, table[0].replace("\\|", "|")), html)


def broken(code: re.Match[str]) -> str:
    """A long name in a table, which may end a line after each of its parts."""
    return f'<code class="long">{re.sub(r"(?<=[._/-])(?=.)", "<wbr>", code[1])}</code>'
