# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` on programs of the fake driver, for the tests of it. FAKE_DRIVER names their folder."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command import OCCBENCH, ROOT, rows

FAKE = Path(os.environ.get("FAKE_DRIVER", ROOT / "build/ci/tests/fake_driver")).resolve()
OPENED, LINKED, PROFILED = (FAKE / f"attach_{kind}" for kind in ("opened", "linked", "profiled"))
PROC = f"{OPENED} proc"
HANDLERS, PLACES, STATIC = (FAKE / f"attach_{kind}" for kind in ("handlers", "places", "static"))
PLUGIN = FAKE / "libattach_plugin.so"
Done = subprocess.CompletedProcess


def driver(version: int = 13000) -> dict[str, str]:
    """The environment in which programs find the fake driver of this version of CUDA."""
    return {"LD_LIBRARY_PATH": f"{FAKE}/lib-{version}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


def run_tool(word: str, *words: object) -> "Done[str]":
    """A command of this tree's tools."""
    return subprocess.run(
        [sys.executable, "-m", "occbench_tools", word, *map(str, words)],
        text=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
    )  # fmt: skip


class AttachCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def command(self, *words: object, output: str | None = "r") -> list[str]:
        """`words` as one text are split at blanks."""
        all_words = str(words[0]).split() if len(words) == 1 else list(map(str, words))
        to = [] if output is None else ["--output", str(self.folder / output)]
        at = all_words.index("--") if "--" in all_words else len(all_words)
        return [str(OCCBENCH), "attach", *all_words[:at], *to, *all_words[at:]]

    def attach(
        self,
        *words: object,
        output: str | None = "r",
        before: tuple[str, ...] = (),
        **variables: str,
    ) -> "Done[str]":
        return subprocess.run(
            [*before, *self.command(*words, output=output)],
            text=True,
            capture_output=True,
            timeout=120,
            cwd=self.folder,
            env=os.environ | driver() | variables,
        )

    def kernels(self, output: str = "r") -> list[dict[str, str]]:
        return rows(self.folder / output / "kernels.csv")

    def launches(self, output: str = "r") -> int:
        return sum(int(kernel["launches"]) for kernel in self.kernels(output))

    def env(self, output: str = "r") -> dict[str, object]:
        return json.loads((self.folder / output / "env.json").read_text())
