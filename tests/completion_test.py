# SPDX-License-Identifier: Apache-2.0
"""What bash and fish offer at TAB after sourcing `occbench completion SHELL`; that zsh can read its script.

OCCBENCH names the program. The tests of a shell that is not here are skipped.
"""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import OCCBENCH, built_in, commands

# bash hands its function the line, and the words that blanks, '=' and ':' make of it.
ASK_BASH = """
source completion.bash
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_occbench 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


def output(*words: object, folder: Path | None = None) -> str:
    done = subprocess.run([str(w) for w in words], cwd=folder, text=True, capture_output=True, check=True)
    assert done.stderr == "", done.stderr
    return done.stdout


def experiments() -> set[str]:
    listed = json.loads(output(OCCBENCH, "list", "--device", "model:h200", "--format", "json"))
    return {case["experiment"] for case in listed["cases"]}


class InAFolder:
    shell = ""

    def setUp(self) -> None:
        if not shutil.which(self.shell):
            self.skipTest(f"no {self.shell} here")
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        (self.folder / "a folder").mkdir()
        (self.folder / "a file").touch()
        script = output(OCCBENCH, "completion", self.shell)
        (self.folder / f"completion.{self.shell}").write_text(script)


class Offers(InAFolder):
    """The same of each shell that can be asked."""

    def offered(self, line: str) -> list[str]:
        raise NotImplementedError

    def test_completes_commands(self) -> None:
        self.assertEqual(self.offered("occbench ru"), ["run"])
        begun = sorted(name for name in commands() if name.startswith("c"))
        self.assertIn("calc", begun)
        self.assertEqual(self.offered("occbench c"), begun)
        self.assertEqual(self.offered("occbench help li"), ["list"])

    def test_completes_options(self) -> None:
        self.assertEqual(self.offered("occbench --vers"), ["--version"])
        self.assertEqual(self.offered("occbench run --pres"), ["--preset"])
        self.assertEqual(self.offered("occbench list --preset quick --show-ns"), ["--show-nsys"])
        self.assertEqual(self.offered("occbench calc --preset"), [])

    def test_offers_every_option_of_the_help(self) -> None:
        for command in built_in():
            named = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", output(OCCBENCH, command, "--help"), re.MULTILINE)
            self.assertGreater(len(named), 0)
            offered = [word for word in self.offered(f"occbench {command} --") if word.startswith("--")]
            self.assertEqual(offered, sorted(named))

    def test_completes_values(self) -> None:
        self.assertEqual(self.offered("occbench run --preset "), ["burn-in", "full", "quick", "standard"])
        self.assertEqual(self.offered("occbench run --preset st"), ["standard"])
        # A model has no cases of what only a GPU can be asked.
        self.assertLessEqual(experiments(), set(self.offered("occbench list --experiment ")))
        self.assertEqual(self.offered("occbench calc --device h1"), ["h100", "h100-nvl", "h100-pcie"])
        self.assertEqual(self.offered("occbench run --seed "), [])
        self.assertEqual(self.offered("occbench completion "), ["bash", "fish", "zsh"])

    def test_completes_files(self) -> None:
        files = self.offered("occbench report ")
        self.assertEqual([name for name in files if name.startswith("a file")], ["a file"])
        self.assertEqual([name.rstrip("/") for name in self.offered("occbench run --output ")], ["a folder"])


class Bash(Offers, unittest.TestCase):
    shell = "bash"

    def offered(self, line: str) -> list[str]:
        words = re.findall(r"[=:]|[^\s=:]+", line) + ([""] if line[-1] == " " else [])
        said = output("bash", "--norc", "-c", ASK_BASH, "ask", line, *words, folder=self.folder)
        return sorted(filter(None, said.splitlines()))

    def test_a_list_goes_on_after_its_comma(self) -> None:
        self.assertEqual(self.offered("occbench run --experiment registers,spi"), ["registers,spilling"])

    def test_completes_after_a_colon(self) -> None:
        self.assertEqual(self.offered("occbench run --device model:h"), ["h100", "h200"])

    def test_completes_after_an_equals_sign(self) -> None:
        self.assertEqual(self.offered("occbench list --format=j"), ["json"])
        self.assertEqual(self.offered("occbench list --format="), ["csv", "json", "table"])

    def test_completes_a_program_called_by_path(self) -> None:
        self.assertEqual(self.offered("build/occbench ru"), ["run"])

    def test_does_not_execute_the_command_line(self) -> None:
        self.offered("occbench run --experiment $(touch${IFS}ran),`touch${IFS}ran`")
        self.assertFalse((self.folder / "ran").exists())


class Fish(Offers, unittest.TestCase):
    shell = "fish"

    def offered(self, line: str) -> list[str]:
        ask = "source completion.fish; complete --do-complete $argv[1]"
        said = output("fish", "--no-config", "-c", ask, line, folder=self.folder)
        return sorted(row.split("\t")[0].replace("\\ ", " ") for row in said.splitlines())

    def test_a_list_goes_on_after_its_comma(self) -> None:
        self.assertEqual(self.offered("occbench run --experiment registers,spi"), ["registers,spilling"])

    def test_models(self) -> None:
        self.assertEqual(self.offered("occbench run --device model:h"), ["model:h100", "model:h200"])


class Zsh(InAFolder, unittest.TestCase):
    shell = "zsh"

    def test_zsh_reads_it(self) -> None:
        output("zsh", "-f", "-n", self.folder / "completion.zsh")
        source = "autoload -Uz compinit; compinit -D -u; source completion.zsh"
        output("zsh", "-f", "-c", source, folder=self.folder)


class Words(unittest.TestCase):
    def test_list_accepts_the_values_completion_uses(self) -> None:
        script = output(OCCBENCH, "completion", "bash")
        for option in ("preset", "format"):
            words = re.search(rf"'list --{option}'\) echo 'VALUE ([a-z -]+)'", script)
            assert words
            for word in words[1].split():
                done = subprocess.run([OCCBENCH, "list", f"--{option}", word], capture_output=True)
                self.assertEqual(done.returncode, 0, f"--{option} {word}")

    def test_rejects_unknown_shell(self) -> None:
        for words in (["csh"], []):
            done = subprocess.run([OCCBENCH, "completion", *words], text=True, capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))


if __name__ == "__main__":
    unittest.main()
