# SPDX-License-Identifier: Apache-2.0
"""Which source lines hold the registers of a kernel: what `occbench inspect FILE --lines KERNEL` calls.

FILE is a cubin, fatbin, object, library or program; SYMBOL the kernel's mangled name; ROW its row of `inspect
--format json`. nvdisasm gives the live registers at each instruction, and its source line where the code was
built with -lineinfo.

Exit 0 answered, 2 invalid arguments, 4 FILE cannot be read, 5 no disassembler is here.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from occbench_tools.command import CommandError, entry, parser_of
from occbench_tools.inspect_lines.executed import read_executed
from occbench_tools.inspect_lines.listing import read_listing
from occbench_tools.inspect_lines.pressure import pressure_of
from occbench_tools.inspect_lines.show import as_json, as_text, changed_sources
from occbench_tools.lines import print_error, say
from occbench_tools.sass import Failure, Skip

NUMBER = (int, float)
FIELDS: dict[str, tuple[type, ...]] = {
    "kernel": (str,), "architecture": (str,), "registers_per_thread": (int,),
    "occupancy": (*NUMBER, type(None)), "gains_with": (str, type(None)),
    "gains_occupancy": (*NUMBER, type(None)), "block_size": (int, type(None)), "findings": (str, type(None)),
}  # fmt: skip


def row_of(text: str) -> dict[str, Any]:
    """The first row of `inspect --format json`. Raises argparse.ArgumentTypeError."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        rows = None
    row = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(row, dict) or not all(isinstance(row.get(name), kind) for name, kind in FIELDS.items()):
        raise argparse.ArgumentTypeError("is not a row of `inspect --format json`")
    if (row["gains_with"] is None) != (row["gains_occupancy"] is None):
        raise argparse.ArgumentTypeError("has gains_with or gains_occupancy alone")
    return row


def container(file: Path) -> Path:
    """The file that cuobjdump can open: 'libx.a' of 'libx.a(member.o)'."""
    return file if file.exists() else Path(re.sub(r"\([^()]*\)$", "", str(file)))


@entry("occbench")
def main(argv: list[str] | None = None) -> int:
    parser = parser_of(
        "inspect-lines", __doc__.splitlines()[0], "occbench inspect-lines app _Z4tilePf '[{...}]'"
    )
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("symbol", metavar="SYMBOL")
    parser.add_argument("row", metavar="ROW", type=row_of)
    parser.add_argument("--executed", metavar="CSV", type=Path, help="ncu's source page of launches")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args(argv)
    try:
        listing = read_listing(container(options.file), options.row["architecture"], options.symbol)
        pressure = pressure_of(listing, options.row)
        if options.executed:
            instructions = [step.instruction for step in listing.steps]
            pressure.executed = read_executed(options.executed, instructions)
    except Skip as error:
        raise CommandError(5, str(error)) from None
    except Failure as error:
        raise CommandError(4, str(error)) from None
    changed = changed_sources(listing, [container(options.file)])
    for warning in [*pressure.warnings, *[changed] * bool(changed)]:
        print_error("occbench", warning)
    say(*(as_json(pressure) if options.format == "json" else as_text(pressure)))
    return 0
