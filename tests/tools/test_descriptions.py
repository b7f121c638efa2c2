# SPDX-License-Identifier: Apache-2.0
"""The files that tell the model of machine code, and the audit that holds them against a build."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from occbench_tools import audit, describe, descriptions, sass
from test_audit import program  # noqa: F401

REPOSITORY = Path(__file__).resolve().parents[2]
MACHINE_CODE = REPOSITORY / "kernels" / "machine_code"
ATTRIBUTES = describe.Attributes(24, 16, 0, 256, "of the code")
LOOP = ["2*FFMA 4 - - 00 11 11", "BRA.TAKEN 6 - - 00 00 00"]
DESCRIPTIONS = {f"{f}/{v}": [f"{f} {v} 24 0 0 0 1", *LOOP] for f, v in ("ab", "ac", "ad", "bb", "bc")}


def test_descriptions_round_trip(tmp_path: Path) -> None:
    other = {"a/e": ["a e 24 0 0 0 1", "2*{", *LOOP, "}"]}
    written = DESCRIPTIONS | other
    descriptions.write(tmp_path / "new", "sm_90", written, "13.0.88")
    file = tmp_path / "new/sm_90/a.txt.gz"
    assert descriptions.content(file).decode().splitlines() == [
        "# sm_90 machine code of CUDA 13.0.88",
        "# written by occbench audit --describe; occbench_tools/describe.py says how to read it",
        *(f"a {v} 24 0 0 0 1" for v in "bcd"),
        *LOOP,
        *other["a/e"],
    ]
    a = {name: lines for name, lines in written.items() if name.startswith("a")}
    assert descriptions.read(file) == ("13.0.88", a)
    assert sorted(each.name for each in file.parent.iterdir()) == ["a.txt.gz", "b.txt.gz"]
    descriptions.compare(tmp_path / "new", "sm_90", written, "13.0.88")
    descriptions.compare(tmp_path / "new", "sm_90", dict(reversed(written.items())), "13.0.88")
    descriptions.compare(tmp_path / "new", "sm_90", a, "13.0.88", ["a"])


def without(*names: str) -> dict[str, list[str]]:
    return {name: lines for name, lines in DESCRIPTIONS.items() if name not in names}


@pytest.mark.parametrize(
    "known, now, why",
    [
        (without("a/c"), DESCRIPTIONS, "lacks a/c;"),
        ({}, DESCRIPTIONS, "lacks a/b, a/c, a/d and 2 more;"),
        (DESCRIPTIONS, without("b/c"), "still has b/c;"),
        (DESCRIPTIONS, DESCRIPTIONS | {"a/d": ["a d 25 0 0 0 1", *LOOP]}, "is stale on a/d;"),
        (DESCRIPTIONS, DESCRIPTIONS | {"a/d": ["a d 24 0 0 0 1", *LOOP[:1]]}, "is stale on a/d;"),
        (without("a/b"), DESCRIPTIONS | {"a/c": []}, "lacks a/b; is stale on a/c;"),
    ],
)
def test_stale(tmp_path: Path, known: dict[str, list[str]], now: dict[str, list[str]], why: str) -> None:
    descriptions.write(tmp_path, "sm_80", known, "13.0.88")
    with pytest.raises(sass.Failure) as complaint:
        descriptions.compare(tmp_path, "sm_80", now, "13.0.88")
    mend = f"`occbench audit --arch sm_80 --describe {tmp_path}` writes it again"
    assert str(complaint.value) == f"{tmp_path}/sm_80 {why} {mend}"


def test_skips_code_of_another_toolkit(tmp_path: Path) -> None:
    descriptions.write(tmp_path, "sm_90", DESCRIPTIONS, "13.0.88")
    with pytest.raises(sass.Skip, match=r"a\.txt\.gz is of CUDA 13\.0\.88, this build of CUDA 3\.0\.88"):
        descriptions.compare(tmp_path, "sm_90", {}, "3.0.88")


WHOLE = gzip.compress(b"# sm_90 machine code of CUDA 13.0.88\n", mtime=0)


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.txt", b""),
        ("a.txt", b"\xff\xfe"),
        ("a.txt", b"stream f32 24 0 0 0 1\n"),
        ("a.txt.gz", b""),
        ("a.txt.gz", b"# sm_90 machine code of CUDA 13.0.88\n"),
        ("a.txt.gz", WHOLE[:-9]),
        ("a.txt.gz", WHOLE[:12] + b"\xff" + WHOLE[13:]),
    ],
    ids=["empty", "no UTF-8", "no head", "empty, packed", "not packed", "cut off", "damaged"],
)
def test_unreadable(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "sm_90").mkdir()
    (tmp_path / "sm_90" / name).write_bytes(content)
    with pytest.raises(sass.Failure, match="cannot be read: "):
        descriptions.compare(tmp_path, "sm_90", DESCRIPTIONS, "13.0.88")


def test_unbuilt_architectures_become_stale_with_built_ones(tmp_path: Path) -> None:
    for arch in ("sm_80", "sm_90", "sm_100"):
        descriptions.write(tmp_path, arch, DESCRIPTIONS, "13.0.88")
    assert descriptions.old(tmp_path) == []
    descriptions.write(tmp_path, "sm_80", DESCRIPTIONS, "13.0.99")  # the same code of another toolkit
    assert descriptions.old(tmp_path) == []
    descriptions.write(tmp_path, "sm_80", DESCRIPTIONS | {"a/d": ["a d 25 0 0 0 1", *LOOP]}, "13.0.88")
    assert descriptions.old(tmp_path) == [tmp_path / "sm_100/a.txt.gz"]
    (tmp_path / "sm_100/b.txt.gz").write_bytes(gzip.compress(b"# sm_100 machine code of CUDA 13.0.88\n"))
    assert descriptions.old(tmp_path) == [tmp_path / "sm_100/a.txt.gz", tmp_path / "sm_100/b.txt.gz"]


def test_the_same_work() -> None:
    reference = [
        "a b 24 0 0 0 2",
        "4*{",
        "LDG.32 1 2 - 00 00 00",
        "3*FFMA 4 - - 00 11 11",
        "IMAD 4 - - 00 11 11",
        "}",
    ]
    assert descriptions.work(reference) == {"LDG.32": 2, "FFMA": 6}
    same = ["a b 32 0 0 0 1", *["LDG.32.NEXT 1 2 - 00 00 00", "LDG.32.SAME 1 2 - 00 00 00"],
            "6*FFMA 4 - - 00 11 11", "HFMA2 4 - - 00 11 11", "LDL.32 1 2 - 00 00 00"]  # fmt: skip
    descriptions.same_work(same, reference)
    with pytest.raises(sass.Failure, match=r"in another order: FFMA 5, not 6; LDG\.32 2\.5, not 2$"):
        descriptions.same_work(
            ["a b 24 0 0 0 2", "5*LDG.32 1 2 - 00 00 00", "10*FFMA 4 - - 00 11 11"], reference
        )


@pytest.fixture
def right(program: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:  # noqa: F811
    """Variants that the stand-in for occbench lists: one, as it should be."""
    listed = audit.list_variants(program)
    monkeypatch.setattr(audit, "list_variants", lambda binary: listed)
    kernel = next(iter(sass.disassemble(program, "sm_90")))
    monkeypatch.setattr(describe, "attributes", lambda binary, arch: {kernel: ATTRIBUTES})
    del listed["variants"][1:]
    return listed["variants"]


def test_command(
    program: Path,  # noqa: F811
    right: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "machine_code"
    words = ["--binary", str(program), "--described", str(folder)]
    assert audit.main([*words, "--describe", str(folder)]) == 0
    assert audit.main([*words, "--family", "stream"]) == 0
    assert capsys.readouterr().out == 2 * "audited 1 variants of 1 families: 0 failures\n"
    assert descriptions.read(folder / "sm_90/stream.txt.gz")[1].keys() == {"stream/right"}

    right.append(right[0] | {"variant": "forgotten"})
    assert audit.main(words) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"FAIL {folder}/sm_90 lacks stream/forgotten; "
        f"`occbench audit --arch sm_90 --describe {folder}` writes it again",
        "audited 2 variants of 1 families: 1 failures",
    ]
    right[1] |= {"min_cc": 100}  # which sm_90 has not
    assert audit.main(words) == 0
    right[1] |= {"min_cc": 80, "only_this_cc": True}
    assert audit.main(words) == 0
    capsys.readouterr()

    # nothing to say, and nothing said: a variant that the model leaves out
    right[1] |= {"only_this_cc": False, "loop_trips": [1.0, 1.0]}
    assert audit.main(words) == 0
    assert capsys.readouterr().out.startswith("not described: stream/forgotten: it declares the trips of 2")

    (folder / "sm_90/stream.txt.gz").unlink()
    plain = folder / "sm_90/stream.txt"
    plain.write_text("# sm_90 machine code of CUDA 12.9.1\n")
    assert audit.main(words) == 0
    assert "not compared: " in capsys.readouterr().out
    assert audit.main([*words, "--describe", str(folder)]) == 0  # which replaces plain text
    assert not plain.exists()
    assert audit.main(words) == 0


def test_audited_code_is_not_disassembled_again(
    program: Path,  # noqa: F811
    right: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "machine_code"
    words = ["--binary", str(program), "--described", str(folder)]
    assert audit.main([*words, "--describe", str(folder)]) == 0
    functions = sass.disassemble(program, "sm_90")
    asked = []
    monkeypatch.setattr(sass, "disassemble", lambda binary, arch, kernels=(): asked.append(arch) or functions)

    def disassembled() -> bool:
        asked.clear()
        audit.main(words)
        return bool(asked)

    assert not disassembled()
    assert capsys.readouterr().out.endswith(f"0 failures, as {folder}/sm_90.audited says\n")
    for name, value in {"instructions": {"FFMA": 1}, "may_spill": True, "min_cc": 80}.items():
        before = right[0][name]
        right[0][name] = value  # it declares another thing
        assert disassembled(), name
        right[0][name] = before
    assert not disassembled()
    (kernel,) = functions
    for changed in ({"code": "of other code"}, {"registers": 25}, {"block_limit": 128}):
        other = describe.Attributes(**(vars(ATTRIBUTES) | changed))
        with monkeypatch.context() as patch:
            patch.setattr(describe, "attributes", lambda binary, arch, other=other: {kernel: other})
            assert disassembled(), changed
    file = folder / "sm_90/stream.txt.gz"
    file.write_bytes(gzip.compress(descriptions.content(file) + b"NOP 1 - - 00 00 00\n"))
    assert disassembled()


def test_failure_writes_nothing(
    program: Path,  # noqa: F811
    right: list[dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right[0]["instructions"] = {"FFMA": 1}
    folder = tmp_path / "machine_code"
    assert audit.main(["--binary", str(program), "--describe", str(folder)]) == 1
    assert f"{folder}/sm_90 is not written" in capsys.readouterr().out
    assert not folder.exists()


NUMBER = r"(?:[1-9]\d*\*)?"
INSTRUCTION = re.compile(
    NUMBER + r"[A-Z][A-Z0-9]*(\.[A-Z0-9]+)* (\d|1[0-5]) [0-5-] [0-5-] [0-3][0-9a-f] (\d\d) (\d\d)"
)
VARIANT = re.compile(r"[a-z]\w* \S+ \d+ \d+ \d+ \d+ [1-9][\d.]*")
ARCHITECTURES = sorted(folder.name for folder in MACHINE_CODE.glob("sm_*") if folder.is_dir())


def test_described_architectures() -> None:
    assert set(descriptions.BUILT) <= set(ARCHITECTURES)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_committed_descriptions_are_current(arch: str) -> None:
    for file in descriptions.files(MACHINE_CODE / arch):
        _, described = descriptions.read(file)
        assert described
        for name, (head, *lines) in described.items():
            assert VARIANT.fullmatch(head), name
            assert name.startswith(f"{descriptions.family_of(file)}/")
            assert lines, f"{name} has no instructions"
            for line in set(lines) - {"}"}:
                if line.endswith("*{"):
                    continue
                match = INSTRUCTION.fullmatch(line)
                assert match, f"{name}: {line}"
                cached, alone = match[3], match[4]
                assert all(x <= y for x, y in zip(cached, alone, strict=True)), (
                    f"{name}: {line}: the cache costs"
                )


def test_committed_unbuilt_architectures_are_current() -> None:
    assert descriptions.old(MACHINE_CODE) == []


def test_committed_describe_every_family() -> None:
    """All that is predicted: every variant but the kernels that measure the parameters."""
    built = [Path(os.environ["OCCBENCH"])] if "OCCBENCH" in os.environ else []
    built += [
        REPOSITORY / "build" / preset / "benchmarks" / "occbench" for preset in ("release", "ci", "dev")
    ]
    binary = next((each for each in built if os.access(each, os.X_OK)), None)
    if binary is None:
        pytest.skip("no built occbench; name it in OCCBENCH")
    command = [str(binary), "list", "--variants", "--format", "json"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    for arch in descriptions.BUILT:
        variants = {
            f"{each['family']}/{each['variant']}"
            for each in json.loads(listed)["variants"]
            if each["predicted"] and audit.is_for(each, arch)
        }
        described = set()
        for file in descriptions.files(MACHINE_CODE / arch):
            described |= descriptions.read(file)[1].keys()
        assert variants <= described, arch
