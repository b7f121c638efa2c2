# SPDX-License-Identifier: Apache-2.0
"""Folders of `occbench attach --registers`: what the tools say of registers.csv."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from occbench_tools import compare, explain, report, validate
from pages import document
from programs import break_, kernel, write

Said = pytest.CaptureFixture[str]


def cap(kernel_id: int, most: int, change: float | None, blocks: int = 8, **cells: object) -> dict[str, Any]:
    """A row of eight launches, whose change is known to 1 %; of none where it is None."""
    if change is None:
        known = dict(samples=0)
    else:
        known = dict(samples=8, time_median_s=round(1e-3 * (1 + change), 9), change=change,
                     change_low=round(change - 0.01, 9), change_high=round(change + 0.01, 9))  # fmt: skip
    return dict(kernel_id=kernel_id, register_cap=most, registers_per_thread=most, local_bytes=0,
                blocks_per_sm=blocks, **known) | cells  # fmt: skip


KERNELS = tuple(
    kernel(name, time_s, verdict="", registers_per_thread=128, blocks_per_sm=2)
    for name, time_s in (
        ("gains", 2e-3),
        ("also", 1e-3),
        ("loses", 5e-4),
        ("few", 4e-4),
        ("noise", 1e-4),
    )
)
CAPS = (
    cap(0, 64, -0.1, 4), cap(0, 32, 0.3, local_bytes=96),
    cap(1, 64, -0.2, 4), cap(1, 32, -0.5, local_bytes=16),
    cap(2, 64, 0.1, 4), cap(3, 64, None, 4), cap(4, 64, -0.005, 4),
)  # fmt: skip


@pytest.fixture
def capped(tmp_path: Path) -> Path:
    return write(tmp_path / "capped", KERNELS, CAPS, same_stdout=True)


def test_valid_folder_passes(capped: Path) -> None:
    assert validate.main([str(capped)]) == 0


def test_explain_names_the_best_cap_and_its_gain(capped: Path, capsys: Said) -> None:
    assert explain.main([str(capped), "--format", "json", "--all"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["the whole program"] == [  # half of 25 %, a tenth of 50 %; 1 % of each
        "Caps on registers were tried in 5 kernels with 100 % of GPU time; the fastest of each would save "
        "about 17.5 % of all GPU time (16.9 to 18.1)."
    ]
    assert found["caps on registers"] == [
        "`also` (grid 4096, 25.0 % of GPU time): at most 32 registers in place of 128 take 50.0 % less time "
        "(49.0 to 51.0), 12.5 % of all; 8 blocks per SM, not 2, and 16 B of local memory, not 0.",
        "`gains` (grid 4096, 50.0 % of GPU time): at most 64 registers in place of 128 take 10.0 % less time "
        "(9.0 to 11.0), 5.0 % of all; 4 blocks per SM, not 2, and 0 B of local memory, not 0.",
        "No cap is faster than the kernel as it is: 2 kernels, 15.0 % of GPU time, the largest `loses`.",
        "Too few launches to tell of some cap: run longer: 1 kernel, 10.0 % of GPU time, the largest `few`.",
    ]
    assert "not known" not in found


def test_no_cap_helps(tmp_path: Path, capsys: Said) -> None:
    folder = write(tmp_path / "run", KERNELS[:1], (cap(0, 64, 0.2),))
    assert explain.main([str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 kernel with 100 % of GPU time: none is faster than the kernel as it is." in said


def test_reports_different_stdout(tmp_path: Path, capsys: Said) -> None:
    for same in (False, True):
        folder = write(tmp_path / str(same), KERNELS, CAPS, same_stdout=same)
        assert validate.main([str(folder)]) == 0
        capsys.readouterr()
        assert explain.main([str(folder)]) == report.main([str(folder)]) == 0
        assert ("stdout DIFFERS with caps" in capsys.readouterr().out) != same
        lead = document(folder / "report.html")["sections"][0]["lead"]
        assert ("stdout was the same" in lead, "stdout DIFFERS" in lead) == (
            same,
            not same,
        )


def test_the_page_has_a_row_for_each_cap(capped: Path) -> None:
    assert report.main([str(capped)]) == 0
    told = document(capped / "report.html")
    assert told["lead"].startswith("Caps on registers were tried in 5 kernels")
    first, *_ = told["sections"]
    assert first["id"] == "caps"
    rows = first["before"][0]["body"]
    assert len(rows) == len(KERNELS) + len(CAPS)
    assert rows[0] == ["gains", "as it is", "128", "0 B", "2", "", ""]
    assert rows[1] == ["", "64", "64", "0 B", "4", "8", "-10.0 % ±1.0 (fastest)"]
    assert rows[2] == ["", "32", "32", "96 B", "8", "8", "+30.0 % ±1.0"]
    assert [row[-1] for row in rows if row[1] == "64"][3] == "too few launches"


def test_compare_uses_launches_without_caps(capped: Path, tmp_path: Path, capsys: Said) -> None:
    """Launches with caps are not in launches.csv; that other caps were tried is said."""
    other = write(tmp_path / "plain", KERNELS, options="observe=0;seed=1;registers=64")
    assert compare.main([str(capped), str(other), "--format", "markdown"]) == 0
    said = capsys.readouterr()
    assert "Caps on registers were tried" in said.out and "attach had other options" in said.out + said.err
    assert compare.main([str(capped), str(other), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {"SAME": 5}


ROW = "\n0,64,64,0,4,8,0.0009,-0.1,-0.11,-0.09"
VIOLATIONS = {  # of registers.csv: what stands in it, what comes in its place, what is said
    "a stranger": (ROW, ROW.replace("\n0,", "\n9,"), "9 is not in kernels.csv"),
    "a cap twice": (
        "\n0,32,32,",
        "\n0,64,64,",
        "register_cap: kernel 0 has 64 already",
    ),
    "more than the cap": (
        ROW,
        ROW.replace(",64,64,", ",64,72,"),
        "72, and the cap is 64",
    ),
    "no time": (ROW, ROW.replace("0.0009", ""), "time_median_s: empty, of 8 samples"),
    "a time of none": (
        "\n3,64,64,0,4,0,,",
        "\n3,64,64,0,4,0,0.001,",
        "time_median_s: 0.001, of 0 samples",
    ),
    "outside": (
        ROW,
        ROW.replace("-0.11,-0.09", "-0.09,-0.08"),
        "change: -0.1 is outside its interval",
    ),
    "half an interval": (
        ROW,
        ROW.replace("-0.11,-0.09", "-0.11,"),
        "only a part of it",
    ),
    "no blocks": (ROW, ROW.replace(",4,8,", ",0,8,"), "blocks_per_sm: 0 is below 1"),
    "a word": (ROW, ROW.replace("\n0,64,64,", "\n0,few,64,"), "register_cap: 'few'"),
    "another column": ("register_cap", "cap", "register_cap"),
}


@pytest.mark.parametrize("how", VIOLATIONS)
def test_validate_names_violations(capped: Path, how: str, capsys: Said) -> None:
    old, new, words = VIOLATIONS[how]
    break_(capped, "registers.csv", old, new)
    assert validate.main([str(capped)]) == 1
    said = capsys.readouterr().out
    assert words in said and "registers.csv" in said


@pytest.mark.parametrize("how", ["a stranger", "a cap twice", "no blocks", "a word", "another column"])
def test_bad_input_is_one_line_with_an_exit_code(capped: Path, how: str, capsys: Said) -> None:
    break_(capped, "registers.csv", *VIOLATIONS[how][:2])
    for main, arguments in (
        (report.main, []),
        (explain.main, []),
        (compare.main, [str(capped)]),
    ):
        assert main([str(capped), *arguments]) == 4
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == (
            "",
            1,
        ) and "registers.csv" in said.err


def test_same_stdout_must_be_a_boolean(tmp_path: Path, capsys: Said) -> None:
    assert validate.main([str(write(tmp_path / "run", KERNELS, CAPS, same_stdout="yes"))]) == 1
    assert "same_stdout: 'yes' is not of type boolean" in capsys.readouterr().out
