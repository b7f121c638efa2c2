# SPDX-License-Identifier: Apache-2.0
"""occbench plot on a made-up folder: every experiment gives a picture, and mistakes give their exit code."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

import made_up
from matplotlib.figure import Figure
from occbench_tools import explain, layout, plot
from occbench_tools.analysis import CURVE_POINTS, read_folder
from occbench_tools.curves import TOO_FEW, described
from occbench_tools.plot.occupancy import PARTS

COLUMNS, ENV = made_up.COLUMNS, made_up.ENV
VARIANTS = dict(  # the second of each computes, the others read and write
    latency_hiding=("read-f32-4B-ilp1", "two-operand-ilp1", "read-f32-16B-ilp2"),
    registers=("load-live9-maxnreg16", "fma-live9-maxnreg16", "load-live9-free"),
    spilling=("update-live64-maxnreg16", "update-live64-hot16-maxnreg16", "update-live64-free"),
    tiled_matmul=("textbook-tile8", "register-4x4", "another"),
)
EXPERIMENTS = ["latency_hiding", "registers", "spilling", "block_size", "shared_memory", "tiled_matmul"]
EXPERIMENTS += ["an_unknown_one"]


def case(experiment: str, line: int, point: int) -> dict[str, object]:
    variants = VARIANTS.get(experiment, ("v=1", "v=2", "v=3"))
    time_s = 1e-3 / (point + line)
    row = dict(schema_version=5, source="measured", experiment=experiment, status="valid", ilp=line)
    row |= dict(variant=variants[line - 1], curve=variants[line - 1])
    row |= dict(case_id=f"{experiment}.{line}.{point}", data_type="f32", carveout_percent=100, local_bytes=0)
    row |= dict(
        family="fma_chain" if line == 2 else "stream", register_route="free" if line == 3 else "maxnreg"
    )
    row |= dict(block_size=32 * point if experiment == "block_size" else 256, registers_per_thread=29 + point)
    row |= dict(register_cap=29 + point, local_bytes=64 // point, dynamic_smem_bytes=4096 * point)
    row |= dict(warps_per_sm=64 // point, occupancy_theoretical=1 / point, time_median_s=time_s)
    row |= dict(time_ci95_low_s=0.95 * time_s, time_ci95_high_s=1.1 * time_s, throughput=1e9 / time_s)
    return row | dict(throughput_unit="flop/s" if line == 2 else "byte/s", ceiling=1e13)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [case(e, line, point) for e in EXPERIMENTS for line in (1, 2, 3) for point in (4, 1, 2, 8)]
    never = dict(case_id="never_ran", experiment="never_ran", family="stream", variant="v", curve="v")
    rows.append(never | dict(schema_version=5, source="measured", status="skipped", reason="no time"))
    with (tmp_path / "cases.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "env.json").write_text(json.dumps(ENV))
    return tmp_path


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def test_every_experiment(folder: Path) -> None:
    assert plot.main([str(folder)]) == 0
    assert sorted(p.stem for p in folder.glob("*.png") if is_png(p)) == sorted(EXPERIMENTS)


def test_one_experiment_into_a_file(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "picture.png"
    assert plot.main([str(folder), "--experiment", "registers", "--output", str(target)]) == 0
    assert is_png(target) and list(folder.glob("*.png")) == [target]


def figure_of(folder: Path, experiment: str) -> Figure:
    cases, env = plot.read_folder(folder)
    return plot.draw(experiment, cases[cases["experiment"] == experiment], env)


def test_what_the_figure_says(folder: Path) -> None:
    figure = figure_of(folder, "block_size")
    assert figure.get_suptitle().startswith("v=1 keeps 22 % of its best at its worst, with blocks of 32")
    assert [t.get_text() for t in figure.texts[1:]] == ["A GPU, 2025-01-31, commit 0123456789ab (modified)"]
    percent, theory = figure.axes
    assert (percent.get_ylabel(), theory.get_ylabel()) == (
        "% of the kernel's own best",
        "Theoretical occupancy (%)",
    )
    assert percent.get_ylim() == theory.get_ylim()  # the two are read against each other
    assert {t.get_text() for t in percent.texts} == {"v=1", "v=2", "v=3"}
    line = percent.lines[0]  # v=1 comes first: it has the lowest mean
    assert list(line.get_xdata()) == [32, 64, 128, 256]
    assert line.get_ydata() == pytest.approx([200 / 9, 300 / 9, 500 / 9, 100])


def test_intervals_are_drawn_where_they_can_be_seen(folder: Path) -> None:
    figure = figure_of(folder, "an_unknown_one")
    assert [a.get_ylabel() for a in figure.axes] == ["GB/s", "TFLOP/s"]
    (bars,) = (c for _, _, (c,) in figure.axes[0].containers[:1])
    low, high = bars.get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((9e3 / 1.1, 9e3 / 0.95))
    cases, env = plot.read_folder(folder)
    narrow = cases.assign(time_ci95_low_s=cases["time_median_s"], time_ci95_high_s=cases["time_median_s"])
    figure = plot.draw("an_unknown_one", narrow[narrow["experiment"] == "an_unknown_one"], env)
    assert not figure.axes[0].containers


def test_the_cliff_is_named(folder: Path) -> None:
    loads = figure_of(folder, "registers").axes[0]
    assert [t.get_text() for t in loads.texts] == [
        "31 -> 33 registers:\noccupancy 50 -> 25 %,\nthroughput +67 %"
    ]


def test_names_do_not_overlap(folder: Path) -> None:
    heights = sorted(t.xy[1] for t in figure_of(folder, "shared_memory").axes[0].texts)
    assert all(above - below > 0.055 for below, above in itertools.pairwise(heights))


@pytest.mark.parametrize("experiment", plot.FIGURES)
def test_strange_rows_are_no_error(folder: Path, experiment: str) -> None:
    """A run of few cases, or of another version's kernels, leaves panels empty."""
    cases, env = plot.read_folder(folder)
    rows = cases[cases["experiment"] == "an_unknown_one"]
    for some in (rows, rows[:1], cases[cases["experiment"] == experiment][:1]):
        plot.draw(experiment, some, env)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.write(tmp_path_factory.mktemp("run"), made_up.cases())


@pytest.fixture(scope="module")
def said(run: Path) -> dict[str, list[str]]:
    return explain.sentences_of(run)


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


@pytest.mark.parametrize("experiment", plot.FIGURES)
def test_every_panel_is_drawn(run: Path, experiment: str) -> None:
    figure = figure_of(run, experiment)
    figure.draw_without_rendering()
    assert "not in this run" not in words_of(figure)


@pytest.mark.parametrize("experiment", plot.FIGURES)
def test_a_part_of_a_run_is_no_error(run: Path, experiment: str) -> None:
    """Preset quick, or a run that was ended early."""
    cases, env = plot.read_folder(run)
    rows = cases[cases["experiment"] == experiment]
    plot.draw(experiment, rows[::3], env).draw_without_rendering()
    for some in (rows[1::5], *(rows[i : i + 1] for i in range(0, len(rows), 9))):
        plot.draw(experiment, some, env)


@pytest.mark.parametrize("experiment", plot.FIGURES)
def test_titles_are_the_findings(run: Path, said: dict[str, list[str]], experiment: str) -> None:
    """A picture's title is the first sentence of occbench explain."""
    words = said[experiment][0].replace("`", "").removesuffix(".")
    words = f"{experiment}: {words}" if TOO_FEW in words else words
    assert " ".join(figure_of(run, experiment).get_suptitle().split()) == words


def joined(figure: Figure) -> list[int]:
    """Of every line of marks that is joined, how many places it goes through."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_marker() in ("o", ".")]
    return [len(set(line.get_xdata())) for line in lines if line.get_linestyle() not in ("None", "")]


@pytest.mark.parametrize("experiment", plot.FIGURES)
def test_too_few_points_are_marks_alone(run: Path, experiment: str) -> None:
    """Of three values of each dial nothing is joined, and the picture says so."""
    cases, env = plot.read_folder(run)
    rows = cases[cases["experiment"] == experiment]
    whole = plot.draw(experiment, rows, env)
    assert all(places >= CURVE_POINTS for places in joined(whole) if places)
    dial = layout.layout(experiment).dial
    three = rows[rows[dial].isin(sorted(rows[dial].dropna().unique())[:3]) | rows[dial].isna()]
    figure = plot.draw(experiment, three, env | dict(preset="quick"))
    assert all(places >= CURVE_POINTS for places in joined(figure) if places)
    if dial == "warps_per_sm":  # what the pictures have along their width
        assert not any(joined(figure))
        compares = described(env, experiment)["compares_kernels"]
        assert compares or "points a line are too few" in figure.get_suptitle()
        assert "fewer than 4 points are not joined; preset standard has more" in source_of(figure)
        assert "not joined" not in source_of(whole) or experiment not in ("latency_hiding", "nbody")


def source_of(figure: Figure) -> str:
    """What stands below the title."""
    return " ".join(figure.texts[-1].get_text().split())


def test_where_the_working_sets_pass_the_l1(run: Path) -> None:
    """Carve-out 50 % of 228 KiB is set to 132 KiB, which leaves 124 KiB of L1: 4 x 16 fit, 8 x 16 do not."""
    axes = figure_of(run, "cache_reuse").axes[0]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "w"]
    assert sorted(tuple(line.get_xdata()) for line in hollow) == [(), (16, 32, 64), (32, 64)]


def model_lines(figure: Figure) -> list[list[float]]:
    lines = [line for axes in figure.axes for line in axes.lines if line.get_gid() == "model"]
    return [list(line.get_ydata()) for line in lines]


def test_the_model_is_a_thin_line(tmp_path: Path) -> None:
    """5 % above each rate, under each time; none beside ratios of two rows, nor in a run of the model."""
    names = ("shared_memory", "barriers", "divergence")
    rows = [made_up.foretold(row, 0.05) for row in made_up.cases() if row["experiment"] in names]
    folder = made_up.write(tmp_path / "foretold", rows)
    figure = figure_of(folder, "shared_memory")
    assert "; thin grey lines: the model, beforehand" in source_of(figure)
    drawn = [list(line.get_ydata()) for line in figure.axes[0].lines if line.get_marker() == "o"]
    expected = [pytest.approx([1.05 * y for y in line]) for line in drawn]
    assert drawn and model_lines(figure)[: len(drawn)] == expected
    times = [line for line in figure_of(folder, "barriers").axes[0].lines if len(line.get_xdata()) > 2]
    measured, model = (line.get_ydata() for line in times[:2])
    assert list(model) == pytest.approx([y / 1.05 for y in measured])
    assert not model_lines(figure_of(folder, "divergence"))
    cases, env = plot.read_folder(folder)
    modelled = cases[cases["experiment"] == "shared_memory"].assign(source="model")
    assert not model_lines(plot.draw("shared_memory", modelled, env))


def test_predictions_have_a_picture(tmp_path: Path) -> None:
    rows = [made_up.foretold(row, 0.04) for row in made_up.cases()]
    folder = made_up.write(tmp_path / "foretold", rows)
    assert plot.main([str(folder), "--experiment", "predictions"]) == 0
    assert [path.name for path in folder.glob("*.png")] == ["predictions.png"]
    figure = plot.predictions(*plot.read_folder(folder))
    apart = {name for name, it in ENV["experiments"].items() if it["outside_model"]}
    inside = sum(row["experiment"] not in apart and row["throughput"] > 0 for row in rows)
    assert f"4.0 % off in the mean of {inside:,} cases" in figure.get_suptitle()
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    outside = sorted(set(names) & apart)
    assert outside and names == sorted(set(names) - set(outside)) + outside
    assert len(model_lines(figure)) == 3 * 4
    few = made_up.write(tmp_path / "few", [row for row in rows if row["experiment"] == "waves"])
    assert words_of(plot.predictions(*plot.read_folder(few))).count("not in this run") == 4


def test_where_occupancy_goes_has_a_picture(tmp_path: Path) -> None:
    """The worst case of an experiment, and the grids of waves; not those whose blocks left no records."""

    def row(experiment: str, name: str, tail: float) -> dict[str, object]:
        parts = dict.fromkeys(PARTS, 0.0) | dict(occupancy_launch=0.5 - tail, lost_to_tail=tail)
        made = made_up.case(experiment, "fma_chain", "two-operand-ilp1", 1e13, warps=32, kind="fp32")
        return made | parts | dict(case_id=name, occupancy_resident=0.5 - tail)

    rows = [row("waves", f"waves.r1.g{grid}", 0.01 * grid) | dict(grid_size=grid) for grid in (20, 10)]
    rows += [row("energy", "light", 0.01), row("energy", "heavy", 0.3), made_up.cases()[0]]
    folder = made_up.write(tmp_path / "parts", rows)
    assert plot.main([str(folder), "--experiment", "occupancy"]) == 0
    assert [path.name for path in folder.glob("*.png")] == ["occupancy.png"]
    figure = plot.occupancy(*plot.read_folder(folder))
    assert "15.2 points in the mean of 4 cases" in figure.get_suptitle()
    worst, grids = figure.axes
    assert [label.get_text() for label in worst.get_yticklabels()] == ["energy", "waves"]
    assert [label.get_text() for label in grids.get_yticklabels()] == ["10", "20"]
    achieved, tail = ([bar.get_width() for bar in grids.containers[at]] for at in (0, 4))
    assert (achieved, tail) == (pytest.approx([40, 30]), pytest.approx([10, 20]))


@pytest.mark.parametrize("words", [["--experiment", "never_ran"], ["--output", "x.png"], ["--colour"]])
def test_usage(folder: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        plot.main([str(folder), *words])
    assert stop.value.code == 2


def test_missing_folder(tmp_path: Path) -> None:
    assert plot.main([str(tmp_path / "none")]) == 4


def test_another_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(text.replace("\n5,", "\n1,"))
    assert plot.main([str(folder)]) == 4
    assert "schema_version 1, and this tool reads 2 or 3 or 4 or 5" in capsys.readouterr().err


def test_nothing_valid(folder: Path) -> None:
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(text.replace(",valid,", ",invalid,"))
    assert plot.main([str(folder)]) == 1


@pytest.mark.parametrize("source", ["measured", "model"])
def test_a_model_is_marked(source: str) -> None:
    figure, _ = plot.sheet(1)
    plot.head(figure, "Title", ENV | dict(source=source))
    assert ("MODEL, nothing here was measured" in source_of(figure)) == (source == "model")


def test_a_long_title_has_room() -> None:
    """A title of two lines stands above the line that says where the numbers come from."""
    figure, _ = plot.sheet(1)
    plot.head(figure, "many words " * 15, ENV)
    figure.draw_without_rendering()
    title, source = figure._suptitle, figure.texts[-1]
    assert title.get_text().strip().count("\n") == 1
    assert title.get_window_extent().x1 <= figure.bbox.x1
    lines = title.get_window_extent().height / (title.get_text().count("\n") + 1)
    assert source.get_window_extent().y1 <= title.get_window_extent().y1 - 2 * lines


def test_a_committed_run_is_drawn_without_a_warning() -> None:
    """A warning is an error here; real rows hold what made-up ones do not."""
    folder = max((made_up.REPOSITORY / "results" / "nvidia-h200").iterdir())
    cases, env = read_folder(folder)
    for name in plot.drawable(cases):
        whole = plot.OF_ALL.get(name)
        figure = whole(cases, env) if whole else plot.draw(name, cases[cases["experiment"] == name], env)
        assert figure.axes, name
