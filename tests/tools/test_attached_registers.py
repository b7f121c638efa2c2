# SPDX-License-Identifier: Apache-2.0
"""occbench report of a folder of attach, with --binary: source lines that hold the kernels' registers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from occbench_tools import report
from occbench_tools.attached import registers
from occbench_tools.attached.folder import read_attached
from occbench_tools.inspect_lines.listing import Line, Listing, Step, parse_instructions
from occbench_tools.inspect_lines.pressure import pressure_of
from pages import EVIL, assert_quiet, opened
from programs import FLAT, kernel, write
from test_inspect_lines import LIVE, MARKS, SOURCE
from test_inspect_price import GONE, WAITING, cubin, needs_tools  # noqa: F401 - cubin is a fixture

BY_REGISTERS = dict(limiter="registers+blocks")


def limited(one: dict[str, Any], **cells: object) -> dict[str, Any]:
    return one | dict(cells=one["cells"] | BY_REGISTERS | cells)


def section(folder: Path, kernels: tuple[dict[str, Any], ...], files: list[Path]) -> dict[str, Any] | None:
    return registers.section(read_attached(write(folder, kernels)), files)


def words(found: dict[str, Any]) -> list[str]:
    return [part["text"] for part in found["before"] if "text" in part]


def test_no_section_without_register_limited_kernels(tmp_path: Path) -> None:
    assert section(tmp_path, (WAITING, FLAT), []) is None


def test_without_binary_suggests_the_option(tmp_path: Path) -> None:
    found = section(tmp_path, (limited(WAITING), limited(WAITING, grid_x=9), FLAT), [])
    assert found["first"] == "Registers limit 1 kernel with 80.0 % of GPU time."
    (line,) = words(found)
    assert "--binary FILE" in line


@needs_tools
def test_report_lists_lines_that_hold_registers(tmp_path: Path, cubin: Path) -> None:  # noqa: F811
    flat = kernel(
        "flat", **(WAITING["cells"] | BY_REGISTERS | dict(symbol="_Z7spilledPKfPfi", verdict="saturated"))
    )
    found = section(tmp_path, (limited(WAITING), limited(GONE), flat), [cubin])
    assert [part["text"] for part in found["before"] if part["kind"] == "heading"] == [
        "waiting, 50.0 % of GPU time", "gone, 25.0 % of GPU time", "flat, 25.0 % of GPU time"
    ]  # fmt: skip
    said = words(found)
    assert "8 of 40 registers fewer is 2 blocks more: 4.0 % (3.0 to 5.0) of this kernel" in said[1]
    assert "Source lines are not known: not in FILE." in said[3]
    assert said[5].startswith("A step is not worth it: saturated.")
    table, fold = (
        next(part for part in found["before"] if part["kind"] == kind) for kind in ("table", "fold")
    )
    assert table["body"][0][:2] == ["8", f"{SOURCE.name}:{MARKS['KEPT']}, unused in the loop"]
    view = fold["parts"][0]
    (file,) = (file for file in view["files"] if file["name"] == SOURCE.name)
    by_number = {number: (text, live) for number, text, live, *_ in file["lines"]}
    assert max(live for _, live in by_number.values() if live is not None) == view["peak"]
    assert by_number[MARKS["KEPT"]][0] == SOURCE.read_text().splitlines()[MARKS["KEPT"] - 1]
    assert by_number[MARKS["KEPT"] - 1][1] is None  # a declaration
    spills = [part for part in found["before"] if part["kind"] == "fold"][1]["parts"][0]["files"][0]["lines"]
    assert sum(row[4] or 0 for row in spills) > 0 and sum(row[5] or 0 for row in spills) > 0


def test_browser_shows_source_with_registers(
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A kernel of three instructions on two lines, whose source would be HTML."""
    text = tmp_path / "k.cu"
    text.write_text(f"{EVIL}\n" * 9)
    code, live = parse_instructions(LIVE.splitlines())
    steps = [Step(code[at], live.get(at, ""), (Line(str(text), 4 + at // 32),), at == 0x10) for at in code]
    pressure = pressure_of(Listing("k", "sm_90", steps), WAITING["cells"])
    monkeypatch.setattr(registers, "pressure_in", lambda *_: pressure)
    folder = write(tmp_path / "program", (limited(WAITING),))
    binary = tmp_path / "k"
    binary.write_bytes(b"")
    os.utime(binary, (1, 1))
    assert report.main([str(folder), "--binary", str(binary)]) == 0
    opened(browser, folder / "report.html")
    body = browser.find_element("tag name", "body").text
    assert "Sources written after the binary, so lines may have moved: k.cu." in body
    browser.execute_script("document.querySelector('.source').closest('details').open = true")
    rows = browser.find_elements("css selector", ".source tbody tr")
    assert [row.text.split(" ", 1)[0] for row in rows] == ["k.cu", "2", "3", "2", "0", "6", "7"]
    assert browser.find_element("css selector", ".source .peak").text == f"2 1 4 4 {EVIL}"
    assert browser.execute_script("return [window.hacked, document.images.length]") == [None, 0]
    assert_quiet(browser, folder / "report.html")


def test_rejects_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "program", (WAITING,))
    assert report.main([str(folder), "--binary", str(tmp_path)]) == 4
    assert f"{tmp_path}: no file" in capsys.readouterr().err
