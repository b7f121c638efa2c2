# SPDX-License-Identifier: Apache-2.0
"""What a warp of a stranger's kernel goes through, by its listing and how often each instruction ran."""

from __future__ import annotations

import pytest
from occbench_tools import describe, machine_code
from occbench_tools.sass import Failure, Skip
from test_audit import FMA, code

USED = describe.Attributes(32, 0, 0)
LOOP = code("MOV R0, RZ", FMA, FMA, "@P0 BRA 0x10", "STG.E desc[UR6][R2.64], R0", "EXIT")
WARPS, TURNS = 8.0, 100.0
RAN = [WARPS, *[WARPS * TURNS] * 3, WARPS, WARPS]


def words(lines: list[str]) -> list[str]:
    """Of each line its opcode, with the number of times it stands there."""
    return [line.split()[0] for line in lines[1:]]


def test_hot_loop_represents_its_kernel() -> None:
    lines = machine_code.describe_kernel(LOOP, RAN, WARPS, USED)
    assert lines[0].split()[:3] == ["kernel", "measured", "32"]
    assert float(lines[0].split()[-1]) == pytest.approx(1 / TURNS)
    text = " ".join(words(lines))
    assert "FFMA" in text and "STG" not in text and "MOV" not in text


def test_kernel_without_hot_loop_is_described_whole() -> None:
    straight = code("LDG.E R0, desc[UR6][R2.64]", FMA, "STG.E desc[UR6][R2.64], R0", "EXIT")
    lines = machine_code.describe_kernel(straight, [WARPS] * 4, WARPS, USED)
    assert float(lines[0].split()[-1]) == 1
    assert [word.split(".")[0] for word in words(lines)] == ["LDG", "FFMA", "STG", "BRA"]


def test_counts_by_opcode_give_the_trips_of_a_loop() -> None:
    loops = machine_code.sass.loops(LOOP)
    homes = machine_code.innermost(LOOP, loops)
    counted = {"MOV": WARPS, "FFMA": 2 * WARPS * TURNS, "BRA": WARPS * TURNS, "STG": WARPS, "EXIT": WARPS}
    assert machine_code.solve_counts(LOOP, homes, len(loops), counted) == pytest.approx(RAN, rel=1e-3)


def test_predicated_instructions_without_requests_did_not_run() -> None:
    guarded = code(FMA, "@P1 LDG.E R0, desc[UR6][R2.64]", "LDG.E R4, desc[UR6][R2.64]", "EXIT")
    assert machine_code.subtract_predicated(guarded, [WARPS] * 4, "LDG", WARPS) == [WARPS, 0, WARPS, WARPS]
    assert machine_code.subtract_predicated(guarded, [WARPS] * 4, "LDG", 2 * WARPS) == [WARPS] * 4


def test_execution_counts_must_match_the_kernel() -> None:
    assert machine_code.parse_runs("8*1,800*3,8*2", 6) == RAN
    with pytest.raises(ValueError, match="is of 7 instructions, the kernel has 6"):
        machine_code.parse_runs("8*7", 6)


def test_rejects_kernel_without_exit() -> None:
    with pytest.raises(Failure, match="it has no last instruction"):
        machine_code.describe_kernel(code(FMA, FMA), [WARPS] * 2, WARPS, USED)


def test_names_as_profilers_print_them() -> None:
    names = ["_Z3addPf", "_Z4scaleILi4EEvPf"]
    assert machine_code.find_kernel("_Z3addPf", names) == "_Z3addPf"
    with pytest.raises(Skip, match="no kernels are called gemm"):
        machine_code.find_kernel("gemm", names)
