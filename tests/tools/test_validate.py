# SPDX-License-Identifier: Apache-2.0
"""occbench validate on a good folder, and on each kind of bad one."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from occbench_tools import NEWEST, SCHEMA_VERSIONS, validate
from outputs import OutputOf

SCHEMA = validate.schema()
CASES = [c["name"] for c in SCHEMA["files"]["cases.csv"]["columns"]]
SAMPLES = [c["name"] for c in SCHEMA["files"]["samples.csv"]["columns"]]
CASE = dict.fromkeys(CASES, "") | dict(
    schema_version=str(NEWEST), source="measured", case_id="block_size.fma.256", experiment="block_size",
    family="fma_chain", variant="ilp=4", curve="ilp=4", status="valid", block_size="256", grid_size="1056",
    waves="1", asked_waves="1", ilp="4", data_type="f32", register_route="free", registers_per_thread="32",
    local_bytes="0", static_smem_bytes="0", dynamic_smem_bytes="0", barriers="1", live_values="4",
    blocks_per_sm="8", warps_per_sm="64", occupancy_theoretical="1", limiters="warps+registers",
    occupancy_textbook="1", blocks_per_sm_api="8", blocks_per_sm_resident="8", idle_sms="0",
    block_size_api="1024", occupancy_resident="0.95", occupancy_launch="0.9", lost_to_ramp="0.01",
    lost_to_turnover="-0.01", lost_to_tail="0.07", lost_to_imbalance="0.02", lost_to_unused_places="0.01",
    occupancy_achieved="0.98", issue_active="0.5", fma_active="0.9", tensor_active="0",
    dram_read_bytes="3e6", l2_bytes="4e6", l1_bytes="5e6", stalls="long_scoreboard 4.10; wait 1.90",
    counter_status="GX100 has no dram__bytes_write.sum", iterations="100", flop_per_launch="6e10",
    verified="repeat", samples="4", discarded="1", stop_reason="precision", time_median_s="0.0015",
    time_ci95_low_s="0.001", time_ci95_high_s="0.002", time_p10_s="0.001", time_p90_s="0.002",
    speeds="one", sm_clock_hz="1.98e9", throughput="4e13", throughput_unit="flop/s", ceiling_kind="fp32",
    ceiling="6.69e13", percent_of_ceiling="59.790732", per_cycle_per_sm="153",
    cycles_per_iteration="29700",
)  # fmt: skip
IMPOSSIBLE = {name: "" for name in CASES} | {k: CASE[k] for k in CASES[:7]}
IMPOSSIBLE |= dict(
    case_id="block_size.fma.2048", status="impossible", reason='2048 threads, "too many", of 1024'
)
GPU = dict(
    name="NVIDIA H200", uuid="GPU-0", compute_capability="9.0", sm_count=132, sm_clock_max_hz=1.98e9,
    memory_clock_hz=3.2e9, memory_bus_bits=6144, dram_bytes_per_s_theoretical=4.9e12, memory_bytes=1 << 37,
    l2_bytes=60 << 20, ecc=True, mig=None, power_limit_w=700, throttle_reasons=None, driver_version=None,
    cuda_driver_version="13.0", warp_size=32, max_threads_per_block=1024, max_threads_per_sm=2048,
    max_blocks_per_sm=32, registers_per_block=65536, registers_per_sm=65536,
    smem_per_block_bytes=49152, smem_per_block_optin_bytes=232448, smem_per_sm_bytes=233472,
    smem_reserved_per_block_bytes=1024, max_blocks_per_cluster=8,
)  # fmt: skip
ENV = dict(
    schema_version=NEWEST, created_utc="2025-01-31T12:00:00Z", occbench_version="0.1.0", git_commit="0123abc",
    git_dirty=False, build_type="Release", cuda_toolkit="13.0", compiler="g++ 12.2", compiler_flags="-O3",
    cuda_architectures="90", command_line="occbench run", host="node", preset="quick", experiments={},
    benchmark_filter="", seed=1, gpu=GPU,
    google_benchmark_version=None, method={}, source="measured", parameters=None,
    bands=False, disturbance=[],
    counters=["occupancy", "memory", "stalls"],
)  # fmt: skip


def sample(number: int, time_s: float, **other: str) -> dict[str, str]:
    row = dict(schema_version=str(NEWEST), case_id=CASE["case_id"], repetition="0", round="0")
    row |= dict(sample=str(number), time_s=str(time_s), sm_clock_hz="1.98e9", discarded="0")
    row |= dict(started_unix_s="1738324800.5")
    return row | other


class Folder:
    """A folder of results in memory, good until a test changes it."""

    def __init__(self) -> None:
        self.cases = [CASE.copy(), IMPOSSIBLE.copy()]
        self.samples = [sample(i, t) for i, t in enumerate((0.001, 0.0012, 0.002, 0.0018))]
        self.samples += [sample(4, 0.009, discarded="1"), sample(0, 0.5, repetition="1")]
        self.env: dict[str, Any] = json.loads(json.dumps(ENV))

    def write(self, path: Path) -> Path:
        path.mkdir(exist_ok=True)
        for name, columns, rows in (("cases", CASES, self.cases), ("samples", SAMPLES, self.samples)):
            with (path / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        (path / "env.json").write_text(json.dumps(self.env, indent=1), encoding="utf-8")
        return path


def test_valid_folder_passes(tmp_path: Path, output_of: OutputOf) -> None:
    assert (
        output_of(validate.main, Folder().write(tmp_path)) == "1 folder, 2 cases, 6 samples: 0 violations\n"
    )


def test_odd_number_of_samples(tmp_path: Path) -> None:
    folder = Folder()
    folder.samples = [sample(i, t) for i, t in enumerate((0.002, 0.0015, 0.001))]
    folder.cases[0] |= dict(samples="3", discarded="0")
    assert validate.main([str(folder.write(tmp_path))]) == 0


GOOD_CASES = {
    "operations": dict(throughput_unit="operation/s", operations_per_launch="6e10", flop_per_launch=""),
    "no ceiling": dict(ceiling_kind="none", ceiling="", percent_of_ceiling=""),
    "unknown ceiling": dict(ceiling="", percent_of_ceiling=""),
    "clusters": dict(
        cluster_size="16", clusters_api="60", clusters_resident="60", blocks_per_sm_resident="7", idle_sms="4"
    ),
    "energy": dict(power_w="500", energy_per_launch_j="0.75", own_cycles_per_iteration="29500"),
}


@pytest.mark.parametrize("change", GOOD_CASES.values(), ids=GOOD_CASES.keys())
def test_good_case(tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str]) -> None:
    folder = Folder()
    folder.cases[0] |= change
    assert validate.main([str(folder.write(tmp_path))]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(("is_user_kernel", "code"), [(True, 0), (False, 1)])
def test_resident_blocks_are_optional_for_user_kernels(
    tmp_path: Path, is_user_kernel: bool, code: int
) -> None:
    folder = Folder()
    folder.cases[0] |= dict(blocks_per_sm_resident="")
    folder.env["experiments"] = {CASE["experiment"]: dict(user_kernels=is_user_kernel)}
    assert validate.main([str(folder.write(tmp_path))]) == code


def of_a_model() -> Folder:
    """A folder that a model wrote."""
    folder = Folder()
    folder.env |= dict(source="model", parameters=dict(file="h200.json (built in)", content={}))
    for row in folder.cases:
        row["source"] = "model"
    columns = SCHEMA["files"]["cases.csv"]["columns"]
    measured = [c["name"] for c in columns if c.get("required_when") in ("measured", "counted")]
    measured += [c["name"] for c in columns if c.get("since") == 4]
    folder.cases[0] |= dict.fromkeys(measured, "") | dict(samples="0", discarded="0", stop_reason="model")
    folder.cases[0] |= dict(throughput_predicted="4e13", bound_predicted="register port")
    folder.cases[0] |= dict(throughput_baseline="5e13", idle_sms="", block_size_api="")
    folder.samples = []
    return folder


def test_good_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert validate.main([str(of_a_model().write(tmp_path))]) == 0, capsys.readouterr().out


BAD_MODELS = {
    "reason to stop": (dict(stop_reason="bound"), "stop_reason: bound, and source is model"),
    "samples": (dict(samples="4"), "samples: 4, and source is model"),
    "interval": (dict(time_ci95_low_s="0.001"), "time_ci95_low_s: 0.001, and source is model"),
    "achieved": (dict(occupancy_launch="0.9"), "occupancy_launch: 0.9, and source is model"),
    "residency": (dict(blocks_per_sm_resident="8"), "blocks_per_sm_resident: 8, and source is model"),
    "throughput": (dict(throughput_predicted="5e13"), "in a row of the model, which predicts 5e+13"),
    "band": (
        dict(throughput_predicted_low="5e13", throughput_predicted_high="6e13"),
        "throughput_predicted: 4e+13 outside its band, 5e+13 to 6e+13",
    ),
    "bound": (dict(bound_predicted="luck"), "bound_predicted: 'luck' is not one of latency, "),
    "source": (dict(source="measured", stop_reason="bound"), "source: measured, and env.json says model"),
}


@pytest.mark.parametrize("change, expected", BAD_MODELS.values(), ids=BAD_MODELS.keys())
def test_bad_model(tmp_path: Path, output_of: OutputOf, change: dict[str, str], expected: str) -> None:
    folder = of_a_model()
    folder.cases[0] |= change
    assert (
        sum(
            expected in line for line in output_of(validate.main, folder.write(tmp_path), code=1).splitlines()
        )
        == 1
    )


@pytest.mark.parametrize("version", SCHEMA_VERSIONS[:-1])
def test_reads_older_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str], version: int) -> None:
    """It lacks what came since: counters, and in version 2 predictions."""
    folder = Folder()
    folder.write(tmp_path)
    of_then = [c["name"] for c in validate.of_version(SCHEMA, version)["files"]["cases.csv"]["columns"]]
    renamed = {
        c["was"]["name"]: c["name"]
        for c in SCHEMA["files"]["cases.csv"]["columns"]
        if "name" in c.get("was", {})
    }
    for name, kept in (("cases", of_then), ("samples", SAMPLES)):
        then = dict(schema_version=str(version), spill_bytes="0")
        rows = [row | then for row in getattr(folder, name)]
        for row in rows:
            row |= {old: row[new] for old, new in renamed.items() if new in row}
        with (tmp_path / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, kept, lineterminator="\n", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    later = {f["name"] for f in SCHEMA["files"]["env.json"]["fields"] if f.get("since", version) > version}
    env = {k: v for k, v in ENV.items() if k not in later} | dict(schema_version=version)
    env |= dict(experiments=[] if version < 5 else {})
    (tmp_path / "env.json").write_text(json.dumps(env), encoding="utf-8")
    assert validate.main([str(tmp_path)]) == 0, capsys.readouterr().out


BAD_CASES = {
    "modelled": (dict(stop_reason="model"), "stop_reason: model, and source is measured"),
    "nan": (dict(sm_clock_hz="nan"), "sm_clock_hz: 'nan' is not a finite number"),
    "infinity": (dict(sm_clock_hz="1e999"), "sm_clock_hz: '1e999' is not a finite number"),
    "text in a number": (dict(grid_size="many"), "grid_size: 'many' is not an integer"),
    "fraction in an integer": (dict(grid_size="1.5"), "grid_size: '1.5' is not an integer"),
    "empty time": (dict(time_median_s=""), "time_median_s: empty in a row with status valid"),
    "empty experiment": (dict(experiment=""), "experiment: empty, and must not be"),
    "reason": (dict(reason="because"), "reason: must be empty in a valid row"),
    "no reason": (dict(status="skipped"), "reason: empty in a row with status skipped"),
    "a share of one speed": (dict(slow_share="0.5"), "slow_share: 0.5, and speeds is one"),
    "slow before fast": (
        dict(speeds="two", time_fast_s="2e-3", time_slow_s="1e-3", slow_share="0.5"),
        "time_fast_s: 0.002 is not under time_slow_s, 0.001",
    ),
    "status": (
        dict(status="fine"),
        "status: 'fine' is not one of valid, noisy, invalid, impossible, skipped",
    ),
    "identifier": (dict(case_id="a b"), "case_id: 'a b' does not match"),
    "line feed in an identifier": (dict(case_id="ab\n"), r"case_id: 'ab\n' does not match"),
    "limiter": (dict(limiters="warps+luck"), "limiters: 'warps+luck' does not match"),
    "negative": (dict(grid_size="-1"), "grid_size: -1 is below 1"),
    "occupancy": (dict(occupancy_theoretical="0.5"), "occupancy_theoretical: 0.5, but 64 warps of 64 are 1"),
    "parts": (
        dict(lost_to_tail="0.08"),
        "occupancy_theoretical: 1, but launch and parts add up to 1.01",
    ),
    "api": (dict(blocks_per_sm_api="7"), "theory 8, API 7 and residency 8 differ"),
    "residency": (dict(blocks_per_sm_resident="7"), "theory 8, API 8 and residency 7 differ"),
    "interval": (
        dict(time_ci95_low_s="0.0016"),
        "time_median_s: 0.0015 is outside its interval [0.0016, 0.002]",
    ),
    "throughput": (dict(throughput="4.001e13"), "throughput: 4.001e+13, but flop_per_launch / time_median_s"),
    "work": (dict(throughput_unit="byte/s"), "bytes_per_launch: empty, and throughput_unit is byte/s"),
    "percent": (dict(percent_of_ceiling="60"), "percent_of_ceiling: 60 is not 100 x throughput / ceiling"),
    "no percent": (dict(percent_of_ceiling=""), "ceiling: only one of it and percent_of_ceiling is empty"),
    "no ceiling": (dict(ceiling_kind="none"), "ceiling: 6.69e13, and ceiling_kind is none"),
    "cycles": (
        dict(cycles_per_iteration="29701"),
        "cycles_per_iteration: 29701, but time x clock / iterations is 29700",
    ),
    "passes": (dict(iterations="0"), "iterations: 0 iterations have no time"),
    "operations": (
        dict(throughput_unit="operation/s"),
        "operations_per_launch: empty, and throughput_unit is operation/s",
    ),
    "clusters": (
        dict(clusters_api="66", clusters_resident="65"),
        "clusters_resident: 65, and the API says 66",
    ),
    "clusters not seen": (dict(clusters_api="66"), "clusters_resident: empty, and the API says 66"),
    "api of a cluster": (
        dict(clusters_api="66", clusters_resident="66", blocks_per_sm_api="7"),
        "theory 8, API 7 and residency 8 differ",
    ),
    "samples": (dict(samples="5"), "samples: 5, but samples.csv has 4"),
    "discarded": (dict(discarded="0"), "discarded: 0, but samples.csv has 1"),
    "median": (
        dict(
            time_median_s="0.0012",
            throughput="5e13",
            percent_of_ceiling="74.738416",
            cycles_per_iteration="23760",
        ),
        "time_median_s: 0.0012, but its samples' is 0.0015",
    ),
}


@pytest.mark.parametrize("change, expected", BAD_CASES.values(), ids=BAD_CASES.keys())
def test_bad_case(tmp_path: Path, output_of: OutputOf, change: dict[str, str], expected: str) -> None:
    folder = Folder()
    folder.cases[0] |= change
    lines = output_of(validate.main, folder.write(tmp_path), code=1).splitlines()
    (found,) = (line for line in lines if expected in line)
    assert found.startswith(f"{tmp_path}/cases.csv:2: ")


OTHER_VERSION = f"schema_version 1 is not one of 2 to {NEWEST}, the versions that this tool reads"
# A file, what stands in it (nothing: all of it), what comes in its place once, and what is said of that.
BAD_FILES = {
    "open quote": ("cases.csv", 'of 1024"', "of 1024", "cases.csv:3: not CSV: "),
    "another version": ("cases.csv", f"\n{NEWEST},", "\n1,", f"cases.csv:2: {OTHER_VERSION}"),
    "missing column": ("cases.csv", ",waves", "", "cases.csv:1: header lacks waves"),
    "extra column": ("samples.csv", "time_s,", "time_s,mood,", "samples.csv:1: header has extra mood"),
    "order": (
        "samples.csv", "round,sample", "sample,round",
        "samples.csv:1: header is out of order or repeats a column",
    ),
    "cells": ("samples.csv", ",0.009,", ",", "samples.csv:6: 8 cells where the header has 9"),
    "stranger": (
        "samples.csv", CASE["case_id"], "other", "samples.csv:2: case_id: other is not in cases.csv",
    ),
    "encoding": ("cases.csv", "ilp=4", "ilp=\udcff", "cases.csv:2: not UTF-8"),
    "empty file": ("samples.csv", "", "", "samples.csv:1: header lacks schema_version, "),
    "json": ("env.json", '"seed": 1', '"seed": NaN', "env.json:1: not JSON: NaN is not a number of JSON"),
    "json syntax": ("env.json", '"seed": 1', '"seed": ', "env.json:17: not JSON: "),
    "missing field": ("env.json", '"seed"', '"sod"', "env.json:1: seed is missing"),
    "field type": ("env.json", ": 132", ': "132"', "env.json:22: gpu.sm_count: '132' is not of type integer"),
    "null field": ("env.json", '"NVIDIA H200"', "null", "gpu.name: null, and must not be"),
    "env version": (
        "env.json", f'"schema_version": {NEWEST}', '"schema_version": 1', f"env.json:2: {OTHER_VERSION}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", BAD_FILES)
def test_bad_file(tmp_path: Path, output_of: OutputOf, how: str) -> None:
    name, old, new, expected = BAD_FILES[how]
    file = Folder().write(tmp_path) / name
    text = file.read_bytes().decode()
    assert old in text
    changed = text.replace(old, new, 1) if old else new
    file.write_bytes(changed.encode(errors="surrogateescape"))
    assert expected in output_of(validate.main, tmp_path, code=1)


def test_last_row_cut_off(tmp_path: Path, output_of: OutputOf) -> None:
    file = Folder().write(tmp_path) / "samples.csv"
    file.write_bytes(file.read_bytes()[:-9])
    assert "samples.csv:7: the last row is cut off" in output_of(validate.main, tmp_path, code=1)


def test_duplicate_case(tmp_path: Path, output_of: OutputOf) -> None:
    folder = Folder()
    folder.cases.append(CASE)
    assert f"cases.csv:4: case_id: {CASE['case_id']} is already on line 2" in output_of(
        validate.main, folder.write(tmp_path), code=1
    )


def test_line_numbers_count_physical_lines(tmp_path: Path, output_of: OutputOf) -> None:
    folder = Folder()
    folder.cases = [IMPOSSIBLE | dict(reason="two\nlines"), CASE | dict(grid_size="")]
    assert "cases.csv:4: grid_size: empty" in output_of(validate.main, folder.write(tmp_path), code=1)


def test_repeated_faults_are_summarized(tmp_path: Path, output_of: OutputOf) -> None:
    folder = Folder()
    folder.samples += [sample(i, -1.0 - i, repetition="2") for i in range(1200)]
    folder.samples += [sample(1200, 1.0, repetition="2") | dict(time_s="soon")]
    folder.cases += [CASE | dict(case_id=f"{n}", time_p10_s=f"-{n + 1}") for n in range(7)]
    said = output_of(validate.main, folder.write(tmp_path), code=1).splitlines()
    assert any(line.endswith("cases.csv: 2 more: time_p10_s: ... is below ...") for line in said)
    *first, other, more, counts = [line for line in said if "cases.csv" not in line]
    assert len(first) == 5 and "samples.csv:8: time_s: " in first[0]
    assert "samples.csv:1208: time_s: 'soon' is not a finite number" in other  # another fault is not hidden
    assert more.endswith("samples.csv: 1,195 more: time_s: ... is below ...")
    assert counts.endswith("1208 violations")


@pytest.mark.parametrize("name", ["cases.csv", "samples.csv", "env.json"])
def test_missing_file(tmp_path: Path, output_of: OutputOf, name: str) -> None:
    (Folder().write(tmp_path) / name).unlink()
    assert f"{tmp_path / name}: missing\n" in output_of(validate.main, tmp_path, code=4)


def test_missing_folder(tmp_path: Path) -> None:
    assert validate.main([str(tmp_path / "none")]) == 4


@pytest.mark.parametrize("words", [["--colour"]])
def test_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        validate.main(words)
