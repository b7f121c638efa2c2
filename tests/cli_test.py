# SPDX-License-Identifier: Apache-2.0
"""What occbench answers to batches, to profilers and to the flags of Google Benchmark."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest
from pathlib import Path

from command import (
    HEADER,
    OCCBENCH,
    ROOT,
    content,
    occbench,
    on_device,
    rows,
    some_cases,
    validated,
    working_folder,
)

# One row of a table that cannot be read or launched says so; the rows around it are answered all the same.
CELLS = [
    ("h200,256,32,0,0", "8,64,1,warps+registers,ok"),
    (
        "H 200,256,32K,0,0",
        "0,0,0,registers,cannot launch: 32,768 registers per thread: a thread has at most 255",
    ),
    ("nope,256,32,0,0", ",,,,invalid: unknown device 'nope'; `occbench calc --device list` has all names"),
    (",256,32,0,0", ",,,,invalid: no device given; --device h200, for one"),
    (
        "h200,many,32,0,0",
        ",,,,invalid: block_size 'many' is not a whole number (write 256, 32K, 48KiB or 1M)",
    ),
    ("h200,,32,0,0", ",,,,invalid: block_size '' is not a whole number (write 256, 32K, 48KiB or 1M)"),
    ("h200,nan,32,0,0", ",,,,invalid: block_size 'nan' is not a whole number"),
    ("h200,256,-32,0,0", ",,,,invalid: registers_per_thread '-32' is negative"),
    (
        "h200,256,32,0,99999999999999999999",
        ",,,,invalid: dynamic_smem_bytes '99999999999999999999' is too large",
    ),
    (
        "h200,256,32,0,9223372036854775807",
        "0,0,0,shared_memory,cannot launch: 0 B static + "
        "9,223,372,036,854,775,807 B dynamic shared memory exceeds the 232,448 B a block may have on cc 9.0",
    ),
    ("h200,4294967552,32,0,0", ",,,,invalid: block_size '4294967552' is too large (at most 2147483647)"),
    (
        "h200,2048,32,0,0",
        "0,0,0,warps,cannot launch: block size 2,048 exceeds the device's 1,024 threads per block",
    ),
    ("h200,0,32,0,0", "0,0,0,none,cannot launch: "),
    ("h200,256,256,0,0", "0,0,0,registers,cannot launch: 256 registers per thread: a thread has at most 255"),
    (
        "h200,256,32,0,300K",
        "0,0,0,shared_memory,cannot launch: 0 B static + 307,200 B dynamic shared memory exceeds "
        "the 232,448 B a block may have on cc 9.0",
    ),
    ("h200,256,32,0", ",,,,invalid: the row has 4 fields where the header has 5"),
    ("h200,256,32,0,0,0", ",,,,invalid: the row has 6 fields where the header has 5"),
    ("a100,512,33,0,0", "3,48,0.75,registers,ok"),
]


class Batch(unittest.TestCase):
    def test_batch_reports_bad_rows_and_answers_the_others(self) -> None:
        table = "\n".join([HEADER, *(cells for cells, _ in CELLS)]) + "\n"
        done = occbench("calc", "--batch", "-", stdin=table, gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        header, *answers = csv.reader(io.StringIO(done.stdout))
        self.assertEqual(
            header, [*HEADER.split(","), "blocks_per_sm", "warps_per_sm", "occupancy", "limiters", "status"]
        )
        self.assertEqual(len(answers), len(CELLS))
        for (cells, expected), answer in zip(CELLS, answers, strict=True):
            with self.subTest(cells):
                self.assertEqual(len(answer), len(header))
                self.assertTrue(",".join(answer[5:]).startswith(expected), answer)

    def test_rejects_a_truncated_last_row(self) -> None:
        whole = f"{HEADER}\nh200,256,32,0,0\n\nh200,256,32,0,1024"
        for cut, what in (
            (whole[:-5], "4 of 5 cells"), (whole[:-7], "3 of 5 cells"), (whole[:-14], "1 of 5 cells"),
            (whole[:-4] + '"10', "a quote that is never closed"),
        ):  # fmt: skip
            with self.subTest(cut):
                done = occbench("calc", "--batch", "-", stdin=cut, gpu=False)
                says = f"occbench: standard input: is cut off in line 4, which has {what} and no line feed\n"
                self.assertEqual((done.returncode, done.stderr), (4, says))
                first, last = csv.DictReader(io.StringIO(done.stdout))
                self.assertEqual(first["status"], "ok")
                self.assertTrue(last["status"].startswith("invalid: "), last)
        # With all cells a last number may still lack digits, which nothing tells.
        for complete in (whole, whole[:-2], whole + "\n", whole[:-5] + "\n"):
            done = occbench("calc", "--batch", "-", stdin=complete, gpu=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), complete)

    def test_prediction_columns_follow_the_answers(self) -> None:
        table = f"""{HEADER},kernel_class
h200,256,32,0,0,
h200,256,32,0,0,compute
h200,256,32,0,0,nope
p100,256,32,0,0,
h200,2048,32,0,0,
"""
        words = ("calc", "--batch", "-", "--predict", "mixed", "--intensity", "4")
        done = occbench(*words, stdin=table, gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(
            list(rows[0])[-4:],
            ["status", "kernel_class", "predicted_percent_of_peak", "predicted_bound"],
        )
        self.assertEqual(
            [r["kernel_class"] for r in rows],
            ["mixed", "compute", "", "mixed", "mixed"],
        )
        mixed, compute, unknown, unmodelled, unlaunchable = rows
        self.assertEqual((mixed["status"], mixed["predicted_bound"]), ("ok", "latency"))
        self.assertEqual((compute["status"], compute["predicted_bound"]), ("ok", "pipe"))
        for row in mixed, compute:
            self.assertTrue(30 < float(row["predicted_percent_of_peak"]) <= 100, row)
        self.assertIn("invalid: no kernel class 'nope'", unknown["status"])
        self.assertIn("ok; not predicted: no parameters of p100 are known", unmodelled["status"])
        self.assertEqual(unmodelled["blocks_per_sm"], "8")
        self.assertIn("cannot launch", unlaunchable["status"])
        for row in unknown, unmodelled, unlaunchable:
            self.assertEqual((row["predicted_percent_of_peak"], row["predicted_bound"]), ("", ""))
        again = occbench(*words, stdin=done.stdout, gpu=False)  # earlier answers are replaced
        self.assertEqual(next(csv.DictReader(io.StringIO(again.stdout))), mixed)

    def test_a_prediction_is_the_same_in_every_format(self) -> None:
        words = shlex.split("calc --device h200 --block-size 512 --registers 36 --predict streaming")
        table = occbench(*words, gpu=False).stdout
        now, *cliffs = csv.DictReader(io.StringIO(occbench(*words, "--format", "csv", gpu=False).stdout))
        said = json.loads(occbench(*words, "--format", "json", gpu=False).stdout)["prediction"]
        self.assertIn(said["answer"], table)
        self.assertIn(
            "Freeing 4 registers (36 -> 32) raises occupancy from 75.0 % to 100.0 %",
            said["answer"],
        )
        self.assertEqual(float(now["predicted_percent_of_peak"]), said["percent_of_peak"])
        self.assertIn(f"now: {said['percent_of_peak']:.1f} % of peak, bound by latency", table)
        self.assertEqual([row["cliff"] for row in cliffs], [step["dial"] for step in said["cliffs"]])
        for row, step in zip(cliffs, said["cliffs"], strict=True):
            self.assertEqual(int(row[step["dial"]]), step["value"])
            self.assertEqual(float(row["occupancy"]), step["occupancy"])
            self.assertEqual(float(row["predicted_percent_of_peak"]), step["percent_of_peak"])
            self.assertIn(f"{step['percent_of_peak']:.1f} %", table)


class DeviceQuery(unittest.TestCase):
    def test_devices_lists_values_with_cuda_names(self) -> None:
        done = occbench("devices", "--device", "t4", "--format", "csv", gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        query = {row["name"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
        for name, value in {
            "sm_count": "40",
            "max_threads_per_sm": "1024",
            "smem_per_sm_bytes": "65536",
        }.items():
            self.assertEqual(query[name]["value"], value)
        self.assertIn("not of the SM", query["smem_per_block_bytes"]["note"])
        self.assertIn("removed in CUDA 13", query["sm_clock_max_mhz"]["cuda_device_prop"])

    def test_compute_capability_knows_only_sm_limits(self) -> None:
        done = occbench("devices", "--device", "cc8.9", "--format", "json", gpu=False)
        query = {row["name"]: row["value"] for row in json.loads(done.stdout)}
        self.assertEqual((query["max_threads_per_sm"], query["sm_count"]), ("1536", None))
        self.assertIn("not known", occbench("devices", "--device", "cc8.9", gpu=False).stdout)

    def test_cuda_names_are_in_the_toolkit_header(self) -> None:
        nvcc = shutil.which("nvcc")
        header = nvcc and Path(nvcc).resolve().parents[1] / "include/driver_types.h"
        if not header or not header.exists():
            self.skipTest("no driver_types.h of a CUDA toolkit")
        words = set(re.findall(r"\w+", header.read_text(errors="replace")))
        done = occbench("devices", "--device", "h200", "--format", "csv", gpu=False)
        for row in csv.DictReader(io.StringIO(done.stdout)):
            for name in f"{row['cuda_device_prop']}, {row['cuda_attribute']}".split(", "):
                if name and "removed in CUDA 13" not in name:
                    self.assertIn(name, words)


class ProfilerCalls(unittest.TestCase):
    def test_lines_to_paste(self) -> None:
        """Each names its case to the tool and to this program, which takes the words as a shell gives."""
        for flag, tool in (("--show-ncu", "ncu"), ("--show-nsys", "nsys")):
            listed = occbench("list", "--preset", "quick", "--experiment", "registers", "--format", "csv")
            cases = [row["case_id"] for row in csv.DictReader(io.StringIO(listed.stdout))]
            done = occbench("list", "--preset", "quick", "--experiment", "registers", flag)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            lines = done.stdout.splitlines()
            for case, line in zip(cases, lines, strict=True):
                words = shlex.split(line)
                self.assertEqual(words[0], tool)
                if tool == "ncu":
                    self.assertEqual(words[words.index("--nvtx-include") + 1], f"occbench@{case}/")
                self.assertEqual(words[words.index("--case") + 1], case)
            named = occbench("list", "--preset", "quick", "--device", "h200", flag)
            words = shlex.split(named.stdout.splitlines()[0])
            self.assertEqual(words[words.index("--device") + 1], "h200")
            words = shlex.split(lines[0])
            refused = occbench(*words[words.index(str(OCCBENCH)) + 1 :], "--device", "model:h200")
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--case is for profilers", refused.stderr)


@on_device
class GoogleBenchmarkFlagsOnDevice(unittest.TestCase):
    FILTER = "--benchmark_filter=^registers[.]"

    def run_registers(self, *flags: str) -> "tuple[subprocess.CompletedProcess[str], set[str]]":
        """A filtered run, and the ids of its rows."""
        done = occbench("run", "--preset", "quick", "--output", "run", self.FILTER, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        ids = {row["case_id"] for row in rows(Path("run/cases.csv"))}
        self.assertTrue(ids)
        self.assertTrue(all(name.startswith("registers.") for name in ids), ids)
        return done, ids

    def test_filter(self) -> None:
        with working_folder():
            done, ids = self.run_registers()
            self.assertIn(f": {len(ids)} cases in ", done.stdout)

    def test_json(self) -> None:
        with working_folder():
            done, ids = self.run_registers("--benchmark_format=json", "--benchmark_out=out.json")
            for text in (done.stdout, Path("out.json").read_text()):
                names = {entry["name"].split("/")[0] for entry in json.loads(text)["benchmarks"]}
                self.assertTrue(names)
                self.assertLessEqual(names, ids)

    def test_repetitions(self) -> None:
        with working_folder():
            self.run_registers("--benchmark_repetitions=2")
            samples = rows(Path("run/samples.csv"))
            self.assertEqual({row["repetition"] for row in samples}, {"0", "1"})

    def test_anonymous(self) -> None:
        """The card is known by a name of its own, the same in each run, and the run goes on there."""
        with working_folder():
            self.run_registers("--anonymous")
            uuid = json.loads(Path("run/env.json").read_text())["gpu"]["uuid"]
            self.assertRegex(uuid, "^anonymous-[0-9a-f]{16}$")
            text = "".join(file.read_text() for file in Path("run").iterdir() if file.suffix != ".gz")
            built_in = "".join(file.read_text() for file in (ROOT / "harness/parameters").iterdir())
            named = re.findall("GPU-[0-9a-f-]{8,}", text)  # cards that built-in parameters were measured on
            self.assertLessEqual(set(named), set(re.findall("GPU-[0-9a-f-]{8,}", built_in)))
            self.assertNotIn(f'"{os.uname().nodename}"', text)
            self.assertEqual(validated(Path("run")).returncode, 0)
            self.assertEqual(occbench("run", "--resume", "run").returncode, 0)
            again = occbench("run", "--preset", "quick", "--output", "again", self.FILTER, "--anonymous")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(json.loads(Path("again/env.json").read_text())["gpu"]["uuid"], uuid)

    def test_list(self) -> None:
        with working_folder() as folder:
            done = occbench("run", "--preset", "quick", self.FILTER, "--benchmark_list_tests")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            names = done.stdout.split()
            self.assertTrue(names)
            self.assertTrue(all(name.startswith("registers.") for name in names), names)
            self.assertEqual(content(folder), {})

    def test_cases_for_a_profiler(self) -> None:
        cases = some_cases(2)
        with working_folder() as folder:
            done = occbench(
                "run", "--preset", "quick", "--case", ",".join(cases), "--launches", "3", "--profile"
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(
                [line.split()[0] for line in done.stdout.splitlines()], [cases[0]] * 3 + [cases[1]] * 3
            )
            self.assertEqual(content(folder), {})

    def test_ncu_sees_exactly_these_launches(self) -> None:
        ncu = shutil.which("ncu")
        if not ncu:
            self.skipTest("needs ncu")
        cases = some_cases(2)
        call = [ncu, "--nvtx", "--nvtx-include", f"occbench@{cases[1]}/", "--csv", "--page", "raw"]
        call += ["--metrics", "gpu__time_duration.sum", OCCBENCH, "run", "--preset", "quick"]
        call += ["--case", ",".join(cases), "--launches", "3"]
        with working_folder():
            done = subprocess.run(call, capture_output=True, text=True)
        if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
            self.skipTest("needs the right to read counters")
        launches = [line for line in done.stdout.splitlines() if re.match(r'"\d+",', line)]
        self.assertEqual(len(launches), 3, done.stdout + done.stderr)
        for line in launches:
            self.assertIn(f"occbench:{cases[1]}:", line)


if __name__ == "__main__":
    unittest.main()
