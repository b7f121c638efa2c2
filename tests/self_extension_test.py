# SPDX-License-Identifier: Apache-2.0
"""A new family, experiment or command is one file and one line, a GPU one line, as docs/extending.md says.

Follows that page in a copy of the tree: every fenced block under a marker <!-- extension: PATH --> is a new
file PATH, or one line to append where PATH is a CMakeLists.txt; `PATH after TEXT` inserts it below the line
that contains TEXT. Then builds the copy the way OCCBENCH_BUILD_DIR was built, so that ccache hands over all
that did not change, and asks the program.
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
from typing import NamedTuple

from layering_test import forbidden_includes

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("OCCBENCH_BUILD_DIR", ROOT / "build/ci")).resolve()
BLOCK = re.compile(
    r"^<!-- extension: (\S+)(?: after (.+?))? -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
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


class Block(NamedTuple):
    path: str
    anchor: str  # "": a new file, or a line to append
    text: str

    def write(self, tree: Path) -> None:
        file = tree / self.path
        if self.anchor:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            (place,) = (number for number, line in enumerate(lines) if self.anchor in line)
            file.write_text("".join([*lines[: place + 1], self.text, *lines[place + 1 :]]), encoding="utf-8")
        elif file.name == "CMakeLists.txt":
            with file.open("a", encoding="utf-8") as appended:
                appended.write(self.text)
        else:
            assert not file.exists(), f"{self.path} is in the tree already"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text, encoding="utf-8")


def named(blocks: list[Block], pattern: str) -> str:
    """The only new file of this kind, without its ending."""
    (name,) = (Path(block.path).stem for block in blocks if re.fullmatch(pattern, block.path))
    return name


class SelfExtension(unittest.TestCase):
    def test_extension_guide_works(self) -> None:
        page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
        blocks = [Block(*found) for found in BLOCK.findall(page)]
        family = named(blocks, r"kernels/\w+/\w+\.cu")
        experiment = named(blocks, r"benchmarks/(?!commands)\w+/\w+\.cpp")
        command = named(blocks, r"benchmarks/commands/\w+/\w+\.cpp")
        (gpu,) = (re.match(r' +\{"(\w+)", ', block.text)[1] for block in blocks if block.anchor)
        lines = [block.path for block in blocks if block.path.endswith("CMakeLists.txt") or block.anchor]
        for block in blocks:
            if block.path in lines:
                self.assertEqual(len(block.text.splitlines()), 1, f"{block.path} is to grow by one line")
        self.assertEqual(
            sorted(lines),
            ["benchmarks/CMakeLists.txt", "benchmarks/CMakeLists.txt",
             "harness/theory/occupancy/cards.hpp", "kernels/CMakeLists.txt"],
        )  # fmt: skip

        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "occbench"
            shutil.copytree(ROOT, tree, ignore=left_out)
            for block in blocks:
                block.write(tree)
            measured = json.loads((tree / "harness/parameters/h200.json").read_text(encoding="utf-8"))
            measured |= {"catalogue_name": gpu, "device": f"a {gpu}"}
            (tree / f"harness/parameters/{gpu}.json").write_text(json.dumps(measured), encoding="utf-8")
            self.assertEqual(forbidden_includes(tree), [])

            occbench = self.build(tree)
            listed = json.loads(checked(occbench, "list", "--format", "json"))
            self.assertIn(experiment, {each["name"] for each in listed["experiments"]})
            self.assertIn(experiment, {each["experiment"] for each in listed["cases"]})
            listed = json.loads(checked(occbench, "list", "--variants", "--format", "json"))
            self.assertIn(family, {each["family"] for each in listed["variants"]})
            self.command_is_listed(occbench, command, gpu)
            self.assertIn(f"model:{gpu}", checked(occbench, "completion", "bash"))
            checked(occbench, "list", "--device", f"model:{gpu}", "--experiment", experiment)
            if self.describe(tree, occbench, family):
                predicted = self.predictions(self.build(tree), experiment, tree)
                self.assertGreater(len(predicted), 3)
                self.assertGreater(float(predicted[-1]), 1.5 * float(predicted[0]), "it rises with the warps")
                (question,) = re.findall(r'\.question = "([^"]+)"', "".join(block.text for block in blocks))
                self.read_by_everyone(tree, experiment, question)
                self.assertIn(f"### {command}\n", (tree / "docs/commands.md").read_text(encoding="utf-8"))

    def command_is_listed(self, occbench: Path, command: str, gpu: str) -> None:
        self.assertRegex(checked(occbench, "--help"), rf"(?m)^  {command} +\S")
        self.assertIn(f"Options of {command}:\n", checked(occbench, "--help-all"))
        self.assertRegex(checked(occbench, "completion", "fish"), rf"-a {command} -d ")
        rows = csv.DictReader(checked(occbench, command, "--format", "csv").splitlines())
        self.assertIn(gpu, {row["device"] for row in rows})

    def describe(self, tree: Path, occbench: Path, family: str) -> bool:
        """Whether there is a disassembler, and machine code for sm_90. Runs the page's command."""
        (words,) = re.findall(
            r"^occbench audit (.*--family.*)$", (ROOT / "docs/extending.md").read_text(), re.M
        )
        command = [
            sys.executable,
            "-P",
            "-m",
            "occbench_tools",
            "audit",
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
            call = [sys.executable, "-P", "-m", *name.split()]
            return checked(*call, *words, environment=environment)

        run, again = tree / "h200", tree / "again"
        shutil.copytree(run, again)
        self.assertIn(" 0 violations", tool("occbench_tools validate", run))
        tool("occbench_tools plot", run)
        for picture in (run / f"{experiment}.png", run / f"{experiment}.svg"):
            self.assertGreater(picture.stat().st_size, 10_000)
        explained = tool("occbench_tools explain", run)
        self.assertRegex(explained, r"reach(es)? 90 % of [\d,]+ GB/s with \d+ warps per SM")
        tool("occbench_tools report", run, "--output", tree / "report.html")
        page = (tree / "report.html").read_text(encoding="utf-8")
        self.assertIn(experiment, page)
        self.assertIn(question, page)
        tool("occbench_tools cliffs", run)
        self.assertIn("of 6 cases, none differs", tool("occbench_tools compare", run, again))
        docs = tree / f"docs/experiments/{experiment}.md"
        # All pages that list or describe experiments, commands or GPUs. The others, and the pictures, show
        # runs and samples that nobody added to: the check of this tree's pages goes through them.
        listing = [tree / "README.md", *(tree / f"docs/{name}.md" for name in ("index", "commands", "model"))]
        tool("occbench_docs", "--write", *listing, docs, *docs.parent.glob("*.md"))
        self.assertIn(f"# {question}\n", docs.read_text(encoding="utf-8"))

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
