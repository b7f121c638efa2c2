# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` on programs of a fake driver, whose kernels' times follow stated laws of resident warps.

FAKE_DRIVER names the folder with `lib/libcuda.so.1` and the programs.
"""

import csv
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import ClassVar

from command import OCCBENCH, ROOT, on_device, rows, validated

FAKE = Path(os.environ.get("FAKE_DRIVER", ROOT / "build/ci/tests/fake_driver")).resolve()
OPENED, LINKED = FAKE / "attach_opened", FAKE / "attach_linked"
DRIVER = {"LD_LIBRARY_PATH": f"{FAKE / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
Done = subprocess.CompletedProcess


class Attach(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def attach(self, *words: object, output: str | None = "r", **variables: str) -> "Done[str]":
        """`words` as one text are split at blanks."""
        all_words = str(words[0]).split() if len(words) == 1 else list(map(str, words))
        to = [] if output is None else ["--output", str(self.folder / output)]
        at = all_words.index("--") if "--" in all_words else len(all_words)
        return subprocess.run(
            [str(OCCBENCH), "attach", *all_words[:at], *to, *all_words[at:]],
            text=True,
            capture_output=True,
            timeout=120,
            cwd=self.folder,
            env=os.environ | DRIVER | variables,
        )

    def kernels(self, output: str = "r") -> list[dict[str, str]]:
        return rows(self.folder / output / "kernels.csv")

    def env(self, output: str = "r") -> dict[str, object]:
        return json.loads((self.folder / output / "env.json").read_text())

    def test_each_way_to_the_driver_is_seen(self) -> None:
        for n, words in enumerate(
            [
                *(f"{OPENED} {way} flat_k" for way in ("opened", "asked", "kernel", "own_stream", "ex")),
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
            "lower_k": "faster lower",
            "l1_k": "needs L1",
            "kinds_k": "unknown",
        }
        for seed in ("1", "2", "3"):
            for name, verdict in expected.items():
                with self.subTest(name, seed=seed):
                    to = f"{name}{seed}".replace(":", "-")
                    done = self.attach(f"--seed {seed} -- {OPENED} asked {name} 800", output=to)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    (kernel,) = self.kernels(to)
                    self.assertEqual(kernel["verdict"], verdict, done.stderr)
                    if name == "kinds_k":
                        self.assertIn("several kinds", kernel["why"])
                    if name == "latency_k:40":  # 6 blocks of 8 warps; 8 registers fewer give 8
                        self.assertEqual(kernel["next_step"], "8 registers fewer")
                        self.assertAlmostEqual(float(kernel["gain"]), 1 - 6 / 8, delta=0.01)

    def test_a_step_of_whole_waves_is_no_need_of_occupancy(self) -> None:
        done = self.attach(f"-- {OPENED} asked steps_k 600 return {132 * 16}")
        (kernel,) = self.kernels()
        self.assertEqual(kernel["verdict"], "waves", done.stderr)

    def test_levels_are_of_the_blocks_that_were_asked_for(self) -> None:
        self.attach(f"--levels 3/4,50%,0.25 -- {OPENED} asked flat_k 800")
        arms = rows(self.folder / "r/arms.csv")
        self.assertEqual(
            [(a["arm"], a["blocks_per_sm"]) for a in arms],
            [("untouched", "8"), ("pinned", "8"), ("lower", "6"), ("lower", "4"), ("lower", "2")],
        )
        for arm in arms:
            self.assertGreaterEqual(int(arm["samples"]), 6)
            self.assertEqual(int(arm["added_smem_bytes"]) > 0, arm["arm"] == "lower")

    def test_left_alone(self) -> None:
        cases = {
            "one residency": ("flat_k 100 return 1056", "grid within one residency"),
            "one block": ("flat_k:255 100 return 3000", ""),
            "cooperative": ("flat_k 100 cooperative", "cooperative launch"),
            "graph": ("flat_k 100 graph", "CUDA graph"),
            "nccl": ("ncclDevKernel_AllReduce 100", "NCCL"),
        }
        for n, (name, (words, why)) in enumerate(cases.items()):
            with self.subTest(name):
                self.assertEqual(self.attach(f"-- {OPENED} asked {words}", output=f"r{n}").returncode, 0)
                self.assertTrue(any(why in k["why"] for k in self.kernels(f"r{n}")))
        self.attach(f"--kernel ^other -- {OPENED} asked flat_k 100", output="other")
        self.assertEqual(self.kernels("other")[0]["why"], "not asked for")

    def test_nothing_is_changed_by_observing_or_before_it_is_time(self) -> None:
        for n, words in enumerate(("--observe", "--after 1000", "--skip 1000")):
            done = self.attach(f"{words} -- {OPENED} asked latency_k 500", output=f"r{n}")
            arms = {launch["arm"] for launch in rows(self.folder / f"r{n}/launches.csv")}
            self.assertEqual(arms, {"untouched"}, done.stderr)
            self.assertEqual(self.kernels(f"r{n}")[0]["launches"], "500")

    def test_the_budget_bounds_what_throttling_adds(self) -> None:
        for budget in (0.05, 0.5):
            to = f"r{budget}"
            self.attach(f"--budget {budget} -- {OPENED} asked latency_k 3000", output=to)
            launches = rows(self.folder / to / "launches.csv")
            extra = sum(max(0.0, float(x["time_s"]) - 101e-6) for x in launches)
            self.assertLess(extra, budget * 3000 * 101e-6 * 1.02)
            self.assertGreater(extra, 0)

    def test_one_seed_one_order(self) -> None:
        orders = []
        for n, seed in enumerate((1, 1, 2)):
            self.attach(f"--seed {seed} -- {OPENED} asked flat_k 300", output=f"r{n}")
            orders.append([x["arm"] + x["blocks_per_sm"] for x in rows(self.folder / f"r{n}/launches.csv")])
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])

    def test_ends(self) -> None:
        """However a program ends: its own code, and what was measured."""
        cases = {
            "exit42": (42, 1, 300),
            "_exit": (7, 1, 300),
            "crash": (128 + signal.SIGSEGV, 1, 300),
            "term": (128 + signal.SIGTERM, 1, 300),
            "fork": (0, 2, 600),
            "exec": (0, 2, 600),
            "reset": (0, 1, 600),
            "capture": (0, 1, 300),
            "threads": (0, 1, 1200),
        }
        for end, (code, processes, launches) in cases.items():
            with self.subTest(end):
                done = self.attach(f"-- {OPENED} asked flat_k 300 {end}", output=end)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(done.stdout.splitlines()[0], "failed 0")
                env = self.env(end)
                self.assertEqual((env["exit_code"], len(env["processes"])), (code, processes))
                kernels = self.kernels(end)
                self.assertEqual(sum(int(k["launches"]) for k in kernels), launches)
                captured = sum(int(k["captured"]) for k in kernels)
                self.assertEqual(captured, launches if end == "capture" else 0)
                self.assertFalse((self.folder / end / "processes").exists())

    def test_children_can_be_left_out(self) -> None:
        self.attach("--children", "none", "--", "sh", "-c", f"{OPENED} asked flat_k 10; true")
        self.assertFalse((self.folder / "r/kernels.csv").exists())
        self.attach(f"--children none -- {OPENED} asked flat_k 10", output="own")
        self.assertEqual(self.kernels("own")[0]["launches"], "10")

    def test_many_launches_and_shapes(self) -> None:
        self.attach(f"-- {OPENED} asked flat_k 100000", output="launches")
        (kernel,) = self.kernels("launches")
        self.assertEqual(kernel["launches"], "100000")
        self.assertLess(int(kernel["timed"]), 10_000)
        self.attach(f"-- {OPENED} asked flat_k 10000 shapes", output="shapes")
        self.assertEqual(sum(int(k["launches"]) for k in self.kernels("shapes")), 10_000)
        done = self.attach(f"--limit 64K -- {OPENED} asked flat_k 10000 shapes", output="limit")
        self.assertIn("the limit was reached", done.stderr)
        self.assertEqual(sum(int(k["launches"]) for k in self.kernels("limit")), 10_000)

    def test_what_is_preloaded_stays(self) -> None:
        done = self.attach("--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=str(FAKE / "lib/libcuda.so.1"))
        self.assertRegex(done.stdout, r"^\S+/libcuda\.so\.1:\S+/liboccbench_attach\.so\n$")

    def test_words_of_the_program_may_be_any(self) -> None:
        done = self.attach("--", "printf", "%s|", "--output", "a\nb", "--", "[x,y]", "%%")
        self.assertEqual(done.stdout, "--output|a\nb|--|[x,y]|%%|")

    def test_the_programs_streams_are_its_own(self) -> None:
        done = subprocess.run(
            [str(OCCBENCH), "attach", "--output", str(self.folder / "r"), "--", "cat"],
            input="in\n", text=True, capture_output=True, timeout=60,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "in\n"))

    def test_interrupts_are_the_programs(self) -> None:
        script = "trap 'echo caught; exit 3' INT TERM; while :; do sleep 0.05; done"
        for number in (signal.SIGINT, signal.SIGTERM):
            child = subprocess.Popen(
                [str(OCCBENCH), "attach", "--output", f"{self.folder}/r{number}", "--", "sh", "-c", script],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            time.sleep(0.5)
            if number == signal.SIGINT:
                os.killpg(child.pid, number)  # as a terminal does
            else:
                child.send_signal(number)
            said, _ = child.communicate(timeout=30)
            self.assertEqual((child.returncode, said), (3, "caught\n"))

    def test_bad_input(self) -> None:
        """Words, what is said, and the code; one line, and nothing is left behind."""
        (self.folder / "file").write_text("")
        cases = {
            "": (125, "which program?"),
            "--": (125, "which program?"),
            "--bad -- true": (125, "--bad"),
            "--levels 2 -- true": (125, "--levels lie between 0 and 1"),
            "--levels 1/0 -- true": (125, "--levels '1/0' is no share"),
            "--levels x -- true": (125, "--levels 'x' is no share"),
            "--levels .1,.2,.3,.4,.5,.6,.7 -- true": (125, "--levels: at most 6"),
            "--budget 0 -- true": (125, "--budget must be more than 0"),
            "--budget much -- true": (125, "--budget 'much' is no share"),
            "--precision 2 -- true": (125, "--precision lies between"),
            "--duration soon -- true": (125, "--duration 'soon' is no time"),
            "--skip -1 -- true": (125, "--skip '-1' is negative"),
            "--limit 1 -- true": (125, "--limit '1' is less than"),
            "--kernel ( -- true": (125, "--kernel '('"),
            "--children some -- true": (125, "--children takes all or none"),
            "-- no-such-program": (127, "No such file"),
            f"-- {self.folder}/file": (126, "Permission denied"),
            "-- true": (0, "no process of 'true' used the CUDA driver"),
            "-- false": (1, "no process of 'false' used the CUDA driver"),
        }
        for words, (code, said) in cases.items():
            with self.subTest(words):
                done = self.attach(words, output=None) if words else self.attach("", output=None)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        done = self.attach("-- true", output="file/below")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(self.attach(f"-- {OPENED} asked flat_k 10", output="twice").returncode, 0)
        done = self.attach(f"-- {OPENED} asked flat_k 10", output="twice")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("holds results already", done.stderr)

    def test_no_device(self) -> None:
        done = self.attach(f"-- {OPENED} asked flat_k 10", FAKE_NO_DEVICE="1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no kernel was launched", done.stderr)

    def test_a_sanitizer_is_left_in_peace(self) -> None:
        done = self.attach(
            f"-- {OPENED} asked flat_k 10", CUDA_INJECTION64_PATH="/x/libsanitizer-collection.so"
        )
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"))
        self.assertIn("no process", done.stderr)

    def test_what_the_tools_say_of_the_folder(self) -> None:
        self.attach(f"-- {OPENED} asked flat_k 300")
        done = validated(self.folder / "r")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("occbench attach", done.stdout + done.stderr)

    def test_the_tables_columns_are_whole(self) -> None:
        self.attach(f"-- {OPENED} asked latency_k:40 600")
        for name in ("kernels.csv", "arms.csv"):
            with (self.folder / "r" / name).open(newline="") as file:
                lengths = {len(row) for row in csv.reader(file)}
            self.assertEqual(len(lengths), 1, name)
        self.assertTrue(re.fullmatch(r"GPU-[0-9a-f-]{36}", str(self.env()["gpu"]["uuid"])))  # type: ignore[index]


@on_device
class OnDevice(unittest.TestCase):
    """A program of kernels that were made for their verdict. PLANTED names it."""

    VERDICTS: ClassVar = {
        "needs_occupancy": "needs occupancy",
        "saturated": "saturated",
        "needs_l1": "needs L1",
        "faster_lower": "faster lower",
        "few_waves": "saturated",
        "barrier": "left alone",
        "two_kinds": "unknown",
    }

    def test_planted_kernels(self) -> None:
        planted = os.environ.get("PLANTED", str(ROOT / "build/ci/tests/attach_planted"))

        def run(*before: str) -> str:
            words = [*before, planted, "400"]
            done = subprocess.run(words, text=True, capture_output=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        plain = run()
        self.assertEqual(run(), plain)
        with tempfile.TemporaryDirectory() as folder:
            attach = (str(OCCBENCH), "attach")
            self.assertEqual(run(*attach, "--observe", "--output", f"{folder}/o", "--"), plain)
            for seed in ("1", "2"):
                to = f"{folder}/{seed}"
                words = ("--budget", "500%", "--seed", seed, "--output", to, "--")
                self.assertEqual(run(*attach, *words), plain)
                found = rows(Path(to) / "kernels.csv")
                for kernel, verdict in self.VERDICTS.items():
                    said = {r["verdict"] for r in found if f"{kernel}(" in r["kernel"]}
                    self.assertEqual(said, {verdict}, kernel)


if __name__ == "__main__":
    unittest.main()
