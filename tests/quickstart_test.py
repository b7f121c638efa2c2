# SPDX-License-Identifier: Apache-2.0
"""tools/quickstart on a GPU, from a clone to the page. tests/tools/test_quickstart.py has the rest of it."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import HAS_GPU, ROOT

OUTSIDE = ("CUDAARCHS", "DISPLAY", "OCCBENCH", "PRESET", "VIRTUAL_ENV", "WAYLAND_DISPLAY")


@unittest.skipUnless(HAS_GPU, "needs a GPU")
class OnDevice(unittest.TestCase):
    def test_quickstart_reports_on_a_fresh_clone(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        clone = folder / "a clone"  # with a blank, as folders have
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        environment = {name: value for name, value in os.environ.items() if name not in OUTSIDE}
        ran = subprocess.run(
            [clone / "tools/quickstart"], cwd=folder, env=environment, capture_output=True, text=True
        )
        self.assertIn(ran.returncode, (0, 1), ran.stderr[-3000:])  # 1: a case is invalid
        page = clone / re.search(r"(?m)^look: +(?:xdg-open )?(\S+)", ran.stdout)[1]
        self.assertGreater(page.stat().st_size, 1_000_000)
        self.assertGreater(len(list(page.parent.glob("*.png"))), 30)
        measured = json.loads((page.parent / "env.json").read_text())
        self.assertNotIn("model", page.parent.parent.name)
        self.assertTrue(measured["gpu"]["uuid"].startswith("GPU-"))
        (command,) = re.findall(r"(?m)^next: +(\S+ explain .+)$", ran.stdout)
        self.assertEqual(subprocess.run(command, shell=True, cwd=clone, capture_output=True).returncode, 0)


if __name__ == "__main__":
    unittest.main()
