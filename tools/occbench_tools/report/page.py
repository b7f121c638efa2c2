# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML file from a document: template, style, scripts, uPlot and the data, inlined."""

import json
import re
from pathlib import Path
from typing import Any

from occbench_tools.escape import html

HERE = Path(__file__).parent
UPLOT = HERE.parent / "vendor/uplot"
SCRIPTS = ("chart.js", "draw.js", "attach.js", "report.js")


def script_json(document: dict[str, Any]) -> str:
    """JSON that may stand in a <script>: nothing in it can end the element or begin a comment."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return re.sub("[<>&\x7f-\x9f\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def text(folder: Path, *names: str) -> str:
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def render(document: dict[str, Any], title: str, first: str = "") -> str:
    """The page. document: payload.document()'s, with `sections` if these are not its experiments (teach,
    attached.page). first: HTML that stands before all sections.
    """
    has_charts = bool(document["experiments"])  # a page on a program has pictures of its own
    parts = {
        "TITLE": html(title),
        "FIRST": first,
        "STYLE": text(UPLOT, "uPlot.min.css") * has_charts + text(HERE, "report.css"),
        "DATA": script_json(document),
        "UPLOT": text(UPLOT, "uPlot.iife.min.js") * has_charts,
        "SCRIPT": text(HERE, *SCRIPTS),
    }
    # One pass, so that inserted text is never searched for marks.
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda mark: parts[mark[1]], text(HERE, "template.html"))
