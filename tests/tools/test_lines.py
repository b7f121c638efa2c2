# SPDX-License-Identifier: Apache-2.0
"""One line on stderr, and files that are written whole or not at all."""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

import pytest
from occbench_tools import lines


def test_error_is_one_escaped_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines.print_error("occbench-x", "a\nb \x1b[31m\x07 \u202e [red]")
    said = capsys.readouterr().err
    assert said == "occbench-x: a b \\x1b[31m\\x07 \\u202e [red]\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("NVIDIA H200, \N{MICRO SIGN}s", "NVIDIA H200, \N{MICRO SIGN}s"),
        ("\x00\t\n\r\x7f\x85\x9b2J", r"\x00\x09\x0a\x0d\x7f\x85\x9b2J"),
        ("a\u00a0b\u2028c", "a b c"),
        (os.fsdecode(b"\xffname"), r"\xffname"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_escapes_control_characters(text: str, shown: str) -> None:
    assert lines.printable(text) == shown


@pytest.mark.parametrize("columns", [30, 41, 80])
def test_wraps_chinese_at_the_terminal_width(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign takes two columns; no line begins with a comma, and numbers, words and percents stay whole."""
    text = (
        "\u5bc4\u5b58\u5668\u4ece 64 \u4e2a\u589e\u52a0\u5230 65 \u4e2a\uff0c\u52a0\u8f7d\u7684"
        "\u541e\u5410\u91cf\u4e0b\u964d 22 %\uff0cFMA \u94fe\u4e0b\u964d 0 %\u3002\u201cabc\u201d"
        "\u4e0d\u662f\u6570\u5b57\uff08sharedMemPerBlock\uff09\u3002" * 3
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1, raising=False)
    broken = lines.for_terminal(text, sys.stdout).split("\n")
    assert len(broken) > 1 and "".join("".join(broken).split()) == "".join(text.split())
    for line in broken:
        assert sum(2 if unicodedata.east_asian_width(sign) in "WFA" else 1 for sign in line) <= columns
        assert line[0] not in "\uff0c\u3002\uff09\u201d%" and line[-1] not in "\uff08\u201c"
    assert all("\n".join(broken).count(word) == text.count(word) for word in ("22 %", "sharedMemPerBlock"))


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


def test_replaces_files_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    lines.write_whole(file, "old\n")
    lines.write_whole(file, b"new\n")
    assert file.read_text() == "new\n"

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            lines.write_whole(file, "half")
    with pytest.raises(ZeroDivisionError), lines.whole_file(file) as opened:
        opened.write(b"half")
        _ = 1 / 0
    assert file.read_text() == "new\n" and list(tmp_path.iterdir()) == [file]


def test_write_does_not_follow_symlinks(tmp_path: Path) -> None:
    """Neither one in the file's place, which somebody may have sent, nor one under the name beside it."""
    mine, link = tmp_path / "mine", tmp_path / "link"
    mine.write_text("mine\n")
    link.symlink_to(mine)
    lines.write_whole(link, "new\n")
    assert mine.read_text() == "mine\n" and not link.is_symlink() and link.read_text() == "new\n"
    link.unlink()
    link.symlink_to("/dev/full")
    lines.write_whole(link, "new\n")
    assert link.read_text() == "new\n"


def test_existing_temporary_name_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    monkeypatch.setattr(lines.secrets, "token_hex", lambda _: "0")
    (tmp_path / ".page.0").symlink_to(mine)
    with pytest.raises(FileExistsError, match="page"):
        lines.write_whole(tmp_path / "page", "new\n")
    assert mine.read_text() == "mine\n" and not (tmp_path / "page").exists()


def test_special_and_missing_targets(tmp_path: Path) -> None:
    lines.write_whole(Path("/dev/zero"), "gone")
    assert Path("/dev/zero").is_char_device()
    with pytest.raises(IsADirectoryError):
        lines.write_whole(tmp_path, "text")
    with pytest.raises(IsADirectoryError):
        lines.write_whole(Path(""), "text")
    with pytest.raises(FileNotFoundError) as refusal:
        lines.write_whole(tmp_path / "no" / "file", "text")
    assert refusal.value.filename == str(tmp_path / "no" / "file")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        lines.write_whole(tmp_path / "fifo", "text")
    reader, writer = os.pipe()
    lines.write_whole(Path(f"/dev/fd/{writer}"), "text")
    os.close(writer)
    with os.fdopen(reader) as read:
        assert read.read() == "text"
