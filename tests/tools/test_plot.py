# SPDX-License-Identifier: Apache-2.0
"""occbench-plot on a made-up folder: every experiment gives a picture, and mistakes give their exit code."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from occbench_tools import plot, validate  # noqa: E402

COLUMNS = [c["name"] for c in validate.schema()["files"]["cases.csv"]["columns"]]
ENV = dict(
    git_commit="0123456789abcdef", git_dirty=True, created_utc="2025-01-31T12:00:00Z", gpu={"name": "A GPU"}
)
EXPERIMENTS = [*plot.VIEWS, "an_unknown_one"]


def case(experiment: str, line: int, point: int) -> dict[str, object]:
    time_s = 1e-3 / (point + line)
    row = dict(schema_version=1, experiment=experiment, family=f"family_{line}", variant=f"v={line}")
    row |= dict(
        case_id=f"{experiment}.{line}.{point}",
        status="valid",
        block_size=32 * point,
        ilp=line,
        data_type="f32",
    )
    row |= dict(register_route="free", registers_per_thread=8 * point, spill_bytes=64 // point, local_bytes=0)
    row |= dict(
        register_cap=8 * point if point > 1 else "", dynamic_smem_bytes=4096 * point, tile_width=8 * line
    )
    row |= dict(warps_per_sm=64 // point, occupancy_theoretical=64 // point / 64, time_median_s=time_s)
    row |= dict(time_ci95_low_s=0.95 * time_s, time_ci95_high_s=1.1 * time_s, throughput=1e9 / time_s)
    return row | dict(throughput_unit="flop/s" if line == 2 else "byte/s")


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


def test_what_the_figure_says(folder: Path) -> None:
    cases, env = plot.read_folder(folder)
    figure = plot.draw("block_size", cases[cases["experiment"] == "block_size"], env)
    assert figure.get_suptitle() == "block_size: A GPU, 2025-01-31, 0123456789ab (modified)"
    assert [a.get_ylabel() for a in figure.axes] == [
        "Throughput (GB/s)",
        "Throughput (TFLOP/s)",
        "Theoretical occupancy (%)",
        "Theoretical occupancy (%)",
    ]
    line, _, (bars,) = figure.axes[0].containers[0]
    assert list(line.get_xdata()) == [32, 64, 128, 256]
    assert line.get_ydata() == pytest.approx([2e3, 3e3, 5e3, 9e3])
    low, high = bars.get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((2e3 / 1.1, 2e3 / 0.95))


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
