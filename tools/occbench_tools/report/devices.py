# SPDX-License-Identifier: Apache-2.0
"""The page's first section for runs of different devices: each one's speed-up over the first."""

import base64

import pandas as pd

from occbench_tools.compare.align import align
from occbench_tools.compare.environment import DIFFERENT, device_relation
from occbench_tools.compare.speedup import bound_rows, law_rows
from occbench_tools.devices.speedup import pairs_of, spread
from occbench_tools.escape import escape_for_picture, html
from occbench_tools.report.payload import Run


def section(runs: list[Run]) -> str:
    """The section's HTML; empty where all runs are of one kind of device or have no case in common."""
    old = runs[0]
    parts = []
    for new in runs[1:]:
        if device_relation(old.env["gpu"], new.env["gpu"]) != DIFFERENT or old.is_model != new.is_model:
            continue
        pairs, _ = align(old.cases, new.cases, False)
        rows = pairs_of(old.cases, new.cases, pairs)
        if len(rows):
            parts.append(speedup(rows, old, new))
    if not parts:
        return ""
    return f'<div id="devices"><h2>What another device buys</h2>{"".join(parts)}</div>'


def speedup(rows: pd.DataFrame, old: Run, new: Run) -> str:
    """One pair: a sentence, the picture and the tables behind it."""
    from occbench_tools import plot  # matplotlib takes a second
    from occbench_tools.plot.devices import devices

    _, median, low, high = spread(rows["speedup"])
    sentence = f"{new.gpu} against {old.gpu}: {low:.2f} to {high:.2f} times as fast, median {median:.2f}."
    wide, narrow = (
        "data:image/svg+xml;base64,"
        + base64.b64encode(plot.svg(devices(escape_for_picture(rows), old.env, new.env, small))).decode()
        for small in (False, True)
    )
    picture = (
        f'<picture class="devices"><source media="(max-width: 760px)" srcset="{narrow}">'
        f'<img alt="{html(sentence)}" src="{wide}"></picture>'
    )
    return f'<p class="lead">{html(sentence)}</p>{picture}{table(law_rows(rows))}{table(bound_rows(rows))}'


def table(rows: list[list[str]]) -> str:
    """The rows as an HTML table, the first as its head."""
    if not rows:
        return ""
    head, *body = rows
    lines = "".join("<tr>" + "".join(f"<td>{html(cell)}</td>" for cell in row) + "</tr>" for row in body)
    cells = "".join(f'<th scope="col">{html(cell)}</th>' for cell in head)
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'
