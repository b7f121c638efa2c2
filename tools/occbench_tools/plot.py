# SPDX-License-Identifier: Apache-2.0
"""occbench-plot DIR: one PNG per experiment of a folder of results, from cases.csv and env.json alone.

Exit 0 drawn, 1 nothing valid to draw, 2 the words of the call, 4 a file could not be read or written.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files only, no display

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from PIL import Image

# Okabe and Ito's colours, told apart by every kind of colour vision; grey is kept for theory and background.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
GREY, INK = "0.6", "0.35"
DIPS = "dips: see 'Warps in\nfours' in the README"
UNITS = {"byte/s": (1e9, "GB/s"), "flop/s": (1e12, "TFLOP/s")}


def read_folder(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Valid rows of cases.csv, and env.json. Raises OSError, ValueError or KeyError."""
    env = json.loads((folder / "env.json").read_text(encoding="utf-8"))
    cases = pd.read_csv(folder / "cases.csv", dtype={"data_type": "string", "variant": "string"})
    if version := set(cases["schema_version"]) - {1}:
        raise ValueError(f"cases.csv has schema_version {version.pop()}, and this tool reads 1")
    return cases[cases["status"] == "valid"], env


# What all figures share. `rows` have three columns more than cases.csv (see draw): rate, unit and percent.


def sheet(title: str, env: dict[str, Any], panels: int) -> tuple[Figure, list[Axes]]:
    """A page with a title, a line that says where the numbers come from, and its panels."""
    figure = Figure(figsize=(10, 4.375), layout="constrained", dpi=160)
    commit = (env.get("git_commit") or "no commit")[:12] + (" (modified)" if env.get("git_dirty") else "")
    figure.suptitle(title + "\n", x=0.01, ha="left", fontsize=13, fontweight="bold")  # a line for the text
    source = f"{env['gpu']['name']}, {env['created_utc'][:10]}, commit {commit}"
    figure.text(0.01, 0.905, source, color=INK, fontsize=9.5)
    axes = list(figure.subplots(1, panels, squeeze=False)[0])
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def curve(axes: Axes, rows: pd.DataFrame, x: str, y: str = "rate", **style: Any) -> None:  # noqa: ANN401
    """One line, with the 95 % interval of those points where it is wide enough to be seen."""
    rows = rows.sort_values(x)
    style = {"marker": "o", "markersize": 3.5, "linewidth": 1.8} | style
    axes.plot(rows[x], rows[y], **style)
    # The longest time is the lowest throughput.
    low, high = (rows["time_median_s"] / rows[f"time_ci95_{end}_s"] for end in ("high", "low"))
    seen = (high - low) * rows[y] > 0.02 * rows[y].max()
    if seen.any():
        error = [(rows[y] * (1 - low))[seen], (rows[y] * (high - 1))[seen]]
        axes.errorbar(rows[x][seen], rows[y][seen], error, fmt="none", ecolor=style["color"], capsize=2)


def name_ends(axes: Axes, names: list[tuple[pd.DataFrame, str, str]], x: str, y: str = "rate") -> None:
    """Names (a line's rows, words, colour) beside the lines' ends, moved apart; wants the final y limits."""
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = []
    for rows, words, colour in (name for name in names if len(name[0])):
        end = rows.loc[rows[x].idxmax()]
        height = to_axes.transform((end[x], end[y]))[1]
        ends.append([end[x], round(height, 2), rows[y].mean(), words, colour])
    ends.sort(key=lambda end: end[:3])
    for _, (below, above) in itertools.product(range(50), itertools.pairwise(ends)):
        if below[0] == above[0] and (lack := 0.06 - (above[1] - below[1])) > 0:
            below[1], above[1] = below[1] - lack / 2, above[1] + lack / 2
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
        back.step(steps.index, steps, where="mid", color=GREY, linewidth=1)
        back.fill_between(steps.index, steps, step="mid", color=GREY, alpha=0.18, linewidth=0)


def ceiling(axes: Axes, rows: pd.DataFrame, words: str, end: float) -> None:
    """The dashed line that no kernel can cross, named above its left end."""
    top, unit = (rows["ceiling"] * rows["rate"] / rows["throughput"]).max(), rows["unit"].iloc[0]
    axes.plot([0, end], [top, top], color=INK, linestyle="--", linewidth=1.2)
    axes.set_ylim(0, 1.1 * top)
    note(axes, 0.01, 1.015 / 1.1, f"{words}: {top:,.{0 if top > 100 else 1}f} {unit}")


# One function for each experiment.


def latency_hiding(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Throughput over warps: memory with loads of several widths and ILP, arithmetic with ILP."""
    x = "warps_per_sm"
    figure, panels = sheet("Latency is hidden by work in flight: by warps, by ILP or by width alike", env, 2)
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
    for axes, part, drawn, best, words in (
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
        axes.set_title(words, loc="left", fontsize=11)
        axes.set(xlabel="Resident warps per SM")
        if part.empty:
            continue
        ends = [(part[part["variant"] == v], *name) for v, name in drawn.items()]
        for line, _, colour in ends:
            curve(axes, line, x, color=colour, linewidth=2.2)
        full = (part[x] / part["occupancy_theoretical"]).max()
        ceiling(axes, part, best, full)
        name_ends(axes, ends, x)
        axes.set(ylabel=part["unit"].iloc[0], xlim=(0, 1.28 * full), xticks=range(0, int(full) + 1, 8))
        top = axes.secondary_xaxis(
            "top", functions=(lambda w, f=full: 100 * w / f, lambda o, f=full: o * f / 100)
        )
        top.set_xticks(
            [0, 25, 50, 75, 100], ["0", "25", "50", "75", "100 % occupancy"], color=INK, fontsize=9
        )
        top.tick_params(color=INK, length=3)
        top.spines["top"].set_visible(False)
    note(panels[0], 0.5, 0.03, "grey: other widths and ILP")
    note(panels[1], 0.4, 0.57, DIPS)
    return figure


def by_route(axes: Axes, rows: pd.DataFrame, x: str) -> None:
    """One line per block size for the cap `maxnreg`, and hollow marks for the other ways to cap."""
    for (size, part), colour in zip(rows.groupby("block_size"), itertools.cycle(COLOURS), strict=False):
        capped = part["register_route"] == "maxnreg"
        curve(axes, part[capped], x, color=colour, label=f"{size} threads")
        axes.plot(part[x][~capped], part["rate"][~capped], "o", mfc="none", color=colour, markersize=6.5)
    axes.plot([], [], "o", mfc="none", color=INK, markersize=7, label="other routes to the cap")


def registers(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Throughput over registers per thread before the staircase of occupancy, loads and FMAs."""
    x = "registers_per_thread"
    figure, panels = sheet(
        "Registers take occupancy in steps; loads pay for every step, FMAs for few", env, 2
    )
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


def spilling(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Throughput over registers per thread before the bytes spilled, all values hot and few of them."""
    x = "registers_per_thread"
    figure, panels = sheet("Is spilling worth the occupancy? Only where the values spilled are idle", env, 2)
    hot = rows["variant"].str.contains("-hot16-")
    spilled = rows["spill_bytes"].fillna(rows["local_bytes"])
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
        best = part.loc[part["rate"].idxmax()]
        free = part[part["register_route"] == "free"]
        gain = f" = {best['rate'] / free['rate'].max():.1f} x uncapped" if len(free) else ""
        if best[x] in free[x].to_numpy():
            gain = ", uncapped"
        axes.plot(best[x], best["rate"], "*", color="k", markersize=13)
        axes.annotate(
            f"best: {best[x]} registers, {spilled[best.name]:.0f} B spilled,\n"
            f"{best['rate']:.1f} {best['unit']}{gain}", (best[x], best["rate"]), (0, 9),
            textcoords="offset points", ha="right" if best[x] > part[x].median() else "left", fontsize=10,
        )  # fmt: skip
    panels[0].legend(
        title=f"carve-out {rows['carveout_percent'].min()} % unless said", alignment="left",
        title_fontsize=9, fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(0, 0.8),
    )  # fmt: skip
    return figure


def percents(rows: pd.DataFrame, env: dict[str, Any], title: str, x: str, label: str, step: int) -> Figure:
    """Each kernel in percent of its own best, before the staircase of occupancy, on one scale."""
    floor = 40 * (min(rows["percent"].min(), 100 * rows["occupancy_theoretical"].min()) > 45)
    figure, (axes,) = sheet(title, env, 1)
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
    axes.set(xlim=(0, 1.2 * rows[x].max()), xticks=range(0, int(rows[x].max()) + 1, step))
    name_ends(axes, ends, x, "percent")
    return figure


def block_size(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Speed over block size, each kernel against itself."""
    title = "Block sizes that leave warp slots empty slow down what needs the warps"
    return percents(rows, env, title, "block_size", "Block size (threads)", 128)


def shared_memory(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Speed over the shared memory of a block, each kernel against itself."""
    if len(usual := rows[rows["block_size"] == 256]):  # preset full measures others, too
        rows = usual
    rows = rows.assign(kib=rows["dynamic_smem_bytes"] / 1024)
    title = "Shared memory takes occupancy block by block; only the kernel that needs the warps pays"
    return percents(rows, env, title, "kib", "Dynamic shared memory per block (KiB)", 32)


def tiled_matmul(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """Speed of each form of the multiplication over occupancy."""
    best = rows.loc[rows["rate"].idxmax()]
    at = f"{100 * best['occupancy_theoretical']:.0f} % occupancy"
    figure, (axes,) = sheet(
        f"Reuse counts for more than occupancy: {best['variant']} is fastest, at {at}", env, 1
    )
    rows = rows.assign(occupancy=100 * rows["occupancy_theoretical"])
    colours = {"register": BLUE, "textbook": VERMILION, "runtime": GREEN}
    ends = [(line, name, colours.get(name.split("-")[0], INK)) for name, line in rows.groupby("variant")]
    for line, _, colour in ends:
        curve(axes, line, "occupancy", color=colour)
    axes.set(xlabel="Theoretical occupancy (%)", ylabel=best["unit"], xlim=(0, 118), yscale="log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    limits = axes.get_ylim()
    axes.set_yticks(
        [tick for tick in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100) if limits[0] < tick < limits[1]]
    )
    name_ends(axes, ends, "occupancy")
    return figure


def anything(rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """An experiment that this tool does not know: every variant over occupancy, one panel per unit."""
    rows = rows.assign(occupancy=100 * rows["occupancy_theoretical"])
    units = list(rows.groupby("unit"))
    figure, panels = sheet(rows["experiment"].iloc[0], env, len(units))
    for axes, (unit, part) in zip(panels, units, strict=True):
        for (name, line), colour in zip(part.groupby("variant"), itertools.cycle(COLOURS), strict=False):
            curve(axes, line, "occupancy", color=colour, label=name)
        axes.set(xlabel="Theoretical occupancy (%)", ylabel=unit)
        axes.set_ylim(bottom=0)
        axes.legend(
            fontsize=8, loc="upper left", bbox_to_anchor=(1, 1), ncols=1 + part["variant"].nunique() // 24
        )
    return figure


FIGURES = {
    f.__name__: f for f in (latency_hiding, registers, spilling, block_size, shared_memory, tiled_matmul)
}


def draw(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """The figure of one experiment. `rows` are its valid rows, at least one."""
    scale = rows["throughput_unit"].map({unit: scale for unit, (scale, _) in UNITS.items()}).fillna(1)
    unit = rows["throughput_unit"].map({unit: name for unit, (_, name) in UNITS.items()})
    best = rows.groupby(["family", "variant"])["throughput"].transform("max")
    rows = rows.assign(
        rate=rows["throughput"] / scale,
        unit=unit.fillna(rows["throughput_unit"]),
        percent=100 * rows["throughput"] / best,
    )
    return FIGURES.get(experiment, anything)(rows, env)


def save(figure: Figure, path: Path) -> None:
    """A PNG of 128 colours: a third of the bytes, and no difference to be seen."""
    full = io.BytesIO()
    figure.savefig(full)
    Image.open(full).convert("RGB").quantize(128).save(path, format="PNG", optimize=True)


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
            save(draw(experiment, cases[cases["experiment"] == experiment], env), path)
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
