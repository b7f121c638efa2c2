# SPDX-License-Identifier: Apache-2.0
"""What another device buys: tables of made-up laws, and of the committed runs of two devices."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("rich")

import made_up
import pandas as pd
from occbench_tools import compare
from occbench_tools.compare import speedup as words
from occbench_tools.compare.align import align
from occbench_tools.devices import speedup
from occbench_tools.folder import read_folder

RUNS = [made_up.newest_run(gpu) for gpu in ("nvidia-h100-80gb-hbm3", "nvidia-h200")]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    old, new = (read_folder(run, samples=False) for run in RUNS)
    pairs, _ = align(old.valid, new.valid, False)
    return speedup.pairs_of(old.valid, new.valid, pairs)


def case(share: float, speedup: float, **more: object) -> dict[str, object]:
    told = dict(
        kind="DRAM", share=share, speedup=speedup, bound="DRAM", experiment="e", family="f", curve="c"
    )
    return told | more


def test_speedup_by_band_of_share() -> None:
    """Each case in the band of its share; what exceeds its ceiling in the last one; latencies in none."""
    made = [case(0.05, 1.0), case(0.099, 1.2), case(0.1, 2.0), case(1.2, 3.0), case(float("nan"), 9.0)]
    table = speedup.law(pd.DataFrame([*made, case(0.35, 4.0, kind="L1")])).set_index(["kind", "from"])
    assert table["count"].to_dict() == {("DRAM", 0): 2, ("DRAM", 10): 1, ("DRAM", 90): 1, ("L1", 30): 1}
    assert table.loc[("DRAM", 0), "median"] == pytest.approx(1.1)
    assert table.loc[("DRAM", 0), "high"] == pytest.approx(1.19)


def test_divergence_value_of_a_curve() -> None:
    """From the value on from which all are beyond 3 %; a peak between is none, three points are no curve."""

    def line(*speedups: float) -> pd.DataFrame:
        return pd.DataFrame([case(0.5, s, warps_per_sm=2**i) for i, s in enumerate(speedups)])

    assert speedup.divergence_value(line(1, 1.01, 1.1, 1.2), "warps_per_sm") == 4
    assert pd.isna(speedup.divergence_value(line(1, 1.2, 1, 1.02), "warps_per_sm"))
    assert speedup.divergence_value(line(1, 1.2, 1.3), "warps_per_sm") is None
    dials = dict(e=dict(dial="warps_per_sm", split_by=[]))
    told = speedup.curves(line(1, 1.01, 1.1, 1.2), dials).iloc[0]
    assert (told["first"], told["at_first"], told["last"], told["at_last"]) == (1, 1, 8, 1.2)
    assert (told["curves"], told["diverging"], told["diverges_at"]) == (1, 1, 4)


def test_bound_of_a_case() -> None:
    made = pd.DataFrame(
        [("fp32", "pipe"), ("issue", "pipe"), ("dram", "L2"), ("none", "tail"), ("dram", None)],
        columns=["ceiling_kind", "bound_predicted"],
    )
    assert list(speedup.bound_of(made)) == ["FP32", "issue", "L2", "other", "DRAM"]


def test_committed_device_pair(rows: pd.DataFrame) -> None:
    """The law rises with the share of DRAM, arithmetic is equal, and seconds are what FASTER counts."""
    table = speedup.law(rows).set_index(["kind", "from"])["median"]
    assert list(table["DRAM"].loc[40:]) == sorted(table["DRAM"].loc[40:])
    assert table[("DRAM", 90)] > 1.35 > 1.1 > table[("DRAM", 30)]
    bounds = speedup.by_bound(rows).set_index("bound")
    assert bounds.at["FP32", "median"] == pytest.approx(1, abs=0.01)
    assert bounds["count"].sum() == len(rows)
    found = speedup.latencies(rows).set_index("variant")
    assert found.at["l1", "cycles"] == pytest.approx(found.at["l1", "new_cycles"], rel=0.01)
    assert found.at["dram", "ns"] > found.at["l2", "ns"] > found.at["l1", "ns"]


def test_latencies_use_each_devices_clock() -> None:
    chain = dict(kind="latency", grid_size=1, experiment="e", family="f", variant="v",
                 cycles_per_iteration=30.0, new_cycles=60.0, new_own_cycles=float("nan"),
                 sm_clock_hz=1e9, new_sm_clock_hz=2e9)  # fmt: skip
    found = speedup.latencies(pd.DataFrame([chain])).iloc[0]
    assert (found["ns"], found["new_ns"]) == (30, 30)


@pytest.mark.slow
def test_tables_of_two_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """Throughput over occupancy comes first, the environment last; FASTER takes fewer seconds."""
    code = compare.main([*map(str, RUNS), "--format", "markdown"])
    titles = [line[3:] for line in capsys.readouterr().out.splitlines() if line.startswith("## ")]
    assert titles[:2] == ["Throughput over theoretical occupancy", "Speed-up"]
    assert titles[-1].endswith("what differs beside the measurements")
    assert "Speed-up over the dial of each experiment" in titles
    compare.main([*map(str, RUNS), "--format", "csv"])
    out = capsys.readouterr().out.splitlines()
    head = out[0].split(",")
    told = [dict(zip(head, line.split(","), strict=True)) for line in out[1:] if '"' not in line]
    faster = [row for row in told if row["verdict"] == "FASTER"]
    assert len(faster) > 1000 and code == 1
    assert all(row["by"] == "time" and float(row["time_change"]) < 0 for row in faster)


def test_device_matrix_is_reciprocal() -> None:
    """Row against column: what one gains the other loses."""
    old, new = (read_folder(run, samples=False) for run in RUNS)
    found = words.speedups([old, new])
    assert found[1][0][1] * found[0][1][1] == pytest.approx(1)
    assert found[1][0][1] > 1 and words.labels([old, new, new])[1:] == ["H200 #1", "H200 #2"]
