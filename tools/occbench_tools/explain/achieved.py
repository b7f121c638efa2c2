# SPDX-License-Identifier: Apache-2.0
"""Sentences on achieved occupancy over all experiments: how much a launch loses, and to what."""

from collections.abc import Iterator

import pandas as pd

# Losses of theoretical occupancy, by column, and their names in a sentence.
LOSSES = {
    "lost_to_unused_places": "places never used",
    "lost_to_ramp": "the ramp",
    "lost_to_turnover": "turnover",
    "lost_to_tail": "the tail",
    "lost_to_imbalance": "imbalance",
}
POINTS = 0.02  # of occupancy: how far two ways to count it may differ


def occupancy_clauses(cases: pd.DataFrame) -> Iterator[str]:
    """Clauses on the valid rows of a whole run; none where its blocks did not record their SMs."""
    columns = ["occupancy_resident", "occupancy_launch", *LOSSES]
    if not set(columns) <= set(cases):
        return
    rows = cases.dropna(subset=columns)
    if rows.empty:
        return
    gap = (rows["occupancy_theoretical"] - rows["occupancy_launch"]).mean()
    yield (
        f"{100 * gap:.1f} points of occupancy are lost between theory and the launch, in the mean of "
        f"{len(rows):,} cases"
    )
    parts = sorted(((rows[column].mean(), name) for column, name in LOSSES.items()), reverse=True)
    yield "they go to " + ", ".join(f"{name} ({100 * lost:.1f})" for lost, name in parts)
    both = rows.dropna(subset=["occupancy_achieved"])
    if both.empty:
        return
    difference = (both["occupancy_resident"] - both["occupancy_achieved"]).abs()
    within = int((difference <= POINTS).sum())
    worst = both.loc[difference.idxmax()]
    yield (
        f"block records and the hardware counter agree within {100 * POINTS:.0f} points in {within:,} of "
        f"{len(both):,} cases ({100 * within / len(both):.1f} %), in the median within "
        f"{100 * difference.median():.2f}"
    )
    yield (
        f"they are furthest apart in `{worst['case_id']}`: {100 * worst['occupancy_resident']:.0f} % by "
        f"records, {100 * worst['occupancy_achieved']:.0f} % by the counter"
    )
