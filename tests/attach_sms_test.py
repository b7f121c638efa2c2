# SPDX-License-Identifier: Apache-2.0
"""`occbench attach --sms` beside a fake driver: launches on a part of the SMs, and dependent launches."""

import json
import unittest

from attached import FAKE, OPENED, AttachCase
from command import rows, validated

MANY_WAVES, ONE_BLOCK_PER_SM = 132 * 8 * 20, 132


class AttachSms(AttachCase):
    def arms(self, output: str = "r") -> dict[str, float]:
        """Samples by the SMs of the arms that have fewer."""
        found = rows(self.folder / output / "arms.csv")
        return {a["sm_count"]: int(a["samples"]) for a in found if a["arm"] == "fewer SMs"}

    def test_verdicts(self) -> None:
        """By laws that fake_device.cpp states."""
        expected = {
            ("flat_sms", MANY_WAVES): ("SM-bound", "0", {"96", "64", "32"}),
            ("flat_part", MANY_WAVES): ("partly SM-bound", "0", {"96", "64", "32"}),
            ("flat_k", MANY_WAVES): ("memory-bound", "68", {"96", "64", "32"}),
            ("flat_k", ONE_BLOCK_PER_SM): ("grid too small", "68", {"96", "64", "32"}),
        }
        for n, ((name, grid), (verdict, spare, counts)) in enumerate(expected.items()):
            with self.subTest(name, grid=grid):
                to = f"r{n}"
                done = self.attach(
                    f"--sms --budget 100% -- {OPENED} proc {name} 1500 return {grid}", output=to
                )
                self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
                (kernel,) = self.kernels(to)
                self.assertEqual((kernel["sm_verdict"], kernel["spare_sms"]), (verdict, spare), done.stderr)
                arms = self.arms(to)
                self.assertEqual(set(arms), counts)
                self.assertGreaterEqual(min(arms.values()), 6)
                self.assertEqual(validated(self.folder / to).returncode, 0)

    def test_driver_without_green_contexts(self) -> None:
        done = self.attach(f"--sms -- {OPENED} proc latency_k 500", FAKE_NO_GREEN="1")
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        self.assertEqual(done.stderr.count("no launch was confined to fewer SMs: the driver refused"), 1)
        (kernel,) = self.kernels()
        self.assertEqual((kernel["verdict"], kernel["sm_verdict"]), ("needs occupancy", ""))

    def test_a_green_context_of_the_program(self) -> None:
        done = self.attach(f"--sms -- {OPENED} proc latency_k 500 green")
        self.assertTrue(done.stdout.endswith("failed 0\n"), done.stderr)
        own = [k for k in self.kernels() if k["sm_count"] != "132"]
        self.assertTrue(own)
        self.assertEqual({k["sm_verdict"] for k in own}, {""})

    def test_grids_within_one_residency(self) -> None:
        """Changed where the machine code shows that no block waits for another."""
        image = str(FAKE.parent / "attach_block_waits-90.cubin")
        for name, why in (("sums", ""), ("waits_spin_barrier", "grid within one residency")):
            words = f"--sms --budget 100% -- {OPENED} opened {name} 1500 return 1056"
            done = self.attach(words, output=name, IMAGE=image)
            self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
            (kernel,) = self.kernels(name)
            self.assertEqual(kernel["why"], why)
            self.assertEqual(kernel["verdict"] == "skipped", bool(why))

    def test_findings(self) -> None:
        done = self.attach(f"--sms --budget 100% -- {OPENED} proc flat_k 1500 return {ONE_BLOCK_PER_SM}")
        self.assertIn("100.0 % by fewer SMs", done.stderr)
        document = json.loads((self.folder / "r/findings.json").read_text())
        (found,) = (h["sentences"] for h in document["headings"] if h["title"] == "on fewer SMs")
        self.assertEqual(found[0].split(".")[0], "SMs that can be freed at a cost of at most 5 %: 68 of 132")
        self.assertRegex(found[1], r"^`flat_k` .* is grid too small: 64 of 132 SMs cost 2\.\d % \(")

    def test_dependent_launches(self) -> None:
        """The timed ones, and those behind them, lose their early start; those with events keep them."""
        words = f"{OPENED} ex latency_k 2000"
        for end, fewest, most in (("early", 1, 1999), ("event", 2000, 2000)):
            with self.subTest(end):
                done = self.attach(f"-- {words} {end}", output=end)
                self.assertEqual(done.returncode, 0, done.stderr)
                count = int(done.stdout.split()[1])
                self.assertTrue(fewest <= count <= most, done.stdout)
                (kernel,) = self.kernels(end)
                self.assertEqual(kernel["verdict"], "needs occupancy" if end == "early" else "skipped")


if __name__ == "__main__":
    unittest.main()
