# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. One rule a room; the most particular room that holds a file decides.

A quoted include is a path from the repository root, so its first folder is the room it reaches into; or
it names a header that the build writes from cmake/NAME.in.
"""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("harness", "kernels", "benchmarks", "tests")
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

STANDARD = r"<[a-z_]+>"  # <vector>, <cstdint>; no slash, no extension
DEVICE = r"<(cuda|cooperative_groups|cub|mma|sm_\w+|vector_types|nv)\b[\w/.]*>|<cuda_\w+\.h(pp)?>"
ABOVE_HARNESS = r"<(benchmark|CLI|gtest|gmock)/.*>"

# room -> (what it may include, what it may not even so). An empty 'may' allows whatever is not refused.
RULES = {
    "harness/theory/": (rf'{STANDARD}|<cuda_occupancy\.h>|"harness/theory/.*"', ""),
    "harness/statistics": (rf'{STANDARD}|"harness/statistics\.hpp"', ""),
    "harness/fit": (rf'{STANDARD}|"harness/(fit|statistics)\.hpp"', ""),
    "harness/": ("", rf'"(kernels|benchmarks|tests)/.*"|{ABOVE_HARNESS}'),
    "kernels/": (rf'{STANDARD}|{DEVICE}|"kernels/.*"|"harness/kernel\w*\.hpp"|"harness/\w+\.cuh"', ""),
    "benchmarks/": ("", r'"(kernels|tests)/.*"'),
}

# Python reads the CSV schema (and the audit the built binary), never a source file.
SOURCE_NAME = re.compile(r"""["'][^"'\n]*\.(?:cu|cuh|hpp|cpp)["']""")


def forbidden_includes(root: Path) -> list[str]:
    """One line 'path:line: what' for each include (or source name in tools) that breaks the layering."""
    found = []
    for path in sorted(p for room in ROOMS for p in (root / room).rglob("*") if p.suffix in SOURCES):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        room = max((room for room in RULES if name.startswith(room)), key=len, default=None)
        allowed, refused = RULES.get(room, ("", ""))
        for match in INCLUDE.finditer(text):
            quoted, angled = match.groups()
            include = f'"{quoted}"' if quoted else f"<{angled}>"
            where = f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {include}"
            if quoted and not ((root / quoted).is_file() or (root / "cmake" / f"{quoted}.in").is_file()):
                found.append(f"{where} is not a path from the repository root")
            elif angled and angled.split("/")[0] in ROOMS:
                found.append(f"{where} is ours: quote it")
            elif (allowed and not re.fullmatch(allowed, include)) or re.fullmatch(refused, include):
                found.append(f"{where} is not for {room}")
    # occbench_docs, which no user installs, writes the pages of this tree, and reads what its experiments
    # expect.
    for path in sorted((root / "tools/occbench_tools").rglob("*.py")):
        for match in SOURCE_NAME.finditer(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(root).as_posix()}: {match[0]} is not for tools/")
    return found


class Layering(unittest.TestCase):
    def test_this_tree(self) -> None:
        self.assertEqual(forbidden_includes(ROOT), [])

    def test_a_planted_include_is_found(self) -> None:
        """Each rule, broken once in a small tree of its own that is clean otherwise."""
        planted = {
            "benchmarks/a.cpp": '#include "kernels/family.cuh"',
            "kernels/a.cu": '#include "harness/timing.hpp"',
            "kernels/b.cu": "#include <benchmark/benchmark.h>",
            "harness/a.cpp": '#include "kernels/family.cuh"',
            "harness/b.hpp": '  #  include "benchmarks/sweep.hpp"',
            "harness/c.hpp": "#include <benchmark/benchmark.h>",
            "harness/theory/a.hpp": "#include <cuda_runtime.h>",
            "harness/theory/b.hpp": '#include "harness/timing.hpp"',
            "harness/statistics.cpp": '#include "harness/timing.hpp"',
            "harness/fit.cpp": '#include "harness/timing.hpp"',
            "tests/a.cpp": '#include "timing.hpp"',
            "benchmarks/b.cpp": "#include <harness/timing.hpp>",
            "tools/occbench_tools/a.py": 'open("kernels/stream.cu")',
        }
        clean = {
            "kernels/family.cuh": '#include <cuda/barrier>\n#include "harness/kernel.hpp"',
            "benchmarks/sweep.hpp": '#include <benchmark/benchmark.h>\n#include "harness/timing.hpp"',
            "harness/kernel.hpp": "#include <cuda_runtime.h>\n#include <vector>",
            "harness/timing.hpp": '// #include "kernels/family.cuh"',
            "harness/statistics.hpp": "#include <vector>",
            "harness/theory/occupancy.hpp": "#include <cuda_occupancy.h>",
        }
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)

            def write(name: str, text: str) -> None:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_text(text)

            for name, text in clean.items():
                write(name, text)
            self.assertEqual(forbidden_includes(tree), [])
            for name, text in planted.items():
                with self.subTest(name):
                    write(name, f"#include <vector>\n{text}\n" if not name.endswith(".py") else text)
                    found = forbidden_includes(tree)
                    (tree / name).unlink()
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(name, found[0])

    def test_a_planted_include_is_found_in_this_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            for room in (*ROOMS, "cmake"):
                shutil.copytree(ROOT / room, tree / room)
            before = forbidden_includes(tree)
            with next((tree / "harness").glob("*.hpp")).open("a") as header:
                header.write("#include <benchmark/benchmark.h>\n")
            self.assertEqual(len(forbidden_includes(tree)), len(before) + 1)

    def test_program_and_tools_agree_on_what_is_a_curve(self) -> None:
        cpp = re.search(r"least_points = (\d+);", (ROOT / "benchmarks/curves.hpp").read_text())
        tools = (ROOT / "tools/occbench_tools/analysis.py").read_text()
        python = re.search(r"(?m)^CURVE_POINTS = (\d+)", tools)
        self.assertEqual(cpp and cpp[1], python and python[1])


if __name__ == "__main__":
    unittest.main()
