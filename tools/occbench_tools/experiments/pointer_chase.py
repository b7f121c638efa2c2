# SPDX-License-Identifier: Apache-2.0
"""Experiment pointer_chase: the latency of each level, and that of DRAM under load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, cycles
from occbench_tools.explain.phrases import span, speed

LEVELS = ("l1", "l2", "dram")


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Each level idle, DRAM under load, near and far lines of the L2, and how far two methods are apart."""
    rows = rows.assign(cycles=cycles(rows))
    idle = {level: rows.loc[rows["variant"] == level, "cycles_per_iteration"].median() for level in LEVELS}
    idle = {level: count for level, count in idle.items() if count > 0}
    if idle:
        said = [f"{count:.0f} cycles in {level.upper()}" for level, count in idle.items()]
        yield f"a dependent load takes {', '.join(said)}"
    loaded = rows[rows["form"] == "loaded"]
    if len(loaded) and "dram" in idle:
        top = best(loaded)
        yield (
            f"under {speed(top)} of other reads a load takes {top['cycles']:,.0f} cycles, "
            f"{top['cycles'] / idle['dram']:.1f} x an idle DRAM's"
        )
    lines = rows.loc[rows["form"] == "l2-line", "cycles"]
    if len(lines) >= 8:
        gap, width = lines.sort_values().diff().max(), lines.max() - lines.min()
        groups = "two groups, near and far" if gap > width / 2 else "no two groups"
        yield f"{len(lines)} lines of the L2 take {span(lines)} cycles: {groups} (widest gap {gap:.0f})"
    timed = rows[rows["form"] == "timed"].groupby("baseline")["cycles"].median()
    apart = [
        f"{100 * (timed[level] / idle[level] - 1):+.1f} % in {level.upper()}"
        for level in idle
        if level in timed
    ]
    if apart:
        yield f"the clock around single loads differs from events by {', '.join(apart)}"
