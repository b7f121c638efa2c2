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
ROOMS = ("include", "harness", "kernels", "benchmarks", "tests")
SOURCES = {".hpp", ".cpp", ".cuh", ".cu"}
OF_OTHERS = ("tests/outside/", "tests/samples/")  # stand for projects of somebody's own
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

STANDARD = r"<[a-z_]+>"  # <vector>, <cstdint>; no slash, no extension
DEVICE = r"<(cuda|cooperative_groups|cub|mma|sm_\w+|vector_types|nv)\b[\w/.]*>|<cuda_\w+\.h(pp)?>"
ABOVE_HARNESS = r"<(benchmark|CLI|gtest|gmock)/.*>"

# room -> (what it may include, what it may not even so). An empty 'may' allows whatever is not refused.
RULES = {
    "include/occbench/": (rf"{STANDARD}|{DEVICE}|<occbench/.*>", ""),  # the suite's own headers stay outside
    "include/facade/": (
        rf'{STANDARD}|<occbench/.*>|"kernels/family\.cuh"|"benchmarks/framework/sweep\.hpp"',
        "",
    ),
    "harness/theory/": (rf'{STANDARD}|"harness/theory/\w+\.hpp"', ""),
    "harness/theory/occupancy/": (
        rf'{STANDARD}|<cuda_occupancy\.h>|"harness/theory/(occupancy/)?\w+\.hpp"',
        "",
    ),
    "harness/theory/simulator/": (rf'{STANDARD}|"harness/theory/(simulator/)?\w+\.hpp"', ""),
    "harness/theory/prediction/": (rf'{STANDARD}|"harness/theory/.*"', ""),
    "harness/statistics/": (rf'{STANDARD}|"harness/statistics/.*"', ""),
    "harness/io/": ("", rf'"(?!harness/io/|\w+\.hpp").*"|{ABOVE_HARNESS}'),
    "harness/binary/": ("", rf'"(?!harness/(io|theory|binary)/).*"|<cuda\w*\.h(pp)?>|{ABOVE_HARNESS}'),
    "harness/c_api/": (rf'{STANDARD}|<nlohmann/json\.hpp>|"harness/(theory|binary|c_api)/.*"', ""),
    "harness/device/": ("", rf'"(?!harness/(io|theory|device)/|\w+\.hpp").*"|{ABOVE_HARNESS}'),
    "harness/attach/": ("", rf'"(?!harness/(io|theory|statistics|attach)/).*"|{ABOVE_HARNESS}'),
    "harness/attach/protocol/": ("", rf'"(?!harness/(io|statistics|attach/protocol)/).*"|{ABOVE_HARNESS}'),
    "harness/attach/preload/": (
        "",
        rf'"(?!harness/(io|statistics|attach/protocol|attach/preload)/).*"|{ABOVE_HARNESS}',
    ),
    "harness/attach/analysis/": (
        "",
        rf'"(?!harness/(io|theory|statistics|attach/protocol|attach/analysis)/).*"|{ABOVE_HARNESS}',
    ),
    "harness/measure/": ("", rf'"(?!harness/(io|theory|statistics|device|measure)/).*"|{ABOVE_HARNESS}'),
    "harness/record/": ("", rf'"(kernels|benchmarks|tests)/.*"|{ABOVE_HARNESS}'),
    "kernels/": (
        rf'{STANDARD}|{DEVICE}|"kernels/.*"|"harness/device/kernel\w*\.hpp"|"harness/device/\w+\.cuh"|"harness/theory/hardware\.hpp"',
        "",
    ),
    "benchmarks/": ("", r'"(kernels|tests)/.*"'),
    "benchmarks/framework/": ("", r'"(kernels|tests|benchmarks/(?!framework/|report/)\w+)/.*"'),
    "benchmarks/report/": ("", r'"(kernels|tests|benchmarks/(?!framework/|report/)\w+)/.*"'),
}

# Python reads the CSV schema (and the audit the built binary), never a source file.
SOURCE_NAME = re.compile(r"""["'][^"'\n]*\.(?:cu|cuh|hpp|cpp)["']""")


# Theory's rooms that play hardware. Their numbers stand in hardware.hpp or are parameters; what may stand in
# them beside 0, 1, 2, a half and a billionth is not a fact of hardware, and is named here.
NUMBERS_OF_THE_METHOD = {
    "accesses": {"4"},  # bytes of a word
    "demand": {"50", "128", "1024", "4.0", "64", "16", "1.5"},  # iterations; what parameters and wgmma are of
    "dram": {"6"},  # of a queue's mean wait
    "instruction_cache": set(),
    "l1": {"16", "32", "8"},  # chains that are tried
    "lines": {"32"},  # bits
    "load_store": {"40", "16", "56"},  # bits
    "memory": set(),
    "scheduler": set(),
    "simulate": set(),
    "warp": {"6"},  # scoreboards of an instruction's encoding
}
NUMBER = re.compile(r"(?<![\w.])\d(?:[\w.']|(?<=e)-)*")
COMMENT_OR_TEXT = re.compile(r"//.*|\"[^\"\n]*\"|^[ \t]*#.*", re.MULTILINE)
# What a room counts for Usage: added to, or handed over at the end.
COUNT = re.compile(r"\b\w+_busy_\b|\bissued_\.\w+(?:\[\w+\])?")
COUNTED = re.compile(
    r"\+\+issued_\.|(?:_busy_|issued_\.\w+(?:\[\w+\])?) \+= |double \w+_busy_ = 0|"
    r"\.\w+ = (?:\w+_busy_|issued_\.\w+)[,;}]"
)


def include_circles(root: Path) -> list[str]:
    """Each circle of quoted includes, as the files that it goes through."""
    return circles(includes_of(root))


def folder_circles(root: Path) -> list[str]:
    """Each circle of folders that include files of the next; a folder and those in it are one another's."""
    folders: dict[str, list[str]] = {}
    for name, others in includes_of(root).items():
        folder = name.rpartition("/")[0]
        reached = {other.rpartition("/")[0] for other in others}
        folders.setdefault(folder, []).extend(
            other for other in sorted(reached) if other != folder and not f"{folder}/".startswith(f"{other}/")
        )
        for other in reached:
            folders.setdefault(other, [])
    return circles(folders)


def sources_that_hide_their_header(root: Path) -> list[str]:
    """Each X.cpp beside an X.hpp whose first include is another: it shows not that X.hpp compiles alone."""
    found = []
    for room in ("harness", "benchmarks"):
        for source in sorted((root / room).rglob("*.cpp")):
            name = source.relative_to(root).with_suffix(".hpp").as_posix()
            if (root / name).is_file():
                first = INCLUDE.search(source.read_text(encoding="utf-8"))
                if first is None or first[1] != name:
                    found.append(source.relative_to(root).as_posix())
    return found


def includes_of(root: Path) -> dict[str, list[str]]:
    """By file, the files that it includes by quotes."""
    files = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for room in ROOMS
        for path in (root / room).rglob("*")
        if path.suffix in SOURCES
    }
    return {name: [m[1] for m in INCLUDE.finditer(text) if m[1] in files] for name, text in files.items()}


def circles(includes: dict[str, list[str]]) -> list[str]:
    """Each circle of a graph, as what it goes through."""
    found, done = [], set()

    def visit(name: str, way: list[str]) -> None:
        if name in way:
            found.append(" -> ".join([*way[way.index(name) :], name]))
        elif name not in done:
            for other in includes[name]:
                visit(other, [*way, name])
            done.add(name)

    for name in includes:
        visit(name, [])
    return found


def theory_code(root: Path) -> list[tuple[str, int, str]]:
    """(file, line, code without comments, texts and includes) of theory's rooms that play hardware."""
    return [
        (path.name, number, line)
        for path in sorted((root / "harness/theory").rglob("*.[ch]pp"))
        if path.stem in NUMBERS_OF_THE_METHOD
        for number, line in enumerate(
            COMMENT_OR_TEXT.sub("", path.read_text(encoding="utf-8")).splitlines(), 1
        )
    ]


def constants_of_hardware(root: Path) -> list[str]:
    """Numbers in theory's rooms that no one has named: 'file:line: number'."""
    usual = {"0", "1", "2", "0.0", "1.0", "0.5", "1e-9"}
    return [
        f"{file}:{number}: {found}"
        for file, number, line in theory_code(root)
        for found in NUMBER.findall(line)
        if found not in usual | NUMBERS_OF_THE_METHOD[Path(file).stem]
    ]


def read_counts(root: Path) -> list[str]:
    """Lines of the simulation that ask for what is only counted: statistics feed no physics."""
    return [
        f"{file}:{number}: {line.strip()}"
        for file, number, line in theory_code(root)
        if COUNT.search(line) and not COUNTED.search(line)
    ]


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
            places = () if name.startswith(OF_OTHERS) else (quoted, f"cmake/{quoted}.in")
            if quoted and places and not any((root / place).is_file() for place in places):
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
    def test_tree_has_no_forbidden_includes(self) -> None:
        self.assertEqual(forbidden_includes(ROOT), [])

    def test_detects_each_forbidden_include(self) -> None:
        """Each rule, broken once in a small tree of its own that is clean otherwise."""
        planted = {
            "benchmarks/a.cpp": '#include "kernels/family.cuh"',
            "kernels/a.cu": '#include "harness/measure/timing.hpp"',
            "kernels/b.cu": "#include <benchmark/benchmark.h>",
            "harness/record/a.cpp": '#include "kernels/family.cuh"',
            "harness/record/b.hpp": '  #  include "benchmarks/framework/sweep.hpp"',
            "harness/measure/c.hpp": "#include <benchmark/benchmark.h>",
            "harness/theory/a.hpp": "#include <cuda_runtime.h>",
            "harness/theory/simulator/a.hpp": '#include "harness/theory/prediction/model.hpp"',
            "harness/theory/occupancy/a.hpp": '#include "harness/theory/simulator/warp.hpp"',
            "harness/attach/preload/a.cpp": '#include "harness/attach/analysis/verdict.hpp"',
            "harness/attach/protocol/a.cpp": '#include "harness/attach/preload/hooks.hpp"',
            "benchmarks/report/a.cpp": '#include "benchmarks/commands/run/options.hpp"',
            "harness/theory/b.hpp": '#include "harness/measure/timing.hpp"',
            "harness/statistics/a.cpp": '#include "harness/measure/timing.hpp"',
            "harness/io/a.cpp": '#include "harness/theory/occupancy/occupancy.hpp"',
            "harness/binary/a.cpp": "#include <cuda_runtime_api.h>",
            "harness/device/a.cpp": '#include "harness/measure/timing.hpp"',
            "harness/attach/a.cpp": '#include "harness/measure/timing.hpp"',
            "harness/measure/a.cpp": '#include "harness/record/record.hpp"',
            "tests/a.cpp": '#include "timing.hpp"',
            "include/occbench/a.cuh": '#include "harness/device/kernel.hpp"',
            "include/facade/occbench/a.cuh": '#include "harness/measure/timing.hpp"',
            "benchmarks/b.cpp": "#include <harness/measure/timing.hpp>",
            "tools/occbench_tools/a.py": 'open("kernels/stream.cu")',
        }
        clean = {
            "kernels/family.cuh": '#include <cuda/barrier>\n#include "harness/device/kernel.hpp"',
            "benchmarks/framework/sweep.hpp": (
                '#include <benchmark/benchmark.h>\n#include "harness/measure/timing.hpp"'
            ),
            "harness/device/kernel.hpp": "#include <cuda_runtime.h>\n#include <vector>",
            "harness/measure/timing.hpp": '// #include "kernels/family.cuh"',
            "harness/statistics/statistics.hpp": "#include <vector>",
            "harness/record/record.hpp": '#include "harness/measure/timing.hpp"',
            "harness/theory/occupancy/occupancy.hpp": "#include <cuda_occupancy.h>",
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

    def test_detects_a_forbidden_include_in_this_tree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            for room in (*ROOMS, "cmake"):
                shutil.copytree(ROOT / room, tree / room)
            before = forbidden_includes(tree)
            with next((tree / "harness/record").glob("*.hpp")).open("a") as header:
                header.write("#include <benchmark/benchmark.h>\n")
            self.assertEqual(len(forbidden_includes(tree)), len(before) + 1)

    def test_lines_have_110_columns(self) -> None:
        """Comments, too; Python's are ruff's to hold."""
        files = [path for room in (*ROOMS, "cmake") for path in (ROOT / room).rglob("*")]
        wide = [
            f"{path.relative_to(ROOT)}:{number}"
            for path in files
            if path.suffix in {*SOURCES, ".cmake"} or path.name == "CMakeLists.txt"
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if len(line) > 110
        ]
        self.assertEqual(wide, [])

    def test_sources_include_their_own_header_first(self) -> None:
        self.assertEqual(sources_that_hide_their_header(ROOT), [])
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "harness").mkdir()
            for name, text in {
                "a.hpp": "",
                "a.cpp": '#include <vector>\n\n#include "harness/a.hpp"\n',
                "b.hpp": "",
                "b.cpp": '#include "harness/b.hpp"\n#include <vector>\n',
                "c.cpp": "#include <vector>\n",
            }.items():
                (Path(folder) / "harness" / name).write_text(text)
            self.assertEqual(sources_that_hide_their_header(Path(folder)), ["harness/a.cpp"])

    def test_no_cyclic_includes(self) -> None:
        self.assertEqual(include_circles(ROOT), [])
        self.assertEqual(folder_circles(ROOT), [])
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            for room in ROOMS:
                shutil.copytree(ROOT / room, tree / room)
            with (tree / "harness/theory/simulator/random.hpp").open("a") as header:
                header.write('#include "harness/theory/simulator/memory.hpp"\n')
            self.assertIn("harness/theory/simulator/random.hpp", include_circles(tree)[0])
            self.assertEqual(folder_circles(tree), [])
            with (tree / "harness/io/json.hpp").open("a") as header:
                header.write('#include "harness/device/device.hpp"\n')
            self.assertIn("harness/io", folder_circles(tree)[0])

    def test_hardware_constants_are_in_one_file(self) -> None:
        self.assertEqual(constants_of_hardware(ROOT), [])
        self.assertEqual(read_counts(ROOT), [])
        with tempfile.TemporaryDirectory() as folder:
            theory = Path(folder) / "harness/theory"
            shutil.copytree(ROOT / "harness/theory", theory)
            for name, line in (
                ("scheduler.cpp", "constexpr double mma_latency = 33;"),
                ("memory.cpp", "double f(double t) { return t + 1.75e3; }"),
            ):
                with (theory / "simulator" / name).open("a") as file:
                    file.write(line + "\n")
            self.assertEqual(
                [x.split(": ")[1] for x in constants_of_hardware(Path(folder))], ["1.75e3", "33"]
            )
            with (theory / "simulator/dram.cpp").open("a") as file:
                file.write("double f() { return port_busy_ / 2; }\n")
            with (theory / "simulator/scheduler.cpp").open("a") as file:
                file.write("double f() { return issued_.fma; }\n")
            self.assertEqual(len(read_counts(Path(folder))), 2)

    def test_hardware_facts_are_documented_and_used(self) -> None:
        texts = {p.name: p.read_text() for p in (ROOT / "harness/theory").rglob("*.?pp")}
        table = texts["hardware.hpp"]
        names = re.findall(r'(?m)^    \{"(\w+)",', table)
        self.assertGreater(len(names), 40)
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            entry = table.split(f'{{"{name}",')[1].split("},\n")[0]
            self.assertRegex(
                entry, r'(?s)^ .+?, "[^"]*", \w+,\s+"[^"]+.*",\s+("[^"]+|no_record|huerta)', name
            )
            used = any(f'fact("{name}")' in text for text in texts.values()) or f"{name} = {{" in table
            self.assertTrue(used, name)

    def test_program_and_tools_share_the_bound_threshold(self) -> None:
        model = (ROOT / "harness/theory/prediction/model.hpp").read_text()
        cpp = re.search(r"min_bound_utilization = ([\d.]+);", model)
        python = re.search(
            r"(?m)^LEAST, TIE, FULL, IDLE = (\d+),", (ROOT / "tools/occbench_tools/counters.py").read_text()
        )
        self.assertEqual(cpp and 100 * float(cpp[1]), python and float(python[1]))

    def test_program_and_tools_share_min_curve_points(self) -> None:
        cpp = re.search(r"min_points = (\d+);", (ROOT / "benchmarks/report/curves.hpp").read_text())
        tools = (ROOT / "tools/occbench_tools/analysis.py").read_text()
        python = re.search(r"(?m)^CURVE_POINTS = (\d+)", tools)
        self.assertEqual(cpp and cpp[1], python and python[1])


if __name__ == "__main__":
    unittest.main()
