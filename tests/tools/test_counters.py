# SPDX-License-Identifier: Apache-2.0
"""The bound that counters name, by the rule of counters.py."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

import made_up  # noqa: F401
from occbench_tools import counters


def counted(**levels: float) -> dict[str, float]:
    """Counters of a case: nothing busy, all SMs active, no stall, but for what is named."""
    row = dict.fromkeys(counters.METRICS, 0.0) | {counters.SM_ACTIVE: 99.0}
    names = {name.split(".")[0]: name for name in counters.METRICS}
    return row | {names[name]: level for name, level in levels.items()}


@pytest.mark.parametrize(
    ("levels", "bounds"),
    [
        (dict(), ["latency"]),
        (dict(sm__cycles_active=60), ["tail"]),
        (dict(sm__cycles_active=60, dram__throughput=70), ["DRAM"]),
        (dict(dram__throughput=92, lts__t_sectors=70, smsp__issue_active=30), ["DRAM"]),
        (dict(dram__throughput=59), ["latency"]),
        (dict(lts__t_sectors=88, dram__throughput=85), ["L2", "DRAM"]),
        (dict(sm__pipe_fma_cycles_active=99, smsp__issue_active=98), ["pipe", "issue"]),
        (dict(sm__pipe_tensor_cycles_active=64, smsp__issue_active=12), ["pipe"]),
        (dict(l1tex__data_bank_reads=80, l1tex__data_pipe_lsu_wavefronts=80), ["L1"]),
        (
            dict(
                l1tex__data_bank_reads=80,
                l1tex__data_pipe_lsu_wavefronts=80,
                l1tex__data_pipe_lsu_wavefronts_mem_shared=50,
            ),
            ["shared memory"],
        ),
    ],
)
def test_bound_rules(levels: dict[str, float], bounds: list[str]) -> None:
    assert counters.bounds_of(counted(**levels)) == bounds


def test_register_port_rule() -> None:
    def stalls(dispatch: float, pipe: float = 0, **levels: float) -> list[str]:
        named = {
            f"smsp__average_warps_issue_stalled_{name}_per_issue_active": value
            for name, value in (("dispatch_stall", dispatch), ("math_pipe_throttle", pipe))
        }
        return counters.bounds_of(counted(**named, **levels))

    assert stalls(0.8, sm__pipe_fma_cycles_active=50) == ["register port"]
    assert stalls(0.8, sm__pipe_fma_cycles_active=75, smsp__issue_active=76) == ["register port"]
    assert stalls(0.8, sm__pipe_fma_cycles_active=98) == ["pipe"]
    assert stalls(0.8, pipe=1.2, sm__pipe_fma_cycles_active=75) == ["pipe"]
    assert stalls(0.8, dram__throughput=80) == ["DRAM"]
    assert stalls(0.4) == ["latency"]
