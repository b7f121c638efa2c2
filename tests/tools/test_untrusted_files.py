# SPDX-License-Identifier: Apache-2.0
"""Files that somebody sent, of the wrong kind, too large or too deep: one line, exit code 4, and soon."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pandas")

from occbench_tools import compare, explain, import_ncu, plot, predictions, report, untrusted_files, validate
from occbench_tools.cliffs import command as cliffs_command
from occbench_tools.folder import read_folder

Main = Callable[[list[str]], int]
READERS: list[tuple[Main, str]] = [
    (validate.main, "X"), (explain.main, "X --all"), (report.main, "X --output r.html"), (plot.main, "X"),
    (compare.main, "X good"), (compare.main, "good X"), (cliffs_command.main, "X --output -"),
    (predictions.main, "X"), (predictions.main, "good --model X"), (import_ncu.main, "X ncu.csv"),
]  # fmt: skip
DEEP = ("[" * 100_000, '{"a":' * 20_000 + "1" + "}" * 20_000, '{"a":' + "[" * 900 + "]" * 900 + "}")


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """What would wait for ever fails."""
    signal.alarm(30)
    yield
    signal.alarm(0)


@pytest.fixture
def sent_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("X", "good"):
        shutil.copytree(Path(__file__).with_name("runs") / "schema-3", tmp_path / name)
    shutil.copy(Path(__file__).with_name("ncu_raw.csv"), tmp_path / "ncu.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "X"


def assert_refused(main: Main, words: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words.split())
    out, err = capsys.readouterr()
    said = out if main is validate.main else err
    assert what in said, (words, said)
    # validate goes on to the other files, and tells a file that it read and that is wrong by 1.
    assert code == 4 or (main is validate.main and code == 1 and "nested" in what), (words, code)
    if main is not validate.main:
        assert err.count("\n") == 1, err


def replaced(file: Path, kind: str) -> str:
    """Puts something else in the file's place. Returns what is said of it."""
    file.unlink()
    match kind:
        case "fifo":
            os.mkfifo(file)
        case "zero":
            file.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(os.path.relpath(file))  # a path has at most 108 bytes
        case "large":
            with file.open("wb") as large:
                large.truncate(3 << 30)
            return "has 3072 MiB, and at most"
        case "folder":
            file.mkdir()
            return "Is a directory"
        case "loop":
            file.symlink_to(file.name)
            return "Too many levels of symbolic links"
    return "No such device" if kind == "socket" else "is not a regular file"


@pytest.mark.parametrize("kind", ["fifo", "zero", "large", "folder", "loop", "socket"])
@pytest.mark.parametrize("name", ["cases.csv", "env.json"])
def test_rejects_special_files(
    name: str, kind: str, sent_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = replaced(sent_folder / name, kind)
    for main, words in READERS:
        assert_refused(main, words, what, capsys)


@pytest.mark.parametrize("kind", ["fifo", "zero", "large", "folder"])
def test_rejects_special_samples_files(
    kind: str, sent_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = replaced(sent_folder / "samples.csv", kind)
    for main, words in ((validate.main, "X"), (compare.main, "good X")):
        assert_refused(main, words, what, capsys)


@pytest.mark.parametrize("text", DEEP, ids=["open", "objects", "inside"])
def test_rejects_deeply_nested_json(text: str, sent_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sent_folder / "env.json").write_text(text)
    for main, words in READERS:
        assert_refused(main, words, "nested deeper than 64 levels", capsys)
    assert all(file.stat().st_size < 1 << 22 for file in sent_folder.parent.rglob("*") if file.is_file())


def test_packed_and_plain_samples_are_equal(sent_folder: Path) -> None:
    plain = sent_folder / "samples.csv"
    before = read_folder(sent_folder).samples
    text = plain.read_bytes()
    (sent_folder / "samples.csv.gz").write_bytes(gzip.compress(text))
    plain.unlink()
    assert read_folder(sent_folder).samples.equals(before)
    assert validate.main(["X"]) == 0
    plain.write_bytes(text[: text.rindex(b"\n", 0, -1) + 1])  # both: the plain one is written to still
    assert len(read_folder(sent_folder).samples) == len(before) - 1


@pytest.mark.parametrize("kind", ["cut off", "not a gzip file", "more than the 2048 MiB"])
def test_rejects_damaged_packed_samples(
    kind: str, sent_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sent_folder / "samples.csv"
    packed = gzip.compress(plain.read_bytes())
    if kind == "more than the 2048 MiB":
        monkeypatch.setitem(untrusted_files.LIMITS, "samples.csv", len(plain.read_bytes()) - 1)
        kind = "holds more than"
    plain.unlink()
    content = {"cut off": packed[:-20], "not a gzip file": b"a,b\n1,2\n"}.get(kind, packed)
    (sent_folder / "samples.csv.gz").write_bytes(content)
    readers = [(validate.main, "X"), (compare.main, "X good")]
    for main, words in readers:
        assert_refused(main, words, kind, capsys)


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    assert untrusted_files.parse_json('{"a": "' + "[{" * 1000 + '", "b\\"[": [1]}')['b"['] == [1]
    with pytest.raises(ValueError, match="nested deeper"):
        untrusted_files.parse_json('["\\\\", ' + "[" * 64)
    with pytest.raises(ValueError, match="Infinity is not a number of JSON"):
        untrusted_files.parse_json("[Infinity]")


def test_rejects_special_counters_files(sent_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("counters.csv")
    assert_refused(predictions.main, "good --bounds counters.csv", "is not a regular file", capsys)
    assert_refused(import_ncu.main, "good counters.csv", "is not a regular file", capsys)
