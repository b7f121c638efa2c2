# SPDX-License-Identifier: Apache-2.0
"""The picture of an experiment that describes itself: its curves in panels, or its kernels side by side."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from occbench_tools.curves import description_of
from occbench_tools.curves import lines as split_into_lines
from occbench_tools.layout import Panel, axis, is_logarithmic, panels, scale_of
from occbench_tools.plot.sheet import (
    HIDDEN,
    ceiling,
    curve,
    dots,
    fit,
    full_warps,
    prediction_ratio,
    sheet,
    stairs,
)
from occbench_tools.plot.theme import distinct_colours

RESIDENCY = ("warps_per_sm", "occupancy_theoretical", "blocks_per_sm", "waves")


def plain(experiment: str, rows: pd.DataFrame, env: dict[str, Any], words: Mapping[str, str]) -> Figure:
    """The figure of one experiment's scaled rows; `words`: of its findings."""
    description = description_of(env, experiment)
    found = panels(list(split_into_lines(rows, description)), description, words)
    strips = description["dial"] not in RESIDENCY and any(map(has_occupancy_steps, found))
    curved = [panel for panel in found if panel.has_sweep(description["dial"])]
    figure, axes, below = sheet(max(1, len(found)), strips, len(found) - len(curved))
    log = (
        description["dial"] == "warps_per_sm"
        or axis(description["dial"]).log
        or is_logarithmic(rows[description["dial"]])
    )
    colours = line_colours(curved)
    for place, panel in enumerate(found):
        if place < len(curved):
            lines(axes[place], panel, colours[place], description, log, below[place] if strips else None)
        else:
            kernels(axes[place], panel, description)
        if panel.hidden:
            axes[place].patch.set_gid(f"{HIDDEN}{panel.hidden}")
    return figure


def line_colours(found: list[Panel]) -> list[list[str]]:
    """The colours of each panel's lines; a name or a column's number has one colour in all panels."""
    colours = {
        by: distinct_colours([panel.numbers or panel.names for panel in found if panel.by == by], bool(by))
        for by in {panel.by for panel in found}
    }
    return [[colours[panel.by][key] for key in panel.numbers or panel.names] for panel in found]


def has_occupancy_steps(panel: Panel) -> bool:
    """Whether occupancy follows from the dial."""
    return any(len(set(line.cells("occupancy_theoretical")) - {None}) > 1 for line in panel.lines)


def lines(
    axes: Axes, panel: Panel, colours: list[str], description: dict[str, Any], log: bool, strip: Axes | None
) -> None:
    """Curves over the dial, on the experiment's scale."""
    label, value = scale_of(description)
    factor = axis(description["dial"]).scale
    for line, name, colour in zip(panel.lines, panel.names, colours, strict=True):
        x = line.rows[description["dial"]] * factor
        label_text = name if len(panel.lines) > 1 or not panel.title else ""
        curve(axes, line.rows, x, value(line.rows), colour, label_text, description["scale"] == "cycles")
    rows = pd.concat([line.rows for line in panel.lines])
    fit(axes, description["dial"], full_warps(rows), log)
    axes.set_title(panel.title)
    axes.set_ylabel(label or rows["unit"].iloc[0])
    if description["scale"] == "rate":
        ceiling(axes, rows, "ceiling")
    if strip is not None:
        flights = [
            (line.rows[description["dial"]] * factor, line.rows["occupancy_theoretical"], colour)
            for line, colour in zip(panel.lines, colours, strict=True)
        ]
        stairs(strip, flights)
        strip.set_xlabel(axes.get_xlabel())
        axes.set_xlabel("")


def kernels(axes: Axes, panel: Panel, description: dict[str, Any]) -> None:
    """Kernels without a curve, one below the other."""
    label, value = scale_of(description)
    found = [value(line.rows) for line in panel.lines]
    ratios = [prediction_ratio(line.rows) for line in panel.lines]
    exponent = -1 if description["scale"] == "cycles" else 1
    dots(axes, panel.names, found, [y * ratio**exponent for y, ratio in zip(found, ratios, strict=True)])
    axes.set_xlabel(label or panel.lines[0].first("unit"))
    axes.set_title(panel.title)
