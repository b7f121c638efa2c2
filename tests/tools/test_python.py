# SPDX-License-Identifier: Apache-2.0
"""The package occbench: the program's answers, arrays at a time; folders as data frames."""

from __future__ import annotations

import csv
import ctypes
import doctest
import io
import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("numpy")

import numpy as np
import occbench
from made_up import REPOSITORY
from occbench.library import library, path_of_library
from occbench_tools.caps import steps
from pages import H200, built

try:
    LIBRARY = path_of_library()
except ImportError:
    LIBRARY = None
pytestmark = pytest.mark.skipif(not LIBRARY, reason="no liboccbench.so is built")

COUNT = 100_000
COLUMNS = (
    "block_size", "registers_per_thread", "static_smem_bytes", "dynamic_smem_bytes", "barriers",
    "cluster_size", "carveout_percent", "max_block_size", "grid_size",
)  # fmt: skip


def footprints(seed: int) -> np.ndarray:
    """A row per launch, of all sorts: a half and more of them can launch."""
    dice = np.random.default_rng(seed)
    some = dice.random((8, COUNT)) < 0.1
    return np.stack([
        np.where(some[0], dice.integers(0, 2100, COUNT), 32 * dice.integers(1, 33, COUNT)),
        np.where(some[1], dice.integers(0, 300, COUNT), dice.integers(16, 100, COUNT)),
        np.where(some[2], dice.integers(0, 70_000, COUNT), 0),
        np.where(some[3], dice.integers(0, 240_000, COUNT), 128 * dice.integers(0, 256, COUNT)),
        np.where(some[4], dice.integers(0, 18, COUNT), 1),
        np.where(some[5], dice.integers(1, 17, COUNT), 1),
        np.where(some[6], dice.integers(0, 101, COUNT), -1),
        np.where(some[7], dice.integers(1, 1100, COUNT), 1024),
        dice.integers(1, 5000, COUNT),
    ])  # fmt: skip


@pytest.mark.skipif(not built(), reason="no occbench is built")
def test_matches_the_program() -> None:
    names = np.array(["h200", "a100", "v100", "t4", "rtx5090", "cc8.6", "p100"])
    asked = footprints(7)
    devices = names[np.random.default_rng(8).integers(0, len(names), COUNT)]
    rows = [",".join((name, *map(str, row))) for name, row in zip(devices, asked.T.tolist(), strict=True)]
    table = "\n".join([",".join(("device", *COLUMNS)), *rows])
    said = subprocess.run(
        [built(), "calc", "--batch", "-"], input=table, capture_output=True, text=True, check=True
    )
    program = list(csv.DictReader(io.StringIO(said.stdout)))
    found = occbench.occupancy(devices, *asked)
    assert len(program) == COUNT and 0.5 < found.launches.mean() < 0.95
    for column, ours in (
        ("blocks_per_sm", found.blocks_per_sm.astype(str)),
        ("warps_per_sm", found.warps_per_sm.astype(str)),
        ("limiters", found.limiters),
        ("status", found.status),
    ):
        differ = [n for n, row in enumerate(program) if row[column] != ours[n]]
        assert differ == [], (column, rows[differ[0]], program[differ[0]][column], ours[differ[0]])
    assert [float(row["occupancy"]) for row in program] == found.occupancy.tolist()
    for name in ("waves", "idle_sms", "tail_share", "occupancy_device"):
        said_of_grids = np.array([float(row[name] or "nan") for row in program])
        np.testing.assert_array_equal(said_of_grids, getattr(found, name), name)
    assert 0.4 < np.isfinite(found.waves).mean() < 0.9


def test_100000_queries_take_under_a_second() -> None:
    asked = footprints(9)
    begun = time.process_time()
    found = occbench.occupancy("h200", *asked)
    assert time.process_time() - begun < 1
    assert found.blocks_per_sm.shape == (COUNT,)


def test_scalars_and_arrays() -> None:
    one = occbench.occupancy(device="h200", block_size=256, registers=40, dynamic_smem=16384)
    assert (one.blocks_per_sm, one.occupancy, one.limiters, one.status) == (6, 0.75, "registers", "ok")
    assert isinstance(one.blocks_per_sm, int) and isinstance(one.occupancy, float) and one.launches
    table = occbench.occupancy(["h200", "a100"], np.array([[128], [256], [1024]]), registers=65)
    assert table.occupancy.shape == table.status.shape == table.limiters.shape == (3, 2)
    assert table.blocks_per_sm[2].tolist() == [0, 0] and table.status[2, 1].startswith("cannot launch: 65 ")
    assert table.status[0, 0] == "ok"
    assert occbench.occupancy("h200", [], 32).occupancy.shape == (0,)
    assert {"h200", "a100"} <= set(occbench.devices())
    assert doctest.testmod(occbench).failed == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (dict(device="h300"), r"unknown device 'h300'; close names: h100, h200"),
        (dict(device=7), r"device wants a name, or an array of names"),
        (dict(block_size=-5), r"block_size -5 is not within 0 and 2147483647"),
        (dict(block_size=2**40), r"block_size 1099511627776 is not within"),
        (dict(registers=[32, -1]), r"registers -1 is not within"),
        (dict(registers=32.5), r"registers wants whole numbers, not float64"),
        (dict(registers=float("nan")), r"registers wants whole numbers"),
        (dict(registers="32"), r"registers wants whole numbers, not <U2"),
        (dict(dynamic_smem=-1), r"dynamic_smem -1 is negative"),
        (dict(dynamic_smem=2**63), r"dynamic_smem 9223372036854775808 is too large"),
        (dict(cluster_size=17), r"cluster_size 17 is not within 1 and 16"),
        (dict(carveout=101), r"carveout 101 is not within -1 and 100"),
        (dict(block_size=[1, 2], registers=[1, 2, 3]), r"shape mismatch"),
    ],
)
def test_bad_input(words: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        occbench.occupancy(**dict(device="h200", block_size=256, registers=32) | words)


def test_message_is_null_terminated_in_its_buffer() -> None:
    launch = np.array([256, 32, 0, 0, 1, 1, -1, 1024, 0, 0], dtype=np.int64)
    message = ctypes.create_string_buffer(b"????", 4)
    library().occbench_status(b"unknown", launch.ctypes.data, message, 3)
    assert message.raw == b"un\0?"


def test_a_folder_as_data_frames() -> None:
    run = occbench.read(H200)
    assert len(run.cases) > 1000 and {"case_id", "occupancy_theoretical", "throughput"} <= set(run.cases)
    assert set(run.cases.loc[run.cases["status"] == "valid", "case_id"]) == set(run.valid["case_id"])
    assert len(run.samples) > len(run.cases) and run.env["gpu"]["name"] == "NVIDIA H200"
    with pytest.raises(FileNotFoundError):
        occbench.read("/nowhere")


def test_tools_use_the_module() -> None:
    found = steps.residencies(None, "h200", [steps.Footprint(256, 40), steps.Footprint(1024, 65)])
    assert [each.blocks for each in found] == [6, 0] and found[1].status.startswith("cannot launch")
    assert steps.caps(None, "h200", steps.Footprint(256, 0)) == [255, 128, 80, 64, 48, 40, 32]


def test_read_without_pandas_names_the_package() -> None:
    code = "import sys; sys.modules['pandas'] = None\nimport occbench\n"
    code += "try: occbench.read('.')\nexcept ImportError as error: print(error)\n"
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY / 'python'}:{REPOSITORY / 'tools'}"}
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "occbench.read needs pandas: pip install 'occbench[report]'\n", done.stderr
