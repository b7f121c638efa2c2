# SPDX-License-Identifier: Apache-2.0
"""inspect --lines of kernels that move registers between their warps: roles, and if the pool fits."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_up import REPOSITORY
from occbench_tools import sass
from occbench_tools.inspect_lines.listing import Step
from occbench_tools.inspect_lines.roles import (
    MOST_VISITS,
    SETS,
    Pool,
    Role,
    known_after,
    lookup,
    operand,
    requests_of,
    spilled_by,
)
from occbench_tools.programs import run_program
from occbench_tools.sass import Instruction
from pages import built

SOURCE = Path(__file__).with_name("planted_roles.cu")
OWN = "Specialised<occbench::tensor_core::Ring<true, true> >, 384, 1"  # wgmma_streamed of this suite


def version() -> str:
    return run_program(["nvcc", "--version"]).stdout if shutil.which("nvcc") else ""


needs_tools = pytest.mark.skipif(
    not (built() and shutil.which("nvcc") and any((f / "nvdisasm").exists() for f in sass.tool_folders())),
    reason="no occbench, nvcc or nvdisasm",
)
Inspect = Callable[..., str]


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("roles") / "roles.cubin"
    subprocess.run(["nvcc", "-arch=sm_90a", "-lineinfo", "-cubin", "-o", file, SOURCE], check=True)
    return file


def inspect(file: Path, *words: str) -> str:
    done = subprocess.run([built(), "inspect", file, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def roles_of(file: Path, kernel: str, *words: str) -> dict[str, Any]:
    return json.loads(inspect(file, *words, "--lines", kernel, "--format", "json"))["warp_roles"]


def requests(found: dict[str, Any]) -> list[tuple[list[int] | None, int]]:
    return [(role["warpgroups"], role["request"]) for role in found["roles"]]


def test_stops_tracing_after_too_many_visits() -> None:
    """Each round of the loop unlearns one register: as many rounds as registers."""
    count = 2 * MOST_VISITS
    code = [Instruction(0, "", "MOV", (f"R{n}", "0x1")) for n in range(count)]
    code += [Instruction(0, "", "MOV", (f"R{n}", f"R{n + 1}")) for n in range(count)]
    branch = Instruction(0, "P0", "BRA", ("0x0",))
    steps = [Step(each, "", (), False) for each in [*code, branch, Instruction(0, "", SETS, ("0x18",))]]
    following = {n: [n + 1] for n in range(len(steps))} | {2 * count: [count, 2 * count + 1]}
    assert requests_of(steps, SimpleNamespace(after=following), 0) == (set(), set())
    short = dict(following) | {2 * count: [2 * count + 1]}
    assert requests_of(steps, SimpleNamespace(after=short), 0)[0] == {2 * count + 1}


@needs_tools
@pytest.mark.parametrize(
    ("kernel", "split", "asked", "allocated", "verdict"),
    [
        ("fits", (24, 240), 504, 504, "24 + 2 x 240 = 504 of 504\n"),
        ("unused", (40, 160), 360, 480, "40 + 2 x 160 = 360 of 480: 120 are never used\n"),
        (
            "small",
            (40, 240),
            520,
            504,
            "40 + 2 x 240 = 520, and the launch has 504: a warpgroup waits forever\n",
        ),
        (
            "stuck",
            (160, 248),
            656,
            504,
            "160 + 2 x 248 = 656, and the launch has 504: a warpgroup waits forever\n",
        ),
    ],
)
def test_assigns_a_role_to_each_warpgroup(
    cubin: Path, kernel: str, split: tuple[int, int], asked: int, allocated: int, verdict: str
) -> None:
    found = roles_of(cubin, kernel)
    assert requests(found) == [([0], split[0]), ([1, 2], split[1])]
    assert (found["registers_asked"], found["registers_allocated"]) == (asked, allocated)
    text = inspect(cubin, "--lines", kernel)
    assert verdict in text and max(map(len, text.splitlines())) <= 80
    producer, consumer = found["roles"]
    assert 64 < consumer["live_registers"] <= 168 and producer["live_registers"] < 40


def pool(groups: int, own: int, *roles: tuple[int, int, int]) -> Pool:
    """Of roles with warpgroups, a request and live registers each; without a request (0) it keeps `own`."""
    numbers = iter(range(groups))
    made = (
        Role(tuple(next(numbers) for _ in range(count)), request or own, (), live, 0, request > 0)
        for count, request, live in roles
    )
    return Pool(groups, own, tuple(made), 0)


@pytest.mark.parametrize(
    ("found", "split"),
    [
        # 160 is the largest request and so the launch's; 65,536 / 384 gives 168: 504 - 32 = 472 = 2 x 236.
        (pool(3, 160, (1, 40, 29), (2, 160, 142)), [32, 232]),
        # Two blocks of 256 are resident and may have 128 each: 256 - 24 = 232.
        (pool(2, 104, (1, 24, 20), (1, 104, 90)), [24, 232]),
        # The launch has fewer than the largest request: its bounds hold it, 504 - 24 = 480 = 2 x 240.
        (pool(3, 168, (1, 40, 20), (2, 232, 200)), [24, 240]),
        (pool(3, 168, (1, 24, 20), (2, 240, 200)), []),
        # A warpgroup without a request has what the launch has: 2 x 128 + 24 + 232 = 4 x 128.
        (pool(4, 128, (2, 0, 20), (1, 40, 20), (1, 160, 120)), [128, 24, 232]),
    ],
)
def test_better_split_fits_the_launch(found: Pool, split: list[int]) -> None:
    better = found.better_split() or {}
    assert [better[role] for role in found.roles if role in better] == split


def test_assigns_spills_to_one_role_or_shared() -> None:
    store = Instruction(0, "", "STL.64", ("[R1]", "R2"))
    steps = [Step(store, "", (), True)] * 6
    # One runs 0, 1, 2 and 5, another 0, 3, 4 and 5.
    assert spilled_by(steps, {1: {0, 1, 2, 5}, 3: {0, 3, 4, 5}}) == ({1: 16, 3: 16}, 16)


@needs_tools
def test_ignored_requests_and_deadlocks_are_findings(cubin: Path) -> None:
    rows = {row["kernel"].partition("(")[0]: row for row in json.loads(inspect(cubin, "--format", "json"))}
    assert (
        rows["ignored"]["findings"] == "requests_ignored" and rows["stuck"]["findings"] == "requests_not_met"
    )
    assert all(rows[name]["block_size"] == 384 for name in ("fits", "unused", "small", "stuck"))
    assert roles_of(cubin, "ignored") is None
    assert "ptxas ignored its setmaxnreg" in inspect(cubin, "--lines", "ignored")


@needs_tools
def test_unreadable_branch_falls_back_to_code_order(cubin: Path) -> None:
    found = roles_of(cubin, "unread")
    assert sorted(n for groups, n in requests(found) if groups is None) == [40, 160]
    assert found["registers_asked"] is None and "cannot be read" in inspect(cubin, "--lines", "unread")


@needs_tools
@pytest.mark.skipif("release 13.0," not in version(), reason="the page shows code of CUDA 13.0")
def test_docs_match_the_output(cubin: Path) -> None:
    page = (REPOSITORY / "docs/data/inspect-roles.txt").read_text().split("\n", 2)[2]
    assert inspect(cubin, "--lines", "unused").startswith(page)


@needs_tools
def test_suite_kernel_has_a_better_split() -> None:
    found = roles_of(built(), OWN, "--arch", "sm_90a")
    assert requests(found) == [([0], 40), ([1, 2], 232)]
    assert found["registers_asked"] == found["registers_allocated"] == 504
    assert found["better_requests"] == [24, 240]


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("S2R", ("R2", "SR_TID.X"), 300),
        ("SHF.R.U32.HI", ("R2", "RZ", "0x7", "R0"), 2),
        ("SHF.R.S32.HI", ("R2", "RZ", "0x1f", "R1"), 0xFFFFFFFF),
        ("LEA.HI", ("R2", "R1", "R0", "RZ", "0x5"), 300 + 31),
        ("LOP3.LUT", ("R2", "R0", "0x7f", "RZ", "0xc0", "!PT"), 300 & 127),
        ("IADD3", ("R2", "PT", "PT", "R0", "-R1", "RZ"), 302),
        ("IMAD.MOV.U32", ("R2", "RZ", "RZ", "R0"), 300),
        ("LDG.E", ("R2", "[R0]"), None),
    ],
)
def test_evaluates_values_of_the_thread_index(
    opcode: str, operands: tuple[str, ...], expected: int | None
) -> None:
    known = known_after({"R0": 300, "R1": 0xFFFFFFFE, "R2": 5}, Instruction(0, "", opcode, operands), 300)
    assert known.get("R2") == expected
    assert known_after({"P0": 0, "R2": 5}, Instruction(0, "P0", opcode, operands), 300)["R2"] == 5


def test_comparisons_default_to_signed() -> None:
    for opcode, expected in (("ISETP.GE.AND", 0), ("ISETP.GE.U32.AND", 1), ("UISETP.NE.AND", 1)):
        known = known_after({"R1": 0xFFFFFFFE}, Instruction(0, "", opcode, ("P0", "PT", "R1", "RZ", "PT")), 0)
        assert operand(known, "P0") == expected != operand(known, "!P0")
    assert lookup(0x96, 1, 2, 4) == 7  # exclusive or of three
    both = Instruction(0, "", "PLOP3.LUT", ("P0", "PT", "PT", "PT", "UP1", "0x80", "0x0"))
    assert [known_after({"UP1": n}, both, 0)["P0"] for n in (0, 1)] == [0, 1]
    unknown = Instruction(0, "", "IMAD.U32", ("R2", "RZ", "RZ", "UR5"))
    assert known_after({"R2": 1, "R3": 2}, unknown, 0) == {"R3": 2}
    assert known_after({"R2": 1, "R3": 2}, Instruction(0, "", "IMAD.WIDE", unknown.operands), 0) == {}
    for value, expected in ((127, 0), (128, 1)):
        bits = Instruction(0, "", "LOP3.LUT", ("P0", "RZ", "R0", "0xffffff80", "RZ", "0xc0", "!PT"))
        assert known_after({"R0": value}, bits, 0)["P0"] == expected
