# SPDX-License-Identifier: Apache-2.0
"""occbench predictions on rows whose errors are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import described
import made_up
import pandas as pd
from occbench_tools import NEWEST, counters, predictions, validate
from test_counters import counted


def rows_of(experiment: str, errors: list[float | None], baseline: float = 0.5) -> list[dict[str, Any]]:
    """A case for each error; None: not predicted."""
    cases = [
        made_up.case(experiment, "stream", "read", 1e12, marks=f".r{place}") for place in range(len(errors))
    ]
    return [
        row | dict(schema_version=NEWEST, source="measured") if off is None else
        made_up.with_prediction(row, off, "DRAM", baseline)
        for row, off in zip(cases, errors, strict=True)
    ]  # fmt: skip


KNOWN = [
    *rows_of("waves", [0.01, -0.02, 0.03, -0.30]),
    *rows_of("energy", [0.04, None], -0.1),
    *rows_of("clusters", [2.0]),
]


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "known", KNOWN)


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> list[str]:
    assert predictions.main([str(word) for word in words]) == 0
    return capsys.readouterr().out.splitlines()


def test_model_option_uses_another_models_predictions(
    known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its word counts, by case; of a case that it does not know nothing was said."""
    said = [row | dict(source="model") for row in rows_of("waves", [0.5, 0.5, 0.5])]
    model = made_up.write(tmp_path / "model", said)
    (model / "env.json").write_text(json.dumps(made_up.ENV | dict(source="model")), encoding="utf-8")
    lines = printed(capsys, known, "--model", model)
    assert any(line.startswith("| waves | 4 | 50.0 % | 50.0 % | +50.0 % |") for line in lines)
    (model / "cases.csv").write_text(
        (model / "cases.csv").read_text(encoding="utf-8").replace("byte/s", "operation/s"), encoding="utf-8"
    )
    assert predictions.main([str(known), "--model", str(model)]) == 1
    assert "no valid case has a prediction" in capsys.readouterr().err, "of another unit"
    assert predictions.main([str(known), "--model", str(known)]) == 4
    assert "not a run of the model" in capsys.readouterr().err


def test_table(known: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, known)
    assert lines[0].startswith("| experiment | cases | mean | 90 % within | worst | bias | min(): mean |")
    # |errors| of waves 1, 2, 3, 30 %: the 90th percentile lies at 0.7 of the way from 3 to 30.
    waves = "| waves | 4 | 9.0 % | 21.9 % | -30.0 % | -0.5 % | 50.0 % | 50.0 % | +50.0 % | +50.0 % | 0 % |"
    energy = "| energy | 2 | 4.0 % | 4.0 % | +4.0 % | +4.0 % | 10.0 % | 10.0 % | -10.0 % | -10.0 % | 50 % |"
    assert lines[2:4] == [f"{energy} `stream.read.b128.r0` |", f"{waves} `stream.read.b128.r3` |"]
    whole, outside = lines[5], lines[7]
    assert whole.startswith("| all of these | 6 | 8.0 % |") and "| 16.7 % |" in whole
    assert whole.endswith("| `waves.stream.read.b128.r3` |")
    assert outside.startswith("| clusters | 1 | 200.0 % |")
    assert lines[9].startswith("| all, and those outside | 7 | 40.0 % |"), "the mean of six known errors"
    assert lines[9].endswith("| `clusters.stream.read.b128.r0` |")
    assert lines[-3:] == [
        "Outside the model, and in the second total alone:",
        "",
        f"- clusters: {described.WHY}.",
    ]
    assert lines[-5] == (
        "Aims, at most: mean 5 %, 90 % within 10 %, worst 25 %. Missed: mean 8.0 %, 90 % within 19.6 %, "
        "worst 30.0 %, without the 1 of 6 cases that were not predicted."
    )


def test_plain(known: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, known, "--plain")
    assert "|" not in "".join(lines) and "`" not in "".join(lines)
    assert [set(line) == {"-"} for line in lines[:10]] == [i in (1, 4, 6, 8) for i in range(10)]
    heads, waves = lines[0], lines[3]
    assert heads.index("mean") + len("mean") == waves.index("9.0 %") + len("9.0 %")


def test_targets_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "good", rows_of("waves", [0.04, -0.04]))
    assert printed(capsys, folder)[-1].endswith("worst 25 %. All met.")


def write_counters(path: Path, rows: dict[str, dict[str, float]]) -> Path:
    table = pd.DataFrame([dict(case_id=case) | row for case, row in rows.items()])
    table.to_csv(path, index=False, columns=["case_id", *counters.METRICS])
    return path


def test_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = dict(experiment="waves", family="fma_chain", variant="v", rate=1e12)
    said = ["DRAM", "DRAM", "issue", "launch", "latency"]
    rows = [
        made_up.with_prediction(made_up.case(**shape, marks=f".{i}"), 0, bound)
        for i, bound in enumerate(said)
    ]
    rows += [made_up.with_prediction(made_up.case("clusters", "clusters", "v", 1e12), 0, "L2")]
    folder = made_up.write(tmp_path / "run", rows)
    seen = [
        counted(dram__throughput=92), counted(),
        counted(smsp__issue_active=97, sm__pipe_fma_cycles_active=99), counted(), counted(), counted(),
    ]  # fmt: skip
    file = write_counters(
        tmp_path / "c.csv", {row["case_id"]: levels for row, levels in zip(rows, seen, strict=True)}
    )
    lines = printed(capsys, folder, "--bounds", file)
    # Launch has no counter and clusters are outside; issue and FMA pipe are as busy as each other.
    assert lines[-7:] == [
        "The counters name the model's bound in 3 of 4 cases (75 %).",
        "",
        "| model, counters | DRAM | latency | pipe | agree |",
        "| --- | --- | --- | --- | --- |",
        "| DRAM | 1 | 1 |  | 50 % |",
        "| issue |  |  | 1 | 100 % |",
        "| latency |  | 1 |  | 100 % |",
    ]
    other = write_counters(tmp_path / "other.csv", {"another": counted()})
    assert predictions.main([str(folder), "--bounds", str(other)]) == 1
    assert "none of its 1 cases is predicted in this folder" in capsys.readouterr().err


HEAD = ",".join(["case_id", *counters.METRICS])
CELLS = len(counters.METRICS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "has no column case_id"),
        (f"{HEAD}\nx{',many' * CELLS}\n", "not a number"),
        (f"{HEAD}\nx{',' * CELLS}\n", "x has no sm__cycles_active"),
        (f"{HEAD}\nx{',1' * CELLS}\nx{',1' * CELLS}\n", "x stands there twice"),
    ],
)
def test_rejects_file_without_counters(
    known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    (tmp_path / "c.csv").write_text(text)
    assert predictions.main([str(known), "--bounds", str(tmp_path / "c.csv")]) == 4
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1 and why in errors[0]


def test_rejects_rows_older_than_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "old", [])
    rules = validate.of_version(validate.schema(), 2)
    old = [column["name"] for column in rules["files"]["cases.csv"]["columns"]]
    pd.DataFrame([made_up.cases()[0] | dict(schema_version=2)], columns=old).to_csv(
        folder / "cases.csv", index=False
    )
    assert predictions.main([str(folder)]) == 4
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert "(schema_version 2) has no source: it is older than the model" in errors[0]


def test_rejects_model_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_up.write(tmp_path / "model", [row | dict(source="model") for row in KNOWN])
    assert predictions.main([str(folder)]) == 4
    assert "nothing in it was measured" in capsys.readouterr().err


def test_nothing_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row | dict(bound_predicted="", throughput_predicted="", throughput_baseline="") for row in KNOWN]
    assert predictions.main([str(made_up.write(tmp_path / "none", rows))]) == 1
    assert "`occbench calibrate`" in capsys.readouterr().err


def test_missing_files(known: Path, tmp_path: Path) -> None:
    assert predictions.main([str(tmp_path / "none")]) == 4
    assert predictions.main([str(known), "--bounds", str(tmp_path / "none.csv")]) == 4


@pytest.mark.parametrize("words", [["--colour"]])
def test_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        predictions.main(words)


def with_band(row: dict[str, Any], low: float, high: float) -> dict[str, Any]:
    """The row with a band, in shares of its throughput."""
    ends = dict(throughput_predicted_low=low, throughput_predicted_high=high)
    return row | {name: share * row["throughput"] for name, share in ends.items()}


def test_bands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many measured cases they hold; those outside the model in a figure of their own."""
    rows = rows_of("waves", [0.01, -0.02, 0.03, -0.3])
    banded = [with_band(row, *ends) for row, ends in zip(rows, [(0.9, 1.1)] * 3 + [(0.6, 0.8)], strict=True)]
    said = [*banded, with_band(rows_of("clusters", [2.0])[0], 2, 4)]
    folder = made_up.write(tmp_path / "banded", said)
    line = printed(capsys, folder)[-1]
    assert line.startswith("Within their 90 % bands: 75.0 % of 4 measured cases; 60.0 % of 5 measured cases")
    assert line.endswith("Half of the bands are +-10.6 % or less.")
    assert not any("bands" in line for line in printed(capsys, made_up.write(tmp_path / "bare", rows)))
    model = made_up.write(tmp_path / "model", [row | dict(source="model") for row in said])
    (model / "env.json").write_text(json.dumps(made_up.ENV | dict(source="model")), encoding="utf-8")
    bare = made_up.write(tmp_path / "measured", rows)
    assert "75.0 % of 4 measured cases" in printed(capsys, bare, "--model", model)[-1]
