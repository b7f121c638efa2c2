# SPDX-License-Identifier: Apache-2.0
"""`calc --grid` against committed runs: waves, idle SMs, and the share of a partial last wave."""

import csv
import io
import unittest
from typing import ClassVar

from command import ROOT, occbench

FOLDERS = (
    line.strip()
    for line in (ROOT / "results/committed.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
)
DEVICES = {"nvidia-h200": "h200", "nvidia-h100-80gb-hbm3": "h100"}
NUMBERS = (
    "block_size",
    "registers_per_thread",
    "static_smem_bytes",
    "dynamic_smem_bytes",
    "barriers",
    "carveout_percent",
    "grid_size",
)
SMS = 132

Pair = tuple[dict[str, str], dict[str, str]]


def answered(folder: str) -> list[Pair]:
    """Each measured case of `waves` and `short_blocks`, and calc's answer to its launch."""
    with (ROOT / "results" / folder / "cases.csv").open(encoding="utf-8") as file:
        cases = [
            row
            for row in csv.DictReader(file)
            if row["experiment"] in ("waves", "short_blocks") and row["status"] == "valid"
        ]
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(("device", *NUMBERS))
    device = DEVICES[folder.split("/")[0]]
    for case in cases:
        writer.writerow((device, *(case[name] for name in NUMBERS)))
    done = occbench("calc", "--batch", "-", stdin=table.getvalue(), gpu=False)
    return list(zip(cases, csv.DictReader(io.StringIO(done.stdout)), strict=True))


class Committed(unittest.TestCase):
    def test_every_case(self) -> None:
        for folder in FOLDERS:
            pairs = answered(folder)
            self.assertGreater(len(pairs), 80)
            for case, answer in pairs:
                with self.subTest(case=case["case_id"]):
                    self.assertEqual(answer["blocks_per_sm"], case["blocks_per_sm"])
                    self.assertAlmostEqual(float(answer["waves"]), float(case["waves"]), delta=1e-12)
                    if int(case["grid_size"]) >= SMS:  # the census of a smaller grid launches more blocks
                        self.assertEqual(answer["idle_sms"], case["idle_sms"])
            with self.subTest(folder=folder):
                self.check_idle(pairs)
                self.check_tails(pairs)

    def check_idle(self, pairs: list[Pair]) -> None:
        """With a block per SM the throughput is that of the SMs that have one."""
        rates = {
            int(case["grid_size"]): (float(case["throughput"]), int(answer["idle_sms"]))
            for case, answer in pairs
            if case["curve"] == "partial waves" and case["blocks_per_sm"] == "1"
        }
        small = [grid for grid in rates if grid < SMS]
        self.assertGreaterEqual(len(small), 4)
        for grid in small:
            rate, idle = rates[grid]
            self.assertEqual(round(SMS * rate / rates[SMS][0]), SMS - idle, grid)

    def check_tails(self, pairs: list[Pair]) -> None:
        """What a grid takes beyond its whole waves: with a block per SM as said, with more at most that."""
        for resident in ("1", "16"):
            times = {
                int(case["grid_size"]): (float(case["time_median_s"]), float(answer["tail_share"]))
                for case, answer in pairs
                if case["curve"] == "partial waves" and case["blocks_per_sm"] == resident
            }
            wave = SMS * int(resident)
            for grid, (time, tail) in times.items():
                whole = times.get(grid // wave * wave)
                if tail == 0 or whole is None:
                    continue
                measured = (time - whole[0]) / time
                self.assertLess(measured, tail * 1.005, grid)
                if resident == "1":
                    launch = 2 * times[wave][0] - times[2 * wave][0]  # takes no wave's time
                    self.assertAlmostEqual((time - whole[0]) / (time - launch), tail, delta=0.01 * tail)


class Arguments(unittest.TestCase):
    KERNEL: ClassVar = [
        "calc",
        "--device",
        "h200",
        "--block-size",
        "8x8x4",
        "--registers",
        "32",
        "--format",
        "csv",
    ]

    def row(self, *more: str) -> dict[str, str]:
        done = occbench(*self.KERNEL, *more, gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return next(csv.DictReader(io.StringIO(done.stdout)))

    def test_multiplies_grid_dimensions(self) -> None:
        row = self.row("--grid", "9x32x1")
        self.assertEqual((row["block_size"], row["grid_size"], row["idle_sms"]), ("256", "288", "0"))
        self.assertAlmostEqual(float(row["waves"]), 288 / (8 * 132), delta=1e-12)
        self.assertAlmostEqual(float(row["occupancy_device"]), 288 / (8 * 132), delta=1e-12)
        self.assertEqual(self.row("--grid", "288")["waves"], row["waves"])

    def test_cells_are_empty_without_a_grid(self) -> None:
        row = self.row()
        for name in ("grid_size", "waves", "idle_sms", "tail_share", "occupancy_device"):
            self.assertEqual(row[name], "", name)

    def test_rejects_invalid_shapes(self) -> None:
        for grid in ("0", "9x", "x9", "1x1x1x1", "1x70000", "-1", "2x3.5", "9X0"):
            done = occbench(*self.KERNEL, "--grid", grid, gpu=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), grid)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn("--grid", done.stderr)
        done = occbench("calc", "--device", "h200", "--block-size", "8x8x65", "--registers", "8", gpu=False)
        self.assertEqual(done.returncode, 2)

    def test_reports_unknown_sm_count(self) -> None:
        words = ["calc", "--device", "cc9.0", "--block-size", "256", "--registers", "32", "--grid", "9"]
        self.assertIn("the number of SMs is unknown; name the device", occbench(*words, gpu=False).stdout)

    def test_reports_unpublished_sm_count(self) -> None:
        source = "(56 SMs: TechPowerUp, not published by NVIDIA)"
        for device, has_source in (("NVIDIA L2", True), ("h200", False), ("Tesla V100-SXM2-32GB", False)):
            words = ["calc", "--device", device, "--block-size", "256", "--registers", "32", "--grid", "9"]
            self.assertEqual(source in " ".join(occbench(*words, gpu=False).stdout.split()), has_source)

    def test_grid_must_be_divisible_by_the_cluster(self) -> None:
        done = occbench(*self.KERNEL, "--cluster-size", "4", "--grid", "9", gpu=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            "cannot launch: a grid of 9 blocks is not a multiple of the cluster size 4", done.stdout
        )


if __name__ == "__main__":
    unittest.main()
