# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` and CPack leave, and that the installed program needs neither source nor build.

CMAKE and CPACK name the commands, OCCBENCH_BUILD_DIR the build.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import runpath

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("OCCBENCH_BUILD_DIR", ROOT / "build/ci")).resolve()
CMAKE = os.environ.get("CMAKE", "cmake")
CPACK = os.environ.get("CPACK", "cpack")
INSTALLED = {
    "bin/occbench",
    "lib/occbench/liboccbench_attach.so",
    "share/bash-completion/completions/occbench",
    "share/zsh/site-functions/_occbench",
    "share/fish/vendor_completions.d/occbench.fish",
    "share/doc/occbench/README.md",
    "share/doc/occbench/CHANGELOG.md",
    "share/doc/occbench/LICENSE",
    "share/doc/occbench/THIRD-PARTY.txt",
    "share/doc/occbench/occbench.cdx.json",
    "share/occbench/schema.json",
    "share/man/man1/occbench.1",
}
# The package for benchmarks outside this tree: tests/package_test.py uses it.
PACKAGE = {
    "lib/liboccbench.a",
    *(f"lib/cmake/occbench/occbench{part}.cmake" for part in ("Config", "ConfigVersion", "-targets")),
    *(
        f"lib/cmake/occbench/{name}"
        for name in ("AddBenchmark.cmake", "Architectures.cmake", "BuildInfo.cmake", "Check.cmake")
    ),
    *(f"lib/cmake/occbench/{name}.cpp" for name in ("benchmark_main",)),
    *(f"lib/cmake/occbench/{name}.cpp.in" for name in ("build_info", "machine_code")),
    *(f"include/occbench/{path.name}" for path in (ROOT / "include").rglob("*.*h*")),
    "include/occbench/version.hpp",
}
INTERNAL = "include/occbench/internal/"
QUOTED = re.compile(r'(?m)^#include "(.+)"')
DEBIAN_CALLS = {
    "share/zsh/site-functions/_occbench": "share/zsh/vendor-completions/_occbench",
    "share/doc/occbench/CHANGELOG.md": "share/doc/occbench/changelog.gz",
    "share/doc/occbench/LICENSE": "share/doc/occbench/copyright",
    "share/man/man1/occbench.1": "share/man/man1/occbench.1.gz",
}


def checked(*command: object, folder: Path | None = None, environment: dict[str, str] | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def files_under(folder: Path) -> set[str]:
    """All, but for the folder of libraries as Debian calls it, and the file that CMake names by build."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    files = {re.sub(r"^lib/[\w-]+-linux-gnu/|^lib64/", "lib/", name) for name in files}
    return {name for name in files if not re.search(r"/occbench-targets-\w+\.cmake$", name)}


def reached(folder: Path) -> set[str]:
    """The headers below internal/ that public headers, and what CMake compiles, are made of."""
    found: set[str] = set()
    sources = [*(folder / "include/occbench").glob("*.*h*"), *folder.glob("lib*/**/cmake/occbench/*.cpp*")]
    while sources:
        for name in QUOTED.findall(sources.pop().read_text()):
            if name not in found:
                found.add(name)
                sources.append(folder / INTERNAL / name)
    return {INTERNAL + name for name in found}


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.prefix = cls.folder / "prefix"
        checked(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        cls.program = cls.prefix / "bin/occbench"
        cls.version = checked(cls.program, "--version").split()[1]

    def test_installs_exactly_the_expected_files(self) -> None:
        self.assertEqual(files_under(self.prefix), INSTALLED | PACKAGE | reached(self.prefix))

    def test_installed_completions_match_the_program(self) -> None:
        places = {
            "bash": "share/bash-completion/completions/occbench",
            "zsh": "share/zsh/site-functions/_occbench",
            "fish": "share/fish/vendor_completions.d/occbench.fish",
        }
        for shell, place in places.items():
            self.assertEqual((self.prefix / place).read_text(), checked(self.program, "completion", shell))

    def test_the_man_page_has_all_options(self) -> None:
        page = (self.prefix / "share/man/man1/occbench.1").read_text().replace("\\-", "-")
        self.assertIn(f'"occbench {self.version}"', page)
        self.assertIn("compare: a case is slower", page)  # the last words of an exit code
        options = re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", checked(self.program, "--help-all"))
        self.assertGreater(len(options), 30)
        for option in options:
            self.assertIn(option, page)

    def test_quickstart_builds_every_installed_target(self) -> None:
        """The README's second line works after its first."""
        quickstart = (ROOT / "tools/quickstart").read_text()
        (built,) = re.findall(r"^compile release((?: --target \w+)+)", quickstart, re.MULTILINE)
        targets = re.findall(r"--target (\w+)", built)
        ninja = re.search(r"(?m)^CMAKE_MAKE_PROGRAM:\w+=(.+)$", (BUILD / "CMakeCache.txt").read_text())[1]
        made = {BUILD / line for line in checked(ninja, "-C", BUILD, "-t", "inputs", *targets).splitlines()}
        files = {"occbench": "benchmarks/occbench", "occbench_library": "liboccbench.a"}
        made |= {BUILD / files[target] for target in targets}  # ninja lists what goes into them
        scripts = [path.read_text() for path in BUILD.rglob("cmake_install.cmake")]
        wanted = {Path(name) for text in scripts for name in re.findall(r'"(/[^"\n]+)"', text)}
        # Files of other ends are written while CMake configures.
        wanted = {path for path in wanted if path.is_relative_to(BUILD) and path.is_file()}
        wanted = {path for path in wanted if not path.suffix or path.suffix in (".a", ".so")}
        wanted = {path for path in wanted if path.parent.name != "completions"}  # the program writes them
        self.assertGreater(len(wanted), 2)
        self.assertEqual(wanted - made, set())

    def test_bill_of_materials_and_licences(self) -> None:
        """Each with a version, and with its licence in the text beside it."""
        documents = self.prefix / "share/doc/occbench"
        bill = json.loads((documents / "occbench.cdx.json").read_text())
        licences = (documents / "THIRD-PARTY.txt").read_text().lower()
        self.assertEqual(bill["metadata"]["component"]["version"], self.version)
        names = {"nlohmann_json": "json for modern c++", "zstd": "zstandard"}
        for part in bill["components"]:
            with self.subTest(part["name"]):
                if part["name"] != "re2":  # Debian's package does not say
                    self.assertRegex(part["version"], r"^[0-9a-f][0-9a-f.]+$")
                name = names.get(part["name"], part["name"]).lower()
                self.assertRegex(licences, rf"(?m)^-+\n.*{re.escape(name)}")
        self.assertGreater(len(bill["components"]), 8)

    def test_installed_program_has_no_runpath(self) -> None:
        self.assertEqual(runpath.entries(self.program.read_bytes()), [])
        self.assertEqual(list(runpath.faults(self.prefix, BUILD)), [])

    def test_a_model_runs_in_an_empty_folder(self) -> None:
        """Under strace, where it works: no file of the source or the build is touched."""
        empty = self.folder / "empty"
        empty.mkdir()
        run = ("run", "--device=model:h200", "--preset=quick", "--experiment=shared_memory")
        no_leaks = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}  # which cannot be looked for under strace
        trace = self.folder / "trace"
        strace = ("strace", "--follow-forks", "--trace=file", f"--output={trace}")
        if not shutil.which("strace") or subprocess.run([*strace, "true"], capture_output=True).returncode:
            strace = ()
        checked(*strace, self.program, *run, folder=empty, environment=no_leaks)
        self.assertEqual(len(list(empty.glob("results/model-h200/*/cases.csv"))), 1)
        if not strace:
            self.skipTest("run, but no strace here")
        for tree in {ROOT, BUILD}:
            self.assertNotIn(f'"{tree}', trace.read_text())


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        checked(CPACK, "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder)

    def test_the_archive(self) -> None:
        (archive,) = self.folder.glob("*.tar.gz")
        name = archive.name.removesuffix(".tar.gz")
        self.assertRegex(name, r"^occbench-\d+\.\d+\.\d+-linux-\w+$")
        checked("tar", "--extract", "--file", archive, folder=self.folder)
        self.assertEqual(files_under(self.folder / name), INSTALLED | PACKAGE | reached(self.folder / name))
        self.assertIn("occbench", checked(self.folder / name / "bin/occbench", "--version"))

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb here")
    def test_the_debian_package(self) -> None:
        (package,) = self.folder.glob("*.deb")
        self.assertRegex(package.name, r"^occbench_\d+\.\d+\.\d+_\w+\.deb$")
        checked("dpkg-deb", "--extract", package, self.folder / "root")
        expected = {DEBIAN_CALLS.get(name, name) for name in INSTALLED | PACKAGE}
        root = self.folder / "root/usr"
        self.assertEqual(files_under(root), expected | reached(root))
        if shutil.which("dpkg-shlibdeps"):
            self.assertRegex(checked("dpkg-deb", "--field", package, "Depends"), r"\blibc6 \(>= ")


class Flags(unittest.TestCase):
    def test_quotes_stay_quotes(self) -> None:
        """A toolkit in a folder with a blank, or a macro that is a string, puts them into the flags."""
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "build_info.cpp"
            given = {"SOURCE_DIR": folder, "OUTPUT": written, "COMPILER_FLAGS": r'-DX=\"a b\" -L"/x y"'}
            words = [word for name, value in given.items() for word in ("-D", f"{name}={value}")]
            checked(CMAKE, *words, "-P", ROOT / "cmake/BuildInfo.cmake")
            self.assertIn(r'.compiler_flags = "-DX=\\\"a b\\\" -L\"/x y\"",', written.read_text())


if __name__ == "__main__":
    unittest.main()
