# SPDX-License-Identifier: Apache-2.0
"""occbench-plot on a made-up folder: every experiment gives a picture, and mistakes give their exit code."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from matplotlib.figure import Figure  # noqa: E402
from occbench_tools import plot, validate  # noqa: E402

COLUMNS = [c["name"] for c in validate.schema()["files"]["cases.csv"]["columns"]]
ENV = dict(
    git_commit="0123456789abcdef", git_dirty=True, created_utc="2025-01-31T12:00:00Z", gpu={"name": "A GPU"}
)
VARIANTS = dict(  # the second of each computes, the others read and write
    latency_hiding=("read-f32-4B-ilp1", "two-operand-ilp1", "read-f32-16B-ilp2"),
    registers=("load-live9-maxnreg16", "fma-live9-maxnreg16", "load-live9-free"),
    spilling=("update-live64-maxnreg16", "update-live64-hot16-maxnreg16", "update-live64-free"),
    tiled_matmul=("textbook-tile8", "register-4x4", "another"),
)
EXPERIMENTS = [*plot.FIGURES, "an_unknown_one"]


def case(experiment: str, line: int, point: int) -> dict[str, object]:
    variants = VARIANTS.get(experiment, ("v=1", "v=2", "v=3"))
    time_s = 1e-3 / (point + line)
    row = dict(schema_version=1, experiment=experiment, variant=variants[line - 1], status="valid", ilp=line)
    row |= dict(case_id=f"{experiment}.{line}.{point}", data_type="f32", carveout_percent=100, local_bytes=0)
    row |= dict(
        family="fma_chain" if line == 2 else "stream", register_route="free" if line == 3 else "maxnreg"
    )
    row |= dict(block_size=32 * point if experiment == "block_size" else 256, registers_per_thread=29 + point)
    row |= dict(register_cap=29 + point, spill_bytes=64 // point, dynamic_smem_bytes=4096 * point)
    row |= dict(warps_per_sm=64 // point, occupancy_theoretical=1 / point, time_median_s=time_s)
    row |= dict(time_ci95_low_s=0.95 * time_s, time_ci95_high_s=1.1 * time_s, throughput=1e9 / time_s)
    return row | dict(throughput_unit="flop/s" if line == 2 else "byte/s", ceiling=1e13)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [case(e, line, point) for e in EXPERIMENTS for line in (1, 2, 3) for point in (4, 1, 2, 8)]
    rows.append(dict(schema_version=1, experiment="never_ran", status="skipped", reason="no time"))
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
    assert figure.get_suptitle().startswith("Block sizes that leave warp slots empty")
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
        plot.save(plot.draw(experiment, some, env), folder / "strange.png")


@pytest.mark.parametrize("words", [["--experiment", "never_ran"], ["--output", "x.png"], ["--colour"]])
def test_usage(folder: Path, words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        plot.main([str(folder), *words])
    assert stop.value.code == 2


def test_missing_folder(tmp_path: Path) -> None:
    assert plot.main([str(tmp_path / "none")]) == 4


def test_another_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(text.replace("\n1,", "\n2,"))
    assert plot.main([str(folder)]) == 4
    assert "schema_version 2" in capsys.readouterr().err


def test_nothing_valid(folder: Path) -> None:
    text = (folder / "cases.csv").read_text()
    (folder / "cases.csv").write_text(text.replace(",valid,", ",invalid,"))
    assert plot.main([str(folder)]) == 1
