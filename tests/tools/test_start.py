# SPDX-License-Identifier: Apache-2.0
"""The console scripts where packages are missing: one line says which, and how to get it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

import made_up
from occbench_tools import start
from planted import ENTRIES
from test_isolated import CALLS

# A process in which nobody finds these packages.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
missing, word = sys.argv[1].split(","), sys.argv[2]
sys.argv[:3] = ["occbench-" + word]
from occbench_tools import start
sys.exit(getattr(start, word.replace("-", "_"))())
"""
BUT_NUMPY = ",".join(set(start.PACKAGES) - {"numpy"})  # as where no extra is installed
NEED_NO_EXTRA = {"audit", "caps", "inspect-lines", "machine-code", "validate"}


def call(missing: str, word: str, *words: str, cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, missing, word, *words], cwd=cwd, capture_output=True,
        text=True, env=os.environ | {"OCCBENCH": "/nowhere/occbench", "CUDA_HOME": "/nowhere"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def said(word: str, package: str, extra: str) -> tuple[int, str, str]:
    wanted = f"'occbench[{extra}]'" if extra else package
    return 5, "", f"occbench: {word} needs {package}, which is not installed: pip install {wanted}\n"


def test_each_command_has_its_module() -> None:
    for word, module in ENTRIES.items():
        assert callable(getattr(start, word.replace("-", "_")))
        assert callable(importlib.import_module(module).main)
    with pytest.raises(AttributeError):
        start.nobody  # noqa: B018


@pytest.mark.parametrize("word", sorted(set(CALLS) - NEED_NO_EXTRA))
@pytest.mark.parametrize("words", [["--help"], None])
def test_names_the_missing_extra(word: str, words: list[str] | None, run: Path) -> None:
    extra = "fleet" if word == "fleet" else "report"
    if word == "fleet" and words:
        assert call(BUT_NUMPY, word, *words, cwd=run)[0] == 0  # what reads much is loaded when it is needed
        return
    code, out, line = call(BUT_NUMPY, word, *(words or CALLS[word]), cwd=run)
    assert (code, out, line.count("\n")) == (5, "", 1)
    assert line.startswith(f"occbench: {word} needs ")
    assert line.endswith(f", which is not installed: pip install 'occbench[{extra}]'\n")


@pytest.mark.parametrize("word", sorted(NEED_NO_EXTRA))
def test_commands_without_extras_work(word: str, run: Path) -> None:
    code, _, line = call(BUT_NUMPY, word, "--help", cwd=run)
    assert (code, line) == (0, "")
    # As where all is installed.
    found = call(BUT_NUMPY, word, *CALLS[word], cwd=run)
    assert found == call("nothing", word, *CALLS[word], cwd=run)
    assert "which is not installed" not in found[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "package", "name", "extra"),
    [("compare", "rich", "rich", "report"), ("plot", "textalloc", "textalloc", "report"),
     ("plot", "matplotlib", "matplotlib", "report"),
     ("explain", "pandas", "pandas", "report"), ("fleet", "polars", "polars", "fleet"),
     ("fleet", "pandas", "pandas", "fleet")],
)  # fmt: skip
def test_names_a_single_missing_package(word: str, package: str, name: str, extra: str, run: Path) -> None:
    assert call(name, word, *CALLS[word], cwd=run) == said(word, package, extra)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sklearn", "scipy", "sklearn,scipy"])
def test_a_prediction_needs_scikit_learn(name: str) -> None:
    runs = [str(made_up.newest_run(gpu)) for gpu in ("nvidia-h100-80gb-hbm3", "nvidia-h200")]
    profile = made_up.REPOSITORY / "tests/tools/ncu_raw.csv"
    code, out, line = call(name, "compare", *runs, "--predict-for", str(profile), cwd=made_up.REPOSITORY)
    missing = "--predict-for needs scikit-learn, which is not installed: pip install 'occbench[fleet]'"
    assert (code, out, line) == (5, "", f"occbench compare: {missing}\n")


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of ours that is not there is a fault, and nothing that a user could install."""
    monkeypatch.setitem(start.TOOLS, "validate", "occbench_tools.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        start.validate()
