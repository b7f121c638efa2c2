# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` on a GPU, with kernels that were made for their verdict."""

import os
import subprocess
import tempfile
import unittest
from functools import partial
from pathlib import Path
from typing import ClassVar

from command import OCCBENCH, ROOT, on_device, rows

SEEDS = int(os.environ.get("PLANTED_SEEDS", "2"))  # of each planted program


@on_device
class OnDevice(unittest.TestCase):
    """A program of kernels that were made for their verdict. PLANTED names it, and
    PLANTED_SEEDS how many seeds are tried."""

    VERDICTS: ClassVar = {
        "needs_occupancy": "needs occupancy",
        "saturated": "saturated",
        "needs_l1": "needs L1",
        "faster_lower": "faster at lower occupancy",
        "few_waves": "saturated",
        "steps_by_waves": "waves",
        "barrier": "skipped",
        "two_kinds": "unknown",
        "asks_for_smem": "skipped",
    }

    def planted(self, arguments: str, *before: str) -> str:
        """What the program prints, with these words before its name."""
        program = os.environ.get("PLANTED", str(ROOT / "build/ci/tests/attach_planted"))
        words = [*before, program, *arguments.split()]
        done = subprocess.run(words, text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_verdicts_of_synthetic_kernels(self) -> None:
        run = partial(self.planted, "400")
        plain = run()
        self.assertEqual(run(), plain)
        with tempfile.TemporaryDirectory() as folder:
            attach = (str(OCCBENCH), "attach")
            self.assertEqual(run(*attach, "--observe", "--output", f"{folder}/o", "--"), plain)
            for seed in range(1, 1 + SEEDS):
                to = f"{folder}/{seed}"
                words = ("--budget", "500%", "--seed", str(seed), "--output", to, "--")
                with self.subTest(seed=seed):
                    self.assertEqual(run(*attach, *words), plain)
                    found = rows(Path(to) / "kernels.csv")
                    for kernel, verdict in self.VERDICTS.items():
                        message = {r["verdict"] for r in found if f"{kernel}(" in r["kernel"]}
                        self.assertEqual(message, {verdict}, kernel)

    def test_sm_verdicts_of_synthetic_kernels(self) -> None:
        run = partial(self.planted, "200 sms")
        plain = run()
        self.assertEqual(run(), plain)
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(1, 1 + SEEDS):
                to = f"{folder}/{seed}"
                words = ("attach", "--sms", "--budget", "500%", "--seed", str(seed), "--output", to, "--")
                with self.subTest(seed=seed):
                    self.assertEqual(run(str(OCCBENCH), *words), plain)
                    found = rows(Path(to) / "kernels.csv")
                    for kernel, column, verdict in (
                        ("memory_bound", "sm_verdict", "memory-bound"),
                        ("sm_bound", "sm_verdict", "SM-bound"),
                        ("small_grid", "sm_verdict", "grid too small"),
                        ("dependent", "sm_verdict", "SM-bound"),
                        ("tensor_bound", "sm_verdict", "SM-bound"),
                        ("in_updated_graph", "verdict", "saturated"),
                    ):
                        of = [row for row in found if f"{kernel}(" in row["kernel"]]
                        judged = {row[column] for row in of if row["launches"] != row["captured"]}
                        self.assertEqual(judged, {verdict}, kernel)

    def test_verdicts_of_a_synthetic_graph(self) -> None:
        run = partial(self.planted, "4000 graph")
        plain = run()
        self.assertEqual(run(), plain)
        with tempfile.TemporaryDirectory() as folder:
            words = ("attach", "--budget", "500%", "--output", f"{folder}/g", "--")
            self.assertEqual(run(str(OCCBENCH), *words), plain)
            found = rows(Path(folder) / "g/kernels.csv")
            for kernel, verdict in (
                ("needs_occupancy", "needs occupancy"),
                ("saturated", "saturated"),
                ("needs_l1", "needs L1"),
            ):
                own = [r for r in found if f"{kernel}(" in r["kernel"] and r["graph_id"]]
                arms = [r for r in rows(Path(folder) / "g/arms.csv") if r["kernel_id"] == own[0]["kernel_id"]]
                self.assertEqual({r["verdict"] for r in own}, {verdict}, (own, arms))

    def test_verdicts_in_a_green_context(self) -> None:
        """A grid of one residency is several waves of a part of the SMs. On all of them it may be changed as
        well, as its machine code waits for no other block; a single launch gives no verdict."""
        run = partial(self.planted, "300 green")
        plain = run()
        with tempfile.TemporaryDirectory() as folder:
            words = ("attach", "--budget", "500%", "--output", f"{folder}/g", "--")
            self.assertEqual(run(str(OCCBENCH), *words), plain)
            found = rows(Path(folder) / "g/kernels.csv")
        on_a_part = [(r["verdict"], r["why"]) for r in found if r["sm_count"] == "32"]
        on_all = [(r["verdict"], r["why"]) for r in found if r["sm_count"] != "32"]
        self.assertEqual(on_a_part, 2 * [("saturated", "")], found)
        self.assertEqual(on_all, [("unknown", "about 60 launches more")], found)


if __name__ == "__main__":
    unittest.main()
