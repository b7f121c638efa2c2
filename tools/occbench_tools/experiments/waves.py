# SPDX-License-Identifier: Apache-2.0
"""Experiment waves: grids that are no whole number of waves, and a block's turnover."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import many, sawtooth, tooth, turnover
from occbench_tools.explain.phrases import span


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """How far the time is from whole waves, and what a block's turnover takes."""
    for blocks, part in sawtooth(rows).groupby("blocks_per_sm"):
        if blocks == 1:
            worst = part.loc[part["off"].abs().idxmax()]
            yield (
                f"with 1 block per SM a partial wave takes a whole one's time, within "
                f"{100 * abs(worst['off']):.1f} % ({worst['waves']:.2f} waves)"
            )
        elif len(teeth := 100 * tooth(part)):
            yield (
                f"with {blocks:g} blocks per SM one block beyond whole waves costs {span(teeth)} % of a "
                "wave: it runs alone"
            )
    turns = turnover(rows)
    for blocks, part in turns[turns["sure"]].sort_values("block_us").groupby("blocks_per_sm"):
        row = part.iloc[0]
        what = "the turnover from block to block takes" if blocks == 1 else "each further wave takes"
        yield (
            f"{what} {row['cycles']:.0f} cycles at {many(blocks, 'block')} per SM of {row['block_us']:g} us "
            f"(95 % interval {row['low']:.0f} to {row['high']:.0f})"
        )
    if len(turns) and not turns["sure"].any():
        yield "turnover from block to block: too few blocks to tell"
