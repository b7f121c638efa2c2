# SPDX-License-Identifier: Apache-2.0
"""Figures of kernels whose threads take elements one by one: elements per thread, warps and register caps."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from occbench_tools.analysis import best, many
from occbench_tools.plot.latency import WARPS
from occbench_tools.plot.sheet import ceiling, curve, curves, name_ends, occupancy_on_top, panel, sheet


def lattice_of(variant: str) -> str:
    """'D3Q19', of a variant named d3q19-..."""
    return variant.partition("-")[0].upper()


def elements(
    rows: pd.DataFrame, env: dict[str, Any], subject: str, what: str, one: str, thin: str, roof: str,
    prefix: str = "",
) -> Figure:  # fmt: skip
    """Rate of `subject`, each element for itself, over warps in blocks of 128: by `what` a thread has at once
    (in words: `one`s, or where that is empty accesses and their width), and by register caps.

    `thin`: which blocks the thin lines are; `roof`: the ceiling's name, empty where none is drawn;
    `prefix`: the column of what else the variants differ by.
    """
    x = "warps_per_sm"
    series = rows["variant"].str.replace(r"-maxnreg\d+$", "", regex=True)
    if one:
        dial = [many(number, one) for number in rows["ilp"]]
    else:
        dial = [
            f"{n:g} x {width:g} B" for n, width in zip(rows["ilp"], rows["bytes_per_access"], strict=True)
        ]
    if prefix:
        dial = [f"{word}, {words}" for word, words in zip(rows[prefix], dial, strict=True)]
    rows = rows.assign(series=series, dial=dial)
    title = f"{subject}: warps, {what} per thread and registers hide the same latencies"
    if len(rows):
        top = best(rows)
        percent = 100 * top["occupancy_theoretical"]
        title = f"{subject}: fastest with {top['dial']} per thread, at {percent:.3g} % occupancy"
    figure, (left, right) = sheet(title, env, 2)
    usual = rows["block_size"] == 128
    free = rows["register_route"] == "free"
    capped = rows["series"].isin(rows.loc[usual & ~free, "series"])
    names = dict(zip(rows["variant"], rows["dial"], strict=True))
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
        ends = curves(axes, part, "variant", x, name=names.get)
        full = (part[x] / part["occupancy_theoretical"]).max()
        if roof:
            ceiling(axes, part, roof, full)
        else:
            axes.set_ylim(0, 1.15 * rows["rate"].max())
        occupancy_on_top(axes, full)
        if axes is left:
            name_ends(axes, ends, x)
        else:  # each ends where its registers say, at the same rate: beside their ends the names would meet
            for _, label, colour in ends:
                axes.plot([], [], color=colour, label=label)
            axes.legend(fontsize=9, frameon=False, loc="lower right")
    return figure


def black_scholes(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Rate of the prices over warps: by options per thread, and by register caps."""
    return elements(rows, env, "Black-Scholes", "options", "option", "larger", "theoretical DRAM rate")


def adam(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Rate of an optimizer's step over warps: by accesses of each array per thread, and by register caps."""
    return elements(rows, env, "Adam", "accesses of each array", "", "larger", "theoretical DRAM rate")


def dequantize(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Rate at which weights become floats over warps: by loads of them per thread, and by register caps."""
    return elements(rows, env, "Dequantization", "loads of weights", "", "larger", "theoretical DRAM rate")


def lattice_boltzmann(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Rate of a fluid's time step over warps: by lattice and sites per thread, and by register caps."""
    rows = rows.assign(lattice=[lattice_of(variant) for variant in rows["variant"]])
    roof = "theoretical DRAM rate"
    return elements(rows, env, "Lattice Boltzmann", "sites", "site", "larger", roof, prefix="lattice")


def monte_carlo(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Rate of the simulation over warps: by paths per thread, and by register caps."""
    return elements(rows, env, "Monte Carlo pricing", "paths", "path", "other", "")
