# SPDX-License-Identifier: Apache-2.0
"""What kernels would gain on another device: of experiments left out, and of profiles good and bad."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("rich")

import made_up
import numpy as np
import pandas as pd
import programs
from occbench_tools import compare
from occbench_tools.compare.align import align
from occbench_tools.devices import features, launched, predict, profiles, speedup
from occbench_tools.folder import read_folder

OLD, NEW = (made_up.newest_run(gpu) for gpu in ("nvidia-h100-80gb-hbm3", "nvidia-h200"))
RAW = Path(__file__).with_name("ncu_raw.csv")  # of an H200
PLAIN = "kernel,time_s,dram_percent,occupancy_theoretical,registers_per_thread,launches\n"


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough of them to tell; `python -m occbench_tools.devices OLD NEW` grows all."""
    monkeypatch.setattr(predict, "TREES", 20)


@pytest.fixture(scope="module")
def cases() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The pairs of both runs, and their features."""
    old, new = (read_folder(run, samples=False) for run in (OLD, NEW))
    pairs, _ = align(old.valid, new.valid, False)
    rows = speedup.pairs_of(old.valid, new.valid, pairs)
    return rows, features.of_rows(rows, old.env["gpu"])


def test_leave_experiments_out_validation(cases: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Groups of experiments unseen: the median error, how many are near, and what the intervals hold."""
    rows, known = cases
    groups = pd.Series(predict.folds(rows["experiment"])).astype(str)
    assert groups.groupby(rows["experiment"]).nunique().max() == 1 and groups.nunique() == predict.FOLDS
    found = predict.errors(known, rows["speedup"], groups)
    assert found["error"].median() <= 0.008
    assert (found["error"] <= 0.05).mean() >= 0.85
    assert 0.85 <= found["covered"].mean() <= 0.95
    alone = predict.errors(known[["dram"]], rows["speedup"], groups)
    assert (found["error"] <= 0.05).mean() > (alone["error"] <= 0.05).mean()


def test_dram_share_prefers_counters(
    cases: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    rows, known = cases
    gpu = dict(dram_bytes_per_s_theoretical=2e12)
    counted = rows.assign(dram_read_bytes=1e9 * rows["time_median_s"], dram_write_bytes=np.nan)
    counted.loc[counted.index[0], "dram_write_bytes"] = 3e9 * counted["time_median_s"].iloc[0]
    found = features.of_rows(counted, gpu)["dram"]
    assert found.iloc[0] == pytest.approx(0.002)
    assert found.iloc[1:].tolist() == features.of_rows(rows, gpu)["dram"].iloc[1:].tolist()
    assert known["dram"].max() > 0.9


def test_marks_kernels_unlike_the_suite(cases: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    rows, known = cases
    shared = known[list(features.SHARED)]
    far = shared.iloc[:2].copy()
    far.iloc[1] = shared.max() * 20
    found = predict.predict(shared, rows["speedup"], rows["experiment"], far)
    assert list(found["known"]) == [True, False]
    assert (found["low"] <= found["speedup"]).all() and (found["speedup"] <= found["high"]).all()


def test_a_profile_of_three_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The more of DRAM, the more is gained; the whole is their times together, without what is unknown."""
    file = tmp_path / "plain.csv"
    rows = "gemm,0.5,12,0.25,128,100\ncopy,0.3,91,1,16,50\nodd,0.2,,1,32,1\n"
    file.write_text(PLAIN + rows)
    compare.main([str(OLD), str(NEW), "--predict-for", str(file), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    gemm, copy, odd = found["kernels"]
    assert gemm["low"] < gemm["speedup"] < 1.15 < 1.3 < copy["speedup"] < copy["high"]
    assert odd["speedup"] is None and not odd["known"]
    assert found["known_share_of_time"] == pytest.approx(0.8)
    new = 0.5 / gemm["speedup"] + 0.3 / copy["speedup"]
    assert found["speedup"] == pytest.approx(0.8 / new)
    compare.main([str(OLD), str(NEW), "--predict-for", str(file), "--width", "80"])
    out = capsys.readouterr().out
    assert out.startswith("On NVIDIA H200 instead of NVIDIA H100 80GB HBM3: 1.")
    assert "of the 80 % of the time that is known" in " ".join(out.split()) and "unknown" in out


def test_a_profile_of_ncu(capsys: pytest.CaptureFixture[str]) -> None:
    """Its DRAM share follows from the bytes and the time where ncu does not say it."""
    gpu = read_folder(NEW, samples=False).env["gpu"]
    kernels = profiles.kernels_of(RAW, gpu)
    assert len(kernels) == 1 and kernels.at[0, "launches"] == 3
    share = (1011395072 + 2826240) / 491.2e-6 / gpu["dram_bytes_per_s_theoretical"]
    assert kernels.at[0, "dram"] == pytest.approx(share, rel=0.05)
    assert kernels.at[0, "registers"] == 33 and kernels.at[0, "grid"] == 1
    assert kernels.at[0, "occupancy"] == pytest.approx(0.75)
    assert compare.main([str(NEW), str(OLD), "--predict-for", str(RAW), "--format", "csv"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head == "kernel,launches,time_s,dram,speedup,low,high,known" and row.endswith("True")


NAMES = {  # as ncu has it; as attach has it
    "void at::native::<unnamed>::sum<(int)512, (bool)1, float>(const float *, unsigned long)":
        "void at::native::(anonymous namespace)::sum<512, true, float>(float const*, unsigned long)",
    "copy(int)": "copy(int)",
    "flat": "flat",
    "void apply<op(float)::lambda<1>, 4>(int *)": "void apply<op(float)::lambda<1>, 4>(int*)",
}  # fmt: skip


def test_ncu_and_attach_names_match() -> None:
    assert [launched.plain_name(name) for name in NAMES] == [
        launched.plain_name(name) for name in NAMES.values()
    ]
    assert len({launched.plain_name(name) for name in NAMES}) == len(NAMES)


def test_launches_of_the_whole_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of kernels, launches and times are the program's; what the profile lacks is unknown."""
    program = programs.write(tmp_path / "attached")
    file = tmp_path / "plain.csv"
    file.write_text("kernel,time_s,dram_percent\nneeds<float>,9,88\nflat,9,12\nother,9,5\n")
    words = [str(OLD), str(NEW), "--predict-for", str(file), "--format", "json", "--launches-of"]
    assert compare.main([*words, str(program)]) == 0
    found = json.loads(capsys.readouterr().out)
    needs, flat, *rest = found["kernels"]
    assert needs["kernel"] == "void needs<float>(int*, float)"
    assert (needs["launches"], needs["dram"]) == (100, 0.88)
    assert flat["time_s"] == pytest.approx(100e-3) and not any(one["known"] for one in rest)
    assert len(rest) == len(programs.PROGRAM) - 2
    assert found["known_share_of_time"] == pytest.approx(0.3 / sum(one["time_s"] for one in found["kernels"]))
    file.write_text("kernel,time_s,dram_percent\nother,9,5\n")
    assert compare.main([*words, str(program)]) == 4
    assert "launched no kernel of the profile" in capsys.readouterr().err
    assert compare.main([*words, str(tmp_path / "none")]) == 4
    assert capsys.readouterr().err.count("\n") == 1


BAD = {
    "": "is neither ncu's CSV",
    "kernel,time_s\na,1\n": "lacks dram_percent",
    PLAIN: "has no duration",
    PLAIN + "a,1,x,1,1,1\n": "column dram: x is not a number",
    PLAIN + "a,-1,5,1,1,1\n": "column time_s: -1",
    PLAIN + "a,1,,1,1,1\n": "no kernel's share of DRAM",
    '"ID","Kernel Name"\n': "holds no launch",
    '"ID","Kernel Name","CC","Metric Name","Metric Value","Metric Unit"\n'
    '"0","k","8.0","Duration","5","us"\n': "of compute capability 8.0",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_profiles(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that says what is wrong, and exit code 4."""
    file = tmp_path / "profile.csv"
    file.write_text(text)
    assert compare.main([str(OLD), str(NEW), "--predict-for", str(file)]) == 4
    said = capsys.readouterr()
    assert said.out == "" and BAD[text] in said.err and said.err.count("\n") == 1


def test_rejects_incompatible_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(OLD), str(NEW)]
    assert compare.main([*runs, str(NEW), "--predict-for", str(RAW)]) == 2
    assert compare.main([*runs, "--format", "html", "--predict-for", str(RAW)]) == 2
    assert compare.main([*runs, "--predict-for", str(tmp_path / "none")]) == 4
    assert capsys.readouterr().err.count("\n") == 3


def test_interval_width_matches_past_errors() -> None:
    told = predict.Estimates(np.zeros(100), np.full(100, 0.01), np.zeros(100))
    errors = np.linspace(0.0001, 0.01, 100)
    assert predict.reach(told, errors) == pytest.approx(0.91, abs=0.01)
