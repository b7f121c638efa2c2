# SPDX-License-Identifier: Apache-2.0
"""The judge of tests/hostile finds what is planted: a hunt that could find nothing proves nothing."""

from __future__ import annotations

import faulthandler
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HOSTILE = Path(__file__).resolve().parents[1] / "hostile"
ROOT = HOSTILE.parents[1]


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(HOSTILE))
    import verdict

    monkeypatch.setattr(verdict, "SOON_S", 0.5)
    yield verdict
    sys.modules.pop("verdict", None)


def kinds(faults: list) -> list[str]:
    return [fault.kind for fault in faults]


PLANTED = {
    "raise ValueError": "traceback",
    "import os; os.kill(os.getpid(), 11)": "crash",
    "import time; time.sleep(60)": "hang",
    "raise SystemExit(7)": "wrong exit code",
    "raise SystemExit(4)": "words",
    "import sys; print('a\\nb', file=sys.stderr); raise SystemExit(2)": "words",
    "print('\\x1b[31m')": "words",
    "print('\\x9b')": "words",
    "print('\\u202e')": "words",
    "pass": "",
    "import sys; print('one line', file=sys.stderr); raise SystemExit(4)": "",
}


@pytest.mark.parametrize("code", PLANTED)
def test_classifies_faults_of_a_call(code: str, verdict: object) -> None:
    done = verdict.call([sys.executable, "-I", "-c", code])
    found = kinds(verdict.faults(done, "planted", verdict.CODES, one_line=True))
    assert found == ([PLANTED[code]] if PLANTED[code] else [])


def test_classifies_faults_of_a_fork(verdict: object, tmp_path: Path) -> None:
    def ends(what: str) -> list[str]:
        def main(words: list[str]) -> int:
            if words == ["raise"]:
                raise KeyError("planted")
            if words == ["hang"]:
                time.sleep(60)
            if words == ["crash"]:
                faulthandler.disable()  # its lines would stand among pytest's
                os.abort()
            return 9 if words == ["code"] else 0

        return kinds(verdict.faults(verdict.forked(main, [what], tmp_path), what, verdict.CODES))

    assert [ends(each) for each in ("raise", "hang", "crash", "code", "well")] == [
        ["traceback"], ["hang"], ["crash"], ["wrong exit code"], [],
    ]  # fmt: skip


def test_finds_lost_or_duplicate_rows(verdict: object, tmp_path: Path) -> None:
    import runs

    header = "schema_version,case_id\n"
    for name in ("want", "have"):
        (tmp_path / name).mkdir()
    for text in (header + "4,a\n", header + "4,a\n4,b\n4,b\n", header + "4,a\n4,c\n"):
        (tmp_path / "want/cases.csv").write_text(header + "4,a\n4,b\n")
        (tmp_path / "have/cases.csv").write_text(text)
        assert kinds(runs.whole(tmp_path / "have", tmp_path / "want", "planted")) == ["lost rows"]


def test_mutation_is_deterministic_per_seed(verdict: object, tmp_path: Path) -> None:
    import folders

    for seed in range(60):
        left = []
        for name in ("a", "b"):
            shutil.copytree(ROOT / "tests/tools/runs/schema-3", tmp_path / name)
            before = folders.state(tmp_path / name)
            folders.mutate(tmp_path / name, random.Random(seed))
            assert folders.state(tmp_path / name) != before, seed
            left.append(folders.state(tmp_path / name))
            shutil.rmtree(tmp_path / name)
        assert left[0] == left[1], seed


def test_finds_an_overlong_line(verdict: object) -> None:
    done = verdict.Done(4, b"", b"x" * 5000)
    assert kinds(verdict.faults(done, "planted", verdict.REFUSED, longest=4000)) == ["words"]
    assert not verdict.faults(done, "planted", verdict.REFUSED)


def test_planted_faults_match_the_sources(verdict: object) -> None:
    """Else the test of the hunt would test nothing."""
    import plant

    for fault in plant.PLANTS:
        text = (ROOT / fault.file).read_text()
        assert [text.count(old) for old, _ in fault.changes] == [1] * len(fault.changes), fault.name
