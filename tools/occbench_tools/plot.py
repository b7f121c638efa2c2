# SPDX-License-Identifier: Apache-2.0
"""occbench-plot DIR: one PNG per experiment of a folder of results, from cases.csv and env.json alone.

Exit 0 drawn, 1 nothing valid to draw, 2 the words of the call, 4 a file could not be read or written.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only, no display

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator

# Okabe and Ito's colours, told apart by every kind of colour vision; grey is kept for theory.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442"]
STYLES = [*zip("osD^vPX", itertools.repeat("-")), *zip("osD^vPX", itertools.repeat("--"))]
UNITS = {"byte/s": (1e9, "Throughput (GB/s)"), "flop/s": (1e12, "Throughput (TFLOP/s)")}
GREY = "0.6"


@dataclass(frozen=True)
class View:
    """How one experiment is drawn: what is on x, what makes a line, and what stands behind the lines."""

    x: str
    label: str
    x_scale: float = 1.0
    lines: tuple[str, ...] = ("family", "variant")
    staircase: bool = False  # theoretical occupancy, grey, on an axis of its own
    bars: str = ""  # a column in bytes, as bars on an axis of its own


BODY = ("family", "data_type", "ilp", "bytes_per_access", "live_values", "tile_width")
VIEWS = {
    "latency_hiding": View("warps_per_sm", "Resident warps per SM"),
    "block_size": View("block_size", "Block size (threads)", staircase=True),
    "registers": View(
        "registers_per_thread", "Registers per thread", lines=(*BODY, "register_route"), staircase=True
    ),
    "shared_memory": View(
        "dynamic_smem_bytes", "Dynamic shared memory per block (KiB)", x_scale=1 / 1024, staircase=True
    ),
    "spilling": View(
        "register_cap",
        "Register cap (registers per thread)",
        lines=(*BODY, "register_route"),
        bars="spill_bytes",
    ),
    "tiled_matmul": View(
        "occupancy_theoretical", "Theoretical occupancy (%)", x_scale=100, lines=("family", "tile_width")
    ),
}
ANY = View("occupancy_theoretical", "Theoretical occupancy (%)", x_scale=100)


def read_folder(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Valid rows of cases.csv, and env.json. Raises OSError, ValueError or KeyError."""
    env = json.loads((folder / "env.json").read_text(encoding="utf-8"))
    cases = pd.read_csv(folder / "cases.csv", dtype={"data_type": "string", "variant": "string"})
    if version := set(cases["schema_version"]) - {1}:
        raise ValueError(f"cases.csv has schema_version {version.pop()}, and this tool reads 1")
    return cases[cases["status"] == "valid"], env


def legend(names: list[str], values: tuple[Any, ...]) -> str:
    """'fma_chain, ilp 4': numbers with the name of their column, empty cells left out."""
    cells = [(name, value) for name, value in zip(names, values, strict=True) if not pd.isna(value)]
    return ", ".join(str(v) if isinstance(v, str) else f"{n.replace('_', ' ')} {v:g}" for n, v in cells)


def draw_lines(axes: Axes, rows: pd.DataFrame, view: View, scale: float) -> None:
    """Throughput with its 95 % interval; the legend names only what tells the lines apart."""
    names = [c for c in view.lines if rows[c].nunique(dropna=False) > 1] or [view.lines[-1]]
    series = list(rows.groupby(names, sort=True, dropna=False))
    for (key, line), colour, (marker, style) in zip(
        series, itertools.cycle(COLOURS), itertools.cycle(STYLES)
    ):
        line = line.sort_values(view.x)
        y, median = line["throughput"].to_numpy() / scale, line["time_median_s"].to_numpy()
        # The longest time is the lowest throughput.
        low, high = (median / line[f"time_ci95_{end}_s"].to_numpy() for end in ("high", "low"))
        axes.errorbar(
            line[view.x] * view.x_scale, y, [y * (1 - low), y * (high - 1)], label=legend(names, key),
            color=colour, marker=marker, linestyle=style, markersize=4, linewidth=1.4, capsize=2,
        )  # fmt: skip
    if len(series) > 1 or view.staircase or view.bars:
        beside = len(series) > 6
        place = {"loc": "upper left", "bbox_to_anchor": (1.12, 1)} if beside else {"loc": "best"}
        axes.legend(fontsize=8, framealpha=0.9, ncols=1 + (len(series) > 30), **place)


def draw_behind(axes: Axes, rows: pd.DataFrame, view: View) -> None:
    """What theory or the compiler says, in grey behind the lines, with its scale on the right."""
    behind = axes.twinx()
    axes.set_zorder(behind.get_zorder() + 1)
    axes.patch.set_visible(False)
    if view.staircase:
        steps = rows.groupby(view.x)["occupancy_theoretical"].max()
        x = steps.index * view.x_scale
        behind.step(x, 100 * steps, where="mid", color=GREY, linewidth=1.2)
        behind.fill_between(x, 100 * steps, step="mid", color=GREY, alpha=0.15, linewidth=0)
        behind.set(ylim=(0, 105), ylabel="Theoretical occupancy (%)")
    else:
        bars = rows.groupby(view.x)[view.bars].max()
        behind.bar(bars.index * view.x_scale, bars, width=2, color=GREY, alpha=0.4)
        behind.set_ylabel(
            f"{view.bars.replace('_', ' ').capitalize().removesuffix(' bytes')} (bytes per thread)"
        )
        behind.set_ylim(bottom=0)
    behind.yaxis.label.set_color("0.4")
    behind.tick_params(axis="y", colors="0.4")


def draw(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """One figure with a panel for each unit of throughput. `rows` are the experiment's valid rows."""
    view = VIEWS.get(experiment, ANY)
    if view.x == "register_cap":  # no cap: the compiler's own count takes its place
        rows = rows.assign(register_cap=rows["register_cap"].fillna(rows["registers_per_thread"]))
    if view.bars and rows[view.bars].isna().all():
        rows = rows.assign(**{view.bars: rows["local_bytes"]})
    rows = rows.dropna(subset=[view.x])
    panels = sorted(rows["throughput_unit"].unique())
    figure = Figure(figsize=(7.5 * len(panels), 4.8), layout="constrained", dpi=150)
    for axes, unit in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        scale, label = UNITS.get(unit, (1.0, f"Throughput ({unit})"))
        part = rows[rows["throughput_unit"] == unit]
        if view.staircase or view.bars:
            draw_behind(axes, part, view)
        draw_lines(axes, part, view, scale)
        axes.set(xlabel=view.label, ylabel=label)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(
            MultipleLocator(128) if view.x == "block_size" else MaxNLocator(steps=[1, 2, 4, 8, 10])
        )
        axes.grid(alpha=0.25)
    commit = (env.get("git_commit") or "no commit")[:12] + (" (modified)" if env.get("git_dirty") else "")
    figure.suptitle(f"{experiment}: {env['gpu']['name']}, {env['created_utc'][:10]}, {commit}", fontsize=11)
    return figure


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="occbench-plot", description="Draw the experiments of a results folder."
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="holds cases.csv and env.json")
    parser.add_argument("--experiment", metavar="NAME", help="draw this one only")
    parser.add_argument("--output", metavar="FILE.png", type=Path, help="default: DIR/EXPERIMENT.png")
    options = parser.parse_args(arguments)
    try:
        cases, env = read_folder(options.folder)
        found = sorted(cases["experiment"].unique())
        wanted = [options.experiment] if options.experiment else found
        if options.experiment and options.experiment not in found:
            parser.error(
                f"no valid case of experiment {options.experiment}; there are: {', '.join(found) or 'none'}"
            )
        if options.output and len(wanted) > 1:
            parser.error(f"--output takes one experiment; name it with --experiment: {', '.join(found)}")
        for experiment in wanted:
            path = options.output or options.folder / f"{experiment}.png"
            draw(experiment, cases[cases["experiment"] == experiment], env).savefig(path)
            print(path)
    except OSError as error:
        print(f"occbench-plot: {error.filename}: {error.strerror}", file=sys.stderr)
        return 4
    except (ValueError, KeyError, TypeError) as error:
        print(f"occbench-plot: {options.folder}: {error!s}; see tools/validate", file=sys.stderr)
        return 4
    if not wanted:
        print(f"occbench-plot: {options.folder}: no valid case", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
