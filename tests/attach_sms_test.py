# SPDX-License-Identifier: Apache-2.0
"""`occbench attach --sms` beside a fake driver: launches on a part of the SMs, and dependent launches."""

import unittest

from attached import OPENED, AttachCase
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


if __name__ == "__main__":
    unittest.main()
