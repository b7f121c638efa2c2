# SPDX-License-Identifier: Apache-2.0
"""Which loads every trip of a loop makes of the same addresses, on short listings of `cuobjdump -sass`."""

from __future__ import annotations

import pytest
from occbench_tools.repeats import repeated_instructions
from test_audit import code

LOAD = "LDG.E R9, desc[UR6][R2.64+0x80]"


@pytest.mark.parametrize(
    "lines, same",
    [
        ([LOAD], True),
        ([LOAD, "IADD3 R2, P1, R2, 0x80, RZ"], False),
        ([LOAD, "IADD3.X R3, R3, UR5, RZ, P1, !PT"], False),  # the pair's upper half
        (["IMAD.WIDE R2, R0, 0x4, R6", LOAD], True),  # made again in each trip, of the same
        (["IMAD.WIDE R2, R0, 0x4, R6", LOAD, "IADD3 R0, R0, 0x1, RZ"], False),
        (["IMAD.WIDE R2, R0, 0x4, R6", LOAD, "IADD3 R7, R7, 0x1, RZ"], False),  # half of the pair R6
        (["IADD3 R2, P1, R0, UR4, RZ", "IADD3.X R3, R1, UR5, RZ, P1, !PT", LOAD], True),  # with its carry
        (["LDS R2, [R5]", LOAD], False),  # what memory holds may be another value next time
        (["LDG.E.128 R0, desc[UR6][R12.64]", LOAD], False),  # which writes four registers
        (["@P1 MOV R2, R5", "ISETP.NE.AND P1, PT, R9, RZ, PT", LOAD], False),
        (["P2R R2, PR, RZ, 0x7f", LOAD], False),  # whichever predicates those are
        (["@P1 IADD3 R2, R4, 0x80, RZ", "R2P PR, R9, 0x7f", LOAD], False),
        (["MOV R2, R5", LOAD, "MOV R5, R2"], True),
        (["MOV R2, R5", LOAD, "MOV R5, R4", "MOV R4, R2"], False),  # two places in turn
    ],
)
def test_marks_loads_repeated_every_iteration(lines: list[str], same: bool) -> None:
    """Of the same address, whichever registers it goes through."""
    marked = repeated_instructions(code(*lines))
    assert [again for again, line in zip(marked, lines, strict=True) if line == LOAD] == [same]
