# SPDX-License-Identifier: Apache-2.0
"""occbench plot beyond one experiment: pictures of a whole run, heads and colours."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import layout, plot
from occbench_tools.analysis import read_folder
from occbench_tools.explain.phrases import value_text
from occbench_tools.plot.occupancy import PARTS
from occbench_tools.plot.theme import (
    COLOURS,
    DARK,
    INK,
    PAPER,
    SHADES,
    distinct_colours,
    letters,
)
from test_plot import ENV, source_of, title_of


def contrast(colour: str, paper: str) -> float:
    """WCAG 2.2's ratio of luminances."""

    def luminance(hexes: str) -> float:
        parts = [int(hexes[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(colour), luminance(paper)))
    return (high + 0.05) / (low + 0.05)


def test_line_contrast() -> None:
    for colour in (*COLOURS, *SHADES):
        assert contrast(colour, PAPER) > 2 and contrast(DARK[colour], DARK[PAPER]) > 3, colour
    assert contrast(INK, PAPER) > 7 and contrast(DARK[INK], DARK[PAPER]) > 7


def test_predictions_have_a_picture(tmp_path: Path) -> None:
    rows = [made_up.with_prediction(row, 0.04) for row in made_up.cases()]
    folder = made_up.write(tmp_path / "predicted", rows)
    assert plot.main([str(folder), "--experiment", "predictions"]) == 0
    assert [path.name for path in folder.glob("*.png")] == ["predictions.png"]
    cases, env = read_folder(folder)
    figure = plot.predictions(cases, env)
    apart = {name for name, it in env["experiments"].items() if it["outside_model"]}
    inside = sum(row["experiment"] not in apart and row["throughput"] > 0 for row in rows)
    assert f"4.0 % off in the mean of {inside:,} cases" in title_of(figure)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert apart and names == sorted(set(names) - apart) + sorted(apart)


def test_occupancy_losses_have_a_picture(tmp_path: Path) -> None:
    """The worst case of an experiment, and the grids of waves; not those whose blocks left no records."""

    def row(experiment: str, name: str, tail: float) -> dict[str, object]:
        parts = dict.fromkeys(PARTS, 0.0) | dict(occupancy_launch=0.5 - tail, lost_to_tail=tail)
        made = made_up.case(experiment, "fma_chain", "two-operand-ilp1", 1e13, warps=32, kind="fp32")
        return made | parts | dict(case_id=name, occupancy_resident=0.5 - tail)

    grids = [dict(grid_size=grid, asked_grid_size=grid, blocks_per_sm=1) for grid in (20, 10)]
    rows = [row("waves", f"waves.{grid['grid_size']}", grid["grid_size"] / 100) | grid for grid in grids]
    rows += [row("energy", "light", 0.01), row("energy", "heavy", 0.3), made_up.cases()[0]]
    folder = made_up.write(tmp_path / "parts", rows)
    assert plot.main([str(folder), "--experiment", "occupancy"]) == 0
    assert [path.name for path in folder.glob("*.png")] == ["occupancy.png"]
    figure = plot.occupancy(*read_folder(folder))
    assert "15.2 points in the mean of 4 cases" in title_of(figure)
    worst, grids = figure.axes
    assert [label.get_text() for label in worst.get_yticklabels()] == ["energy", "waves"]
    assert [label.get_text() for label in grids.get_yticklabels()] == ["10", "20"]
    achieved, tail = ([bar.get_width() for bar in grids.containers[at]] for at in (0, 4))
    assert (achieved, tail) == (pytest.approx([40, 30]), pytest.approx([10, 20]))


@pytest.mark.parametrize("source", ["measured", "model"])
def test_marks_model_runs(source: str) -> None:
    figure, *_ = plot.sheet.sheet(1)
    plot.head(figure, "Title", ENV | dict(source=source))
    assert ("MODEL, nothing here was measured" in source_of(figure)) == (source == "model")


def test_long_title_wraps() -> None:
    """A title of two lines stands above the line that says where the numbers come from, both above all."""
    figure, (axes,), _ = plot.sheet.sheet(1)
    plot.head(figure, "many words " * 10, ENV)
    figure.draw_without_rendering()
    title, source = figure.texts[:2]
    assert title.get_text().strip().count("\n") == 1
    assert title.get_window_extent().x1 <= figure.bbox.x1
    assert source.get_window_extent().y1 <= title.get_window_extent().y0
    assert axes.get_tightbbox().y1 <= source.get_window_extent().y0


def test_colours_of_several_panels() -> None:
    """No two alike in a panel, the same in all; numbers in their order on one scale while six are enough."""
    names = [["a", "b"], ["c", "b"], ["a", "d"]]
    found = distinct_colours(names)
    assert list(found.values()) == list(COLOURS[:4])
    many = [[f"{panel}{line}" for line in range(5)] + ["all"] for panel in range(4)]
    found = distinct_colours(many)
    assert all(len({found[name] for name in panel}) == 6 for panel in many)
    assert distinct_colours([[8, 1], [2, 8]], numbers=True) == {1: SHADES[0], 2: SHADES[2], 8: SHADES[5]}
    sizes = [[32, 64, 128, 256], [64, 96, 128, 512], [256, 384, 512, 768, 1024]]
    found = distinct_colours(sizes, numbers=True)
    assert all(len({found[size] for size in panel}) == len(panel) for panel in sizes)


def test_panels_and_lines_use_finding_names() -> None:
    cases, env = read_folder(made_up.newest_run("nvidia-h200"))

    def drawn(experiment: str) -> tuple[list[str], set[str]]:
        figure = plot.draw(experiment, cases[cases["experiment"] == experiment], env)
        labels = {line.get_label() for axes in figure.axes for line in axes.lines}
        return [axes.get_title(loc="left") for axes in figure.axes], labels

    titles, _ = drawn("sm_share")
    kernels = ("Wgmma products", "FMA chains", "DRAM reads", "L2 reads")
    assert [title.split(":")[0] for title in titles] == list(kernels)
    titles, labels = drawn("convolution")
    assert "4 outputs per thread" in titles and "1 output per thread" in titles
    assert {"3 x 3 filters, blocks of 128", "3 x 3 filters"} <= labels
    assert not any("radius" in label for label in labels)
    titles, labels = drawn("energy")
    assert {"FMA chains", "reads"} <= labels


def test_text_from_files_is_not_a_format_string() -> None:
    """Those of findings.json may be anybody's."""
    words = {"ilp": "{0.__class__} {} $x$", "bare": "{x}"}
    assert value_text("ilp", 4, words["ilp"]) == "{0.__class__} 4 $x$"
    assert layout.value_of("form", "bare", words) == "{x}"
    rows = pd.DataFrame(dict(curve=["a", "b", "c"], form=["bare", None, "x"], family=["f"] * 3))
    assert layout.with_subjects(rows, words)["subject"].tolist()[:1] == ["{x}"]


@pytest.mark.parametrize("colour", [*COLOURS, *SHADES])
def test_label_contrast_meets_wcag(colour: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    assert contrast(letters(colour), PAPER) >= 4.5
    assert contrast(DARK[letters(colour)], DARK[PAPER]) >= 4.5
