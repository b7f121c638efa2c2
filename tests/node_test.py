# SPDX-License-Identifier: Apache-2.0
"""`occbench run --device` with several devices: a process each at the same time, and a folder each."""

import os
import signal
import subprocess
import time
import unittest

from command import OCCBENCH, content, occbench, on_device, rows, validated, working_folder

RUN = ("run", "--preset", "quick", "--experiment", "waves", "--output", "node")


class Node(unittest.TestCase):
    """On models; `OnDevice` below takes the GPUs of this machine."""

    def test_two_models_at_once(self) -> None:
        with working_folder() as folder:
            done = occbench(*RUN, "--device", "model:h100,model:h200", gpu=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 runs at the same time", done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual(lines[-3:-1], ["model:h100: done", "model:h200: done"])
            self.assertRegex(lines[-1], r"^2 of 2 done in \d+ s$")
            for name in ("model-h100-0", "model-h200-1"):
                self.assertGreater(len(rows(folder / "node" / name / "cases.csv")), 5)
                self.assertEqual(validated(folder / "node" / name).returncode, 0)

    def test_each_is_as_alone(self) -> None:
        with working_folder() as folder:
            occbench(*RUN, "--device=model:h100,model:h100", gpu=False)
            alone = (*RUN[:-1], "alone")
            occbench(*alone, "--device", "model:h100", gpu=False)
            cases = [rows(folder / name / "cases.csv") for name in ("node/model-h100-0", "node/model-h100-1")]
            for row in (*cases[0], *cases[1], *(one := rows(folder / "alone/cases.csv"))):
                row.pop("sm_clock_hz")
            by_name = [sorted(table, key=lambda row: row["case_id"]) for table in (*cases, one)]
            self.assertEqual(by_name[0], by_name[2])
            self.assertEqual(by_name[1], by_name[2])

    def test_one_that_fails_ends_no_other(self) -> None:
        with working_folder() as folder:
            done = occbench(*RUN, "--device", "model:none.json,model:h200", gpu=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"model:none.json: ended with {done.returncode}\nmodel:h200: done\n", done.stdout)
            self.assertIn("1 of 2 done", done.stdout)
            self.assertIn("occbench: none.json", done.stdout)
            self.assertGreater(len(rows(folder / "node/model-h200-1/cases.csv")), 5)

    def test_words_that_do_not_fit(self) -> None:
        refused = {
            ("--device", "model:h100,"): (2, "a name is empty"),
            ("--device", "MIG-1,MIG-1"): (2, "names MIG-1 twice"),
            ("--device", "all"): (3, ""),
            ("--device", "0,2"): (3, ""),
            ("--device", "model:h100,model:h200", "--case", "a"): (2, "--case is of one run"),
            ("--device", "all", "--benchmark_out=a.json"): (2, "--benchmark_out is one file"),
        }
        with working_folder() as folder:
            for words, (code, said) in refused.items():
                done = occbench("run", *words, gpu=False)
                self.assertEqual((done.returncode, done.stdout), (code, ""), words)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(content(folder), {})

    def test_a_signal_reaches_all(self) -> None:
        with working_folder():
            words = [
                OCCBENCH,
                "run",
                "--preset",
                "full",
                "--device",
                "model:h100,model:h200",
                "--output",
                "n",
            ]
            hidden = os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=hidden) as run:
                time.sleep(0.5)
                run.send_signal(signal.SIGTERM)
                out, _ = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 128 + signal.SIGTERM, out)
            self.assertEqual(out.count(b": ended with 143"), 2)


@on_device
class OnDevice(unittest.TestCase):
    def test_all(self) -> None:
        """A folder for each GPU, by its UUID."""
        with working_folder() as folder:
            done = occbench(*RUN, "--device", "all")
            self.assertEqual(done.returncode, 0, done.stderr)
            made = list((folder / "node").iterdir())
            self.assertEqual(
                f"{len(made)} of {len(made)} done", done.stdout.splitlines()[-1].split(" in ")[0]
            )
            for run in made:
                self.assertTrue(run.name.startswith("GPU-"))
                self.assertEqual(validated(run).returncode, 0)


if __name__ == "__main__":
    unittest.main()
