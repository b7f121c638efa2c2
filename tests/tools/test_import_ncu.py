# SPDX-License-Identifier: Apache-2.0
"""occbench import-ncu on files as Nsight Compute writes them: what is joined where, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import made_up
from occbench_tools import import_ncu, validate
from occbench_tools.import_ncu import DRAM_BYTES, OCCUPANCY

READ, WRITTEN = DRAM_BYTES
RANGE = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
HEAD = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    RANGE,
    "Kernel Name",
    "Block Size",
    "Grid Size",
    "CC",
]
NAMES = ("block_size.stream.read-f32-4B-ilp1.b256", "block_size.fma_chain.two-operand-ilp4.b256")
STREAM, OTHER = (row for row in made_up.cases() if row["case_id"] in NAMES)


def cells(*texts: object) -> str:
    return ",".join('"' + str(text).replace('"', '""') + '"' for text in texts)


def named(case: str | None) -> str:
    return f'4711  "occbench:{case}:none:none:none:none:none:none" ' if case else ""


def raw(units: list[str], *launches: tuple[str | None, list[str]], metrics: list[str] | None = None) -> str:
    """A raw page: a head, a row of units, a row per launch (its case, its numbers)."""
    metrics = metrics or [OCCUPANCY, READ, WRITTEN, "launch__func_cache_config"]
    lines = ["==PROF== Connected to process 4711", cells(*HEAD, *metrics), cells(*[""] * len(HEAD), *units)]
    for number, (case, numbers) in enumerate(launches):
        shape = (number, 4711, "occbench", "host", named(case), "k(a, b)", "(256, 1, 1)", "(8, 1, 1)", "9.0")
        lines.append(cells(*shape, *numbers))
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "run", made_up.cases())


def run(folder: Path, *texts: str, name: str = "ncu.csv") -> int:
    """Writes the texts as files and imports them."""
    files = []
    for number, text in enumerate(texts):
        files.append(folder.parent / f"{number}-{name}")
        files[-1].write_text(text)
    return import_ncu.main([str(folder), *map(str, files)])


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return {row["case_id"]: row for row in csv.DictReader(stream)}


def test_joins_rows_without_changing_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    moved = STREAM["bytes_per_launch"] / 1e6
    text = raw(
        ["%", "Mbyte", "Kbyte", ""],
        (STREAM["case_id"], ["90.0", f"{moved * 0.9:,.6f}", f"{moved * 80:,.6f}", "CachePreferNone"]),
        (None, ["1", "1", "1", "CachePreferNone"]),
        (STREAM["case_id"], ["92.5", f"{moved * 0.91:,.6f}", f"{moved * 80:,.6f}", "CachePreferNone"]),
        (STREAM["case_id"], ["91.0", f"{moved * 0.9:,.6f}", f"{moved * 80:,.6f}", "CachePreferNone"]),
        (OTHER["case_id"], ["n/a", "0", "0", "CachePreferNone"]),
    )
    assert run(folder, text) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "1 of 5 launches lie in no case's range, and are left out"
    assert out[1] == "4 launches of 2 cases"
    assert out[3].split() == ["100.00", "%", "->", "91.00", "%", STREAM["case_id"]]
    assert f"1 cases: 1 within 3 %, worst -2.0 % ({STREAM['case_id']})" in out[4]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    joined = folder.parent / "run-ncu"
    counters = rows(joined / "counters.csv")
    assert counters[STREAM["case_id"]]["launches"] == "3"
    assert float(counters[STREAM["case_id"]][READ]) == pytest.approx(STREAM["bytes_per_launch"] * 0.9)
    assert counters[OTHER["case_id"]][OCCUPANCY] == ""
    assert list(counters[OTHER["case_id"]]) == ["case_id", "launches", OCCUPANCY, READ, WRITTEN]
    old, new = rows(folder / "cases.csv"), rows(joined / "cases.csv")
    assert list(old) == list(new)
    changed = {(case, name) for case in new for name in new[case] if new[case][name] != old[case][name]}
    assert changed == {(STREAM["case_id"], "occupancy_achieved"), (STREAM["case_id"], "counter_status")}
    assert new[STREAM["case_id"]]["occupancy_achieved"] == "0.91"
    assert new[STREAM["case_id"]]["counter_status"] == "ok"


def test_joined_run_is_valid(tmp_path: Path) -> None:
    """On a run as it is measured, by the schema."""
    source = made_up.newest_run("nvidia-h200")
    case = next(case for case, row in rows(source / "cases.csv").items() if row["status"] == "valid")
    (tmp_path / "a.csv").write_text(raw(["%", "byte", "byte", ""], (case, ["50", "1", "1", ""])))
    output = tmp_path / "joined"
    assert import_ncu.main([str(source), str(tmp_path / "a.csv"), "--output", str(output)]) == 0
    assert rows(output / "cases.csv")[case]["occupancy_achieved"] == "0.5"
    assert validate.main([str(output)]) == 0


def test_details_page(folder: Path) -> None:
    """A line per metric, by a word or by its name, and lines of rules without a metric."""
    more = ["Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name"]

    def line(number: int, case: str, *texts: str) -> str:
        shape = (number, 7, "occbench", "host", named(case), "k(a)", "(256, 1, 1)", "(8, 1, 1)", "9.0")
        return cells(*shape, *texts)

    text = "\n".join(
        [
            cells(*HEAD, *more),
            line(0, STREAM["case_id"], "Occupancy", "Achieved Occupancy", "%", "60.5", ""),
            line(0, STREAM["case_id"], "Occupancy", "", "", "", "AchievedOccupancy"),
            line(0, STREAM["case_id"], "Command line profiler metrics", READ, "Gbyte", "1.25", ""),
            line(1, OTHER["case_id"], "Occupancy", "Achieved Occupancy", "%", "99", ""),
        ]
    )
    assert run(folder, text) == 0
    joined = rows(folder.parent / "run-ncu" / "cases.csv")
    assert joined[STREAM["case_id"]]["occupancy_achieved"] == "0.605"
    assert joined[OTHER["case_id"]]["occupancy_achieved"] == "0.99"
    counters = rows(folder.parent / "run-ncu" / "counters.csv")
    assert float(counters[STREAM["case_id"]][READ]) == 1.25e9


def test_reads_ncu_2025_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As ncu wrote it on an H200, units chosen by itself; most columns of the device are left out here."""
    source = made_up.newest_run("nvidia-h200")
    file = Path(__file__).with_name("ncu_raw.csv")
    assert import_ncu.main([str(source), str(file), "--output", str(tmp_path / "joined")]) == 0
    assert "1 cases: 1 within 3 %, worst -0.1 %" in capsys.readouterr().out
    (row,) = rows(tmp_path / "joined" / "counters.csv").values()
    assert row["case_id"] == "registers.register_pressure.load-live19-maxnreg33.b256"
    assert row["launches"] == "3" and row["launch__registers_per_thread"] == "33"
    assert "nvlink__bandwidth" not in row and "Stream" not in row
    declared = float(rows(source / "cases.csv")[row["case_id"]]["bytes_per_launch"])
    assert float(row[READ]) == pytest.approx(declared, rel=0.002)
    assert 70 < float(row[OCCUPANCY]) < 75


def test_several_files_and_headers(folder: Path) -> None:
    """IDs begin anew in each process: they are other launches."""
    one = raw(["%", "byte", "byte", ""], (STREAM["case_id"], ["40", "1", "1", ""]))
    two = raw(["%", "byte", "byte", ""], (STREAM["case_id"], ["50", "1", "1", ""]))
    assert run(folder, one + two, raw(["%"], (STREAM["case_id"], ["60"]), metrics=[OCCUPANCY])) == 0
    row = rows(folder.parent / "run-ncu" / "counters.csv")[STREAM["case_id"]]
    assert (row["launches"], row[OCCUPANCY]) == ("3", "50")


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("", 1), ("%", 1), ("byte", 1), ("Kbyte", 1e3), ("Mbyte", 1e6), ("Gbyte", 1e9), ("Tbyte", 1e12),
        ("ns", 1), ("us", 1e3), ("msecond", 1e6), ("s", 1e9), ("Ghz", 1e9), ("GHz", 1e9), ("cycle/ns", 1e9),
        ("Gbyte/s", 1e9), ("byte/second", 1), ("Kbyte/block", 1e3), ("inst/cycle", 1), ("register/thread", 1),
    ],
)  # fmt: skip
def test_units(unit: str, factor: float) -> None:
    assert import_ncu.scale(unit) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("", 4, "0-ncu.csv: is empty"),
        ("a,b\n1,2\n", 4, "0-ncu.csv: is not a CSV of ncu's: ncu --csv --page raw --nvtx prints one"),
        ("==ERROR== Invalid option\nUse --help\n", 4, "an error of ncu's alone: Invalid option"),
        ('"ID","Kernel Name"\n"0","k"\n', 4, "0-ncu.csv: its CSV has no column of NVTX ranges"),
        (
            raw(["%", "", "", ""], ("waves.strange", ["1", "1", "1", ""])),
            1,
            "waves.strange is not a valid case of",
        ),
        (raw(["%", "", "", ""]), 1, "nothing to join"),
    ],
)
def test_rejects_invalid_reports(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, why: str
) -> None:
    assert run(folder, text) == code
    assert why in capsys.readouterr().err.splitlines()[0]
    assert not (folder.parent / "run-ncu").exists()


def test_reports_unknown_case_and_joins_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = ["50", "1", "1", ""]
    assert run(folder, raw(["%", "", "", ""], ("strange", numbers), (OTHER["case_id"], numbers))) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"occbench import-ncu: strange is not a valid case of {folder}"
    ]
    assert list(rows(folder.parent / "run-ncu" / "counters.csv")) == [OTHER["case_id"]]


def test_missing_and_existing_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_ncu.main([str(folder), str(folder / "none.csv")]) == 4
    assert import_ncu.main([str(folder), str(folder / "none.ncu-rep")]) == 4
    assert import_ncu.main([str(folder / "none"), str(folder / "cases.csv")]) == 4
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 3 and all("No such file" in error for error in errors)
    with pytest.raises(SystemExit) as stop:
        import_ncu.main([str(folder), str(folder / "cases.csv"), "--output", str(folder)])
    assert stop.value.code == 2 and "is there already" in capsys.readouterr().err


def test_reads_ncu_rep_through_ncu(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(import_ncu, "find_ncu", lambda: None)
    assert run(folder, "report", name="a.ncu-rep") == 4
    error = capsys.readouterr().err
    assert "put it on PATH" in error and "ncu --import" in error and error.count("\n") == 1
    page = raw(
        ["%", "byte", "byte", ""],
        (STREAM["case_id"], ["75", "2e9", "1", "none"]),
        (None, ["1", "1", "1", "none"]),
    )
    (folder.parent / "page.csv").write_text(page)
    ncu = folder.parent / "ncu"
    ncu.write_text(
        f"""#!/bin/sh
test "$1 $2" = "--config-file off" || exit 8
shift 2
test "$1 $3 $4 $5 $6 $7" = "--import --csv --page raw --print-units base" || exit 9
grep -q broken "$2" && echo "==ERROR== Failed to load report" && exit 1
cat {folder.parent / "page.csv"}
"""
    )
    ncu.chmod(0o755)
    monkeypatch.setattr(import_ncu, "find_ncu", lambda: str(ncu))
    assert run(folder, "broken", name="a.ncu-rep") == 4
    assert "a.ncu-rep: ncu cannot read it: Failed to load report" in capsys.readouterr().err
    assert run(folder, "report", name="a.ncu-rep") == 0
    assert "1 of 2 launches lie in no case's range" in capsys.readouterr().out
    row = rows(folder.parent / "run-ncu" / "counters.csv")[STREAM["case_id"]]
    assert row == {
        "case_id": STREAM["case_id"],
        "launches": "1",
        OCCUPANCY: "75",
        READ: "2000000000",
        WRITTEN: "1",
    }
