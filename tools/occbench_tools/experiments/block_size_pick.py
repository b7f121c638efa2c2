# SPDX-License-Identifier: Apache-2.0
"""Experiment block_size_pick: the block size that the occupancy API picks, against the fastest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, picks


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """For how many kernels the pick is good, and where it is worst."""
    found = picks(rows)
    if found.empty:
        return
    near, nearly = ((found["loss"] <= limit).sum() for limit in (0.01, 0.05))
    yield (
        f"the occupancy API's block size is within 5 % of the best for {nearly} of {len(found)} kernels, "
        f"within 1 % for {near}"
    )
    worst = best(found, "loss")
    if worst["loss"] > 0.01:
        yield (
            f"it loses most, {100 * worst['loss']:.1f} %, in {worst['family']} `{worst['variant']}`: it "
            f"picks {worst['pick']:,.0f} threads where {worst['best']:,.0f} are best"
        )
