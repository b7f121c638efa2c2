# SPDX-License-Identifier: Apache-2.0
"""One made-up row, and the simple laws that its throughput follows."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools"))

import described  # noqa: E402
from occbench_tools import NEWEST, validate  # noqa: E402

COLUMNS = [c["name"] for c in validate.schema()["files"]["cases.csv"]["columns"]]
SMS, CLOCK, DRAM, PEAK = 132, 1.98e9, 4.8e12, 66.9e12
UNIT = {"dram": "byte", "l1": "byte", "shared_memory": "byte", "fp32": "flop", "tensor_bf16": "flop"}
CEILING = {"dram": DRAM, "fp32": PEAK, "l1": 128 * SMS * CLOCK, "shared_memory": 128 * SMS * CLOCK}
CEILING |= {"tensor_bf16": 989e12, "issue": 128 * SMS * CLOCK}


def case(
    experiment: str, family: str, variant: str, rate: float, *, kind: str = "dram", block: int = 128,
    warps: int = 16, marks: str = "", time_s: float = 1e-3, iterations: int = 1000, waves: float = 1,
    **dials: Any,  # noqa: ANN401
) -> dict[str, Any]:  # fmt: skip
    """One row: `rate` in byte, flop or operation/s, `marks` what the case's name has behind the block."""
    blocks = max(1, warps * 32 // block)
    unit = UNIT.get(kind, "operation")
    row: dict[str, Any] = dict(
        schema_version=NEWEST, source="measured", experiment=experiment, family=family, variant=variant,
        status="valid", ilp=1,
        case_id=f"{experiment}.{family}.{variant}.b{block}{marks}", block_size=block, waves=waves,
        grid_size=round(waves * blocks * SMS), data_type="f32", register_route="free",
        registers_per_thread=32, local_bytes=0, static_smem_bytes=0, dynamic_smem_bytes=0,
        carveout_percent=100, barriers=1,
        blocks_per_sm=blocks, warps_per_sm=warps, occupancy_theoretical=warps / 64, limiters="warps",
        occupancy_textbook=warps / 64, blocks_per_sm_api=blocks, blocks_per_sm_resident=blocks, idle_sms=0,
        block_size_api=1024, counter_status="off", iterations=iterations, verified="repeat",
        samples=13, discarded=0,
        stop_reason="precision", time_median_s=time_s, time_ci95_low_s=0.998 * time_s,
        time_ci95_high_s=1.002 * time_s, speeds="one", sm_clock_hz=CLOCK,
        throughput=rate, throughput_unit=f"{unit}/s",
        ceiling_kind=kind, per_cycle_per_sm=rate / CLOCK / SMS,
        cycles_per_iteration=time_s * CLOCK / iterations,
    )  # fmt: skip
    row[validate.WORK[f"{unit}/s"]] = rate * time_s
    if kind in CEILING:
        row |= dict(ceiling=CEILING[kind], percent_of_ceiling=100 * rate / CEILING[kind])
    return row | described.kernel(variant, marks) | dials


def read(warps: float, bytes_in_flight: float) -> float:
    """Little's law with a soft knee: bytes/s of `warps` a SM with so many bytes in flight per thread."""
    return 0.92 * DRAM * math.tanh(SMS * warps * 32 * bytes_in_flight / 0.9e-6 / DRAM)


def fma(warps: float, ilp: int) -> float:
    return 0.985 * PEAK * min(1, warps * ilp / 16)
