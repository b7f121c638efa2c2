# SPDX-License-Identifier: Apache-2.0
"""A run's folder when luck is bad: two runs at once, closed descriptors, full disks, links, half a run.

OCCBENCH names the binary. TRIES is how often each race is run: less often under sanitizers, where a
start takes long, and who wins a race says nothing of memory.
"""

import csv
import itertools
import os
import resource
import shlex
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parent.parent
OCCBENCH = Path(os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")).resolve()
TRIES = int(os.environ.get("TRIES", "3" if "ASAN_OPTIONS" in os.environ else "8"))
RUN = "run --device model:h200 --preset quick --experiment waves"
FILES = ["cases.csv", "env.json", "findings.json", "samples.csv"]
IN_USE = "another run is writing there; wait for its end, or name another folder"


def rows(folder: Path) -> list[list[str]]:
    with (folder / "cases.csv").open(newline="") as text:
        return sorted(csv.reader(text))


class OfARun(unittest.TestCase):
    reference: ClassVar[list[list[str]]] = []

    @classmethod
    def setUpClass(cls) -> None:
        if OfARun.reference:  # of the class before
            return
        with tempfile.TemporaryDirectory() as folder:
            cls.run_in(Path(folder), "--output", "whole")
            OfARun.reference = rows(Path(folder) / "whole")

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.cwd = Path(holder.name)

    @staticmethod
    def start(cwd: Path, *words: str) -> "subprocess.Popen[str]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([OCCBENCH, *RUN.split(), *words], cwd=cwd, **pipes)

    @classmethod
    def run_in(cls, cwd: Path, *words: str) -> tuple[int, str]:
        run = cls.start(cwd, *words)
        _, said = run.communicate(timeout=60)
        return run.returncode, said

    def resume(self, folder: str = "X") -> tuple[int, str]:
        words = [OCCBENCH, "run", "--resume", folder]
        run = subprocess.run(words, cwd=self.cwd, text=True, capture_output=True)
        return run.returncode, run.stderr

    def assert_whole(self, folder: Path) -> None:
        self.assertEqual(sorted(p.name for p in folder.iterdir()), FILES)
        self.assertEqual(rows(folder), self.reference)


class TwoAtOnce(OfARun):
    def race(self, *words: str) -> list[tuple[int, str]]:
        both = [self.start(self.cwd, *words) for _ in range(2)]
        return sorted((run.returncode, said) for run in both for said in run.communicate(timeout=60)[1:])

    def test_second_run_into_a_folder_is_rejected(self) -> None:
        for n in range(TRIES):
            (first, _), (second, said) = self.race("--output", f"{n}")
            self.assertEqual((first, second), (0, 4), said)
            # The one that came when the other had ended finds its run there.
            self.assertRegex(said, f"^occbench: {n}: (already holds a run|{IN_USE})")
            self.assert_whole(self.cwd / str(n))

    def test_concurrent_resume_writes_no_duplicate_rows(self) -> None:
        self.run_in(self.cwd, "--output", "X")
        head = (self.cwd / "X/cases.csv").read_text().splitlines(keepends=True)[:2]
        for _ in range(TRIES):
            (self.cwd / "X/cases.csv").write_text("".join(head))
            words = [OCCBENCH, "run", "--resume", "X"]
            both = [subprocess.Popen(words, cwd=self.cwd, stderr=-1, stdout=-3, text=True) for _ in range(2)]
            said = [run.communicate(timeout=60)[1] for run in both]
            codes = sorted(run.returncode for run in both)
            self.assertIn(codes, ([0, 0], [0, 4]), said)  # [0, 0]: one began when the other had ended
            self.assertEqual(codes == [0, 4], any(IN_USE in line for line in said))
            self.assert_whole(self.cwd / "X")

    def test_concurrent_runs_get_distinct_default_folders(self) -> None:
        for run in [self.start(self.cwd) for _ in range(2)]:
            self.assertEqual((run.communicate(timeout=60)[1], run.returncode), ("", 0))
        folders = list((self.cwd / "results").glob("*/*"))
        self.assertEqual(len(folders), 2)
        for folder in folders:
            self.assert_whole(folder)

    def test_killed_run_releases_its_lock(self) -> None:
        run = self.start(self.cwd, "--output", "X")
        while not (self.cwd / "X/env.json").exists():
            time.sleep(0.005)
        run.kill()
        run.communicate()
        self.assertEqual(self.resume(), (0, ""))
        self.assert_whole(self.cwd / "X")


class ClosedDescriptors(OfARun):
    def test_closed_standard_streams_are_not_reused(self) -> None:
        for count in (1, 2, 3):
            for closed in itertools.combinations("012", count):
                folder = "without-" + "".join(closed)
                command = shlex.join([str(OCCBENCH), *RUN.split(), "--output", folder])
                shut = " ".join(f"{fd}>&-" for fd in closed)
                code = subprocess.run(
                    ["bash", "-c", f"{command} {shut}"], cwd=self.cwd, capture_output=True
                ).returncode
                with self.subTest(closed=closed):
                    # The rows are whole; that the summary could not be said is told by the exit code.
                    self.assertEqual(code, 4 if "1" in closed else 0)
                    self.assert_whole(self.cwd / folder)

    def test_full_stdout_is_an_error(self) -> None:
        calls = ("--help", "--version", "run --help", "list --device h200", "completion bash", "devices")
        for words in calls:
            with Path("/dev/full").open("w") as full:
                run = subprocess.run([OCCBENCH, *words.split()], stdout=full, stderr=-1, text=True)
            if words == "devices" and run.returncode == 3:
                continue
            with self.subTest(words):
                self.assertEqual(
                    (run.returncode, run.stderr), (4, "occbench: standard output cannot be written\n")
                )


class HalfARun(OfARun):
    def test_resume_completes_missing_rows(self) -> None:
        self.run_in(self.cwd, "--output", "X")
        header = (self.cwd / "X/cases.csv").read_bytes().splitlines()[0]
        for left in (None, b"", header[:40], header, header + b'\n4,"mod'):
            for name in ("cases.csv", "samples.csv"):
                (self.cwd / "X" / name).unlink()
            if left is not None:
                (self.cwd / "X/cases.csv").write_bytes(left)
            code, said = self.run_in(self.cwd, "--output", "X")
            self.assertEqual(code, 4)
            self.assertIn("already holds a run; continue it with --resume", said)
            self.assertEqual(self.resume(), (0, ""), left)
            self.assert_whole(self.cwd / "X")

    def test_names_damaged_file_and_keeps_it(self) -> None:
        self.run_in(self.cwd, "--output", "X")
        files = [self.cwd / "X" / name for name in FILES]
        whole = [file.read_bytes() for file in files]
        table = [row.split(b",") for row in whole[0].splitlines()[:9]]
        place = table[0].index(b"carveout_percent")
        table[5][place] = b"1\x12"
        rows = [row.split(b",") for row in whole[0].splitlines()]
        rows[3][table[0].index(b"curve")] = b"a\0b"
        zero = b"\n".join(map(b",".join, rows))
        damages = {
            "cases.csv:4: curve: a\\x00b is not UTF-8 text": (0, zero),
            "cases.csv:4: curve: a\\xffb is not UTF-8 text": (0, zero.replace(b"\0", b"\xff")),
            "env.json: source is neither measured nor model": (
                1,
                whole[1].replace(b'"source": "model"', b'"source": ""'),
            ),
            "env.json: parameters are missing, and source is model": (
                1,
                whole[1].replace(b'"parameters": {', b'"others": {'),
            ),
            "cases.csv:6: carveout_percent: 1\\x12 is not a number": (0, b"\n".join(map(b",".join, table))),
            'env.json: seed: "1" is not of type integer': (1, whole[1].replace(b'"seed": 1', b'"seed": "1"')),
            "cases.csv:2: case_id: ": (1, whole[1].replace(b'    "waves": {', b'    "registers": {')),
        }
        for said, (place, damaged) in damages.items():
            files[place].write_bytes(damaged + b"\n")
            with self.subTest(said):
                before = [file.read_bytes() for file in files]
                code, line = self.resume()
                self.assertEqual((code, line.count("\n")), (4, 1), line)
                self.assertIn(f"X/{said}", line)
                self.assertEqual([file.read_bytes() for file in files], before)
            files[place].write_bytes(whole[place])

    def test_findings_rejects_non_utf8_column_names(self) -> None:
        self.run_in(self.cwd, "--output", "X")
        cases = self.cwd / "X/cases.csv"
        cases.write_bytes(cases.read_bytes().replace(b"time_ci95_low_s", b"time_ci95_low_\xad", 1))
        done = subprocess.run([OCCBENCH, "findings", "X"], cwd=self.cwd, text=True, capture_output=True)
        said = "occbench: X/cases.csv:1: column time_ci95_low_\\xad is not UTF-8 text\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (4, "", said))

    def test_rows_without_env_json_are_rejected(self) -> None:
        self.run_in(self.cwd, "--output", "X")
        (self.cwd / "X/env.json").unlink()
        self.assertEqual(self.resume(), (4, "occbench: X: holds no run (no env.json)\n"))
        self.assertEqual(
            self.run_in(self.cwd, "--output", "X"),
            (4, "occbench: X: already holds a cases.csv; name another folder\n"),
        )

    def test_full_disk_at_start_leaves_a_usable_folder(self) -> None:
        for limit in (0, 50, 200, 2000, 6000):  # bytes of each file: none, part of a header, part of env.json

            def small(limit: int = limit) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

            run = subprocess.run(
                [OCCBENCH, *RUN.split(), "--output", "X"],
                cwd=self.cwd, preexec_fn=small, text=True, capture_output=True,
            )  # fmt: skip
            with self.subTest(limit):
                self.assertEqual(run.returncode, 4)
                self.assertRegex(run.stderr, r"^occbench: X/\S+: (cannot be written: )?File too large.*\n$")
                self.assertFalse((self.cwd / "X").exists())
        self.assertEqual(self.run_in(self.cwd, "--output", "X"), (0, ""))
        self.assert_whole(self.cwd / "X")


class Links(OfARun):
    def setUp(self) -> None:
        super().setUp()
        self.victim = self.cwd / "victim"
        self.victim.write_text("mine\n")

    def test_run_does_not_follow_symlinks(self) -> None:
        names = [*(name for name in FILES if name != "findings.json"), ".lock"]  # that one replaces a link
        for name in names:
            for target in (self.victim, self.cwd / "nowhere"):
                folder = self.cwd / f"{name}-{target.name}"
                folder.mkdir()
                (folder / name).symlink_to(target)
                code, said = self.run_in(self.cwd, "--output", folder.name)
                self.assertEqual((code, said.count("\n")), (4, 1), said)
                self.assertEqual(list(folder.iterdir()), [folder / name])

    def test_resume_replaces_symlinks_and_keeps_targets(self) -> None:
        self.run_in(self.cwd, "--output", "X")
        for name in ("cases.csv", "samples.csv"):
            (self.cwd / name).write_text((self.cwd / "X" / name).read_text())
            (self.cwd / "X" / name).unlink()
            (self.cwd / "X" / name).symlink_to(self.cwd / name)
        before = (self.cwd / "cases.csv").read_text().splitlines(keepends=True)
        (self.cwd / "cases.csv").write_text("".join(before[:3]))
        self.assertEqual(self.resume(), (0, ""))
        self.assert_whole(self.cwd / "X")
        self.assertEqual((self.cwd / "cases.csv").read_text(), "".join(before[:3]))

    def test_ignores_old_temporary_file_names(self) -> None:
        (self.cwd / "X").mkdir()
        for name in FILES:
            (self.cwd / "X" / f"{name}.new").symlink_to(self.victim)
        self.assertEqual(self.run_in(self.cwd, "--output", "X"), (0, ""))
        self.assertEqual(rows(self.cwd / "X"), self.reference)

    def tearDown(self) -> None:
        self.assertEqual(self.victim.read_text(), "mine\n")
        self.assertFalse((self.cwd / "nowhere").exists())


class Words(OfARun):
    def test_non_utf8_argument_is_rejected_before_writing(self) -> None:
        for words in (
            ["run", "--device", "model:h200", "--output", b"a\xff"],
            ["run", "--device", b"model:\xff"],
            [b"\xc3"],
            ["calc", "--device", b"\xed\xa0\x80"],
        ):
            run = subprocess.run([OCCBENCH, *words], cwd=self.cwd, text=True, capture_output=True)
            self.assertEqual(
                (run.returncode, run.stderr),
                (2, f"occbench: argument {len(words)} is not UTF-8\n"),
            )
        self.assertEqual(list(self.cwd.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
