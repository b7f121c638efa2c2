# SPDX-License-Identifier: Apache-2.0
"""One line on stderr, and files that are written whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from occbench_tools import lines


def test_one_line_that_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    lines.complain("occbench-x", "a\nb \x1b[31m\x07 \u202e [red]")
    said = capsys.readouterr().err
    assert said.startswith("occbench-x: a b ") and said.endswith(" [red]\n")
    assert said.count("\n") == 1 and said[:-1].isprintable()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file", "run/cases.csv"), "run/cases.csv: No such file"),
        (OSError(28, "No space left on device"), "run: No space left on device"),
        (OSError("odd"), "run: odd"),
        (KeyError("status"), "run: no status; see `occbench validate`"),
        (ValueError("cases.csv:2: odd"), "run: cases.csv:2: odd; see `occbench validate`"),
    ],
)
def test_reasons(error: Exception, said: str) -> None:
    assert lines.reason("run", error) == said


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    lines.write_whole(file, "old\n")
    lines.write_whole(link, b"new\n")
    assert link.is_symlink() and file.read_text() == "new\n"

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        lines.write_whole(file, "half")
    assert file.read_text() == "new\n" and sorted(tmp_path.iterdir()) == [file, link]


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    lines.write_whole(Path("/dev/null"), "gone")
    assert not Path("/dev/null").is_file()
    with pytest.raises(IsADirectoryError):
        lines.write_whole(tmp_path, "text")
    with pytest.raises(FileNotFoundError) as refusal:
        lines.write_whole(tmp_path / "no" / "file", "text")
    assert refusal.value.filename == str(tmp_path / "no" / "file")
