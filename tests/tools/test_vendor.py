# SPDX-License-Identifier: Apache-2.0
"""What stands in tools/occbench_tools/vendor is what its README names, and its licence goes along."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted((ROOT / "tools/occbench_tools/vendor").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_vendored_files_match_the_readme_hashes(folder: Path) -> None:
    said = dict(re.findall(r"(?m)^\| `([^`]+)`.* \| (\w{64}) \|$", (folder / "README.md").read_text()))
    files = [path for path in folder.iterdir() if path.name != "README.md"]
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files} == said


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_packages_contain_the_vendored_licence(folder: Path) -> None:
    everything = squeezed((ROOT / "cmake/licenses/THIRD-PARTY.txt").read_text())
    _, _, terms = (folder / "LICENSE").read_text().partition("\n")
    assert squeezed(terms) in everything
