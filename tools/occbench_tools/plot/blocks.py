# SPDX-License-Identifier: Apache-2.0
"""Figures on blocks and the warps in them: waiting, parting ways, beginning and ending; and their energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from occbench_tools.analysis import (
    best,
    busy,
    is_curve,
    many,
    meetings,
    parted,
    per_joule,
    sawtooth,
    turnover,
    waited,
)  # fmt: skip
from occbench_tools.plot.sheet import (
    BLUE,
    GREEN,
    GREY,
    INK,
    VERMILION,
    behind,
    curve,
    curves,
    join,
    log2,
    name_ends,
    note,
    panel,
    sheet,
)  # fmt: skip


def barriers(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """A barrier's price over block size at equal warps, alone and with uneven work, and its name's."""
    rows = meetings(rows)
    figure, panels = sheet(3)
    sync = rows[rows["variant"] == "sync-fma1"]
    uneven = rows[(rows["variant"] == "exchange-uneven") & rows["ratio"].notna()]
    for axes, part, y, words, label in (
        (panels[0], sync, "cycles_per_round", "__syncthreads and one FMA", "SM cycles per barrier"),
        (panels[1], uneven, "ratio", "Uneven work before each barrier", "Time over that without barriers"),
    ):
        if not panel(axes, part, words, "Block size (threads)", label):
            continue
        ends = curves(
            axes, part, "warps_per_sm", "block_size", y, "{:g} warps\nper SM".format, (VERMILION, BLUE, GREEN)
        )
        log2(axes, part["block_size"], "{:.0f}".format)
        axes.set(
            xlim=(part["block_size"].min() / 1.2, 3.5 * part["block_size"].max()),
            ylim=(0, 1.15 * part[y].max()),
        )
        name_ends(axes, ends, "block_size", y)
        if y == "ratio":
            axes.axhline(1, color=INK, linestyle="--", linewidth=1)
    named = rows[rows["variant"].str.startswith("named-") | (rows["variant"] == "exchange")]
    if len(named):  # at the block size that most of them have
        named = named[named["block_size"] == named.groupby("block_size")["variant"].nunique().idxmax()]
    axes = panels[2]
    words = f"Named barriers, blocks of {named['block_size'].min():g}" if len(named) else "Named barriers"
    if panel(axes, named, words, "Barriers: __syncthreads, named 1 ... 16, id at run time"):
        named = named.loc[named.groupby("variant")["blocks_per_sm"].idxmax()]
        order = ["exchange", *(f"named-{n}" for n in (1, 2, 4, 8, 16)), "named-runtime"]
        named = named.assign(place=named["variant"].map({v: i for i, v in enumerate(order)})).sort_values(
            "place"
        )
        back = behind(axes, "Resident blocks per SM", 1.3 * named["blocks_per_sm"].max())
        back.bar(named["place"], named["blocks_per_sm"], width=0.8, color=GREY, alpha=0.35)
        curve(axes, named, "place", color=VERMILION)
        axes.set_xticks(
            named["place"],
            [
                v.removeprefix("named-").replace("exchange", "sync").replace("runtime", "?")
                for v in named["variant"]
            ],
        )
        axes.set_ylim(0, 1.3 * named["rate"].max())
    return figure


def divergence(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Time over the lanes that part ways and over nested branches; and what boundaries cost."""
    rows = parted(rows)
    figure, panels = sheet(3)
    colours = (VERMILION, GREEN, BLUE, "k")
    split = rows[rows["variant"].str.startswith("split-lane")]
    nested = rows[rows["variant"].str.startswith("nested")]
    nested = nested.assign(depth=nested["variant"].str.extract(r"(\d+)$", expand=False).astype(float))
    for axes, part, x, words, label in (
        (panels[0], split, "lanes_apart", "One branch", "Lanes of 32 that part from the others"),
        (panels[1], nested, "depth", "Nested branches", "Depth: 2^depth paths"),
    ):
        if not panel(axes, part, words, label, "Time over that of no branch"):
            continue
        names = "{:g} warps\nper SM".format
        ends = curves(axes, part.dropna(subset="ratio"), "warps_per_sm", x, "ratio", names, colours)
        top = part["ratio"].max()
        if x == "depth":
            depths = np.arange(part[x].max() + 1)
            axes.plot(depths, 2**depths, color=GREY, linewidth=6, alpha=0.4, zorder=0)
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            whole = rows[rows["variant"].isin(["branch-on-warp", "branch-on-block"])]
            axes.plot(np.zeros(len(whole)) - 1, whole["ratio"], "x", color=INK, markersize=6)
            axes.plot([1, part[x].max()], [2, 2], color=GREY, linewidth=6, alpha=0.4, zorder=0)
            axes.set_ylim(0, 1.25 * np.nanmax([top, 2]))
            note(axes, 0.03, 0.03, "x: whole warps or blocks part ways\ngrey: both paths' times")
        axes.set_xlim(right=1.35 * max(1, part[x].max()))
        name_ends(axes, ends, x, "ratio")
    axes = panels[2]
    edge = rows[rows["variant"].str.match("vector|image|full-tested") & rows["loss"].notna()]
    if panel(axes, edge, "Boundary tests", "Warps that diverge (%)", "Useful rate lost; lanes outside (%)"):
        for (warps, part), colour in zip(edge.groupby("warps_per_sm"), (GREEN, BLUE), strict=False):
            axes.plot(
                100 * part["divergent_warps"],
                100 * part["loss"],
                "o",
                color=colour,
                label=f"rate lost, {warps:g} warps per SM",
            )
        axes.plot(
            100 * edge["divergent_warps"],
            100 * edge["outside"],
            "_",
            color=INK,
            markersize=16,
            markeredgewidth=2,
            zorder=1,
            label="lanes that stand outside",
        )
        axes.set_xlim(-1.5, 115 * edge["divergent_warps"].max() + 1)
        axes.set_ylim(bottom=min(0, 110 * edge["loss"].min()))
        axes.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(0, 0.86))
    return figure


def waves(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Time over waves before whole waves' stairs, and a block's turnover over its time."""
    grids, ends_of_blocks = sawtooth(rows), turnover(rows)
    figure, (left, right) = sheet(2)
    grids = grids.assign(relative=lambda g: g["time_median_s"] * np.ceil(g["waves"]) / g["expected"])
    if panel(
        left, grids, "Grids around whole waves", "Waves: grid over resident blocks", "Time over one wave's"
    ):
        steps = np.arange(np.ceil(grids["waves"].max()) + 1)
        left.step(steps, steps, where="pre", color=GREY, linewidth=1)
        left.fill_between(steps, steps, step="pre", color=GREY, alpha=0.18, linewidth=0)
        ends = curves(left, grids, "blocks_per_sm", "waves", "relative", blocks_name, (BLUE, VERMILION))
        left.set(xlim=(0, 1.35 * steps[-1]), xticks=steps)
        left.set_ylim(0, 1.12 * max(steps[-1], grids["relative"].max()))
        name_ends(left, ends, "waves", "relative")
        note(left, 0.02, 0.94, "grey: waves rounded up")
    if panel(
        right,
        ends_of_blocks,
        "Turnover: what a wave adds to the work itself",
        "Time of a block (us)",
        "SM cycles per wave",
    ):
        ends = []
        sure = ends_of_blocks[ends_of_blocks["sure"]]
        for (blocks, part), colour in zip(sure.groupby("blocks_per_sm"), (BLUE, VERMILION), strict=False):
            part = part.sort_values("block_us")
            error = [part["cycles"] - part["low"], part["high"] - part["cycles"]]
            join(right, part["block_us"], part["cycles"], marker="o", color=colour, markersize=4)
            right.errorbar(part["block_us"], part["cycles"], error, fmt="none", ecolor=colour, capsize=3)
            ends.append((part, blocks_name(blocks), colour))
        log2(right, ends_of_blocks["block_us"])
        right.set_xlim(ends_of_blocks["block_us"].min() / 1.3, 3 * ends_of_blocks["block_us"].max())
        right.set_ylim(min(0, 1.2 * sure["low"].min()), 1.3 * sure["high"].max() if len(sure) else 1)
        name_ends(right, ends, "block_us", "cycles")
        if len(sure) < len(ends_of_blocks):
            note(right, 0.03, 0.03, "not drawn: longer blocks, of which too few end to tell")
    return figure


def blocks_name(blocks: float) -> str:
    return f"{many(blocks, 'block')}\nper SM"


def energy(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Speed, and work per joule, over occupancy; each kernel against its best, which is marked."""
    rows = rows.assign(kernel=rows["variant"], per_joule=per_joule(rows), busy=busy(rows))
    swept = rows.groupby("kernel")["occupancy_theoretical"].transform("nunique") > 1
    idle = waited(rows, env).any()
    figure, panels = sheet(2)
    for axes, part, y, words, scale in (
        (panels[0], rows, "throughput", "Speed of single launches", 0),
        (panels[1], rows[rows["per_joule"].notna()], "per_joule", "Work per joule of the whole board", 1),
    ):
        if not panel(axes, part, words, "Theoretical occupancy (%)", "% of the kernel's own best"):
            continue
        part = part.assign(
            occupancy=100 * part["occupancy_theoretical"],
            relative=100 * part[y] / part.groupby("kernel")[y].transform("max"),
        )
        alone = part[~swept]
        ends = curves(axes, part[swept], "kernel", "occupancy", "relative", colours=(VERMILION, BLUE, GREEN))
        axes.set(xlim=(0, 160), ylim=(0, 112), xticks=range(0, 101, 25))
        for line, _, colour in ends:
            top = best(line, "relative")
            if is_curve(line["occupancy"]) and not (scale and idle):
                axes.plot(top["occupancy"], top["relative"], "*", color=colour, markersize=14)
        named = [(line, f"{name}\n{absolute(best(line, y), scale)}", colour) for line, name, colour in ends]
        name_ends(axes, named, "occupancy", "relative")
        lines = [
            f"{row['kernel']}, {row['occupancy']:.3g} %: {absolute(row, scale)}"
            for _, row in alone.iterrows()
        ]
        if lines:
            note(axes, 0.2, 0.04, "\n".join(["at one occupancy only:", *lines]))
        if scale:
            note(axes, 0.2, 0.24, f"device busy {percents(part['busy'])} of the time")
    return figure


def percents(parts: pd.Series) -> str:
    """'12 to 34 %'"""
    low, high = (f"{100 * part:.0f}" for part in (parts.min(), parts.max()))
    return f"{low} to {high} %" if low != high else f"{low} %"


def absolute(row: pd.Series, per_joule: int) -> str:
    """A kernel's best, in words."""
    if not per_joule:
        return f"{row['rate']:,.{0 if row['rate'] > 100 else 1}f} {row['unit']}"
    unit = {"byte/s": "GB", "flop/s": "GFLOP"}.get(row["throughput_unit"], "G operations")
    return f"{row['per_joule'] / 1e9:,.1f} {unit}/J at {row['power_w']:.0f} W"
