# SPDX-License-Identifier: Apache-2.0
"""Tables of other tools that end early, and numbers that nothing holds: refused, by a line that says so."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools import counters
from occbench_tools.devices import profiles
from occbench_tools.import_ncu import NotNcu, number, read_launches
from occbench_tools.untrusted_files import NotRegular, read_untrusted

NCU = Path(__file__).with_name("ncu_raw.csv")


@pytest.mark.parametrize("read", [read_launches, lambda path: profiles.kernels_of(path, {})])
def test_rejects_truncated_ncu_table(read: object, tmp_path: Path) -> None:
    whole = NCU.read_text()
    start = whole.rindex("\n", 0, -1) + 1
    assert whole.endswith("\n") and callable(read)
    (tmp_path / "cut.csv").write_text(whole[:-1])  # all cells, and no line feed
    read(tmp_path / "cut.csv")
    for at in (start + 1, start + 2, (start + len(whole)) // 2, len(whole) - 2):
        (tmp_path / "cut.csv").write_text(whole[:at])
        with pytest.raises(NotNcu, match=r"cut.csv: its last row is cut off"):
            read(tmp_path / "cut.csv")
    (tmp_path / "cut.csv").write_text(whole + "==PROF== Report: here")
    read(tmp_path / "cut.csv")


@pytest.mark.parametrize("cell", ["1" * 400, "9e999", "nan", "True"])
def test_rejects_out_of_range_profile_numbers(cell: str, tmp_path: Path) -> None:
    for row in (f"k,{cell},50", f"k,1e-3,{cell}"):
        (tmp_path / "plain.csv").write_text(f"kernel,time_s,dram_percent\n{row}\n")
        with pytest.raises(NotNcu, match="is not a number from 0 on"):
            profiles.kernels_of(tmp_path / "plain.csv", {})
    assert number("9" * 400, "byte") is None and number("1e308", "Gbyte") is None
    header, row = ",".join(["case_id", *counters.METRICS]), ",".join(["a", *(["1"] * len(counters.METRICS))])
    (tmp_path / "counters.csv").write_text(f"{header}\n{row}\n")
    assert len(counters.read_counters(tmp_path / "counters.csv")) == 1
    (tmp_path / "counters.csv").write_text(f"{header}\n{row[:-1]}{cell}\n")
    if cell != "nan":  # as an empty cell: this GPU has no such metric
        with pytest.raises(ValueError, match="not a number everywhere"):
            counters.read_counters(tmp_path / "counters.csv")


def test_gzip_with_several_members_and_trailing_data(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert read_untrusted(path) == b"a\nb\n"
    for behind, what in ((gzip.compress(b"b\n" * 99)[:-9], "is cut off"), (b"more", "is not a gzip file")):
        path.write_bytes(gzip.compress(b"a\n") + behind)
        with pytest.raises(NotRegular, match=what):
            read_untrusted(path)


def test_limits_decompressed_size(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv.gz"
    path.write_bytes(gzip.compress(b"0,1\n" * (20 << 20), 1))
    with pytest.raises(NotRegular, match="holds more than the 64 MiB"):
        read_untrusted(path)
