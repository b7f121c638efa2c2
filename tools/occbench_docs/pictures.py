# SPDX-License-Identifier: Apache-2.0
"""docs/images: the pictures that occbench plot draws of the first run. They stand nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from occbench_tools import plot

from occbench_docs import DOCS
from occbench_docs.runs import runs

FOLDER = DOCS / "images"


def drawn(name: str) -> tuple[Path, bytes]:
    """One picture: where it belongs, and its SVG, which is light or dark as the reader's screen is."""
    run = runs()[0]
    whole = plot.OF_ALL.get(name)
    rows = run.of(name)
    figure = whole(run.cases, run.env) if whole else plot.draw(name, rows, run.env)
    return FOLDER / f"{name}.svg", plot.svg(figure)


def stale() -> Iterator[tuple[Path, bytes | None]]:
    """The pictures that are not as the run draws them; None for one that it does not draw."""
    names = plot.drawable(runs()[0].cases)
    with ProcessPoolExecutor() as pool:
        for path, svg in pool.map(drawn, names):
            if not path.is_file() or path.read_bytes() != svg:
                yield path, svg
    for path in sorted(FOLDER.iterdir()):
        if path.suffix != ".svg" or path.stem not in names:
            yield path, None
