# SPDX-License-Identifier: Apache-2.0
"""What the sentences of all experiments share: how a number, a value of a dial and a curve are worded."""

from __future__ import annotations

from numbers import Real

import pandas as pd

from occbench_tools.analysis import many
from occbench_tools.curves import Line
from occbench_tools.schema import columns_of_cases

ABSENT = "not in this run"
NOTHING = 0.005  # a change below the precision of a case is none
LONGEST = 30  # words of a sentence
NEAR = 0.9  # of the best: good enough

# Values of columns in words; {}: the number.
VALUES = {name: column["words"] for name, column in columns_of_cases().items() if "words" in column}
FRACTIONS = {name for name, column in columns_of_cases().items() if column["unit"] == "fraction"}


def amount(column: str, value: object) -> str:
    """The number alone: '24', '75 KiB', '12.5 %', 'maxnreg'"""
    if not isinstance(value, Real):
        return str(value)
    if column in FRACTIONS:
        return f"{100 * value:.3g} %"
    if column.endswith("_bytes") or column.startswith("bytes_"):
        return in_bytes(value)
    return f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"


def in_bytes(value: float) -> str:
    """'16 B', '75.5 KiB', '1 GiB'"""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:g} B"


def at(column: str, value: object) -> str:
    """A value of a dial: '24 warps per SM', 'blocks of 128', 'register cap 32'"""
    said = VALUES.get(column, column.removeprefix("asked_").replace("_", " ") + " {}")
    words = said.format(amount(column, value))
    if said.startswith("{} ") and value == 1:  # '1 warps per SM'
        noun = words.split()[1]
        return words.replace(noun, noun.removesuffix("s"), 1)
    return words


def span_of(column: str, low: object, high: object) -> str:
    """'31 to 33 registers', 'blocks of 64 to 96', '32 to 48 KiB of shared memory per block'"""
    ends = [amount(column, end) for end in (low, high)]
    unit = ends[1].lstrip("0123456789.,")
    return at(column, high).replace(
        ends[1], f"{ends[0].removesuffix(unit) if unit else ends[0]} to {ends[1]}"
    )


def name_of(line: Line, told: Line | None = None) -> str:
    """'`load`, maxnreg, blocks of 512'; without what it shares with the line `told` of the same curve."""
    shown = [
        (column, value) for column, value in line.parts.items()
        if column != "form" and (column, value) != ("register_route", "free")
    ]  # fmt: skip
    if told is not None and told.curve == line.curve:
        shown = [part for part in shown if part not in told.parts.items()] or shown
    parts = ", ".join(at(column, value) for column, value in shown)
    return f"`{line.curve}`" + f" ({parts})" * bool(parts)


def speed(row: pd.Series, unit: bool = True) -> str:
    """'4,418 GB/s', '65.8 TFLOP/s'"""
    return f"{row['rate']:,.{0 if row['rate'] >= 100 else 1}f}" + (f" {row['unit']}" if unit else "")


def warps_of(count: float, full: float) -> str:
    """'31 warps (49 % occupancy)', of an SM that holds `full`"""
    return f"{count:.0f} warps ({100 * count / full:.0f} % occupancy)"


def occupancy(row: pd.Series) -> str:
    """'12.5 % occupancy'"""
    return f"{100 * row['occupancy_theoretical']:.3g} % occupancy"


def span(values: pd.Series) -> str:
    """'189 to 190', or '209'"""
    low, high = f"{values.min():,.0f}", f"{values.max():,.0f}"
    return f"{low} to {high}" if low != high else low


def cost(after: float, before: float) -> str:
    """What a throughput that went from `before` to `after` says."""
    loss = 1 - after / before
    if abs(loss) < NOTHING:
        return "costs nothing"
    return f"costs {100 * loss:.1f} %" if loss > 0 else f"gains {-100 * loss:.1f} %"


def change(after: float, before: float) -> str:
    """'-68.1 %', '+2.8 %' or 'no change'"""
    share = after / before - 1
    return f"{100 * share:+.1f} %" if abs(share) >= NOTHING else "no change"


def listed(words: list[str]) -> str:
    """'a', 'a and b', 'a, b and c'"""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def within(*parts: str) -> str:
    """The parts in a row, as many as make a sentence of at most LONGEST words; the first in any case."""
    words = parts[0]
    for part in parts[1:]:
        words += part * (len(f"{words}{part}".split()) <= LONGEST)
    return words


def several(count: int, thing: str) -> str:
    """'one case', '12 cases'"""
    return f"one {thing}" if count == 1 else many(count, thing)
