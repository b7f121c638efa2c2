# SPDX-License-Identifier: Apache-2.0
"""occbench inspect --price: a made-up folder of `occbench attach` beside planted kernels."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools import inspect_price, sass
from outputs import OutputOf
from programs import FASTER, FLAT, kernel, write
from test_inspect_lines import MARKS, SOURCE

needs_tools = pytest.mark.skipif(
    not (shutil.which("nvcc") and any((f / "nvdisasm").exists() for f in sass.tool_folders())),
    reason="no nvcc or nvdisasm",
)
Said = pytest.CaptureFixture[str]
STEP = dict(
    symbol="_Z7waitingPKfPfi", registers_per_thread=40, blocks_per_sm=6, occupancy=0.75,
    next_step="8 registers fewer", next_blocks_per_sm=8, gain=0.04, gain_low=0.03, gain_high=0.05,
)  # fmt: skip
WAITING = kernel("waiting(float const*, float*, int)", 2e-3, slope=0.3, verdict="needs occupancy", **STEP)
GONE = kernel("gone(int)", verdict="small gain", **(STEP | dict(symbol="_Z4gonei")))
SHARED = kernel(
    "shared()", verdict="needs occupancy", **(STEP | dict(next_step="2048 B shared memory fewer"))
)


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("price") / "planted.cubin"
    subprocess.run(["nvcc", "-arch=sm_90", "-lineinfo", "-cubin", "-o", file, SOURCE], check=True)
    return file


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return write(tmp_path / "program", (WAITING, GONE, SHARED, FLAT, FASTER))


@pytest.mark.parametrize("column", ["gain", "gain_low", "gain_high", "next_blocks_per_sm"])
def test_step_without_numbers_is_not_priced(column: str) -> None:
    row = STEP | dict(verdict="needs occupancy")
    assert inspect_price.why_not(row) == ""
    assert inspect_price.why_not(row | {column: float("nan")}) == "no gain"


def test_uses_code_of_the_nearest_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU of 8.9 runs code for 8.6 rather than for 8.0."""

    def read_listing(file: Path, arch: str, symbol: str) -> str:
        if arch not in ("sm_80", "sm_86"):
            raise sass.Failure(f"{file}: no code of {symbol}")
        return arch

    monkeypatch.setattr(inspect_price, "read_listing", read_listing)
    assert inspect_price.listing_of([Path("k")], STEP, (8, 9)) == "sm_86"


@needs_tools
def test_prices_lines_that_hold_registers(program: Path, cubin: Path, output_of: OutputOf) -> None:
    found = json.loads(output_of(inspect_price.main, program, cubin, "--format", "json"))
    (one,) = found["kernels"]
    assert one["registers_fewer"] == 8 and one["gain_of_program"] == pytest.approx(0.04 * 2 / 5.5)
    (waiting,) = one["unused_in_loop"]
    assert waiting["lines"][0]["line"] == MARKS["KEPT"] and len(waiting["registers"]) == 8
    assert MARKS["KEPT"] + 1 in [group["lines"][0]["line"] for group in one["live_at_peak"]]
    assert {each["why"]: each["kernel"] for each in found["not_priced"]} == {
        "not in FILE": "gone(int)",
        "the next step is not of registers alone": "shared()",
        "saturated": "flat",
        "faster at lower occupancy": "faster",
    }


@needs_tools
def test_text_fits_80_columns_and_shows_the_gain(program: Path, cubin: Path, output_of: OutputOf) -> None:
    text = output_of(inspect_price.main, program, cubin)
    assert max(map(len, text.splitlines())) <= 80
    assert "8 of 40 registers fewer is 2 blocks more:" in text
    assert "4.0 % (3.0 to 5.0) of this kernel, 1.5 % of the program" in text
    assert f"8  planted_registers.cu:{MARKS['KEPT']}, unused in the loop" in text
    assert "not worth it: saturated: 1 kernel" in text


def test_unnamed_kernel_is_not_priced(tmp_path: Path, output_of: OutputOf) -> None:
    folder = write(tmp_path / "program", (kernel("k", verdict="small gain", **(STEP | dict(symbol=""))),))
    assert "not priced: without a name: 1 kernel" in output_of(
        inspect_price.main, folder, folder / "env.json"
    )


def test_unknown_is_not_priced_rather_than_worthless() -> None:
    assert inspect_price.reason_text("saturated") == "not worth it: saturated"
    for why in ("unknown", "skipped", "only observed", "not in FILE"):
        assert inspect_price.reason_text(why) == f"not priced: {why}"


@pytest.mark.parametrize("wrong", [dict(compute_capability="9.999999999"), dict(uuid="GPU-0")])
def test_rejects_env_json_without_compute_capability(
    program: Path, wrong: dict[str, str], capsys: Said
) -> None:
    env = json.loads((program / "env.json").read_text())
    env["gpus"][0] |= wrong
    (program / "env.json").write_text(json.dumps(env))
    assert inspect_price.main([str(program), str(program / "env.json")]) == 4
    assert "env.json: no compute capability of GPU-42" in capsys.readouterr().err


def test_rejects_a_fifo(program: Path, tmp_path: Path, capsys: Said) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert inspect_price.main([str(program), str(tmp_path / "pipe")]) == 4
    assert "pipe: is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize("at_fault", ["file", "folder"])
def test_unreadable_input_is_one_line(program: Path, tmp_path: Path, at_fault: str, capsys: Said) -> None:
    (tmp_path / "code").write_bytes(b"")
    words = (
        [str(program), str(tmp_path / "gone")]
        if at_fault == "file"
        else [str(tmp_path), str(tmp_path / "code")]
    )
    assert inspect_price.main(words) == 4
    assert capsys.readouterr().err.count("\n") == 1
