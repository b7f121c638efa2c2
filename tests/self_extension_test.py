# SPDX-License-Identifier: Apache-2.0
"""A new family and a new experiment cost one file and one line each, as docs/extending.md says.

Follows that page in a copy of the tree: every fenced block under a marker <!-- extension: PATH --> is a
new file PATH, or the one line to append where PATH is a CMakeLists.txt. Then builds the copy the way
OCCBENCH_BUILD_DIR was built, so that ccache hands over all that did not change, and asks `occbench list`.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from layering_test import forbidden_includes

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("OCCBENCH_BUILD_DIR", ROOT / "build/ci")).resolve()
BLOCK = re.compile(r"^<!-- extension: (\S+) -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTING = re.compile(
    r"^(CMAKE_BUILD_TYPE|CMAKE_(?:CXX|CUDA)_COMPILER|CMAKE_CUDA_ARCHITECTURES|CMAKE_GENERATOR|CMAKE_COMMAND"
    r"|CMAKE_UNITY_BUILD(?:_BATCH_SIZE)?"
    r"|OCCBENCH_\w+|FETCHCONTENT_SOURCE_DIR_\w+):\w+=(.*)$",
    re.MULTILINE,
)


def checked(*command: object, environment: dict[str, str] | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, text=True, capture_output=True, env=environment)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-6000:]
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}\n{said}")
    return done.stdout


def left_out(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name[0] == "." or (name.startswith("build") and Path(folder) == ROOT)]


def listed_question(blocks: dict[str, str]) -> str:
    return re.search(r'\.question = "([^"]+)"', "".join(blocks.values()))[1]


class SelfExtension(unittest.TestCase):
    def test_following_the_page(self) -> None:
        blocks = dict(BLOCK.findall((ROOT / "docs/extending.md").read_text(encoding="utf-8")))
        family = [Path(path).stem for path in blocks if re.fullmatch(r"kernels/\w+/\w+\.cu", path)]
        experiment = [Path(path).stem for path in blocks if re.fullmatch(r"benchmarks/\w+/\w+\.cpp", path)]
        lists = {"kernels/CMakeLists.txt", "benchmarks/CMakeLists.txt"}
        self.assertEqual(
            (len(family), len(experiment), len(blocks), lists - blocks.keys()),
            (1, 1, 4, set()),
            "docs/extending.md needs '<!-- extension: PATH -->' above the blocks for kernels/SHELF/NAME.cu, "
            "for benchmarks/SHELF/NAME.cpp, and "
            f"for one line of each of {sorted(lists)}; it has {sorted(blocks)}",
        )

        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "occbench"
            shutil.copytree(ROOT, tree, ignore=left_out)
            for path, text in blocks.items():
                if path in lists:
                    self.assertEqual(len(text.splitlines()), 1, f"{path} is to grow by one line:\n{text}")
                    with (tree / path).open("a", encoding="utf-8") as file:
                        file.write(text)
                else:
                    self.assertFalse((tree / path).exists(), f"{path} is in the tree already")
                    (tree / path).write_text(text, encoding="utf-8")
            self.assertEqual(forbidden_includes(tree), [])

            occbench = self.build(tree)
            listed = json.loads(checked(occbench, "list", "--format", "json"))
            self.assertIn(experiment[0], {each["name"] for each in listed["experiments"]})
            self.assertIn(experiment[0], {each["experiment"] for each in listed["cases"]})
            listed = json.loads(checked(occbench, "list", "--variants", "--format", "json"))
            self.assertIn(family[0], {each["family"] for each in listed["variants"]})
            if self.describe(tree, occbench, family[0]):
                predicted = self.predictions(self.build(tree), experiment[0], tree)
                self.assertGreater(len(predicted), 3)
                self.assertGreater(float(predicted[-1]), 1.5 * float(predicted[0]), "it rises with the warps")
                self.read_by_everyone(tree, experiment[0], listed_question(blocks))

    def describe(self, tree: Path, occbench: Path, family: str) -> bool:
        """Whether there is a disassembler, and machine code for sm_90. Runs the page's command."""
        (words,) = re.findall(
            r"^occbench audit (.*--family.*)$", (ROOT / "docs/extending.md").read_text(), re.M
        )
        command = [
            sys.executable,
            "-P",
            "-m",
            "occbench_tools.audit",
            "--binary",
            str(occbench),
            *words.split(),
        ]
        environment = os.environ | {"PYTHONPATH": str(tree / "tools")}
        done = subprocess.run(command, text=True, capture_output=True, env=environment, cwd=tree)
        self.assertIn(done.returncode, (0, 77), done.stdout + done.stderr)
        if done.returncode == 0:
            files = [path.relative_to(tree) for path in tree.glob(f"kernels/machine_code/*/{family}.txt.gz")]
            self.assertEqual(files, [Path(f"kernels/machine_code/sm_90/{family}.txt.gz")])
        return done.returncode == 0

    def predictions(self, occbench: Path, experiment: str, tree: Path) -> list[str]:
        """Of a model whose GPU the description is of; and an older one's, for which it stands in."""
        words = ("--preset", "quick", "--experiment", experiment)
        for name, borrowed in (
            ("h200", ""),
            ("a100", "; machine code of sm_90 stands in for sm_80's in some kernels"),
        ):
            run = tree / name
            said = checked(occbench, "run", "--device", f"model:{name}", *words, "--output", run)
            self.assertIn(f"(built in){borrowed}\n", said)
            with (run / "cases.csv").open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual({row["status"] for row in rows} - {"impossible"}, {"valid"})
        rows = [row for row in rows if row["status"] == "valid"]
        return [row["throughput_predicted"] for row in sorted(rows, key=lambda row: int(row["warps_per_sm"]))]

    def read_by_everyone(self, tree: Path, experiment: str, question: str) -> None:
        """Every tool has something to say of the run, and the docs a page, without a line of Python."""
        environment = os.environ | {"PYTHONPATH": str(tree / "tools")}

        def tool(name: str, *words: object) -> str:
            return checked(sys.executable, "-P", "-m", name, *words, environment=environment)

        run, again = tree / "h200", tree / "again"
        shutil.copytree(run, again)
        self.assertIn(" 0 violations", tool("occbench_tools.validate", run))
        tool("occbench_tools.plot", run)
        for picture in (run / f"{experiment}.png", run / f"{experiment}.svg"):
            self.assertGreater(picture.stat().st_size, 10_000)
        self.assertRegex(tool("occbench_tools.explain", run), r"90 % of [\d,]+ GB/s takes \d+ warps per SM")
        tool("occbench_tools.report", run, "--output", tree / "report.html")
        page = (tree / "report.html").read_text(encoding="utf-8")
        self.assertIn(experiment, page)
        self.assertIn(question, page)
        tool("occbench_tools.cliffs", run)
        self.assertIn("of 6 cases, none differs", tool("occbench_tools.compare", run, again))
        docs = tree / f"docs/experiments/{experiment}.md"
        tool("occbench_docs", "--write")
        self.assertIn(f"*Question:* {question}", docs.read_text(encoding="utf-8"))

    def build(self, tree: Path) -> Path:
        settings = dict(SETTING.findall((BUILD / "CMakeCache.txt").read_text()))
        cmake, generator = settings.pop("CMAKE_COMMAND"), settings.pop("CMAKE_GENERATOR")
        for source in BUILD.glob("_deps/*-src"):
            settings.setdefault(f"FETCHCONTENT_SOURCE_DIR_{source.name.removesuffix('-src').upper()}", source)
        compiler = Path(settings["CMAKE_CUDA_COMPILER"])
        if compiler.is_relative_to(ROOT):  # PyPI's toolkit in build/venv
            toolkit = compiler.parents[1].relative_to(ROOT)
            if not (tree / toolkit).exists():
                shutil.copytree(ROOT / toolkit, tree / toolkit, symlinks=True)
            settings["CMAKE_CUDA_COMPILER"] = str(tree / compiler.relative_to(ROOT))
        # The same place below the root, so that both trees give the compiler the same relative paths.
        build = tree / (BUILD.relative_to(ROOT) if BUILD.is_relative_to(ROOT) else "build")
        environment = os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
        options = [f"-D{name}={value}" for name, value in settings.items()]
        checked(cmake, "-S", tree, "-B", build, "-G", generator, *options, environment=environment)
        jobs = str(os.cpu_count() or 1)
        targets = ("occbench", "occbench_c")  # the docs ask both
        checked(cmake, "--build", build, "--target", *targets, "--parallel", jobs, environment=environment)
        return build / "benchmarks/occbench"


if __name__ == "__main__":
    unittest.main()
