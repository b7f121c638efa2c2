# SPDX-License-Identifier: Apache-2.0
"""`occbench whatif` on a report of ncu of an H200: what it answers, and what it refuses in one line.

The report and its kernel's code are tests/samples/whatif.csv and whatif.txt.
"""

import csv
import io
import json
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

from command import ROOT, content, occbench, working_folder

SAMPLES = ROOT / "tests/samples"
REPORT, CODE = (
    (SAMPLES / "whatif.csv").read_text(),
    (SAMPLES / "whatif.txt").read_text(),
)
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_"


def report(**changed: str | None) -> str:
    """The sample with some cells replaced, or columns left out where None."""
    names, units, cells = csv.reader(io.StringIO(REPORT))
    cells = [changed.get(name) or cell for name, cell in zip(names, cells, strict=True)]
    kept = [n for n, name in enumerate(names) if changed.get(name, "") is not None]
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
        [[row[n] for n in kept] for row in (names, units, cells)]
    )
    return text.getvalue()


def code(*lines: str) -> str:
    """The sample's description with instructions behind its first."""
    head, first, *rest = CODE.splitlines()
    return "\n".join([head, first, *lines, *rest]) + "\n"


class Answers(unittest.TestCase):
    def rows(self, *words: str) -> list[dict[str, object]]:
        done = occbench("whatif", str(SAMPLES / "whatif.csv"), "--code", str(SAMPLES / "whatif.txt"), *words,
                        "--format", "json")  # fmt: skip
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_as_measured_comes_first_and_each_change_has_a_band(self) -> None:
        base, *others = self.rows(
            "--block-size", "256", "--dynamic-smem", "27K", "--gpu", "h100"
        )
        self.assertEqual(
            (base["dial"], base["time_ratio"], base["block_size"]),
            ("as measured", 1, 128),
        )
        self.assertEqual(
            [row["dial"] for row in others], ["block_size", "dynamic_smem_bytes", "gpu"]
        )
        for row in others:
            self.assertLess(row["time_ratio_low"], row["time_ratio"])
            self.assertLess(row["time_ratio"], row["time_ratio_high"])

    def test_fewer_warps_cost_what_a_gpu_said_they_do(self) -> None:
        change = self.rows("--dynamic-smem", "27K", "--grid", "waves")[1]
        self.assertEqual(change["blocks_per_sm"], 7)
        self.assertAlmostEqual(
            change["time_ratio"], 1.45, delta=0.12
        )  # 8 of 16 blocks: measured as 1.451

    def test_a_grid_that_stays_has_a_tail_where_one_in_waves_has_none(self) -> None:
        stays = self.rows("--dynamic-smem", "27K")[1]
        waves = self.rows("--dynamic-smem", "27K", "--grid", "waves")[1]
        self.assertEqual((stays["bound"], stays["grid_size"]), ("tail", 2112))
        self.assertEqual(waves["grid_size"], 2112 * 7 // 16)

    def test_a_cap_may_spill(self) -> None:
        done = occbench("whatif", str(SAMPLES / "whatif.csv"), "--code", str(SAMPLES / "whatif.txt"),
                        "--registers", "24")  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn(
            "24 registers: fewer registers than its 32 may spill; `occbench caps`",
            done.stdout,
        )
        self.assertEqual(
            self.rows("--registers", "24", "--spilled", "0")[1]["status"], "ok"
        )
        self.assertIn(
            "spills 64 B",
            str(self.rows("--registers", "24", "--spilled", "64")[1]["status"]),
        )

    def test_the_call_of_ncu_asks_for_what_is_needed(self) -> None:
        done = occbench("whatif", "--print-ncu-command")
        self.assertEqual(done.returncode, 0)
        for name in next(csv.reader(io.StringIO(REPORT))):
            if "__" in name:
                self.assertIn(name, done.stdout)


class Refused(unittest.TestCase):
    def refused(
        self,
        exit_code: int,
        sentence: str,
        *words: str,
        report: str = REPORT,
        code: str = CODE,
    ) -> None:
        with self.subTest(sentence), working_folder() as folder:
            files = {"r.csv": report, "c.txt": code}
            for name, text in files.items():
                (folder / name).write_text(text)
            done = occbench("whatif", *(words or ("r.csv", "--code", "c.txt")))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(sentence, done.stderr)
            self.assertEqual((done.returncode, done.stdout), (exit_code, ""))
            self.assertEqual(content(folder), files)

    def test_words(self) -> None:
        given = ("r.csv", "--code", "c.txt")
        self.refused(
            2, "whatif needs FILE, or --print-ncu-command", "--block-size", "64"
        )
        self.refused(2, "whatif needs --binary FILE", "r.csv")
        self.refused(
            2,
            "--registers '300' is too large (at most 255)",
            *given,
            "--registers",
            "300",
        )
        self.refused(
            2, "--block-size 'abc' is not a whole number", *given, "--block-size", "abc"
        )
        self.refused(2, "--grid 'x' is not a whole number", *given, "--grid", "x")
        self.refused(2, "unknown device 'nope'", *given, "--gpu", "nope")
        self.refused(2, "--binary excludes --code", *given, "--binary", "c.txt")

    def test_files(self) -> None:
        self.refused(
            4,
            "cannot read 'nope.csv': No such file or directory",
            "nope.csv",
            "--code",
            "c.txt",
        )
        self.refused(4, "'r.csv': holds no launch of ncu's page raw", report="hello\n")
        self.refused(
            4,
            "with 'other' in its name",
            "r.csv",
            "--code",
            "c.txt",
            "--kernel",
            "other",
        )
        self.refused(4, "'c.txt': its machine code: line 1: ", code="hello\n")
        self.refused(4, "nope.txt: cannot be read", "r.csv", "--code", "nope.txt")

    def test_reports_that_lack_counters(self) -> None:
        for name in (
            "gpu__time_duration.sum",
            "dram__bytes_read.sum",
            "launch__block_size",
        ):
            self.refused(
                1,
                f"the report lacks {name}; `occbench whatif --pr",
                report=report(**{name: None}),
            )
        self.refused(
            2,
            "does not say on which GPU",
            report=report(device__attribute_display_name="A Card"),
        )

    def test_kernels_outside_the_model(self) -> None:
        self.refused(
            1,
            "it runs in clusters of 2 blocks",
            report=report(launch__cluster_size="2"),
        )
        atomics = report(**{f"{REQUESTS}red.sum": "9,000,000,000"})
        self.refused(
            1,
            " of its requests to global memory, and outside the model",
            report=atomics,
        )
        self.refused(1, "no counter says how many of them are under way",
                     report=report(sass__inst_executed_per_opcode="9 (UBLKCP: 9)"))  # fmt: skip
        self.refused(1, "NEVERSEEN", code=code(*["NEVERSEEN 1 - - 00 00 00"] * 9))

    def test_a_model_that_is_far_off(self) -> None:
        slow = report(**{"gpu__time_duration.sum": "2,083,296"})
        self.refused(1, "it does not know what bounds this kernel", report=slow)

    def test_binaries(self) -> None:
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with mock.patch.dict(os.environ, PATH=tools, PYTHONPATH=str(ROOT / "tools")):
            other = str(SAMPLES / "inspect.cubin")
            self.refused(
                4,
                f"{other}: no kernels are called _ZN8occbench",
                "r.csv",
                "--binary",
                other,
            )
            self.refused(4, "c.txt", "r.csv", "--binary", "c.txt")


if __name__ == "__main__":
    unittest.main()
