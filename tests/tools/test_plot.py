# SPDX-License-Identifier: Apache-2.0
"""occbench plot on a made-up folder: every experiment gives a picture, and mistakes give their exit code."""

from __future__ import annotations

import csv
import functools
import json
import re
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

import made_up
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from occbench_tools import NEWEST, experiments, plot
from occbench_tools.analysis import CURVE_POINTS, read_folder
from occbench_tools.curves import description_of
from occbench_tools.explain.program import explain_rows
from occbench_tools.plot.sheet import BAND, HIDDEN, MODEL
from occbench_tools.plot.theme import DARK, GREY, INK, letters

COLUMNS, ENV = made_up.COLUMNS, made_up.ENV
VARIANTS = dict(  # the second of each computes, the others read and write
    latency_hiding=("read-f32-4B-ilp1", "two-operand-ilp1", "read-f32-16B-ilp2"),
    registers=("load-live9-maxnreg16", "fma-live9-maxnreg16", "load-live9-free"),
    spilling=("update-live64-maxnreg16", "update-live64-hot16-maxnreg16", "update-live64-free"),
    tiled_matmul=("textbook-tile8", "register-4x4", "another"),
)
EXPERIMENTS = ["latency_hiding", "registers", "spilling", "block_size", "shared_memory", "tiled_matmul"]
EXPERIMENTS += ["an_unknown_one"]
ALL = sorted(ENV["experiments"])
OWN = [name for name in ALL if hasattr(experiments.module_of(name), "picture")]


def case(experiment: str, line: int, point: int) -> dict[str, object]:
    variants = VARIANTS.get(experiment, ("v=1", "v=2", "v=3"))
    time_s = 1e-3 / (point + line)
    row = dict(schema_version=NEWEST, source="measured", experiment=experiment, status="valid", ilp=line)
    row |= dict(variant=variants[line - 1], curve=variants[line - 1])
    row |= dict(case_id=f"{experiment}.{line}.{point}", data_type="f32", carveout_percent=100, local_bytes=0)
    row |= dict(
        family="fma_chain" if line == 2 else "stream", register_route="free" if line == 3 else "maxnreg"
    )
    row |= dict(block_size=32 * point if experiment == "block_size" else 256, registers_per_thread=29 + point)
    row |= dict(local_bytes=64 // point, dynamic_smem_bytes=4096 * point)
    row |= dict(warps_per_sm=64 // point, occupancy_theoretical=1 / point, time_median_s=time_s)
    row |= dict(time_ci95_low_s=0.95 * time_s, time_ci95_high_s=1.1 * time_s, throughput=1e9 / time_s)
    return row | dict(throughput_unit="flop/s" if line == 2 else "byte/s", ceiling=1e13)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [case(e, line, point) for e in EXPERIMENTS for line in (1, 2, 3) for point in (4, 1, 2, 8)]
    never = dict(case_id="never_ran", experiment="never_ran", family="stream", variant="v", curve="v")
    rows.append(never | dict(schema_version=NEWEST, source="measured", status="skipped", reason="no time"))
    with (tmp_path / "cases.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "env.json").write_text(json.dumps(ENV))
    return tmp_path


# A folder that many tests draw is read once.
read_once = functools.cache(read_folder)


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_every_experiment(folder: Path) -> None:
    assert plot.main([str(folder)]) == 0
    assert sorted(p.stem for p in folder.glob("*.png") if is_png(p)) == sorted(EXPERIMENTS)
    assert sorted(p.stem for p in folder.glob("*.svg")) == sorted(EXPERIMENTS)


@pytest.mark.parametrize("name", ["picture.png", "picture.svg"])
def test_one_experiment_into_a_file(folder: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert plot.main([str(folder), "--experiment", "registers", "--output", str(target)]) == 0
    assert list(folder.glob("*.??g")) == [target]
    assert is_png(target) if name.endswith("png") else target.read_bytes().startswith(b"<?xml")


def figure_of(folder: Path, experiment: str) -> Figure:
    cases, env = read_once(folder)
    return plot.draw(experiment, cases[cases["experiment"] == experiment], env)


def drawn(axes: Axes) -> list[Line2D]:
    """What was measured: lines with a colour of their own."""
    return [line for line in axes.lines if line.get_label()[:1] != "_"]


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def title_of(figure: Figure) -> str:
    return " ".join(figure.texts[0].get_text().split())


def source_of(figure: Figure) -> str:
    """What stands below the title."""
    return " ".join(figure.texts[1].get_text().split())


def test_figure_labels(folder: Path) -> None:
    figure = figure_of(folder, "block_size")
    assert source_of(figure) == "A GPU, 2025-01-31, commit 0123456789ab (modified)"
    panel, occupancy = figure.axes
    assert (panel.get_ylabel(), occupancy.get_xlabel()) == ("% of the line's best", "Threads per block")
    names = sorted(text.get_text() for text in panel.texts)
    assert names == ["fma_chain, maxnreg", "stream", "stream, maxnreg"]
    line = next(line for line in drawn(panel) if line.get_label() == "stream, maxnreg")
    assert list(line.get_xdata()) == [32, 64, 128, 256]
    assert line.get_ydata() == pytest.approx([200 / 9, 300 / 9, 500 / 9, 100])
    colours = {letters(line.get_color()) for line in drawn(panel)}
    assert len(colours) == 3 and colours == {text.get_color() for text in panel.texts}
    assert occupancy.get_title(loc="left") == "Theoretical occupancy (%)"


def test_incomplete_environment_is_not_an_error(folder: Path) -> None:
    env = json.loads((folder / "env.json").read_text())
    del env["created_utc"]
    (folder / "env.json").write_text(json.dumps(env | {"gpu": {}, "git_commit": None}))
    figure = figure_of(folder, "block_size")
    assert source_of(figure) == "a GPU without a name, no date, no commit (modified)"


def test_draws_visible_intervals(folder: Path) -> None:
    figure = figure_of(folder, "an_unknown_one")
    assert [a.get_ylabel() for a in figure.axes] == ["GB/s", "TFLOP/s"]
    (bars,) = (c for _, _, (c,) in figure.axes[0].containers[:1])
    low, high = bars.get_segments()[-1][:, 1]
    assert (low, high) == pytest.approx((2e3 / 1.1, 2e3 / 0.95))
    cases, env = read_folder(folder)
    narrow = cases.assign(time_ci95_low_s=cases["time_median_s"], time_ci95_high_s=cases["time_median_s"])
    figure = plot.draw("an_unknown_one", narrow[narrow["experiment"] == "an_unknown_one"], env)
    assert not figure.axes[0].containers


@pytest.mark.parametrize("experiment", OWN)
def test_unusual_rows_are_not_an_error(folder: Path, experiment: str) -> None:
    """A run of few cases leaves panels empty; where it would leave all, the plain picture is drawn."""
    cases, env = read_folder(folder)
    rows = cases[cases["experiment"] == "an_unknown_one"]
    for some in (rows, rows[:1]):
        figure = plot.draw(experiment, some, env)
        assert "not in this run" not in words_of(figure) or len(figure.axes) > words_of(figure).count(
            "not in this run"
        )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [made_up.with_prediction(row, 0.05) for row in made_up.cases()]
    return made_up.write(tmp_path_factory.mktemp("run"), rows)


def is_drawn(figure: Figure) -> None:
    assert "not in this run" not in words_of(figure)
    assert all(axes.has_data() for axes in figure.axes)
    assert figure.get_size_inches()[0] * 100 == 800  # at which a point of its text is 1.4 pixels
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text().strip()]
    assert min(sizes) >= 8


def names_stand_over_nothing(figure: Figure) -> None:
    """No name of a line lies over another, over a curve, or outside its panel."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [text.get_window_extent() for text in axes.texts]
        assert not any(one.shrunk(0.98, 0.9).overlaps(other) for one, other in combinations(boxes, 2))
        frame = axes.bbox.padded(2)
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and box.y1 <= frame.y1 for box in boxes)
        for line in drawn(axes):
            if line.get_linestyle() == "None":
                continue
            path = line.get_transform().transform_path(line.get_path())
            names = [box for box, text in zip(boxes, axes.texts, strict=True) if text.get_color() != INK]
            assert not any(path.intersects_bbox(box.shrunk(0.9, 0.6), filled=False) for box in names)


def lines_are_distinct_colours(figure: Figure) -> None:
    """Each has a colour and a name of its own in its panel; grey is the model's, and the model is grey."""
    for axes in figure.axes:
        lines = drawn(axes)
        assert (
            len({line.get_color() for line in lines})
            == len({line.get_label() for line in lines})
            == len(lines)
        )
        assert all((line.get_color() == GREY) == (line.get_gid() == MODEL) for line in axes.lines)
        named = {text.get_text() for text in axes.texts}
        legend = axes.get_legend()
        named |= {text.get_text().replace("\n", " ") for text in legend.get_texts()} if legend else set()
        assert {line.get_label() for line in lines} <= named


def curves_keep_their_colours(figure: Figure) -> None:
    """A name has one colour in all panels; a number of two columns, which titles tell, is two."""
    found: dict[tuple[str, str], set[str]] = {}
    for axes in figure.axes:
        by = axes.get_title(loc="left").lower().partition("by ")[2]
        for line in drawn(axes):
            found.setdefault((line.get_label(), by if line.get_label().isdigit() else ""), set()).add(
                line.get_color()
            )
    assert {name: colours for name, colours in found.items() if len(colours) > 1} == {}


def no_panel_is_a_third_empty(figure: Figure) -> None:
    """What is drawn, the ceiling among it, takes two thirds of its panel's height and width."""
    for axes in figure.axes:
        places = np.vstack([
            line.get_transform().transform(line.get_xydata())
            for line in axes.lines if line.get_gid() != HIDDEN
        ] or [axes.bbox.corners()])  # fmt: skip
        size = np.ptp(np.clip(places, axes.bbox.min, axes.bbox.max), axis=0) / axes.bbox.size
        assert size[0] > 0.66 or len(np.unique(places[:, 0])) < 3, size
        from_zero = axes.get_ylim()[0] <= 0 and places[:, 1].max() > axes.bbox.y0 + 0.66 * axes.bbox.height
        assert size[1] > 0.6 or from_zero or not drawn(axes), size


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ALL)
def test_partial_run_is_not_an_error(run: Path, experiment: str) -> None:
    """Preset quick, or a run that was ended early."""
    cases, env = read_once(run)
    rows = cases[cases["experiment"] == experiment]
    plot.draw(experiment, rows[::3], env)
    for some in (rows[1::5], *(rows[i : i + 1] for i in range(0, len(rows), 9))):
        plot.draw(experiment, some, env)


def joined(figure: Figure) -> list[int]:
    """Of every line of marks that is joined, how many places it goes through."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "o"]
    return [len(set(line.get_xdata())) for line in lines if line.get_linestyle() != "None"]


@pytest.mark.parametrize("experiment", ALL)
def test_picture_is_complete_and_legible(run: Path, experiment: str) -> None:
    """Of each experiment it is whole and legible, and its title is the first sentence of occbench explain."""
    figure = figure_of(run, experiment)
    is_drawn(figure)
    names_stand_over_nothing(figure)
    lines_are_distinct_colours(figure)
    curves_keep_their_colours(figure)
    no_panel_is_a_third_empty(figure)
    assert all(places >= CURVE_POINTS for places in joined(figure))
    cases, env = read_once(run)
    said = explain_rows(experiment, cases[cases["experiment"] == experiment], env)
    words = said.headline(experiment).replace("`", "").removesuffix(".")
    assert title_of(figure) == (f"{experiment}: {words}" if said.is_too_few else words)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ALL)
def test_too_few_points_are_not_joined(run: Path, experiment: str) -> None:
    """Of three values of each dial nothing is joined, and the picture says so."""
    cases, env = read_once(run)
    rows = cases[cases["experiment"] == experiment]
    dial = description_of(env, experiment)["dial"]
    three = rows[rows[dial].isin(sorted(rows[dial].dropna().unique())[:3]) | rows[dial].isna()]
    figure = plot.draw(experiment, three, env | dict(preset="quick"))
    assert all(places >= CURVE_POINTS for places in joined(figure))
    if dial == "warps_per_sm" and experiment != "energy":
        assert not any(joined(figure))
        assert "Not enough points for a finding" in title_of(figure)
        assert "fewer than 4 points are not joined (preset standard has them)" in source_of(figure)


def model_lines(figure: Figure) -> list[list[float]]:
    lines = [line for axes in figure.axes for line in axes.lines if line.get_gid() == MODEL]
    return [list(line.get_ydata()) for line in lines]


def test_the_model_is_a_grey_line(run: Path) -> None:
    """5 % above each rate, under each time; none beside ratios of two rows, nor in a run of the model."""
    figure = figure_of(run, "shared_memory")
    assert "; grey: the model, from code alone" in source_of(figure)
    expected = [pytest.approx([1.05 * y for y in line.get_ydata()]) for line in drawn(figure.axes[0])]
    assert expected and model_lines(figure) == expected
    assert not model_lines(figure_of(run, "divergence"))
    cases, env = read_once(run)
    modelled = cases[cases["experiment"] == "shared_memory"].assign(source="model")
    assert not model_lines(plot.draw("shared_memory", modelled, env))


@pytest.mark.parametrize("source", ["measured", "model"])
def test_draws_the_prediction_band(run: Path, source: str) -> None:
    cases, env = read_once(run)
    rows = cases[cases["experiment"] == "shared_memory"].assign(source=source)
    ends = {
        f"throughput_predicted_{end}": by * rows["throughput"] for end, by in (("low", 0.9), ("high", 1.2))
    }
    figure = plot.draw("shared_memory", rows.assign(**ends), env)
    assert "; band: the prediction's 90 % band" in source_of(figure)
    bands = [artist for artist in figure.axes[0].collections if artist.get_gid() == BAND]
    lines = drawn(figure.axes[0])
    assert len(bands) == len(lines) > 0
    for band, line in zip(bands, lines, strict=True):
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(0.9 * min(line.get_ydata()))
        assert heights.max() == pytest.approx(1.2 * max(line.get_ydata()))
    assert "band:" not in source_of(plot.draw("shared_memory", rows, env))


def test_unknown_experiment_is_drawn(tmp_path: Path) -> None:
    """What no tool has heard of is drawn as it describes itself."""
    name = "of_tomorrow"
    rows = [
        made_up.case(name, "new", f"kernel-stages{stages}", 1e12 * stages * min(1, size / 256), block=size)
        | dict(stages=stages, form="staged")
        for stages in (2, 3, 4)
        for size in (64, 128, 256, 512, 1024)
    ]
    folder = made_up.write(tmp_path / "run", rows)
    env = made_up.ENV | dict(
        experiments={name: description_of({}, name) | dict(dial="block_size", question="?")}
    )
    (folder / "env.json").write_text(json.dumps(env))
    figure = figure_of(folder, name)
    (panel,) = figure.axes
    assert panel.get_title(loc="left") == "By stages" and panel.get_ylabel() == "GB/s"
    assert [line.get_label() for line in drawn(panel)] == ["2", "3", "4"]
    assert joined(figure) == [5, 5, 5]


def test_an_svg_is_light_and_dark(run: Path) -> None:
    """Each of its colours has a partner on dark paper, by a rule that names it as matplotlib writes it."""
    figure = figure_of(run, "registers")
    text = plot.svg(figure).decode()
    colours = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", text.partition("</style>")[2]))
    assert colours and colours <= set(DARK)
    assert "@media (prefers-color-scheme: dark)" in text
    assert plot.svg(figure).decode() == text  # the same bytes each time


@pytest.mark.parametrize("words", [["--experiment", "never_ran"], ["--output", "x.png"], ["--colour"]])
def test_usage(folder: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        plot.main([str(folder), *words])


def test_missing_folder(tmp_path: Path) -> None:
    assert plot.main([str(tmp_path / "none")]) == 4


def test_another_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(text.replace(f"\n{NEWEST},", "\n1,"))
    assert plot.main([str(folder)]) == 4
    assert f"schema_version 1, and this tool reads 2 to {NEWEST}" in capsys.readouterr().err


def test_nothing_valid(folder: Path) -> None:
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(text.replace(",valid,", ",invalid,"))
    assert plot.main([str(folder)]) == 1


@pytest.mark.slow
def test_draws_committed_run_without_warnings() -> None:
    """A warning is an error here; real rows hold what made-up ones do not."""
    folder = made_up.newest_run("nvidia-h200")
    cases, env = read_folder(folder)
    for name in plot.drawable(cases):
        whole = plot.OF_ALL.get(name)
        figure = whole(cases, env) if whole else plot.draw(name, cases[cases["experiment"] == name], env)
        assert figure.axes, name
        curves_keep_their_colours(figure)
