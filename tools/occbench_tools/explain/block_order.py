# SPDX-License-Identifier: Apache-2.0
"""Which SM got which block, and when: block_order.csv, recorded by docs/examples/block_order.cu."""

import bisect
import csv
import io
import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from occbench_tools.analysis import pluralize
from occbench_tools.escape import printable
from occbench_tools.screen import fill_lines
from occbench_tools.untrusted_files import read_untrusted

FILE = "block_order.csv"
WIDTH = 80
NAMED = "SM 1234 |"
SHOWN_SMS = 12  # rows of a picture in text, unless all are asked for
SHOWN_BLOCKS = 8
MOST = 1 << 48  # of a time in ns, a launch or a block: three days
MOST_SMS = 10_000


class Block(NamedTuple):
    """One block; times in ns since the first block of its launch began."""

    grid: str
    launch: int
    block: int
    sm: int
    begin_ns: int
    end_ns: int


def read_order(folder: Path) -> list[Block]:
    """The records. Raises OSError, and ValueError with the line that is damaged."""
    text = read_untrusted(folder / FILE).decode("utf-8")
    rows = csv.reader(io.StringIO(text))
    if next(rows, None) != list(Block._fields):
        raise ValueError(f"{FILE}: the columns are not {','.join(Block._fields)}")
    found = []
    for line, row in enumerate(rows, 2):
        try:
            name, *numbers = row
            block = Block(name, *(int(number) for number in numbers))
        except (TypeError, ValueError):
            raise ValueError(f"{FILE}: line {line} is not a block") from None
        in_range = all(0 <= number < MOST for number in block[1:]) and block.sm < MOST_SMS
        if not in_range or block.end_ns <= block.begin_ns:
            raise ValueError(f"{FILE}: line {line} has a number out of range")
        found.append(block)
    if not found:
        raise ValueError(f"{FILE}: no blocks")
    return found


def launches_of(blocks: list[Block]) -> dict[str, list[list[Block]]]:
    """The blocks of each launch by index, by grid."""
    found: dict[str, dict[int, list[Block]]] = {}
    for block in sorted(blocks, key=lambda each: each.block):
        found.setdefault(block.grid, {}).setdefault(block.launch, []).append(block)
    return {grid: [each[launch] for launch in sorted(each)] for grid, each in found.items()}


def by_sm(blocks: list[Block]) -> dict[int, list[Block]]:
    """The blocks of each SM, sorted by start."""
    found: dict[int, list[Block]] = {}
    for block in sorted(blocks, key=lambda each: (each.begin_ns, each.block)):
        found.setdefault(block.sm, []).append(block)
    return dict(sorted(found.items()))


def split_waves(blocks: list[Block]) -> tuple[list[Block], list[tuple[Block, Block]]]:
    """The first wave, and each later block with the last block of its SM that had ended by its start."""
    first, later = [], []
    for own in by_sm(blocks).values():
        by_end = sorted(own, key=lambda each: each.end_ns)
        ends = [block.end_ns for block in by_end]
        for block in own:
            if ended := bisect.bisect_right(ends, block.begin_ns):
                later.append((by_end[ended - 1], block))
            else:
                first.append(block)
    return first, later


def sentences(launches: list[list[Block]]) -> Iterator[str]:
    """What the launches of one grid show."""
    blocks = launches[0]
    first, later = split_waves(blocks)
    places = ", ".join(str(block.sm) for block in blocks[:SHOWN_BLOCKS])
    yield f"Blocks 0 to {min(len(blocks), SHOWN_BLOCKS) - 1} ran on the SMs {places}."
    sms = {block.sm for block in first}
    half = sorted(first, key=lambda each: each.block)[: (len(first) + 1) // 2]
    pairs = {block.sm // 2 for block in half}
    yield (
        f"The first wave of {len(first)} blocks took {len(sms)} SMs. Its first {len(half)} blocks by index "
        f"took {pluralize(len(pairs), 'pair')} of neighbouring SM numbers (usually a TPC)."
    )
    if later:
        wave_end = max(block.end_ns for block in first)
        early = sum(block.begin_ns < wave_end for _, block in later)
        gap = statistics.median(block.begin_ns - before.end_ns for before, block in later)
        yield (
            f"{early} of {len(later)} later blocks began before the first wave had ended. In the median they "
            f"began {gap:,.0f} ns after a block of their SM ended."
        )
    began = [block.begin_ns for block in blocks]
    ahead = sum(earlier > after for earlier, after in itertools.pairwise(began))
    yield f"{ahead} of {len(blocks) - 1} blocks began before the block of the index below."
    if len(launches) > 1:
        others = {block.block: block.sm for block in launches[1]}
        moved = sum(others.get(block.block) != block.sm for block in blocks)
        yield f"A second launch of the same grid put {moved} of {len(blocks)} blocks on another SM."
    yield "CUDA promises no order: this is what this GPU did, and a program must not rely on it."


def text_picture(blocks: list[Block], most: int | None) -> Iterator[str]:
    """SMs over time: a block is its index, then '-' to its end; `most` SMs, None: all."""
    room = WIDTH - len(NAMED) - 1
    end = max(max(block.end_ns for block in blocks), 1)
    rows = by_sm(blocks)
    for sm, own in list(rows.items())[:most]:
        line = [" "] * room
        for block in own:
            begin, stop = (min(at * room // end, room) for at in (block.begin_ns, block.end_ns))
            begin = min(begin, room - 1)
            drawn = f"{block.block}".ljust(max(stop - begin - 1, 1), "-")[: max(stop - begin - 1, 1)]
            line[begin : begin + len(drawn)] = drawn
        yield f"{f'SM {sm}':<{len(NAMED) - 1}}|{''.join(line)}|"
    scale = f"{end / 1e3:,.1f} us"
    yield " " * (len(NAMED) - 1) + "0" + scale.rjust(room)
    if most is not None and len(rows) > most:
        yield f"{len(rows) - most} more SMs: --all"


def order_text(folder: Path, *, everything: bool = False) -> str:
    """The page for a terminal. Raises as read_order()."""
    parts = []
    for grid, launches in launches_of(read_order(folder)).items():
        head = f"{printable(grid)}: {len(launches[0])} blocks, SMs over time"
        lines = (fill_lines(each, WIDTH, initial_indent="  ", subsequent_indent="    ")
                for each in sentences(launches))  # fmt: skip
        picture = text_picture(launches[0], None if everything else SHOWN_SMS)
        parts.append("\n".join([head, *picture, *lines]) + "\n")
    return "\n".join(parts)
