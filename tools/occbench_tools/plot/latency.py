# SPDX-License-Identifier: Apache-2.0
"""Figures on what hides latency: warps, work in flight within a warp, and copies that run ahead of it."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from occbench_tools.analysis import best, cusp, in_flight, is_curve, many
from occbench_tools.plot.sheet import (
    BLUE,
    DIPS,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    bytes_name,
    ceiling,
    curve,
    curves,
    join,
    log2,
    name_ends,
    note,
    occupancy_on_top,
    panel,
    shades,
    sheet,
)  # fmt: skip

WARPS = "Resident warps per SM"


def latency_hiding(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Throughput over warps: memory with loads of several widths and ILP, arithmetic with ILP."""
    x = "warps_per_sm"
    figure, panels = sheet(2)
    reads = rows[rows["variant"].str.startswith("read-f32-")]
    loads = {
        "read-f32-16B-ilp4": ("4 x 16 B", BLUE), "read-f32-16B-ilp1": ("1 x 16 B", SKY),
        "read-f32-4B-ilp4": ("4 x 4 B", ORANGE), "read-f32-4B-ilp1": ("1 x 4 B", VERMILION),
    }  # fmt: skip
    chains = {
        "two-operand-ilp4": ("ILP 4", BLUE), "two-operand-ilp2": ("ILP 2", GREEN),
        "two-operand-ilp1": ("ILP 1", VERMILION), "three-operand-ilp1": ("three operands,\nILP 1", PURPLE),
    }  # fmt: skip
    for _, line in reads[~reads["variant"].isin(loads)].groupby("variant"):
        curve(panels[0], line, x, color="0.8", linewidth=0.8, marker="")
    for axes, part, drawn, top, words in (
        (
            panels[0],
            reads,
            loads,
            "theoretical DRAM rate",
            "Memory: reads in flight per thread, number x width",
        ),
        (
            panels[1],
            rows[rows["family"] == "fma_chain"],
            chains,
            "peak",
            "Arithmetic: independent FMA chains",
        ),
    ):
        if not panel(axes, part, words, WARPS):
            continue
        ends = [(part[part["variant"] == v], *name) for v, name in drawn.items()]
        for line, _, colour in ends:
            curve(axes, line, x, color=colour, linewidth=2.2)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, top, full)
        name_ends(axes, ends, x)
        occupancy_on_top(axes, full)
    note(panels[0], 0.5, 0.03, "grey: other widths and ILP")
    note(panels[1], 0.4, 0.57, DIPS)
    return figure


def shared_axis(axes: Axes, rows: pd.DataFrame) -> None:
    """The scale of resident warps, with occupancy on top."""
    occupancy_on_top(axes, (rows["warps_per_sm"] / rows["occupancy_theoretical"]).max())


def intensity(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Share of the roof over warps for FMAs per load, and the warps that come to one share of it."""
    rows = rows[rows["fma_per_load"].notna()]
    needed = cusp(rows)
    ilp = int(rows["ilp"].max()) if len(rows) else 1
    peak = needed[needed["ilp"] == ilp]
    figure, (left, right) = sheet(2)
    line = rows[rows["ilp"] == ilp].assign(fma_per_load=lambda r: r["fma_per_load"].astype(int))
    words = f"{many(ilp, 'load')} in flight per thread; named by FMAs per load"
    if panel(left, line, words, WARPS, "% of its roof"):
        colours = shades(line["fma_per_load"].nunique())
        ends = curves(left, line, "fma_per_load", "warps_per_sm", "percent_of_ceiling", colours=colours)
        left.set_ylim(0, 104)
        shared_axis(left, line)
        name_ends(left, ends, "warps_per_sm", "percent_of_ceiling")
        note(left, 0.38, 0.03, "roof: DRAM, or FP32 where it is the lower")
        for share in peak["share"].unique():  # that the right panel is about
            left.plot([0, line["warps_per_sm"].max()], [share] * 2, "--", color=INK, linewidth=1)
    if panel(right, needed, "Warps per SM for one share of the roof", "FMAs per load", WARPS):
        needed = needed.assign(place=needed["fma_per_load"].clip(lower=0.5))
        for (loads, part), colour in zip(needed.groupby("ilp"), (VERMILION, BLUE, GREEN), strict=False):
            name = f"{part['share'].iloc[0]:g} % of the roof, {many(loads, 'load')} in flight"
            join(right, part["place"], part["warps"], marker="o", color=colour, linewidth=2.2, label=name)
        log2(right, needed["place"], lambda place: f"{place:g}" if place >= 1 else "0")
        right.set(xlim=(0.4, 1.3 * needed["place"].max()), ylim=(0, 1.3 * needed["warps"].max()))
        right.legend(fontsize=9, frameon=False, loc="upper right")
    return figure


def all_pairs(rows: pd.DataFrame, several: str, shape: str, sized: str) -> Figure:
    """Pairs over warps: by sums per thread, over `several`, in blocks of 128; and by caps and block sizes.

    Variants are named `shape``block size`-`several``number`, and behind it the cap on registers. `sized`:
    what the size is of.
    """
    x = "warps_per_sm"
    figure, (left, right) = sheet(2)
    prefix = f"{shape}128-"
    usual = rows["variant"].str.fullmatch(rf"{prefix}{several}\d+")
    # those of which there is more than one block or cap; with one sum per thread they crowd the panel
    beside = rows["ilp"].isin(rows.loc[~usual, "ilp"]) & (rows["ilp"] > 1)
    names = {
        v: v.removeprefix(prefix).removeprefix(shape).replace("-maxnreg", ", cap ")
        for v in rows["variant"].unique()
    }
    for axes, part, by, words, name in (
        (left, rows[usual], "ilp", f"Blocks of 128, by {several} per thread", "{:g}".format),
        (right, rows[beside], "variant", f"Register caps, and {sized} of other sizes", names.get),
    ):
        if panel(axes, part, words, WARPS):
            ends = curves(axes, part, by, x, name=name)
            axes.set_ylim(0, 1.15 * rows["rate"].max())
            shared_axis(axes, part)
            name_ends(axes, ends, x)
    return figure


def nbody(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """All pairs over warps: by bodies per thread; and by register caps and block sizes."""
    return all_pairs(rows, "bodies", "tile", "tiles")


def electrostatic(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """A map's pairs of atoms and points over warps: by points per thread; and by caps and block sizes."""
    return all_pairs(rows, "points", "block", "blocks")


def mri(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """A reconstruction's samples and points over warps: by points per thread; and by caps and tiles."""
    return all_pairs(rows, "points", "shared", "tiles")


def constant_memory(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of a reconstruction over warps, samples from constant memory, by the warp's address or by each
    lane's, and from shared memory: by points per thread and register caps."""
    x = "warps_per_sm"
    figure, panels = sheet(2)
    names = dict(zip(rows["variant"], (many(number, "point") for number in rows["ilp"]), strict=True))
    names |= {v: f"{names[v]}, cap {v.rpartition('-maxnreg')[2]}" for v in names if "-maxnreg" in v}
    names |= {v: f"{names[v]}, each lane's address" for v in names if v.startswith("indexed")}
    for axes, memory in zip(panels, ("constant", "shared"), strict=True):
        part = rows[rows["variant"].str.startswith("shared") == (memory == "shared")]
        usual = part["block_size"] == 128
        words = f"Samples from {memory} memory, by points per thread"
        if panel(axes, part[usual], words, WARPS):
            for _, line in part[~usual].groupby("variant"):
                curve(axes, line, x, color="0.6", linewidth=0.8, marker="")
            ends = curves(axes, part[usual], "variant", x, name=names.get)
            axes.set_ylim(0, 1.6 * rows["rate"].max())
            shared_axis(axes, part)
            for _, label, colour in ends:  # beside their ends, of one rate, the names would meet
                axes.plot([], [], "o-", color=colour, markersize=3.5, label=label)
            thin = "thin: blocks of 256" if (~usual).any() else None
            axes.legend(fontsize=9, frameon=False, loc="upper right", title=thin, title_fontsize=9, ncols=2)
    return figure


def bulk_copy(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Read rate over bytes in flight per SM, by the warps that share them, beside ordinary loads."""
    copies = rows[rows["bytes_in_flight"].notna()]
    copies = copies.assign(kib=in_flight(copies) / 1024, bulk=copies["variant"].str.startswith("bulk"))
    loads = rows[rows["bytes_in_flight"].isna()]
    figure, (axes,) = sheet(1)
    if not panel(axes, copies, "", "Asynchronous copies in flight per SM (KiB)", "GB/s"):
        return figure
    for (bulk, warps, colour), style in zip(
        ((True, 1, BLUE), (True, 2, GREEN), (True, 4, VERMILION), (False, 1, SKY), (False, 4, ORANGE)),
        ("-", "-", "-", "--", "--"),
        strict=True,
    ):
        part = copies[(copies["bulk"] == bulk) & (copies["warps_per_sm"] == warps)]
        if len(part):
            axes.plot(part["kib"], part["rate"], ".", color=colour, alpha=0.35)
            line = part.loc[part.groupby("kib")["rate"].idxmax()]
            name = f"{'bulk copies' if bulk else 'cp.async'}, {many(warps, 'warp')} per SM"
            curve(axes, line, "kib", color=colour, linewidth=2.2, linestyle=style, label=name)
    log2(axes, copies["kib"])
    left, right = copies["kib"].min() / 1.2, 1.1 * copies["kib"].max()
    axes.set_xlim(left, right)
    ceiling(axes, copies, "theoretical DRAM rate", right, left)
    lone = loads[loads["warps_per_sm"] == 1]
    most = "best ordinary loads" if is_curve(loads["warps_per_sm"]) else "ordinary loads"
    for part, words, at in ((loads, most, left), (lone, "ordinary loads", right)):
        if len(part):
            top = best(part)
            axes.plot([left, right], [top["rate"]] * 2, color=INK, linewidth=1.2, linestyle=":")
            words = f"{words}, {many(top['warps_per_sm'], 'warp')} per SM: {top['rate']:,.0f} GB/s"
            side = "left" if at == left else "right"
            axes.annotate(words, (at, top["rate"]), (3 if at == left else -3, -3), color=INK, fontsize=9,
                          textcoords="offset points", ha=side, va="top")  # fmt: skip
    axes.legend(fontsize=9, frameon=False, loc="center right", title_fontsize=9, alignment="left",
                title="dots: as many bytes in other stages")  # fmt: skip
    return figure


def pointer_chase(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Cycles of a dependent load over its working set, by two methods, and under load."""
    figure, (left, right) = sheet(2)
    rows = rows.dropna(subset=["own_cycles_per_pass", "working_set_bytes"])
    idle = rows[~rows["variant"].str.startswith("loaded")]
    walk = idle[idle["variant"].str.startswith("walk")]
    walk = walk[walk["carveout_percent"] == walk["carveout_percent"].min()]  # the large L1's
    words = "Idle: one chain of dependent loads"
    if panel(left, idle, words, "Working set", "SM cycles per load"):
        ends = [(walk, "chain", BLUE)] if len(walk) else []
        if len(walk):
            curve(left, walk, "working_set_bytes", "own_cycles_per_pass", color=BLUE)
            left.plot(walk["working_set_bytes"], walk["cycles_per_pass"], "x", color="k", markersize=4)
        lines = idle[idle["variant"].str.startswith("l2-line")]
        left.plot(lines["working_set_bytes"], lines["own_cycles_per_pass"], "_", color=PURPLE, markersize=14)
        cold = idle[idle["variant"].str.fullmatch(r"dram(-\d+MiB)?")]
        if len(cold):
            curve(left, cold, "working_set_bytes", "own_cycles_per_pass", color=VERMILION)
        timed = idle[idle["variant"].str.endswith("-timed")]
        left.plot(timed["working_set_bytes"], timed["own_cycles_per_pass"], "D", mfc="none", color=GREEN)
        log2(left, idle["working_set_bytes"].dropna(), bytes_name)
        left.set_ylim(0, 1.15 * idle["own_cycles_per_pass"].max())
        name_ends(left, ends, "working_set_bytes", "own_cycles_per_pass")
        marks = (("o-", BLUE, "chain, the kernel's own clock"), ("x", "k", "chain, by events"),
                 ("D", GREEN, "single loads, own clock"), ("o-", VERMILION, "chain, L2 empty"),
                 ("_", PURPLE, f"{len(lines)} lines of the L2, each alone"))  # fmt: skip
        for mark, colour, name in marks:
            left.plot(
                [], [], mark, color=colour, mfc="none" if mark == "D" else colour, label=name, markersize=5
            )
        left.legend(fontsize=8.5, frameon=False, loc="upper left")
    loaded = rows[rows["variant"].str.startswith("loaded")]
    words = "Under load: one lane chases, the other warps read"
    if panel(right, loaded, words, "Read by the other warps (GB/s)", "SM cycles per load"):
        ends = []
        for (variant, part), colour in zip(loaded.groupby("variant"), (VERMILION, BLUE), strict=False):
            part = part.sort_values("warps_per_sm")
            join(right, part["rate"], part["own_cycles_per_pass"], marker="o", color=colour, linewidth=1.8)
            ends.append((part, variant.removeprefix("loaded-").replace("ilp", "ILP "), colour))
        top = 1.15 * loaded["own_cycles_per_pass"].max()
        dram = idle[idle["variant"] == "dram"]["own_cycles_per_pass"]
        right.set(xlim=(0, 1.25 * loaded["rate"].max()), ylim=(0, top))
        if len(dram):
            right.axhline(dram.iloc[0], color=INK, linestyle="--", linewidth=1.2)
            note(right, 0.02, dram.iloc[0] / top - 0.05, "idle")
        name_ends(right, ends, "rate", "own_cycles_per_pass")
    return figure


def tensor_core(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Tensor throughput over warps: mma.sync by accumulators, wgmma by the width of its tile."""
    mma, wgmma = (rows[rows["variant"].str.startswith(f"{kind}-")] for kind in ("mma", "wgmma"))
    figure, (left, right) = sheet(2)
    y, label = "percent_of_ceiling", "% of the peak at the measured clock"
    if rows[y].isna().all():
        y, label = "rate", ""
    tensor = pd.concat([mma, wgmma])
    if panel(left, tensor, "Over warps: mma.sync by accumulators per warp", WARPS, label):
        colours = shades(mma["ilp"].nunique())
        ends = curves(left, mma, "ilp", "warps_per_sm", y, lambda n: f"{n:g}", colours)
        stream = wgmma["variant"].str.contains("specialised|pipelined")
        for _, name, colour in ends:
            left.plot([], [], "o-", color=colour, markersize=3.5, label=f"mma.sync, {name}")
        for part, mark, name in ((wgmma[~stream], "D", "tiles that stay"), (wgmma[stream], "x", "streamed")):
            style = dict(color=VERMILION, mfc="none", label=f"wgmma, {name}")
            left.plot(part["warps_per_sm"], part[y], mark, **style)
        left.set_ylim(0, 112 if label else 1.15 * tensor[y].max())
        shared_axis(left, tensor)
        left.legend(fontsize=9, frameon=False, loc="lower right")
    if panel(right, tensor, "Over the clock that the board kept to", "SM clock (GHz)"):
        for part, colour, name in ((wgmma, VERMILION, "wgmma"), (mma, BLUE, "mma.sync")):
            right.plot(part["sm_clock_hz"] / 1e9, part["rate"], "o", color=colour, markersize=4, label=name)
        line = tensor.dropna(subset="ceiling").sort_values("sm_clock_hz")
        if len(line):
            peak = line["ceiling"] * line["rate"] / line["throughput"]
            right.plot(line["sm_clock_hz"] / 1e9, peak, "--", color=INK, linewidth=1.2, label="peak")
        right.set_ylim(0, 1.1 * max(tensor["rate"].max(), peak.max() if len(line) else 0))
        right.legend(fontsize=9, frameon=False, loc="lower center")
    return figure
