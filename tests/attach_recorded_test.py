# SPDX-License-Identifier: Apache-2.0
"""`occbench attach --timing activity`: times from CUPTI's records, of a fake CUPTI over the fake driver."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from statistics import median

from attached import FAKE, LINKED, OPENED, PROFILED, AttachCase, driver
from command import OCCBENCH, ROOT, on_device, on_terminal, rows, validated

PLANTED = os.environ.get("PLANTED", str(ROOT / "build/ci/tests/attach_planted"))


class Recorded(AttachCase):
    """Times from CUPTI's records of the kernels: of a fake one over the fake driver."""

    def with_cupti(self, words: str, output: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        path = f"{FAKE}/lib-cupti:{driver()['LD_LIBRARY_PATH']}"
        return self.attach(words, output=output, LD_LIBRARY_PATH=path, **variables)

    def recorded(
        self, words: str, output: str = "r", timing: str = "activity", **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        done = self.with_cupti(f"--timing {timing} -- {words}", output, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("failed 0\n", done.stdout)
        found = validated(self.folder / output)
        self.assertEqual(found.returncode, 0, found.stdout)
        return done

    def process(self, output: str = "r") -> tuple[str, str]:
        (process,) = self.env(output)["processes"]  # type: ignore[attr-defined]
        return process["timing"], process["why_events"]

    def timed_by(self, output: str = "r") -> dict[str, list[float]]:
        """Times in microseconds."""
        times: dict[str, list[float]] = {}
        for launch in rows(self.folder / output / "launches.csv"):
            times.setdefault(launch["timed_by"], []).append(1e6 * float(launch["time_s"]))
        return times

    def test_counters_give_verdict_for_unchangeable_kernels(self) -> None:
        """Grids of no more blocks than SMs; one metric of the fake's samples at 88 %, all others at 10 %."""
        cases = {
            "tensor": (
                "throughput limit",
                "tensor cores at 88 %; more occupancy would not help (no more",
            ),
            "dramc": ("throughput limit", "DRAM at 88 %"),
            "none": ("latency", "no unit over 40 %"),
        }
        for high, (verdict, why) in cases.items():
            with self.subTest(high):
                words = f"--counters -- {OPENED} proc flat_k 5000 return 100"
                done = self.with_cupti(words, high, FAKE_COUNTERS=high, FAKE_WALL="1")
                self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
                (kernel,) = self.kernels(high)
                self.assertEqual(kernel["verdict"], verdict, done.stderr)
                self.assertIn(why, kernel["why"])
                (row,) = rows(self.folder / high / "counters.csv")
                self.assertAlmostEqual(float(row["tensor_cores"]), 0.88 if high == "tensor" else 0.1)
                self.assertIn("by counters", done.stderr)
                self.assertEqual(validated(self.folder / high).returncode, 0)
                findings = json.loads((self.folder / high / "findings.json").read_text())
                self.assertIn(findings["headings"][0]["sentences"][0], done.stderr, "timed by records")

    def test_a_long_verdict_fits_a_terminal(self) -> None:
        words = self.command(f"--counters -- {OPENED} proc flat_k 5000 return 100", output="n")[1:]
        path = f"{FAKE}/lib-cupti:{driver()['LD_LIBRARY_PATH']}"
        fake = {"LD_LIBRARY_PATH": path, "FAKE_COUNTERS": "tensor", "FAKE_WALL": "1"}
        message = on_terminal(80, *words, environment=os.environ | fake)
        lines = [line for line in message.splitlines() if str(self.folder) not in line]
        self.assertLessEqual(max(map(len, lines)), 80, message)
        verdict = (
            "throughput limit: tensor cores at 88 %; more occupancy would not help (no more blocks than SMs)"
        )
        self.assertIn(verdict, " ".join(message.split()))

    def test_counters_are_released_at_every_exit(self) -> None:
        """The fake aborts if it is called after its destructors, as libnvperf crashes."""
        for end, code in {"return": 0, "exit42": 42, "_exit": 7, "fork": 0}.items():
            with self.subTest(end):
                done = self.with_cupti(
                    f"--counters -- {OPENED} proc flat_k 5000 {end} 100", end, FAKE_WALL="1"
                )
                self.assertEqual((done.returncode, done.stdout), (code, "failed 0\n"), done.stderr)
                self.assertTrue((self.folder / end / "counters.csv").exists(), done.stderr)

    def test_reports_unavailable_counters(self) -> None:
        """One line; the rest goes on."""
        cases = {
            "forbids": "no counters: the driver forbids counters: run as root",
            "busy": "no counters: another tool or process has the counters",
            "taken": "no counters: CUPTI is taken by another tool",
            "clock": "counters: samples have another clock than CUPTI's records",
            "overflows": "counters: the sample buffer overflowed",
        }
        for behaviour, message in cases.items():
            with self.subTest(behaviour):
                words = f"--counters -- {OPENED} proc latency_k:40 5000"
                done = self.with_cupti(words, behaviour, FAKE_CUPTI=behaviour, FAKE_WALL="1")
                self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
                self.assertEqual(done.stderr.count(message), 1, done.stderr)
                self.assertEqual(self.kernels(behaviour)[0]["verdict"], "needs occupancy", done.stderr)
        done = self.with_cupti(f"--counters -- {OPENED} proc flat_k 20", "short")
        self.assertIn("no counters: the program launched kernels for too short a time", done.stderr)
        for words in ("--all", "--registers 32", "--apply k=1/2"):
            done = self.attach(f"--counters {words} -- true", output="none")
            self.assertEqual(done.returncode, 125)
            self.assertIn("--counters has no effect with", done.stderr)

    def test_records_are_matched_to_launches(self) -> None:
        """By events each reads a microsecond more here."""
        for n, words in enumerate((f"{OPENED} proc", f"{OPENED} ex", f"{LINKED} linked")):
            done = self.recorded(f"{words} latency_k:40 3000", output=f"r{n}", FAKE_WALL="1")
            self.assertIn("Timed by CUPTI's records: 1 process.", done.stderr)
            self.assertEqual(self.process(f"r{n}"), ("activity", ""))
            (kernel,) = self.kernels(f"r{n}")
            self.assertEqual((kernel["verdict"], kernel["launches"]), ("needs occupancy", "3000"))
            self.assertAlmostEqual(float(kernel["gain"]), 1 - 6 / 8, delta=0.01)
            self.assertEqual(list(self.timed_by(f"r{n}")), ["activity"])
            for seconds in self.env(f"r{n}")["time"].values():  # type: ignore[attr-defined]
                self.assertEqual(seconds, round(seconds, 12))
            expected = {("untouched", 6): 100, ("pinned", 6): 100, ("lower", 5): 120, ("lower", 3): 200}
            for launch in rows(self.folder / f"r{n}/launches.csv"):
                seconds = float(launch["time_s"])
                self.assertEqual(seconds, round(seconds, 12), "a time has no digits below a picosecond")
                time = expected.get((launch["arm"], int(launch["blocks_per_sm"])))
                if time is not None:
                    self.assertAlmostEqual(1e6 * seconds, time, delta=0.1)

    def test_short_program_delivers_records_at_exit(self) -> None:
        for end in ("return", "_exit"):
            self.with_cupti(f"--timing activity -- {OPENED} proc flat_k 20 {end}", end)
            found = {by: len(times) for by, times in self.timed_by(end).items()}
            self.assertEqual(found, {"activity": 20})

    def test_event_timing_does_not_use_cupti(self) -> None:
        done = self.recorded(f"{OPENED} proc flat_k 500", timing="events")
        self.assertEqual((self.process(), list(self.timed_by())), (("events", ""), ["events"]))
        self.assertNotIn("Timed by", done.stderr)

    def test_falls_back_to_events_if_cupti_is_in_use(self) -> None:
        cases = {
            "taken": (dict(FAKE_CUPTI="taken"), "another tool (error 39)"),
            "injected": (dict(CUDA_INJECTION64_PATH="/no/such.so"), "an injected tool"),
            "fork": ({}, "forked from a process that uses CUPTI"),
        }
        for name, (variables, why) in cases.items():
            end = "fork" if name == "fork" else "return"
            done = self.recorded(f"{OPENED} proc flat_k 500 {end}", output=name, **variables)
            self.assertIn(why, done.stderr)
            self.assertIn("Timed by events: 1 process: ", done.stderr)
            self.assertTrue(self.timed_by(name)["events"])
        done = self.attach(f"--timing activity -- {OPENED} proc flat_k 500", output="none")
        self.assertEqual((done.returncode, self.process("none")[0]), (0, "events"), done.stderr)

    def test_auto_timing_avoids_cupti_if_already_loaded(self) -> None:
        self.recorded(f"{PROFILED} proc flat_k 500", timing="auto")
        self.assertEqual(self.process()[0], "events")
        self.assertIn("may use it", self.process()[1])
        self.recorded(f"{OPENED} proc flat_k 500", output="free", timing="auto")
        self.assertEqual(self.process("free"), ("activity", ""))

    def test_records_nothing_beyond_the_limit(self) -> None:
        done = self.with_cupti(f"--limit 64K --timing activity -- {OPENED} proc flat_k 200000 shapes", "r")
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        self.assertEqual(self.process(), ("activity", ""))
        self.assertIn("the limit was reached", done.stderr)
        self.assertNotIn("had no room", done.stderr)

    def test_does_not_load_cupti_into_python(self) -> None:
        script = (
            "import ctypes; cuda = ctypes.CDLL('libcuda.so.1'); cuda.cuInit(0); k = ctypes.c_void_p()\n"
            "cuda.cuModuleGetFunction(ctypes.byref(k), None, b'flat_k')\n"
            "for _ in range(20): cuda.cuLaunchKernel(k, 3000, 1, 1, 256, 1, 1, 0, None, None, None)\n"
            "print('cupti' in open('/proc/self/maps').read())"
        )
        path = f"{FAKE}/lib-cupti:{driver()['LD_LIBRARY_PATH']}"
        done = self.attach(
            "--timing", "activity", "--", sys.executable, "-c", script, LD_LIBRARY_PATH=path
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, "False\n"), done.stderr)
        self.assertIn("this Python process has not loaded CUPTI", done.stderr)
        self.assertEqual({by: len(times) for by, times in self.timed_by().items()}, {"events": 20})

    def test_releases_cupti_for_the_programs_profiler(self) -> None:
        """Linked to CUPTI, or opening it: its count is that of a plain run, and all buffers are its own."""
        for n, program in enumerate((OPENED, PROFILED)):
            for behaviour in ("", "late", "keeps"):
                with self.subTest(program.name, behaviour=behaviour):
                    to = f"r{n}{behaviour}"
                    words = f"{program} proc latency_k:40 3000 profiles"
                    done = self.recorded(words, output=to, FAKE_CUPTI=behaviour, FAKE_WALL="1")
                    self.assertEqual(done.stdout, "profiled 3000\nfailed 0\n")
                    self.assertIn("the program began to use CUPTI itself (cupti", done.stderr)
                    times = self.timed_by(to)
                    self.assertEqual(sorted(times), ["activity", "events"])
                    (kernel,) = self.kernels(to)
                    self.assertEqual(kernel["verdict"], "needs occupancy")
                    self.assertAlmostEqual(float(kernel["gain"]), 1 - 6 / 8, delta=0.01)

    def test_releases_cupti_while_other_threads_launch(self) -> None:
        for n, behaviour in enumerate(("", "late", "keeps")):
            words = f"{OPENED} proc flat_k 2000 profiles_beside"
            done = self.recorded(words, output=f"r{n}", FAKE_CUPTI=behaviour, FAKE_WALL="1")
            self.assertEqual(done.stdout, "profiled some\nfailed 0\n", behaviour)
            self.assertEqual(self.launches(f"r{n}"), 6000)

    def test_sampled_launches_use_one_timing_source(self) -> None:
        self.recorded(f"{OPENED} proc flat_k 20000 profiles")
        drawn = {x["timed_by"] for x in rows(self.folder / "r/launches.csv") if x["drawn"] == "1"}
        self.assertEqual(len(drawn), 1)

    def test_overlap_counts_concurrent_kernels(self) -> None:
        """Each tenth began while the one before it ran."""
        self.recorded(f"{OPENED} proc flat_k 20000", FAKE_CUPTI="beside")
        (kernel,) = self.kernels()
        self.assertAlmostEqual(int(kernel["overlapped"]) / int(kernel["timed"]), 0.2, delta=0.05)
        self.recorded(f"{OPENED} proc flat_k 20000 streams", output="streams")
        (kernel,) = self.kernels("streams")
        self.assertEqual(kernel["overlapped"], "0")

    def test_events_time_whole_graphs(self) -> None:
        self.recorded(f"{OPENED} proc flat_k 2000 graph")
        graphs = {k["kernel"]: k for k in self.kernels() if "graph" in k["why"]}
        self.assertEqual(float(graphs["(CUDA graph of 3 kernels)"]["time_mean_s"]), 500e-6)

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind")
    def test_memory_does_not_grow_with_launches(self) -> None:
        """Blocks that are left at the end: as many after 100,000 launches as after 1,000."""
        left = []
        for launches in (1_000, 100_000):
            log = self.folder / f"valgrind-{launches}"
            tool = f"valgrind --leak-check=full --show-leak-kinds=definite --log-file={log}"
            self.recorded(f"{tool} {OPENED} proc flat_k {launches}", output=f"r{launches}")
            text = log.read_text()
            self.assertNotIn("Invalid ", text)
            (heap,) = (line for line in text.splitlines() if "in use at exit" in line)
            left.append(int(heap.split(" bytes in ")[1].split()[0].replace(",", "")))
        self.assertLess(left[1], left[0] + 64, left)

    def test_ends(self) -> None:
        for end in ("reset", "contexts", "release", "unload", "close", "threads", "crash", "kill", "exec"):
            done = self.with_cupti(f"--timing activity -- {OPENED} proc flat_k 3000 {end}", end)
            self.assertEqual(done.stdout.splitlines()[0], "failed 0", end)
            self.assertGreaterEqual(self.launches(end), 3000, done.stderr)


@on_device
class OnDevice(unittest.TestCase):
    def test_events_and_records_agree(self) -> None:
        """Events read a few microseconds more, and nothing runs beside a kernel on its one stream."""
        medians: dict[str, dict[str, float]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for timing in ("events", "activity"):
                words = ["attach", "--observe", "--timing", timing, "--output", f"{folder}/{timing}", "--"]
                done = subprocess.run(
                    [str(OCCBENCH), *words, PLANTED, "400"], text=True, capture_output=True, timeout=300
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                if "neither on the library path" in done.stderr:
                    self.skipTest("no CUPTI")
                kernels = rows(Path(folder, timing, "kernels.csv"))
                names = {k["kernel_id"]: k["kernel"] for k in kernels if k["graph_kernels"] == ""}
                times: dict[str, list[float]] = {}
                for launch in rows(Path(folder, timing, "launches.csv")):
                    if launch["kernel_id"] not in names:
                        continue  # a CUDA graph, by events
                    self.assertEqual((launch["timed_by"], launch["overlapped"]), (timing, "0"))
                    if launch["warm_up"] == "0":
                        times.setdefault(names[launch["kernel_id"]], []).append(1e6 * float(launch["time_s"]))
                medians[timing] = {name: median(all_times) for name, all_times in times.items()}
        self.assertEqual(set(medians["events"]), set(medians["activity"]))
        for name, by_events in medians["events"].items():
            if "two_kinds" not in name:
                more = by_events - medians["activity"][name]
                self.assertLess(more, 6 + 0.01 * by_events, name)
                self.assertGreater(more, 0.5 - 0.01 * by_events, name)


if __name__ == "__main__":
    unittest.main()
