# SPDX-License-Identifier: Apache-2.0
"""What the program runs for a word that is none of its own, and what its help says. OCCBENCH names it."""

import re
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import OCCBENCH, ROOT, built_in

TOOLS = (
    *("report", "explain", "plot", "compare", "cliffs", "predictions", "validate", "teach", "profile"),
    *("import-ncu", "caps"),
)


def says(program: Path, *words: str, path: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": path, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run([program, *words], text=True, capture_output=True, env=environment)


class Words(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        # As in a build tree, so that the program's own build/venv is out of its sight.
        self.program = self.folder / "build/ci/benchmarks/occbench"
        self.program.parent.mkdir(parents=True)
        shutil.copy(OCCBENCH, self.program)

    def put(self, place: str, says_what: str, word: str = "plot", mode: int = 0o755) -> Path:
        file = self.folder / place / f"occbench-{word}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\necho {says_what} "$#" "$@"\nexit 7\n')
        file.chmod(mode)
        return file

    def test_searches_own_folder_then_venv_then_path(self) -> None:
        path = f"{self.put('path', 'path').parent}:/bin"
        for place, said in (("path", "path"), ("build/venv/bin", "venv"), ("build/ci/benchmarks", "beside")):
            self.put(place, said)
            done = says(self.program, "plot", "a b", "--help", "--", path=path)
            self.assertEqual((done.stdout, done.returncode), (f"{said} 3 a b --help --\n", 7))

    def test_help_runs_the_tools_help(self) -> None:
        path = f"{self.put('path', 'path').parent}:/bin"
        self.assertEqual(says(self.program, "help", "plot", path=path).stdout, "path 1 --help\n")

    def test_runs_third_party_commands(self) -> None:
        path = f"{self.put('path', 'own', word='roofline').parent}:/bin"
        self.assertEqual(says(self.program, "roofline", path=path).stdout, "own 0\n")

    def test_installed_program_ignores_nearby_venv(self) -> None:
        (self.folder / "prefix/bin").mkdir(parents=True)
        installed = shutil.copy(OCCBENCH, self.folder / "prefix/bin")
        self.put("venv/bin", "venv")
        self.assertEqual(says(installed, "plot").returncode, 5)

    def test_unknown_command_suggests_the_nearest(self) -> None:
        for word, meant in (("rnu", "run"), ("exlpain", "explain"), ("improt-ncu", "import-ncu")):
            done = says(self.program, word)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, rf"^occbench: no command '{word}'; did you mean '{meant}'\? .*\n$")
        self.assertNotIn("did you mean", says(self.program, "benchmark").stderr)

    def test_skips_non_executable_files(self) -> None:
        self.put("path", "text", mode=stat.S_IRUSR)
        (self.folder / "other/occbench-plot").mkdir(parents=True)
        done = says(self.program, "plot", path=f"{self.folder}/path:{self.folder}/other")
        self.assertEqual(done.returncode, 5)

    def test_skips_relative_path_entries(self) -> None:
        self.put(".", "here")
        done = subprocess.run(
            [self.program, "plot"], cwd=self.folder, env={"PATH": ".::bin"}, text=True, capture_output=True
        )
        self.assertEqual(done.returncode, 5)

    def test_rejects_paths_as_commands(self) -> None:
        self.put("path/x", "path")
        for word in ("x/../occbench-plot", "../plot", "PLOT", "pl ot", "plot\n"):
            done = says(self.program, word, path=f"{self.folder}/path")
            self.assertEqual((done.returncode, done.stdout), (2, ""), word)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_reports_a_missing_tool(self) -> None:
        for word in (*TOOLS, "audit"):
            done = says(self.program, word)
            self.assertEqual(done.returncode, 5)
            self.assertRegex(done.stderr, rf"^occbench: '{word}' is one of occbench's Python tools, .*pip ")

    def test_tool_gets_the_calling_program(self) -> None:
        self.put("path", "x").write_text('#!/bin/sh\necho "$OCCBENCH"\n')
        done = says(self.program, "plot", path=f"{self.folder}/path:/bin")
        self.assertEqual(done.stdout.strip(), str(self.program))

    def test_signals_reach_the_tool(self) -> None:
        file = self.put("path", "x")
        file.write_text("#!/bin/sh\nkill -TERM $$\n")
        self.assertEqual(says(self.program, "plot", path=f"{self.folder}/path:/bin").returncode, -15)


class Help(unittest.TestCase):
    def test_help_lists_all_commands(self) -> None:
        text = says(OCCBENCH, "--help").stdout
        for word in (*built_in(), *TOOLS):
            self.assertRegex(text, rf"(?m)^  {word} +\S")
        self.assertIn("\nExample\n", text)
        self.assertFalse([line for line in text.splitlines() if len(line) > 80])
        self.assertEqual(says(OCCBENCH, "help").stdout, text)

    def test_each_command_has_an_example_and_80_columns(self) -> None:
        for word in built_in():
            text = says(OCCBENCH, word, "--help").stdout
            self.assertRegex(text, rf"\nExample\n  occbench {word} ")
            self.assertEqual(says(OCCBENCH, "help", word).stdout, text)
            self.assertFalse([line for line in text.splitlines() if len(line) > 80], word)

    def test_help_all_contains_every_option(self) -> None:
        text = says(OCCBENCH, "--help-all").stdout
        for word in built_in():
            options, example = says(OCCBENCH, word, "--help").stdout.split("\nExample\n")
            options = options.split("  This text\n")[1].partition("\n\n")[0].strip()
            self.assertIn(f"\nOptions of {word}:\n  {options}\n", text)
            for line in re.findall(r"^  occbench .*", example, re.MULTILINE):
                self.assertIn(f"  $ {line.strip()}\n", text.split("\nExamples:\n")[1])

    def test_version(self) -> None:
        text = says(OCCBENCH, "--version").stdout
        self.assertRegex(text, r"^occbench \d+\.\d+\.\d+ \(([0-9a-f]{12}(-dirty)?|unknown)\)\n")
        self.assertRegex(text, r"\nCUDA toolkit \d+\.\d+")
        self.assertRegex(text, r"kernels for (sm_\d+)(, sm_\d+)*(, PTX of \d+)?\n$")

    def test_program_and_wheel_versions_match(self) -> None:
        pattern = r'\nversion = "([0-9.]+)"'
        wheel = re.search(pattern, (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        self.assertEqual(says(OCCBENCH, "--version").stdout.split()[1], wheel and wheel[1])


if __name__ == "__main__":
    unittest.main()
