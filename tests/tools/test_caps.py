# SPDX-License-Identifier: Apache-2.0
"""occbench caps: nvcc's steps, limits in PTX, builds, their times, and how it ends."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("numpy")

import numpy as np
from made_up import REPOSITORY
from occbench_tools import caps
from occbench_tools.caps import show, timing
from occbench_tools.caps.builds import Build, uses_of
from occbench_tools.caps.ptx import Limit, apply_limit, kernels
from occbench_tools.caps.steps import Residency
from occbench_tools.caps.toolchain import compiler_words
from pages import built

needs_occbench = pytest.mark.skipif(not built(), reason="no occbench is built")

PTX = """
.visible .entry bounded(
\t.param .u64 bounded_param_0
)
.maxntid 32, 8, 1
.minnctapersm 2
{
\tret;
}
.entry free()
{
\tret;
}
.weak .entry capped(.param .align 8 .b8 capped_param_0[24])
.maxnreg 40
.explicitcluster
{
\tret;
}
"""


def test_writes_limits_into_ptx() -> None:
    assert kernels(PTX) == {"bounded": 256, "free": None, "capped": None}
    text = apply_limit(PTX, Limit(64), frozenset({"bounded", "capped"}))
    assert re.findall(r"^\.(?:max|expl)\w+.*$", text, re.M) == [
        ".maxntid 32, 8, 1", ".maxnreg 64", ".explicitcluster", ".maxnreg 64",
    ]  # fmt: skip
    text = apply_limit(PTX, Limit(block_size=128, blocks=5), frozenset(kernels(PTX)))
    assert text.count(".maxntid 128, 1, 1\n.minnctapersm 5\n{") == 3
    assert "maxnreg" not in text and kernels(text) == dict.fromkeys(kernels(PTX), 128)
    assert apply_limit(PTX, Limit(64), frozenset()) == PTX


def test_parses_ptxas_output() -> None:
    found = uses_of((REPOSITORY / "tests/samples/ptxas.txt").read_text())
    assert len(found) == 4  # of the last architecture that was compiled
    hidden = next(use for name, use in found.items() if "hidden" in name)
    assert (hidden.registers, hidden.stack_bytes, hidden.spill_bytes, hidden.barriers) == (40, 64, 224, 0)
    assert found["_Z5scaleIdLi256EEvPT_S0_"].static_smem_bytes == 2048


@pytest.mark.parametrize(("taken", "blocks"), [(0, 8), (16, 8), (48, 2), (128, 1)])
def test_tensor_memory_limits_blocks_and_occupancy(taken: int, blocks: int) -> None:
    found = Residency(8, 1.0, "ok").limit_blocks(taken)
    assert (found.blocks, found.occupancy, found.status == "ok") == (blocks, blocks / 8, blocks == 8)


def test_parses_compiler_command() -> None:
    words = "ccache nvcc -O3 -MD -MF k.d -o out/app -std=c++17 k.cu"
    assert compiler_words(words.split()) == (["nvcc", "-O3", "-std=c++17", "k.cu"], "out/app")
    for output in (["-oapp"], ["--output-file=app"], ["--output-file", "app"], ["-o=app"]):
        assert compiler_words(["/cuda/nvcc", *output, "k.cu"]) == (["/cuda/nvcc", "k.cu"], "app")
    assert timing.program_words(["./app", "1"], "app") == ["{}", "1"]
    assert timing.program_words(["env", "A={}", "x"], None) == ["env", "A={}", "x"]
    assert timing.program_words(["./other"], "app") == []


def test_intervals_have_nominal_coverage() -> None:
    dice = np.random.default_rng(1)
    held = 0
    for _ in range(2000):
        _, low, high = timing.interval(dice.lognormal(0, 1, 15), 0.95)
        held += low <= 1 <= high
    assert 0.945 < held / 2000 < 0.985
    assert timing.interval(np.array([3.0, 1.0]), 0.95) == (2.0, 1.0, 3.0)


def made(limit: int | None, values: list[float]) -> timing.Times:
    return timing.Times(Build(Limit(limit) if limit else None), values)


def test_verdict_names_the_best_cap_or_none() -> None:
    dice = np.random.default_rng(2)
    noise = [list(dice.normal(1, 0.002, 15)) for _ in range(4)]
    base = made(None, noise[0])
    assert timing.verdict(base, [made(64, noise[1])]) == "None differs in time from the source as it is."
    fast, alike = (made(cap, [0.9 * t for t in noise[n]]) for cap, n in ((64, 1), (48, 2)))
    slow = made(32, [1.2 * t for t in noise[3]])
    said = timing.verdict(base, [fast, alike, slow])
    assert re.match(r"Fastest is cap (64|48): -(9\.\d|10\.\d) % \(.*\) against the source as it is\.", said)
    assert said.endswith((" No different from it: cap 48.", " No different from it: cap 64."))
    assert timing.verdict(base, [slow]) == "None is faster than the source as it is; 1 of 1 are slower."
    fast.build.alike.append(Limit(56))
    assert timing.verdict(base, [fast]).startswith("Fastest is cap 64 (cap 56: the same code): -")


# --- With made-up compilers: nvcc prints its steps, ptxas gives a kernel as many registers as it may have.

NVCC = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -o) out=$2;; --keep-dir) keep=$2;; esac; shift; done
echo "#$ PATH={bin}:$PATH"
echo "#$ rm $keep/k.reg.c"
echo "#$ cicc $keep/k.ptx"
echo "#$ ptxas -arch=sm_90 -maxrregcount=48 $keep/k.ptx -o $keep/k.cubin"
echo "#$ link $keep/k.regs $out"
"""
CICC = """#!/bin/sh
printf '.visible .entry k(.param .u64 p)\\n.maxntid 256, 1, 1\\n{\\nret;\\n}\\n' > $1
"""
PTXAS = """#!/bin/sh
for word; do case $word in *.ptx) ptx=$word;; *.cubin) cubin=$word;; -v) v=1;; esac; done
regs=$(sed -n 's/^.maxnreg //p' $ptx); regs=${regs:-90}; [ $regs -gt 90 ] && regs=90
[ $regs = {bad} ] && { echo "ptxas error   : 40 does not please me"; exit 255; }
{more}
echo $regs > $(dirname $cubin)/k.regs; cp $ptx $cubin
echo "ptxas info    : Compiling entry function 'k' for 'sm_90'"
echo "ptxas info    : Function properties for k"
echo "    $((90 - regs)) bytes stack frame, $((90 - regs)) bytes spill stores, 8 bytes spill loads"
echo "ptxas info    : Used $regs registers, used 1 barriers, 1024 bytes smem"
"""
LINK = """#!/bin/sh
{ echo '#!/bin/sh'; echo "regs=$(cat $1)"; cat <<'END'
{program}
END
} > $2; chmod +x $2
"""


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: ANN201
    """make(bad=..., more=..., program=...): compilers on PATH; and TMPDIR, where nothing may be left."""
    folder, temporary = tmp_path / "bin", tmp_path / "tmp"
    temporary.mkdir()
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("OCCBENCH", str(built()))

    def make(bad: int = 0, more: str = "", program: str = "exit 0") -> Path:
        for name, text in (("nvcc", NVCC), ("cicc", CICC), ("ptxas", PTXAS), ("link", LINK)):
            for key, value in dict(bin=folder, bad=bad, more=more, program=program).items():
                text = text.replace(f"{{{key}}}", str(value))
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        return temporary

    return make


def said_rows(text: str) -> dict[str, dict[str, str]]:
    return {row["build"]: row for row in csv.DictReader(io.StringIO(text))}


@needs_occbench
def test_tries_every_cap_that_changes_occupancy(toolchain, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN001
    temporary = toolchain()
    assert caps.main(["--format", "csv", "--", "nvcc", "-c", "k.cu"]) == 0
    rows = said_rows(capsys.readouterr().out)
    assert list(rows) == ["as it is", *(f"cap {cap}" for cap in (255, 128, 80, 64, 48, 40, 32))]
    assert [int(row["registers_per_thread"]) for row in rows.values()] == [90, 90, 90, 80, 64, 48, 40, 32]
    assert rows["cap 64"]["occupancy"] == "0.5" and rows["cap 64"]["spill_bytes"] == str(90 - 64 + 8)
    assert rows["cap 64"]["against_as_it_is"] == "+25.0 points, 26 B more spilled"
    assert list(temporary.iterdir()) == []


@needs_occbench
def test_reports_why_a_cap_fails(toolchain, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN001
    temporary = toolchain(bad=40)
    assert caps.main(["--", "nvcc", "-c", "k.cu"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^  cap 40 +ptxas error   : 40 does not please me$", out, re.M)
    assert re.search(r"^  cap 32 +32 ", out, re.M) and re.search(r"^  cap 255 to 128 +90 ", out, re.M)
    assert list(temporary.iterdir()) == []


@needs_occbench
def test_times_builds_against_each_other(toolchain, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN001
    temporary = toolchain(
        program="echo run >> log; [ $regs = 32 ] && exit 3; [ $regs = 64 ] && echo t 5 || echo t $1"
    )
    (temporary.parent / "app").write_text("mine")
    words = ["--format", "json", "--rounds", "7", "--value", r"t (\d+)", "--run", "./app", "10"]
    assert caps.main([*words, "--", "nvcc", "-o", "app", "k.cu"]) == 1  # at 32 registers it fails
    said = json.loads(capsys.readouterr().out)
    rows = {row["build"]: row for row in said["builds"]}
    assert said["verdict"].startswith("Fastest is cap 64: -50.0 % (-50.0 to -50.0)")
    assert rows["cap 64"]["time_median"] == 5 and rows["as it is"]["time_median"] == 10
    assert rows["cap 32"]["status"].startswith("ended with 3")
    assert (temporary.parent / "app").read_text() == "mine" and list(temporary.iterdir()) == []
    # 6 builds of different code, a first run and 7 rounds; the one that failed ran once.
    assert (temporary.parent / "log").read_text().count("run") == 5 * 8 + 1


@needs_occbench
def test_compares_program_outputs(toolchain, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN001
    toolchain(program="[ $regs = 64 ] && echo wrong; echo took $$ ms")
    words = ["--caps", "64,32", "--rounds", "2", "--run", "./app", "--", "nvcc", "-o", "app", "k.cu"]
    assert caps.main(["--value", r"took (\d+) ms", *words]) == 1
    assert "  cap 64: its output differs from that of the source as it is\n" in capsys.readouterr().out
    assert caps.main(words) == 0  # the time is part of the output
    assert "Outputs were not compared" in capsys.readouterr().out
    assert caps.main(["--format", "csv", "--value", r"took (\d+) ms", *words]) == 1
    outputs = {name: row["output"] for name, row in said_rows(capsys.readouterr().out).items()}
    assert outputs == {"as it is": "same", "cap 64": "differs", "cap 32": "same"}


def test_narrow_terminal_shows_paragraphs() -> None:
    numbers = dict(
        registers_per_thread=64, spill_bytes=2848, stack_bytes=536, code_bytes=26240, occupancy=0.5
    )
    time = dict(time_median=37.89, time_ratio=8.21, time_ratio_low=8.2, time_ratio_high=8.22)
    good = numbers | time | dict(build="cap 64", against_as_it_is="+25.0 points, 2,848 B more spilled")
    failed = dict(build="cap 40", status="ptxas error   : 40 does not please me")
    wide = show.table([good, failed], True, 200)
    assert wide == show.table([good, failed], True) and len(wide) == 3
    assert show.table([good, failed], True, 80) == [
        "  build cap 64",
        "    registers 64   spilled B 2,848   stack B 536   code B 26,240",
        "    occupancy 50.0 %   time 37.89   against as it is +721.0 % (+720.0 to +722.0)",
        "    costs and gains +25.0 points, 2,848 B more spilled",
        "  build cap 40",
        "    ptxas error   : 40 does not please me",
    ]


@pytest.mark.slow
@needs_occbench
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("where", ["ptxas", "run"])
def test_termination_leaves_no_files_or_processes(toolchain, where: str, number: int, code: int) -> None:  # noqa: ANN001
    sleep = "touch begun; exec sleep 1000"
    temporary = toolchain(more=sleep if where == "ptxas" else "", program=sleep if where == "run" else "")
    words = [sys.executable, "-m", "occbench_tools", "caps", "--run", "./app"]
    words += ["--", "nvcc", "-o", "app", "k.cu"]
    tools = os.environ | {"PYTHONPATH": str(REPOSITORY / "tools")}
    # A shell's background job ignores SIGINT, and so would a child of tests that run in one.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(words, env=tools, text=True, stderr=subprocess.PIPE, preexec_fn=heard) as child:
        for _ in range(200):
            if (temporary.parent / "begun").exists():
                break
            time.sleep(0.05)
        child.send_signal(number)
        try:
            assert child.wait(20) == code
        finally:
            child.kill()
    assert list(temporary.iterdir()) == []
    left = subprocess.run(["pgrep", "-f", str(temporary)], capture_output=True, text=True)
    assert left.stdout == ""


BAD = [
    ("", 2, "the compiler's call is missing"),
    ("--", 2, "the compiler's call is missing"),
    ("-- gcc -O3 k.cu", 2, "'gcc' is not nvcc; write: occbench caps -- nvcc"),
    ("-- /nowhere/nvcc k.cu", 127, "/nowhere/nvcc: not found"),
    ("-- ./nvcc k.cu", 126, "./nvcc: cannot be run: Permission denied"),
    ("--caps 64,many -- nvcc k.cu", 2, "--caps wants whole numbers from 1 to 255, not 'many'"),
    ("--caps 256 -- nvcc k.cu", 2, "--caps wants whole numbers from 1 to 255, not '256'"),
    ("--bounds 2048 -- nvcc k.cu", 2, "--bounds wants whole numbers from 1 to 1024, not '2048'"),
    ("--roles 24/240 --caps 64 -- nvcc k.cu", 2, "--roles takes the place of --caps and --bounds"),
    ("--roles -- nvcc k.cu", 2, "no kernel moves registers between its warps (setmaxnreg)"),
    ("--kernel nope -- nvcc k.cu", 2, "no kernel's name holds 'nope'; it has k"),
    ("--device h300 -- nvcc k.cu", 2, "unknown device 'h300'; close names: h100, h200"),
    ("--run ./other -- nvcc -o app k.cu", 2, "none of the words of --run is what nvcc makes, 'app'"),
    ("--run ./app -- nvcc -c -o app k.cu", 2, "--run needs a program, and nvcc is told to make none"),
    ("--run {} -- nvcc k.cu", 9, "{}, the source as it is: ended with 9"),
    ("--run {} --killed -- nvcc k.cu", 137, "{}, the source as it is: ended with 137"),
    ("--timeout 1s --run {} --slow -- nvcc k.cu", 124, "{}, the source as it is: not done in 1 s"),
]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--timeout soon", "'soon' is not a time; 90s, 30m or 1h is one"),
        ("--block-size 0", "is less than 1"),
        ("--dynamic-smem 1.5", "'1.5' is not a whole number (write 256 or 48K)"),
        ("--value (", "'(' is not a regular expression: "),
        ("--format xml", "invalid choice: 'xml'"),
    ],
)
def test_rejects_invalid_arguments(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        caps.main([*words.split(), "--", "nvcc", "k.cu"])
    assert refused.value.code == 2 and sentence in capsys.readouterr().err


@needs_occbench
@pytest.mark.parametrize(("words", "code", "sentence"), BAD)
def test_bad_input(
    words: str,
    code: int,
    sentence: str,
    toolchain,  # noqa: ANN001
    capsys: pytest.CaptureFixture[str],
) -> None:
    temporary = toolchain(program="case $1 in --slow) exec sleep 100;; --killed) kill -9 $$;; esac; exit 9")
    (temporary.parent / "nvcc").touch()
    assert caps.main(words.split()) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("occbench caps: ") and len(err.splitlines()) == 1
    assert sentence in err
    assert list(temporary.iterdir()) == []
