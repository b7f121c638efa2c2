# SPDX-License-Identifier: Apache-2.0
"""occbench audit: does the built machine code run what each kernel variant declares?

`occbench list --variants --format json` names every variant, its kernel and the instructions that one
iteration of its hot loop must hold; the disassembled kernel shows what it does hold. Needs no GPU. With
--describe it also writes the description of each kernel that the model reads; with --described it says where
that is stale, and disassembles nothing when code, declarations and descriptions are those that were audited
when they were written.
Exit 0 all agree, 1 some do not, 2 invalid arguments, 77 (a skipped test) without a disassembler or without
machine code for the architecture.
"""

import argparse
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from occbench_tools import describe, descriptions, repeats, sass
from occbench_tools.command import CommandError, entry, occbench, parser_of
from occbench_tools.escape import printable
from occbench_tools.lines import write_whole
from occbench_tools.sass import INTEGER, LOCAL, Failure, Instruction, Skip, loops, spell

SKIPPED = 77

# What the declared counts are of. Another architecture's compiler may rotate and select otherwise, and spill.
DECLARED = "sm_90"

SHARED = {"LDS.32", "STS.32"}  # where spills go that the compiler was asked to keep in shared memory


def audit(
    code: list[Instruction],
    declared: dict[str, int],
    spilled: set[str],
    hot_loops: int = 1,
    uncounted: Set[str] = frozenset(),
) -> tuple[Counter[str], Counter[str]]:
    """The counts of the hot loops, `spilled` classes included, and those of the loops around them.

    Hot is a loop with audited instructions that has no other such loop in it. Raises Failure when there are
    not `hot_loops` of them, or when their sum is not as declared. What stands around them is not judged, nor
    are the classes by which the compiler may spill; `uncounted` classes make a loop hot, in any number.
    """
    free = spilled | (INTEGER - declared.keys())
    found = loops(code)
    for loop in found:
        for name in INTEGER - declared.keys():
            del loop.counts[name]
    busy = [loop for loop in found if loop.counts.keys() - free]
    hot = [loop for loop in busy if not any(o is not loop and o.header in loop.body for o in busy)]
    if not hot and declared:
        raise Failure("no loop has an audited instruction")
    if hot and len(hot) != hot_loops:
        where = ", ".join(map(str, hot))
        raise Failure(f"{len(hot)} innermost loops hold audited instructions, not {hot_loops}: {where}")
    counts = sum((loop.counts for loop in hot), Counter())
    names = sorted((declared.keys() | counts.keys()) - free - uncounted)
    wrong = [f"{n} {counts[n]}, not {declared.get(n, 0)}" for n in names if counts[n] != declared.get(n, 0)]
    if wrong:
        where = ", ".join(f"{loop.header:#x}" for loop in hot)
        raise Failure(f"the loop at {where} holds {'; '.join(wrong)}")
    return counts, sum((loop.counts for loop in busy if loop not in hot), Counter())


def is_for(variant: dict[str, Any], arch: str) -> bool:
    """Whether it runs on this architecture: all others have it as an empty kernel."""
    cc = int(re.sub(r"\D", "", arch) or 0)
    least = variant["min_cc"]
    return cc == least if variant["only_this_cc"] else cc >= least


def list_variants(binary: Path) -> dict[str, Any]:
    """What the executable declares: variants, and the toolkit that built it.

    Raises OSError, CalledProcessError or ValueError.
    """
    command = [str(binary), "list", "--variants", "--format", "json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


@dataclass
class Built:
    """An executable for one architecture: what it declares, and what of it is known without disassembling."""

    binary: Path
    arch: str
    toolkit: str
    variants: list[dict[str, Any]]
    names: dict[int, list[str]]  # of its functions, by offset
    attributes: dict[str, describe.Attributes]  # by kernel; empty where nothing is described

    @property
    def summary(self) -> str:
        """'audited 1,400 variants of 40 families: '"""
        families = {variant["family"] for variant in self.variants}
        return f"audited {len(self.variants)} variants of {len(families)} families: "

    def kernels(self) -> list[str]:
        """Names of the variants' kernels, of those that are known."""
        codes = {name: each.code for name, each in self.attributes.items()}
        found = []
        for variant in self.variants:
            with suppress(Failure):
                found.append(sass.kernel_name(variant["entry_offset"], self.names, codes, self.arch))
        return found

    def evidence(self, folder: Path) -> str:
        """A hash of all that audit and description of these variants depend on: what they declare, their
        machine code, this program, and the descriptions in FOLDER of ARCH and of DECLARED. Empty when a
        variant's kernel is not known."""
        digest = sha256()
        for module in (__file__, describe.__file__, descriptions.__file__, repeats.__file__, sass.__file__):
            digest.update(Path(module).read_bytes())
        kernels = self.kernels()
        if len(kernels) < len(self.variants):
            return ""
        for variant, kernel in zip(self.variants, kernels, strict=True):
            declared = {name: value for name, value in variant.items() if name != "entry_offset"}
            digest.update(f"{json.dumps(declared, sort_keys=True)} {self.attributes[kernel]}\n".encode())
        for file in (*descriptions.files(folder / self.arch), *descriptions.files(folder / DECLARED)):
            digest.update(descriptions.family_of(file).encode() + descriptions.content(file))
        return digest.hexdigest()


def open_binary(binary: Path, options: argparse.Namespace) -> Built:
    """What `binary` declares of the families that are asked for.

    Raises Skip, OSError, CalledProcessError, ValueError or KeyError.
    """
    listing = list_variants(binary)
    families = set(options.family or (variant["family"] for variant in listing["variants"]))
    variants = [v for v in listing["variants"] if v["family"] in families and is_for(v, options.arch)]
    is_described = options.describe or options.described
    attributes = describe.attributes(binary, options.arch) if is_described else {}
    names = sass.symbols(binary)
    return Built(binary, options.arch, listing["cuda_toolkit"], variants, names, attributes)


def recorded_proof(folder: Path, arch: str) -> str:
    """The evidence that was written with the descriptions; empty when there is none."""
    try:
        return (folder / f"{arch}.audited").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The arguments. Raises SystemExit(2) on invalid ones."""
    parser = parser_of(
        "audit",
        "Compare the built machine code with what each variant declares.",
        "occbench audit --binary build/ci/benchmarks/occbench",
    )
    parser.add_argument(
        "--binary",
        metavar="PATH",
        type=Path,
        default=occbench(),
        help="an unstripped occbench (default: $OCCBENCH, on the PATH, or built here)",
    )
    parser.add_argument("--arch", default=DECLARED, help="architecture to audit (%(default)s)")
    parser.add_argument(
        "--describe",
        type=Path,
        metavar="FOLDER",
        help="write a description of each kernel for the model to FOLDER/ARCH, a file per family",
    )
    parser.add_argument(
        "--described", type=Path, metavar="FOLDER", help="fail unless FOLDER/ARCH has these descriptions"
    )
    parser.add_argument("--family", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts to FILE")
    parser.add_argument("--verbose", action="store_true", help="a line for every variant")
    return parser.parse_args(arguments)


def audit_all(
    built: Built, functions: dict[str, list[Instruction]], options: argparse.Namespace
) -> tuple[list[dict[str, Any]], descriptions.Descriptions]:
    """Audits and describes every variant, and prints failures. Returns a record of each, and descriptions."""
    records: list[dict[str, Any]] = []
    described: descriptions.Descriptions = {}
    folder = options.describe or options.described
    is_reference = not built.attributes or built.arch == DECLARED
    reference = {} if is_reference else descriptions.read_all(folder / DECLARED)
    for variant in built.variants:
        name = f"{variant['family']}/{variant['variant']}"
        counts, around, failure = Counter(), Counter(), None
        try:
            kernel = sass.kernel_name(variant["entry_offset"], built.names, functions, built.arch)
            counts, around = audit_variant(variant, functions[kernel], built.arch)
        except Failure as why:
            failure = str(why)
        records.append({**variant, "counts": counts, "counts_around": around, "failure": failure})
        if failure:
            print(printable(f"FAIL {name}: {failure}"))
            continue
        if options.verbose:
            more = f"; around it: {spell(around)}" if around else ""
            print(printable(f"ok   {name}: {spell(counts)}{more}"))
        if built.attributes and variant.get("predicted", True):
            try:
                lines = describe.describe(variant, functions[kernel], built.attributes.get(kernel))
                if name in reference:
                    descriptions.same_work(lines, reference[name])
                described[name] = lines
            except Failure as why:
                print(printable(f"not described: {name}: {why}"))
    return records, described


def audit_variant(
    variant: dict[str, Any], code: list[Instruction], arch: str
) -> tuple[Counter[str], Counter[str]]:
    """audit() of one variant by what it declares. Raises Failure."""
    spilled = LOCAL - variant["instructions"].keys() if variant["may_spill"] else set()
    if variant["spills_to_shared"]:
        spilled = spilled | SHARED
    uncounted = set() if arch == DECLARED else INTEGER | LOCAL
    return audit(code, variant["instructions"], spilled, variant["hot_loops"], uncounted)


def write_results(
    built: Built,
    records: list[dict[str, Any]],
    described: descriptions.Descriptions,
    options: argparse.Namespace,
) -> int:
    """Writes and compares what is asked for. Returns how many failures there are, those of `records` too."""
    failures = sum(bool(record["failure"]) for record in records)
    arch = built.arch
    try:
        if options.json:
            text = json.dumps({"arch": arch, "variants": records}, indent=1, sort_keys=True) + "\n"
            write_whole(options.json, text)
        if options.describe and failures:
            print(f"{printable(options.describe / arch)} is not written after these failures")
        elif options.describe:
            descriptions.write(options.describe, arch, described, built.toolkit)
            if not options.family:
                proof = built.evidence(options.describe)
                write_whole(options.describe / f"{arch}.audited", proof + "\n")
        if options.described:
            descriptions.compare(options.described, arch, described, built.toolkit, options.family)
    except Skip as why:
        print(printable(f"not compared: {why}"))
    except (Failure, OSError) as why:
        print(printable(f"FAIL {why}"))
        failures += 1
    return failures


@entry("occbench audit")
def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = parse_arguments(arguments)
    binary = options.binary and options.binary.resolve()
    if not binary or not os.access(binary, os.X_OK) or not binary.is_file():
        why = f"{options.binary or 'occbench'}: no such executable; build it, or name it with --binary"
        raise CommandError(2, why)
    try:
        built = open_binary(binary, options)
        if options.described and not (options.describe or options.json or options.verbose or options.family):
            proof = built.evidence(options.described)
            if proof and proof == recorded_proof(options.described, built.arch):
                print(f"{built.summary}0 failures, as {options.described / built.arch}.audited says")
                return 0
        functions = sass.disassemble(binary, built.arch, built.kernels() if options.family else ())
    except Skip as why:
        print(printable(f"occbench audit: skipped: {why}"))
        return SKIPPED
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        raise CommandError(1, f"{options.binary}: cannot be listed: {error}") from error
    failures = write_results(built, *audit_all(built, functions, options), options)
    print(f"{built.summary}{failures} failures")
    return 1 if failures else 0
