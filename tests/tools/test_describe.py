# SPDX-License-Identifier: Apache-2.0
"""What the model is told of machine code, on short listings in the forms of `cuobjdump -sass` and `-elf`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from occbench_tools import describe, sass
from test_audit import FMA, code

# Lines of several kernels, as cuobjdump 13.5 prints them for sm_90, one after the other.
RECORDED = """
		Function : f
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   FFMA R13, R5.reuse, R13, R6.reuse ;           /* 0x0000000d050d7223 */
                                                                                 /* 0x160fe20000000006 */
        /*0010*/                   FFMA R15, R5.reuse, R15, R6.reuse ;           /* 0x0000000f050f7223 */
                                                                                 /* 0x140fe20000000006 */
        /*0020*/                   UIADD3 UR4, UR4, 0x1, URZ ;                   /* 0x0000000104047890 */
                                                                                 /* 0x000fe4000fffe03f */
        /*0030*/                   FFMA R13, R5.reuse, R13, R6.reuse ;           /* 0x0000000d050d7223 */
                                                                                 /* 0x140fe20000000006 */
        /*0040*/                   FFMA R15, R5, R15, R6 ;                       /* 0x0000000f050f7223 */
                                                                                 /* 0x000fc60000000006 */
        /*0050*/                   LDG.E.128 R24, desc[UR6][R24.64] ;            /* 0x0000000618187981 */
                                                                                 /* 0x000ea2000c1e1d00 */
        /*0060*/                   STG.E.128 desc[UR6][R30.64], R24 ;            /* 0x000000181e007986 */
                                                                                 /* 0x0003e2000c101d06 */
        /*0070*/                   DFMA R24, R8, UR10, R24 ;                     /* 0x0000000a08187c2b */
                                                                                 /* 0x004fe20008000018 */
        /*0080*/                   IMAD.WIDE R100, R101, 0x100, R6 ;             /* 0x0000010065647825 */
                                                                                 /* 0x000fe200078e0206 */
        /*0090*/                   LOP3.LUT P1, RZ, R2.reuse, 0x10, RZ, 0xc0, !PT ; /* 0x0000001002ff7812 */
                                                                                 /* 0x040fe2000782c0ff */
        /*00a0*/                   ISETP.NE.OR P0, PT, R2.reuse, RZ, !P0 ;       /* 0x000000ff0200720c */
                                                                                 /* 0x041fe40004705670 */
        /*00b0*/                   MOV R10, R4.reuse ;                           /* 0x00000004000a7202 */
                                                                                 /* 0x080fe20000000f00 */
        /*00c0*/                   HMMA.16816.F32.BF16 R36, R48, R2.reuse, R36 ; /* 0x000000023024723c */
                                                                                 /* 0x0a0fec0000041824 */
"""
FFMA_13, FFMA_15, UIADD3, FFMA_13_AGAIN, FFMA_15_LAST, LDG, STG, DFMA, WIDE, LOP3, ISETP, MOV, HMMA = (
    sass.parse_sass(RECORDED.splitlines())["f"]
)
ATTRIBUTES = describe.Attributes(24, 16, 0, 256)


def one(line: str) -> sass.Instruction:
    (instruction,) = code(line)
    return instruction


@pytest.mark.parametrize(
    "instruction, expected",
    [
        (FFMA_13, (1, "-", "-", 0b100000)),
        (FFMA_15_LAST, (3, "-", "-", 0)),
        (LDG, (1, "2", "-", 0)),
        (STG, (1, "-", "1", 0)),
        (DFMA, (1, "-", "-", 0b000100)),
        (HMMA, (6, "-", "-", 0b100000)),
    ],
)
def test_scheduling(instruction: sass.Instruction, expected: tuple[int, str, str, int]) -> None:
    assert describe.scheduling(instruction) == expected


@pytest.mark.parametrize(
    "instruction, before, expected",
    [
        (FFMA_13, STG, ("12", "12")),
        (FFMA_15, FFMA_13, ("01", "12")),  # R5 and R6 are there
        (UIADD3, FFMA_15, ("00", "00")),
        (FFMA_13_AGAIN, UIADD3, ("12", "12")),
        (FFMA_13, FFMA_15_LAST, ("12", "12")),  # which asked the cache to keep nothing
        (one("FFMA R1, R6, R5, R2"), FFMA_13, ("21", "21")),  # kept, but for other operands
        (one("FFMA R0, R0, R0, R0"), STG, ("10", "10")),
        (one("FFMA R8, -|R2|, R4, RZ"), STG, ("20", "20")),
        (one("@!P1 FFMA R9, R2, 0.5, -R4"), STG, ("20", "20")),
        (DFMA, STG, ("22", "22")),
        (one("DFMA R2, R4, R6, R8"), one("DFMA R2, R4.reuse, R6, R10"), ("22", "33")),
        (WIDE, STG, ("12", "12")),
        (LOP3, STG, ("10", "10")),
        (ISETP, LOP3, ("00", "10")),  # predicates take no slot
        (one("SEL R1, R4, R3, P0"), MOV, ("11", "11")),
        (one("FADD R1, R3, R4"), MOV, ("01", "11")),  # a MOV reads by the second slot
        (LDG, FFMA_15, ("00", "00")),
        (STG, LDG, ("00", "00")),
        (HMMA, HMMA, ("00", "00")),
    ],
)
def test_ports(instruction: sass.Instruction, before: sass.Instruction, expected: tuple[str, str]) -> None:
    assert describe.ports(instruction, before) == expected


@pytest.mark.parametrize(
    "line, expected",
    {
        "LDG.E.128.CONSTANT R4, desc[UR6][R2.64]": "LDG.128",
        "LDGSTS.E.BYPASS.128 [R5], desc[UR8][R2.64]": "LDGSTS.128",
        "STL.64 [R1+0xb0], R2": "STL.64",
        "LDL.LU R2, [R1+0xa0]": "LDLU.32",
        "LDL.64 R2, [R1+0xa0]": "LDL.64",
        "HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0": "HGMMA.256",
        "WARPGROUP.DEPBAR.LE gsb0, 0x1": "WARPGROUP.WAIT.1",
        "WARPGROUP.ARRIVE": "WARPGROUP",
        "DEPBAR.LE SB0, 0xf": "DEPBAR.WAIT.15",
        "LDGDEPBAR": "LDGDEPBAR",
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R4], R5": "SYNCS.PHASECHK",
        "IMAD.WIDE.U32 R2, R0, 0x4, R6": "IMAD.WIDE",
        "IMAD.HI.U32 R2, R0, R4, RZ": "IMAD.WIDE",
        "IMAD.MOV.U32 R2, RZ, RZ, R4": "IMAD",
        "HFMA2.MMA R11, -RZ, RZ, 0, 0": "HFMA2",
        "BAR.SYNC.DEFER_BLOCKING 0x0": "BAR",
        "BAR.SYNC.DEFER_BLOCKING 0x1, R3": "BAR.REGISTER",
        "BAR.SYNC.DEFER_BLOCKING UR4": "BAR.REGISTER",
    }.items(),
)
def test_opcode(line: str, expected: str) -> None:
    assert describe.opcode(one(line)) == expected


def test_marks_adjacent_memory_accesses() -> None:
    """Next to the last access of its kind by the same register; another width, register or gap is not."""
    lines = describe.describe(
        {"family": "f", "variant": "v", "loop_trips": []},
        code(
            "MOV R0, RZ", "LDG.E R4, desc[UR6][R2.64]", "LDG.E R5, desc[UR6][R2.64+0x80]",
            "LDG.E R6, desc[UR6][R2.64+0x200]", "LDG.E.128 R8, desc[UR6][R2.64+0x280]",
            "STG.E desc[UR6][R2.64+0x480], R4", "STG.E desc[UR6][R2.64+0x500], R5",
            "STG.E desc[UR6][R12.64+0x580], R6", "IADD3 R2, R2, 0x800, RZ", "@P0 BRA 0x10", "EXIT",
        ),
        describe.Attributes(),
    )  # fmt: skip
    assert [line.split()[0] for line in lines[1:-2]] == [
        "LDG.32", "LDG.32.NEXT", "LDG.32", "LDG.128.NEXT", "STG.32", "STG.32.NEXT", "STG.32",
    ]  # fmt: skip


def walk(lines: str, trips: list[float]) -> tuple[str, float]:
    """Initials of the instructions on the way, small for a branch that is taken; and the iterations."""
    walked, _, iterations = describe.trace(code(*lines.split("; ")), trips)
    return "".join(i.opcode[0].lower() if taken else i.opcode[0] for i, taken in walked), iterations


ONE = f"MOV R0, RZ; {FMA}; @P0 BRA 0x10; EXIT"
LEFT_EARLY = f"{FMA}; @P1 BRA 0x50; SYNCS.PHASECHK P1; @!P1 BRA 0x0; @P0 BRA 0x0; EXIT"
NESTED = f"MOV R0, RZ; {FMA}; @P0 BRA 0x10; DADD R0, R0, R0; @P1 BRA 0x0; EXIT"
TWICE_NESTED = f"MOV R0, RZ; NOP; {FMA}; @P0 BRA 0x20; @P0 BRA 0x10; @P1 BRA 0x0; EXIT"
SIDE_BY_SIDE = f"{FMA}; @P0 BRA 0x0; DADD R0, R0, R0; @P0 BRA 0x20; EXIT"
COUNTING_FIRST = f"IADD3 R2, R2, 0x1, RZ; @P0 BRA 0x0; {FMA}; @P0 BRA 0x20; EXIT"


@pytest.mark.parametrize(
    "lines, trips, expected",
    [
        (ONE, [], ("Fb", 1)),
        (ONE, [1], ("Fb", 1)),
        (ONE, [3], ("FbFbFb", 1)),
        (ONE, [1 / 8], ("Fb", 8)),
        (LEFT_EARLY, [], ("FBSBb", 1)),  # only the last way back is taken
        (NESTED, [], ("MFbDb", 1)),
        (NESTED, [1, 0], ("MDb", 1)),
        (NESTED, [1, 3], ("MFbFbFbDb", 1)),
        (NESTED, [1 / 4, 2], ("MFbFbDb", 4)),
        (NESTED, [3, -8], ("MDb" + "MFbDb" + "MFbFbDb", 1)),
        (NESTED, [4, -2], (2 * ("MDb" + "MFbDb"), 1)),
        (TWICE_NESTED, [1, 2, 2], ("M" + 2 * "NFbFbb" + "b", 1)),
        (SIDE_BY_SIDE, [1, 2], ("FbDbDb", 1)),
        (SIDE_BY_SIDE, [0, 1], ("Db", 1)),
        (SIDE_BY_SIDE, [0, 1 / 8], ("Db", 8)),
        (COUNTING_FIRST, [], ("Fb", 1)),
    ],
)
def test_trace(lines: str, trips: list[float], expected: tuple[str, float]) -> None:
    assert walk(lines, trips) == expected


@pytest.mark.parametrize(
    "lines, trips, why",
    [
        (f"{FMA}; EXIT", [], "it has no loop"),
        (SIDE_BY_SIDE, [], "it has 2 loops one after the other, and declares no trips"),
        (SIDE_BY_SIDE, [1], "it declares the trips of 1 loops, its machine code has 2"),
        (ONE, [1, 2], "it declares the trips of 2 loops, its machine code has 1"),
        (SIDE_BY_SIDE, [0, 0], "none of its loops runs"),
        (ONE, [-8], "none of its loops runs"),
        (SIDE_BY_SIDE, [1 / 8, 1], "several iterations a trip stands beside another"),
        (SIDE_BY_SIDE, [1, 1 / 8], "several iterations a trip stands beside another"),
        (NESTED, [1, 2.5], "it declares 2.5 trips of a loop, which is not a whole number"),
        (NESTED, [1, 1 / 8], "it declares 0.125 trips of a loop, which is not a whole number"),
        (ONE, [1.5], "it declares 1.5 trips of a loop, which is not a whole number"),
    ],
)
def test_rejects_untraceable_loops(lines: str, trips: list[float], why: str) -> None:
    with pytest.raises(sass.Failure, match=re.escape(why)):
        walk(lines, trips)


def test_description() -> None:
    loop = sass.parse_sass((RECORDED + "        /*00d0*/    @P0 BRA 0x0 ;\n").splitlines())["f"]
    never = sass.Instruction(0xE0, "!PT", "LDS", ("RZ", "[RZ]"))
    variant = {"family": "f", "variant": "v", "loop_trips": []}
    assert describe.describe(variant, [*loop, never], ATTRIBUTES) == [
        "f v 24 16 0 256 1",
        "FFMA 1 - - 20 12 12",
        "FFMA 1 - - 00 01 12",
        "UIADD3 2 - - 00 00 00",
        "FFMA 1 - - 00 12 12",
        "FFMA 3 - - 00 01 12",
        "LDG.128 1 2 - 00 00 00",
        "STG.128 1 - 1 00 00 00",
        "DFMA 1 - - 04 22 22",
        "IMAD.WIDE 1 - - 00 12 12",
        "LOP3 1 - - 00 10 10",
        "ISETP 2 - - 01 00 10",
        "MOV 1 - - 00 10 10",
        "HMMA 6 - - 20 00 00",
        "BRA.TAKEN.13 0 0 0 00 00 00",  # its encoding is not in the listing
    ]
    with pytest.raises(sass.Failure, match="does not name its kernel"):
        describe.describe(variant, loop, None)


def test_groups_equal_instructions_and_ends_the_loop() -> None:
    plain = code("MOV R1, R3", *["FADD R0, R0, R2"] * 3, "FADD R0, R0, R2.reuse", "@P0 BRA 0x10", "EXIT")
    variant = {"family": "f", "variant": "v", "loop_trips": [1 / 4]}
    assert describe.describe(variant, plain, ATTRIBUTES) == [
        "f v 24 16 0 256 4",
        "4*FADD 0 0 0 00 20 20",
        "BRA.TAKEN.4 0 0 0 00 00 00",
    ]


FADD, FMUL = (f"{name} 0 0 0 00 20 20" for name in ("FADD", "FMUL"))


def test_unrolls_inner_loop_trips() -> None:
    variant = {"family": "f", "variant": "v", "loop_trips": [2, 3, 2]}
    plain = code("MOV R1, R3", "FADD R0, R0, R2", "FMUL R0, R0, R2", "@P0 BRA 0x10", *["FADD R0, R0, R2"] * 2,
                 "@P0 BRA 0x50", "@P0 BRA 0x0", "EXIT")  # fmt: skip
    lines = describe.describe(variant, plain, ATTRIBUTES)
    assert [line.removesuffix(" 0 0 0 00 00 00") for line in lines] == [
        "f v 24 16 0 256 1",
        *["2*{", "MOV 0 0 0 00 01 01"],
        *["2*{", FADD, FMUL, "BRA.TAKEN.2", "}"],
        *[FADD, FMUL, "BRA.TAKEN"],  # which goes on
        FADD,
        *[FADD, "BRA.TAKEN.1"],
        *[FADD, "BRA.TAKEN"],
        *["BRA.TAKEN.7", "}"],
    ]


# As `cuobjdump -elf` prints 64 float of static shared memory and __launch_bounds__(64 x 2), shortened.
ELF = """
  Index Offset   Size ES Align                         Type    Flags Link     Info Name
    7    6c4     48  0  4                    CUDA_INFO        0    3        0 .nv.info
    a    784     68  0  4                    CUDA_INFO       40    3        f .nv.info._Z1kPfi
   10   1180      0  0  1                       NOBITS        3    0        0 .nv.shared.reserved.0
   11   1180    500  0  4                       NOBITS       43    0        f .nv.shared._Z1kPfi

.nv.info
	<0x1>
	Attribute:	EIATTR_REGCOUNT
	Format:	EIFMT_SVAL
	Value:	function: _Z1kPfi(0xc)	register count: 10
	<0x2>
	Attribute:	EIATTR_FRAME_SIZE
	Format:	EIFMT_SVAL
	Value:	function: _Z1kPfi(0xc)	frame size: 0x10
	<0x3>
	Attribute:	EIATTR_REGCOUNT
	Format:	EIFMT_SVAL
	Value:	function: _Z1dPdi(0xb)	register count: 14
	<0x4>
	Attribute:	EIATTR_MIN_STACK_SIZE
	Format:	EIFMT_SVAL
	Value:	function: _Z1kPfi(0xc)	min stack size: 0x20

.nv.info._Z1dPdi
	<0x1>
	Attribute:	EIATTR_MAXREG_COUNT
	Format:	EIFMT_HVAL
	Value:	0xff

.nv.info._Z1kPfi
	<0x1>
	Attribute:	EIATTR_MAX_THREADS
	Format:	EIFMT_SVAL
	Value:	0x40 0x2 0x1
	<0x2>
	Attribute:	unknown Attribute
	Format:	EIFMT_HVAL
	Value:	0x101
"""


# Of the same kernel, and what stands around its instructions.
CODE = """
.section .nv_debug_ptx_txt
	.reg .b32 	%r<5>;
0x77777777 0x77777777 0x77777777 0x77777777

.text._Z1dPdi
lmem=0	smem=0
0x00017a02 0x00000a00 0x00000f00 0x000fe400
0x00027919 0x00000000 0x00002100 0x000e2200
"""


def test_code_hash_depends_only_on_code() -> None:
    def hashed(text: str) -> str:
        return describe.parse_attributes(text.splitlines(keepends=True), 0)["_Z1dPdi"].code

    assert len(hashed(CODE)) == 64
    assert hashed(CODE) != hashed(CODE.replace("0x00002100", "0x00002500"))
    assert hashed(CODE) == hashed(CODE.replace("0x77777777", "0x88888888").replace("b32", "b64"))


def test_attributes() -> None:
    assert describe.parse_attributes(ELF.splitlines(), 1024) == {
        "_Z1kPfi": describe.Attributes(10, 16, 256, 128),
        "_Z1dPdi": describe.Attributes(14, 0, 0, 0),
        "reserved.0": describe.Attributes(),
    }
    assert describe.parse_attributes(ELF.splitlines(), 0)["_Z1kPfi"].static_smem_bytes == 0x500


@pytest.mark.parametrize("arch, expected", [("sm_86", 0x500), ("sm_90", 256), ("sm_90a", 256)])
def test_the_drivers_shared_memory(monkeypatch: pytest.MonkeyPatch, arch: str, expected: int) -> None:
    monkeypatch.setattr(describe, "cuobjdump", lambda binary, arch, option, parse: parse(ELF.splitlines()))
    assert describe.attributes(Path("occbench"), arch)["_Z1kPfi"].static_smem_bytes == expected
