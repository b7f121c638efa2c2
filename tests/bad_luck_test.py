# SPDX-License-Identifier: Apache-2.0
"""Runs that are ended early, or find no room: what is finished is kept, and --resume does the rest."""

import csv
import io
import json
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from command import OCCBENCH, PARAMETERS, content, occbench, on_device, rows, validated, working_folder


class BadLuck:
    """Runs that end early: each finished row is readable, and --resume does the rest."""

    RUN: tuple[str, ...]
    LIST: tuple[str, ...]
    LONG: tuple[str, ...] = ()  # with the first two words of RUN, what takes longer than a second

    def assert_completes(self, folder: Path) -> None:
        early = {row["case_id"] for row in rows(folder / "cases.csv")}
        done = occbench("run", "--resume", str(folder))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        ids = [row["case_id"] for row in rows(folder / "cases.csv")]
        self.assertEqual(len(ids), len(set(ids)), "a case has two rows")
        planned = json.loads(occbench("list", *self.LIST, "--format", "json").stdout)["cases"]
        self.assertEqual(set(ids), {case["case_id"] for case in planned})
        self.assertLessEqual(early, set(ids))
        check = validated(folder)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def run_and_signal(self, folder: Path, number: signal.Signals) -> "tuple[int, str]":
        """Sends the signal once some cases are on disk; exit code and what was said."""
        for _ in range(10):  # a model may be done before the signal reaches it
            with subprocess.Popen(
                [OCCBENCH, "run", *self.RUN, "--output", folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as process:
                cases, end = folder / "cases.csv", time.monotonic() + 120
                while process.poll() is None and (not cases.exists() or cases.read_bytes().count(b"\n") < 40):
                    self.assertLess(time.monotonic(), end, "no case was finished in time")
                    time.sleep(0.001)
                process.send_signal(number)
                said = process.communicate()[0]
            if process.returncode != 0:
                break
            shutil.rmtree(folder)
        return process.returncode, said

    def test_kill(self) -> None:
        with working_folder() as folder:
            code, _ = self.run_and_signal(folder / "run", signal.SIGKILL)
            self.assertEqual(code, -signal.SIGKILL)
            text = (folder / "run/cases.csv").read_text()
            whole = text[: text.rindex("\n") + 1]
            self.assertGreaterEqual(len(list(csv.DictReader(io.StringIO(whole)))), 39)
            self.assert_completes(folder / "run")

    def test_signals(self) -> None:
        """Ctrl-C, what a scheduler sends, and a terminal that goes."""
        for number, exit_code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number):
                self.ends_by(number, exit_code)

    def test_ignored_sighup_stays_ignored(self) -> None:
        """A run under nohup outlives its terminal."""
        words = [OCCBENCH, "run", *self.RUN[:2], *self.LONG, "--output", "run"]
        with working_folder() as folder, subprocess.Popen(
            words, stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        ) as process:  # fmt: skip
            cases, end = folder / "run/cases.csv", time.monotonic() + 120
            while not cases.exists() or cases.read_bytes().count(b"\n") < 2:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            process.send_signal(signal.SIGHUP)
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(1)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), 128 + signal.SIGTERM)

    def test_stop_after(self) -> None:
        with working_folder() as folder:
            done = occbench("run", *self.RUN[:2], *self.LONG, "--output", "run", "--stop-after", "1s")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("next   occbench run --resume run\n", done.stdout)
            self.assertTrue((folder / "run/cases.csv").read_text().endswith("\n"))

    def ends_by(self, number: signal.Signals, exit_code: int) -> None:
        with working_folder() as folder:
            code, said = self.run_and_signal(folder / "run", number)
            self.assertEqual(code, exit_code, said)
            self.assertRegex(" ".join(said.split()), r": interrupted after [\d,]+ of [\d,]+ cases, in ")
            self.assertIn("next   occbench run --resume run\n", said)
            text = (folder / "run/cases.csv").read_text()
            self.assertTrue(text.endswith("\n"))
            self.assertGreaterEqual(len(rows(folder / "run/cases.csv")), 39)
            self.assert_completes(folder / "run")

    def test_full_disk(self) -> None:
        with working_folder() as folder:
            done = occbench("run", *self.RUN, "--output", "run", room_bytes=64_000)
            self.assertEqual(done.returncode, 4, done.stderr)
            line = done.stderr.splitlines()[-1]
            self.assertIn(
                ": File too large; earlier rows are kept, make room and continue with --resume", line
            )
            for name in ("cases.csv", "samples.csv"):
                self.assertTrue((folder / "run" / name).read_text().endswith("\n"), name)
            self.assert_completes(folder / "run")

    def test_full_disk_before_the_first_file(self) -> None:
        with working_folder() as folder:
            done = occbench("run", *self.RUN, "--output", "run", room_bytes=1000)
            self.assertEqual((done.returncode, done.stdout), (4, ""))
            self.assertIn("File too large", done.stderr)
            self.assertEqual(content(folder), {})


@on_device
class BadLuckOnDevice(BadLuck, unittest.TestCase):
    RUN = LIST = ("--preset", "quick")


class BadLuckOfAModel(BadLuck, unittest.TestCase):
    # Many cases that are soon predicted: what is tested is how they are kept.
    EXPERIMENTS = "barriers,bulk_copy,pointer_chase,shared_latency,tensor_core,tiled_matmul"
    LIST = ("--preset", "standard", "--experiment", EXPERIMENTS, "--device", "h200")
    RUN = (*LIST[:-1], f"model:{PARAMETERS}")
    LONG = ("--device", f"model:{PARAMETERS}")


if __name__ == "__main__":
    unittest.main()
