# SPDX-License-Identifier: Apache-2.0
"""Figures of kernels whose threads take elements one by one: elements per thread, warps and register caps."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from occbench_tools.analysis import many
from occbench_tools.plot.latency import WARPS
from occbench_tools.plot.sheet import (
    COLOURS,
    ceiling,
    curve,
    curves,
    name_ends,
    occupancy_on_top,
    panel,
    shades,
    sheet,
)


def elements(
    rows: pd.DataFrame, what: str, one: str, thin: str, roof: str, marks: dict[str, str] | None = None
) -> Figure:
    """Rate of a kernel, each element for itself, over warps in blocks of 128: by `what` a thread has at once
    (in words: `one`s, or where that is empty accesses and their width), and by register caps.

    `thin`: which blocks the thin lines are; `roof`: the ceiling's name, empty where none is drawn; `marks`:
    what a line's name says besides where a variant's has such a part, for lines that are too many to be named
    at their ends.
    """
    x = "warps_per_sm"
    series = rows["variant"].str.replace(r"-maxnreg\d+$", "", regex=True)
    if one:
        dial = [many(number, one) for number in rows["ilp"]]
    else:
        dial = [
            f"{n:g} x {width:g} B" for n, width in zip(rows["ilp"], rows["bytes_per_access"], strict=True)
        ]
    rows = rows.assign(series=series, dial=dial)
    figure, (left, right) = sheet(2)
    usual = rows["block_size"] == 128
    free = rows["register_route"] == "free"
    capped = rows["series"].isin(rows.loc[usual & ~free, "series"])
    names = dict(zip(rows["variant"], rows["dial"], strict=True))
    for part, words in (marks or {}).items():
        names |= {v: f"{names[v]}, {words}" for v in names if part in v}
    names |= {v: f"{names[v]}, cap {v.rpartition('-maxnreg')[2]}" for v in names if "-maxnreg" in v}
    for axes, part, words in (
        (left, rows[usual & free], f"By {what} per thread; thin: {thin} blocks"),
        (right, rows[usual & capped], "Register caps, beside the compiler's choice"),
    ):
        if not panel(axes, part, words, WARPS):
            continue
        if axes is left:
            for _, line in rows[free & ~usual].groupby(["variant", "block_size"]):
                curve(axes, line, x, color="0.6", linewidth=0.8, marker="")
        lines = part["variant"].nunique()
        colours = COLOURS if lines <= len(COLOURS) else shades(lines)
        ends = curves(axes, part, "variant", x, name=names.get, colours=colours)
        full = (part[x] / part["occupancy_theoretical"]).max()
        if roof:
            ceiling(axes, part, roof, full)
        else:
            axes.set_ylim(0, 1.15 * rows["rate"].max())
        occupancy_on_top(axes, full)
        if axes is left and not marks:
            name_ends(axes, ends, x)
        else:  # each ends where its registers say, at the same rate: beside their ends the names would meet
            for _, label, colour in ends:
                axes.plot([], [], "o-", color=colour, markersize=3.5, label=label)
            axes.legend(fontsize=9, frameon=False, loc="lower right", ncols=1 + len(ends) // 8)
    return figure


def black_scholes(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the prices over warps: by options per thread, and by register caps."""
    return elements(rows, "options", "option", "larger", "theoretical DRAM rate")


def adam(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of an optimizer's step over warps: by accesses of each array per thread, and by register caps."""
    return elements(rows, "accesses of each array", "", "larger", "theoretical DRAM rate")


def dequantize(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate at which weights become floats over warps: by loads of them per thread, and by register caps."""
    return elements(rows, "loads of weights", "", "larger", "theoretical DRAM rate")


def lattice_boltzmann(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of a time step over warps: by sites per thread of either lattice, and by register caps."""
    roof, marks = "theoretical DRAM rate", {"d2q9": "D2Q9", "d3q19": "D3Q19"}
    return elements(rows, "sites", "site", "larger", roof, marks)


def monte_carlo(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the simulation over warps: by paths per thread, and by register caps."""
    return elements(rows, "paths", "path", "other", "")


def sha256(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the hashes over warps: by chains per thread and unrolled rounds, and by register caps."""
    return elements(rows, "chains", "chain", "larger", "", {"-rounds64": "unrolled"})
