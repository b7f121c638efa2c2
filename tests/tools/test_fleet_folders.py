# SPDX-License-Identifier: Apache-2.0
"""occbench fleet check of bad folders: one is named, the others are judged, and nothing unread passes."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("polars")

import fleets
from fleets import FleetCheck

CARDS = 8


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleets.write(fleets.made(CARDS, 1), tmp_path_factory.mktemp("good") / "fleet")


@pytest.fixture
def own(good: Path, tmp_path: Path) -> Path:
    """These cards, to spoil."""
    return shutil.copytree(good, tmp_path / "fleet")


def env_of(folder: Path, change: Callable[[dict], object]) -> None:
    env = json.loads((folder / "env.json").read_text())
    change(env)
    (folder / "env.json").write_text(json.dumps(env))


def first(top: Path) -> Path:
    return top / fleets.host(0) / fleets.uuid(0)


def cut(top: Path, at: float) -> None:
    content = (first(top) / "cases.csv").read_bytes()
    (first(top) / "cases.csv").write_bytes(content[: int(at * len(content))])


def replaced(top: Path, what: str, by: str) -> None:
    path = first(top) / "cases.csv"
    content = path.read_text()
    assert what in content
    path.write_text(content.replace(what, by))


def a_cell(top: Path, column: str, value: str) -> None:
    path = first(top) / "cases.csv"
    header, row, *rows = path.read_text().splitlines(keepends=True)
    cells = row.split(",")
    assert '"' not in row
    cells[header.rstrip().split(",").index(column)] = value
    path.write_text("".join([header, ",".join(cells), *rows]))


def twice(top: Path) -> None:
    header, row, *rows = (first(top) / "cases.csv").read_text().splitlines(keepends=True)
    (first(top) / "cases.csv").write_text("".join([header, row, row, *rows]))


def again(top: Path) -> None:
    shutil.copytree(first(top), first(top).parent / "again")
    env_of(first(top), lambda env: env.update(created_utc="2030-01-01T00:00:00Z"))


def elsewhere(top: Path) -> None:
    shutil.copytree(first(top), top / "n0777" / fleets.uuid(0))


def pipe(top: Path) -> None:
    (first(top) / "cases.csv").unlink()
    os.mkfifo(first(top) / "cases.csv")


# What is done to one of eight cards; how many are judged, whether the fleet passes, and what is said.
SPOILED: dict[str, tuple[Callable[[Path], object], int, bool, str]] = {
    "nothing": (lambda top: None, 8, True, "PASS: 8 of 8 cards judged"),
    "another preset": (
        lambda top: env_of(first(top), lambda env: env.update(preset="quick")), 7, False,
        "not judged: preset quick, and not burn-in"),
    "another commit": (
        lambda top: env_of(first(top), lambda env: env.update(git_commit="abc")), 7, False,
        "not judged: git_commit abc, and not "),
    "another clock by design": (
        lambda top: env_of(first(top), lambda env: env["gpu"].update(sm_clock_max_hz=1.2e9)), 7, False,
        "not judged: gpu.sm_clock_max_hz 1200000000.0, and not 1980000000.0"),
    "three of another preset": (
        lambda top: [env_of(top / fleets.host(n) / fleets.uuid(n), lambda env: env.update(preset="x"))
                     for n in range(3)], 8, True, "3 cards (n0000/GPU-00000000-"),
    "another schema": (
        lambda top: env_of(first(top), lambda env: env.update(schema_version=99)), 7, False,
        "env.json has schema_version 99, and this tool reads"),
    "no env.json": (lambda top: (first(top) / "env.json").unlink(), 7, False, "No such file or directory"),
    "env.json cut off": (
        lambda top: (first(top) / "env.json").write_text("{"), 7, False, "env.json: not JSON"),
    "no cases.csv": (lambda top: (first(top) / "cases.csv").unlink(), 7, False, "No such file or directory"),
    "no row": (lambda top: cut(top, 0), 7, False, "cases.csv holds no row"),
    "the node died": (lambda top: cut(top, 0.6), 8, False, "of 90 cases; `occbench run --resume "),
    "the node died early": (lambda top: cut(top, 0.04), 7, False, "of 90 cases; `occbench run --resume "),
    "text for a number": (
        lambda top: a_cell(top, "time_median_s", "fast"), 7, False, "time_median_s: fast is not a number"),
    "no time": (lambda top: a_cell(top, "time_median_s", ""), 7, False, "is not above zero"),
    "not a number": (lambda top: a_cell(top, "sm_clock_hz", "inf"), 7, False, "is not a finite number"),
    "other columns": (lambda top: replaced(top, "case_id,", "case,"), 7, False, "cases.csv: header "),
    "a case twice": (twice, 7, False, "stands there twice"),
    "an invalid case": (
        lambda top: [a_cell(top, "status", "invalid"), a_cell(top, "reason", "wrong sum")], 8, False,
        "1 invalid case, "),
    "a byte that is not UTF-8": (
        lambda top: (first(top) / "cases.csv").write_bytes(
            (first(top) / "cases.csv").read_bytes().replace(b"warps", b"w\xffrps", 1)), 7, False, ""),
    "a pipe": (pipe, 7, False, "is not a regular file"),
    "the same card twice": (again, 8, True, "2 runs of this card; GPU-00000000-0000-4000-8000-"),
    "one UUID twice": (elsewhere, 9, True, "the UUID of 2 cards, on n0000 and n0777"),
    "a folder called like a pattern": (
        lambda top: first(top).rename(first(top).parent / "GPU-[0-9]*?"), 8, True, "PASS: 8 of 8"),
    "a link to a folder above": (lambda top: (top / "loop").symlink_to(top), 8, True, "PASS: 8 of 8"),
}  # fmt: skip


@pytest.mark.parametrize("what", SPOILED)
def test_judges_cards_with_partial_damage(what: str, own: Path, fleet_check: FleetCheck) -> None:
    spoil, judged, passes, words = SPOILED[what]
    spoil(own)
    code, out, error = fleet_check(own, "--width", "400")
    assert error == "" and code == (not passes)
    assert f"{judged} of " in out.splitlines()[0]
    assert words in out, out
    complaints = out.partition("\ncomplaints\n")[2].partition("\n\n")[0]
    assert complaints.count("\n") == 0, "one line"


def test_fewer_than_three_folders(own: Path, tmp_path: Path, fleet_check: FleetCheck) -> None:
    (tmp_path / "empty").mkdir()
    code, out, error = fleet_check(tmp_path / "empty")
    assert (code, out) == (4, "") and "holds no folder of results" in error and error.count("\n") == 1
    code, out, error = fleet_check(tmp_path / "nowhere")
    assert code == 4 and "nowhere: No such file or directory" in error and error.count("\n") == 1
    code, out, _ = fleet_check(first(own), "--width", "400")
    assert code == 1 and "no other card to compare with; name --reference RUN" in out
    for place in range(2, 8):
        shutil.rmtree(own / fleets.host(place) / fleets.uuid(place))
    code, out, _ = fleet_check(own, "--width", "400")
    assert code == 1 and "two cards cannot tell which is odd; name --reference RUN" in out


@pytest.mark.parametrize("content", ["", "rack\nr1\n", "host,rack\na\n", "host,host\na,b\n", 'host\n"a\n'])
def test_rejects_invalid_labels(content: str, own: Path, tmp_path: Path, fleet_check: FleetCheck) -> None:
    (tmp_path / "racks.csv").write_text(content)
    code, out, error = fleet_check(own, "--labels", tmp_path / "racks.csv")
    assert (code, out) == (4, "") and "racks.csv" in error and error.count("\n") == 1


def as_a_user() -> None:
    """Root reads what its modes forbid, by two capabilities: they are dropped (prctl, PR_CAPBSET_DROP)."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability)


def user_checks(top: Path, *calls: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """`fleet check` of a folder by one whom modes stop, once with each of these words."""
    # One process: starting it takes longer than a check.
    program = """
import contextlib, io, json, sys
import occbench_fleet
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        code = occbench_fleet.main(["check", *words])
    print(json.dumps([code, out.getvalue(), error.getvalue()]))
"""
    asked = json.dumps([[str(top), "--width", "400", *words] for words in calls])
    done = subprocess.run(
        [sys.executable, "-c", program, asked], preexec_fn=as_a_user, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [(code, out, error) for code, out, error in map(json.loads, done.stdout.splitlines())]


def unreadable_folder(top: Path) -> None:
    first(top).chmod(0)


def unreadable_rows(top: Path) -> None:
    (first(top) / "cases.csv").chmod(0)


def node(top: Path) -> Path:
    """A node of one card, the first."""
    (top / "node").mkdir()
    first(top).rename(top / "node" / fleets.uuid(0))
    return top / "node"


def no_way_in(top: Path) -> None:
    node(top).chmod(0o644)  # its names are seen, and no more


def files_gone(top: Path) -> None:
    for file in first(top).iterdir():
        file.unlink()


def linked(top: Path) -> None:
    (top / "node").symlink_to(node(top).rename(top.parent / "elsewhere"))


def nowhere(top: Path) -> None:
    shutil.rmtree(node(top))
    (top / "node").symlink_to(top.parent / "gone")


HIDDEN = {
    "a folder that may not be read": (unreadable_folder, "Permission denied"),
    "rows that may not be read": (unreadable_rows, "cases.csv: Permission denied"),
    "a node that may not be entered": (no_way_in, "Permission denied"),
    "a card without files": (files_gone, f"{fleets.uuid(0)}: holds neither env.json nor cases.csv"),
    "a node behind a link": (linked, "node: a link, which is not followed"),
    "a link to nothing": (nowhere, "node: a link, which is not followed"),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_unreadable_folder_is_named_and_fails(what: str, own: Path) -> None:
    hide, words = HIDDEN[what]
    hide(own)
    try:
        formats = [("--format", name) for name in ("json", "junit", "prometheus")]
        told = user_checks(own, (), ("--ignore-unreadable",), *formats)
        code, out, error = told[0]
        assert (code, error) == (4, ""), out + error
        assert out.startswith("FAIL: 7 of 7 cards judged, none is odd, 1 folder not read\n")
        assert "\nnot read\n" in out and words in out, out
        code, out, _ = told[1]
        assert code == 0 and out.startswith("PASS: 7 of 7 cards judged, none is odd\n") and words in out
        found, suite, metrics = (out for _, out, _ in told[2:])
        found = json.loads(found)
        assert (found["passed"], len(found["unread"])) == (False, 1)
        assert ElementTree.fromstring(suite.partition("\n")[2]).get("failures") == "1"
        assert "\noccbench_fleet_unread 1\n" in metrics
    finally:
        for folder in (own / "node", first(own)):
            if folder.exists():
                folder.chmod(0o755)


def test_ignores_subfolders_and_links_of_a_card(own: Path, fleet_check: FleetCheck) -> None:
    (first(own) / "ncu/empty").mkdir(parents=True)
    (own / "latest").symlink_to(first(own))
    assert fleet_check(own)[0] == 0


def sparse(top: Path) -> None:
    with (first(top) / "cases.csv").open("r+b") as rows:
        rows.truncate(240 << 20)


def sparse_to_the_last_byte(top: Path) -> None:
    with (first(top) / "cases.csv").open("r+b") as rows:
        rows.seek((240 << 20) - 1)
        rows.write(b"\n")


def name_of_bytes(top: Path) -> None:
    os.rename(first(top), os.fsencode(first(top).parent) + b"/card-\xff")


# What one card's folder holds; the others are judged all the same.
BAD: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "experiments of two types": (
        lambda top: env_of(first(top), lambda env: env.update(experiments=["waves", 1])), 7,
        "env.json: experiments: ['waves', 1] is not of type object"),
    "a UUID that is a list": (
        lambda top: env_of(first(top), lambda env: env["gpu"].update(uuid=["GPU"])), 7,
        "env.json: gpu.uuid: ['GPU'] is not of type string"),
    "a number of 400 digits": (
        lambda top: env_of(first(top), lambda env: env["gpu"].update(memory_bytes=10**400)), 7,
        "env.json: not JSON: 10000000000000000000... is out of range"),
    "a sparse file": (sparse, 7, "cases.csv: holds zero bytes"),
    "a sparse file whose last line is whole": (sparse_to_the_last_byte, 7, "cases.csv: holds zero bytes"),
    "a name that is not UTF-8": (name_of_bytes, 8, "PASS: 8 of 8"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_one_bad_folder_does_not_stop_the_check(what: str, own: Path) -> None:
    spoil, judged, words = BAD[what]
    spoil(own)
    ((code, out, error),) = user_checks(own, ())
    assert (code, error) == (int(judged < 8), ""), out + error
    assert f"{judged} of {judged} cards judged" in out and words in out
