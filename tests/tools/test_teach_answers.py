# SPDX-License-Identifier: Apache-2.0
"""occbench teach: which answers are read, which are impossible, and the command under each lesson."""

from __future__ import annotations

import shlex
import subprocess
import time

import pytest

pytest.importorskip("pandas")

from occbench_tools.report.payload import Run
from occbench_tools.teach.calculator import Calculator
from occbench_tools.teach.figures import StudentGpu
from occbench_tools.teach.lab import check, command_lines, most_of, number_of
from occbench_tools.teach.lessons import LESSONS
from pages import H200


@pytest.fixture(scope="session")
def gpu(calculator: Calculator) -> StudentGpu:
    """The committed run of an H200."""
    return StudentGpu(calculator, "cc9.0", "NVIDIA H200", Run(H200))


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("75 %", 75),
        ("1,024", 1024),
        ("16 warps", 16),
        (" .5", 0.5),
        ("-3", -3),
        ("2x", 2),
        ("2.", 2),
        ("75\uff05", 75),
        ("\uff11\uff16", 16),
        ("33 \u4e2a\u5bc4\u5b58\u5668", 33),
        ("2\u500d", 2),
        ("\uff11\uff0e\uff15", 1.5),
        ("\u7ea675", 75),
        ("\u5927\u7ea6 75 %", 75),
        ("about 12", 12),
        ("\uff5e12", 12),
        ("\u767e\u5206\u4e4b75", 75),
        ("\u7ea6\u767e\u5206\u4e4b 7.5", 7.5),
    ],
)
def test_parses_numbers(answer: str, number: float) -> None:
    assert number_of(answer) == number


@pytest.mark.parametrize("answer", ["abc", "", "1,2", "1.2.3", "nan", "1e999", "12 monkeys 3", "\x1b[2J"])
def test_rejects_answers_without_a_number(answer: str) -> None:
    with pytest.raises(ValueError, match="is not a number") as said:
        number_of(answer)
    assert "\x1b" not in str(said.value)


@pytest.mark.parametrize(
    ("answer", "unit"),
    [
        ("8 %", "warps"),
        ("24 blocks", "warps"),
        ("50 warps", "percent"),
        ("228 MB", "KiB"),
        ("2 B", "blocks"),
        ("8 \u4e2a\u7ebf\u7a0b\u5757", "warps"),
    ],
)
def test_answers_in_another_unit(answer: str, unit: str) -> None:
    with pytest.raises(ValueError, match=f"another unit: the question asks for {unit}"):
        number_of(answer, unit=unit)
    assert number_of(answer.split()[0], unit=unit) == number_of(answer)


IMPOSSIBLE = [
    ("half-a-warp", "120 %", "at most 100 percent are possible here"),
    ("half-a-warp", "-5", "is not negative"),
    ("half-a-warp", "0.75", "did you mean 75 %\\? Type 75, or 0.75 % if"),
    ("cliff-cost", "0.2", "did you mean 20 %"),
    ("cliff-cost", "101", "at most 100 percent"),
    ("fma-warps", "65", "at most 64 warps"),
    ("no-launch", "33", "at most 32 blocks"),
    ("no-launch", "1.5", "a whole number of blocks"),
    ("register-cliff", "256", "at most 255 registers"),
    ("one-more-block", "-1", "is not negative"),
    ("tiles", "4", "is none of 1 to 3"),
]


@pytest.mark.parametrize(("lesson", "answer", "words"), IMPOSSIBLE)
def test_rejects_impossible_answers(lesson: str, answer: str, words: str, gpu: StudentGpu) -> None:
    asked = next(each for each in LESSONS if each.id == lesson)
    with pytest.raises(ValueError, match=words) as refused:
        check(gpu, asked, answer)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("lesson", "answer"),
    [
        ("half-a-warp", "0.75 %"),
        ("half-a-warp", "0"),
        ("cliff-cost", "-5"),
        ("one-more-block", "0.5"),
        ("fma-warps", "64"),
        ("no-launch", "0"),
        ("register-cliff", "255"),
        ("shared-per-sm", "999"),
    ],
)
def test_checks_possible_answers(lesson: str, answer: str, gpu: StudentGpu) -> None:
    assert check(gpu, next(each for each in LESSONS if each.id == lesson), answer).verdict in (
        "right",
        "wrong",
    )


def test_a_smaller_gpu_holds_fewer_warps(calculator: Calculator) -> None:
    small = StudentGpu(calculator, "t4", "T4")
    assert [most_of(small, unit) for unit in ("warps", "blocks", "percent")] == [32, 16, 100]


def test_rejects_long_answer_quickly() -> None:
    start = time.process_time()
    with pytest.raises(ValueError, match="is not a number"):
        number_of(f"1{' ' * 30_000}!")
    assert time.process_time() - start < 1


@pytest.mark.parametrize("columns", [80, 60])
def test_wrapped_commands_can_be_pasted(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    command = "occbench calc --device cc7.5 --block-size 256 --registers 32 --dynamic-smem 32K 'a b'"
    lines = command_lines("see: ", [*command.split()[:-2], "'a b'"])
    assert len(lines) > 1 and max(map(len, lines)) <= columns
    pasted = "printf '%s|' " + "\n".join(lines).removeprefix("see: ")
    joined = subprocess.run(["sh", "-c", pasted], capture_output=True, text=True, check=True).stdout
    assert joined.split("|")[:-1] == shlex.split(command)
