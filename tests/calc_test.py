# SPDX-License-Identifier: Apache-2.0
"""What `occbench calc` says of launches that fail, of the next cliff, and of block sizes."""

import csv
import io
import json
import unittest

from command import HEADER, occbench

H200 = ("calc", "--device", "h200")
SMALL = (*H200, "--block-size", "256", "--registers", "32")
OPT_IN = "first cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 57344), or the "


class Launches(unittest.TestCase):
    def test_rejects_launches_that_must_fail(self) -> None:
        for footprint, why in (
            ("256 32 --static-smem 64K", "65,536 B of static shared memory exceeds the 49,152 B"),
            ("256 32 --dynamic-smem 228K", "0 B static + 233,472 B dynamic shared memory exceeds the"),
            ("256 32 --max-block-size 128", "block size 256 exceeds the kernel's own limit of 128 threads"),
            ("256 256", "256 registers per thread: a thread has at most 255"),
        ):
            threads, registers, *smem = footprint.split()
            words = ("--block-size", threads, "--registers", registers, *smem)
            with self.subTest(footprint):
                said = occbench(*H200, "--format", "json", *words, gpu=False)
                self.assertEqual((said.returncode, said.stderr), (1, ""))
                self.assertIn(f"cannot launch: {why}", json.loads(said.stdout)["status"])

    def test_batch_reports_a_failing_launch_only_in_its_row(self) -> None:
        table = f"{HEADER}\nh200,256,32,65536,0\nh200,256,32,0,57344\nh200,256,32,0,49152\n"
        done = occbench("calc", "--batch", "-", stdin=table, gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        static, dynamic, plain = csv.DictReader(io.StringIO(done.stdout))
        self.assertIn("cannot launch: 65,536 B of static", static["status"])
        self.assertEqual((static["blocks_per_sm"], static["occupancy"]), ("0", "0"))
        self.assertIn(OPT_IN, dynamic["status"])
        self.assertEqual((dynamic["blocks_per_sm"], plain["status"]), ("4", "ok"))

    def test_explains_the_smem_opt_in(self) -> None:
        said = occbench(*SMALL, "--dynamic-smem", "56K", gpu=False)
        self.assertEqual(said.returncode, 0)
        self.assertIn(OPT_IN, said.stdout)
        self.assertNotIn("cudaFuncSetAttribute", occbench(*SMALL, "--dynamic-smem", "48K", gpu=False).stdout)


class Hiding(unittest.TestCase):
    def test_hide_counts_warps_per_scheduler(self) -> None:
        words = ("calc", "--device", "a100", "--hide", "200", "--instructions", "10")
        said = json.loads(occbench(*words, "--format", "json", gpu=False).stdout)
        needed = [said[name] for name in ("warps_textbook", "warps_per_scheduler", "warps_per_sm")]
        self.assertEqual(needed, [20, 21, 84])
        self.assertAlmostEqual(said["issue_share"], 16 * 10 / 209)  # 16 of 64 slots per scheduler
        self.assertIn("more occupancy cannot", occbench(*words, gpu=False).stdout)

    def test_hide_reports_that_the_warps_fit(self) -> None:
        words = (*H200, "--hide", "4", "--format")
        row = next(csv.DictReader(io.StringIO(occbench(*words, "csv", gpu=False).stdout)))
        # As measured: 16 warps of an FMA chain with a latency of 4 cycles reach the peak.
        self.assertEqual((row["warps_per_sm"], row["issue_share"]), ("16", "1"))
        self.assertIn("fit its 64 warp slots", occbench(*words, "table", gpu=False).stdout)


class Cliffs(unittest.TestCase):
    def test_next_cliff_changes_occupancy(self) -> None:
        words = (*H200, "--block-size", "512", "--registers", "36")
        said = json.loads(occbench(*words, "--format", "json", gpu=False).stdout)
        cliffs = said["cliffs"]
        self.assertEqual(cliffs["registers_per_thread"]["gains"]["value"], 32)
        self.assertEqual(cliffs["block_size"]["loses"]["value"], 544)  # not 513, which no person would take
        self.assertIsNone(cliffs["block_size"]["gains"])  # 384 threads: a block more, and no warp
        for dial in cliffs.values():
            for side, better in (("gains", True), ("loses", False)):
                if dial[side]:
                    self.assertEqual(dial[side]["occupancy"] > said["occupancy"], better, dial)

    def test_reports_joint_gain_of_registers_and_smem(self) -> None:
        words = (*H200, "--block-size", "256", "--registers", "33", "--dynamic-smem", "32K")
        table = occbench(*words, gpu=False).stdout
        self.assertIn("together 32 registers (-1) and 32,256 B (-512): 7 blocks, 87.5 %", table)
        said = json.loads(occbench(*words, "--format", "json", gpu=False).stdout)["gains_together"]
        self.assertEqual(said["registers_per_thread"]["value"], 32)
        self.assertEqual(said["dynamic_smem_bytes"]["occupancy"], 0.875)


class BlockSizes(unittest.TestCase):
    WORDS = (*H200, "--block-size", "all", "--registers", "40", "--dynamic-smem", "4K")

    def test_ranks_all_block_sizes_in_every_format(self) -> None:
        table = list(csv.DictReader(io.StringIO(occbench(*self.WORDS, "--format", "csv", gpu=False).stdout)))
        said = json.loads(occbench(*self.WORDS, "--format", "json", gpu=False).stdout)
        self.assertEqual(sorted(int(row["block_size"]) for row in table), list(range(32, 1025, 32)))
        self.assertEqual([int(row["block_size"]) for row in table], [each["block_size"] for each in said])
        best = [(-float(row["occupancy"]), int(row["block_size"])) for row in table]
        self.assertEqual(best, sorted(best))
        for row in table[:3]:
            words = (*self.WORDS[:4], row["block_size"], *self.WORDS[5:], "--format", "json")
            alone = json.loads(occbench(*words, gpu=False).stdout)
            self.assertEqual(alone["occupancy"], float(row["occupancy"]))

    def test_marks_api_pick_and_sorts_unlaunchable_last(self) -> None:
        done = occbench(*self.WORDS, gpu=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("768 (the API's pick)", done.stdout)
        done = occbench(*H200, "--block-size", "all", "--registers", "200", gpu=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("cannot launch", done.stdout.splitlines()[-1])
        done = occbench(*H200, "--block-size", "all", "--registers", "32", "--static-smem", "64K", gpu=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot launch: 65,536 B of static", done.stdout.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
