# SPDX-License-Identifier: Apache-2.0
"""occbench audit's reading of machine code, on short listings in the form of `cuobjdump -sass`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from occbench_tools import audit, sass
from outputs import OutputOf

# A grid-stride read of 16 bytes an iteration, as cuobjdump 13.2 prints it for sm_90, shortened.
RECORDED = """
Fatbin elf code:
================
arch = sm_90
code version = [1,8]
host = linux
compile_size = 64bit

	code for sm_90
		Function : _Z10free_entryI6Read16EvNT_1PE6Census
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                      /* 0x00000a00ff017b82 */
                                                                               /* 0x000ff00000000800 */
        /*0010*/              @P0 BRA 0xc0 ;                                   /* 0x0000000000680947 */
                                                                               /* 0x000fea0003800000 */
        /*0020*/                   MOV R5, R8 ;                                /* 0x0000000800057202 */
        /*0030*/                   LDG.E.128 R4, desc[UR4][R4.64] ;            /* 0x0000000404047981 */
        /*0040*/                   IADD3 R17, P0, R2.reuse, R17, RZ ;          /* 0x0000001102117210 */
        /*0050*/                   ISETP.GE.U32.AND P0, PT, R17, UR6, PT ;     /* 0x0000000611007c0c */
        /*0060*/                   FADD R9, R4, R5 ;                           /* 0x0000000504097221 */
        /*0070*/                   FADD R6, R6, R9 ;                           /* 0x0000000906067221 */
        /*0080*/                   FADD R7, R7, R6 ;                           /* 0x0000000607077221 */
        /*0090*/                   FADD R0, R7, R0 ;                           /* 0x0000000007007221 */
        /*00a0*/              @!P0 BRA 0x20 ;                                  /* 0xfffffffc00dc8947 */
        /*00b0*/              @!P0 STG.E desc[UR4][R2.64], R5 ;                /* 0x0000000502008986 */
        /*00c0*/                   EXIT ;                                      /* 0x000000000000794d */
        /*00d0*/                   BRA 0xd0;                                   /* 0xfffffffc00fc7947 */
        /*00e0*/                   NOP;                                        /* 0x0000000000007918 */
		..........
"""


def listing(name: str, *lines: str) -> str:
    """A function of these instructions, each line at the next address (hex tens: line n is at 0xn0)."""
    body = "".join(f"        /*{16 * i:04x}*/                   {line} ;\n" for i, line in enumerate(lines))
    return f"\t\tFunction : {name}\n{body}"


def code(*lines: str) -> list[sass.Instruction]:
    return sass.parse_sass(listing("f", *lines).splitlines())["f"]


def test_recorded_listing() -> None:
    functions = sass.parse_sass(RECORDED.splitlines())
    (found,) = functions.values()
    assert list(functions) == ["_Z10free_entryI6Read16EvNT_1PE6Census"] and len(found) == 15
    assert audit.audit(found, {"LDG.128": 1, "FADD": 4}, set()) == ({"LDG.128": 1, "FADD": 4}, {})


@pytest.mark.parametrize(
    "text, expected",
    {
        "LDG.E R2, desc[UR6][R2.64]": "LDG.32",
        "LDG.E.64.CONSTANT R2, desc[UR6][R2.64]": "LDG.64",
        "LDG.E.128.STRONG.GPU R4, desc[UR6][R2.64]": "LDG.128",
        "LDG.E.U8 R4, desc[UR6][R2.64]": "LDG.8",
        "LDG.E.S16.CONSTANT R4, desc[UR6][R2.64]": "LDG.16",
        "STG.E.EF.128 desc[UR4][R2.64], R4": "STG.128",
        "LDS.U.128 R4, [R2]": "LDS.128",
        "STS [R2], R4": "STS.32",
        "LDGSTS.E.BYPASS.128 [R5], desc[UR8][R2.64]": "LDGSTS.128",
        "LDL.LU.64 R2, [R1+0xa0]": "LDL",
        "STL [R1], R2": "STL",
        "@!P0 FFMA.FTZ R9, R9, R9, R2": "FFMA",
        "DFMA R2, R2, R4, R6": "DFMA",
        "BAR.SYNC.DEFER_BLOCKING 0x0": "BAR",
        "HMMA.16816.F32 R4, R8, R12, R4": "HMMA",
        "MUFU.RCP R3, R3": "MUFU",
        "HFMA2.BF16_V2 R3, R3, R4, R5": "HFMA2",
        "HFMA2.MMA R11, -RZ, RZ, 0, 0": None,
        "IMAD.WIDE.U32 R2, R0, 0x4, R6": "IMAD",
        "LOP3.LUT R3, R3, R4, RZ, 0x3c, !PT": "LOP3",
        "UIADD3 UR4, UR4, 0x1, URZ": None,
        "@!PT LDS RZ, [RZ]": None,
        "LDC.64 R6, c[0x0][0x210]": None,
    }.items(),
)
def test_class(text: str, expected: str | None) -> None:
    (instruction,) = code(text)
    assert instruction.audited_class == expected


FMA = "FFMA R0, R0, R0, R1"
LOOPS = {
    "predicated": f"MOV R0, RZ; {FMA}; @!P0 BRA 0x10; EXIT; BRA 0x40",
    "uniform": f"{FMA}; @!UP0 BRA.U 0x0; EXIT",
    "uniform operand": f"{FMA}; BRA.U UP0, 0x0; EXIT",
    "predicate operand": f"{FMA}; @!P0 BRA P1, 0x0; EXIT",
    "exit at the top": f"@P0 EXIT; {FMA}; BRA 0x0; BRA 0x30",
    "part out of line": f"FADD R0, R0, R1; @P1 BRA 0x50; {FMA}; @P0 BRA 0x10; EXIT; NOP; BRA 0x20",
    "wait inside": f"SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R4], R5; @!P1 BRA 0x0; {FMA}; @P0 BRA 0x0; EXIT",
    "outer loop without audited work": f"MOV R0, RZ; {FMA}; @P0 BRA 0x10; @P1 BRA 0x0; EXIT",
    "subroutine": f"{FMA}; CALL.REL.NOINC 0x40; @P0 BRA 0x0; EXIT; RET.REL.NODEC R2 0x0",
    "divergence": f"BSSY B0, 0x50; @P0 BRA 0x40; {FMA}; BRA 0x40; BSYNC B0; @P1 BRA 0x0; EXIT",
}


@pytest.mark.parametrize("lines", LOOPS.values(), ids=LOOPS.keys())
def test_loop(lines: str) -> None:
    assert audit.audit(code(*lines.split("; ")), {"FFMA": 1}, set()) == ({"FFMA": 1}, {})


BARE = ["MOV R0, RZ", "IADD3 R0, R0, 0x1, RZ", "@P0 BRA 0x10", "FFMA R0, R0, R0, R1", "EXIT", "BRA 0x50"]
SPILL = ["LDL R2, [R1]", "FFMA R0, R0, R0, R2", "STL.64 [R1], R2", "@P0 BRA 0x0", "EXIT"]
FAILURES = {
    "no loop": (["FFMA R0, R0, R0, R1", "EXIT", "BRA 0x20"], "no loop has an audited instruction"),
    "work outside the loop": (BARE, "no loop has an audited instruction"),
    "count": (
        ["FFMA R0, R0, R0, R1", "FFMA R0, R0, R0, R1", "@P0 BRA 0x0", "EXIT"],
        "the loop at 0x0 holds FFMA 2, not 1",
    ),
    "undeclared": (
        ["FFMA R0, R0, R0, R1", "LDG.E R2, [R2]", "@P0 BRA 0x0", "EXIT"],
        "the loop at 0x0 holds LDG.32 1, not 0",
    ),
    "spill": (SPILL, "the loop at 0x0 holds LDL 1, not 0; STL 1, not 0"),
    "two loops": (
        ["FFMA R0, R0, R0, R1", "@P0 BRA 0x0", "FFMA R0, R0, R0, R1", "@P0 BRA 0x20", "EXIT"],
        "2 innermost loops hold audited instructions, not 1: 0x0000 (FFMA 1), 0x0020 (FFMA 1)",
    ),
    "jump table": (["BRX R4 -0x30", "FFMA R0, R0, R0, R1", "EXIT"], "BRX at 0x0 is an indirect branch"),
    "second entrance": (
        ["@P0 BRA 0x20", "FFMA R0, R0, R0, R1", "FADD R0, R0, R1", "@P1 BRA 0x10", "EXIT"],
        "has two entrances",
    ),
}


@pytest.mark.parametrize("lines, expected", FAILURES.values(), ids=FAILURES.keys())
def test_failure(lines: list[str], expected: str) -> None:
    with pytest.raises(sass.Failure) as why:
        audit.audit(code(*lines), {"FFMA": 1}, set())
    assert expected in str(why.value)


def test_ignores_expected_spills() -> None:
    assert audit.audit(code(*SPILL), {"FFMA": 1}, sass.LOCAL) == ({"FFMA": 1, "LDL": 1, "STL": 1}, {})
    with pytest.raises(sass.Failure):
        audit.audit(code(*SPILL), {"FFMA": 2}, sass.LOCAL)


def test_ignores_expected_smem_spills() -> None:
    spilling = code("LDS R2, [R1]", "LDS.128 R4, [R3]", FMA, "STS [R1], R2", "@P0 BRA 0x0", "EXIT")
    declared = {"FFMA": 1, "LDS.128": 1}
    counts = declared | {"LDS.32": 1, "STS.32": 1}
    assert audit.audit(spilling, declared, audit.SHARED) == (counts, {})
    with pytest.raises(sass.Failure, match=r"holds LDS\.32 1, not 0; STS\.32 1, not 0"):
        audit.audit(spilling, declared, sass.LOCAL)


def test_empty_kernel_without_declarations_passes() -> None:
    assert audit.audit(code("NOP", "@P0 BRA 0x0", "EXIT"), {}, set()) == ({}, {})


def test_reports_instructions_outside_the_hot_loop() -> None:
    nest = code("FADD R0, R0, R1", FMA, "@P0 BRA 0x10", "@P1 BRA 0x0", "EXIT")
    assert audit.audit(nest, {"FFMA": 1}, set()) == ({"FFMA": 1}, {"FADD": 1})


TWO_LOOPS = [FMA, "@P0 BRA 0x0", FMA, "FADD R0, R0, R1", "@P0 BRA 0x20", "EXIT"]


def test_sums_counts_of_several_hot_loops() -> None:
    assert audit.audit(code(*TWO_LOOPS), {"FFMA": 2, "FADD": 1}, set(), 2) == ({"FFMA": 2, "FADD": 1}, {})
    with pytest.raises(sass.Failure, match="the loop at 0x0, 0x20 holds FFMA 2, not 3"):
        audit.audit(code(*TWO_LOOPS), {"FFMA": 3, "FADD": 1}, set(), 2)
    with pytest.raises(sass.Failure, match="2 innermost loops hold audited instructions, not 3"):
        audit.audit(code(*TWO_LOOPS), {"FFMA": 2, "FADD": 1}, set(), 3)
    with pytest.raises(sass.Failure, match="1 innermost loops hold audited instructions, not 2"):
        audit.audit(code(FMA, "@P0 BRA 0x0", "EXIT"), {"FFMA": 1}, set(), 2)


COUNTER = "IADD3 R2, R2, 0x1, RZ"


def test_checks_integers_only_where_declared() -> None:
    hash_loop = code(
        "IMAD R0, R0, R1, R2", "LOP3.LUT R0, R0, R1, RZ, 0x3c, !PT", COUNTER, "@P0 BRA 0x0", "EXIT"
    )
    assert audit.audit(hash_loop, {"IMAD": 1, "LOP3": 1}, set()) == ({"IMAD": 1, "LOP3": 1}, {})
    with pytest.raises(sass.Failure, match="holds IMAD 1, not 2"):
        audit.audit(hash_loop, {"IMAD": 2}, set())
    # A loop of undeclared integers is neither hot nor around anything.
    counting_first = code(COUNTER, "@P0 BRA 0x0", FMA, COUNTER, "@P0 BRA 0x20", "EXIT")
    assert audit.audit(counting_first, {"FFMA": 1}, set()) == ({"FFMA": 1}, {})


def test_finds_the_kernel_of_a_host_stub() -> None:
    outer = listing("_Z5entryv", "EXIT") + listing("_ZN12_GLOBAL__N_15entryEv", "NOP", "EXIT")
    functions = sass.parse_sass(
        (outer + listing("_Z5twicev", "EXIT") + listing("_Z5twicev", "NOP")).splitlines()
    )
    names = {16: ["_Z5entryv"], 32: ["_ZN12_GLOBAL__N_1L5entryEv"], 48: ["_Z5twicev"], 64: ["_Z4gonev"]}

    def find(offset: int) -> str:
        return sass.kernel_name(offset, names, functions, "sm_90")

    assert find(16) == "_Z5entryv"
    assert find(32) == "_ZN12_GLOBAL__N_15entryEv", "internal linkage marks the stub's name alone"
    for offset, why in (
        (48, "several kernels"),
        (64, "no machine code for sm_90"),
        (80, "no symbol at its entry 0x50"),
    ):
        with pytest.raises(sass.Failure, match=why):
            find(offset)


VARIANT = dict(
    family="stream", register_route="free", register_cap=0, may_spill=False, spills_to_shared=False,
    hot_loops=1, loop_trips=[], min_cc=0, only_this_cc=False,
)  # fmt: skip
VARIANTS = [
    VARIANT | dict(variant="right", entry_offset=16, instructions={"LDG.128": 1, "FADD": 4}),
    VARIANT | dict(variant="wrong", entry_offset=16, instructions={"LDG.128": 2, "FADD": 4}),
]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for occbench that lists VARIANTS, with the recorded kernel at 16."""
    listed = tmp_path / "listed.json"
    listed.write_text(json.dumps({"variants": VARIANTS, "cuda_toolkit": "13.0.88"}))
    path = tmp_path / "occbench"
    path.write_text(f'#!/bin/sh\n[ "$*" = "list --variants --format json" ] && cat "{listed}"\n')
    path.chmod(0o755)
    functions = sass.parse_sass(RECORDED.splitlines())
    monkeypatch.setattr(sass, "symbols", lambda binary: {16: list(functions)})
    monkeypatch.setattr(sass, "disassemble", lambda binary, arch, kernels=(): functions)
    return path


def test_command(program: Path, tmp_path: Path, output_of: OutputOf) -> None:
    record = tmp_path / "counts.json"
    assert output_of(audit.main, "--binary", program, "--json", record, code=1).splitlines() == [
        "FAIL stream/wrong: the loop at 0x20 holds LDG.128 1, not 2",
        "audited 2 variants of 1 families: 1 failures",
    ]
    assert [v["counts"] for v in json.loads(record.read_text())["variants"]] == [
        {"FADD": 4, "LDG.128": 1},
        {},
    ]


def test_verbose(program: Path, monkeypatch: pytest.MonkeyPatch, output_of: OutputOf) -> None:
    listed = {"variants": VARIANTS[:1], "cuda_toolkit": "13.0.88"}
    monkeypatch.setattr(audit, "list_variants", lambda binary: listed)
    assert output_of(audit.main, "--binary", program, "--verbose").startswith(
        "ok   stream/right: FADD 4, LDG.128 1\n"
    )


def test_no_disassembler(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(sass, "symbols", lambda binary: {})
    monkeypatch.setattr(sass, "tool_folders", lambda: iter([program.parent]))
    assert audit.main(["--binary", str(program)]) == audit.SKIPPED == 77
    assert capsys.readouterr().out.startswith("occbench audit: skipped: no cuobjdump")


@pytest.mark.parametrize(
    "exit_code, text", [(0, "\n"), (0, "cuobjdump info: no code\n"), (1, "cuobjdump fatal: no\n")]
)
def test_nothing_to_read(
    program: Path, monkeypatch: pytest.MonkeyPatch, output_of: OutputOf, exit_code: int, text: str
) -> None:
    for tool in ("cuobjdump", "nvdisasm"):
        (program.parent / tool).write_text(f"#!/bin/sh\nprintf '{text}'\nexit {exit_code}\n")
        (program.parent / tool).chmod(0o755)
    monkeypatch.undo()
    monkeypatch.setattr(sass, "symbols", lambda binary: {})
    monkeypatch.setattr(sass, "tool_folders", lambda: iter([program.parent]))
    assert ("no machine code for sm_90" in output_of(audit.main, "--binary", program, code=77)) == (
        exit_code == 0
    )


@pytest.mark.parametrize("words", [["--binary", "/nonexistent/occbench"], ["--colour"]])
def test_usage(words: list[str]) -> None:
    try:
        assert audit.main(words) == 2
    except SystemExit as stop:
        assert stop.code == 2
