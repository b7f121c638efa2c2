# SPDX-License-Identifier: Apache-2.0
"""The verdicts of kernels.csv, in the words of harness/attach/analysis/verdict.cpp."""

from __future__ import annotations

NEEDS, LITTLE, SATURATED = "needs occupancy", "small gain", "saturated"
LOWER, L1, WAVES, UNKNOWN, SKIPPED = "faster at lower occupancy", "needs L1", "waves", "unknown", "skipped"
JUDGED = (NEEDS, LITTLE, SATURATED, LOWER, L1, WAVES)
RETIRED = {"helps little": LITTLE, "faster lower": LOWER, "left alone": SKIPPED}  # of schema 6


def current(verdict: str) -> str:
    """The verdict in the words of today, where a folder has retired ones."""
    return RETIRED.get(verdict, verdict)
