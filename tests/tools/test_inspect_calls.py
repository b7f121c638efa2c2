# SPDX-License-Identifier: Apache-2.0
"""Live registers across calls of functions in a kernel's own code."""

from __future__ import annotations

import subprocess
from pathlib import Path

from occbench_tools.inspect_lines.calls import with_calls
from occbench_tools.inspect_lines.listing import parse_instructions, read_listing
from test_inspect_lines import needs_tools

# nvdisasm's picture of a call: it draws R1 and R3 to R6 as written there, and R6 nowhere else. The function
# writes R4 and reads R2; the caller holds R3 and R5 across the call.
CALLS = """
        /*0000*/                   MOV R3, UR4 ;              // |  1    ^     |
        /*0010*/                   MOV R5, UR5 ;              // |  2    : ^   |
        /*0020*/                   MOV R2, UR6 ;              // |  3   ^: :   |
        /*0030*/                   MOV R0, 0x50 ;             // |  4 ^ :: :   |
        /*0040*/                   CALL.REL.NOINC `($slow) ;  // |  7 x^v^^^^  |
        /*0050*/                   IADD3 R3, R4, R5, R3 ;     // |  3    xvv   |
        /*0060*/                   EXIT ;                     // |             |
$slow:                                                        // |             |
        /*0070*/                   MOV R1, R2 ;               // |  3 :^v      |
        /*0080*/                   MOV R4, R1 ;               // |  3 :v  ^    |
        /*0090*/                   RET.REL.NODEC R0 `(k) ;    // |  2 v   :    |
"""
DIVISION = """
__global__ void divide(double* out, const double* a, const double* b) {
  out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
}
"""


def test_callee_liveness_includes_the_callers_registers() -> None:
    code, live = parse_instructions(CALLS.splitlines())
    assert code[0x40].target == 0x70
    found = with_calls(code, live)
    assert found[0x40] == ": :: :"  # the return address, the argument, and what is held
    assert found[0x70] == ":^v: :" and found[0x80] == ":v :^:"  # R3 and R5 are the caller's
    assert found[0x90] == "v  :::"


def test_external_call_adds_no_liveness() -> None:
    text = CALLS.replace("$slow", "elsewhere", 1)
    found = with_calls(*parse_instructions(text.splitlines()))
    assert found[0x40] == "x v" and found[0x50] == "   xvv"


@needs_tools
def test_division_liveness_is_two_below_the_count(tmp_path: Path) -> None:
    source = tmp_path / "divide.cu"
    source.write_text(DIVISION)
    words = ["nvcc", "-arch=sm_90", "-cubin", "-Xptxas", "-v", "-o", "divide.cubin", source.name]
    said = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stderr
    steps = read_listing(tmp_path / "divide.cubin", "sm_90", "_Z6dividePdPKdS1_").steps
    assert any(step.instruction.base == "CALL" for step in steps)
    assert f"Used {max(len(step.live) for step in steps) + 2} registers" in said
