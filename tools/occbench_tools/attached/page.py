# SPDX-License-Identifier: Apache-2.0
"""occbench report, of a folder of `occbench attach`: the document that the page is made of.

One sentence for the whole program, a picture of the kernels with the most GPU time, the table of all, and
what was skipped. The page's script sets words as text only.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from occbench_tools.attached import caps
from occbench_tools.attached.folder import Attached
from occbench_tools.attached.said import lower_in_all, whole
from occbench_tools.attached.text import (
    ROOM,
    counted,
    fewer_warps,
    grid,
    in_graphs,
    name_of,
    next_step,
    occupancy,
    percent,
    shape,
    skipped,
    summary,
    time_of,
    verdict,
)
from occbench_tools.attached.verdicts import NEEDS
from occbench_tools.report.payload import flat

LARGEST = 10  # kernels that are pictured
MOST = 1000  # rows of the table
HEAD = [
    "kernel", "GPU time", "verdict", "next step", "with fewer warps", "one launch", "launches", "occupancy",
    "limited by", "grid", "block",
]  # fmt: skip
NARROW = 30  # signs of a name over a picture
FOOT = (
    "Slowdowns are of the median launch, against launches with the L1 pinned and all warps; bars are 95 % "
    "intervals. The next step is extrapolated. Every number is of kernels.csv, arms.csv and env.json."
)


def title(folder: Attached) -> str:
    """'Occupancy in python train.py'"""
    return f"Occupancy in {folder.program or 'a program'}"


def document(folder: Attached) -> dict[str, Any]:
    """For report.page.render."""
    kernels = folder.kernels
    sections = [caps.table(folder, MOST), largest(folder), table(folder), alone(kernels)]
    lower = [each.replace("`", "") for each in lower_in_all(folder)]
    lead = " ".join(filter(None, [whole(folder), *lower]))
    env = folder.env | dict(gpus=[], processes=[str(each.get("command")) for each in folder.env["processes"]])
    run = dict(
        label=folder.gpus, model=False, date=str(env.get("created_utc", "")), toolkit="", driver="",
        commit=str(env.get("git_commit") or ""), said=summary(kernels, len(env["processes"])),
        notes=[*folder.warnings, *env["complaints"]], env=flat(env),
    )  # fmt: skip
    return dict(
        runs=[run], units={}, axes={}, docs={}, cliff_columns=[], experiments=[], side="Findings",
        lead=lead, foot=FOOT, sections=[each for each in sections if each],
    )  # fmt: skip


def name(row: pd.Series, room: int = ROOM) -> dict[str, str]:
    """The short name, and the whole one."""
    place = f" in {row['range']}" if isinstance(row["range"], str) else ""
    return dict(name=name_of(row, room), full=row["kernel"] + place)


def largest(folder: Attached) -> dict[str, Any]:
    """The picture: of kernels that have a time at fewer warps, where there are any."""
    measured = folder.kernels[folder.kernels["kernel_id"].isin(folder.levels["kernel_id"])]
    rows = (folder.kernels if measured.empty else measured).head(LARGEST)
    which = "kernels with the most GPU time" if measured.empty else "largest kernels that were measured"
    of = []
    for _, row in rows.iterrows():
        levels = folder.levels_of(row["kernel_id"])
        points = 100 * levels[["warps", "slowdown", "low", "high"]]
        more = [f"{percent(row['gpu_time_share'])} of GPU time, grid {grid(row)}"]
        more += [next_step(row)] * bool(row["next_step"])
        said = dict(verdict=verdict(row), more=more, points=points.round(4).to_numpy().tolist())
        of.append(name(row, NARROW) | said)
    held = percent(rows["gpu_time_share"].sum(), 0)
    lead = (
        "How much longer a launch takes with fewer warps. Bars are 95 % intervals. Dotted: time in inverse "
        "proportion to the warps."
    )
    return dict(
        id="largest", title=f"The {which}", lead=lead, experiment=None,
        before=[dict(kind="panels", of=of)], first=f"{counted(len(rows), 'kernel')} with {held} of GPU time.",
    )  # fmt: skip


def table(folder: Attached) -> dict[str, Any]:
    """All kernels, as many as a page holds."""
    rows = folder.kernels.head(MOST)
    more = len(folder.kernels) - len(rows)
    lead = "By GPU time; a click on a column's head sorts by it."
    if more:
        lead += f" {counted(more, 'kernel')} more in kernels.csv."
    needing = folder.kernels[folder.kernels["verdict"] == NEEDS]
    if in_graphs(folder.kernels).any():
        lead += " In the row of a kernel within a CUDA graph all changes are of the graph's time."
    by_kernel = dict(list(folder.levels.groupby("kernel_id")))
    none = folder.levels.iloc[:0]
    return dict(
        id="kernels", title="All kernels", lead=lead, experiment=None,
        first=f"{counted(len(needing), 'kernel')} of {len(folder.kernels):,} need occupancy.",
        before=[dict(kind="sortable", head=HEAD,
                     body=[cells(row, by_kernel.get(row["kernel_id"], none)) for _, row in rows.iterrows()])],
    )  # fmt: skip


def cells(row: pd.Series, levels: pd.DataFrame) -> list[Any]:
    """A kernel's: words, words with the number that sorts them, or a name."""
    blocks = int(row["grid_x"]) * int(row["grid_y"]) * int(row["grid_z"])
    threads = int(row["block_x"]) * int(row["block_y"]) * int(row["block_z"])
    worst = float(levels["slowdown"].iloc[-1]) if len(levels) else None
    return [
        name(row),
        [percent(row["gpu_time_share"]), float(row["gpu_time_share"])],
        verdict(row),
        [next_step(row), None if pd.isna(row["gain"]) else float(row["gain"])],
        [fewer_warps(levels), worst],
        [time_of(row["time_mean_s"]), float(row["time_mean_s"])],
        [f"{row['launches']:,}", int(row["launches"])],
        [occupancy(row), float(row["occupancy"])],
        "-" if pd.isna(row["limiter"]) else row["limiter"].replace("+", " + "),
        [grid(row), blocks],
        [shape(row, "block"), threads],
    ]


def alone(kernels: pd.DataFrame) -> dict[str, Any]:
    """What was skipped, and why."""
    rows = skipped(kernels)
    body = [[row.why, f"{row.kernels:,}", percent(row.share)] for row in rows.itertuples()]
    held = percent(rows["share"].sum())
    blocks = [dict(kind="table", head=["why", "kernels", "GPU time"], body=body)] if body else []
    if captured := int(kernels["captured"].sum()):
        text = f"{counted(captured, 'launch')} captured into CUDA graphs: counted, not timed one by one."
        blocks.append(dict(kind="text", text=text))
    return dict(
        id="skipped", title="Skipped", experiment=None, first=f"{held} of GPU time.",
        lead="Nothing was changed in these kernels: they could hang, or have no fewer blocks to run with."
        if body
        else "Nothing was skipped.",
        before=blocks,
    )  # fmt: skip
