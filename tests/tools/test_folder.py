# SPDX-License-Identifier: Apache-2.0
"""The reader of a results folder: what it takes, and the one line with which it refuses the rest."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("pandas")

from occbench_docs.committed import committed_runs
from occbench_tools import NEWEST, SCHEMA_VERSIONS
from occbench_tools.folder import POSITIVE, POSITIVE_IF_GIVEN, check_rows, read_folder
from occbench_tools.untrusted_files import plain_or_packed, read_untrusted

FOLDERS = committed_runs("nvidia-h200")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The first 40 cases of a run on an H200, and 100 of its samples."""
    shutil.copy(FOLDERS[-1] / "env.json", tmp_path)
    for name, most in (("cases.csv", 41), ("samples.csv", 101)):
        head = read_untrusted(plain_or_packed(FOLDERS[-1] / name)).splitlines(keepends=True)[:most]
        (tmp_path / name).write_bytes(b"".join(head))
    return tmp_path


def edit(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(change(lines)), encoding="utf-8", newline="")


def cell(path: Path, line: int, column: str, value: str) -> None:
    """Sets one cell; the columns up to it hold no comma."""

    def change(lines: list[str]) -> list[str]:
        place = lines[0].rstrip("\n").split(",").index(column)
        cells = lines[line - 1].rstrip("\n").split(",")
        cells[place] = value
        lines[line - 1] = ",".join(cells) + "\n"
        return lines

    edit(path, change)


def column_of(path: Path, column: str, value: str, which: slice) -> None:
    """Sets cells of one column in `which` of the rows."""
    with path.open(newline="", encoding="utf-8") as text:
        header, *rows = csv.reader(text)
    for row in rows[which]:
        row[header.index(column)] = value
    with path.open("w", newline="", encoding="utf-8") as text:
        csv.writer(text, lineterminator="\n").writerows([header, *rows])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_committed_runs(folder: Path) -> None:
    read = read_folder(folder)
    assert read.warnings == [] and not read.is_modelled
    assert set(read.samples["case_id"]) <= set(read.cases["case_id"])
    lines = read_untrusted(plain_or_packed(folder / "samples.csv")).count(b"\n") - 1
    assert len(read.samples) == lines and read.samples["time_s"].dtype == float
    counted = read.samples[read.samples["discarded"] == 0].groupby("case_id", observed=True)["time_s"]
    medians = read.valid.set_index("case_id")["time_median_s"]
    assert counted.median().reindex(medians.index).to_numpy() == pytest.approx(medians.to_numpy())


def test_reads_every_schema() -> None:
    """The older ones in a few rows of runs that gave way; samples, too."""
    older = sorted(Path(__file__).parent.glob("runs/schema-*"))
    assert [read_folder(folder).env["schema_version"] for folder in older] == list(SCHEMA_VERSIONS[:-1])
    for folder in older:
        read = read_folder(folder, samples=False)
        told = read.cases["case_id"].str.contains(r"\.r\d")
        assert (read.cases["curve"] == read.cases["variant"]).all()
        assert (read.cases["asked_resident_blocks"].notna() == told).all()
        assert set(read.cases["experiment"]) <= set(read.env["experiments"])


def test_skips_truncated_last_row(run: Path) -> None:
    whole = len(read_folder(run).samples)
    with (run / "samples.csv").open("a") as stream:
        stream.write("3,block_size.stre")
    read = read_folder(run)
    assert len(read.samples) == whole
    assert len(read.warnings) == 1 and "cut off" in read.warnings[0] and "samples.csv" in read.warnings[0]


def test_text_columns_stay_text(run: Path) -> None:
    cell(run / "cases.csv", 2, "variant", "null")
    assert read_folder(run).cases["variant"].iloc[0] == "null"


def other_header(lines: list[str]) -> list[str]:
    return [lines[0].replace("time_s", "seconds"), *lines[1:]]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("samples.csv", lambda lines: [*lines[:3], lines[3].replace(",0.", ",nan0."), *lines[4:]],
         "samples.csv:4: time_s: nan0."),
        ("samples.csv", lambda lines: lines[:1], "samples.csv holds no row"),
        ("samples.csv", lambda _: [], "samples.csv holds no row"),
        ("samples.csv", other_header, "samples.csv: header lacks time_s and has extra seconds"),
        ("cases.csv", lambda lines: [*lines, lines[1]], "cases.csv:42: case_id: "),
        ("cases.csv", lambda lines: [lines[0], *(f"9{line[1:]}" for line in lines[1:])],
         f"cases.csv has schema_version 9, and this tool reads 2 to {NEWEST}; a newer occbench wrote it"),
        ("cases.csv", lambda lines: [*lines[:5], "\udc80", *lines[6:]], "cases.csv"),
        ("cases.csv", lambda lines: [lines[0], lines[1].replace("\n", ",1,2,3\n"), *lines[2:]], "cases.csv"),
        ("cases.csv", lambda lines: [lines[0].replace(",", "\r,", 1), *lines[1:]], "cases.csv: not CSV"),
        ("env.json", lambda lines: lines[:-1], "env.json: not JSON"),
        ("env.json", lambda _: ["[]"], "env.json: not an object"),
        ("env.json", lambda _: ['{"schema_version": 3, "gpu": {"sm_count": "many"}}'], "sm_count: 'many'"),
        ("env.json", lambda _: ['{"schema_version": 3, "source": "guess", "gpu": {}}'], "source: guess"),
        ("env.json", lambda _: ['{"schema_version": NaN, "gpu": {}}'], "env.json: not JSON: NaN"),
        ("env.json", lambda _: [f'{{"schema_version": {NEWEST + 1}, "gpu": {{}}}}'],
         f"env.json has schema_version {NEWEST + 1}"),
        ("env.json", lambda _: ['{"schema_version": [3], "gpu": {}}'], "env.json has schema_version [3]"),
        ("env.json", lambda _: ['{"schema_version": 3, "source": "model", "gpu": {}}'],
         "cases.csv: source measured, and env.json says model"),
    ],
)  # fmt: skip
def test_refused(run: Path, name: str, change: Callable[[list[str]], list[str]], said: str) -> None:
    lines = (run / name).read_text(encoding="utf-8").splitlines(keepends=True)
    (run / name).write_bytes("".join(change(lines)).encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=name) as refusal:
        read_folder(run)
    assert said in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "abc", "1e999", "", "-1"])
def test_rejects_invalid_times(run: Path, value: str) -> None:
    cell(run / "samples.csv", 5, "time_s", value)
    with pytest.raises(ValueError, match=r"^samples\.csv:5: time_s: "):
        read_folder(run)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("status", "valid?", "valid? is not one of valid, noisy, invalid, impossible, skipped"),
        ("case_id", "a;b", "a;b does not match ^[A-Za-z0-9_.=+-]+$"),
        ("limiters", "luck", "luck does not match ^(warps|"),
        ("throughput_unit", "furlong/s", "furlong/s is not one of byte/s, flop/s, operation/s"),
        ("carveout_percent", "1\x12", "1\x12 is not a number"),
        ("block_size", "1e300", "1e+300 is not an integer"),
    ],
)
def test_rejects_cells_that_violate_the_schema(run: Path, column: str, value: str, said: str) -> None:
    """A row of a status that nobody knows would be left out of all that is shown."""
    column_of(run / "cases.csv", column, value, slice(1, 2))
    for strict in (True, False):
        with pytest.raises(ValueError, match=rf"^cases\.csv:3: {column}: ") as refusal:
            read_folder(run, samples=False, strict=strict)
        assert said in str(refusal.value)


def test_rejects_booleans_as_numbers(run: Path) -> None:
    column_of(run / "cases.csv", "ilp", "true", slice(None))
    with pytest.raises(ValueError, match=r"^cases\.csv:2: ilp: true is not a number"):
        read_folder(run, samples=False)


@pytest.mark.parametrize("column", ["throughput", "time_median_s", "warps_per_sm", "sm_clock_hz"])
def test_valid_case_must_be_above_zero(column: str) -> None:
    row = dict.fromkeys((*POSITIVE, *POSITIVE_IF_GIVEN), 1.0) | dict(status="valid")
    rows = [row | dict(case_id="a"), row | {"case_id": "b", column: 0.0}]
    check_rows(pd.DataFrame([rows[0], rows[1] | dict(status="skipped")]))
    with pytest.raises(ValueError, match=rf"^cases\.csv:3: {column}: 0\.0 is not above zero"):
        check_rows(pd.DataFrame(rows))


def test_non_strict_allows_extra_columns_only(run: Path) -> None:
    edit(run / "cases.csv", lambda lines: [f"{line[:-1]},1\n" for line in lines])
    edit(run / "cases.csv", lambda lines: [f"{lines[0][:-2]}more\n", *lines[1:]])
    assert "more" in read_folder(run, samples=False, strict=False).cases
    edit(run / "cases.csv", lambda lines: [lines[0].replace(",limiters,", ",limits,"), *lines[1:]])
    with pytest.raises(ValueError, match=r"^cases\.csv: header lacks limiters"):
        read_folder(run, samples=False, strict=False)


def test_rejects_fractional_integers(run: Path) -> None:
    cell(run / "samples.csv", 5, "round", "1.5")
    with pytest.raises(ValueError, match=r"1\.5 is not an integer"):
        read_folder(run)


@pytest.mark.parametrize("name", ["cases.csv", "samples.csv", "env.json"])
def test_missing_file_raises(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read_folder(run)


def test_model_run_has_no_samples(run: Path) -> None:
    """Its samples.csv is a header; a measured run's may not be."""
    env = json.loads((run / "env.json").read_text())
    (run / "env.json").write_text(json.dumps(env | dict(source="model")))
    edit(run / "cases.csv", lambda lines: [line.replace(",measured,", ",model,", 1) for line in lines])
    edit(run / "samples.csv", lambda lines: lines[:1])
    read = read_folder(run)
    assert read.is_modelled and len(read.samples) == 0
