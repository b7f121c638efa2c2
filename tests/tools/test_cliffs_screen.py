# SPDX-License-Identifier: Apache-2.0
"""What occbench cliffs says on one screen: few and narrow lines, whole names, counts that are the file's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
import numpy as np
import pandas as pd
from occbench_docs.committed import committed_runs
from occbench_tools.cliffs import command, digest
from parts import pair


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "run", pair("read", 1e12, 0.9e12))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("run", committed_runs(), ids=lambda run: run.name)
def test_summary_of_a_whole_run_fits_one_screen(
    run: Path,
    width: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At most 25 lines, none too wide; the counts are the file's; names are whole or elided."""
    monkeypatch.setenv("COLUMNS", str(width))
    file = tmp_path / "cliffs.csv"
    assert command.main([str(run), "--output", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= width
    found = pd.read_csv(file)
    counts = found["verdict"].value_counts()
    said = " ".join(lines[:3])
    assert f"of {found['predicted'].sum():,} predicted steps, {counts['confirmed']:,} seen, " in said
    assert f"{counts.get('unpredicted', 0):,} more that nobody predicted" in said
    end = next(i for i, line in enumerate(lines) if line.startswith("Explained"))
    table = [[cell.strip() for cell in re.split(" {2,}", line)] for line in lines[lines.index("") + 2 : end]]
    totals = np.array([[int(cell.replace(",", "")) for cell in row[1:6]] for row in table]).sum(axis=0)
    assert totals[0] == found["predicted"].sum() and totals[1] == counts["confirmed"]
    assert totals[2] + totals[3] == counts["absent"] and totals[4] == counts.get("unclear", 0)
    names = set(found["experiment"] + ": " + found["kernel"])
    listed = [re.split(" {2,}", line.strip()) for line in lines[end:] if line.startswith("  ")]
    assert len(listed) >= 3
    for cells in listed:
        head, dots, tail = re.sub(r" \(.*\?\)$", "", cells[-1]).partition("...")
        assert any(name.startswith(head) and name.endswith(tail) and (dots or name == head) for name in names)


def test_summaries_of_model_and_multiple_runs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model it says so, and claims nothing of steps that were not looked for; of many, a line each."""
    monkeypatch.setenv("COLUMNS", "80")
    model = made_up.write(tmp_path / "model", pair("read", 1e12, 0.9e12))
    env = json.loads((model / "env.json").read_text())
    (model / "env.json").write_text(json.dumps(env | dict(source="model")))
    assert command.main([str(model)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "model (model of A GPU, not measured): of 1 predicted step, 1 seen."
    assert command.main([str(folder), str(model)]) == 0
    several = capsys.readouterr().out.splitlines()
    assert several[1] == said[0] and len(several) <= 5
    many = [str(made_up.write(tmp_path / f"{i}", pair("read", 1e12, 0.9e12))) for i in range(40)]
    assert command.main(many) == 0
    several = capsys.readouterr().out.splitlines()
    assert len(several) <= 25 and max(map(len, several)) <= 80


def test_cost_is_the_loss_of_the_slower_side() -> None:
    table = pd.DataFrame(dict(drop=[0.2, -1.0], explained=False, verdict="confirmed"))
    assert digest.add_outcomes(table)["cost"].tolist() == pytest.approx([0.2, 0.5])


def test_outcomes_do_not_depend_on_note_text() -> None:
    note = "both sides at 95 % of the unexplained ceiling or more"  # a name out of the rows
    table = pd.DataFrame(dict(drop=0.0, note=note, verdict="absent", explained=[True, False]))
    assert digest.add_outcomes(table)["outcome"].tolist() == ["explained", "unexplained"]
