# SPDX-License-Identifier: Apache-2.0
"""occbench caps --roles and --smem-spilling: splits of registers between warps, spills to shared memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("numpy")

from made_up import REPOSITORY
from occbench_tools import caps, sass
from occbench_tools.caps.builds import Build, Use, requests_of
from occbench_tools.caps.ptx import Limit, apply_limit, requests
from occbench_tools.caps.roles import MOST_SPLITS, Requests, chosen_splits, pool_of_build
from occbench_tools.caps.show import spilled_by_role
from occbench_tools.command import CommandError
from occbench_tools.inspect_lines.roles import Pool, Role
from occbench_tools.programs import run_program
from pages import built
from test_caps_compilers import SOURCE, answers, needs_nvcc

needs_tools = pytest.mark.skipif(
    not (built() and shutil.which("nvcc") and any((f / "nvdisasm").exists() for f in sass.tool_folders())),
    reason="no occbench, nvcc or nvdisasm",
)
PLANTED = REPOSITORY / "tests/tools/planted_roles.cu"
UNEVEN = REPOSITORY / "tests/samples/roles.cu"
NVCC = f"-- nvcc -arch=sm_90a -c {PLANTED}"

PTX = """
.func helper()
{
\tsetmaxnreg.dec.sync.aligned.u32 40;
}
.visible .entry moves(.param .u64 p)
.maxntid 384, 1, 1
{
\t{ // inline asm, whose braces may be anywhere
setmaxnreg.dec.sync.aligned.u32 40;
}
\tsetmaxnreg.inc.sync.aligned.u32 232;
}
.entry other()
{
\tsetmaxnreg.inc.sync.aligned.u32 232;
}
"""
TWO = Requests((40, 232), (1, 2), {40: {"dec"}, 232: {"inc"}})  # a producer, two consumers


def test_writes_setmaxnreg_requests_into_ptx() -> None:
    assert requests(PTX, "moves") == {40: {"dec"}, 232: {"inc"}}
    limit = TWO.limit((24, 240))
    assert limit.words() == "roles 24/240"
    assert apply_limit(PTX, limit, frozenset(["moves"])) == PTX.replace(
        "40;\n}\n\tsetmaxnreg.inc.sync.aligned.u32 232", "24;\n}\n\tsetmaxnreg.inc.sync.aligned.u32 240"
    )
    swapped = Limit(requests=((40, 232), (232, 40)))  # each is changed once
    assert requests(apply_limit(PTX, swapped, frozenset(["moves"])), "moves") == {232: {"dec"}, 40: {"inc"}}


def test_smem_spilling_pragma_is_the_first_statement() -> None:
    limit = Limit(64, spills_to_smem=True)
    assert limit.words() == "smem spills, cap 64" and Limit(spills_to_smem=True).words() == "smem spills"
    text = apply_limit(PTX, limit, frozenset(["other"]))
    assert text.count("pragma") == 1
    assert '.entry other()\n.maxnreg 64\n{\n.pragma "enable_smem_spilling";\n\tsetmaxnreg' in text
    alone = apply_limit(PTX, Limit(spills_to_smem=True), frozenset(["other"]))
    assert alone.replace('\n.pragma "enable_smem_spilling";', "") == PTX


def test_splits_use_all_allocated_registers() -> None:
    found = sorted(TWO.splits(168))
    assert found == [(24 + 16 * n, 240 - 8 * n) for n in range(10)]
    assert all(TWO.total_request(split) == 504 and TWO.why_not(split, 168) == "" for split in found)
    assert TWO.nearest(168) == (found, 10)
    three = Requests((24, 152, 240), (1, 1, 2), {24: {"dec"}, 240: {"inc"}})  # the second keeps the launch's
    assert {split[1] for split in three.splits(152)} == {152}
    assert (24, 152, 216) in three.splits(152) and (24, 152, 208) not in three.splits(152)
    four = Requests((48, 80, 192, 192), (1, 1, 1, 1), {48: {"dec"}, 80: {"dec"}, 192: {"inc"}})
    splits, count = four.nearest(128)
    assert len(splits) == MOST_SPLITS < count and (48, 80, 192, 192) in splits
    assert all(split[2] == split[3] >= 128 >= max(split[:2]) for split in splits)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("24", "--roles 24: the kernel has 2 warp roles: 40/232"),
        ("24/many", "--roles wants splits as 24/240, not '24/many'"),
        ("24/236", "--roles 24/236: a request is a multiple of 8 from 24 to 256, at most the launch's 168"),
        ("176/168", "--roles 176/168: a request is a multiple of 8"),
        ("24/160", "--roles 24/160: a request is a multiple of 8"),
        ("24/240,40/240", "--roles 40/240: it asks for 520 registers, and the launch has 504"),
    ],
)
def test_rejects_illegal_splits(named: str, sentence: str) -> None:
    with pytest.raises(CommandError) as refused:
        chosen_splits(TWO, 168, named)
    assert refused.value.code == 2 and sentence in str(refused.value)
    equal = Requests((40, 232, 232), (1, 1, 1), TWO.actions)
    assert "as many registers in the source" in equal.why_not((24, 232, 240), 168)
    assert chosen_splits(TWO, 168, "24/240,40/200") == [(24, 240), (40, 200)]


def test_decodes_a_request_for_256_registers() -> None:
    code = bytes.fromhex(
        "c8790000000100000006080000240e00" + "c8790000280000000005 0e08000e0000".replace(" ", "")
    )
    assert requests_of(code) == (40, 256)


def test_missing_disassembler_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "tool_folders", lambda: [tmp_path])
    build = Build(None, {"k": Use(168, requests=(40, 232))}, cubin=tmp_path / "k.cubin")
    with pytest.raises(
        CommandError, match=r"no nvdisasm with cuobjdump: pip install 'occbench\[audit\]'"
    ) as refused:
        pool_of_build(build, "k", "sm_90a", 384)
    assert refused.value.code == 5


@needs_tools
def test_reports_registers_by_role_for_each_split(tmp_path: Path) -> None:
    own, *rows = answers(f"--kernel unused --roles {NVCC}", tmp_path)
    assert (own["registers_per_thread"], own["spilled_by_role"]) == ("160", "0/0")
    # The launch gives no more than the largest request: 160 in the source, 168 with a larger one.
    assert [row["build"] for row in rows] == [f"roles {24 + 16 * n}/{240 - 8 * n}" for n in range(10)]
    assert {row["registers_per_thread"] for row in rows} == {"168"}
    for row in rows:
        split = row["build"].removeprefix("roles ").split("/")
        live = row["live_by_role"].split("/")
        assert all(int(n) + 2 <= int(most) for n, most in zip(live, split, strict=True))


@needs_tools
def test_reports_spills_by_role_and_runs_builds(tmp_path: Path) -> None:
    words = f"--rounds 2 --roles 24/240,120/192,168/168 --run ./app -- nvcc -arch=sm_90a {UNEVEN} -o app"
    rows = {row["build"]: row for row in answers(words, tmp_path)}
    spilled = {name: tuple(map(int, row["spilled_by_role"].split("/"))) for name, row in rows.items()}
    assert spilled["as it is"] == spilled["roles 120/192"] == (0, 0)
    assert spilled["roles 24/240"][0] > 0 == spilled["roles 24/240"][1]
    assert spilled["roles 168/168"][0] == 0 < spilled["roles 168/168"][1]
    assert all(sum(spilled[name]) == int(row["spill_bytes"]) for name, row in rows.items())
    assert all(row["samples"] == "2" and row["output"] == "same" for row in rows.values())


def test_names_spills_shared_by_roles() -> None:
    roles = tuple(Role((n,), 24, (), 20, spilled, True) for n, spilled in enumerate((0, 96)))
    assert spilled_by_role(Pool(2, 24, roles, 0)) == "0/96"
    assert spilled_by_role(Pool(2, 24, roles, 16)) == "0/96, shared 16"


@needs_tools
def test_does_not_run_a_split_that_deadlocks(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCCBENCH", str(built()))
    text = UNEVEN.read_text().replace('"n"(120)', '"n"(168)').replace("return 0;", "for (;;) {}")
    (tmp_path / "k.cu").write_text(text)
    words = f"--timeout 1s --roles 120/192 --run {tmp_path}/app -- nvcc -arch=sm_90a {tmp_path}/k.cu"
    assert caps.main([*words.split(), "-o", f"{tmp_path}/app"]) == 1
    assert "the source as it is asks for 552 registers, and the launch has 504" in capfd.readouterr().err


@pytest.mark.skipif(not built(), reason="no occbench")
def test_the_splits_of_the_suite_are_legal() -> None:
    """The experiment warp_roles has a part of the splits that caps tries on its kernel."""
    listed = run_program([str(built()), "list", "--variants", "--format", "json"]).stdout
    names = [variant["variant"] for variant in json.loads(listed)["variants"]]
    splits = [tuple(map(int, name.split("-")[2:])) for name in names if name.startswith("wgmma-roles-")]
    assert len(splits) == 8 and (24, 240) in splits and (168, 168) in splits
    assert set(splits) <= set(TWO.splits(168))


@needs_tools
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("--roles", 2, "--roles takes one kernel, and 5 move registers; --kernel names one"),
        (
            "--kernel ignored --roles",
            2,
            "(setmaxnreg): (C7508) Potential Performance Loss: 'setmaxnreg' ignored",
        ),
        ("--kernel unread --roles", 2, "which warpgroup takes which branch before setmaxnreg cannot be read"),
        ("--kernel fits --roles 24/248", 2, "it asks for 520 registers, and the launch has 504"),
    ],
)
def test_rejects_kernels_without_splittable_roles(
    words: str,
    code: int,
    sentence: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OCCBENCH", str(built()))
    assert caps.main([*words.split(), *NVCC.split()]) == code
    out, err = capfd.readouterr()
    assert out == "" and sentence in err and len(err.splitlines()) == 1


@needs_nvcc
def test_spills_to_shared_memory(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    rows = {
        row["build"]: row
        for row in answers("--smem-spilling --caps 128,32 -- nvcc -arch=sm_90 -c k.cu", tmp_path)
    }
    assert list(rows) == ["as it is", "cap 128", "cap 32", "smem spills, cap 32"]  # where something spills
    plain, to_smem = rows["cap 32"], rows["smem spills, cap 32"]
    assert int(to_smem["spill_bytes"]) < int(plain["spill_bytes"]) and plain["static_smem_bytes"] == "0"
    taken = int(to_smem["static_smem_bytes"])
    assert taken > 0 and to_smem["against_as_it_is"].startswith(f"{taken:,} B of shared memory; ")
    # Without launch bounds ptxas reserves it for larger blocks, and fewer are resident.
    (tmp_path / "k.cu").write_text(SOURCE.replace("__launch_bounds__(256, 2)", ""))
    *_, free = answers("--smem-spilling --block-size 256 --caps 32 -- nvcc -arch=sm_90 -c k.cu", tmp_path)
    assert int(free["static_smem_bytes"]) > taken and int(free["blocks_per_sm"]) < 8
    assert f"{free['blocks_per_sm']} blocks per SM in place of 8" in free["against_as_it_is"]


DYNAMIC = """
  extern __shared__ float total[];
  total[threadIdx.x] = s;
  p[threadIdx.x] = total[255 - threadIdx.x];"""


@needs_nvcc
@pytest.mark.parametrize(
    ("source", "words", "reason"),
    [
        (SOURCE.replace("  p[threadIdx.x] = s;", DYNAMIC), "", "not allowed for dynamic SMEM"),
        (SOURCE, "-rdc=true", "not allowed for per-function compilation modes"),
    ],
)
def test_reports_why_ptxas_rejects_smem_spilling(
    source: str, words: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(source)
    *_, refused = answers(f"--smem-spilling --caps 32 -- nvcc -arch=sm_90 {words} -c k.cu", tmp_path)
    assert refused["build"] == "smem spills, cap 32" and reason in refused["status"]
