# SPDX-License-Identifier: Apache-2.0
"""What bands are made of: the model's own error by the committed runs, and ranges over the cards measured."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")

from occbench_docs.committed import committed_runs
from occbench_tools import predictions, validate

ROOT = Path(__file__).resolve().parents[2]
BANDS = (ROOT / "harness/theory/prediction/bands.cpp").read_text(encoding="utf-8")
BOUNDS = next(
    column["allowed"]
    for column in validate.schema()["files"]["cases.csv"]["columns"]
    if column["name"] == "bound_predicted"
)
CARDS = ROOT / "docs/data/cards.csv"


def test_model_errors_match_the_committed_run() -> None:
    """Another run of the same model differs by less than a quarter."""
    (text,) = re.findall(r"constexpr double errors\[\] = {(.*)};", BANDS)
    held = dict(zip(BOUNDS, map(float, text.split(", ")), strict=True))
    (run,) = committed_runs("nvidia-h200")
    rows = predictions.read_predictions(run)
    rows = rows[rows["outside_model"].isna() & rows["error"].notna()]
    found = np.log1p(rows["error"]).abs().groupby(rows["bound_predicted"]).mean()
    assert len(found) > 8
    for bound, error in found.items():
        assert held[bound] == pytest.approx(error, rel=0.25), bound


@pytest.mark.parametrize("gpu", ["H200", "H100"])
def test_parameter_ranges_cover_the_measured_cards(gpu: str) -> None:
    file = json.loads((ROOT / f"harness/parameters/{gpu.lower()}.json").read_text(encoding="utf-8"))
    assert file["origin"] == "measured"
    with CARDS.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        entry = file["parameters"][row["parameter"]]
        values = [float(cell) for card, cell in row.items() if card.startswith(f"{gpu} ") and cell]
        assert f"over {len(values)} cards" in entry["method"]
        assert entry["low"] <= min(values) <= entry["value"] <= max(values) <= entry["high"], row["parameter"]
    assert {row["parameter"] for row in rows} == set(file["parameters"]) - {"block_starts"}
