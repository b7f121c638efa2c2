# SPDX-License-Identifier: Apache-2.0
"""`occbench run --device` with several devices: a process each at the same time, and a folder each."""

import os
import signal
import subprocess
import time
import unittest
from pathlib import Path
from unittest import mock

from command import OCCBENCH, content, occbench, on_device, rows, validated, working_folder

RUN = ("run", "--preset", "quick", "--experiment", "waves", "--output", "node")


class Node(unittest.TestCase):
    """On models; `OnDevice` below takes the GPUs of this machine."""

    def test_two_models_at_once(self) -> None:
        with working_folder() as folder:
            done = occbench(*RUN, "--device", "model:h100,model:h200", gpu=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("2 concurrent runs", done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual(lines[-3:-1], ["model:h100: done", "model:h200: done"])
            self.assertRegex(lines[-1], r"^2 of 2 done in \d+ s$")
            for name in ("model-h100-0", "model-h200-1"):
                self.assertGreater(len(rows(folder / "node" / name / "cases.csv")), 5)
                self.assertEqual(validated(folder / "node" / name).returncode, 0)

    def test_results_match_a_single_run(self) -> None:
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

    def test_one_failure_does_not_stop_the_others(self) -> None:
        with working_folder() as folder:
            done = occbench(*RUN, "--device", "model:none.json,model:h200", gpu=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"model:none.json: ended with {done.returncode}\nmodel:h200: done\n", done.stdout)
            self.assertIn("1 of 2 done", done.stdout)
            self.assertIn("occbench: none.json", done.stdout)
            self.assertGreater(len(rows(folder / "node/model-h200-1/cases.csv")), 5)

    def test_exit_codes_with_sigchld_ignored(self) -> None:
        with working_folder() as folder:
            done = subprocess.run(
                [OCCBENCH, *RUN, "--device", "model:none.json,model:h200"], capture_output=True, text=True,
                preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
            )  # fmt: skip
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("model:none.json: ended with 4\nmodel:h200: done\n", done.stdout)
            self.assertGreater(len(rows(folder / "node/model-h200-1/cases.csv")), 5)

    def test_rejects_invalid_device_lists(self) -> None:
        refused = {
            ("--device", "model:h100,"): (2, "a name is empty"),
            ("--device", "MIG-1,MIG-1"): (2, "names MIG-1 twice"),
            ("--device", "all"): (3, ""),
            ("--device", "0,2"): (3, ""),
            ("--device", "MIG-1"): (3, ""),
            ("--device", "model:h100,model:h200", "--case", "a"): (2, "--case needs a single device"),
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
                started = time.monotonic()  # each of the two has its handler once it has a file
                while len(list(Path("n").glob("*/cases.csv"))) < 2 and time.monotonic() - started < 30:
                    time.sleep(0.01)
                run.send_signal(signal.SIGTERM)
                out, _ = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 128 + signal.SIGTERM, out)
            self.assertEqual(out.count(b": ended with 143"), 2)


TASK = ("run", "--preset", "quick", "--experiment", "waves", "--task-device", "auto", "--output", "fleet")
RANK_0 = {"LOCAL_RANK": "0"}
# Environment, further words, exit code, and a part of the one line.
NO_TASK = (
    ({}, (), 2, "--task-device: no launcher set a local rank"),
    ({"LOCAL_RANK": "x"}, (), 2, "LOCAL_RANK='x' is not a local rank"),
    (RANK_0, (), 3, "local rank 0 on k1 has no GPU: "),
    (RANK_0, ("--device", "0"), 2, "--task-device uses the task's own GPU"),
    (RANK_0, ("--device", "model:h100,model:h200"), 2, "--task-device needs a single device"),
    (RANK_0, ("--resume", "fleet"), 2, "excludes"),
)
LAUNCHERS = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


class Tasks(unittest.TestCase):
    """Of a launcher, whose variables alone count."""

    def setUp(self) -> None:
        others = {name: "" for name in (*LAUNCHERS, "JOB_COMPLETION_INDEX", "SLURMD_NODENAME")}
        patched = mock.patch.dict(os.environ, others | {"NODE_NAME": "k1"})
        patched.start()
        self.addCleanup(patched.stop)
        for name in others:
            del os.environ[name]

    def test_rejects_invalid_tasks(self) -> None:
        with working_folder() as folder:
            for environment, words, code, said in NO_TASK:
                with self.subTest(said), mock.patch.dict(os.environ, environment):
                    done = occbench(*TASK, *words, gpu=False)
                    self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                    self.assertIn(said, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(content(folder), {})

    def test_restarted_task_resumes_only_the_same_preset(self) -> None:
        with working_folder() as folder, mock.patch.dict(os.environ, RANK_0):
            for _ in range(2):
                self.assertEqual(occbench(*TASK, "--device", "model:h200", gpu=False).returncode, 0)
            self.assertEqual([p.name for p in (folder / "fleet/k1").iterdir()], ["model-h200-0"])
            done = occbench(*TASK, "--preset", "full", "--device", "model:h200", gpu=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("holds a run of preset quick, and not full; name another --output", done.stderr)

    def test_two_tasks_on_one_gpu(self) -> None:
        """The second is told so in one line, and the first is whole."""
        words = [OCCBENCH, *TASK, "--device", "model:h200", "--preset", "standard"]
        with working_folder() as folder, mock.patch.dict(os.environ, RANK_0):
            with subprocess.Popen(
                words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            ) as first:
                while not list(folder.glob("fleet/k1/*/env.json")):
                    time.sleep(0.01)
                second = subprocess.run(words, capture_output=True, text=True)
                self.assertEqual(second.returncode, 4, second.stderr)
                self.assertEqual(second.stderr.count("\n"), 1, second.stderr)
                first.communicate()
            self.assertEqual(first.returncode, 0)
            self.assertEqual(validated(folder / "fleet/k1/model-h200-0").returncode, 0)


@on_device
class OnDevice(unittest.TestCase):
    def test_more_ranks_than_gpus(self) -> None:
        with working_folder() as folder, mock.patch.dict(os.environ, {"LOCAL_RANK": "999"}):
            done = occbench(*TASK)
            self.assertEqual(done.returncode, 3)
            self.assertIn("no GPU for local rank 999 (LOCAL_RANK)", done.stderr)
            self.assertEqual(content(folder), {})

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
