# SPDX-License-Identifier: Apache-2.0
"""Experiment shared_latency: the latency of a load from shared memory, and the rate with bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from occbench_tools.analysis import best, cycles


def sentences(rows: pd.DataFrame, _: dict[str, Any]) -> Iterator[str]:
    """The rate with most lanes on one bank against its share by count, and the latency by two methods."""
    reads = rows[rows["form"] == "read"]
    lanes = reads["bank_conflict"].max()
    if lanes > 1:
        left = best(reads[reads["bank_conflict"] == lanes])["percent_of_ceiling"]
        yield (
            f"{lanes:g} lanes on one bank leave {left:.1f} % of the shared memory's rate; 1/{lanes:g} is "
            f"{100 / lanes:.1f}"
        )
    chain, timed = (cycles(rows[rows["form"] == form]).median() for form in ("chain", "timed"))
    if chain > 0:
        clock = f", {timed:.1f} by the clock around single ones" if timed > 0 else ""
        yield f"a load takes {chain:.1f} cycles by events{clock}"
