# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` on programs of a fake driver, whose kernels' times follow stated laws of warps."""

import csv
import json
import os
import re
import subprocess
import unittest

from attached import FAKE, LINKED, OPENED, AttachCase, driver, run_tool
from command import OCCBENCH, on_terminal, rows, validated


class Attach(AttachCase):
    def test_hooks_every_way_to_the_driver(self) -> None:
        for n, words in enumerate(
            [
                *(f"{OPENED} {way} flat_k" for way in ("opened", "proc", "kernel", "own_stream", "ex")),
                f"{LINKED} linked flat_k",
            ]
        ):
            with self.subTest(words):
                done = self.attach(f"-- {words} 500", output=f"r{n}")
                self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
                (kernel,) = self.kernels(f"r{n}")
                self.assertEqual((kernel["kernel"], kernel["launches"]), ("flat_k", "500"))
                self.assertEqual(kernel["verdict"], "saturated")

    def test_verdicts(self) -> None:
        expected = {
            "latency_k:40": "needs occupancy",
            "flat_k": "saturated",
            "lower_k": "faster at lower occupancy",
            "l1_k": "needs L1",
            "kinds_k": "unknown",
        }
        for seed in ("1", "2", "3"):
            for name, verdict in expected.items():
                with self.subTest(name, seed=seed):
                    to = f"{name}{seed}".replace(":", "-")
                    done = self.attach(f"--seed {seed} -- {OPENED} proc {name} 800", output=to)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    (kernel,) = self.kernels(to)
                    self.assertEqual(kernel["verdict"], verdict, done.stderr)
                    tried = f"\n  occbench attach --apply best --from {self.folder / to}\n"
                    self.assertEqual(
                        tried in done.stderr, verdict == "faster at lower occupancy", done.stderr
                    )
                    if name == "kinds_k":
                        self.assertIn("several kinds", kernel["why"])
                    if name == "latency_k:40":  # 6 blocks of 8 warps; 8 registers fewer give 8
                        self.assertEqual(kernel["next_step"], "8 registers fewer")
                        self.assertAlmostEqual(float(kernel["gain"]), 1 - 6 / 8, delta=0.01)

    def test_wave_quantization_is_not_occupancy_need(self) -> None:
        done = self.attach(f"-- {OPENED} proc steps_k 600 return {132 * 16}")
        (kernel,) = self.kernels()
        self.assertEqual(kernel["verdict"], "waves", done.stderr)

    def test_levels_match_the_requested_blocks(self) -> None:
        self.attach(f"--levels 3/4,50%,0.25 -- {OPENED} proc flat_k 800")
        arms = rows(self.folder / "r/arms.csv")
        self.assertEqual(
            [(a["arm"], a["blocks_per_sm"]) for a in arms],
            [("untouched", "8"), ("pinned", "8"), ("lower", "6"), ("lower", "4"), ("lower", "2")],
        )
        for arm in arms:
            self.assertGreaterEqual(int(arm["samples"]), 6)
            self.assertEqual(int(arm["added_smem_bytes"]) > 0, arm["arm"] == "lower")

    def test_skipped(self) -> None:
        cases = {
            "one residency": ("flat_k 100 return 1056", "grid within one residency"),
            "small grid": ("flat_k 100 return 132", "no more blocks than SMs"),
            "one block": ("flat_k:255 100 return 3000", ""),
            "cooperative": ("flat_k 100 cooperative", "cooperative launch"),
            "graph": ("flat_k 100 graph", "CUDA graph"),
            "nccl": ("ncclDevKernel_AllReduce 100", "NCCL"),
            "reader": ("flat_k 100 asks", "reads its shared memory's size"),
        }
        for n, (name, (words, why)) in enumerate(cases.items()):
            with self.subTest(name):
                way = "ptx" if name == "reader" else "proc"
                self.assertEqual(self.attach(f"-- {OPENED} {way} {words}", output=f"r{n}").returncode, 0)
                self.assertTrue(any(why in k["why"] for k in self.kernels(f"r{n}")))
        self.attach(f"--kernel ^other -- {OPENED} proc flat_k 100", output="other")
        self.assertEqual(self.kernels("other")[0]["why"], "not asked for")

    def test_tries_each_register_cap(self) -> None:
        words = f"--registers 255,64,40,32 --budget 500% -- {OPENED} ptx caps_k 400"
        done = self.attach(words)
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        found = {r["register_cap"]: r for r in rows(self.folder / "r/registers.csv")}
        self.assertEqual(list(found), ["64", "40", "32"])  # 255 changes nothing
        # 2 blocks of 128 registers; 4, 6 and 8 with the caps.
        for cap, blocks, time in (("64", "4", 2 / 4), ("40", "6", 2 / 6 * 1.48), ("32", "8", 2 / 8 * 1.64)):
            self.assertEqual(found[cap]["blocks_per_sm"], blocks)
            self.assertAlmostEqual(float(found[cap]["change"]), time - 1, delta=0.01)
        self.assertIn("caps_k: fastest with at most 32 registers, -58.", done.stderr)
        found_by_validate = validated(self.folder / "r")
        self.assertEqual(found_by_validate.returncode, 0, found_by_validate.stdout)
        self.assertEqual(run_tool("explain", self.folder / "r").returncode, 0)
        changed = {launch["arm"] for launch in rows(self.folder / "r/launches.csv")}
        self.assertEqual(changed, {"untouched"})

    def test_no_caps_for_kernels_with_variables_or_without_ptx(self) -> None:
        for n, words in enumerate(("ptx caps_k 300 variable", "asked caps_k:128 300")):
            done = self.attach(f"--registers 64 -- {OPENED} {words}", output=f"r{n}")
            self.assertEqual(self.kernels(f"r{n}")[0]["why"], "no PTX that a cap changes", done.stderr)
            self.assertIn("No kernel has PTX that a cap changes", done.stderr)
            self.assertFalse((self.folder / f"r{n}/registers.csv").exists())

    def test_program_may_raise_its_smem_limit_later(self) -> None:
        """A CUkernel's attribute no longer counts where its function's was set."""
        done = self.attach(f"--budget 100% -- {OPENED} kernel latency_k 600 raises")
        self.assertEqual(done.stdout, "failed 0\n", done.stderr)

    def test_levels_of_cluster_launches(self) -> None:
        """As long as the driver still finds room for one, and for fewer than before."""
        done = self.attach(f"--budget 100% -- {OPENED} ex latency_k 2000 clusters")
        self.assertEqual(done.stdout, "failed 0\n", done.stderr)
        (kernel,) = self.kernels()
        self.assertEqual(kernel["verdict"], "needs occupancy", kernel)

    def test_all_includes_grids_within_one_residency(self) -> None:
        grid = 132 * 8
        self.attach(f"-- {OPENED} proc flat_k 600 return {grid}", output="without")
        self.assertEqual(self.kernels("without")[0]["why"], "grid within one residency")
        done = self.attach(f"--all -- {OPENED} proc flat_k 600 sync {grid}", output="with")
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        self.assertEqual(self.kernels("with")[0]["verdict"], "saturated", done.stderr)
        self.attach(f"--all -- {OPENED} proc flat_k 100 cooperative", output="never")
        self.assertIn("cooperative launch", {k["why"] for k in self.kernels("never")})

    def test_observe_and_delays_change_no_launch(self) -> None:
        for n, words in enumerate(("--observe", "--after 1000", "--skip 1000")):
            done = self.attach(f"{words} -- {OPENED} proc latency_k 500", output=f"r{n}")
            arms = {launch["arm"] for launch in rows(self.folder / f"r{n}/launches.csv")}
            self.assertEqual(arms, {"untouched"}, done.stderr)
            self.assertEqual(self.kernels(f"r{n}")[0]["launches"], "500")

    def test_duration_starts_after_the_delay(self) -> None:
        words = f"--after 2000 --duration 0.1 --skip 0 -- {OPENED} proc flat_k 2500"
        self.attach(words, FAKE_WALL="1")  # 0.2 s, then 0.05
        arms = {launch["arm"] for launch in rows(self.folder / "r/launches.csv")}
        self.assertEqual(arms, {"untouched", "pinned", "lower"})

    def test_profiler_api_limits_measurement(self) -> None:
        for way in (OPENED, LINKED):
            done = self.attach(f"--profiler-api -- {way} proc latency_k 500 profiled", output=way.name)
            (kernel,) = self.kernels(way.name)
            self.assertEqual((kernel["launches"], kernel["verdict"]), ("500", "needs occupancy"), done.stderr)
        done = self.attach(f"--profiler-api -- {OPENED} proc latency_k 500", output="never")
        self.assertEqual(done.stdout, "failed 0\n")
        self.assertIn("no kernel was launched between cudaProfilerStart and cudaProfilerStop", done.stderr)
        done = self.attach(f"--profiler-api --apply latency=1/2 -- {OPENED} proc latency_k 5", output="a")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (125, 1), done.stderr)
        self.assertIn("no launch was changed", done.stderr)

    def test_budget_limits_extra_time(self) -> None:
        for budget in (0.05, 0.5):
            to = f"r{budget}"
            self.attach(f"--budget {budget} -- {OPENED} proc latency_k 3000", output=to)
            launches = rows(self.folder / to / "launches.csv")
            extra = sum(max(0.0, float(x["time_s"]) - 101e-6) for x in launches)
            self.assertLess(extra, budget * 3000 * 101e-6 * 1.02)
            self.assertGreater(extra, 0)

    def test_nvtx_ranges_split_kernels(self) -> None:
        program = f"{OPENED} proc latency_k:40"
        done = self.attach(f"--by-range -- {program} 300 ranges")
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        launches = {kernel["range"]: kernel["launches"] for kernel in self.kernels()}
        many = "(other ranges, beyond the limit)"
        self.assertEqual(
            launches, {"": "300", "step": "300", "forward": "300", "lib: solve": "600", many: "1"}
        )
        self.assertRegex(done.stderr, r"latency_k +lib: solve .* needs occupancy ")
        self.assertIn("By range, of GPU time: lib: solve 40.0 %, ", done.stderr)
        self.assertIn("latency_k in lib: solve", run_tool("explain", self.folder / "r").stdout)
        compared = run_tool("compare", self.folder / "r", self.folder / "r").stdout
        self.assertIn("of 5 kernels, 0 slower", compared)
        for n, (words, variables, message) in enumerate(
            [
                ("--by-range", {}, "no kernel was launched within an NVTX range"),
                ("--by-range", {"NVTX_INJECTION64_PATH": "/no/such.so"}, "names another tool already"),
                ("--observe", {}, ""),
            ]
        ):
            end = "return" if not variables and "by" in words else "ranges"
            done = self.attach(f"{words} -- {program} 100 {end}", output=f"r{n}", **variables)
            self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
            self.assertIn(message, done.stderr)
            (kernel,) = self.kernels(f"r{n}")
            self.assertEqual(kernel["range"], "")

    def test_same_seed_gives_same_order(self) -> None:
        orders = []
        for n, seed in enumerate((1, 1, 2)):
            self.attach(f"--seed {seed} -- {OPENED} proc flat_k 300", output=f"r{n}")
            orders.append([x["arm"] + x["blocks_per_sm"] for x in rows(self.folder / f"r{n}/launches.csv")])
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_children_none_excludes_children(self) -> None:
        self.attach("--children", "none", "--", "sh", "-c", f"{OPENED} proc flat_k 10; true")
        self.assertFalse((self.folder / "r/kernels.csv").exists())
        self.attach(f"--children none -- {OPENED} proc flat_k 10", output="own")
        self.assertEqual(self.kernels("own")[0]["launches"], "10")

    def test_keeps_existing_ld_preload(self) -> None:
        done = self.attach("--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=f"{FAKE}/lib-13000/libcuda.so.1")
        self.assertRegex(done.stdout, r"^\S+/libcuda\.so\.1:\S+/liboccbench_attach\.so\n$")

    def test_program_arguments_are_passed_unchanged(self) -> None:
        done = self.attach("--", "printf", "%s|", "--output", "a\nb", "--", "[x,y]", "%%")
        self.assertEqual(done.stdout, "--output|a\nb|--|[x,y]|%%|")

    def test_splits_kernel_modes_by_preceding_kernel(self) -> None:
        """Three times as long behind one kernel as behind the other, and both need occupancy."""
        done = self.attach(f"-- {OPENED} proc behind_k:40 2000 between")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [row for row in self.kernels() if row["kernel"] == "behind_k"]
        message = {
            row["after"]: (row["verdict"], round(float(row["time_mean_s"]) * 1e6, -1)) for row in found
        }
        self.assertEqual(message.pop("")[0], "unknown")
        self.assertEqual(message, {"flat_k": ("needs occupancy", 100), "some_k": ("needs occupancy", 300)})
        self.assertEqual(sum(int(row["launches"]) for row in found), 2000)
        self.assertIn("behind_k after flat_k", done.stderr)

    def test_program_keeps_stdin_and_stdout(self) -> None:
        done = subprocess.run(
            [str(OCCBENCH), "attach", "--output", str(self.folder / "r"), "--", "cat"],
            input="in\n", text=True, capture_output=True, timeout=60,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "in\n"))

    def test_tools_report_the_same_as_attach(self) -> None:
        for n, words in enumerate(("latency_k:40 600", "kinds_k 600", "flat_k 300 capture")):
            done = self.attach(f"-- {OPENED} proc {words}", output=f"r{n}")
            folder = self.folder / f"r{n}"
            found = validated(folder)
            self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
            message = run_tool("explain", folder, "--format", "json")
            self.assertEqual(message.returncode, 0, message.stderr)
            said, lines = json.loads(message.stdout)["the whole program"], done.stderr.splitlines()
            is_timed = "capture" not in words
            self.assertEqual("GPU busy" in lines[2], is_timed)
            self.assertEqual(said, lines[2 : 2 + is_timed] + lines[is_timed - 1 - len(said) : -1])
            first = said[0]
            page = run_tool("report", folder)
            self.assertEqual(page.returncode, 0, page.stderr)
            self.assertIn(first.split(";")[0], (folder / "report.html").read_text())
            self.assertEqual(run_tool("compare", folder, folder).returncode, 0)

    def test_lines_fit_a_narrow_terminal(self) -> None:
        for n, (call, parts) in enumerate(
            {
                f"-- {OPENED} proc latency_k:40 600": (
                    "3/4 warps",
                    "needs occupancy",
                    "GPU time with a verdict",
                ),
                f"--registers 32,64 -- {OPENED} ptx caps_k 600": ("at most 32 registers", "--check-output."),
            }.items()
        ):
            words = self.command(call, output=f"n{n}")[1:]
            message = on_terminal(80, *words, environment=os.environ | driver())
            lines = [line for line in message.splitlines() if str(self.folder) not in line]
            self.assertLessEqual(max(map(len, lines)), 80, message)
            for part in parts:
                self.assertIn(part, message)

    def test_table_rows_have_equal_lengths(self) -> None:
        self.attach(f"-- {OPENED} proc latency_k:40 600")
        for name in ("kernels.csv", "arms.csv"):
            with (self.folder / "r" / name).open(newline="") as file:
                lengths = {len(row) for row in csv.reader(file)}
            self.assertEqual(len(lengths), 1, name)
        self.assertTrue(re.fullmatch(r"GPU-[0-9a-f-]{36}", str(self.env()["gpu"]["uuid"])))  # type: ignore[index]


if __name__ == "__main__":
    unittest.main()
