# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML file from a document: template, style, scripts, plotly.js and the data, inlined."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from occbench_tools.escape import html

HERE = Path(__file__).parent
SCRIPTS = ("chart.js", "sketch.js", "attach.js", "report.js")


def script_json(document: dict[str, Any]) -> str:
    """JSON that may stand in a <script>: nothing in it can end the element or begin a comment."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return re.sub("[<>&\x7f-\x9f\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


@cache
def plotly_js() -> str:
    """4.8 MB: a wheel has it beside this file; a checkout has the package plotly."""
    inside = HERE / "plotly.min.js"
    if inside.exists():
        return inside.read_text(encoding="utf-8")
    from plotly.offline import get_plotlyjs  # takes a third of a second

    return get_plotlyjs()


def render(document: dict[str, Any], title: str, first: str = "") -> str:
    """The page. document: payload.document()'s, with `sections` if these are not its experiments (teach,
    attached.page). first: HTML that stands before all sections.
    """
    plotly = plotly_js() if document["experiments"] else ""
    parts = {
        "TITLE": html(title),
        "FIRST": first,
        "STYLE": (HERE / "report.css").read_text(encoding="utf-8"),
        "DATA": script_json(document),
        "PLOTLY": plotly.replace("</script", "<\\/script"),
        "SCRIPT": "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS),
    }
    template = (HERE / "template.html").read_text(encoding="utf-8")
    # One pass: what is put in is never searched for marks.
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda mark: parts[mark[1]], template)
