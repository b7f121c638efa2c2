# SPDX-License-Identifier: Apache-2.0
"""occbench teach: the book's numbers, the exact ones, and the lessons in a browser."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import made_up
from occbench_tools import report
from occbench_tools.report import teach
from pages import H200, assert_quiet, document, opened

pytestmark = pytest.mark.usefixtures("made_up_cliffs")


@pytest.fixture
def calculator(tmp_path: Path) -> Path:
    """The built occbench where there is one; else the arithmetic of A100 and 9.0, for these tests alone."""
    with contextlib.suppress(report.Refused):
        return Path(teach.Calculator(None).program)
    path = tmp_path / "occbench"
    path.write_text(f"#!{sys.executable}\n{CALCULATOR}", encoding="utf-8")
    path.chmod(0o755)
    return path


CALCULATOR = """
import json, sys
word = dict(zip(sys.argv[2::2], sys.argv[3::2]))
a100 = word["--device"] == "a100"
if not a100 and word["--device"] != "cc9.0":
    sys.exit("occbench: no such device")
block, registers = int(word["--block-size"]), int(word["--registers"])
smem, barriers = int(word.get("--dynamic-smem", 0)), int(word.get("--barriers", 1))
warps, each, kib = -(-block // 32), -(-registers // 8) * 256, 164 if a100 else 228
limits = dict(warps=64 // warps, blocks=32, registers=4 * (16384 // each) // warps)
limits["shared_memory"] = kib * 1024 // (-(-(smem + 1024) // 128) * 128)
if not a100:
    limits["barriers"] = 64 // barriers
if -(-warps // 4) * 4 * each > 65536:
    limits["registers"] = 0
blocks = min(limits.values())
text = min(2048 // block, 32, 65536 // (registers * block), kib * 1024 // smem if smem else 99)
print(json.dumps(dict(
    blocks_per_sm=blocks, warps_per_sm=blocks * warps, occupancy=blocks * warps / 64,
    occupancy_textbook=text * block / 2048, status="ok" if blocks else "cannot launch: registers",
    limiters="+".join(name for name, most in limits.items() if most == blocks),
    allocated_registers_per_block=each * warps, allocated_smem_per_block_bytes=smem + 1024,
    unused_per_sm=dict(
        warps=64 - blocks * warps, blocks=32 - blocks, smem_bytes=kib * 1024 - blocks * (smem + 1024)
    ),
)))
"""


def test_the_books_numbers_and_the_exact_ones(run: Path, tmp_path: Path, calculator: Path) -> None:
    page = tmp_path / "teach.html"
    assert teach.main([str(run), "--occbench", str(calculator), "--output", str(page)]) == 0
    lessons = {lesson["id"]: lesson for lesson in document(page)["sections"]}
    assert list(lessons) == [lesson.id for lesson in teach.LESSONS]

    def row(lesson: str, words: str) -> list[Any]:
        body = next(part for part in lessons[lesson]["before"] if part["kind"] == "table")["body"]
        found = next(cells for cells in body if cells[0] == words)
        return [cell if isinstance(cell, str) else cell["text"].split(":")[0] for cell in found[1:]]

    assert row("block-slots", "32 threads, 32 registers") == ["50 %", "50 %, 32 blocks", "50 %, 32 blocks"]
    assert row("block-slots", "96 threads, 32 registers")[:2] == ["98.4 %", "98.4 %, 21 blocks"]
    assert row("block-slots", "768 threads, 32 registers")[:2] == ["75 %", "75 %, 2 blocks"]
    assert row("register-cliff", "512 threads, 31 registers")[:2] == ["100 %", "100 %, 4 blocks"]
    assert row("register-cliff", "512 threads, 33 registers")[:2] == ["75 %", "75 %, 3 blocks"]
    assert row("register-units", "256 threads, 33 registers")[:2] == ["87.5 %", "75 %, 6 blocks"]
    assert row("register-units", "64 threads, 33 registers")[:2] == ["96.9 %", "75 %, 24 blocks"]
    smem = row("shared-memory", "256 threads, 32 registers, 32 KiB shared")
    assert smem == ["62.5 %", "50 %, 4 blocks", "75 %, 6 blocks"]
    assert row("no-launch", "320 threads, 200 registers") == ["15.6 %", "0 %", "0 %"]
    assert row("barriers", "64 threads, 32 registers, 16 barriers")[2] == "12.5 %, 4 blocks"
    texts = " ".join(part["text"] for part in lessons["shared-memory"]["before"] if "text" in part)
    assert "128 B" in texts and "132 B/thread" in texts
    law = " ".join(part["text"] for part in lessons["little"]["before"] if "text" in part)
    assert f"{650 / made_up.CLOCK * 1e9:.0f} ns" in law  # of its pointer chase


def test_teaching_needs_a_calculator(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert teach.main([str(run), "--occbench", str(tmp_path / "none"), "--output", str(tmp_path / "p")]) == 4
    said = capsys.readouterr().err
    assert "none" in said and said.count("\n") == 1


def test_lessons_in_a_browser(browser: Any, tmp_path: Path, calculator: Path) -> None:  # noqa: ANN401
    page = tmp_path / "teach.html"
    assert teach.main([str(H200), "--occbench", str(calculator), "--output", str(page)]) == 0
    opened(browser, page)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    drawn = browser.execute_script("return sections.map((s) => (s.figure ? s.figure.traces.length : 0))")
    assert all(drawn) and sum(drawn) >= 2 * len(teach.LESSONS)
    words = browser.find_element("tag name", "main").text
    assert "50 %, 4 blocks: shared memory" in words and "undefined" not in words
    # A lesson shows the lines that it speaks of, and no others.
    for lesson in teach.LESSONS:
        labels = browser.execute_script(
            "const on = document.querySelectorAll(`#${arguments[0]} .legend .on`);"
            "return [...on].map((e) => e.dataset.line)",
            lesson.id,
        )
        assert labels and all(any(re.search(word, label) for word in lesson.show) for label in labels)
    assert_quiet(browser, page)
