# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` on programs of a fake driver that launch CUDA graphs."""

import json
import os
import subprocess
import unittest

from attached import OPENED, AttachCase, driver, run_tool
from command import rows, validated


class Graphs(AttachCase):
    def test_counts_kernels_of_graphs(self) -> None:
        done = self.attach(f"-- {OPENED} proc flat_k 100 graph")
        graphs = {
            k["kernel"]: (k["launches"], k["graph_kernels"]) for k in self.kernels() if "graph" in k["why"]
        }
        self.assertEqual(graphs, {"(CUDA graph)": ("1", ""), "(CUDA graph of 3 kernels)": ("10", "3")})
        self.assertIn("11 launches of CUDA graphs ran 30 kernels", done.stderr)

    def test_levels_inside_graphs(self) -> None:
        """Of each kernel alone and of all: what they do to the graph's time, which is 505 us."""
        for n, end in enumerate(("replay", "replay2")):
            program = f"{OPENED} proc latency_k:40,l1_k 3000 {end}"
            plain = subprocess.run(
                program.split(), text=True, capture_output=True, env=os.environ | driver()
            ).stdout
            done = self.attach(f"--budget 200% -- {program}", output=f"r{n}")
            self.assertEqual((done.returncode, done.stdout), (0, plain), done.stderr)
            kernels = self.kernels(f"r{n}")
            (whole,) = (k for k in kernels if k["kernel"] == "(CUDA graph of 5 kernels)")
            launches = 3000 * (n + 1)
            self.assertEqual((whole["launches"], whole["verdict"]), (str(launches), "needs occupancy"))
            self.assertAlmostEqual(float(whole["time_total_s"]), launches * 505e-6, delta=1e-4)
            inside = {k["kernel"]: k for k in kernels if k["graph_id"] == whole["kernel_id"]}
            message = {k: (row["graph_kernels"], row["verdict"]) for k, row in inside.items()}
            self.assertEqual(message, {"latency_k": ("3", "needs occupancy"), "l1_k": ("2", "needs L1")})
            self.assertEqual({row["launches"] for row in inside.values()}, {str(launches)})
            self.assertAlmostEqual(float(inside["l1_k"]["l1_change"]), 2 * 50 / 505, delta=1e-3)
            arms = [a for a in rows(self.folder / f"r{n}/arms.csv") if a["samples"] != "0"]
            for kernel_id, (below, times) in {
                whole["kernel_id"]: (100, (5 + 100 * 3 * 6 / 5 + 300, 5 + 100 * 3 * 2 + 300)),
                inside["latency_k"]["kernel_id"]: (6, (5 + 100 * 3 * 6 / 5 + 200, 5 + 100 * 3 * 2 + 200)),
            }.items():
                lower = [a for a in arms if a["kernel_id"] == kernel_id and a["arm"] == "lower"]
                self.assertLess(int(lower[0]["blocks_per_sm"]), below)
                for arm, time in zip(lower, times, strict=False):
                    self.assertAlmostEqual(float(arm["time_median_s"]), time * 1e-6, delta=0.5e-6)
            self.assertRegex(done.stderr, r"latency_k +21120 +\d+ +3 .* needs occupancy +8 registers fewer")
            self.assertIn("CUDA graphs take 100 % of GPU time. With 75 % of the warps", done.stderr)
            self.assertNotIn("known well enough", done.stderr)  # nothing else has any time
            folder = self.folder / f"r{n}"
            found = validated(folder)
            self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
            message = json.loads(run_tool("explain", folder, "--format", "json").stdout)["in CUDA graphs"]
            self.assertRegex(
                message[0], r"^`\(CUDA graph of 5 kernels\)` \(100.0 % of .* 75 % of its kernels' warps"
            )
            self.assertRegex(
                message[1], r"^`latency_k` .*33 % of its warps .* 118.* 8 registers fewer would add"
            )
            for command in (("report", folder), ("compare", folder, folder)):
                self.assertEqual(run_tool(*command).returncode, 0)

    def test_graph_updates_by_the_program(self) -> None:
        words = f"{OPENED} proc latency_k 2000"
        plain = subprocess.run(
            [*words.split(), "update", "21120"], text=True, capture_output=True, env=os.environ | driver()
        )
        done = self.attach(f"--budget 100% -- {words} update 21120")
        self.assertEqual((plain.returncode, done.stdout), (0, plain.stdout), done.stderr)
        verdicts = {k["kernel"]: k["verdict"] for k in self.kernels()}
        self.assertEqual(verdicts["latency_k"], "needs occupancy", done.stderr)
        applied = self.attach(f"--apply latency=1/2 -- {words} update 21120", output="applied")
        self.assertRegex(applied.stderr, r"latency_k +4 of 8 +2,000 +2,000\n")
        self.assertIn("stdout was the same in all", applied.stderr)
        self.attach(f"-- {words} resize 21120", output="resized")  # another shape: another graph
        self.assertIn("CUDA graph that the program updates", {k["why"] for k in self.kernels("resized")})

    def test_graph_updates_from_other_graphs(self) -> None:
        for end, words, variables, kernels in (
            ("set_node", "latency_k", {}, {"latency_k": "needs occupancy"}),
            ("recapture", "latency_k:40,flat_k", {}, {"latency_k": "needs occupancy", "flat_k": "saturated"}),
            ("recapture_resized", "latency_k", {}, {"latency_k": "needs occupancy"}),
            ("recapture", "latency_k", {"FAKE_BRANCHES": "1"}, {}),  # which node got which is not certain
        ):
            program = f"{OPENED} proc {words} 3000 {end} 21120"
            plain = subprocess.run(
                program.split(), text=True, capture_output=True, env=os.environ | driver() | variables
            )
            to = f"{end} {len(variables)}"
            done = self.attach(f"--budget 100% -- {program}", output=to, **variables)
            self.assertEqual((plain.returncode, done.stdout), (0, plain.stdout), done.stderr)
            judged = {k["kernel"].split(":")[0]: k["verdict"] for k in self.kernels(to) if k["graph_id"]}
            self.assertEqual({k: v for k, v in judged.items() if v not in ("", "skipped")}, kernels, to)
        self.assertIn("CUDA graph that the program updates", {k["why"] for k in self.kernels(to)})

    def test_graphs_that_are_not_throttled(self) -> None:
        program = f"{OPENED} proc latency_k:40,flat_k 2000"
        done = self.attach(f"-- {program} disable", output="updated")
        graphs = [k for k in self.kernels("updated") if "graph of" in k["kernel"]]
        self.assertEqual({k["launches"] for k in graphs}, {"1000"}, done.stderr)
        self.assertIn("CUDA graph that the program updates", {k["why"] for k in graphs})
        self.assertTrue(done.stdout.endswith("failed 0\n"))
        for to, words, variables in (
            ("observed", "--observe", {}),
            ("not asked", "--kernel ^other", {}),
            ("refused", "", {"FAKE_REFUSES": "1"}),
            ("one residency", "", {}),
        ):
            grid = "132" if to == "one residency" else "21120"
            done = self.attach(f"{words} -- {program} replay {grid}", output=to, **variables)
            self.assertEqual((done.returncode, done.stdout[-9:]), (0, "failed 0\n"), done.stderr)
            changed = {x["arm"] for x in rows(self.folder / to / "launches.csv")} - {"untouched"}
            self.assertEqual(changed, set(), to)

    def test_budget_limits_extra_time_of_graphs(self) -> None:
        self.attach(f"--budget 5% -- {OPENED} proc latency_k:40,flat_k 5000 replay")
        launches = rows(self.folder / "r/launches.csv")
        extra = sum(max(0.0, float(x["time_s"]) - 505e-6) for x in launches)
        self.assertLess(extra, 0.05 * 5000 * 505e-6 * 1.05)
        self.assertGreater(extra, 0)


if __name__ == "__main__":
    unittest.main()
