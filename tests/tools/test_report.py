# SPDX-License-Identifier: Apache-2.0
"""occbench report: the document it makes of a folder, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import NEWEST, explain, report
from occbench_tools.cliffs.find import table_of
from occbench_tools.findings import Sentences
from occbench_tools.report import payload
from pages import H200, cases, document, write

pytestmark = pytest.mark.usefixtures("made_up_cliffs")


def unpacked(column: Any, count: int) -> list[Any]:  # noqa: ANN401
    if isinstance(column, list):
        return column
    return [column["d"][i] for i in column["i"]] if "d" in column else [column["c"]] * count


def test_page_contains_every_row_once(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert report.main([str(run), "--output", str(target)]) == 0
    shown = document(target)
    found = {}
    for e in shown["experiments"]:
        columns = {name: unpacked(column, e["count"]) for name, column in e["columns"].items()}
        for i, case_id in enumerate(columns["case_id"]):
            found[e["name"], case_id] = {name: column[i] for name, column in columns.items()}
    rows = {(row["experiment"], row["case_id"]): row for row in cases()}
    assert found.keys() == rows.keys() and sum(e["count"] for e in shown["experiments"]) == len(rows)
    for key, row in rows.items():
        for name, value in row.items():
            if name not in payload.SHARED_BY_RUN:
                assert found[key][name] == (
                    value if isinstance(value, str) else pytest.approx(value, rel=1e-6)
                ), name
    names = [e["name"] for e in shown["experiments"]]
    assert names == list(explain.sentences_of(run)) and all(e["findings"][0] for e in shown["experiments"])
    assert tuple(names[: len(explain.FIRST)]) == explain.FIRST


def test_absent_cliffs_are_not_shown(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    report.main([str(run), "--output", str(target)])
    shown = document(target)
    found = next(e["cliffs"] for e in shown["experiments"] if e["name"] == "shared_memory")
    verdicts = {dict(zip(shown["cliff_columns"], cells, strict=True))["verdict"] for cells in found}
    assert verdicts == {"confirmed"}


@pytest.mark.slow
def test_with_the_cliffs_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "table_of", table_of)  # not the stand-in
    target = tmp_path / "page.html"
    assert report.main([str(H200), "--output", str(target)]) == 0
    shown = document(target)
    by_name = {e["name"]: e for e in shown["experiments"]}
    for name in ("registers", "shared_memory"):
        ids = set(unpacked(by_name[name]["columns"]["case_id"], by_name[name]["count"]))
        steps = [dict(zip(shown["cliff_columns"], cells, strict=True)) for cells in by_name[name]["cliffs"]]
        assert steps and {step[f"{end}_case_id"] for step in steps for end in ("from", "to")} <= ids


def test_chart_matches_the_experiments_description(run: Path, tmp_path: Path) -> None:
    """Its question, dial and scale; and the lines of the picture's first panel are seen first."""
    target = tmp_path / "page.html"
    report.main([str(run), "--output", str(target)])
    by_name = {e["name"]: e for e in document(target)["experiments"]}
    for name, it in made_up.ENV["experiments"].items():
        assert [by_name[name][word] for word in ("question", "dial")] == [it["question"], it["dial"]]
        assert list(by_name[name]["groups"]) == it["split_by"]
        assert by_name[name]["show"], name
    assert by_name["block_size"]["y"] == "best" and by_name["pointer_chase"]["y"] == "own"
    assert by_name["latency_hiding"]["y"] in ("GB/s", "TFLOP/s")
    barriers = by_name["barriers"]
    assert barriers["groups"]["warps_per_sm"]["64"] == "64 warps per SM"
    kernels = set(unpacked(barriers["columns"]["kernel"], barriers["count"]))
    labels = [
        f"{kernel}, {words}" for kernel in kernels for words in barriers["groups"]["warps_per_sm"].values()
    ]
    for pattern in barriers["show"]:  # of chart.js's labels: a kernel's name, and its group's words
        assert any(re.match(pattern, label) for label in labels)


def test_shows_the_headlines_lines_first(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(*names: str) -> tuple[str, list[str]]:
        said = {"latency_hiding": Sentences(["Words."], cases=names)}
        monkeypatch.setattr(payload.Run, "findings", property(lambda _: said))
        (found,) = report.checked_document([payload.Run(run)], {"latency_hiding"})["experiments"]
        return found["y"], found["show"]

    rows = [row for row in cases() if row["experiment"] == "latency_hiding"]
    y, panel = shown()
    assert shown("of another run") == (y, panel) and y == "GB/s"
    chain = next(row for row in rows if row["throughput_unit"] == "flop/s")
    assert shown(chain["case_id"]) == ("TFLOP/s", [f"^{re.escape(chain['variant'])}$", *panel])


def test_bytes_in_flight() -> None:
    rows = pd.DataFrame(
        [
            dict(
                experiment="bulk_copy",
                warps_per_sm=4,
                blocks_per_sm=2,
                ilp=1,
                bytes_per_access=1,
                bytes_in_flight=512,
            ),
            dict(experiment="tensor_core", warps_per_sm=4, blocks_per_sm=2, ilp=None, bytes_in_flight=512),
            dict(experiment="latency_hiding", warps_per_sm=12, blocks_per_sm=3, ilp=4, bytes_per_access=16),
            dict(experiment="latency_hiding", warps_per_sm=12, blocks_per_sm=3, ilp=4),
        ]
    )
    assert list(payload.in_flight_bytes(rows).fillna(-1)) == [2048, 1024, 12 * 32 * 64, -1]


@pytest.mark.slow
def test_model_with_measured_run_needs_allow_model(
    run: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "page.html"
    assert report.main([str(run), str(model), "--output", str(target)]) == 2
    said = capsys.readouterr()
    assert "--allow-model" in said.err and said.err.count("\n") == 1 and not target.exists()
    assert report.main([str(run), str(model), "--allow-model", "--output", str(target)]) == 0
    assert [entry["model"] for entry in document(target)["runs"]] == [False, True]
    assert report.main([str(model), "--output", str(target)]) == 0
    # What a model says of an experiment stands on its page, whose banner says that it is a model's.
    assert all(words for e in document(target)["experiments"] for words in e["findings"])


def test_names_of_runs_differ(run: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", git_commit="fedcba9")
    same = write(tmp_path / "same")
    (tmp_path / "deep").mkdir()
    twin = write(tmp_path / "deep" / "same")
    assert payload.labels([payload.Run(f) for f in (run, other)]) == ["A GPU, 0123456", "A GPU, fedcba9"]
    names = payload.labels([payload.Run(f) for f in (run, same, twin)])
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda text: text.replace(f"\n{NEWEST},", "\n99,"), 4, "schema_version 99"),
        (lambda text: "", 4, "validate"),
        (lambda text: re.sub(r",48,0\.75,", ",many,0.75,", text), 4, "warps_per_sm"),
        (lambda text: text.replace(",valid,", ",invalid,"), 1, "no valid case"),
        (lambda text: text[: text.rindex(",valid,") + 20], 1, "cut off"),
        (lambda text: text + text[text.rindex("\n", 0, -1) + 1 :], 1, "case_id"),
    ],
)
def test_bad_input(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[str], str],
    code: int,
    words: str,
) -> None:
    assert (
        report.main([str(made_up.with_cases(run, change)), "--output", str(tmp_path / "page.html")]) == code
    )
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_missing_folder_and_missing_output_folder(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(tmp_path / "nowhere")]) == 4
    assert report.main([str(run), "--output", str(tmp_path / "no" / "page.html")]) == 4
    assert capsys.readouterr().err.count("\n") == 2


def test_pictures(run: Path, tmp_path: Path) -> None:
    rows = [row for row in cases() if row["experiment"] in ("shared_memory", "waves")]
    target = tmp_path / "pictures"
    assert (
        report.main([str(write(run, rows)), "--output", str(tmp_path / "p.html"), "--png", str(target)]) == 0
    )
    assert sorted(p.name for p in target.iterdir()) == ["shared_memory.png", "waves.png"]


def test_pictures_in_a_folder_below_a_thousand_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = str(write(tmp_path / "run")), str(tmp_path / "p.html")
    assert report.main([folder, "--output", page, "--png", str(tmp_path / ("y/" * 1500))]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert "File name too long" in line


@pytest.mark.slow
def test_different_devices_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two kinds a section with picture and tables; of one device, or a model beside it, none."""
    old, new = (made_up.newest_run(gpu) for gpu in ("nvidia-h100-80gb-hbm3", "nvidia-h200"))
    page = tmp_path / "page.html"
    assert report.main([str(old), str(new), "--output", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    head = text[text.index("<main") : text.index("</main>")]
    assert "NVIDIA H200 against NVIDIA H100 80GB HBM3: " in head
    assert 'src="data:image/svg+xml;base64,' in head and "90-100 %" in head and "<td>FP32</td>" in head
    runs = [report.Run(folder) for folder in (old, new, old)]
    assert report.devices.section([runs[0], runs[2]]) == ""
    runs[1].is_model = True
    assert report.devices.section(runs) == ""
