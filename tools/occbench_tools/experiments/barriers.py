# SPDX-License-Identifier: Apache-2.0
"""Experiment barriers: what a barrier id known only at run time costs, and a barrier's own cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, meetings
from occbench_tools.explain.phrases import cost


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """Uneven work, the cliff of 16 reserved barriers, and a barrier's cycles in small and large blocks."""
    rows = meetings(rows)
    uneven = rows[(rows["form"] == "exchange-uneven") & rows["ratio"].notna()]
    if len(uneven):
        top = best(uneven, "ratio")
        yield (
            f"barriers after uneven work cost up to {100 * (top['ratio'] - 1):.0f} % "
            f"({top['warps_per_sm']:.0f} warps per SM in blocks of {top['block_size']:,.0f})"
        )
    fixed, named = (rows[rows["form"] == form] for form in ("exchange", "named-runtime"))
    if sizes := set(fixed["block_size"]) & set(named["block_size"]):
        before, after = (
            best(part[part["block_size"] == min(sizes)], "blocks_per_sm") for part in (fixed, named)
        )
        yield (
            f"a barrier id known only at run time takes resident blocks of {min(sizes):.0f} threads from "
            f"{before['blocks_per_sm']:.0f} to {after['blocks_per_sm']:.0f} per SM: "
            f"{before['rate'] / after['rate']:.1f} x slower"
        )
    sync = rows[rows["form"] == "sync"]
    sync = sync[
        (sync["warps_per_sm"] == sync["warps_per_sm"].max()) & (sync["variant"] == sync["variant"].min())
    ]
    if len(sync):
        low, high = (sync.loc[pick(sync["block_size"])] for pick in (pd.Series.idxmin, pd.Series.idxmax))
        yield (
            f"with {high['warps_per_sm']:.0f} warps per SM a round of `{high['variant']}` takes "
            f"{low['cycles_per_round']:.0f} cycles in blocks of {low['block_size']:,.0f}, "
            f"{high['cycles_per_round']:.0f} in blocks of {high['block_size']:,.0f}"
        )
    equal = fixed.merge(named, on=["family", "block_size", "blocks_per_sm"], suffixes=("", "_named"))
    if len(equal):
        row = equal.iloc[0]
        yield (
            f"at equal residency, {row['blocks_per_sm']:.0f} blocks of {row['block_size']:.0f}, the code of "
            f"such a barrier alone {cost(row['rate_named'], row['rate'])}"
        )
