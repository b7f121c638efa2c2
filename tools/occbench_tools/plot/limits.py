# SPDX-License-Identifier: Apache-2.0
"""Figures on what limits occupancy: block size, registers, shared memory; and on choosing among them."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from occbench_tools.analysis import best, is_curve, picks, routes
from occbench_tools.plot.sheet import (
    BLUE,
    COLOURS,
    DIPS,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    VERMILION,
    behind,
    curve,
    name_ends,
    note,
    panel,
    sheet,
    staircase,
)  # fmt: skip


def by_route(axes: Axes, rows: pd.DataFrame, x: str) -> None:
    """One line per block size for the cap `maxnreg`, and hollow marks for the other ways to cap."""
    for (size, part), colour in zip(rows.groupby("block_size"), itertools.cycle(COLOURS), strict=False):
        capped = part["register_route"] == "maxnreg"
        curve(axes, part[capped], x, color=colour, label=f"{size} threads")
        axes.plot(part[x][~capped], part["rate"][~capped], "o", mfc="none", color=colour, markersize=6.5)
    axes.plot([], [], "o", mfc="none", color=INK, markersize=7, label="other routes to the cap")


def registers(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Throughput over registers per thread before the staircase of occupancy, loads and FMAs."""
    x = "registers_per_thread"
    figure, panels = sheet(2)
    for axes, kind, words in zip(panels, ("load", "fma"), ("Loads", "FMA chain"), strict=True):
        axes.set_title(words, loc="left", fontsize=11)
        axes.set(xlabel="Registers per thread", xticks=range(0, 257, 32))
        part = rows[rows["variant"].str.startswith(kind)]
        if part.empty:
            continue
        staircase(axes, part, x)
        by_route(axes, part, x)
        axes.set(ylabel=part["unit"].iloc[0], ylim=(0, 1.08 * part["rate"].max()))
        cliff = part[part["register_route"] == "maxnreg"].groupby(x)[["rate", "occupancy_theoretical"]].max()
        if {31, 33} <= set(cliff.index):
            (rate, full), (after, less) = cliff.loc[31], cliff.loc[33]
            change = 100 * (after / rate - 1)
            words = f"throughput {change:+.0f} %" if abs(change) >= 0.5 else "throughput unchanged"
            axes.annotate(
                f"31 -> 33 registers:\noccupancy {100 * full:.0f} -> {100 * less:.0f} %,\n{words}",
                (33, after), (0.5, 0.93), textcoords="axes fraction", fontsize=10, va="top",
                arrowprops={"arrowstyle": "->", "color": INK},
            )  # fmt: skip
    if panels[0].lines:
        panels[0].legend(loc="center right", fontsize=9, frameon=False)
    note(panels[1], 0.5, 0.6, DIPS)
    return figure


def spilling(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Throughput over registers per thread before the bytes spilled, all values hot and few of them."""
    x = "registers_per_thread"
    figure, panels = sheet(2)
    hot = rows["variant"].str.contains("-hot16-")
    spilled = rows["local_bytes"]
    for axes, here, words in zip(panels, (~hot, hot), ("All 64 values hot", "16 of 64 hot"), strict=True):
        axes.set_title(words, loc="left", fontsize=11)
        axes.set(xlabel="Registers per thread")
        part, bytes_ = rows[here], spilled[here].groupby(rows[x]).min()
        if part.empty:
            continue
        back = behind(axes, "Spilled (bytes per thread)", 3.2 * max(1, spilled.max()))
        back.set_yticks(range(0, int(spilled.max()) + 1, 100))
        back.bar(bytes_.index, bytes_, width=2.4, color=GREY, alpha=0.35)
        large = part["carveout_percent"] == part["carveout_percent"].min()
        by_route(axes, part[large], x)
        small = part[~large & (part["register_route"] == "maxnreg")]
        for (size, carveout), line in small.groupby(["block_size", "carveout_percent"]):
            curve(axes, line, x, color="k", linestyle="--", linewidth=0.9, marker="",
                  label=f"{size} threads, carve-out {carveout} %")  # fmt: skip
        axes.set(ylabel=part["unit"].iloc[0], ylim=(0, 1.25 * part["rate"].max()))
        if not is_curve(part[x]):
            continue
        top = best(part)
        free = part[part["register_route"] == "free"]
        gain = f" = {top['rate'] / free['rate'].max():.2f} x uncapped" if len(free) else ""
        if top[x] in free[x].to_numpy():
            gain = ", uncapped"
        axes.plot(top[x], top["rate"], "*", color="k", markersize=13)
        axes.annotate(
            f"best: {top[x]} registers, {spilled[top.name]:.0f} B spilled,\n"
            f"{top['rate']:.1f} {top['unit']}{gain}", (top[x], top["rate"]), (0, 9),
            textcoords="offset points", ha="right" if top[x] > part[x].median() else "left", fontsize=10,
        )  # fmt: skip
    if panels[0].lines:
        panels[0].legend(
            title=f"carve-out {rows['carveout_percent'].min()} % unless said", alignment="left",
            title_fontsize=9, fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(0, 0.8),
        )  # fmt: skip
    return figure


def percents(rows: pd.DataFrame, x: str, label: str, step: int) -> Figure:
    """Each kernel in percent of its own best, before the staircase of occupancy, on one scale."""
    floor = 40 * (min(rows["percent"].min(), 100 * rows["occupancy_theoretical"].min()) > 45)
    figure, (axes,) = sheet(1)
    staircase(axes, rows, x)
    lines = [line for _, line in rows.groupby("variant")]
    lines.sort(key=lambda line: line["percent"].mean())  # what suffers most comes first
    colours = itertools.cycle(
        (VERMILION, ORANGE, PURPLE, GREEN, BLUE) if len(lines) > 2 else (VERMILION, BLUE)
    )
    ends = [(line, line["variant"].iloc[0], colour) for line, colour in zip(lines, colours, strict=False)]
    for line, _, colour in ends:
        curve(axes, line, x, "percent", color=colour)
    axes.set(xlabel=label, ylabel="% of the kernel's own best", ylim=(floor, 108))
    figure.axes[-1].set_ylim(floor, 108)
    axes.set(xlim=(0, 1.2 * max(1, rows[x].max())), xticks=range(0, int(rows[x].max()) + 1, step))
    name_ends(axes, ends, x, "percent")
    return figure


def block_size(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Speed over block size, each kernel against itself."""
    return percents(rows, "block_size", "Block size (threads)", 128)


def shared_memory(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Speed over the shared memory of a block, each kernel against itself."""
    if len(usual := rows[rows["block_size"] == 256]):  # preset full measures others, too
        rows = usual
    rows = rows.assign(kib=rows["dynamic_smem_bytes"] / 1024)
    return percents(rows, "kib", "Dynamic shared memory per block (KiB)", 32)


ROUTES = {"shared memory": BLUE, "registers": VERMILION, "block size": GREEN}


def same_occupancy(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Each kernel at occupancies that came about by different resources, with a small and a large L1."""
    rows = routes(rows).assign(occupancy=100 * rows["occupancy_theoretical"])
    rows = rows.dropna(subset="occupancy")
    kernels = sorted(rows["kernel"].unique(), key=lambda k: (k.startswith("L1"), k))[:4]
    figure, panels = sheet(max(1, len(kernels)))
    groups = sorted(rows["occupancy"].unique())
    small = rows["carveout_percent"].max()
    for axes, kernel in zip(panels, kernels, strict=False):
        part = rows[rows["kernel"] == kernel]
        words = KERNELS.get(kernel, kernel.replace("L1,", "L1-sensitive kernel,"))
        panel(axes, part, words, "Theoretical occupancy (%)")
        for (route, carveout), dots in part.groupby(["route", "carveout_percent"]):
            shift = 0.22 * (list(ROUTES).index(route) - 1) + (0.08 if carveout < small else 0)
            places = dots["occupancy"].map(groups.index) + shift
            axes.plot(places, dots["rate"], "o", color=ROUTES[route], markersize=7,
                      mfc="none" if carveout < small else ROUTES[route])  # fmt: skip
        axes.set_xticks(range(len(groups)), [f"{group:g}" for group in groups])
        axes.set(xlim=(-0.5, len(groups) - 0.5), ylim=(0, 1.35 * part["rate"].max()))
    for route, colour in ROUTES.items():
        panels[0].plot([], [], "o", color=colour, label=f"by {route}")
    panels[0].plot([], [], "o", mfc="none", color=INK, label="hollow: large L1")
    panels[0].legend(
        fontsize=9, frameon=False, loc="upper left", ncols=2, columnspacing=0.8, handletextpad=0.2
    )
    return figure


KERNELS = {"load": "Loads from DRAM", "fma": "FMA chain"}


def block_size_pick(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """A row for each kernel, worst pick first: every block size's speed, the API's pick and the best."""
    picked = picks(rows).sort_values("loss")
    figure, (axes,) = sheet(1)
    if not panel(axes, rows if len(picked) else rows[:0], "", "% of the kernel's own best"):
        return figure
    for place, row in enumerate(picked.itertuples()):
        line = rows[(rows["family"] == row.family) & (rows["variant"] == row.variant)]
        axes.plot([line["percent"].min(), 100], [place] * 2, color=GREY, linewidth=1, zorder=0)
        axes.plot(line["percent"], [place] * len(line), ".", color=GREY, markersize=8, zorder=1)
        low = line.loc[line["percent"].idxmin()]
        if low["percent"] < 97:
            axes.annotate(f"{low['block_size']:g}", (low["percent"], place), (-6, 0), color=INK, fontsize=9,
                          textcoords="offset points", ha="right", va="center")  # fmt: skip
        pick = 100 * (1 - row.loss)
        axes.plot(100, place, "o", mfc="none", color=BLUE, markersize=11, mew=1.6)
        axes.plot(pick, place, "*", color=VERMILION, markersize=13)
        lost = f"{100 * row.loss:.1f} % behind {row.best:g}" if row.loss >= 0.0005 else "the best"
        axes.annotate(f"{row.pick:g} threads: {lost}", (102.5, place), fontsize=10, va="center",
                      color=VERMILION if row.loss > 0.05 else INK)  # fmt: skip
    for mark, colour, name in (("*", VERMILION, "the API's pick"), ("o", BLUE, "the best"),
                               (".", GREY, "other sizes; the worst one named")):  # fmt: skip
        fill = "none" if mark == "o" else colour
        axes.plot([], [], mark, color=colour, mfc=fill, markersize=10, label=name)
    axes.set_yticks(range(len(picked)), picked["family"] + " " + picked["variant"])
    least = 10 * (rows["percent"].min() // 10)
    axes.set(xlim=(least - 8, 146), xticks=range(int(least), 101, 10), ylabel="")
    axes.set_ylim(-0.6, len(picked) - 0.4)
    axes.legend(fontsize=9, frameon=False, loc="lower left", bbox_to_anchor=(0, 0.97), ncols=3, borderpad=0)
    return figure


def launch_bounds_roulette(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """Three everyday kernels over their registers, by each dial; what spills is hollow."""
    x = "registers_per_thread"
    rows = rows.assign(kernel=rows["variant"].str.split("-").str[0])
    kernels = sorted(rows["kernel"].unique())[:3]
    figure, panels = sheet(max(1, len(kernels)))
    styles = {"maxnreg": ("o", BLUE, "maxnreg"), "launch_bounds": ("s", GREEN, "launch bounds"),
              "maxrregcount": ("^", ORANGE, "maxrregcount"), "free": ("D", "k", "default")}  # fmt: skip
    for axes, kernel in zip(panels, kernels, strict=False):
        part = rows[rows["kernel"] == kernel]
        panel(axes, part, kernel, "Registers per thread")
        for route, (mark, colour, _) in styles.items():
            dots = part[part["register_route"] == route]
            spills = dots["local_bytes"] > 0
            for some, fill in ((dots[spills], "none"), (dots[~spills], colour)):
                axes.plot(some[x], some["rate"], mark, color=colour, mfc=fill, markersize=6.5)
        back = behind(axes, "", 108)
        steps = 100 * part.groupby(x)["occupancy_theoretical"].max()
        back.fill_between(steps.index, steps, step="mid", color=GREY, alpha=0.18, linewidth=0)
        back.set_yticks([])
        top, usual = best(part), part[part["register_route"] == "free"]
        axes.plot(top[x], top["rate"], "*", color=VERMILION, markersize=14)
        gain = f"\n{100 * (top['rate'] / usual['rate'].max() - 1):+.1f} % on default" if len(usual) else ""
        axes.annotate(
            f"best: {top['variant'].split('-', 1)[-1]}{gain}", (top[x], top["rate"]), (0, 9), fontsize=9,
            textcoords="offset points", ha="right" if top[x] > part[x].median() else "left",
        )  # fmt: skip
        axes.set_ylim(0, 1.3 * part["rate"].max())
    for mark, colour, name in styles.values():
        panels[0].plot([], [], mark, color=colour, label=name)
    panels[0].plot([], [], "o", mfc="none", color=INK, label="hollow: spills")
    panels[0].legend(fontsize=8.5, frameon=False, loc="lower right")
    note(panels[-1], 0.02, 0.02, "grey: occupancy")
    return figure
