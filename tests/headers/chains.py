# SPDX-License-Identifier: Apache-2.0
"""Translation units that show of every header that it compiles alone, as few as can be.

The first header of a .cpp file has shown it where that file is compiled by itself, as in preset asan. The
others stand in units of their own. After headers that a header includes by itself, it compiles if and only if
it compiles alone. So one unit can include a whole chain, each link of which includes those before it. The
least number of chains that cover all headers is their number less a maximum matching of header to included
header (Dilworth; Fulkerson 1956).

usage: chains.py ROOT FOLDER: writes FOLDER/N.cpp and FOLDER/N.cu, and prints their paths, separated by ';'.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("include", "harness", "kernels", "benchmarks")
INCLUDED_FROM = ("", "include/", "include/facade/")  # the compiler's -I, from the root
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
UNIT = {".hpp": ".cpp", ".cuh": ".cu"}  # a chain is of one kind: nvcc compiles the other

Includes = dict[str, set[str]]


def read_includes(root: Path) -> Includes:
    """Of each header, those that it names, by their paths from `root`."""
    texts = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for kind in UNIT
        for path in sorted((root / folder).rglob(f"*{kind}"))
    }

    def named(text: str) -> set[str]:
        return {start + name for name in INCLUDE.findall(text) for start in INCLUDED_FROM} & texts.keys()

    return {header: named(text) for header, text in texts.items()}


def with_indirect(includes: Includes) -> Includes:
    def all_of(header: str, found: set[str]) -> set[str]:
        for named in includes[header] - found:
            found.add(named)
            all_of(named, found)
        return found

    return {header: all_of(header, set()) for header in includes}


def first_of_a_source(root: Path) -> set[str]:
    """What .cpp files include before all else, by its path from `root`."""
    first = set()
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.cpp"):
            if found := INCLUDE.search(path.read_text(encoding="utf-8")):
                first |= {start + found[1] for start in INCLUDED_FROM}
    return first


def without(includes: Includes, shown: set[str]) -> Includes:
    return {header: named - shown for header, named in includes.items() if header not in shown}


def chains(includes: Includes) -> list[list[str]]:
    """As few as can be; each header includes all that stand before it in its chain."""
    after: dict[str, str] = {}  # of an included header, the one that follows it

    def follows_one(header: str, tried: set[str]) -> bool:
        for named in sorted(includes[header]):
            if named in tried or Path(named).suffix != Path(header).suffix:
                continue
            tried.add(named)
            if named not in after or follows_one(after[named], tried):
                after[named] = header
                return True
        return False

    for header in sorted(includes):
        follows_one(header, set())
    found = []
    for header in sorted(set(includes) - set(after.values())):
        chain = [header]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        found.append(chain)
    return found


def main(root: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    units = []
    left = without(with_indirect(read_includes(root)), first_of_a_source(root))
    for number, chain in enumerate(chains(left)):
        unit = folder / f"{number}{UNIT[Path(chain[0]).suffix]}"
        text = "".join(f'#include "{header}"\n' for header in chain)
        if not unit.exists() or unit.read_text(encoding="utf-8") != text:
            unit.write_text(text, encoding="utf-8")
        units.append(str(unit))
    print(";".join(units), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
