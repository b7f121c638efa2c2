# SPDX-License-Identifier: Apache-2.0
"""Folders of older schema versions: lifted in one place, and read by every tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
import pandas as pd
from occbench_tools import (
    NEWEST,
    SCHEMA_VERSIONS,
    compare,
    explain,
    predictions,
    report,
    schema,
    schema_upgrade,
    validate,
)
from occbench_tools.cliffs import command, find_cliffs
from occbench_tools.folder import read_folder
from parts import lay

RUNS = Path(__file__).with_name("runs")


def test_converts_case_names_to_columns() -> None:
    marks = {"": {}, ".r8": dict(asked_resident_blocks=8), ".s4096": dict(asked_ballast_bytes=4096)}
    marks[".r1.g133.t200us"] = dict(asked_resident_blocks=1, asked_grid_size=133, asked_block_s=2e-4)
    marks[".w3.t4us"] = dict(asked_waves=3, asked_block_s=4e-6)
    ids = [f"waves.fma_chain.two-operand-ilp4.b128{mark}" for mark in marks]
    rows = schema_upgrade.upgrade_cases(pd.DataFrame(dict(case_id=ids, variant="two-operand-ilp4")))
    for (_, row), said in zip(rows.iterrows(), marks.values(), strict=True):
        plain = {} if "asked_grid_size" in said else dict(asked_waves=1)
        found = row[list(schema_upgrade.SUFFIXES)].dropna().to_dict()
        assert found == pytest.approx(plain | said)
    assert set(rows["curve"]) == {"two-operand-ilp4"} and set(rows["form"]) == {"two-operand-ilp*"}


@pytest.mark.parametrize("version", SCHEMA_VERSIONS[:-1])
def test_every_tool_reads_old_schemas(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RUNS / f"schema-{version}"
    assert set(read_folder(folder).env["experiments"]) >= set(read_folder(folder).valid["experiment"])
    monkeypatch.chdir(tmp_path)
    assert validate.main([str(folder)]) == 0
    assert compare.main([str(folder), str(folder)]) == 0
    assert explain.main([str(folder), "--all"]) == 0
    assert report.main([str(folder), "--output", "page.html"]) in (0, 1)  # 1: rows are left out
    assert command.main([str(folder), "--output", "-"]) in (0, 1)  # 1: too few rows for a sweep
    assert predictions.main([str(folder)]) in (0, 1, 4)  # 4: version 2 has none
    assert "Traceback" not in capsys.readouterr().err


def test_upgrades_names_and_values() -> None:
    """What schema.json says that an entry `was`: in rows, and in env.json at any depth."""
    of_six = read_folder(RUNS / "schema-6")
    assert (of_six.valid["cycles_per_iteration"] > 0).all() and "cycles_per_pass" not in of_six.cases
    assert of_six.env["experiments"]["transpose"]["split_by"] == []
    assert of_six.env["method"]["min_rounds"] == 9
    assert of_six.env["disturbance"] == [
        dict(launches=24210, discarded=0, probes=146, disturbed_probes=0, message="")
    ]
    columns = schema.schema()["files"]["cases.csv"]["columns"]
    rows = schema_upgrade.rename_columns(pd.DataFrame(dict(speeds=["two_in_spells", "one", None])), columns)
    assert rows["speeds"].dropna().tolist() == ["two_in_phases", "one"]


def test_old_column_name_warns_with_the_new_one() -> None:
    cases = schema_upgrade.Cases(read_folder(RUNS / "schema-6").cases)
    with pytest.warns(FutureWarning, match="column own_cycles_per_pass is own_cycles_per_iteration now"):
        old = cases[cases["status"] == "valid"]["own_cycles_per_pass"]
    assert len(old) == 6 and "cycles_per_pass" not in cases
    with pytest.raises(KeyError):
        cases["cycles_per_turn"]


def test_old_values_are_allowed_only_in_old_files() -> None:
    def allowed(version: int) -> list[str]:
        columns = schema.of_version(schema.schema(), version)["files"]["cases.csv"]["columns"]
        return next(column["allowed"] for column in columns if column["name"] == "speeds")

    assert allowed(6) == ["one", "two", "two_in_spells"] and allowed(NEWEST) == [
        "one",
        "two",
        "two_in_phases",
    ]


def test_old_cliffs_and_comparisons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep that goes through several kernels is found without forms, and held against the new run's."""
    rows = [
        made_up.case("registers", "register_pressure", f"load-live{cap - 14}-maxnreg{cap}", rate, warps=warps,
                     block=512, registers_per_thread=cap, register_cap=cap, live_values=cap - 14,
                     register_route="maxnreg", limiters="registers")
        for cap, warps, rate in ((24, 64, 1e12), (31, 64, 1e12), (33, 48, 0.79e12), (40, 48, 0.79e12))
    ]  # fmt: skip
    new = made_up.write(tmp_path / "new", rows)
    old = made_up.write(tmp_path / "old", [row | dict(schema_version=4) for row in rows])
    rules = validate.of_version(validate.schema(), 4)["files"]
    table = pd.read_csv(old / "cases.csv", dtype=object)
    names = [column["name"] for column in rules["cases.csv"]["columns"]]
    table.reindex(columns=names).to_csv(old / "cases.csv", index=False, lineterminator="\n")
    env = made_up.ENV | dict(schema_version=4, experiments=[])
    (old / "env.json").write_text(json.dumps(env), encoding="utf-8")
    said = []
    for folder in (old, new):
        run = read_folder(folder, samples=False)
        found = find_cliffs(run.valid, run.env)
        said.append(found[["dial", "from_value", "to_value", "cause", "drop", "verdict"]])
        assert list(found["kernel"]) == ["load" if folder == new else "load-live*-maxnreg*"]
    pd.testing.assert_frame_equal(*said)
    assert list(said[0].iloc[0][:4]) == ["register_cap", 31, 33, "register unit"]


def test_compares_an_old_run_with_a_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cases meet by their names, whatever the columns of their files."""
    new, old = lay(tmp_path / "new"), RUNS / "schema-4"
    assert compare.main([str(old), str(new), "--by", "time"]) in (0, 1)
    assert "transpose" in capsys.readouterr().out
