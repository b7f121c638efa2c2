# SPDX-License-Identifier: Apache-2.0
"""What all figures share: the page, lines with intervals, their names, and what stands behind them."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only, no display

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from occbench_tools.analysis import CURVE_POINTS, is_curve
from occbench_tools.curves import what_has_more
from occbench_tools.escape import picture

# Okabe and Ito's colours, told apart by every kind of colour vision; grey is kept for theory and background.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
GREY, INK = "0.6", "0.35"
DIPS = "dips: see 'Warps come in\nfours', docs/corrections.md"
MODEL = "model"  # gid of the lines that are predictions
BARE = "bare"  # gid of those of too few points to be joined


def sheet(panels: int | list[str]) -> tuple[Figure, list[Axes]]:
    """A page with its panels; head() names it.

    panels: how many in one row; or a plan of rows, a letter for each panel, as matplotlib's mosaics have it.
    """
    plan = [list(range(panels))] if isinstance(panels, int) else list(map(list, panels))
    size = (10 if len(plan[0]) < 3 else 13, 4.375 if len(plan) == 1 else 6.5)
    figure = Figure(figsize=size, layout="constrained", dpi=160)
    axes = list(figure.subplot_mosaic(plan).values())
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def head(figure: Figure, title: str, env: dict[str, Any]) -> None:
    """The title, and below it where the numbers come from and what the lines are; when all is drawn."""
    height = figure.get_size_inches()[1]
    commit = (env.get("git_commit") or "no commit")[:12] + (" (modified)" if env.get("git_dirty") else "")
    source = f"{env['gpu']['name']}, {env['created_utc'][:10]}, commit {commit}"
    style: dict[str, Any] = dict(color=INK, fontsize=9.5)
    if env.get("source") == "model":
        source = f"MODEL, nothing here was measured: {source}"
        style |= dict(color=VERMILION, fontweight="bold")
    drawn = {artist.get_gid() for artist in figure.findobj()}
    if MODEL in drawn:
        source += "; thin grey lines: the model, beforehand"
    if BARE in drawn:
        source += f"; fewer than {CURVE_POINTS} points are not joined{what_has_more(env)}"
    heading: dict[str, Any] = dict(fontsize=13, fontweight="bold")
    titles = wrapped(figure, picture(title), **heading)
    sources = wrapped(figure, picture(source), **style)
    # An empty line of the title for each of the text's.
    words = "\n".join(titles + [""] * len(sources))
    figure.suptitle(words, x=0.01, ha="left", **heading)
    top = 1 - (0.1 + 0.22 * len(titles)) / height
    figure.text(0.01, top, "\n".join(sources), va="top", **style)


def wrapped(figure: Figure, words: str, **style: Any) -> list[str]:  # noqa: ANN401
    """The words in as few lines as the page is wide for."""
    for columns in range(160, 20, -4):
        text = figure.text(0, 0, "\n".join(textwrap.wrap(words, columns, break_on_hyphens=False)), **style)
        fits = text.get_window_extent().width <= 0.98 * figure.bbox.width
        text.remove()
        if fits:
            break
    return textwrap.wrap(words, columns, break_on_hyphens=False)


def panel(axes: Axes, rows: pd.DataFrame, words: str, x_label: str, y_label: str = "") -> bool:
    """Heads a panel; False, and a word in it, when the run has no rows for it. y_label: else the unit."""
    axes.set_title(words, loc="left", fontsize=11)
    axes.set_xlabel(x_label)
    if rows.empty:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "not in this run", transform=axes.transAxes, color=INK, ha="center")
        return False
    axes.set_ylabel(y_label or rows["unit"].iloc[0])
    return True


def as_predicted(rows: pd.DataFrame) -> pd.Series:
    """Predicted over measured throughput of measured rows; NaN where the model said nothing."""
    if "throughput_predicted" not in rows:
        return pd.Series(np.nan, rows.index)
    said = rows["throughput_predicted"].where(
        (rows["throughput_predicted"] > 0) & (rows["source"] == "measured")
    )
    return said / rows["throughput"]


def join(axes: Axes, x: pd.Series, y: pd.Series, **style: Any) -> None:  # noqa: ANN401
    """A line through points in order; where they are too few to be a curve, their marks alone."""
    if not is_curve(x):
        style |= dict(linestyle="none")
        if style.get("gid") == MODEL:
            style |= dict(marker="_", markersize=9)
        else:
            style |= dict(marker=style.get("marker") or ".", gid=BARE if len(set(x)) > 1 else None)
    axes.plot(x, y, **style)


def curve(axes: Axes, rows: pd.DataFrame, x: str, y: str = "rate", **style: Any) -> None:  # noqa: ANN401
    """One line, with the 95 % interval of those points where it is wide enough to be seen.

    y is a throughput, or a time if its name says so (cycles_per_pass, time_median_s, ...). Where it is the
    row's own (a rate, percent or time, and no ratio of two rows), what the model said of it stands behind as
    a thin grey line; not behind curves without marks, which are background themselves.
    """
    rows = rows.sort_values(x)
    style = {"marker": "o", "markersize": 3.5, "linewidth": 1.8} | style
    join(axes, rows[x], rows[y], **style)
    if y.startswith("own_"):  # by the kernel's own clock, and not by the launches' times
        return
    time = "time" in y or "cycles" in y
    said = as_predicted(rows)
    if style["marker"] and (time or y.startswith(("rate", "percent"))) and said.notna().any():
        expected = rows[y] / said if time else rows[y] * said
        join(axes, rows[x], expected, color=GREY, linewidth=0.9, zorder=1.5, gid=MODEL)
    # The longest time is the lowest throughput.
    low, high = (rows["time_median_s"] / rows[f"time_ci95_{end}_s"] for end in ("high", "low"))
    if time:
        low, high = 1 / high, 1 / low
    seen = (high - low) * rows[y] > 0.02 * rows[y].max()
    if seen.any():
        error = np.array([rows[y] * (1 - low), rows[y] * (high - 1)])[:, seen]
        axes.errorbar(rows[x][seen], rows[y][seen], error, fmt="none", ecolor=style["color"], capsize=2)


Ends = list[tuple[pd.DataFrame, str, str]]  # lines: their rows, their name, their colour


def curves(
    axes: Axes,
    rows: pd.DataFrame,
    by: str,
    x: str,
    y: str = "rate",
    name: Callable[[Any], str] = str,
    colours: Sequence[str] = COLOURS,
    **style: Any,  # noqa: ANN401
) -> Ends:
    """A line for each value of column `by`, for name_ends."""
    ends = []
    for (key, line), colour in zip(
        rows.dropna(subset=[x, y]).groupby(by), itertools.cycle(colours), strict=False
    ):
        curve(axes, line, x, y, color=colour, **style)
        ends.append((line, name(key), colour))
    return ends


def shades(count: int) -> list[str]:
    """So many colours of one scale, from dark blue to yellow, in order for every kind of colour vision."""
    scale = matplotlib.colormaps["viridis"]
    return [to_hex(scale(0.9 * i / max(1, count - 1))) for i in range(count)]


def name_ends(axes: Axes, names: Ends, x: str, y: str = "rate") -> None:
    """Names (a line's rows, words, colour) beside the lines' ends, moved apart; wants the final limits.

    All stay within the panel's height: what is drawn beyond it shrinks every panel.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = []
    for rows, words, colour in (name for name in names if len(name[0])):
        end = rows.loc[rows[x].idxmax()]
        height = to_axes.transform((end[x], end[y]))[1]
        ends.append([end[x], round(height, 2), rows[y].mean(), words, colour])
    ends.sort(key=lambda end: end[:3])
    for _ in range(100):
        for below, above in itertools.pairwise(ends):
            room = 0.03 * (2 + below[3].count("\n") + above[3].count("\n"))
            if below[0] == above[0] and (lack := room - (above[1] - below[1])) > 0:
                below[1], above[1] = below[1] - lack / 2, above[1] + lack / 2
        for end in ends:
            margin = 0.03 * (1 + end[3].count("\n"))
            end[1] = min(max(end[1], margin), 1 - margin)
    for end_x, height, _, words, colour in ends:
        axes.annotate(words, (end_x, height), (7, 0), ("data", "axes fraction"), "offset points",
                      va="center", color=colour, fontsize=10)  # fmt: skip


def note(axes: Axes, x: float, y: float, words: str) -> None:
    """Small grey words at a place in parts of the panel."""
    axes.text(x, y, words, transform=axes.transAxes, color=INK, fontsize=9)


def behind(axes: Axes, label: str, top: float) -> Axes:
    """An axis on the right, for what theory or the compiler says; what is drawn on it stands behind."""
    back = axes.twinx()
    axes.set_zorder(back.get_zorder() + 1)
    axes.patch.set_visible(False)
    back.spines["top"].set_visible(False)
    back.set_ylim(0, top)
    back.set_ylabel(label, color=INK)
    back.tick_params(axis="y", colors=INK)
    return back


def staircase(axes: Axes, rows: pd.DataFrame, x: str) -> None:
    """Theoretical occupancy in grey, one flight of steps for each block size if that is not x itself."""
    back = behind(axes, "Theoretical occupancy (%)", 108)
    for _, part in rows.groupby("block_size") if x != "block_size" else [(0, rows)]:
        steps = 100 * part.groupby(x)["occupancy_theoretical"].max()
        if not is_curve(steps.index):
            continue
        back.step(steps.index, steps, where="mid", color=GREY, linewidth=1)
        back.fill_between(steps.index, steps, step="mid", color=GREY, alpha=0.18, linewidth=0)


def ceiling(axes: Axes, rows: pd.DataFrame, words: str, end: float, begin: float = 0) -> None:
    """The dashed line that no kernel can cross, named above its left end; and the y limits that it needs."""
    top, unit = (rows["ceiling"] * rows["rate"] / rows["throughput"]).max(), rows["unit"].iloc[0]
    if pd.isna(top):
        axes.set_ylim(0, 1.1 * rows["rate"].max())
        return
    axes.plot([begin, end], [top, top], color=INK, linestyle="--", linewidth=1.2)
    axes.set_ylim(0, 1.1 * top)
    note(axes, 0.01, 1.015 / 1.1, f"{words}: {top:,.{0 if top > 100 else 1}f} {unit}")


def occupancy_on_top(axes: Axes, full: float) -> None:
    """A second scale for an x of resident warps, of which an SM holds `full`."""
    axes.set(xlim=(0, 1.28 * full), xticks=range(0, int(full) + 1, 8))
    top = axes.secondary_xaxis("top", functions=(lambda w: 100 * w / full, lambda o: full * o / 100))
    top.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 % occupancy"], color=INK, fontsize=9)
    top.tick_params(color=INK, length=3)
    top.spines["top"].set_visible(False)


def log2(axes: Axes, values: Sequence[float], name: Callable[[float], str] = "{:g}".format) -> None:
    """A logarithmic x with a tick at each value, or at some powers of 2 where there are many."""
    axes.set_xscale("log", base=2)
    ticks = sorted(set(values))
    if len(ticks) > 9:
        first, last = (math.ceil(math.log2(end)) for end in (ticks[0], ticks[-1]))
        ticks = [2.0**power for power in range(first, last + 1, math.ceil((last - first) / 6))]
    axes.set_xticks(ticks, [name(tick) for tick in ticks])
    axes.set_xticks([], minor=True)


def bytes_name(count: float) -> str:
    """'64 KiB'"""
    power = next((p for p in (3, 2, 1) if count >= 1024**p), 0)
    return f"{count / 1024**power:g} {('B', 'KiB', 'MiB', 'GiB')[power]}"
