# SPDX-License-Identifier: Apache-2.0
"""The Python part of the wheel, away from the source: all that the tools read is in it, and its commands
read a copied run. `tools/release` checks the whole wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("scikit_build_core")

import made_up
from pages import H200, built

pytestmark = pytest.mark.slow

FILES = ("cases.csv", "samples.csv.gz", "samples.csv", "env.json")


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content, and a copy of a run."""
    away = tmp_path_factory.mktemp("away")
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", away]
    words += ["--disable-pip-version-check", "--config-settings=wheel.cmake=false", made_up.REPOSITORY]
    subprocess.run([sys.executable, *words], check=True)
    (wheel,) = away.glob("occbench-*.whl")
    zipfile.ZipFile(wheel).extractall(away / "wheel")
    (away / "run").mkdir()
    for name in FILES:
        if (H200 / name).exists():
            shutil.copy(H200 / name, away / "run")
    return away


def test_build_leaves_no_files_in_the_source(away: Path) -> None:
    words = ["git", "status", "--short", "--ignored", "tools", "python"]
    said = subprocess.run(words, cwd=made_up.REPOSITORY, capture_output=True, text=True)
    if said.returncode:
        pytest.skip("no git checkout")
    caches = ("__pycache__/", ".ruff_cache/")
    littered = [line for line in said.stdout.splitlines() if line[:2] == "!!" and not line.endswith(caches)]
    assert littered == [], away


def test_wheel_contains_the_tools_data(away: Path) -> None:
    for name in ("occbench_fleet", "occbench_tools"):
        package = away / "wheel" / name
        source = made_up.REPOSITORY / "tools" / name
        files = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc"]
        assert {path.relative_to(source) for path in files} == {
            path.relative_to(package) for path in package.rglob("*") if path.is_file()
        }
    assert not (package / "schema.json").is_symlink()
    (metadata,) = (away / "wheel").glob("occbench-*.dist-info")
    licenses = {path.name for path in (metadata / "licenses").rglob("*") if path.is_file()}
    assert licenses == {"LICENSE", "THIRD-PARTY.txt"}
    said = (metadata / "METADATA").read_text()
    assert "Project-URL: Source, " in said and "\n# occbench\n" in said
    assert (package / "schema.json").read_bytes() == (made_up.REPOSITORY / "results/schema.json").read_bytes()


@pytest.mark.parametrize("words", ["validate", "report", "explain", "compare run run", "teach"])
def test_wheel_commands_work(words: str, away: Path) -> None:
    if words == "teach" and not built():
        pytest.skip("teach asks occbench calc, and none is built")
    module, *folders = words.split()
    call = [sys.executable, "-m", "occbench_tools", module, *(folders or ["run"])]
    environment = os.environ | {"PYTHONPATH": str(away / "wheel"), "OCCBENCH": str(built())}
    done = subprocess.run(call, cwd=away, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout
