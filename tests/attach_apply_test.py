# SPDX-License-Identifier: Apache-2.0
"""`occbench attach --apply` on programs of the fake driver. None of them asserts a time."""

import signal
import unittest
from pathlib import Path

from attached import OPENED, AttachCase, Done, driver
from command import rows

PROC = f"{OPENED} proc"


class Apply(AttachCase):
    def apply(self, words: str, **variables: str) -> "Done[str]":
        """The fake driver notes 'launches changed' of each run."""
        self.log = self.folder / "log"
        self.log.unlink(missing_ok=True)
        return self.attach(words, output="applied", FAKE_LOG=str(self.log), **variables)

    def noted(self) -> list[str]:
        return self.log.read_text().splitlines()

    def runs(self) -> list[dict[str, str]]:
        return rows(self.folder / "applied/runs.csv")

    def test_applies_level_to_all_launches_of_alternate_runs(self) -> None:
        for n, way in enumerate(("proc", "opened", "kernel", "own_stream", "ex")):
            with self.subTest(way):
                self.folder = Path(self.folder) / str(n)
                self.folder.mkdir()
                done = self.apply(f"--apply ^lower=1/2 --pairs 2 -- {OPENED} {way} lower_k 300")
                self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
                plain, lower = "300 0", "300 300"
                self.assertEqual(self.noted(), [plain, plain, lower, lower, plain])
                self.assertRegex(done.stderr, r"lower_k +4 of 8 +300 +300\n")
                self.assertIn("stdout was the same in all 5 runs, byte for byte", done.stderr)
                self.assertIn("range of 2 pairs", done.stderr)
                self.assertEqual(
                    [r["levels"] for r in self.runs()], ["plain", "plain", "applied", "applied", "plain"]
                )
                self.assertEqual({r["same_stdout"] + r["exit_code"] for r in self.runs()}, {"10"})
                self.assertEqual(self.env("applied")["kind"], "attach_apply")
                self.assertFalse((self.folder / "applied/runs").exists())

    def test_applies_best_level_of_a_finished_run(self) -> None:
        program = f"{PROC} lower_k 1500"
        self.attach(f"-- {program}", output=None)
        kept = self.folder / "results/attach/attach_opened"
        for words in (f"--apply best -- {program}", f"--apply best --from {kept}"):
            done = self.apply(
                words + " --pairs 6" if "--from" in words else words.replace("best", "best --pairs 6")
            )
            self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
            self.assertEqual(sorted(self.noted()), 7 * ["1500 0"] + 6 * ["1500 1500"])
            self.assertRegex(done.stderr, "lower_k +2 of 8 ")  # the law's fastest: a quarter of the warps
            self.assertIn("95 % of 6 pairs", done.stderr)
            self.assertRegex(done.stderr, r"Expected by single launches: -[23]\d\.\d % of GPU time")
            for path in (self.folder / "applied").iterdir():
                path.unlink()

    def test_best_level_falls_back_to_the_launch_shape(self) -> None:
        """Arguments may be new in each process: without advice for them, that for their shape holds."""
        self.attach(f"-- {PROC} lower_k 1500", output=None)
        kept = self.folder / "results/attach/attach_opened"
        own = self.kernels(str(kept))
        self.assertEqual([r["verdict"] for r in own], ["faster at lower occupancy"])
        text = (kept / "kernels.csv").read_text()
        elsewhere = text.replace(own[0]["arguments"], "0123456789abcdef")
        known = elsewhere + text.splitlines()[1].replace("faster at lower occupancy", "saturated") + "\n"
        green = text.replace(",132\n", ",16\n")  # faster on a part of the SMs: that says nothing of them all
        retired = text.replace("faster at lower occupancy", "faster lower")  # of schema 6
        tables = {elsewhere: "1500 1500", known: "1500 0", green: "1500 0", retired: "1500 1500"}
        for table, changed in tables.items():
            (kept / "kernels.csv").write_text(table)
            self.apply(f"--apply best --from {kept} --pairs 1")
            self.assertIn(changed, self.noted())
            for path in (self.folder / "applied").iterdir():
                path.unlink()

    def test_other_kernels_are_not_changed(self) -> None:
        done = self.apply(f"--apply ^latency=1/4 --pairs 1 -- {PROC} flat_k 200 unload")
        self.assertEqual(self.noted(), ["400 0", "400 0", "400 200"], done.stderr)

    def test_compares_step_times_of_the_program(self) -> None:
        """Between the profiler's calls, and from one push of a range to the next."""
        for words, end, changed, steps, name in (
            ("--profiler-api", "profiled", "900 300", "1", "Step between the profiler's calls: "),
            # The fake device's kernels take longer than the program, which waits for none of them.
            ("--by-range", "ranges", "1501 1501", "", "Step 'step' is not compared: "),
        ):
            with self.subTest(end):
                done = self.apply(f"--apply ^lower=1/2 --pairs 2 {words} -- {PROC} lower_k 300 {end}")
                self.assertEqual(done.returncode, 0, done.stderr)
                plain = changed.split()[0] + " 0"
                self.assertEqual(self.noted(), [plain, plain, changed, changed, plain])
                first, *runs = self.runs()
                self.assertEqual({r["steps"] for r in runs}, {steps})
                self.assertEqual((first["steps"], first["gpu_time_s"]), ("", ""))
                self.assertIn(name, done.stderr)
                self.assertEqual("step_time_change" in self.env("applied"), bool(steps))
                self.assertTrue(all(0 < float(r["step_mean_s"]) < float(r["wall_s"]) for r in runs if steps))
            for path in (self.folder / "applied").iterdir():
                path.unlink()

    def test_stops_pairs_once_the_gain_is_significant(self) -> None:
        """The fake's launches take the same time in each run: 20 % less, or no more and no less."""
        done = self.apply(f"--apply ^lower=1/2 -- {PROC} lower_k 300")
        self.assertEqual(len(self.noted()), 17, done.stderr)
        self.assertRegex(done.stderr, r"GPU time: 30.30 ms plain, 24.30 ms .* -19.8 % \(.*95 % of 8 pairs")
        self.assertNotIn("Not shown", done.stderr)
        done = self.attach(f"--apply ^flat=1/2 --pairs 9 -- {PROC} flat_k 300", output="same")
        self.assertIn("GPU time", done.stderr)
        self.assertIn("95 % of 9 pairs", done.stderr)
        self.assertIn("Not shown by the GPU time: 0 lies in its interval.", done.stderr)

    def test_kernels_in_graphs(self) -> None:
        """The graph's node keeps the level: one launch of it is one."""
        done = self.apply(f"--apply ^lower=1/2 --pairs 1 -- {PROC} lower_k,flat_k 200 replay")
        self.assertEqual(self.noted(), ["200 0", "200 0", "200 200"], done.stderr)
        self.assertRegex(done.stderr, r"lower_k +4 of 8 +200 +200\n")
        self.assertIn("stdout was the same in all 3 runs, byte for byte", done.stderr)
        for path in (self.folder / "applied").iterdir():
            path.unlink()
        program = f"--budget 500% -- {PROC} lower_k,flat_k 3000 replay"
        self.attach(program, output="found")
        done = self.apply(f"--apply best --from {self.folder}/found --pairs 1")
        self.assertEqual(self.noted(), ["3000 0", "3000 0", "3000 3000"], done.stderr)
        self.assertRegex(done.stderr, r"Expected by single launches: -1[78]\.\d % of GPU time")

    def test_reports_different_stdout(self) -> None:
        done = self.apply(f"--apply flat=1/2 --pairs 2 -- {PROC} flat_k 100 says")
        self.assertEqual((done.returncode, done.stdout), (125, "failed 0\nas it was\n"))
        self.assertIn("stdout DIFFERS with fewer warps", done.stderr)
        done = self.attach(
            "--apply", "flat=1/2", "--pairs", "2", "--", "sh", "-c", f"echo $$; {PROC} flat_k 100"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("stdout differs between plain runs", done.stderr)

    def test_no_output(self) -> None:
        words = ("--apply", "flat=1/2", "--pairs", "1", "--", "sh", "-c", f"{PROC} flat_k 100 > /dev/null")
        done = self.attach(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("stdout was empty in all runs, so that it says nothing", done.stderr)

    def test_reports_failing_program(self) -> None:
        cases = {  # its end, the code, the sentence, whether stdout was shown
            "exit42": (42, "failed in run 1, without changes: exit code 42", "failed 0\n"),
            "crash": (128 + signal.SIGSEGV, "was ended by signal 11", "failed 0\n"),
            "fails": (
                9,
                "it went wrong\noccbench: the program failed in run 3, with fewer warps: exit code 9",
                "failed 0\n",
            ),
        }
        for end, (code, message, shown) in cases.items():
            with self.subTest(end):
                done = self.apply(f"--apply flat=1/2 -- {PROC} flat_k 100 {end}")
                self.assertEqual((done.returncode, done.stdout), (code, shown), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertNotIn("Wall time", done.stderr)
                self.assertNotIn("blocks per SM", done.stderr)

    def test_bad_input(self) -> None:
        self.attach(f"-- {PROC} flat_k 500", output="flat")
        self.attach(f"--observe -- {PROC} lower_k 500", output="seen")
        cases = {
            "--apply best": (125, "which program?"),
            "--apply best -- true": (125, "results/attach/true: there is no such folder yet"),
            "--apply best --from nowhere": (125, "nowhere"),
            "--apply best --from .": (125, "env.json"),
            "--apply best --from flat": (125, "no kernel is faster with fewer warps"),
            "--apply best --from seen": (125, "only observed (--observe): no level was tried"),
            "--apply k=2 -- true": (125, "the level lies between 0 and 1"),
            "--apply k -- true": (125, "write best, or KERNEL=LEVEL"),
            "--apply (=1/2 -- true": (125, "--apply '('"),
            "--apply k=much -- true": (125, "--apply 'much' is not a share"),
            "--apply k=1/2 --pairs 0 -- true": (125, "--pairs '0' is less than 1"),
            "--apply k=1/2 --observe -- true": (125, "--apply changes launches"),
            "--apply k=1/2 -- no-such-program": (127, "No such file"),
            "--apply k=1/2 -- true": (125, "no launch was changed"),
            f"--apply other=1/2 -- {PROC} flat_k 10": (125, "no launch was changed"),
        }
        for words, (code, message) in cases.items():
            with self.subTest(words):
                done = self.attach(words, output=None)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertFalse((self.folder / "results").exists())

    def test_reports_unsupported_driver(self) -> None:
        for words in (f"{OPENED} opened flat_k 10", f"{PROC} flat_k 10"):
            variables = driver(11040) if "opened flat" in words else {"FAKE_REFUSES": "1"}
            done = self.attach(f"--apply flat=1/2 -- {words}", output="none", **variables)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("no launch was changed", done.stderr)


if __name__ == "__main__":
    unittest.main()
