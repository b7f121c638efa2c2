# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hook: readers see no marks, experiments are listed by shelf, links stay within docs/."""

from __future__ import annotations

import re
from typing import Any

from occbench_docs.experiments import SHELVES, sources
from occbench_docs.marks import without_marks

# The license's line stands in each file, not on each page.
SPDX = re.compile(r"^<!-- SPDX.*-->\n", re.MULTILINE)
CODE = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<[^>]+>)", re.DOTALL)
UNIT = re.compile(r"(?<=\d) (?=(?:%|x|B|KiB|KB|GB/s|TFLOP/s|us|ms|s|GHz|W)(?!\w))")
OUTSIDE = re.compile(r"\[([^]]+)\]\(\.\./(?:\.\./)?((?!images/)[\w./-]+)\)")


def on_config(config: Any) -> Any:  # noqa: ANN401
    """Fills in the experiments below the entry that holds their list."""
    listed = [
        {
            title: [
                {name: f"experiments/{name}.md"}
                for name, path in sources().items()
                if path.parent.name == shelf
            ]
        }
        for shelf, title in SHELVES.items()
    ]
    for entry in config.nav:
        for pages in entry.values():
            if pages == ["experiments/index.md"]:
                pages += listed
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """A link to a file of the source tree becomes its name: the site does not hold it."""
    depth = page.file.src_uri.count("/")
    markdown = without_marks(SPDX.sub("", markdown, count=1))

    def name(found: re.Match[str]) -> str:
        leaves = found[0].count("../") > depth
        return f"{found[1]} (`{found[2]}`)" if leaves else found[0]

    return OUTSIDE.sub(name, markdown)


def on_page_content(html: str, **_: Any) -> str:  # noqa: ANN401
    """A number and its unit stay on one line; a long name may end one at an underscore."""
    parts = CODE.split(html)
    parts[::2] = [UNIT.sub("\u00a0", part).replace("_", "_<wbr>") for part in parts[::2]]
    return "".join(parts)
