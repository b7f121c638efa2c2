# SPDX-License-Identifier: Apache-2.0
"""Where the programs and libraries below folders look for libraries: usage: runpath.py FOLDER...

An empty or relative entry is the folder that a user stands in, where anybody may have left a library.
One of a folder that is named here is gone with it. Exits with 1 after a line for each such entry.
"""

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

EXECUTABLE, SHARED = 2, 3  # e_type
LOAD, DYNAMIC = 1, 2  # p_type
STRTAB, RPATH, RUNPATH = 5, 15, 29  # d_tag


def entries(elf: bytes) -> list[str]:
    """Of DT_RPATH and DT_RUNPATH of a 64-bit little-endian program or library; none of another file."""
    if elf[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", elf, 16)[0] not in (EXECUTABLE, SHARED):
        return []
    (at,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(count)]
    found = []
    for _, _, offset, _, _, length in (h for h in headers if h[0] == DYNAMIC):
        tags = [struct.unpack_from("<qQ", elf, place) for place in range(offset, offset + length, 16)]
        strings = next((value for tag, value in tags if tag == STRTAB), 0)
        for kind, _, start, address, _, loaded in headers:
            if kind == LOAD and address <= strings < address + loaded:
                names = start + strings - address
                for place in (names + value for tag, value in tags if tag in (RPATH, RUNPATH)):
                    found += elf[place : elf.index(b"\0", place)].decode(errors="replace").split(":")
    return found


def faults(*folders: Path) -> Iterator[str]:
    """'build/occbench: looks for libraries in '': empty', for each entry that must not be."""
    own = [str(folder.resolve()) for folder in folders]
    programs = 0
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.suffix in (".o", ".a"):
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        programs += 1
        for entry in entries(path.read_bytes()):
            why = "empty" if not entry else "relative" if entry[0] not in "/$" else ""
            if entry.startswith("$") and not entry.startswith(("$ORIGIN", "${ORIGIN}")):
                why = "relative"
            if any(entry == folder or entry.startswith(folder + "/") for folder in own):
                why = "of the build folder"
            if why:
                yield f"{path}: looks for libraries in '{entry}': {why}"
    if not programs:
        yield f"no program in {', '.join(map(str, folders))}"


if __name__ == "__main__":
    said = list(faults(*map(Path, sys.argv[1:])))
    print("\n".join(said) or "no empty, relative or build-folder entry")
    sys.exit(bool(said))
