# SPDX-License-Identifier: Apache-2.0
"""occbench plot DIR: one PNG per experiment of a folder of results, from cases.csv and env.json alone.

Where the model said beforehand how fast the cases would be, thin grey lines show it, and predictions.png
holds it against what was measured. Where the blocks said when they began and ended, occupancy.png shows what
became of the theoretical occupancy.
Exit 0 drawn, 1 nothing valid to draw, 2 the words of the call, 4 a file could not be read or written.
"""

from __future__ import annotations

from occbench_tools.plot import backend  # noqa: F401

# isort: split

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from occbench_tools.analysis import read_folder, scaled
from occbench_tools.command import add_folder, entry, folder_of, parser_of
from occbench_tools.curves import TOO_FEW
from occbench_tools.escape import file_name, pictured, printable
from occbench_tools.explain import headline
from occbench_tools.lines import complain, reason, write_whole
from occbench_tools.plot import blocks, elements, latency, limits, memory
from occbench_tools.plot.occupancy import accounted, occupancy
from occbench_tools.plot.predictions import predictions
from occbench_tools.plot.sheet import COLOURS, as_predicted, curve, head, sheet


def anything(rows: pd.DataFrame, _: dict[str, Any]) -> Figure:
    """An experiment that this tool does not know: every variant over occupancy, one panel per unit."""
    rows = rows.assign(occupancy=100 * rows["occupancy_theoretical"])
    units = list(rows.groupby("unit"))
    figure, panels = sheet(len(units))
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
    figure.__name__: figure
    for figure in (
        latency.latency_hiding, latency.intensity, latency.bulk_copy, latency.pointer_chase,
        latency.tensor_core, latency.nbody, latency.electrostatic, latency.mri,
        latency.constant_memory, elements.monte_carlo, elements.black_scholes, elements.adam,
        elements.dequantize, elements.lattice_boltzmann, elements.sha256,
        limits.registers, limits.spilling, limits.launch_bounds_roulette, limits.block_size,
        limits.block_size_pick, limits.shared_memory, limits.same_occupancy,
        memory.tiled_matmul, memory.transpose, memory.reduction, memory.softmax, memory.layer_norm,
        memory.scan, memory.gemv, memory.convolution, memory.carveout, memory.cache_reuse,
        memory.shared_latency, memory.clusters, blocks.barriers, blocks.divergence, blocks.waves,
        blocks.energy,
    )
}  # fmt: skip
OF_ALL = {figure.__name__: figure for figure in (predictions, occupancy)}  # experiments in one


def draw(experiment: str, rows: pd.DataFrame, env: dict[str, Any]) -> Figure:
    """The figure of one experiment. `rows` are its valid rows, at least one."""
    figure = FIGURES.get(experiment, anything)(scaled(pictured(rows)), env)
    title = headline(experiment, rows, env).replace("`", "").removesuffix(".")
    head(figure, f"{experiment}: {title}" if TOO_FEW in title else title, env)
    return figure


def drawable(cases: pd.DataFrame) -> list[str]:
    """What there is to draw of these rows: their experiments, then the figures of all of them."""
    found = sorted(cases["experiment"].unique())
    if as_predicted(cases).notna().any():
        found.append(predictions.__name__)
    if len(accounted(cases)):
        found.append(occupancy.__name__)
    return found


def png(figure: Figure) -> bytes:
    """A PNG of its 128 commonest colours, so that plain areas keep theirs: a third of the bytes."""
    full = io.BytesIO()
    figure.savefig(full)
    pixels = np.asarray(Image.open(full).convert("RGB")).astype(np.int32)
    codes, places, counts = np.unique(pixels @ (1 << 16, 1 << 8, 1), return_inverse=True, return_counts=True)
    colours = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1)
    kept = colours[np.argsort(-counts, kind="stable")[:128]]
    nearest = np.array([((kept - colour) ** 2).sum(axis=1).argmin() for colour in colours], np.uint8)
    small = Image.fromarray(nearest[places].reshape(pixels.shape[:2]), "P")
    small.putpalette(kept.astype(np.uint8).tobytes())
    made = io.BytesIO()
    small.save(made, format="PNG", optimize=True)
    return made.getvalue()


@entry("occbench plot")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = parser_of("plot", "Draw the experiments of a run.", "occbench plot --experiment latency_hiding")
    add_folder(parser)
    parser.add_argument("--experiment", metavar="NAME", help="draw this one only")
    parser.add_argument("--output", metavar="FILE.png", type=Path, help="default: DIR/EXPERIMENT.png")
    options = parser.parse_args(arguments)
    folder = folder_of(options, "occbench plot")
    try:
        cases, env = read_folder(folder)
        found = drawable(cases)
        wanted = [options.experiment] if options.experiment else found
        if options.experiment and options.experiment not in found:
            parser.error(
                f"no valid case of experiment {options.experiment}; there are: {', '.join(found) or 'none'}"
            )
        if options.output and len(wanted) > 1:
            parser.error(f"--output takes one experiment; name it with --experiment: {', '.join(found)}")
        for experiment in wanted:
            path = options.output or folder / f"{file_name(experiment)}.png"
            rows = cases[cases["experiment"] == experiment]
            whole = OF_ALL.get(experiment)
            write_whole(path, png(whole(pictured(cases), env) if whole else draw(experiment, rows, env)))
            print(printable(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain("occbench plot", reason(folder, error))
        return 4
    if not wanted:
        complain("occbench plot", f"{folder}: no valid case")
        return 1
    return 0
