# SPDX-License-Identifier: Apache-2.0
"""Input that somebody sent: too deep, too large, of the wrong kind, or made to steer a terminal or a formula.

OCCBENCH names the binary.
"""

import contextlib
import csv
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OCCBENCH = Path(os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")).resolve()
PARAMETERS = ROOT / "tests/made_up_parameters.json"
RUN = ["run", "--device", "model:h200", "--preset", "quick", "--experiment", "waves"]
PREDICT = (
    *["calc", "--device", "h200", "--block-size", "64", "--registers", "32"],
    *["--predict", "streaming", "--parameters", "p.json"],
)
BATCH = ["calc", "--batch"]
HEADER = "device,block_size,registers_per_thread,static_smem_bytes,dynamic_smem_bytes\n"
ROW = "h200,256,32,0,0\n"
SOON_S = 20  # for what takes milliseconds, on a machine that is busy


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.cwd = Path(holder.name)

    def occbench(
        self, *words: str, stdin: str = "", **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        kept = {k: v for k, v in os.environ.items() if not k.startswith("BENCHMARK_")}
        return subprocess.run(
            [OCCBENCH, *words], cwd=self.cwd, text=True, capture_output=True, input=stdin, timeout=SOON_S,
            env=kept | {"CUDA_VISIBLE_DEVICES": ""} | environment,
        )  # fmt: skip

    def assert_refused(self, code: int, sentence: str, *words: str, **environment: str) -> str:
        done = self.occbench(*words, **environment)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr[:300])
        self.assertIn(sentence, done.stderr)
        self.assertLess(len(done.stderr), 6000)
        self.assertFalse((self.cwd / "run").exists())
        return done.stderr


class Files(InAFolder):
    def test_rejects_deeply_nested_json(self) -> None:
        deep = "[" * 100_000
        content = json.loads(PARAMETERS.read_text())
        nested: list[object] = []
        for _ in range(900):
            nested = [nested]
        whole = json.dumps(content | {"note": nested})
        for text in (deep, deep + "]" * 100_000, whole, whole.replace('"format": 1', '"format": ' + deep)):
            (self.cwd / "p.json").write_text(text)
            what = "p.json: is nested deeper than 62 levels"
            self.assert_refused(4, what, *RUN[:2], "model:p.json", "--output", "run")
            self.assert_refused(4, what, "run", "--parameters", "p.json", "--output", "run")
            self.assert_refused(4, what, "list", "--device", "model:p.json")
            self.assert_refused(4, what, *PREDICT)

    def test_rejects_deeply_nested_env_json(self) -> None:
        (self.cwd / "old").mkdir()
        for text in ("[" * 100_000, '{"a":' * 20_000 + "1" + "}" * 20_000):
            (self.cwd / "old/env.json").write_text(text)
            self.assert_refused(4, "env.json: is nested deeper than 64 levels", "run", "--resume", "old")

    def test_parameter_file_must_be_regular_and_small(self) -> None:
        os.mkfifo(self.cwd / "fifo.json")
        (self.cwd / "folder.json").mkdir()
        (self.cwd / "zero.json").symlink_to("/dev/zero")
        (self.cwd / "full.json").symlink_to("/dev/full")
        (self.cwd / "loop.json").symlink_to("loop.json")
        with (self.cwd / "large.json").open("wb") as large:
            large.truncate(1 << 30)
        said = {
            "fifo": "is not a regular file",
            "folder": "is not a regular file",
            "zero": "is not a regular file",
            "full": "is not a regular file", "loop": "cannot be read: Too many levels of symbolic links",
            "large": "has 1024 MiB, and at most 1 are read",
        }  # fmt: skip
        for name, what in said.items():
            with self.subTest(name):
                self.assert_refused(4, what, *RUN[:2], f"model:{name}.json", "--output", "run")
                self.assert_refused(4, what, "run", "--parameters", f"{name}.json", "--output", "run")

    def test_run_files_must_be_regular_and_bounded(self) -> None:
        self.occbench(*RUN, "--output", "old")
        for name in ("env.json", "cases.csv", "samples.csv"):
            file = self.cwd / "old" / name
            text = file.read_text()
            for kind in ("fifo", "folder", "zero", "large"):
                file.unlink()
                if kind == "fifo":
                    os.mkfifo(file)
                elif kind == "folder":
                    file.mkdir()
                elif kind == "zero":
                    file.symlink_to("/dev/zero")
                else:
                    with file.open("wb") as large:
                        large.truncate(3 << 30)
                what = "MiB, and at most" if kind == "large" else "is not a regular file"
                with self.subTest(name=name, kind=kind):
                    self.assertIn(f"{name}: ", self.assert_refused(4, what, "run", "--resume", "old"))
                if kind == "folder":
                    file.rmdir()
                else:
                    file.unlink()
                file.write_text(text)

    def test_rejects_sqlite_rows_that_share_pages(self) -> None:
        """Else 12 MiB of SQLite claim 180 GiB: 20,000 rows of one page that are all the same 9 MiB."""
        path = self.cwd / "p.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("pragma page_size = 65536")
            db.execute("create table CUPTI_ACTIVITY_KIND_KERNEL (demangledName text)")
            db.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values (?)", ["x" * (9 << 20)])
            db.commit()
        content = bytearray(path.read_bytes())
        root = 65536  # a leaf: its kind, 2 bytes of count at 3, pointers to cells from 8 on
        self.assertEqual((content[root], content[root + 3 : root + 5]), (0x0D, b"\0\1"))
        content[root + 3 : root + 5] = (20_000).to_bytes(2, "big")
        content[root + 8 : root + 40_008] = content[root + 8 : root + 10] * 20_000
        path.write_bytes(content)
        self.assert_refused(4, "has rows that overlap", "calc", "p.sqlite", "--device", "h200")

    def test_rejects_fields_of_wrong_type(self) -> None:
        for key in ("origin", "uuid"):
            (self.cwd / "p.json").write_text(json.dumps(json.loads(PARAMETERS.read_text()) | {key: [1]}))
            words = ("--anonymous", "--output", "run")
            self.assert_refused(4, f"'{key}' is [1]", *RUN[:2], "model:p.json", *words)


class Filter(InAFolder):
    def test_limits_filter_length(self) -> None:
        for pattern, what in {
            "(" * 50_000 + ")" * 50_000: "has 100000 bytes, and may have 4096",
            "(" * 2000: "is not a regular expression: missing )",
            "((a{1,1000}){1,1000}){1,1000}": "is not a regular expression",
        }.items():
            self.assert_refused(2, what, *RUN, "--output", "run", f"--benchmark_filter={pattern}")

    def test_filter_patterns_are_fast(self) -> None:
        for pattern in ("(a|a)*(a|aa)*X", "(.*)*(.*)*(.*)*x$", "(([a-z.0-9-]+)+)+!", "(.|.)*" * 500 + "q!"):
            self.assert_refused(2, "leaves none of", *RUN, "--output", "run", f"--benchmark_filter={pattern}")


class Environment(InAFolder):
    """BENCHMARK_FORMAT and the like are read by Google Benchmark as if they were flags."""

    def listed(self, *words: str, **environment: str) -> list[str]:
        done = self.occbench(*RUN, "--output", "run", *words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_rejects_invalid_benchmark_variables(self) -> None:
        for name, value, what in (
            ("FORMAT", "xml", "the value must be console, json or csv"),
            ("OUT_FORMAT", "csv", "--benchmark_out_format needs --benchmark_out=FILE"),
            ("FILTER", "(", "is not a regular expression"),
            ("LIST_TESTS", "maybe", "the value must be true or false"),
            ("TIME_UNIT", "MS", "the value must be ns, us, ms or s"),
            ("MIN_WARMUP_TIME", "1", "every case is warmed up"),
            ("PERF_COUNTERS", "CYCLES", "--counters reads the GPU's"),
            ("DRY_RUN", "true", "--benchmark_list_tests names the cases"),
            ("OUT", "/nowhere/x", "/nowhere/x: cannot be written (--benchmark_out)"),
        ):
            code = 4 if name == "OUT" else 2
            with self.subTest(name):
                variable = {f"BENCHMARK_{name}": value}
                said = self.assert_refused(code, what, *RUN, "--output", "run", **variable)
                if code == 2 and name not in ("FILTER", "OUT_FORMAT"):
                    self.assertIn(f"(the environment's BENCHMARK_{name})", said)

    def test_honours_valid_benchmark_variables(self) -> None:
        cases = self.listed(BENCHMARK_LIST_TESTS="true")
        self.assertGreater(len(cases), 10)
        some = self.listed("--benchmark_list_tests", BENCHMARK_FILTER="[.]r1[.]")
        self.assertEqual(some, [case for case in cases if ".r1." in case])
        words = ("--benchmark_list_tests", "--benchmark_filter=all")
        self.assertEqual(self.listed(*words, BENCHMARK_FILTER="x"), cases)
        self.assertIn('"benchmarks": [', "\n".join(self.listed(BENCHMARK_FORMAT="json")))

    def test_anonymous_rejects_benchmark_out_variable(self) -> None:
        self.assert_refused(
            2, "an anonymous run goes without --benchmark_out",
            *RUN, "--anonymous", "--output", "run", BENCHMARK_OUT="out.json",
        )  # fmt: skip


class Batch(InAFolder):
    def test_open_quote_invalidates_only_its_row(self) -> None:
        rows = [ROW, 'h200,"256,32,0,0\n', ROW, ROW, '"\n']
        for source in ("-", "rows.csv"):
            (self.cwd / "rows.csv").write_text(HEADER + "".join(rows))
            done = self.occbench(*BATCH, source, stdin=HEADER + "".join(rows))
            status = [row["status"] for row in csv.DictReader(done.stdout.splitlines())]
            bad = "invalid: a quote is opened and never closed"
            self.assertEqual((status, done.returncode), (["ok", bad, "ok", "ok", bad], 0))

    def test_batch_answers_row_by_row(self) -> None:
        with subprocess.Popen([OCCBENCH, *BATCH, "-"], stdin=-1, stdout=-1, text=True) as calc:
            assert calc.stdin is not None and calc.stdout is not None
            for asked in (HEADER, ROW, ROW):
                calc.stdin.write(asked)
                calc.stdin.flush()
                self.assertIn(asked.strip(), calc.stdout.readline())
            calc.stdin.close()

    def test_limits_line_length(self) -> None:
        long = ROW.strip() + "," + "x" * 70_000 + "\n"
        done = self.occbench(*BATCH, "-", stdin=HEADER + ROW + long + ROW)
        status = [row["status"] for row in csv.DictReader(done.stdout.splitlines())]
        self.assertEqual(status, ["ok", "invalid: the line is longer than 65536 bytes", "ok"])
        (self.cwd / "long.csv").write_text("x" * 70_000 + "\n" + ROW)
        self.assert_refused(4, "its first line is longer than 65536 bytes", *BATCH, "long.csv")
        self.assert_refused(4, "a line of more than 1 MiB", *BATCH, "/dev/zero")
        self.assert_refused(4, "cannot read '.': Is a directory", *BATCH, ".")

    def test_escapes_spreadsheet_formulas(self) -> None:
        header = "kernel," + HEADER
        cells = ["=cmd()", "+a", "-a", "@a", "\ta", "-1", "+1.5", "a", "-1e5", "'=a", "-inf"]
        text = header + "".join(f"{cell},{ROW}" for cell in cells)
        done = self.occbench(*BATCH, "-", stdin=text)
        kept = [row["kernel"] for row in csv.DictReader(done.stdout.splitlines())]
        quoted = ["'=cmd()", "'+a", "'-a", "'@a", r"'\x09a", "-1", "+1.5", "a", "-1e5", "'=a", "-inf"]
        self.assertEqual(kept, quoted)


class Terminal(InAFolder):
    STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

    def test_escapes_control_characters_in_arguments(self) -> None:
        for control in ("\x1b[31m", "\x07", "\x7f", "\x9b31m", "\r", "\n"):
            for words in (
                ["run", "--device", f"model:{control}.json"], ["calc", "--device", f"a{control}"],
                [f"re{control}port"], ["list", "--experiment", f"{control}x"],
                [*RUN, "--output", f"{control}x"], [*RUN, f"--benchmark_filter={control}"],
            ):  # fmt: skip
                done = self.occbench(*words)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), words)
                self.assertNotRegex(done.stderr, self.STEERS)
        self.assertEqual(list(self.cwd.iterdir()), [])

    def test_escapes_control_characters_in_files(self) -> None:
        content = json.loads(PARAMETERS.read_text())
        steering = "a\x1b]0;b\x07\x9b31m"
        for changed in ({"device": steering}, {"origin": steering}, {"catalogue_name": steering}):
            (self.cwd / "p.json").write_text(json.dumps(content | changed))
            for words in (
                [*RUN[:2], "model:p.json", *RUN[3:]],
                PREDICT,
            ):
                done = self.occbench(*words)
                self.assertNotRegex(done.stdout + done.stderr, self.STEERS)


if __name__ == "__main__":
    unittest.main()
