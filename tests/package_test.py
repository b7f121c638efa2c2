# SPDX-License-Identifier: Apache-2.0
"""The suite as a library: tests/outside against what `cmake --install` leaves, and as who adds the tree.

CMAKE names the command, OCCBENCH_BUILD_DIR the build. Class OnDevice needs a GPU; OCCBENCH_OUTSIDE names a
folder that has the programs of tests/outside already, for a machine that cannot build them.
"""

import csv
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from command import HAS_GPU, OCCBENCH, ROOT

BUILD = Path(os.environ.get("OCCBENCH_BUILD_DIR", ROOT / "build/ci")).resolve()
CMAKE = os.environ.get("CMAKE", "cmake")
OUTSIDE = ROOT / "tests/outside"
CACHE = BUILD / "CMakeCache.txt"
SANITIZED = CACHE.exists() and "OCCBENCH_SANITIZE:STRING=address" in CACHE.read_text()


def ran(*words: object, **more: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(word) for word in words], text=True, capture_output=True, timeout=600, **more)


def checked(*words: object, **more: object) -> str:
    done = ran(*words, **more)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-6000:]
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}\n{said}")
    return done.stdout


def cached(name: str) -> str:
    found = re.search(rf"(?m)^{name}:\w+=(.*)$", CACHE.read_text())
    return found[1] if found else ""


@functools.cache
def folder() -> Path:
    kept = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(kept.cleanup)
    return Path(kept.name)


@functools.cache
def prefix() -> Path:
    checked(CMAKE, "--install", BUILD, "--prefix", folder() / "prefix")
    return folder() / "prefix"


@functools.cache
def beside() -> Path:
    """A folder beside the build: from there the tree has the same relative paths, so that the compiler cache
    has the library."""
    kept = tempfile.TemporaryDirectory(prefix="outside-", dir=BUILD.parent)
    unittest.addModuleCleanup(kept.cleanup)
    return Path(kept.name)


def configured(
    name: str, *settings: str, cmake: object = CMAKE, source: Path = OUTSIDE, build: Path | None = None
) -> Path:
    build = build or folder() / name
    # One architecture: a GPU's own where there is one, otherwise that of the description beside axpy.cu.
    architecture = cached("CMAKE_CUDA_ARCHITECTURES").split(";")[0] if HAS_GPU else "90-real"
    base = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CUDA_ARCHITECTURES": architecture,
        "CMAKE_CUDA_COMPILER": cached("CMAKE_CUDA_COMPILER"),
        "CMAKE_CXX_COMPILER": cached("CMAKE_CXX_COMPILER"),
        "CMAKE_MAKE_PROGRAM": cached("CMAKE_MAKE_PROGRAM"),
    }
    if launcher := shutil.which("ccache"):
        base |= {"CMAKE_CXX_COMPILER_LAUNCHER": launcher, "CMAKE_CUDA_COMPILER_LAUNCHER": launcher}
    words = [f"-D{key}={value}" for key, value in base.items() if value]
    checked(cmake, "-S", source, "-B", build, "-G", "Ninja", *words, *settings)
    return build


def built(build: Path, *targets: str, cmake: object = CMAKE) -> Path:
    base = ROOT if build.is_relative_to(ROOT) else folder()
    environment = os.environ | {"CCACHE_BASEDIR": str(base), "CCACHE_NOHASHDIR": "1"}
    # Of nvcc's options ccache leaves this one's path as it is, another one each time; the headers count.
    environment["CCACHE_IGNOREOPTIONS"] = "-isystem=*"
    checked(cmake, "--build", build, "--parallel", "3", "--target", *(targets or ("all",)), env=environment)
    return build


@functools.cache
def outside() -> Path:
    if made := os.environ.get("OCCBENCH_OUTSIDE"):
        return Path(made).resolve()
    # Of the eight builds of matmul.cu, which a GPU times, another machine tries one.
    tried = ("my_bench", "my_family", "my_faults", "CMakeFiles/my_matmul.dir/matmul.cu.o")
    return built(configured("outside", f"-DCMAKE_PREFIX_PATH={prefix()}"), *(() if HAS_GPU else tried))


def tools() -> dict[str, str]:
    path = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path), "OCCBENCH": str(OCCBENCH)}


def tool(name: str, *words: object) -> str:
    return checked(sys.executable, "-P", "-m", "occbench_tools", name, *words, env=tools())


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "cases.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@unittest.skipIf(SANITIZED, "a sanitizer's library wants its flags in every program")
class Installed(unittest.TestCase):
    def test_each_kernel_dial_is_an_experiment(self) -> None:
        listed = json.loads(checked(outside() / "my_bench", "list", "--format", "json"))
        names = {each["name"] for each in listed["experiments"]}
        every = {
            f"{kernel}_{dial}"
            for kernel in ("saxpy", "stencil")
            for dial in ("warps", "block_size", "carveout", "registers")
        }
        self.assertEqual(names, every | {"normalize_warps", "normalize_carveout", "normalize_registers"})
        self.assertIn("saxpy_warps.saxpy.plain.b256.r4", {case["case_id"] for case in listed["cases"]})

    def test_docs_show_the_listed_cases(self) -> None:
        shown = (ROOT / "docs/data/my_bench.txt").read_text(encoding="utf-8")
        self.assertEqual(shown, "$ my_bench list\n" + checked(outside() / "my_bench", "list"))

    def test_register_caps_compile_separate_code(self) -> None:
        """Also of template instances, whose copies a linker would merge."""
        variants = json.loads(checked(outside() / "my_bench", "list", "--variants", "--format", "json"))
        of = {f"{v['family']}.{v['variant']}": v["entry_offset"] for v in variants["variants"]}
        self.assertEqual(len(of), 12)
        self.assertEqual(len(set(of.values())), 12, of)
        self.assertIn("stencil.radius4-max24", of)

    def test_register_cap_applies_with_launch_bounds(self) -> None:
        """For stencil<4>, of 1,024 threads by __launch_bounds__, which -maxrregcount leaves as it is."""
        script = (
            "import sys; from pathlib import Path; from occbench_tools import describe, sass\n"
            "try: found = describe.attributes(Path(sys.argv[1]), 'sm_90')\n"
            "except sass.Skip as e: print(e); sys.exit(77)\n"
            "print({name: each.registers for name, each in found.items()})"
        )
        found = {}
        for target in ("my_bench", "my_bench_max24"):
            file = outside() / f"CMakeFiles/{target}.dir/stencil.cu.o"
            done = ran(sys.executable, "-P", "-c", script, file, env=tools())
            if done.returncode == 77:
                self.skipTest(done.stdout)
            found[target] = int(re.search(r"stencilILi4E\w+': (\d+)", done.stdout)[1])
        self.assertGreater(found["my_bench"], 24)
        self.assertLessEqual(found["my_bench_max24"], 24)

    def test_has_the_commands_but_not_the_suites_kernels(self) -> None:
        bench = outside() / "my_bench"
        self.assertIn("calc", checked(bench, "--help"))
        self.assertNotIn("calibrate", checked(bench, "--help"))
        self.assertIn(
            "occupancy",
            checked(bench, "calc", "--device", "h200", "--block-size", "256", "--registers", "40"),
        )
        self.assertNotIn("latency_hiding", checked(bench, "list"))
        unknown = ran(bench, "run", "--experiment", "latency_hiding", "--device", "model:h200")
        self.assertEqual((unknown.returncode, unknown.stdout), (2, ""))
        self.assertEqual(unknown.stderr.count("\n"), 1)

    def test_reports_its_own_projects_commit(self) -> None:
        source = folder() / "project"
        shutil.copytree(OUTSIDE, source, dirs_exist_ok=True)
        git = ("git", "-C", source, "-c", "user.name=a", "-c", "user.email=a@b")
        checked(*git, "init", "--quiet")
        checked(*git, "add", ".")
        checked(*git, "commit", "--quiet", "-m", "first")
        commit = checked(*git, "rev-parse", "--short=12", "HEAD").strip()
        build = configured("project-build", f"-DCMAKE_PREFIX_PATH={prefix()}", source=source)
        built(build, "my_family")
        self.assertIn(f"({commit})", checked(build / "my_family", "--version"))

    def test_user_kernel_is_skipped_on_a_model(self) -> None:
        run = folder() / "ordinary"
        said = checked(outside() / "my_bench", "run", "--device", "model:h200", "--output", run)
        self.assertIn("skipped", said)
        self.assertEqual({row["status"] for row in rows(run)}, {"skipped"})
        self.assertIn(" 0 violations", tool("validate", run))

    def test_described_family_is_modelled_and_readable(self) -> None:
        run, again = folder() / "family", folder() / "again"
        checked(outside() / "my_family", "run", "--device", "model:h200", "--output", run)
        valid = [row for row in rows(run) if row["status"] == "valid"]
        self.assertEqual(len(valid), 6)
        shutil.copytree(run, again)
        self.assertIn(" 0 violations", tool("validate", run))
        audit = ("-P", "-m", "occbench_tools", "audit", "--arch", "sm_90")
        audit += ("--binary", outside() / "my_family", "--described", OUTSIDE / "machine_code")
        done = ran(sys.executable, *audit, env=tools())
        self.assertIn(done.returncode, (0, 77), done.stdout + done.stderr)
        tool("plot", run)
        self.assertGreater((run / "axpy_occupancy.png").stat().st_size, 10_000)
        self.assertRegex(tool("explain", run), r"axpy")
        tool("report", run, "--output", folder() / "report.html")
        self.assertIn("none differs", tool("compare", run, again))

    def test_invalid_cmake_call_is_one_line(self) -> None:
        for words, line in (
            (("empty",), "occbench_add_benchmark(empty): name a .cu file"),
            (("host", "a.cpp"), "occbench_add_benchmark(host): name a .cu file"),
        ):
            source = folder() / f"wrong-{words[0]}"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(wrong LANGUAGES CXX CUDA)\n"
                f"find_package(occbench REQUIRED)\noccbench_add_benchmark({' '.join(words)})\n"
            )
            with self.assertRaises(AssertionError) as failed:
                configured(f"wrong-{words[0]}-build", f"-DCMAKE_PREFIX_PATH={prefix()}", source=source)
            self.assertIn(line, str(failed.exception))

    def test_wrong_kernel_facts_are_one_line(self) -> None:
        source = folder() / "facts"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(facts LANGUAGES CXX CUDA)\n"
            "find_package(occbench REQUIRED)\noccbench_add_benchmark(facts facts.cu REGISTER_CAPS NONE)\n"
        )
        text = (OUTSIDE / "saxpy.cu").read_text()
        (source / "facts.cu").write_text(text.replace(".threads = n, ", ""))
        build = built(configured("facts-build", f"-DCMAKE_PREFIX_PATH={prefix()}", source=source))
        done = ran(build / "facts", "list")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            done.stderr,
            "occbench: kernel 'saxpy': its grid needs exactly one of .threads, .grid and .waves\n",
        )

    def test_builds_machine_code_for_the_present_gpu(self) -> None:
        """Where nobody says for which; never PTX, in which no register cap stands."""
        fake = folder() / "fake"
        fake.mkdir()
        (fake / "nvidia-smi").write_text("#!/bin/sh\necho 8.9\n")
        (fake / "nvidia-smi").chmod(0o755)
        path = {"PATH": f"{fake}:{os.environ['PATH']}"}
        for name, architectures, codes in (("own", None, {"sm_89"}), ("two", "80;90a", {"sm_80", "sm_90a"})):
            build = folder() / f"for-{name}"
            words = [
                f"-DCMAKE_CUDA_COMPILER={cached('CMAKE_CUDA_COMPILER')}",
                f"-DCMAKE_PREFIX_PATH={prefix()}",
            ]
            if architectures:
                words.append(f"-DCMAKE_CUDA_ARCHITECTURES={architectures}")
            checked(CMAKE, "-S", OUTSIDE, "-B", build, "-G", "Ninja", *words, env=os.environ | path)
            found = re.findall(r",code=\[?([\w,]+)", (build / "build.ninja").read_text())
            self.assertEqual({each for code in found for each in code.split(",")}, codes)

    def test_rejects_another_minor_version(self) -> None:
        text = (OUTSIDE / "CMakeLists.txt").read_text()
        source = folder() / "version"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            text.replace("find_package(occbench 0.2", "find_package(occbench 0.1")
        )
        with self.assertRaisesRegex(AssertionError, r"(?s)occbench.*0\.1"):
            configured("version-build", f"-DCMAKE_PREFIX_PATH={prefix()}", source=source)

    def test_a_newer_cmake(self) -> None:
        """That of tools/locks, from the PyPI."""
        python = folder() / "cmake"
        pip = ("-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--target")
        if ran(sys.executable, *pip, python, "-r", ROOT / "tools/locks/cmake.txt").returncode:
            self.skipTest("the wheel of cmake cannot be had")
        cmake = python / "cmake/data/bin/cmake"
        build = configured("newer", f"-DCMAKE_PREFIX_PATH={prefix()}", cmake=cmake)
        built(build, "my_family", cmake=cmake)
        self.assertIn("axpy.f32", checked(build / "my_family", "list", "--variants"))

    def test_users_need_no_private_header(self) -> None:
        for source in (*OUTSIDE.glob("*.cu"), *OUTSIDE.glob("*.cpp")):
            includes = re.findall(r"#include ([<\"].*[>\"])", source.read_text())
            self.assertTrue(
                all(
                    re.fullmatch(r'<(occbench/\w+\.(cuh|hpp)|\w+|\w+\.h)>|"matmul.cuh"', each)
                    for each in includes
                ),
                f"{source.name}: {includes}",
            )

    def test_example_needs_fewer_than_15_extra_lines(self) -> None:
        text = (OUTSIDE / "saxpy.cu").read_text()
        after = text[text.index("constexpr int n") :].splitlines()
        self.assertLess(len(after), 15)


@unittest.skipIf(SANITIZED, "as above")
class Subdirectory(unittest.TestCase):
    def test_add_subdirectory_builds_no_suite_kernels(self) -> None:
        # Nothing here is timed.
        quick = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCMAKE_UNITY_BUILD=ON"]
        quick.append("-DCMAKE_UNITY_BUILD_BATCH_SIZE=48")
        settings = [f"-DSUITE={ROOT}", f"-DOCCBENCH_WERROR={cached('OCCBENCH_WERROR')}", *quick]
        for source in BUILD.glob("_deps/*-src"):
            settings.append(f"-DFETCHCONTENT_SOURCE_DIR_{source.name.removesuffix('-src').upper()}={source}")
        build = built(configured("subdirectory", *settings, build=beside()), "my_family")
        self.assertIn("axpy.f32", checked(build / "my_family", "list", "--variants"))
        self.assertIn("-maxrregcount=24", (build / "build.ninja").read_text())
        self.assertEqual(list(build.glob("_deps/occbench-build/kernels/**/*.o")), [])


def suite_on_matmul(output: Path) -> dict[str, dict[str, str]]:
    """The rows of matmul_registers by cap; "" is the source as it is."""
    checked(outside() / "my_matmul", "run", "--experiment", "matmul_registers", "--output", output)
    return {row["variant"].removeprefix("plain").removeprefix("-max"): row for row in rows(output)}


def caps_on_matmul() -> dict[str, dict[str, Any]]:
    """What caps says of each cap that makes a step, in the same form."""
    source = ROOT / "tests/samples/matmul.cu"
    words = ["--rounds", 9, "--value", "time: (.*) ms", "--format", "json", "--run", "./app", "4096", "--"]
    nvcc = [shutil.which("nvcc") or cached("CMAKE_CUDA_COMPILER"), "-O3", "-arch=native", source, "-o", "app"]
    said = json.loads(tool("caps", *words, *nvcc))
    return {each["build"].removeprefix("as it is").removeprefix("cap "): each for each in said["builds"]}


def shown(suite: dict[str, dict[str, str]], caps: dict[str, dict[str, Any]]) -> str:
    lines = ["  cap         occbench_add_benchmark                  occbench caps --run"]
    for cap, row in suite.items():
        ms = [1e3 * float(row[f"time_{of}_s"] or "nan") for of in ("median", "ci95_low", "ci95_high")]
        own = "{:.3f} ms ({:.3f} to {:.3f})".format(*ms) if row["status"] == "valid" else row["status"]
        theirs = f"{caps[cap]['registers_per_thread']:>3} registers {caps[cap]['time_median']:8.3f} ms"
        if cap and caps[cap]["time_ratio"]:
            theirs += " x{time_ratio:.3f} ({time_ratio_low:.3f} to {time_ratio_high:.3f})".format(**caps[cap])
        registers = row["registers_per_thread"] or "-"
        lines.append(f"  {cap or 'as it is':<8} {registers:>3} registers {own:<30} {theirs}")
    return "\n".join(lines)


@unittest.skipUnless(HAS_GPU and not SANITIZED, "needs a GPU")
class OnDevice(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not os.environ.get("OCCBENCH_OUTSIDE") and not list(BUILD.glob("liboccbench.*")):
            raise unittest.SkipTest(f"{BUILD} has no liboccbench to install; OCCBENCH_OUTSIDE names programs")

    def need_tools(self) -> None:
        if lacking := [each for each in ("pandas", "matplotlib", "rich") if not find_spec(each)]:
            self.skipTest(f"measured, and read by no tool: this Python lacks {', '.join(lacking)}")

    def test_caps_and_the_suite_find_the_same_cap(self) -> None:
        """Of one kernel: somebody's program under `caps --run`, and a benchmark of this package."""
        suite, caps = suite_on_matmul(folder() / "matmul"), caps_on_matmul()
        self.assertEqual(suite.keys(), caps.keys())
        print("", shown(suite, caps), sep="\n")
        self.assertLessEqual({row["status"] for row in suite.values()}, {"valid", "skipped"})
        valid = {cap: row for cap, row in suite.items() if row["status"] == "valid"}
        best = min(valid, key=lambda cap: float(valid[cap]["time_median_s"]))
        fastest = min(caps.values(), key=lambda each: each["time_median"])
        self.assertGreater(len(valid), 4)
        self.assertNotEqual(best, "")
        self.assertLessEqual(caps[best]["time_ratio_low"], fastest["time_ratio_high"])

    def test_user_kernels_are_verified_and_counted(self) -> None:
        run, again = folder() / "gpu", folder() / "gpu-again"
        for output in (run, again):
            checked(outside() / "my_bench", "run", "--preset", "quick", "--output", output)
        found = rows(run)
        self.assertLessEqual(
            {row["status"] for row in found},
            {"valid", "impossible", "skipped"},
            [row["reason"] for row in found if row["status"] == "invalid"],
        )
        valid = [row for row in found if row["status"] == "valid"]
        for kernel, how in (("saxpy", "reference"), ("stencil", "repeat"), ("normalize", "reference")):
            of = [row for row in valid if row["family"] == kernel]
            self.assertGreater(len(of), 3, kernel)
            self.assertEqual({row["verified"] for row in of}, {how})
        counted = [row for row in valid if row["blocks_per_sm_resident"]]
        self.assertTrue(all(row["family"] == "stencil" for row in counted))
        capped = {
            row["variant"]: int(row["registers_per_thread"])
            for row in valid
            if row["experiment"] == "stencil_registers"
        }
        self.assertLessEqual(
            max((n for v, n in capped.items() if v.endswith("max24")), default=24), 24, capped
        )
        self.need_tools()
        self.assertIn(" 0 violations", tool("validate", run))
        tool("plot", run)
        tool("explain", run)
        tool("report", run, "--output", folder() / "gpu.html")
        tool("compare", run, again)

    def test_faulty_kernels_do_not_stop_the_others(self) -> None:
        run = folder() / "faults"
        done = ran(
            outside() / "my_faults",
            "run",
            "--preset",
            "quick",
            "--timeout",
            "5s",
            "--output",
            run,
            "--benchmark_filter=carveout.*c25",
        )
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        found = {}
        for row in rows(run):
            found.setdefault(row["family"], set()).add((row["status"], row["reason"]))
        expected = {
            "right": ("valid", ""),
            "wrong": ("invalid", "wrong result: element 0 of"),
            "unwritten": ("invalid", "two launches do not agree bit by bit, or leave words unwritten"),
            "other": ("invalid", "two launches do not agree bit by bit, or leave words unwritten"),
            "trap": ("invalid", "cudaErrorLaunchFailure"),
            "hang": ("invalid", "timed out after 5 s (--timeout)"),
            "memory": ("valid", ""),
            "too_large": ("skipped", "its data does not fit the device memory of this run"),
            "registers": ("impossible", ""),
        }
        self.assertEqual(found.keys(), expected.keys())
        for kernel, (status, reason) in expected.items():
            for each, said in found[kernel]:
                self.assertEqual(each, status, f"{kernel}: {said}")
                self.assertIn(reason, said)
        told = [line for line in done.stderr.splitlines() if line.startswith("occbench: ")]
        self.assertEqual(len(told), 2, done.stderr)
        for line in told:
            self.assertRegex(line, r"^occbench: case (trap|hang)_carveout\S+")
        self.need_tools()
        self.assertIn(" 0 violations", tool("validate", run))


if __name__ == "__main__":
    unittest.main()
