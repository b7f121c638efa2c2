# SPDX-License-Identifier: Apache-2.0
"""`occbench attach --registers LIST --check-output` on programs of the fake driver."""

import signal
import unittest

from attached import OPENED, AttachCase, Done
from command import rows, validated

CAPPED = f"{OPENED} ptx caps_k 200"
SAME, DIFFERS = (
    "stdout was the same with caps and in two plain runs",
    "stdout DIFFERS with caps",
)
MIXED = "stdout differs between plain runs"
SENTENCES = (SAME, DIFFERS, MIXED)


class Outputs(AttachCase):
    def check(self, script: str, output: str = "r", **variables: str) -> "Done[str]":
        """Of a script of the shell; the fake driver notes 'launches changed' of each run."""
        words = (
            "--registers",
            "64,32",
            "--check-output",
            "--budget",
            "500%",
            "--",
            "sh",
            "-c",
            script,
        )
        return self.attach(
            *words,
            output=output,
            FAKE_LOG=str(self.folder / f"{output}.log"),
            **variables,
        )

    def assert_message(self, done: "Done[str]", message: str | None) -> None:
        self.assertEqual(
            [s for s in SENTENCES if s in done.stderr],
            [message] * (message is not None),
            done.stderr,
        )

    def test_same_stdout(self) -> None:
        done = self.check(CAPPED)
        self.assertEqual((done.returncode, done.stdout), (0, "failed 0\n"), done.stderr)
        self.assert_message(done, SAME)
        self.assertTrue(self.env()["same_stdout"])
        noted = [line.split() for line in (self.folder / "r.log").read_text().splitlines()]
        self.assertEqual([launches for launches, _ in noted], 3 * ["200"])
        self.assertEqual([changed != "0" for _, changed in noted], [False, True, False])
        self.assertEqual(len(rows(self.folder / "r/registers.csv")), 2)
        self.assertFalse((self.folder / "r/processes").exists())
        self.assertNotIn("see --check-output", done.stderr)
        found = validated(self.folder / "r")
        self.assertEqual(found.returncode, 0, found.stdout)

    def test_stdout_differs_only_with_caps(self) -> None:
        """At the end of much output, of which the first run's is shown; what was measured is kept."""
        much = 20_000_000
        done = self.check(f"head -c {much} /dev/zero; {CAPPED} says")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual((len(done.stdout), done.stdout[much:]), (much + 19, "failed 0\nas it was\n"))
        self.assert_message(done, DIFFERS)
        env = self.env()
        self.assertEqual((env["same_stdout"], env["exit_code"]), (False, 0))
        self.assertTrue((self.folder / "r/registers.csv").exists())

    def test_stdout_differs_between_plain_runs(self) -> None:
        done = self.check(f"echo $$; {CAPPED} says")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_message(done, MIXED)
        self.assertNotIn("same_stdout", self.env())

    def test_empty_stdout_verifies_nothing(self) -> None:
        done = self.check(f"{CAPPED} > /dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_message(done, None)
        self.assertIn("stdout was empty: it cannot verify the caps", done.stderr)
        self.assertNotIn("same_stdout", self.env())
        done = self.check(
            f"echo >> runs; [ $(wc -l < runs) != 2 ] || echo x; {CAPPED} > /dev/null", output="prints"
        )
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assert_message(done, DIFFERS)

    def test_the_first_run_fails(self) -> None:
        for n, (end, code) in enumerate((("exit42", 42), ("crash", 128 + signal.SIGSEGV))):
            done = self.attach(f"--registers 64 --check-output -- {CAPPED} {end}", output=f"r{n}")
            self.assertEqual((done.returncode, done.stdout), (code, "failed 0\n"))
            self.assertIn("the program failed in run 1, without changes: ", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertFalse((self.folder / f"r{n}").exists())

    def test_the_run_with_caps_fails(self) -> None:
        """Its end is said once, and nothing of stdout; what was measured is kept."""
        done = self.check(f"{CAPPED} fails")
        self.assertEqual((done.returncode, done.stdout), (9, "failed 0\n"))
        message = "it went wrong\noccbench: the program failed in run 2, with caps: exit code 9"
        self.assertIn(message, done.stderr)
        self.assert_message(done, None)
        self.assertEqual(self.env()["exit_code"], 9)
        self.assertNotIn("same_stdout", self.env())
        self.assertEqual(len((self.folder / "r.log").read_text().splitlines()), 2)
        done = self.check(f"{CAPPED}; [ ! -e seen ] || kill -SEGV $$; touch seen", output="killed")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertEqual(done.stderr.count("was ended by signal 11"), 1, done.stderr)

    def test_the_second_plain_run_fails(self) -> None:
        done = self.check(f"echo >> runs; [ $(wc -l < runs) != 3 ] || exit 7; {CAPPED}")
        self.assertEqual((done.returncode, done.stdout), (7, "failed 0\n"))
        self.assertIn("the program failed in run 3, without changes: exit code 7", done.stderr)
        self.assert_message(done, None)
        self.assertEqual(self.env()["exit_code"], 0)
        self.assertNotIn("same_stdout", self.env())

    def test_without_caps_nothing_is_compared(self) -> None:
        for n, (program, message) in enumerate(
            (
                (f"{OPENED} proc caps_k:128 200", "No kernel has PTX that a cap"),
                ("true", "no process of"),
            )
        ):
            done = self.check(f"echo >> runs; {program}", output=f"r{n}")
            self.assertEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
            self.assert_message(done, None)
            self.assertEqual((self.folder / "runs").read_text(), "\n\n")
            (self.folder / "runs").unlink()

    def test_bad_input(self) -> None:
        self.assertEqual(self.check(CAPPED).returncode, 0)
        for words, code, message in (
            (f"--check-output -- {CAPPED}", 125, "--check-output is for --registers"),
            (
                "--check-output --apply best -- true",
                125,
                "--check-output is for --registers",
            ),
            (
                f"--registers 64 --check-output -- {CAPPED}",
                125,
                "holds results already",
            ),
        ):
            done = self.attach(words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        done = self.attach("--registers 64 --check-output -- no-such-program", output="none")
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr.count("\n")),
            (127, "", 1),
            done.stderr,
        )
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main()
