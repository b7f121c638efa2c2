# SPDX-License-Identifier: Apache-2.0
"""What occbench compare opens on, and the cliffs that it names: moved, gone and new ones."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pandas")
pytest.importorskip("rich")

import pandas as pd
from occbench_tools import compare
from occbench_tools.compare import digest, opening, summary
from occbench_tools.opening import EXPERIMENT, curves, least_occupancy
from parts import RUN, lay

CLIFFS = ["experiment", "kernel", "dial", "base", "candidate", "base_drop", "candidate_drop", "verdict"]


def made_up(best: float) -> pd.DataFrame:
    """Loads that need all occupancy, and FMAs that need a quarter."""
    shares = [0.25, 0.5, 0.75, 1.0]
    lines = {"read-f32-4B-ilp1": [0.3, 0.6, 0.85, 1.0], "two-operand-ilp1": [0.95, 1.0, 1.0, 1.0]}
    return pd.DataFrame(
        [
            (EXPERIMENT, variant, share, best * throughput)
            for variant, line in lines.items()
            for share, throughput in zip(shares, line, strict=True)
        ],
        columns=["experiment", "variant", "occupancy_theoretical", "throughput"],
    )


def test_min_occupancy_for_90_percent() -> None:
    assert {words: least_occupancy(line) for words, line in curves(made_up(7)).items()} == {
        "loads of 4 bytes": "100 %",
        "a chain of FMAs": "25 %",
    }
    one_kernel = made_up(7).query("variant == 'two-operand-ilp1'")
    assert curves(one_kernel) == {}


def test_sentence_and_picture() -> None:
    better = made_up(14)
    better.loc[2, "throughput"] = 14 * 0.95
    one = SimpleNamespace(base=SimpleNamespace(valid=made_up(7)), candidate=SimpleNamespace(valid=better))
    said = opening.sentence(one)
    assert said == "Occupancy for 90 % of the best: loads of 4 bytes 100 % -> 75 %, a chain of FMAs 25 %."
    drawn = opening.picture(one)
    lines = [line.split() for line in re.findall(r'points="([^"]+)"', drawn)]
    assert [len(line) for line in lines] == [4, 4, 4, 4] and said.replace(">", "&gt;") in drawn
    ends = [float(line[-1].split(",")[1]) for line in lines]  # of throughput at full occupancy
    base_line = opening.HEIGHT - opening.BOTTOM
    assert base_line - ends[1] == pytest.approx(2 * (base_line - ends[0]), abs=0.2)
    without = SimpleNamespace(base=one.base, candidate=SimpleNamespace(valid=made_up(7).head(2)))
    assert opening.sentence(without) == opening.picture(without) == ""


def test_sorts_cliffs_by_depth() -> None:
    rows = [
        ("registers", "load", "registers_per_thread", "32 -> 33", "32 -> 33", 0.2, 0.2, "SAME"),
        ("registers", "load", "registers_per_thread", "64 -> 65", "72 -> 73", 0.2, 0.19, "MOVED"),
        ("waves", "fma", "grid_size", "132 -> 133", "132 -> 133", -0.01, 0.5, "NEW"),
        ("registers", "fma", "registers_per_thread", "40 -> 41", "", 0.05, float("nan"), "GONE"),
        ("registers", "fma", "registers_per_thread", "", "90 -> 91", float("nan"), 0.04, "NEW"),
    ]
    one = SimpleNamespace(cliffs=pd.DataFrame(rows, columns=CLIFFS))
    assert digest.named_cliffs(one) == [
        "new: waves fma, grid_size 132 -> 133 (drop 50 %)",
        "moved: registers load, registers_per_thread 64 -> 65 to 72 -> 73 (drop 20 % to 19 %)",
        "gone: registers fma, registers_per_thread 40 -> 41 (drop 5.0 %)",
    ]
    assert digest.named_cliffs(SimpleNamespace(cliffs=one.cliffs.head(1))) == []


def test_screen_and_page_start_with_the_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of one card: the sentence follows the verdict, and the page begins with the picture."""
    moved = pd.DataFrame(
        [("stream", "load", "warps_per_sm", "", "8 -> 12", float("nan"), 0.3, "NEW")], columns=CLIFFS
    )
    monkeypatch.setattr(summary, "cliffs_of", lambda folder: None)
    monkeypatch.setattr(
        summary, "moved_cliffs", lambda *_: moved.assign(family="", sweep="", cause="registers")
    )
    monkeypatch.setenv("COLUMNS", "80")
    folders = [str(lay(tmp_path / name, RUN, experiments=(EXPERIMENT,))) for name in ("base", "other")]
    assert compare.main(folders) == 0
    screen = capsys.readouterr().out
    assert "Occupancy for 90 % of the best: loads of 4 bytes" in " ".join(screen.split("\n\n")[0].split())
    assert "Cliffs: 1 new.\nnew: stream load, warps_per_sm 8 -> 12 (drop 30 %)\n" in screen
    assert len(screen.splitlines()) <= 25
    assert compare.main([*folders, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.index("<svg") < page.index("what differs beside the measurements")
    assert 'name="viewport"' in page and "Throughput over theoretical occupancy" in page
