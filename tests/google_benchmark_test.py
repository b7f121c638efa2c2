# SPDX-License-Identifier: Apache-2.0
"""Each flag of the installed Google Benchmark is honoured or refused; a new one fails here.

usage: google_benchmark_test.py HELP [TEST...]    HELP prints the library's --help; OCCBENCH is the program.
"""

import csv
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
OCCBENCH = Path(os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")).resolve()
HELP = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and Path(sys.argv[1]).is_file() else None
FEW = "--benchmark_filter=two-operand-ilp4[.]b256[.]s(4096|8192|16384)$"  # of shared_memory
# A kernel counted in bytes, one in FLOPs and one in operations.
MIXED = "--benchmark_filter=(stream.read-f32-4B-ilp1.b256|two-operand-ilp1.b256|sync-fma1.b256.r8)$"


class Done(NamedTuple):
    code: int
    out: str
    err: str
    rows: list[dict[str, str]]
    folder: Path


def run(folder: Path, *flags: str, few: str = FEW) -> Done:
    """A model's run of a few cases with these flags."""
    words = [OCCBENCH, "run", "--device", "model:h200", "--output", "run", few, *flags]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BENCHMARK_")}
    done = subprocess.run(words, cwd=folder, text=True, capture_output=True, env=environment)
    table = folder / "run/cases.csv"
    rows = list(csv.DictReader(table.read_text().splitlines())) if table.exists() else []
    return Done(done.returncode, done.stdout, done.stderr, rows, folder)


def lines_named(done: Done, word: str) -> int:
    return sum(word in line for line in done.out.splitlines())


def is_interleaved(done: Done) -> bool:
    """Three cases, one after another, change twice; 24 calls in random order do so once in 10^9 times."""
    order = re.findall(r"LOG\(2\): Running (\S+)/iterations", done.err)
    return len(order) == 24 and sum(a != b for a, b in itertools.pairwise(order)) > 2


HONOURED: dict[str, tuple[tuple[str, ...], Callable[[Done], bool]]] = {
    "--benchmark_list_tests": (("=true",), lambda d: not d.rows and len(d.out.splitlines()) == 3),
    "--benchmark_filter": ((), lambda d: len(d.rows) == 3),
    "--benchmark_repetitions": (
        ("=3", "--benchmark_format=json"),
        lambda d: len(json.loads(d.out)["benchmarks"]) == 3 * (3 + 4),  # and mean, median, stddev, cv
    ),
    "--benchmark_enable_random_interleaving": (
        ("=true", "--benchmark_repetitions=8", "--v=2"),
        is_interleaved,
    ),
    "--benchmark_report_aggregates_only": (
        ("=true", "--benchmark_repetitions=2", "--benchmark_format=console"),
        lambda d: lines_named(d, "_mean") == 3 and lines_named(d, "repeats:2 ") == 0,
    ),
    "--benchmark_display_aggregates_only": (
        ("=true", "--benchmark_repetitions=2", "--benchmark_format=console"),
        lambda d: lines_named(d, "_mean") == 3 and lines_named(d, "repeats:2 ") == 0,
    ),
    "--benchmark_format": (("=json",), lambda d: len(json.loads(d.out)["benchmarks"]) == 3),
    "--benchmark_out": (
        ("=out.json",),
        lambda d: json.loads((d.folder / "out.json").read_text())["context"]["executable"] == "occbench",
    ),
    "--benchmark_out_format": (
        ("=csv", "--benchmark_out=out.csv"),
        lambda d: (d.folder / "out.csv").read_text().count("occupancy") == 1,
    ),
    "--benchmark_color": (("=true", "--benchmark_format=console"), lambda d: "\x1b[" in d.out),
    "--benchmark_counters_tabular": (
        ("=true", "--benchmark_format=console"),
        lambda d: re.search(r"Iterations .*occupancy", d.out) is not None,
    ),
    "--benchmark_context": (
        ("=card=mine", "--benchmark_format=json"),
        lambda d: json.loads(d.out)["context"]["card"] == "mine",
    ),
    "--benchmark_time_unit": (
        ("=s", "--benchmark_format=json"),
        lambda d: all(
            each["time_unit"] == "s" and 0 < each["real_time"] < 0.1
            for each in json.loads(d.out)["benchmarks"]
        ),
    ),
    "--v": (("=2",), lambda d: "LOG(2)" in d.err and not is_interleaved(d)),
}
REFUSED = {
    "--benchmark_min_time": "a case ends by its precision",
    "--benchmark_min_warmup_time": "every case is warmed up",
    "--benchmark_perf_counters": "--counters reads the GPU's",
    "--benchmark_dry_run": "--benchmark_list_tests names the cases",
}
# Where the library itself prints its help and exits with 0, or begins a run that it cannot end.
BAD_WORDS = {
    "--benchmark_format=JSON": "the value must be console, json or csv",
    "--benchmark_format": "the value must be console, json or csv",
    "--benchmark_time_unit=MS": "the value must be ns, us, ms or s",
    "--benchmark_color=": "the value must be auto, true or false",
    "--benchmark_color": "the value must be auto, true or false",
    "--benchmark_repetitions=0": "the value must be a whole number from 1 on",
    "--benchmark_filter": "the value must be a regular expression",
    "--benchmark_filter=(": "is not a regular expression",
    "--benchmark_list_tests=maybe": "the value must be true or false",
    "--benchmark_context=card": "the value must be KEY=VALUE,...",
    "--benchmark_out=": "the value must be a path",
    "--benchmark_out_format=csv": "needs --benchmark_out=FILE",
    "--benchmark_nope": "Google Benchmark has no flag '--benchmark_nope'",
}


class Flags(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def test_every_library_flag_is_honoured_or_rejected(self) -> None:
        if HELP is None:
            self.skipTest("no program that prints the library's help was named")
        text = subprocess.run([HELP, "--help"], text=True, capture_output=True).stdout
        flags = set(re.findall(r"\[(--\w+)", text))
        self.assertGreater(len(flags), 10, text)
        self.assertEqual(flags - HONOURED.keys() - REFUSED.keys(), set())

    def test_honoured(self) -> None:
        for flag, (words, holds) in HONOURED.items():
            with self.subTest(flag):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                done = run(self.folder, *([flag + words[0], *words[1:]] if words else []))
                self.assertEqual(done.code, 0, done.err)
                self.assertTrue(holds(done), done.out + done.err)

    def test_refused(self) -> None:
        for flag, says in REFUSED.items():
            for value in ("", "=0.1s", "=1"):
                with self.subTest(flag + value):
                    done = run(self.folder, flag + value)
                    self.assertEqual((done.code, done.out, list(self.folder.iterdir())), (2, "", []))
                    said = rf"^occbench: {flag} has no meaning here: .*{re.escape(says)}.*\n$"
                    self.assertRegex(done.err, said)

    def test_rejects_invalid_values(self) -> None:
        for word, says in BAD_WORDS.items():
            with self.subTest(word):
                done = run(self.folder, word)
                self.assertEqual((done.code, done.out, list(self.folder.iterdir())), (2, "", []), done.err)
                self.assertRegex(done.err, rf"^occbench: .*{re.escape(says)}.*\n$")

    def test_accepts_all_boolean_values(self) -> None:
        for word in ("false", "no", "off", "f", "n", "0"):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            done = run(self.folder, f"--benchmark_list_tests={word}")
            self.assertEqual(len(done.rows), 3, word)
        for word in ("", "=true", "=yes", "=on", "=t", "=y", "=1"):
            done = run(self.folder, f"--benchmark_list_tests{word}")
            self.assertEqual(len(done.out.split()), 3, word)

    def test_help_lists_the_flags(self) -> None:
        text = subprocess.run([OCCBENCH, "run", "--help"], text=True, capture_output=True).stdout
        said = re.search(r"--benchmark_[.]{3}\n +honoured: ([^:]*)\n +refused: ([^:]*)\n\n", text)
        self.assertIsNotNone(said, text)
        for named, flags in zip(said.groups(), (HONOURED, REFUSED), strict=True):
            self.assertEqual(sorted(named.split()), sorted(f.removeprefix("--benchmark_") for f in flags))

    def test_flags_are_rejected_with_case(self) -> None:
        case = run(self.folder, "--benchmark_list_tests").out.split()[0]
        done = run(self.folder, "--case", case)
        self.assertEqual((done.code, done.out, done.rows), (2, "", []))
        self.assertIn(f"{FEW} has no effect on it", done.err)

    def test_filter_selects_cases(self) -> None:
        named = run(self.folder, "--benchmark_list_tests", few="--benchmark_filter=b512$").out.split()
        self.assertTrue(named and all(name.endswith("b512") for name in named))
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        done = run(self.folder, "--benchmark_out=out.json", few="--benchmark_filter=registers.*b512$")
        ids = {row["case_id"] for row in done.rows}
        self.assertTrue(ids and all(name.endswith("b512") for name in ids))
        measured = {row["case_id"] for row in done.rows if row["status"] == "valid"}
        reported = json.loads((self.folder / "out.json").read_text())["benchmarks"]
        self.assertEqual({each["name"].split("/")[0] for each in reported}, measured)

    def test_reports_a_full_output_file(self) -> None:
        for form in ("json", "csv", "console"):
            flags = ("--benchmark_out=/dev/full", f"--benchmark_out_format={form}")
            done = run(self.folder, *flags)
            self.assertEqual(done.code, 4, done.err)
            self.assertRegex(done.err, r"occbench: the file of --benchmark_out could not be written whole; ")
            self.assertEqual(len(done.rows), 3)
            shutil.rmtree(self.folder / "run")

    def test_rejects_a_filter_without_matches(self) -> None:
        for more in ((), ("--benchmark_list_tests",)):
            done = run(self.folder, *more, few="--benchmark_filter=no-such-case")
            self.assertEqual((done.code, done.out, list(self.folder.iterdir())), (2, "", []))
            said = r"^occbench: --benchmark_filter 'no-such-case' leaves none of \d+ cases; .*\n$"
            self.assertRegex(done.err, said)

    def test_rejects_an_experiment_filtered_to_nothing(self) -> None:
        done = run(self.folder, "--experiment", "registers")
        self.assertEqual((done.code, done.out, list(self.folder.iterdir())), (2, "", []))
        self.assertIn(" leaves none of ", done.err)

    def test_resuming_a_complete_run_succeeds(self) -> None:
        run(self.folder)
        words = [OCCBENCH, "run", "--resume", "run", "--benchmark_out=out.csv", "--benchmark_out_format=csv"]
        done = subprocess.run(words, cwd=self.folder, text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "run/cases.csv").read_text().count("\n"), 1 + 3)

    def test_every_case_has_the_same_counters(self) -> None:
        done = run(self.folder, "--benchmark_format=csv", few=MIXED)
        self.assertEqual(done.code, 0, done.err)
        table = list(csv.DictReader(io.StringIO(done.out[done.out.index("name,") :])))
        self.assertEqual(len(table), sum(row["status"] == "valid" for row in done.rows))
        units = {row["label"] for row in table}
        self.assertEqual(units, {"byte/s", "flop/s", "operation/s"})
        for row in table:
            rate = "bytes_per_second" if row["label"] == "byte/s" else "items_per_second"
            self.assertGreater(float(row[rate]), 0)
            self.assertTrue(0 < float(row["occupancy"]) <= 1 and float(row["blocks_per_sm"]) >= 1, row)

    def test_csv_repetitions_of_mixed_cases(self) -> None:
        flags = ("--benchmark_repetitions=3", "--benchmark_out=out.csv", "--benchmark_out_format=csv")
        done = run(self.folder, *flags, few=MIXED)
        self.assertEqual(done.code, 0, done.err)
        text = (self.folder / "out.csv").read_text()
        table = list(csv.DictReader(io.StringIO(text[text.index("name,") :])))
        valid = sum(row["status"] == "valid" for row in done.rows)
        self.assertEqual(len(table), valid * (3 + 4))  # and mean, median, stddev, cv


if __name__ == "__main__":
    unittest.main()
