# SPDX-License-Identifier: Apache-2.0
"""Tables for `calc --batch`, of which some rows are no footprint: each is answered as one alone would be."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

from verdict import REFUSED, Fault, call, faults

ROWS = 10_000
ALONE = 5  # of them, asked again one by one
COLUMNS = ("device", "block_size", "registers_per_thread", "static_smem_bytes", "dynamic_smem_bytes")
DEVICES = ("h200", "h100", "a100", "v100", "b200", "l40s", "rtx5090", "cc8.6", "t4")
BAD = (
    *("", "-1", "x", "1e3", "99999999999999999999", "nan", "0x1", "=1", '"', '"a', 'a"b'),
    *("\x00", "\x1b", "é", "1,2", "\xff", "x" * 70_000, "٣"),
)


def row(dice: random.Random) -> str:
    cells = [
        dice.choice(DEVICES), str(dice.randrange(1, 1100)), str(dice.randrange(1, 260)),
        str(dice.choice((0, 0, dice.randrange(50_000)))), str(dice.choice((0, dice.randrange(240_000)))),
    ]  # fmt: skip
    if dice.random() < 0.05:
        cells[dice.randrange(len(cells))] = dice.choice(BAD)
    return ",".join(cells)


def trial(seed: int, cwd: Path, place: Path, occbench: Path) -> list[Fault]:
    dice = random.Random(seed)
    lines = [row(dice) for _ in range(ROWS)]
    text = "\n".join([",".join(COLUMNS), *lines]) + "\n"
    done = call([occbench, "calc", "--batch", "-"], input=text.encode("utf-8"))
    if found := faults(done, "batch", codes=frozenset({0})):
        return found
    table = done.out.decode(errors="replace")
    answers = list(csv.DictReader(io.StringIO(table, newline="")))
    if len(answers) != ROWS:
        return [Fault("lost rows", f"{len(answers)} answers to {ROWS} rows")]
    if silent := [n for n, answer in enumerate(answers) if not answer["status"]]:
        return [Fault("lost rows", f"no status: {lines[silent[0]]!r}")]
    found = []
    for n in dice.sample(range(ROWS), ALONE):
        cells = dict(zip(COLUMNS, lines[n].split(","), strict=False))
        if answers[n]["status"].startswith("invalid") or len(cells) != len(COLUMNS):
            continue
        names = ("--device", "--block-size", "--registers", "--static-smem", "--dynamic-smem")
        words = [w for name, column in zip(names, COLUMNS, strict=True) for w in (name, cells[column])]
        alone = call([occbench, "calc", *words, "--format", "csv"])
        one = list(csv.DictReader(io.StringIO(alone.out.decode())))
        for column in ("blocks_per_sm", "warps_per_sm", "occupancy", "limiters", "status"):
            if not one or one[0][column] != answers[n][column]:
                found.append(Fault("lost rows", f"{lines[n]}: {column} differs from calc's alone"))
    return found + cut_off(dice, occbench)


def cut_off(dice: random.Random, occbench: Path) -> list[Fault]:
    """A table that ends within its last row, before or behind the last cell's beginning."""
    rows = "\n".join([",".join(COLUMNS), *["h200,256,32,0,1024"] * dice.randrange(1, 9)])
    text = rows[: len(rows) - dice.randrange(18)]
    is_short = text.rsplit("\n", 1)[1].count(",") < len(COLUMNS) - 1
    done = call([occbench, "calc", "--batch", "-"], input=text.encode())
    label = f"batch, cut off at {text[-20:]!r}"
    found = faults(done, label, codes=REFUSED if is_short else frozenset({0}))
    answers = len(list(csv.DictReader(io.StringIO(done.out.decode()))))
    if answers != text.count("\n"):
        found.append(Fault("lost rows", f"{label}: {answers} answers"))
    return found
