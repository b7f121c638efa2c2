# SPDX-License-Identifier: Apache-2.0
"""Signals and other interruptions of `occbench attach`: what was measured is kept."""

import fcntl
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest
from pathlib import Path

from attached import PROC, AttachCase, driver


class Interrupts(AttachCase):
    def start(self, *words: object, output: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command(*words, output=output), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, env=os.environ | driver(),
        )  # fmt: skip

    def test_program_handles_signals_first(self) -> None:
        script = "trap 'echo caught; exit 3' INT TERM; echo ready; while :; do sleep 0.05; done"
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start("--", "sh", "-c", script, output=f"r{number}")
            assert child.stdout is not None
            child.stdout.readline()
            if number == signal.SIGINT:
                os.killpg(child.pid, number)  # as a terminal does
            else:
                child.send_signal(number)
            message, _ = child.communicate(timeout=30)
            self.assertEqual((child.returncode, message), (3, "caught\n"))

    def test_keeps_measurements_after_a_signal(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.start(f"-- {PROC} flat_k 500 wait", output=f"r{number}")
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "failed 0\n")
            time.sleep(0.05)
            if number == signal.SIGINT:
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
            _, message = child.communicate(timeout=30)
            self.assertEqual(child.returncode, 128 + number, message)
            self.assertIn(f"was ended by signal {int(number)}", message)
            self.assertEqual(self.kernels(f"r{number}")[0]["launches"], "500")

    # Handles the signals that it is told, says which came, and ends with 3 half a second after the first.
    COUNTS = (
        "import signal, sys, time; seen = []\n"
        "for number in map(int, sys.argv[1:]): signal.signal(number, lambda n, _: seen.append(n))\n"
        "print('ready', flush=True)\n"
        "while not seen: time.sleep(0.01)\n"
        "time.sleep(0.5); print(sorted(seen), flush=True); sys.exit(3)"
    )

    def test_forwards_each_signal_to_the_program_once(self) -> None:
        numbers = [getattr(signal, f"SIG{name}") for name in (
            "HUP", "INT", "QUIT", "ABRT", "USR1", "USR2", "ALRM", "TERM", "XCPU", "PROF", "IO", "PWR",
            "RTMIN", "RTMAX",
        )]  # fmt: skip
        running = {}
        for number in map(int, numbers):
            words = ("--", sys.executable, "-c", self.COUNTS, number)
            running[number] = self.start(*words, output=f"r{number}")
        for number, child in running.items():
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "ready\n")
            child.send_signal(number)
        for number, child in running.items():
            message, errors = child.communicate(timeout=60)
            self.assertEqual((child.returncode, message), (3, f"[{number}]\n"), errors)

    def test_keeps_results_if_a_signal_kills_the_program(self) -> None:
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGQUIT, signal.SIGINT):
            child = self.start(f"-- {PROC} flat_k 500 wait", output=f"r{number}")
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline(), "failed 0\n")
            child.send_signal(number)
            _, message = child.communicate(timeout=30)
            self.assertEqual(child.returncode, 128 + number, message)
            self.assertEqual(self.kernels(f"r{number}")[0]["launches"], "500")
            left = {path.name for path in (self.folder / f"r{number}").iterdir()}
            self.assertEqual(
                left, {"arms.csv", "env.json", "findings.json", "kernels.csv", "launches.csv.gz"}
            )

    def test_closed_stderr_keeps_results(self) -> None:
        """As before `| head -1`: the results are kept, and the code is the program's."""
        child = self.start(f"-- {PROC} flat_k 500 exit42", output="r")
        assert child.stdout is not None and child.stderr is not None
        child.stderr.close()
        self.assertEqual(child.stdout.read(), "failed 0\n")
        child.stdout.close()
        self.assertEqual(child.wait(60), 42)
        self.assertEqual(self.launches(), 500)

    def test_under_timeout(self) -> None:
        """It signals its child, and then the group of both."""
        running = {}
        for name in ("INT", "TERM", "USR1", "ALRM"):
            words = self.command(f"-- {PROC} flat_k 500 wait", output=name)
            running[name] = subprocess.Popen(
                ["timeout", "--preserve-status", "--signal", name, "3", *words], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | driver(),
            )  # fmt: skip
        for name, child in running.items():
            message, errors = child.communicate(timeout=60)
            self.assertEqual(
                (child.returncode, message), (128 + getattr(signal, f"SIG{name}"), "failed 0\n"), errors
            )
            self.assertEqual(self.launches(name), 500)

    def test_a_terminal(self) -> None:
        """Ctrl-C and the like come to both from the terminal: the program has each once."""
        keys = {b"\x03": int(signal.SIGINT), b"\x1c": int(signal.SIGQUIT)}
        for key, number in keys.items():
            words = self.command("--", sys.executable, "-c", self.COUNTS, number, output=f"r{number}")
            ours, its = pty.openpty()
            child = subprocess.Popen(
                words, stdin=its, stdout=its, stderr=its, env=os.environ | driver(), start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )  # fmt: skip
            os.close(its)
            message = b""
            while b"ready" not in message:
                message += os.read(ours, 1000)
            os.write(ours, key)
            try:
                while text := os.read(ours, 1000):
                    message += text
            except OSError:  # its last process has ended
                pass
            os.close(ours)
            self.assertEqual(child.wait(30), 3, message)
            self.assertIn(f"[{number}]\r\n".encode(), message)

    def comes_to(self, process: int, state: str) -> None:
        end = time.monotonic() + 30
        while Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1][0] != state:
            self.assertLess(time.monotonic(), end, f"a process is not in state {state}")
            time.sleep(0.01)

    def test_stop_and_continue(self) -> None:
        """To both, as Ctrl-Z and a shell do, or to attach alone."""
        child = subprocess.Popen(self.command("--", "sh", "-c", "echo ready; exec sleep 1000"),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()
        (program,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        for send in (os.killpg, os.kill):
            for number, state in ((signal.SIGTSTP, "T"), (signal.SIGCONT, "S")):
                send(child.pid, number)
                for process in (child.pid, int(program)):
                    self.comes_to(process, state)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=30)
        self.assertEqual(child.returncode, 128 + signal.SIGTERM)

    def test_program_inherits_the_callers_signal_state(self) -> None:
        """Ignored, blocked and default ones; and its code comes through where children are not waited for."""
        ask = ["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        for ignored in ((), ("HUP", "INT", "XFSZ"), ("CHLD", "PIPE", "USR1", "TERM")):

            def set_up(ignored: tuple[str, ...] = ignored) -> None:
                for name in ignored:
                    signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2} if ignored else set())

            plain, attached = (
                subprocess.run(words, preexec_fn=set_up, capture_output=True, text=True)
                for words in (ask, self.command("--", *ask, output="r"))
            )
            self.assertEqual(attached.stdout, plain.stdout)
            words = self.command("--", "sh", "-c", "exit 5", output="r")
            self.assertEqual(subprocess.run(words, preexec_fn=set_up, capture_output=True).returncode, 5)

    def test_output_folder_removed_during_the_run(self) -> None:
        """Or made again by another, or renamed: what is lost is message, and the code is the program's."""
        for how in ("rm -r {0}", "rm -r {0}; mkdir {0}", "mv {0} {0}-moved"):
            script = f"{PROC} flat_k 10; {how.format(self.folder / 'r')}; exit 9"
            for options in ((), ("--registers", "32", "--check-output")):
                with self.subTest(how=how, options=options):
                    done = self.attach(*options, "--", "sh", "-c", script)
                    self.assertEqual(done.returncode, 9, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    if not options:
                        self.assertEqual(done.stdout, "failed 0\n")
                        self.assertIn("was removed while the program ran", done.stderr)
                    for name in ("r", "r-moved"):
                        shutil.rmtree(self.folder / name, ignore_errors=True)

    def test_names_a_kernel_that_hangs_on_its_own_blocks(self) -> None:
        """With --all it hangs; the sentence comes while it does, and what was measured is kept."""
        child = self.start(f"--all -- {PROC} waits_k 300 sync {132 * 8}", output="r")
        assert child.stderr is not None
        self.assertRegex(
            child.stderr.readline(), "waits_k with . of 8 blocks per SM does not end: .* without --all"
        )
        os.killpg(child.pid, signal.SIGINT)
        _, message = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 128 + signal.SIGINT, message)
        self.assertEqual(self.kernels()[0]["launches"], "300")


if __name__ == "__main__":
    unittest.main()
