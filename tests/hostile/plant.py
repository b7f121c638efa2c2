# SPDX-License-Identifier: Apache-2.0
"""Does the hunt find what it looks for? Plants a fault at a time in a copy of the tree, and hunts there.

usage: python -P tests/hostile/plant.py [--only NAME] [--program PATH] [--trials N] [--without-compiler]
                                        [--tree DIR] [--preset NAME]

Prints which seed found each fault. Faults of the tools are planted beside the program as it is ($OCCBENCH,
--program); those of the program are compiled in build/planted/tree, or in --tree, another clone, which loses
its changes. Not part of tools/test. Exit code 1 if one was not found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TOOLS = "tools/occbench_tools"


class Plant(NamedTuple):
    """A fault: in `file` each `old`, which stands there once, becomes `new`."""

    name: str
    kind: str  # of the hunt, which finds it
    file: str
    changes: tuple[tuple[str, str], ...]
    seed: int = 1  # the first, of the short form


PLANTS = (
    Plant("a walk that swallows errors", "fleet", f"{TOOLS}/untrusted_files.py",
          (("onerror=lambda error: unread.append(reason(top, error))", "onerror=None"),)),
    Plant("a cut taken for the end", "folders", f"{TOOLS}/untrusted_files.py",
          (("if first is None and not is_whole:", "if False:"),)),
    Plant("an unbounded name", "folders", f"{TOOLS}/folder.py",
          (("f\"{cell!s:.60}\"", "str(cell)"),), seed=10),
    Plant("a size that is believed", "folders", f"{TOOLS}/untrusted_files.py",
          (("os.lseek(file.fileno(), 0, os.SEEK_HOLE) < status.st_size", "False"),
           ('if b"\\0" in text:', "if False:"))),
    Plant("a field of another type", "fleet", f"{TOOLS}/schema.py",
          (("field_violations(env, fields, types_only=True)", "field_violations(env, [])"),)),
    Plant("a control character passed on", "folders", f"{TOOLS}/lines.py",
          (("{printable(' '.join(str(words).split()))}", "{' '.join(str(words).split())}"),)),
    Plant("a wrong exit code", "fleet", "tools/occbench_fleet/__init__.py",
          (("return 4 if found.unread else int(not found.passed)", "return int(bool(found.odd))"),)),
    Plant("a lost signal", "kills", "benchmarks/commands/run/measurement.cpp",
          (("for (const int number : {SIGINT, SIGTERM, SIGHUP})", "for (const int number : {SIGINT})"),)),
    Plant("a late driver call in an exit path", "attach", "harness/attach/preload/attached.cpp",
          (("|| is_within || !launches->process().is_caller() || may_be_in_handler(how)",
           "|| static_cast<int>(how) < 0"),)),
    Plant("a row lost at a kill", "kills", "harness/record/record.cpp",
          (('append_whole(cases_, csv::format(case_fields(result)), folder_.path() / "cases.csv", '
            "rows_are_kept);",
            "static int rows = 0;\n  if (++rows % 50 != 0)\n    append_whole(cases_, "
            'csv::format(case_fields(result)), folder_.path() / "cases.csv", rows_are_kept);'),)),
    Plant("an unguarded map", "binaries", "harness/binary/byte_source.cpp",
          (("#include <unistd.h>", "#include <sys/mman.h>\n#include <unistd.h>"),
           ("const std::span<std::byte> bytes = buffer.get(size);",
            "const std::span<std::byte> bytes = buffer.get(size);\n"
            "  void* const map = mmap(nullptr, begin_ + at + size, PROT_READ, MAP_SHARED, file_, 0);\n"
            "  std::memcpy(bytes.data(), static_cast<const char*>(map) + begin_ + at, size);\n"
            "  munmap(map, begin_ + at + size);\n  if (size > 0) return bytes;"))),
    Plant("a lock not taken", "races", "harness/io/files.cpp",
          (("is_locked_ = fcntl(lock_.get(), F_OFD_SETLK, &whole) == 0;",
            "is_locked_ = fcntl(lock_.get(), F_OFD_SETLK, &whole) <= 0;"),)),
    Plant("half a kernel left out", "binaries", "harness/binary/reading.cpp",
          (("refuse_incomplete(ptxas.incomplete_kernel(), source);", ""),)),
)  # fmt: skip


def copied(tree: Path) -> None:
    """The tracked files as they are now, and builds that are there already."""
    tree.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        source, target = ROOT / name, tree / name
        if not target.exists() or target.is_symlink() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target, follow_symlinks=False)


def built(tree: Path, preset: str) -> Path:
    """Compiles the tree's program and what the hunt calls besides. Raises CalledProcessError."""
    script = (
        f"source tools/lib.sh; export CXX=${{CXX:-c++}}; cmake --preset {preset} && "
        f"cmake --build build/{preset} --parallel "
        "--target occbench occbench_attach_library attach_linked attach_handlers"
    )
    subprocess.run(["bash", "-c", script], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return tree / f"build/{preset}/benchmarks/occbench"


def hunted(tree: Path, fault: Plant, trials: int, program: Path) -> dict[int, str]:
    """The seeds with which the hunt of the tree finds something, and the first that it says of each."""
    words = [sys.executable, "-P", "tests/hostile/run.py", "--only", fault.kind, "--seed", str(fault.seed)]
    done = subprocess.run(
        [*words, "--count", str(trials)], cwd=tree, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"OCCBENCH": str(program)},
    )  # fmt: skip
    found: dict[int, str] = {}
    for said, seed in re.findall(
        r"^((?!skipped)[a-z ]+: (?:.|\n(?!  again))*)\n  again: .* --seed (\d+)$", done.stdout, re.M
    ):
        found.setdefault(int(seed), said)
    return dict(sorted(found.items()))


def plant(tree: Path, fault: Plant) -> None:
    """Raises ValueError where the code is no longer as the plant has it."""
    file = tree / fault.file
    text = file.read_text()
    for old, new in fault.changes:
        if text.count(old) != 1:
            raise ValueError(f"{fault.name}: {fault.file} has {text.count(old)} times: {old}")
        text = text.replace(old, new)
    file.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", help="faults with this in their name")
    parser.add_argument("--program", type=Path, default=os.environ.get("OCCBENCH"))
    parser.add_argument("--trials", type=int, default=12, help="of the short form at most (default: 12)")
    parser.add_argument("--without-compiler", action="store_true", help="faults of the tools alone")
    parser.add_argument("--tree", type=Path, default=ROOT / "build/planted/tree")
    parser.add_argument("--preset", default="ci", help="that compiled faults are built with (default: ci)")
    options = parser.parse_args()
    program = Path(options.program or ROOT / "build/ci/benchmarks/occbench").resolve()
    missed = 0
    for fault in PLANTS:
        is_compiled = fault.file.endswith((".cpp", ".hpp"))
        if (options.only and options.only not in fault.name) or (is_compiled and options.without_compiler):
            continue
        begun = time.monotonic()
        copied(options.tree)
        without = hunted(options.tree, fault, options.trials, program)
        plant(options.tree, fault)
        its = built(options.tree, options.preset) if is_compiled else program
        found = hunted(options.tree, fault, options.trials, its)
        new = [seed for seed in found if seed not in without]
        missed += not new
        what = f"seed {new[0]}, {len(new)} of {options.trials}" if new else "NOT FOUND"
        also = f", {len(without)} fail without it" if without else ""
        print(f"{fault.name}: {fault.kind}, {what}{also}, {time.monotonic() - begun:.0f} s", flush=True)
        print(f"  {found[new[0]][:160]!r}" if new else "", flush=True)
    copied(options.tree)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
