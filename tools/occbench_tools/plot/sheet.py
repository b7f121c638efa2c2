# SPDX-License-Identifier: Apache-2.0
"""What all pictures share: the page, its titles, and lines with their intervals and predictions."""

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only, no display

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MultipleLocator

from occbench_tools.analysis import CURVE_POINTS, is_curve
from occbench_tools.curves import what_has_more
from occbench_tools.escape import picture
from occbench_tools.explain.phrases import bytes_text, value_text
from occbench_tools.folder import gpu_name
from occbench_tools.layout import axis, ticks
from occbench_tools.plot.names import SIZE, name_lines
from occbench_tools.plot.theme import BLUE, COLOURS, FAINT, GREY, INK, VERMILION, distinct_colours
from occbench_tools.screen import UNIT

WIDTH = 8.0  # inch: at 800 pixels a point of text is 1.4 pixels
NARROW = 3.9
FLAT = 0.9  # of the largest: where all values are above it, y begins at 0
MODEL = "model"  # gid of predictions
BAND = "band"  # gid of a prediction's band
BARE = "bare"  # gid of points too few to join
EMPTY = "empty"  # gid of the word in a panel without rows
HIDDEN = "hidden"  # gid of a panel's word on lines that are not drawn
STYLE = {
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.titlesize": 10, "axes.labelsize": SIZE, "xtick.labelsize": SIZE, "ytick.labelsize": SIZE,
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # of one width
    "grid.color": FAINT, "grid.linewidth": 0.8, "axes.axisbelow": True, "lines.linewidth": 1.7,
    "lines.markersize": 3.5, "svg.hashsalt": "occbench", "xtick.major.size": 3, "ytick.major.size": 0,
    "axes.titlepad": 4, "figure.constrained_layout.h_pad": 0.07, "figure.constrained_layout.w_pad": 0.06,
}  # fmt: skip
matplotlib.rcParams.update(STYLE)


def sheet(
    count: int, strips: bool = False, wide: int = 0, height: float = 2.75, narrow: bool = False
) -> tuple[Figure, list[Axes], list[Axes]]:
    """A page of so many panels, two in a row, the last `wide` and one left over in rows of their own.

    head() adds its title. strips: a low panel with the same x below each panel; these are returned third.
    narrow: one in a row, for a telephone's screen.
    """
    abreast = 1 if narrow else 2
    rows = [
        [str(min(i + k, count - wide - 1)) for k in range(abreast)] for i in range(0, count - wide, abreast)
    ]
    plan = [row for names in rows for row in (names, *([[f"s{name}" for name in names]] if strips else []))]
    tall = len(rows) + wide
    width = NARROW if narrow else WIDTH
    figure = Figure(figsize=(width, 0.6 + height * tall + 0.9 * (tall == 1)), dpi=144, layout="constrained")
    # A panel with a name beside each of its dots takes no room from the others.
    parts = iter(figure.subfigures(bool(rows) + wide, 1, height_ratios=[len(rows)] * bool(rows) + [1] * wide,
                                   squeeze=False)[:, 0]) if wide else iter([figure])  # fmt: skip
    axes_of = {}
    if rows:
        ratios = [4.6, 1] * len(rows) if strips else [1] * len(rows)
        axes_of = next(parts).subplot_mosaic(plan, height_ratios=ratios)
    axes_of |= {str(count - wide + i): part.subplots() for i, part in enumerate(parts)} if wide else {}
    panels = [axes_of[str(i)] for i in range(count)]
    below = [axes_of[f"s{i}"] for i in range(count - wide)] if strips else []
    for panel, strip in zip(panels, below, strict=False):
        strip.sharex(panel)
        panel.tick_params(labelbottom=False)
    return figure, panels, below


def head(figure: Figure, title: str, env: dict[str, Any]) -> None:
    """Names the lines; then adds the title, and below it the source of the numbers and the line styles."""
    drawn = {artist.get_gid() for artist in figure.findobj() if artist.get_gid()}
    commit = f"commit {env['git_commit'][:12]}" if env.get("git_commit") else "no commit"
    commit += " (modified)" if env.get("git_dirty") else ""
    source = f"{gpu_name(env)}, {(env.get('created_utc') or 'no date')[:10]}, {commit}"
    style: dict[str, Any] = dict(color=INK, fontsize=8.5)
    if env.get("source") == "model":
        source = f"MODEL, nothing here was measured: {source}"
        style |= dict(color=VERMILION, fontweight="bold")
    if MODEL in drawn:
        source += "; grey: the model, from code alone"
    if BAND in drawn:
        source += "; band: the prediction's 90 % band"
    if BARE in drawn:
        source += f"; fewer than {CURVE_POINTS} points are not joined{what_has_more(env)}"
    if hidden := sum(int(word.removeprefix(HIDDEN)) for word in drawn if word.startswith(HIDDEN)):
        source += f"; {hidden} more lines in occbench report"
    heading: dict[str, Any] = dict(fontsize=11.5, fontweight="bold", color=INK)
    titles = wrap_text(figure, picture(title), **heading)
    sources = wrap_text(figure, picture(source), **style)
    height = figure.get_size_inches()[1]
    height += 0.19 * len(titles) + 0.15 * len(sources) - 0.3
    taken = 0.16 + 0.19 * len(titles) + 0.15 * len(sources)
    resize(figure, height, taken)
    wrap_titles(figure)
    while legends := name_lines(figure):  # they would take their room from the panels
        height += legends
        resize(figure, height, taken)
    top = 1 - (0.07 + 0.19 * len(titles) + 0.04) / height
    figure.text(0.01, 1 - 0.07 / height, "\n".join(titles), va="top", **heading)
    figure.text(0.01, top, "\n".join(sources), va="top", **style)
    figure.set_layout_engine("none")  # all is placed; saving a file need not lay it out again


def resize(figure: Figure, height: float, taken: float) -> None:
    """Gives the page this height, and the panels all of it but what is `taken` at the top, inch."""
    figure.set_size_inches(figure.get_size_inches()[0], height)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - taken / height))


def wrap_titles(figure: Figure) -> None:
    """Breaks a title that is wider than its panel into two lines."""
    figure.get_layout_engine().execute(figure)
    for axes in figure.axes:
        title = axes.get_title(loc="left")
        text = figure.text(0, 0, title, fontsize=matplotlib.rcParams["axes.titlesize"])
        wide = text.get_window_extent().width / axes.bbox.width
        text.remove()
        if wide > 1:
            axes.set_title(textwrap.fill(title, int(0.95 * len(title) / wide), break_long_words=False))


def wrap_text(figure: Figure, words: str, **style: Any) -> list[str]:  # noqa: ANN401
    """The words in as few lines as fit the page's width."""
    words = UNIT.sub("\u00a0", words)  # a number keeps its unit
    text = figure.text(0, 0, words, **style)
    wide = text.get_window_extent().width / figure.bbox.width
    text.remove()
    columns = max(20, int(len(words) * 0.95 / wide)) if wide > 0.97 else len(words) + 1
    return textwrap.wrap(words, columns, break_on_hyphens=False) or [""]


def panel(axes: Axes, rows: pd.DataFrame, words: str, x_label: str, y_label: str = "") -> bool:
    """Heads a panel; False, and a word in it, when the run has no rows for it. y_label: else the unit."""
    axes.set_title(words)
    axes.set_xlabel(x_label)
    if rows.empty:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "not in this run", transform=axes.transAxes, color=INK, ha="center", gid=EMPTY)
        return False
    axes.set_ylabel(y_label or rows["unit"].iloc[0])
    return True


def prediction_ratio(rows: pd.DataFrame) -> pd.Series:
    """Predicted over measured throughput of measured rows; NaN where nothing was predicted."""
    if "throughput_predicted" not in rows:
        return pd.Series(np.nan, rows.index)
    predicted = rows["throughput_predicted"].where(
        (rows["throughput_predicted"] > 0) & (rows["source"] == "measured")
    )
    return predicted / rows["throughput"]


def band(rows: pd.DataFrame, y: pd.Series, time: bool) -> tuple[pd.Series, pd.Series] | None:
    """The ends of the predicted band, in the unit of y; None where the run has none."""
    ends = [f"throughput_predicted_{end}" for end in ("low", "high")]
    if not set(ends) <= set(rows) or rows[ends].isna().all(axis=None):
        return None
    low, high = (y * (rows[end] / rows["throughput"]) ** (-1 if time else 1) for end in ends)
    return (high, low) if time else (low, high)


def curve(
    axes: Axes, rows: pd.DataFrame, x: pd.Series, y: pd.Series, colour: str, name: str = "",
    time: bool = False, model: bool = True, **style: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """One line, with the 95 % interval at points where it is wide enough to see.

    x and y are of the rows; y scales with their throughput, or with their `time`. With `model`, the model's
    prediction is drawn behind in grey; without it for a y that is a ratio of two rows.
    """
    order = np.argsort(x.to_numpy(), kind="stable")
    x, y, rows = x.iloc[order], y.iloc[order], rows.iloc[order]
    joined = is_curve(x)
    ratio = prediction_ratio(rows)
    if model and ratio.notna().any():
        expected = y / ratio if time else y * ratio
        alone = dict(linestyle="none", marker="_", markersize=9)
        axes.plot(x, expected, color=GREY, zorder=1.5, gid=MODEL, **(dict(linewidth=1) if joined else alone))
    if model and (ends := band(rows, y, time)):
        if joined:
            axes.fill_between(x, *ends, color=GREY, alpha=0.2, linewidth=0, zorder=1.2, gid=BAND)
        else:
            axes.vlines(x, *ends, color=GREY, alpha=0.5, linewidth=3, zorder=1.2, gid=BAND)
    if not joined:
        style = dict(linestyle="none", markersize=5, gid=BARE if x.nunique() > 1 else None) | style
    axes.plot(x, y, **dict(marker="o", color=colour, label=picture(name) or None) | style)
    # The longest time is the lowest throughput.
    low, high = (rows["time_median_s"] / rows[f"time_ci95_{end}_s"] for end in ("high", "low"))
    if time:
        low, high = 1 / high, 1 / low
    seen = ((high - low) * y > 0.02 * y.max()).to_numpy()
    if seen.any():
        error = np.array([y * (1 - low), y * (high - 1)]).clip(0)[:, seen]
        axes.errorbar(x[seen], y[seen], error, fmt="none", ecolor=colour, capsize=2, elinewidth=1)


def curves(
    axes: Axes, rows: pd.DataFrame, by: str, x: str, y: str, model: bool = False, log: bool = False,
    names: dict[Any, str] | None = None, among: Sequence[pd.DataFrame] = (),
) -> None:  # fmt: skip
    """A line for each value of column `by`, named by it or as `names` has it; and the panel's limits.

    y is a column; a ratio, or cycles, has no model's line. Rows without x or y are left out. among: the rows
    of all panels whose lines differ by this column, so that each value keeps its colour.
    """
    lines = rows.dropna(subset=[x, y]).groupby(by)
    shown = [(value, line) for value, line in lines if not names or value in names]
    numbers = pd.api.types.is_numeric_dtype(rows[by])
    shown = shown if numbers else shown[: len(COLOURS)]
    time = "cycles" in y or y == "ratio"
    colours = distinct_colours(
        [part[by].dropna().unique() for part in among] or [[v for v, _ in shown]], numbers
    )
    for value, line in shown:
        name = names[value] if names else value_text(by, value) if numbers else value
        curve(axes, line, line[x] * axis(x).scale, line[y], colours[value], name, time, model)
    fit(axes, x, full_warps(rows), log)


def full_warps(rows: pd.DataFrame) -> float:
    """Warps that an SM holds."""
    return (rows["warps_per_sm"] / rows["occupancy_theoretical"]).max()


def dots(
    axes: Axes, names: Sequence[str], rows: Sequence[pd.Series], predicted: Sequence[pd.Series] = ()
) -> None:
    """Kernels one below the other: their values and predictions."""
    for place, values in enumerate(rows):
        if predicted:
            axes.plot(predicted[place], [place] * len(values), "|", color=GREY, markersize=9, gid=MODEL)
        axes.plot(values, [place] * len(values), "o", color=BLUE, markersize=5)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    values = pd.concat(list(rows))
    if values.min() < 0.5 * values.max():
        axes.set_xlim(left=0)


def fit(axes: Axes, column: str, full: float = 0, log: bool = False) -> None:
    """Limits and ticks by the drawn lines. column: of x; log: by powers of two; full: warps of an SM.

    y begins at 0 unless that hides differences over a tenth, and is logarithmic where it spans two decades.
    """
    lines = [line for line in axes.lines if line.get_transform() is axes.transData]
    x, y = (np.concatenate([np.asarray(getattr(line, f"get_{way}data")(), float) for line in lines] or [[]])
            for way in "xy")  # fmt: skip
    x, y = (np.unique(values[np.isfinite(values)]) for values in (x, y))
    if not len(x) or not len(y):
        return
    dial_axis = axis(column)
    axes.set_xlabel(dial_axis.label)
    if log and x[0] > 0 and x[-1] > x[0]:
        is_spread_out = np.diff(np.log(x)).min() > 0.12 * np.log(x[-1] / x[0])
        places = list(x) if is_spread_out else ticks(x)
        axes.set_xscale("log", base=2)
        axes.set_xlim(x[0] / (x[-1] / x[0]) ** 0.04, x[-1] * (x[-1] / x[0]) ** 0.04)
        axes.set_xticks(places, [tick_text(column, value, full) for value in places])
        axes.set_xticks([], minor=True)
    else:
        margin = 0.04 * (x[-1] - x[0]) or 0.5
        axes.set_xlim(x[0] - margin, x[-1] + margin)
        if dial_axis.step and x[-1] > x[0]:
            # So many halves or doubles of the step that 5 to 9 ticks are seen, or half of that of '37.5'.
            most = 9 if dial_axis.step % 1 == 0 else 5
            step = dial_axis.step * 2.0 ** np.ceil(np.log2((x[-1] - x[0]) / dial_axis.step / most))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_major_locator(MultipleLocator(step))
        elif len(x) <= 9 and np.diff(x, prepend=-np.inf).min() > 0.07 * (x[-1] - x[0]):
            axes.set_xticks(x, [f"{value:g}" for value in x])
    own = [line for line in lines if line.get_gid() != MODEL]
    own_y = np.concatenate([np.asarray(line.get_ydata(), float) for line in own])
    low, top = np.nanmin(own_y), max(np.nanmax(own_y), min(y[-1], 1.3 * np.nanmax(own_y)))
    if low > 0 and top > 60 * low:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.4, 1.4 * top)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if top < 300 * low else (1,)))
        axes.set_yticks([], minor=True)
    elif 0.33 * top < low < FLAT * top:
        span = max(top - low, 0.04 * top)
        axes.set_ylim(low - 0.12 * span, top + 0.12 * span)
    else:
        axes.set_ylim(min(0, 1.1 * low), 1.08 * top if top > 0 else 0.1)
    axes.yaxis.set_major_formatter("{x:,.10g}")


def tick_text(column: str, value: float, full: float = 0) -> str:
    """'64 KiB' for bytes, '16' and below it the share of `full` for warps, '0.5' for others."""
    if axis(column).bytes:
        return bytes_text(value)
    share = f"\n{100 * value / full:.0f} %" if full and column == "warps_per_sm" else ""
    return f"{value:g}{share}"


def ceiling(axes: Axes, rows: pd.DataFrame, words: str) -> None:
    """A named dashed line that no kernel can cross, where the best comes near it."""
    top = (rows["ceiling"] * rows["rate"] / rows["throughput"]).max()
    if pd.notna(top) and rows["rate"].max() > 0.8 * top:
        axes.axhline(top, color=INK, linestyle="--", linewidth=1)
        low, high = axes.get_ylim()
        axes.set_ylim(low, max(high, top + 0.11 * (top - low)))
        words = f"{words}: {top:,.{0 if top > 100 else 1}f}"
        note(axes, 0.01, top + 0.01 * (top - low), words, axes.get_yaxis_transform())


def note(axes: Axes, x: float, y: float, words: str, places: Any = None) -> None:  # noqa: ANN401
    """Small words at a place in parts of the panel."""
    axes.text(x, y, words, transform=places or axes.transAxes, color=INK, fontsize=8.5, va="bottom")


def stairs(axes: Axes, lines: Sequence[tuple[pd.Series, pd.Series, str]]) -> None:
    """Theoretical occupancy (x, fraction, colour) in the low panel below; equal flights are drawn once."""
    flights: dict[tuple[float, ...], tuple[pd.Series, list[str]]] = {}
    for x, share, colour in lines:
        steps = (100 * share).groupby(x.to_numpy()).max()
        flights.setdefault((*steps.index, *steps), (steps, []))[1].append(colour)
    for steps, colours in flights.values():
        colour = colours[0] if len(colours) == 1 and len(flights) > 1 else INK
        axes.step(steps.index, steps, where="mid", color=colour, linewidth=1.2)
    axes.set(ylim=(0, 109), yticks=(0, 50, 100))
    axes.set_title("Theoretical occupancy (%)", fontsize=8.5, pad=2)
