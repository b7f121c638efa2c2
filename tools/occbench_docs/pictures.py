# SPDX-License-Identifier: Apache-2.0
"""docs/images: the pictures that occbench plot draws of the first run. They stand nowhere else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from occbench_tools import plot
from PIL import Image, ImageChops

from occbench_docs import DOCS
from occbench_docs.runs import runs

FOLDER = DOCS / "images"


def drawn(name: str) -> tuple[Path, bytes]:
    """One picture: where it belongs, and its PNG."""
    run = runs()[0]
    whole = plot.OF_ALL.get(name)
    rows = run.of(name)
    figure = whole(run.cases, run.env) if whole else plot.draw(name, rows, run.env)
    return FOLDER / f"{name}.png", plot.png(figure)


def same(path: Path, png: bytes) -> bool:
    """Whether a file shows the same pixels."""
    if not path.exists():
        return False
    old, new = (Image.open(source).convert("RGB") for source in (path, io.BytesIO(png)))
    return old.size == new.size and ImageChops.difference(old, new).getbbox() is None


def stale() -> Iterator[tuple[Path, bytes | None]]:
    """The pictures that are not as the run draws them; None for one that it does not draw."""
    names = plot.drawable(runs()[0].cases)
    with ProcessPoolExecutor() as pool:
        for path, png in pool.map(drawn, names):
            if not same(path, png):
                yield path, png
    for path in sorted(FOLDER.glob("*.png")):
        if path.stem not in names:
            yield path, None
