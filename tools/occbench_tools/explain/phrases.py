# SPDX-License-Identifier: Apache-2.0
"""The text of a number and of a dial's value in legends, axes and pages."""

import re
from numbers import Real

from occbench_tools.schema import columns_of_cases

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
        return bytes_text(value)
    return f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}"


def bytes_text(value: float) -> str:
    """'16 B', '75.5 KiB', '1 GiB'"""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:g} B"


def value_text(column: str, value: object, pattern: str = "") -> str:
    """A value of a dial: '24 warps per SM', 'blocks of 128', 'register cap 32'; `pattern`: other words."""
    pattern = pattern or VALUES.get(column, column.removeprefix("asked_").replace("_", " ") + " {}")
    words = pattern.replace("{}", amount(column, value))  # not format(): `pattern` may come from a file
    if pattern.startswith("{} ") and value == 1:  # '1 warps per SM'
        noun = words.split()[1]
        return words.replace(noun, re.sub("ies$", "y", noun).removesuffix("s"), 1)
    return words
