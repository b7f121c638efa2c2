# SPDX-License-Identifier: Apache-2.0
"""Experiment registers: the course text's cliff, from 31 registers per thread to 33 in blocks of 512."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best
from occbench_tools.explain.phrases import amount, at, change


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """What each kernel loses there, where it was measured."""
    capped = rows[(rows["register_route"] == "maxnreg") & (rows["block_size"] == 512)]
    said, ends = [], None
    for curve, line in capped.groupby("curve", sort=False):
        sides = [line[line["registers_per_thread"] == count] for count in (31, 33)]
        if all(map(len, sides)):
            ends = before, after = [best(side) for side in sides]
            said.append(
                (after["rate"] / before["rate"], f"{change(after['rate'], before['rate'])} for `{curve}`")
            )
    if ends:
        column = "occupancy_theoretical"
        span = f"{amount(column, ends[0][column])} to {at(column, ends[1][column])}"
        yield f"31 to 33 registers: {', '.join(words for _, words in sorted(said))} (blocks of 512, {span})"
