# SPDX-License-Identifier: Apache-2.0
"""Why a kernel has more registers than are live at its peak: planted code with one reason each."""

from __future__ import annotations

import pytest
from occbench_tools.inspect_lines.allocation import Code, Excess, Packing, excess_of
from occbench_tools.inspect_lines.listing import Listing, Step
from occbench_tools.inspect_lines.pressure import Pressure
from occbench_tools.inspect_lines.show import excess_lines
from occbench_tools.sass import Instruction


def pressure(code: list[tuple[str, str]], registers: int) -> Pressure:
    """Of (instruction, register states) in a row."""
    listing = Listing("k", "sm_90")
    for n, (text, live) in enumerate(code):
        opcode, _, operands = text.partition(" ")
        instruction = Instruction(16 * n, "", opcode, tuple(operands.split(", ")))
        listing.steps.append(Step(instruction, live, (), False))
    return Pressure(listing, {"registers_per_thread": registers}, [], [])


# R0 and R1 are free, one after the other, while R4 to R7 live.
ROOM = [("MOV R0, UR0", "^"), ("MOV R1, R0", "v^"), ("MOV R7, R1", " v     ^"), ("STG R7", "       v")]
# Neither R0 nor R1 is free as long as R7 lives: each holds a value for a part of it.
TAKEN = [
    ("MOV R0, UR0", "^"), ("MOV R7, UR0", ":      ^"), ("STG R0", "v      :"), ("MOV R1, UR0", " ^     :"),
    ("STG R1", " v     :"), ("STG R7", "       v"),
]  # fmt: skip
# R6 and R7 live together: one of them in R0, and one more register would do.
TWO = [
    ("MOV R6, UR0", "      ^"), ("MOV R7, UR0", "      :^"), ("STG R6", "      v:"), ("STG R7", "       v"),
]  # fmt: skip
# R1 and R2 are free, but no pair that begins with an even number: R0 and R3 are taken.
ODD = [
    ("MOV R0, UR0", "^"), ("MOV R3, UR0", ":  ^"), ("LDS.64 R8, [UR0]", ":  :    ^^"),
    ("STS.64 [UR0], R8", ":  :    vv"), ("STG R0", "v  :"), ("STG R3", "   v"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "peak", "reasons"),
    [
        (ROOM, 2, {"would_fit": 6}),
        (TAKEN, 2, {"lifetimes": 1, "would_fit": 5}),
        (TWO, 2, {"would_fit": 6}),
        (ODD, 4, {"vectors": 2, "would_fit": 4}),
    ],
)
def test_counts_registers_above_the_peak_by_reason(
    code: list[tuple[str, str]], peak: int, reasons: dict[str, int]
) -> None:
    of = pressure(code, max(len(live) for _, live in code) + 2)
    assert of.peak_registers == peak
    assert excess_of(of) == Excess(**reasons)


def test_packing_assigns_one_value_per_register() -> None:
    packing = Packing(Code(pressure(TWO, 10).listing), 1)  # as if one register had to do
    assert packing.reason(6) == "would_fit" and packing.reason(7) == "lifetimes"


def test_text_explains_registers_above_the_peak() -> None:
    (head, *reasons) = excess_lines(pressure(TAKEN, 10))
    assert head == "10 registers: 2 live at the peak, 2 reserved, 6 more:"
    assert [line.split()[0] for line in reasons] == ["1", "5"]
    assert "caps" in reasons[1] and max(map(len, reasons)) <= 80


def test_register_gain_within_an_allocation_unit_is_useless() -> None:
    free = [("MOV R0, UR0", "^"), ("MOV R1, UR0", ":^"), ("MOV R2, UR0", "::^"), ("STG R0", "vvv")]
    *_, line = excess_lines(pressure([*free, ("MOV R5, UR0", "     ^")], 8))
    assert line.split()[0] == "3" and "no block gains" in line


@pytest.mark.parametrize("registers", [2, 4, 6])
def test_excess_up_to_two_is_not_explained(registers: int) -> None:
    assert excess_of(pressure([("MOV R0, UR0", "^"), ("MOV R1, R0", "v^")], registers)) is None


def test_unnamed_registers_are_not_explained() -> None:
    assert excess_of(pressure([("MOV R0, UR0", "^")], 24)) == Excess(not_explained=21)


def test_unresolved_call_explains_the_excess() -> None:
    code = [("MOV R0, UR0", "^"), ("CALL.ABS.NOINC R2", "xv"), ("STG R5", "     v")]
    assert excess_of(pressure(code, 8)) == Excess(called_functions=4)


def test_warp_roles_explain_the_launch_registers() -> None:
    assert excess_of(pressure([("USETMAXREG.DEALLOC.CTAPOOL 0x28", ":")], 168)) == Excess(warp_roles=165)
