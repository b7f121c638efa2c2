# SPDX-License-Identifier: Apache-2.0
"""docs/images: the pictures that occbench plot draws of the first run."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from matplotlib.figure import Figure
from occbench_tools import plot
from occbench_tools.compare.align import align
from occbench_tools.devices.speedup import pairs_of
from occbench_tools.folder import read_folder
from occbench_tools.plot.devices import devices

from occbench_docs import DOCS
from occbench_docs.runs import runs

FOLDER = DOCS / "images"
DEVICES = "devices"  # a picture of two runs, not of an experiment


def speed_up_picture() -> Figure:
    """The speed-up of the first run's device over the second's."""
    new, old = (read_folder(run.folder, samples=False) for run in runs()[:2])
    pairs, _ = align(old.valid, new.valid, False)
    return devices(pairs_of(old.valid, new.valid, pairs), old.env, new.env)


def draw(name: str) -> tuple[Path, bytes]:
    """One picture: where it belongs, and its SVG, which follows the reader's light or dark scheme."""
    run = runs()[0]
    if name == DEVICES:
        return FOLDER / f"{name}.svg", plot.svg(speed_up_picture())
    whole = plot.OF_ALL.get(name)
    rows = run.of(name)
    figure = whole(run.cases, run.env) if whole else plot.draw(name, rows, run.env)
    return FOLDER / f"{name}.svg", plot.svg(figure)


def stale_pictures() -> Iterator[tuple[Path, bytes | None]]:
    """The stale pictures with their new SVG; None for one that the run does not draw."""
    names = [*plot.drawable(runs()[0].cases), *[DEVICES] * (len(runs()) > 1)]
    with ProcessPoolExecutor() as pool:
        for path, svg in pool.map(draw, names):
            if not path.is_file() or path.read_bytes() != svg:
                yield path, svg
    for path in sorted(FOLDER.iterdir()):
        if path.suffix != ".svg" or path.stem not in names:
            yield path, None
