# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself: one version everywhere, pinned actions, names that exist."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def test_versions_agree() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)
    own = re.search(r'__version__ = "(.+)"', (ROOT / "python/occbench/__init__.py").read_text())
    program = re.search(r"project\(occbench VERSION (\S+) ", (ROOT / "CMakeLists.txt").read_text())
    assert {cited[1], newest[1], program[1], own[1]} == {PROJECT["version"]}


def test_changelog_maps_removed_scripts_to_commands() -> None:
    rows = dict(re.findall(r"^\| `tools/(\S+?)[ `].*\| `occbench (\S+?)[ `]", CHANGELOG, re.M))
    assert len(rows) == 11
    assert [old for old in rows if (ROOT / "tools" / old).exists()] == []
    assert {f"occbench-{new}" for new in rows.values()} <= set(PROJECT["scripts"])


def test_actions_are_pinned_to_commits() -> None:
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        uses = re.findall(r"uses: (\S+)", workflow.read_text())
        assert uses
        assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []


def test_cmake_sources_are_pinned_to_commits() -> None:
    """A tag may be moved to other code."""
    tags = [
        tag
        for file in (ROOT / "cmake").glob("*.cmake")
        for tag in re.findall(r"^ *GIT_TAG (\S+)", file.read_text(), re.M)
    ]
    assert tags and [tag for tag in tags if not re.fullmatch("[0-9a-f]{40}", tag)] == []


def test_release_builds_share_the_architectures() -> None:
    """tools/release, the workflow's container and the image name the GPUs of cmake/Architectures.cmake."""
    architectures = (ROOT / "cmake/Architectures.cmake").read_text()
    default = re.search(r"set\(CMAKE_CUDA_ARCHITECTURES ([\w -]+)\)", architectures)
    wanted = default[1].replace(" ", ";")
    for name in ("tools/release", "pyproject.toml", "Containerfile"):
        assert wanted in (ROOT / name).read_text(), name


def test_files_named_in_contributing_exist() -> None:
    for page in re.findall(r"docs/[\w.]+\.md|tests/[\w.]+\.py", (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / page).exists(), page
