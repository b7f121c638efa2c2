# SPDX-License-Identifier: Apache-2.0
"""`occbench caps --run` on a kernel with a register problem: what a GPU says of its caps."""

import json
import os
import subprocess
import sys
import unittest

from command import OCCBENCH, ROOT, on_device

WORDS = ["--rounds", "9", "--value", "time: (.*) ms", "--format", "json", "--run", "./app", "2048"]


class OnDevice(unittest.TestCase):
    @on_device
    def test_inner_loop_spills_cost_more_than_warps_gain(self) -> None:
        source = str(ROOT / "tests/samples/matmul.cu")
        nvcc = ["nvcc", "-O3", "-arch=native", source, "-o", "app"]
        call = [sys.executable, "-m", "occbench_tools", "caps", *WORDS, "--", *nvcc]
        tools = os.environ | {"PYTHONPATH": str(ROOT / "tools"), "OCCBENCH": str(OCCBENCH)}
        done = subprocess.run(call, capture_output=True, text=True, env=tools)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = {row["build"]: row for row in json.loads(done.stdout)["builds"]}
        self.assertGreater(rows["cap 32"]["time_ratio_low"], 1.1)
        self.assertLess(rows["cap 128"]["time_ratio_high"], 1)  # its own bounds make it spill
        self.assertEqual(rows["cap 128"]["samples"], 9)


if __name__ == "__main__":
    unittest.main()
