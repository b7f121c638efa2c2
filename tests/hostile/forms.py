# SPDX-License-Identifier: Apache-2.0
"""Every form of input that tests/forms has, cut off anywhere or changed, before the command that reads it."""

from __future__ import annotations

import csv
import functools
import io
import json
import random
from pathlib import Path

import folders
from verdict import REFUSED, Done, Fault, call, faults

FORMS = folders.ROOT / "tests/forms"
CUTS = 2  # of a trial
PACKED = (".json", ".gz", ".sqlite", ".cubin", ".hatchet", ".chrome_trace")  # a part of one is refused


@functools.cache
def asked() -> list[tuple[Path, list[str]]]:
    """Each file, and the first call that reads it."""
    calls: dict[Path, list[str]] = {}
    for form in sorted(FORMS.glob("*/form.json")):
        for each in json.loads(form.read_text())["asked"]:
            for word in each["words"]:
                if (form.parent / word).is_file():
                    calls.setdefault(form.parent / word, each["words"])
    return sorted(calls.items())


def answered(occbench: Path, cwd: Path, file: Path, words: list[str], content: bytes) -> Done:
    (cwd / file.name).write_bytes(content)
    return call([occbench, *words, "--format", "csv"], cwd=cwd)


def kernels(done: Done) -> list[tuple[str | None, ...]]:
    rows = csv.DictReader(io.StringIO(done.out.decode(errors="replace")))
    return [tuple(row.get(name) for name in ("kernel", "launches", "registers_per_thread")) for row in rows]


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    dice = random.Random(seed)
    file, words = asked()[seed % len(asked())]
    whole = file.read_bytes()
    label = f"{words[0]} {file.parent.name}/{file.name}"
    found = []
    for _ in range(CUTS):
        end = dice.randrange(1, len(whole))
        cut = answered(occbench, cwd, file, words, whole[:end])
        # A part that ends with a line may be a whole file; one that ends within it holds as much, or says so.
        more = len(whole) if file.suffix in PACKED else (whole.find(b"\n", end - 1) + 1 or len(whole))
        line = answered(occbench, cwd, file, words, whole[:more])
        at = f"{label}, cut off at {end} of {len(whole)}, behind {whole[max(0, end - 30) : end]!r}"
        found += faults(cut, at, frozenset({0, 1, 2, 4}), one_line=True)
        if cut.code in (0, 1) and kernels(cut) != kernels(line) and cut.err == line.err:
            found.append(Fault("lost rows", f"{at}: {kernels(cut)} of {kernels(line)}"))
        if cut.code == 2 and line.code != 2 and file.suffix in PACKED:
            found.append(Fault("wrong exit code", f"{at}: 2, not {sorted(REFUSED)}"))
    changed = whole
    while changed == whole:
        changed = folders.mutated_bytes(whole, dice)
    done = answered(occbench, cwd, file, words, changed)
    return found + faults(done, f"{label}, changed", frozenset({0, 1, 2, 4}))
