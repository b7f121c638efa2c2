# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself: one version everywhere, pinned actions, names that exist."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "tools/pyproject.toml").read_text())["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
CONTAINERFILE = (ROOT / "Containerfile").read_text()


def test_citation_and_changelog_are_of_this_version() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)
    package = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    own = re.search(r'__version__ = "(.+)"', (ROOT / "python/occbench/__init__.py").read_text())
    versions = {cited[1], newest[1], package["version"], own[1]}
    assert versions == {PROJECT["version"]}
    assert package["optional-dependencies"]["tools"] == [f"occbench-tools=={PROJECT['version']}"]


def test_the_changelog_names_every_script_that_moved_and_what_serves_now() -> None:
    rows = re.findall(r"^\| `tools/(\S+?)[ `].*\| `occbench (\S+?)[ `]", CHANGELOG, re.M)
    moved = {link.name for link in (ROOT / "tools").iterdir() if link.is_symlink()}
    assert {old for old, _ in rows} == moved
    assert {f"occbench-{new}" for _, new in rows} <= set(PROJECT["scripts"])


def test_every_action_is_pinned_to_a_commit() -> None:
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        uses = re.findall(r"uses: (\S+)", workflow.read_text())
        assert uses
        assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []


def test_the_image_is_built_with_functions_that_exist() -> None:
    words = re.search(r"source tools/lib\.sh && (.*?)cmake --install", CONTAINERFILE, re.DOTALL)
    called = {call.split()[0] for call in words[1].replace("\\\n", " ").split("&&") if call.strip()}
    defined = set(re.findall(r"^(\w+)\(\)", (ROOT / "tools/lib.sh").read_text(), re.MULTILINE))
    assert called
    assert called <= defined


def test_what_contributing_points_to_is_there() -> None:
    for page in re.findall(r"docs/[\w.]+\.md|tests/[\w.]+\.py", (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / page).exists(), page
