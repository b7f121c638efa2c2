# SPDX-License-Identifier: Apache-2.0
"""Figures on the memory within an SM and its neighbours': tiles, L1, shared memory, clusters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from occbench_tools.analysis import best, is_curve, l1_kib
from occbench_tools.plot.sheet import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    INK,
    VERMILION,
    behind,
    bytes_name,
    ceiling,
    curve,
    curves,
    join,
    name_ends,
    note,
    occupancy_on_top,
    panel,
    shades,
    sheet,
)  # fmt: skip


def tiled_matmul(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Speed of each form of the multiplication over occupancy."""
    figure, (axes,) = sheet(1)
    rows = rows.assign(occupancy=100 * rows["occupancy_theoretical"])
    colours = {"register": BLUE, "textbook": VERMILION, "runtime": GREEN}
    ends = [(line, name, colours.get(name.split("-")[0], INK)) for name, line in rows.groupby("variant")]
    for line, _, colour in ends:
        curve(axes, line, "occupancy", color=colour)
    axes.set(xlabel="Theoretical occupancy (%)", ylabel=rows["unit"].iloc[0], xlim=(0, 118), yscale="log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    limits = axes.get_ylim()
    axes.set_yticks(
        [tick for tick in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100) if limits[0] < tick < limits[1]]
    )
    name_ends(axes, ends, "occupancy")
    return figure


def transpose(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the transpose over warps, for each conflict; four elements a thread, and eight."""
    x = "warps_per_sm"
    rows = rows[rows["bank_conflict"].notna()]
    figure, panels = sheet(2)
    for axes, elements in zip(panels, (4, 8), strict=True):
        part = rows[rows["ilp"] == elements]
        words = f"{elements} elements per thread, by lanes on one bank"
        if not panel(axes, part, words, "Resident warps per SM"):
            continue
        ends = curves(axes, part, "bank_conflict", x, name="{:g}".format)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, "theoretical DRAM rate", full)
        occupancy_on_top(axes, full)
        name_ends(axes, ends, x)
    return figure


def rows_read(rows: pd.DataFrame) -> Figure:
    """Rate of a matrix's rows over warps: by bytes in flight per thread, and by block size."""
    x = "warps_per_sm"
    figure, (left, right) = sheet(2)
    rows = rows.assign(
        load=[f"{n:g} x {b:g} B" for n, b in zip(rows["ilp"], rows["bytes_per_access"], strict=True)]
    )
    rows = rows.assign(line=rows["block_size"].map("{:g}, ".format) + rows["load"])
    bytes_ = rows["ilp"] * rows["bytes_per_access"]
    ends_only = rows[bytes_.isin([bytes_.min(), bytes_.max()])]  # the others are like them, and in the way
    for axes, part, by, words in (
        (left, rows[rows["block_size"] == 256], "load", "Blocks of 256, by loads in flight per thread"),
        (right, ends_only, "line", "By block size: the least and the most in flight"),
    ):
        if not panel(axes, part, words, "Resident warps per SM"):
            continue
        ends = curves(axes, part, by, x)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, "theoretical DRAM rate", full)
        occupancy_on_top(axes, full)
        name_ends(axes, ends, x)
    return figure


def reduction(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the rows' sums over warps: by bytes in flight per thread, and by block size."""
    return rows_read(rows)


def gemv(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the matrix's rows over warps: by bytes in flight per thread, and by block size."""
    return rows_read(rows)


def rows_held(rows: pd.DataFrame) -> Figure:
    """Rate of a kernel whose rows wait in registers, over warps: by a row's length, by who holds one
    length, how; and of longer rows, where blocks hold some.
    """
    x = "warps_per_sm"
    rows = rows.assign(team=rows["variant"].str.split("-").str[0])
    rows = rows[(rows["team"] != "warp") | (rows["block_size"] == 128)]  # a warp's row knows no block
    warp = rows["team"] == "warp"
    wide = rows["bytes_per_access"] == 16
    free = warp & (rows["register_route"] == "free")
    lengths = {who: set(part["tile_width"].dropna()) for who, part in rows.groupby(warp)}
    both = lengths.get(True, set()) & lengths.get(False, set())
    alike = rows["tile_width"].isin(both)
    plan = [
        (rows[free & wide], "tile_width", "A warp per row, by elements; thin: 4 B", "{:g}".format),
        (
            rows[wide & alike],
            "variant",
            f"Rows of {max(both):g} elements, by who holds them" if both else "By who holds a row",
            lambda variant: re.sub(r"-row\d+-16B", "", variant).replace("-maxnreg", ", cap "),
        ),
    ]
    if len(longer := rows[wide & ~warp & ~alike]):
        words = "A block per row, by elements and threads"
        plan.append((longer, "variant", words, lambda v: re.sub(r"block(\d+)-row(\d+)-16B", r"\2 / \1", v)))
    figure, panels = sheet(len(plan))
    for axes, (part, by, words, name) in zip(panels, plan, strict=True):
        if not panel(axes, part, words, "Resident warps per SM"):
            continue
        if by == "tile_width":
            for _, line in rows[free & ~wide].groupby("variant"):
                curve(axes, line, x, color="0.6", linewidth=0.8, marker="")
        ends = curves(axes, part, by, x, name=name)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, "theoretical DRAM rate", full)
        occupancy_on_top(axes, full)
        name_ends(axes, ends, x)
    return figure


def softmax(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the rows' softmax over warps: by a row's length, and by who holds a row of one length, how."""
    return rows_held(rows)


def layer_norm(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """As of `softmax`, and of rows that only blocks hold."""
    return rows_held(rows)


def scan(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of the prefix sums over warps: by the way that a block scans, and by block size."""
    x = "warps_per_sm"
    form = rows["variant"].str.replace(r"-block\d+", "", regex=True)
    rows = rows.assign(
        form=form.str.replace("kogge_stone-elements1", "a barrier a step")
        .str.replace(r"shuffles-elements(\d+)", r"shuffles, \1 each", regex=True)
        .str.replace("-maxnreg", ", cap ")
    )
    rows = rows.assign(line=rows["block_size"].map("{:4g}: ".format) + rows["form"])
    figure, (left, right) = sheet(2)
    by_block = ["a barrier a step", "shuffles, 8 each"]  # all ways would hide each other
    for axes, part, by, words in (
        (left, rows[rows["block_size"] == 256], "form", "Blocks of 256, by elements of each thread"),
        (right, rows[rows["form"].isin(by_block)], "line", "By block size: barriers, and 8 elements each"),
    ):
        if not panel(axes, part, words, "Resident warps per SM"):
            continue
        ends = curves(axes, part, by, x)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, "theoretical DRAM rate", full)
        occupancy_on_top(axes, full)
        name_ends(axes, ends, x)
    return figure


def convolution(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rate of each filter over warps, by outputs per thread; of the largest by caps and blocks too."""
    x = "warps_per_sm"
    free = rows["register_route"] == "free"
    usual = rows[free & (rows["block_size"] == 128)]
    figure, panels = sheet(["ab", "cd"])
    four = rows[rows["variant"].str.match("radius3-.*points4")]
    names = {
        v: f"cap {v.rpartition('maxnreg')[2]}" if "maxnreg" in v else f"32 x {v[len('radius3-rows')]}"
        for v in four["variant"].unique()
    }
    plan = [
        (usual[usual["variant"].str.startswith(f"radius{radius}")], "ilp",
         f"{2 * radius + 1} x {2 * radius + 1}, by outputs per thread", "{:g}".format)
        for radius in (1, 2, 3)
    ]  # fmt: skip
    plan.append((four, "variant", "7 x 7, 4 outputs per thread, by block and register cap", names.get))
    for axes, (part, by, words, name) in zip(panels, plan, strict=True):
        if not panel(axes, part, words, "Resident warps per SM"):
            continue
        ends = curves(axes, part, by, x, name=name)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, "theoretical DRAM rate", full)
        occupancy_on_top(axes, full)
        name_ends(axes, ends, x)
    return figure


def carveout(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Speed over the share of the L1 that is asked for as shared memory, at equal warps."""
    figure, (axes,) = sheet(1)
    if not panel(axes, rows, "", "Carve-out asked for (% of shared memory)", "% of the kernel's own best"):
        return figure
    colours = [VERMILION, *COLOURS[:1], *COLOURS[2:]]
    ends = curves(axes, rows, "variant", "carveout_percent", "percent", names_of(rows), colours)
    axes.set(ylim=(0, 108), xlim=(-2, 130), xticks=range(0, 101, 10))
    name_ends(axes, ends, "carveout_percent", "percent")
    warps = rows["warps_per_sm"].unique()
    if len(warps) == 1:
        note(axes, 0.01, 0.03, f"{warps[0]:g} warps per SM throughout")
    return figure


def names_of(rows: pd.DataFrame) -> Callable[[str], str]:
    """'sweeps 32 KiB, ILP 4' for a variant of cache_reuse, the variant itself for others."""
    sets = rows.dropna(subset="working_set_bytes").groupby("variant")[["working_set_bytes", "ilp"]].first()

    def name(variant: str) -> str:
        if variant not in sets.index:
            return variant
        size, ilp = sets.loc[variant]
        return f"sweeps {bytes_name(size)}" + (f", ILP {ilp:g}" if ilp > 1 else "")

    return name


def cache_reuse(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Throughput over resident warps for working sets per block, and where they fill the L1."""
    rows = rows[rows["working_set_bytes"].notna()]
    rows = rows.assign(fill=rows["blocks_per_sm"] * rows["working_set_bytes"] / 1024 / l1_kib(rows, env))
    figure, (axes,) = sheet(1)
    if not panel(axes, rows, "", "Resident warps per SM"):
        return figure
    order = sorted(rows["variant"].unique(), key=lambda v: -rows.loc[rows["variant"] == v, "rate"].iloc[-1])
    ends = curves(axes, rows, "variant", "warps_per_sm", "rate", names_of(rows), COLOURS)
    for line, _, colour in ends:
        over = line[line["fill"] > 1]
        axes.plot(over["warps_per_sm"], over["rate"], "o", mfc="w", color=colour, markersize=5, zorder=3)
        if not is_curve(line["warps_per_sm"]):
            continue
        top = best(line)
        axes.plot(top["warps_per_sm"], top["rate"], "*", color=colour, markersize=13, zorder=4)
    occupancy_on_top(axes, (rows["warps_per_sm"] / rows["occupancy_theoretical"]).max())
    ceiling(axes, rows, "the L1's rate", rows["warps_per_sm"].max())
    name_ends(axes, ends, "warps_per_sm")
    note(axes, 0.55, 0.03, "star: best; hollow: blocks x working set pass the L1" if len(order) else "")
    return figure


def shared_latency(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Share of the shared memory's rate over warps for ILP, and with bank conflicts, before a model."""
    figure, (left, right) = sheet(2)
    x, y = "warps_per_sm", "percent_of_ceiling"
    chain = rows.loc[rows["variant"] == "chain", "own_cycles_per_pass"].dropna()
    reads = rows[rows["variant"].str.startswith("read-ilp")]
    usual = reads.groupby("ilp")["bank_conflict"].nunique().idxmax() if reads["ilp"].notna().any() else 1
    plain, apart = reads[reads["bank_conflict"] == 1], reads[reads["ilp"] == usual]
    for axes, part, by, words, name in (
        (left, plain, "ilp", "No conflict: loads in flight per thread", "ILP {:g}"),
        (right, apart, "bank_conflict", f"Lanes that ask one bank at once, ILP {usual:g}", "{:g}"),
    ):
        if not panel(axes, part, words, "Resident warps per SM", "% of the shared memory's rate"):
            continue
        if len(chain):
            for (ilp, lanes), line in part.groupby(["ilp", "bank_conflict"]):
                if not is_curve(line[x]):
                    continue
                places = sorted(line[x])
                model = [100 * min(warps * ilp / chain.iloc[0], 1 / lanes) for warps in places]
                axes.plot(places, model, color=GREY, linewidth=5, alpha=0.35, zorder=0)
        ends = curves(axes, part, by, x, y, name.format, shades(part[by].nunique()))
        axes.set_ylim(0, 104)
        occupancy_on_top(axes, (part[x] / part["occupancy_theoretical"]).max())
        name_ends(axes, ends, x, y)
    if len(chain) and any(is_curve(line[x]) for _, line in apart.groupby("bank_conflict")):
        note(right, 0.2, 0.5, f"grey: min(warps x ILP / {chain.iloc[0]:.1f} cycles, 1 / lanes)")
    return figure


def clusters(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Rates of a neighbour's shared memory over the cluster's size, idle SMs, and a load's latency."""
    x = "cluster_size"
    figure, (left, right) = sheet(2)
    latency = rows[rows["variant"] == "dsmem-latency"]
    rates = rows[(rows["variant"] != "dsmem-latency") & rows[x].notna()]
    lone = rates[rates["blocks_per_sm"] == 1]
    rates = lone if len(lone) else rates
    names = {"smem-read": "own", "dsmem-read": "next block's", "dsmem-spread": "all in turn,\nown among them"}
    shared = rates[rates["variant"].isin(names)]
    if panel(left, shared, "Rate, one block per SM", "Blocks per cluster"):
        back = behind(left, "Idle SMs", 3 * max(4, rates["idle_sms"].max()))
        idle = rates.groupby(x)["idle_sms"].max().dropna()
        back.bar(idle.index, idle, width=0.5, color=GREY, alpha=0.35)
        back.set_yticks(sorted({0, *idle.astype(int)}))
        ends = curves(left, shared, "variant", x, name=lambda variant: names[variant])
        left.set_xlim(0, 1.7 * shared[x].max())
        ceiling(left, shared, "the shared memory's rate", shared[x].max())
        name_ends(left, ends, x)
        left.set_xticks(sorted(shared[x].unique()))
        fma = rates[rates["family"] == "fma_chain"]
        if len(fma) > 1:
            percent = 100 * fma["rate"].min() / fma["rate"].max()
            note(left, 0.3, 0.75, f"FMA chain: {percent:.1f} % of its best\nat {best(fma, x)[x]:g} blocks")
    if panel(right, latency, "Latency of a dependent load", "Blocks per cluster", "SM cycles per load"):
        loads = latency["operations_per_launch"] / latency["grid_size"] / latency["iterations"]
        for column, colour, mark, name in (
            ("own_cycles_per_pass", BLUE, "o", "the kernel's own clock, mean of the SMs"),
            ("cycles_per_pass", "k", "x", "by events: the slowest SM's"),
        ):
            line = latency.assign(y=latency[column] / loads).sort_values(x)
            style = {"linestyle": "-" if mark == "o" else "none", "color": colour, "label": name}
            join(right, line[x], line["y"], marker=mark, **style)
        right.set_ylim(bottom=0)
        right.set_xticks(sorted(latency[x].unique()))
        right.legend(fontsize=9, frameon=False, loc="lower right")
    return figure
