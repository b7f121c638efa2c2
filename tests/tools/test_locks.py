# SPDX-License-Identifier: Apache-2.0
"""tools/locks holds what tools/pyproject.toml asks for: `tools/lock` writes it anew."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
PYPROJECT = tomllib.loads((TOOLS / "pyproject.toml").read_text())
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
EXTRAS = PROJECT["optional-dependencies"]
ASKED = {
    "use": PROJECT["dependencies"] + PYPROJECT["build-system"]["requires"],
    "test": PROJECT["dependencies"] + [pin for pins in EXTRAS.values() for pin in pins],
    "cmake": GROUPS["cmake"],
    "uv": GROUPS["uv"],
}


def entries(lock: str) -> list[str]:
    """Each requirement with its hashes and with the comment that says who asks for it."""
    text = (TOOLS / "locks" / f"{lock}.txt").read_text()
    return re.findall(r"^\S.*(?:\n +.*)*", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE), re.MULTILINE)


def test_each_pin_has_its_lock() -> None:
    assert set(ASKED) == {path.stem for path in (TOOLS / "locks").iterdir()}
    assert {lock for lock in ASKED if lock in GROUPS} == set(GROUPS)


@pytest.mark.parametrize("lock", ASKED)
def test_a_lock_holds_what_is_asked_for(lock: str) -> None:
    by_us = re.compile(r"(via|# ) +(occbench-tools \(|tools/pyproject\.toml:)")
    held = entries(lock)
    assert {entry.split()[0] for entry in held if by_us.search(entry)} <= set(ASKED[lock]), "run tools/lock"
    assert set(ASKED[lock]) <= {entry.split()[0] for entry in held}, "run tools/lock"


@pytest.mark.parametrize("lock", ASKED)
def test_every_version_has_hashes_and_no_address(lock: str) -> None:
    for entry in entries(lock):
        assert re.match(r"[a-z0-9._-]+==[^ ]+ (;.+ )?\\\n +--hash=sha256:[0-9a-f]{64}", entry)
        assert "://" not in entry and "index-url" not in entry


def test_users_get_what_is_tested() -> None:
    use, test = ({re.split(r" [;\\]", entry)[0] for entry in entries(lock)} for lock in ("use", "test"))
    assert use <= test, "run tools/lock"
