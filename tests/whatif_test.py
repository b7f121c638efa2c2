# SPDX-License-Identifier: Apache-2.0
"""`occbench whatif` on what ncu said of kernels of the suite, and on what it must refuse.

tests/whatif/evaluate.py holds its answers against measured ones; here is how they are given.
"""

import csv
import functools
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar

from command import OCCBENCH, ROOT, occbench

sys.path.insert(0, str(ROOT / "tests/whatif"))
import evaluate

LATENCY = "block_size_pick.intensity.ilp1-fma16.b128"  # 17 registers, 16 blocks of 128 on an SM of an H200
SPILLS = "softmax.softmax.warp-row1024-16B-maxnreg40.b128"
BULK = "bulk_copy.bulk_copy.bulk-s2-4096B.b128.r1"
UNKNOWN = "shared_latency.shared_latency.read-ilp1-conflict1.b128.r16"  # of which the model is 16 % off
ATOMICS = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"


class WhatIf(unittest.TestCase):
    folder: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        held = tempfile.TemporaryDirectory()
        cls.addClassCleanup(held.cleanup)
        cls.folder = Path(held.name)
        cls.reports, cls.units = evaluate.profiles()
        code = evaluate.describe(OCCBENCH, {c: cls.reports[c] for c in (LATENCY, SPILLS, BULK, UNKNOWN)})
        for case, text in code.items():
            (cls.folder / f"{case}.txt").write_text(text)
            cls.write(f"{case}.csv", cls.reports[case])

    @classmethod
    def write(cls, name: str, *rows: dict[str, str], lacking: str = "") -> Path:
        """A report of these launches, as ncu prints it."""
        columns = [column for column in cls.units if column not in ("case", lacking)]
        with (cls.folder / name).open("w", newline="") as file:
            out = csv.writer(file, quoting=csv.QUOTE_ALL)
            out.writerow(columns)
            out.writerow(cls.units[column] for column in columns)
            out.writerows([str(number), *(row[c] for c in columns[1:])] for number, row in enumerate(rows))
        return cls.folder / name

    def rows(self, words: str, case: str = LATENCY, code: int = 0) -> list[dict[str, str]]:
        done = self.ask(f"{words} --format csv", case)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return list(csv.DictReader(io.StringIO(done.stdout)))

    @classmethod
    @functools.cache  # an answer takes 18 predictions or more, and several tests look at the same
    def ask(cls, words: str, case: str = LATENCY):  # noqa: ANN206
        return occbench("whatif", f"{cls.folder}/{case}.csv", "--code", f"{cls.folder}/{case}.txt",
                        *words.split(), gpu=False)  # fmt: skip

    def test_each_change_has_a_row(self) -> None:
        now, *asked = self.rows("--registers 24,64 --block-size 256 --dynamic-smem 48K --gpu a100,h100")
        self.assertEqual((now["dial"], now["time_ratio"], now["blocks_per_sm"]), ("as measured", "1", "16"))
        measured_ns = self.reports[LATENCY]["gpu__time_duration.sum"].replace(",", "")
        self.assertAlmostEqual(1e9 * float(now["time_s"]), float(measured_ns), places=3)
        self.assertEqual(
            [(row["dial"], row["value"], row["blocks_per_sm"]) for row in asked],
            [("registers_per_thread", "24", "16"), ("registers_per_thread", "64", "8"),
             ("block_size", "256", "8"), ("dynamic_smem_bytes", "49152", "4"),
             ("gpu", "a100", "16"), ("gpu", "h100", "16")],
        )  # fmt: skip
        for row in asked:
            low, ratio, high = (float(row[f"time_ratio{end}"]) for end in ("_low", "", "_high"))
            self.assertTrue(0 < low < ratio < high, row)
            self.assertAlmostEqual(float(row["time_s"]), ratio * float(now["time_s"]), delta=1e-9)
        self.assertEqual(asked[0]["time_ratio"], "1")  # as many blocks as before
        # It waits for memory, with a quarter of its warps.
        self.assertGreater(float(asked[3]["time_ratio"]), 3)

    def test_binary_replaces_the_code_listing(self) -> None:
        words = ("whatif", f"{self.folder}/{LATENCY}.csv", "--binary", str(OCCBENCH), "--block-size", "256")
        done = occbench(*words, "--format", "csv", gpu=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(csv.DictReader(io.StringIO(done.stdout))), self.rows("--block-size 256"))

    def test_the_grid_of_the_changed_launch(self) -> None:
        blocks = int(self.rows("")[0]["grid_size"])
        for words, size in (("", blocks // 2), ("--grid waves", blocks // 2), ("--grid 500", 500)):
            self.assertEqual(self.rows(f"--block-size 256 {words}")[1]["grid_size"], str(size))
        for words, size in (("", blocks), ("--grid waves", blocks // 2)):
            self.assertEqual(self.rows(f"--registers 64 {words}")[1]["grid_size"], str(size))

    def test_default_changes_without_options(self) -> None:
        dials = [(row["dial"], row["value"]) for row in self.rows("")]
        self.assertEqual([v for d, v in dials if d == "block_size"], ["64", "256", "512", "1024"])
        self.assertIn(("registers_per_thread", "33"), dials)
        self.assertNotIn("registers_per_thread", [row["dial"] for row in self.rows("", SPILLS)])

    def test_formats(self) -> None:
        words = "--registers 64 --block-size 256"
        rows = self.rows(words)
        found = json.loads(self.ask(f"{words} --format json").stdout)
        self.assertEqual([list(row) for row in found], [list(row) for row in rows])
        self.assertEqual(
            [f"{row['time_ratio']:.9g}" for row in found],
            [f"{float(row['time_ratio']):.9g}" for row in rows],
        )
        table = self.ask(words).stdout
        self.assertEqual(table.splitlines()[0].rpartition(" on ")[2], "h200")
        self.assertRegex(table, r"\n527 us measured; model error before anchoring: -3\.4 %\n\n")
        self.assertRegex(table, r"\n  64 registers +64 +128 +8 +50\.0 % .* x 1\.\d\d ")
        self.assertRegex(self.ask(f"{words} --format markdown").stdout, r"\n\| change +\| registers \|")

    def test_sentences_fit_a_terminal(self) -> None:
        words = ["--registers", "64", "--dynamic-smem", "999K"]
        done = self.ask(" ".join(words), SPILLS)
        table, _, sentences = done.stdout.partition("\n\n  Ratio: ")
        self.assertIn("which another cap changes", " ".join(sentences.split()))
        long = [line for line in (*table.splitlines()[:2], *sentences.splitlines()) if len(line) > 80]
        self.assertEqual(long, [])

    def test_reports_why_there_is_no_answer(self) -> None:
        cases = {
            f"--registers 16 {LATENCY}": "fewer registers than its 17 may spill; `occbench caps`",
            f"--registers 16 --spilled 8 {LATENCY}": "spills 8 B, which the profile does not show",
            f"--registers 64 {SPILLS}": "loads from 32 B of local memory, which",
            f"--dynamic-smem 999K {LATENCY}": "cannot launch: 0 B static + 1,022,976 B dynamic",
        }
        for words, why in cases.items():
            with self.subTest(words):
                words, case = words.rsplit(" ", 1)
                row = self.rows(words, case, code=1)[1]
                self.assertIn(why, row["status"])
                self.assertEqual((row["time_ratio"], row["blocks_per_sm"]), ("", ""))
        self.assertEqual(len(self.rows("--registers 16 --spilled 0")), 2)

    def test_rejects_kernels_outside_the_model(self) -> None:
        plain = self.reports[LATENCY]
        edits = {
            "clusters": ({"launch__cluster_size": "2"}, "it runs in clusters of 2 blocks"),
            "atomics": ({ATOMICS: "1e6"}, "of its requests to global memory, and outside the model"),
            "shared": (
                {"sass__inst_executed_per_opcode": "100 (ATOMS: 1e9)"},
                "atomics of shared memory are",
            ),
            "lacking": ({}, "the report lacks dram__bytes_read.sum; `occbench whatif --print-ncu-command`"),
            "slow": ({"gpu__time_duration.sum": "1e6"}, "it does not know what bounds this kernel"),
        }
        for name, (changed, _) in edits.items():
            self.write(f"{name}.csv", plain | changed, lacking="" if changed else "dram__bytes_read.sum")
            (self.folder / f"{name}.txt").write_text((self.folder / f"{LATENCY}.txt").read_text())
        code = (self.folder / f"{LATENCY}.txt").read_text()
        self.write("opcodes.csv", plain)
        (self.folder / "opcodes.txt").write_text(code.replace("FFMA", "ZZZMA"))
        self.write("damaged.csv", plain)
        (self.folder / "damaged.txt").write_text(code[: len(code) // 2] + "\nFFMA x")
        outside = {name: why for name, (_, why) in edits.items()} | {
            BULK: "it makes bulk copies, and no counter has the number of copies in flight",
            UNKNOWN: "-16 %: it does not know what bounds this kernel",
            "opcodes": "ZZZMA",
            "damaged": "its machine code: line ",
        }
        for case, why in outside.items():
            with self.subTest(case):
                done = self.ask("", case)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn(why, done.stderr)

    def test_bad_input(self) -> None:
        report, code = (f"{self.folder}/{LATENCY}.{end}" for end in ("csv", "txt"))
        two = self.write("two.csv", self.reports[LATENCY], self.reports[SPILLS])
        nameless = self.write("nameless.csv", self.reports[LATENCY], lacking="device__attribute_display_name")
        cases = {
            "": (2, "whatif needs FILE, or --print-ncu-command"),
            "/nowhere.csv": (4, "cannot read '/nowhere.csv': No such file"),
            f"{code} --code {code}": (4, "has no launch of ncu's page raw"),
            report: (2, "whatif needs --binary FILE"),
            f"{report} --code /nowhere": (4, "/nowhere: cannot be read: No such file"),
            f"{report} --binary /nowhere": (4, "/nowhere: No such file"),
            f"{report} --binary {code}": (4, "holds no machine code"),
            f"{report} --code {code} --kernel nope": (4, "has no launch of a kernel with 'nope' in "),
            f"{two} --code {code}": (2, "has several kernels; --kernel selects one of "),
            f"{nameless} --code {code}": (2, "the report does not name its GPU; --device"),
            f"{report} --code {code} --device zx81": (2, "unknown device 'zx81'"),
            f"{report} --code {code} --gpu zx81": (2, "unknown device 'zx81'"),
            f"{report} --code {code} --parameters {code}": (4, "is not JSON"),
            f"{report} --code {code} --registers 0": (2, "--registers '0' is less than 1"),
            f"{report} --code {code} --registers 256": (2, "--registers '256' is too large (at most 255)"),
            f"{report} --code {code} --block-size x": (2, "--block-size 'x' is not a whole number"),
            f"{report} --code {code} --dynamic-smem -1": (2, "--dynamic-smem '-1' is negative"),
            f"{report} --code {code} --grid lots": (2, "--grid 'lots' is not a whole number"),
            f"{report} --code {code} --spilled x": (2, "--spilled 'x' is not a whole number"),
        }
        for words, (exit_code, sentence) in cases.items():
            with self.subTest(words):
                done = occbench("whatif", *words.split(), gpu=False)
                self.assertEqual((done.returncode, done.stdout), (exit_code, ""), done.stderr)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_selects_one_kernel_of_several(self) -> None:
        two = self.write("several.csv", self.reports[SPILLS], self.reports[LATENCY])
        (self.folder / "several.txt").write_text((self.folder / f"{LATENCY}.txt").read_text())
        words = "--kernel intensity --block-size 64"
        self.assertEqual(self.rows(words, two.stem), self.rows("--block-size 64"))

    def test_printed_ncu_command_has_the_required_metrics(self) -> None:
        said = occbench("whatif", "--print-ncu-command", gpu=False).stdout
        self.assertTrue(said.startswith("ncu ") and said.endswith(" APP\n"), said)
        self.assertIn("--page raw", said)
        metrics = said.split("--metrics ")[1].split()[0].split(",")
        self.assertLessEqual(set(metrics), set(self.units))


class Figures(unittest.TestCase):
    def test_docs_match_the_evaluation(self) -> None:
        words = [sys.executable, ROOT / "tests/whatif/evaluate.py", "--csv", "--occbench", OCCBENCH]
        found = subprocess.run(words, text=True, capture_output=True, check=True).stdout
        self.assertEqual(found, (ROOT / "docs/data/whatif.csv").read_text())


if __name__ == "__main__":
    unittest.main()
