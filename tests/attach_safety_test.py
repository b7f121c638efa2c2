# SPDX-License-Identifier: Apache-2.0
"""What a program may do to `occbench attach`, and what a user: each case with its sentence and exit code."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attached import HANDLERS, OPENED, PLACES, PLUGIN, PROC, STATIC, AttachCase, driver
from command import OCCBENCH


class Ends(AttachCase):
    """However a program goes about it: its own output and exit code, and what was measured."""

    def test_ends(self) -> None:
        cases = {  # its code, processes, launches
            "return": (0, 1, 300),
            "exit42": (42, 1, 300),
            "_exit": (7, 1, 300),
            "crash": (128 + signal.SIGSEGV, 1, 300),
            "term": (128 + signal.SIGTERM, 1, 300),
            "kill": (128 + signal.SIGKILL, 1, 300),
            "fork": (0, 2, 600),
            "exec": (0, 2, 600),
            "reset": (0, 1, 600),
            "contexts": (0, 1, 600),
            "devices": (0, 1, 600),
            "green": (0, 1, 600),
            "release": (0, 1, 21 * 300),
            "unload": (0, 1, 600),
            "capture": (0, 1, 300),
            "threads": (0, 1, 1200),
            "streams": (0, 1, 1200),
            "close": (0, 1, 300),  # what comes after it has nowhere to go
        }
        for end, (code, processes, launches) in cases.items():
            with self.subTest(end):
                done = self.attach(f"-- {PROC} flat_k 300 {end}", output=end)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(done.stdout.splitlines()[0], "failed 0")
                env = self.env(end)
                self.assertEqual((env["exit_code"], len(env["processes"])), (code, processes))  # type: ignore[arg-type]
                self.assertEqual(self.launches(end), launches, done.stderr)
                captured = sum(int(k["captured"]) for k in self.kernels(end))
                self.assertEqual(captured, launches if end == "capture" else 0)
                self.assertFalse((self.folder / end / "processes").exists())
                message = f"was ended by signal {code - 128}" if code > 128 else ""
                self.assertIn(message, done.stderr)

    def test_signal_handler_may_exit_at_any_time(self) -> None:
        """What the signal interrupts may hold the driver's lock, or ours: nothing may wait for it."""
        for how in ("_exit", "exit", "nodefer", "reset"):
            with self.subTest(how):
                done = self.attach(f"-- {HANDLERS} {how} 25", output=how)
                self.assertEqual((done.returncode, done.stdout), (0, "well 25, hung 0\n"), done.stderr)
                self.assertGreater(self.launches(how), 25)

    def test_measurement_continues_after_context_destruction(self) -> None:
        """Where one context ends and another stays, or one more owner lets go of it, nothing is lost."""
        for end, sms in (("contexts", {"132"}), ("green", {"132", "16"}), ("release", {"132"})):
            done = self.attach(f"-- {PROC} flat_k 2000 {end}", output=end)
            found = self.kernels(end)
            self.assertEqual({kernel["sm_count"] for kernel in found}, sms)
            for kernel in found:
                self.assertEqual((kernel["verdict"], kernel["overlapped"]), ("saturated", "0"), done.stderr)
            self.assertEqual(" on 16 SMs " in done.stderr, end == "green", done.stderr)
        self.attach(f"-- {PROC} flat_k 1000 green_streams", output="streams")
        message = [(kernel["sm_count"], kernel["launches"]) for kernel in self.kernels("streams")]
        self.assertEqual(sorted(message), [("132", "1000"), ("16", "1000"), ("32", "1000")])
        # A graph's levels are found once: with the SMs of the stream that came first this one would hang.
        done = self.attach(f"--budget 500% -- {PROC} waits_k 100 replay_green 1000", output="graph")
        self.assertEqual(done.returncode, 0, done.stderr)
        (inside,) = (kernel for kernel in self.kernels("graph") if kernel["graph_id"])
        self.assertEqual((inside["why"], inside["sm_count"]), ("grid within one residency", "132"))
        self.attach(f"-- {PROC} flat_k 1000 unload", output="unload")
        self.assertEqual(
            {k["kernel"]: k["launches"] for k in self.kernels("unload")},
            {"flat_k": "1000", "latency_k": "1000"},
        )

    def test_each_device_has_separate_rows(self) -> None:
        done = self.attach(f"-- {PROC} flat_k 1000 devices")
        message = {k["gpu_uuid"]: (k["launches"], k["verdict"]) for k in self.kernels()}
        uuids = [gpu["uuid"] for gpu in self.env()["gpus"]]  # type: ignore[attr-defined]
        self.assertEqual(
            message, dict(zip(uuids, [("1500", "saturated"), ("500", "saturated")], strict=True))
        )
        self.assertEqual(done.stderr.count("flat_k "), 2, done.stderr)

    def test_program_may_close_all_files(self) -> None:
        done = self.attach(f"-- {PROC} flat_k 300 close")
        self.assertEqual((self.folder / "own.txt").read_bytes(), b"")
        self.assertIn("the program closed all files", done.stderr)

    def test_each_process_writes_its_own_file(self) -> None:
        script = f"for i in 1 2 3 4; do {PROC} flat_k 100 & done; wait"
        done = self.attach("--", "sh", "-c", script)
        self.assertEqual((done.returncode, done.stdout), (0, 4 * "failed 0\n"))
        self.assertEqual((len(self.env()["processes"]), self.launches()), (4, 400))  # type: ignore[arg-type]

    def test_other_tools_and_settings(self) -> None:
        for n, variables in enumerate(
            ({"CUDA_LAUNCH_BLOCKING": "1"}, {"CUDA_INJECTION64_PATH": "/no/such/libtool.so"})
        ):
            done = self.attach(f"-- {PROC} flat_k 500", output=f"r{n}", **variables)
            self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
            self.assertEqual(self.kernels(f"r{n}")[0]["verdict"], "saturated")
        for n, name in enumerate(("CUDA_INJECTION64_PATH", "NV_COMPUTE_SANITIZER_INJECTION_PATH")):
            variables = {name: "/x/libsanitizer-collection.so"}
            done = self.attach(f"-- {PROC} flat_k 10", output=f"s{n}", **variables)
            self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"))
            self.assertIn("attach disabled itself", done.stderr)
            self.assertEqual(self.kernels(f"s{n}"), [])


class Places(AttachCase):
    def test_preloads_via_a_link_if_the_path_has_a_blank(self) -> None:
        """LD_PRELOAD is split at blanks and colons. The link goes with the run; TMPDIR may have a blank."""
        place = self.folder / "a b:c"
        for part in ("bin", "lib/occbench"):
            (place / part).mkdir(parents=True)
        shutil.copy(OCCBENCH, place / "bin/occbench")
        built = OCCBENCH.parents[1] / "harness/liboccbench_attach.so"
        shutil.copy(built, place / "lib/occbench")
        plain, blank = self.folder / "tmp", self.folder / "t m p"
        for number, folder in enumerate((plain, blank)):
            folder.mkdir()
            words = self.command(f"--observe -- {PROC} flat_k 500", output=f"r{number}")
            done = subprocess.run(
                [str(place / "bin/occbench"), *words[1:]], cwd=self.folder, capture_output=True, text=True,
                env=os.environ | driver() | {"TMPDIR": str(folder)},
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("cannot be preloaded", done.stderr)
            self.assertGreater(self.launches(f"r{number}"), 0)
            self.assertEqual(list(folder.iterdir()), [])

    def test_driver_after_dlclose_or_chroot(self) -> None:
        """Its functions are called to the end, whoever closes it; notes are written outside the new root."""
        (self.folder / "root").mkdir()
        for how in ("plain", "dlclose", *(["chroot"] if os.geteuid() == 0 else [])):
            done = self.attach(f"-- {PLACES} {how} {PLUGIN} {self.folder}/root", output=how)
            self.assertEqual((done.returncode, done.stdout), (0, "code 0\n"), done.stderr)
            (kernel,) = self.kernels(how)
            self.assertEqual((kernel["launches"], kernel["verdict"]), ("300", "saturated"))
        self.assertEqual(list((self.folder / "root").iterdir()), [])

    def test_reports_a_driver_that_bypasses_the_hooks(self) -> None:
        for how in ("deepbind", "dlmopen"):
            done = self.attach(f"-- {PLACES} {how} {PLUGIN}", output=how)
            self.assertEqual((done.returncode, done.stdout), (0, "code 0\n"), done.stderr)
            self.assertIn("1 process was not attached to:", done.stderr)
            self.assertIn("attach_places (bypasses occbench's hooks", done.stderr)

    def test_reports_children_it_cannot_attach_to(self) -> None:
        """However they are started; what else there is, is measured."""
        if not STATIC.exists():
            self.skipTest("no static C library")
        script = f"""if True:
            import os, subprocess
            program = ["{STATIC}"]
            path = os.environ | {{"PATH": "{STATIC.parent}"}}
            subprocess.run(program)
            subprocess.run(program, close_fds=False)
            subprocess.run(program, env=path, preexec_fn=os.getpid)
            subprocess.run(f"{STATIC}; exec {STATIC}", shell=True)
            os.spawnlpe(os.P_WAIT, "attach_static", "attach_static", path)
            os.posix_spawnp(program[0], program, path)
            os.wait()
            subprocess.run(["/bin/true"], env={{}})
            os.execl("{OPENED}", "opened", "proc", "flat_k", "300")"""
        done = self.attach("--", sys.executable, "-c", script)
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        message = (
            f"8 processes were not attached to: /bin/true (started without LD_PRELOAD), {STATIC} (statically "
            "linked) x 7"
        )
        self.assertIn(message, " ".join(done.stderr.split()))
        self.assertEqual((self.launches(), self.env()["complaints"]), (300, [message]))
        done = self.attach(f"-- {STATIC}", output="alone")
        self.assertEqual(done.returncode, 6)
        self.assertIn(f"'{STATIC}' is statically linked: nothing can be attached to it", done.stderr)
        done = self.attach(f"-- {STATIC} {PROC} flat_k 300", output="child")
        self.assertEqual((done.returncode, self.launches("child")), (0, 300), done.stderr)


class Bounds(AttachCase):
    """What it may take of memory and disk, however long the program is."""

    def test_a_million_launches(self) -> None:
        self.attach(f"-- {PROC} flat_k 1000000")
        (kernel,) = self.kernels()
        self.assertEqual(kernel["launches"], "1000000")
        self.assertLess(int(kernel["timed"]), 100_000)
        self.assertLess((self.folder / "r/launches.csv.gz").stat().st_size, 4 << 20)

    def test_a_kernel_name_of_a_mebibyte(self) -> None:
        done = self.attach(f"-- {PLACES} long {PLUGIN}")
        self.assertEqual((done.returncode, done.stdout), (0, "code 0\n"), done.stderr)
        (kernel,) = self.kernels()
        self.assertEqual((kernel["launches"], kernel["verdict"]), ("300", "saturated"))
        self.assertLess(len(kernel["symbol"]), 20_000)

    def test_ten_thousand_signatures(self) -> None:
        self.attach(f"-- {PROC} flat_k 10000 shapes")
        self.assertEqual((len(self.kernels()), self.launches()), (10_000, 10_000))

    def test_merges_signatures_beyond_the_limit(self) -> None:
        done = self.attach(f"--observe -- {PROC} flat_k 100000 shapes")
        self.assertEqual(self.launches(), 100_000, done.stderr)
        rest = [k for k in self.kernels() if k["why"] == "too many signatures"]
        self.assertEqual([k["launches"] for k in rest], [str(100_000 - 65_535)])

    def test_the_limit(self) -> None:
        done = self.attach(f"--limit 64K -- {PROC} flat_k 10000 shapes")
        self.assertIn("the limit was reached", done.stderr)
        self.assertLessEqual(sum(int(k["timed"]) for k in self.kernels()), 65_536 // 16)

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind")
    def test_memory_does_not_grow_with_launches(self) -> None:
        """Blocks that are left at the end: as many after many launches as after 1,000."""
        ways = {  # options, program, end, most launches
            "plain": ("", f"{PROC} flat_k", "", 100_000),
            "graphs": ("--budget 500%", f"{PROC} latency_k:40,l1_k", "replay", 10_000),
            "caps": ("--registers 64,32", f"{OPENED} ptx caps_k", "", 20_000),
        }
        for way, (options, program, end, most) in ways.items():
            left = []
            for launches in (1_000, most):
                log = self.folder / f"valgrind-{way}-{launches}"
                tool = f"valgrind --leak-check=full --show-leak-kinds=definite --log-file={log}"
                words = f"{options} -- {tool} {program} {launches} {end}"
                done = self.attach(words, output=f"{way}-{launches}")
                self.assertEqual((done.returncode, done.stdout[-9:]), (0, "failed 0\n"), done.stderr)
                self.assertGreaterEqual(self.launches(f"{way}-{launches}"), launches)
                text = log.read_text()
                self.assertNotIn("Invalid ", text)
                (heap,) = (line for line in text.splitlines() if "in use at exit" in line)
                left.append(int(heap.split(" bytes in ")[1].split()[0].replace(",", "")))
            self.assertLess(left[1], left[0] + 64, way)


@contextmanager
def small_disk(kib: int) -> Iterator[Path]:
    """A file system of its own; skips the test where that is not allowed."""
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            raise unittest.SkipTest("may not mount a file system")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


class FullDisks(AttachCase):
    def test_a_full_disk(self) -> None:
        """The program does not notice; the table is printed, and what is missing is message."""
        for kib in (8, 512, 1_600, 1_700):
            with self.subTest(kib), small_disk(kib) as disk:
                done = self.attach(f"--output {disk}/r -- {PROC} flat_k 20000 shapes", output=None)
                self.assertEqual(done.stdout, "failed 0\n")
                self.assertIn("the disk is full, or a quota", done.stderr)
                self.assertNotIn("no process", done.stderr)
                self.assertNotIn("no kernel was launched", done.stderr)
                if kib == 8:  # no room for the results either
                    self.assertEqual(done.returncode, 125, done.stderr)
                    self.assertIn("No space left on device", done.stderr)
                else:
                    self.assertEqual(
                        (done.returncode, (disk / "r/env.json").exists()), (0, True), done.stderr
                    )

    def test_a_quota_on_files(self) -> None:
        """No write of ours brings the program the signal that a write past its quota would."""
        for kib in (1, 64, 1_545):
            with self.subTest(kib):
                limited = ("sh", "-c", f'ulimit -f {2 * kib}; exec "$@"', "sh")
                done = self.attach(f"-- {PROC} flat_k 20000 shapes", output=f"r{kib}", before=limited)
                self.assertEqual(done.stdout, "failed 0\n", done.stderr)
                self.assertIn("the disk is full, or a quota", done.stderr)
                self.assertIn(done.returncode, (0, 125), done.stderr)


class Drivers(AttachCase):
    def test_drivers(self) -> None:
        cases = {
            "no device": ({"FAKE_NO_DEVICE": "1"}, "proc", 3, "no kernel was launched"),
            "a stub": ({"FAKE_STUB": "1"}, "proc", 3, "is the toolkit's stub"),
            "too old": (driver(9020), "opened", 0, "this driver is too old"),
            "old": (driver(11040), "opened", 0, "older than CUDA 11.8"),
            "refuses": ({"FAKE_REFUSES": "1"}, "proc", 0, "rejected changed launches (error 1)"),
            "none": ({"LD_LIBRARY_PATH": "/nowhere"}, "proc", 3, "no process of"),
        }
        for n, (name, (variables, way, code, message)) in enumerate(cases.items()):
            with self.subTest(name):
                done = self.attach(f"-- {OPENED} {way} flat_k 500", output=f"r{n}", **variables)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                if code == 0:
                    self.assertEqual(done.stdout, "failed 0\n")
                if name in ("old", "refuses"):
                    (kernel,) = self.kernels(f"r{n}")
                    self.assertEqual(kernel["launches"], "500")
                    self.assertIn(kernel["verdict"], ("", "unknown"))
                    self.assertGreater(float(kernel["time_mean_s"]), 0)


class BadInput(AttachCase):
    def test_errors_are_one_line_with_an_exit_code(self) -> None:
        """Words, what is message, and the code; nothing is left behind."""
        (self.folder / "file").write_text("")
        cases = {
            "": (125, "which program?"),
            "--": (125, "which program?"),
            "--bad -- true": (125, "there is no option --bad"),
            "python3 train.py": (125, "'python3': put the program after --"),
            "--observe --levels 1/2 -- true": (125, "--levels has no effect with --observe"),
            "--registers 32 --levels 1/2 -- true": (125, "--levels has no effect with --registers"),
            "--apply k=1/2 --budget 5% -- true": (125, "--budget has no effect with --apply"),
            "--pairs 2 -- true": (125, "--pairs is for --apply"),
            "--from x -- true": (125, "--from is for --apply"),
            "--levels 2 -- true": (125, "--levels lie between 0 and 1"),
            "--levels 1/2,0.5 -- true": (125, "--levels 1/2,0.5 has a share twice"),
            "--levels 1/0 -- true": (125, "--levels '1/0' is not a share"),
            "--levels x -- true": (125, "--levels 'x' is not a share"),
            "--levels .1,.2,.3,.4,.5,.6,.7 -- true": (125, "--levels: at most 6"),
            "--budget 0 -- true": (125, "--budget must be more than 0"),
            "--budget 5 -- true": (125, "--budget 5 is 500 %: write 5% or 500%"),
            "--budget much -- true": (125, "--budget 'much' is not a share"),
            "--precision 2 -- true": (125, "--precision lies between"),
            "--duration soon -- true": (125, "--duration 'soon' is not a time"),
            "--registers 8 -- true": (125, "--registers '8' is less than 16"),
            "--registers 32,x -- true": (125, "--registers 'x'"),
            "--registers 20,21,22,23,24,25,26 -- true": (125, "--registers: at most 6"),
            "--registers 32 --observe -- true": (125, "--registers changes launches"),
            "--skip -1 -- true": (125, "--skip '-1' is negative"),
            "--limit 1 -- true": (125, "--limit '1' is less than"),
            "--kernel ( -- true": (125, "--kernel '('"),
            "--children some -- true": (125, "--children takes all or none"),
            "-- no-such-program": (127, "'no-such-program': No such file"),
            "-- ./no-such-program": (127, "No such file"),
            f"-- {self.folder}/file": (126, "Permission denied"),
            f"-- {self.folder}": (126, "Permission denied"),
            "-- true": (0, "no process of 'true' used the CUDA driver"),
            "-- false": (1, "no process of 'false' used the CUDA driver"),
        }
        for words, (code, message) in cases.items():
            with self.subTest(words):
                done = self.attach(words, output=None)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertFalse((self.folder / "results").exists())

    def test_outputs(self) -> None:
        (self.folder / "file").write_text("")
        self.assertEqual(self.attach(f"-- {PROC} flat_k 10", output="twice").returncode, 0)
        for output, message in (
            ("file/below", "file"),
            ("/proc/nowhere", "/proc/nowhere"),
            ("twice", "holds results already"),
        ):
            done = self.attach(f"-- {PROC} flat_k 10", output=output)
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_does_not_attach_to_setuid_programs(self) -> None:
        """Nor one that is set in the environment: the library itself looks."""
        if os.geteuid() != 0:
            self.skipTest("only root makes such programs")
        program = self.folder / "program"
        shutil.copy(OPENED, program)
        shutil.chown(program, "nobody")
        program.chmod(0o4755)
        done = self.attach("--", "sh", "-c", f"{program} proc flat_k 10")
        self.assertIn("no process", done.stderr)
        self.assertIn(f"1 process was not attached to: {program} (setuid)", " ".join(done.stderr.split()))
        done = self.attach(f"-- {program} proc flat_k 10")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("runs with another user's rights", done.stderr)


if __name__ == "__main__":
    unittest.main()
