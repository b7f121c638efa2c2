# SPDX-License-Identifier: Apache-2.0
"""occbench report, of a folder of `occbench attach`: the document that the page is made of.

One sentence for the whole program, a picture of the kernels with the most GPU time, the table of all, and
what was skipped. The page's script sets words as text only.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from occbench_tools.attached import caps, registers
from occbench_tools.attached.findings import add_command
from occbench_tools.attached.folder import Attached
from occbench_tools.attached.text import (
    ROOM,
    count_text,
    fewer_warps,
    grid,
    is_in_graph,
    name_of,
    occupancy,
    percent,
    shape,
    time_of,
)
from occbench_tools.report.payload import flatten

LARGEST = 10  # kernels of the picture
MOST = 1000  # rows of the table
HEAD = [
    "kernel", "GPU time", "verdict", "next step", "with fewer warps", "one launch", "launches", "occupancy",
    "limited by", "grid", "block",
]  # fmt: skip
NARROW = 30  # characters of a name over a picture
FOOT = (
    "Slowdowns are of the median launch, against launches with the L1 pinned and all warps; bars are 95 % "
    "intervals. The next step is extrapolated. Every number is of kernels.csv, arms.csv and env.json."
)


def title(folder: Attached) -> str:
    """'Occupancy in python train.py'"""
    return f"Occupancy in {folder.program or 'a program'}"


def document(folder: Attached, binaries: list[Path]) -> dict[str, Any]:
    """The document for report.page.render. `binaries`: files that may hold the kernels' code."""
    findings = folder.findings
    lines = registers.section(folder, binaries)
    sections = [
        caps.table(folder, MOST),
        picture_section(folder),
        lines,
        table(folder),
        skipped_section(folder),
    ]
    lower = add_command(findings["apply"], findings, folder.path).replace("`", "")
    lead = " ".join(filter(None, [findings["program"], lower]))
    env = folder.env | dict(gpus=[], processes=[str(each.get("command")) for each in folder.env["processes"]])
    run = dict(
        label=folder.gpus, model=False, date=str(env.get("created_utc", "")), toolkit="", driver="",
        commit=str(env.get("git_commit") or ""), said=findings["summary"],
        notes=[*folder.warnings, *env["complaints"]], env=flatten(env),
    )  # fmt: skip
    return dict(
        runs=[run], units={}, axes={}, docs={}, cliff_columns=[], experiments=[], side="Findings",
        lead=lead, foot=FOOT, sections=[each for each in sections if each],
    )  # fmt: skip


def kernel_name(row: pd.Series, room: int = ROOM) -> dict[str, str]:
    """The short name and the whole one."""
    place = f" in {row['range']}" if isinstance(row["range"], str) else ""
    return dict(name=name_of(row, room), full=row["kernel"] + place)


def picture_section(folder: Attached) -> dict[str, Any]:
    """The picture of the largest kernels, of those with a time at fewer warps where there are any."""
    measured = folder.kernels[[bool(each["levels"]) for each in folder.findings["verdicts"]]]
    rows = (folder.kernels if measured.empty else measured).head(LARGEST)
    which = "kernels with the most GPU time" if measured.empty else "largest kernels that were measured"
    panels = []
    for _, row in rows.iterrows():
        verdict = folder.verdicts[row["kernel_id"]]
        points = [
            [round(100 * level[name], 4) for name in ("warps", "slowdown", "low", "high")]
            for level in verdict["levels"]
        ]
        more = [f"{percent(row['gpu_time_share'])} of GPU time, grid {grid(row)}"]
        more += [verdict["advice"]] * bool(row["next_step"])
        panels.append(kernel_name(row, NARROW) | dict(verdict=verdict["sentence"], more=more, points=points))
    share = percent(rows["gpu_time_share"].sum(), 0)
    lead = (
        "How much longer a launch takes with fewer warps. Bars are 95 % intervals. Dotted: time in inverse "
        "proportion to the warps."
    )
    return dict(
        id="largest", title=f"The {which}", lead=lead, experiment=None,
        before=[dict(kind="panels", of=panels)],
        first=f"{count_text(len(rows), 'kernel')} with {share} of GPU time.",
    )  # fmt: skip


def table(folder: Attached) -> dict[str, Any]:
    """The table of all kernels, as many as a page holds."""
    rows = folder.kernels.head(MOST)
    more = len(folder.kernels) - len(rows)
    lead = "By GPU time; a click on a column's head sorts by it."
    if more:
        lead += f" {count_text(more, 'kernel')} more in kernels.csv."
    needing = folder.findings["needing"]["kernels"]
    if is_in_graph(folder.kernels).any():
        lead += " In the row of a kernel within a CUDA graph all changes are of the graph's time."
    return dict(
        id="kernels", title="All kernels", lead=lead, experiment=None,
        first=f"{count_text(needing, 'kernel')} of {len(folder.kernels):,} need occupancy.",
        before=[dict(kind="sortable", head=HEAD,
                     body=[cells(row, folder.verdicts[row["kernel_id"]]) for _, row in rows.iterrows()])],
    )  # fmt: skip


def cells(row: pd.Series, verdict: dict[str, Any]) -> list[Any]:
    """A kernel's cells: text, text with the number to sort by, or a name."""
    levels = verdict["levels"]
    blocks = int(row["grid_x"]) * int(row["grid_y"]) * int(row["grid_z"])
    threads = int(row["block_x"]) * int(row["block_y"]) * int(row["block_z"])
    worst = levels[-1]["slowdown"] if levels else None
    return [
        kernel_name(row),
        [percent(row["gpu_time_share"]), float(row["gpu_time_share"])],
        verdict["sentence"],
        [verdict["advice"], None if pd.isna(row["gain"]) else float(row["gain"])],
        [fewer_warps(levels), worst],
        [time_of(row["time_mean_s"]), float(row["time_mean_s"])],
        [f"{row['launches']:,}", int(row["launches"])],
        [occupancy(row), float(row["occupancy"])],
        "-" if pd.isna(row["limiter"]) else row["limiter"].replace("+", " + "),
        [grid(row), blocks],
        [shape(row, "block"), threads],
    ]


def skipped_section(folder: Attached) -> dict[str, Any]:
    """The section on skipped kernels."""
    rows = folder.findings["skipped"]
    body = [[row["why"], f"{row['kernels']:,}", percent(row["gpu_time_share"])] for row in rows]
    share = percent(sum(row["gpu_time_share"] for row in rows))
    blocks = [dict(kind="table", head=["why", "kernels", "GPU time"], body=body)] if body else []
    if captured := int(folder.kernels["captured"].sum()):
        text = f"{count_text(captured, 'launch')} captured into CUDA graphs: counted, not timed one by one."
        blocks.append(dict(kind="text", text=text))
    return dict(
        id="skipped", title="Skipped", experiment=None, first=f"{share} of GPU time.",
        lead="Nothing was changed in these kernels: they could hang, or have no fewer blocks to run with."
        if body
        else "Nothing was skipped.",
        before=blocks,
    )  # fmt: skip
