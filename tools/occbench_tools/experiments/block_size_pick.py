# SPDX-License-Identifier: Apache-2.0
"""Experiment block_size_pick: the block size that the occupancy API picks, against the fastest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best


def picks(rows: pd.DataFrame) -> pd.DataFrame:
    """Experiment block_size_pick: the API's block size, the best, and what the pick loses (fraction)."""
    found = []
    for (family, variant), line in rows.groupby(["family", "variant"]):
        picked = line[line["block_size"] == line["block_size_api"]]
        if len(picked):
            pick, top = best(picked), best(line)
            loss = 1 - pick["throughput"] / top["throughput"]
            found.append((family, variant, pick["block_size"], top["block_size"], loss))
    return pd.DataFrame(found, columns=["family", "variant", "pick", "best", "loss"])


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
