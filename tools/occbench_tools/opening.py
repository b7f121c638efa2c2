# SPDX-License-Identifier: Apache-2.0
"""The opening of report and compare: throughput over theoretical occupancy of two kernels of latency_hiding.

Memory bounds one of them and arithmetic the other, so that the two curves show when occupancy matters.
"""

import pandas as pd

EXPERIMENT = "latency_hiding"
KERNELS = {"read-f32-4B-ilp1": "loads of 4 bytes", "two-operand-ilp1": "a chain of FMAs"}
NEAR_BEST = 0.9


def curves(cases: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of both kernels in the order of occupancy, by their names; none where one has no curve."""
    rows = cases[cases["experiment"] == EXPERIMENT].sort_values("occupancy_theoretical")
    found = {words: rows[rows["variant"] == variant] for variant, words in KERNELS.items()}
    return found if all(len(line) > 1 for line in found.values()) else {}


def least_occupancy(line: pd.DataFrame) -> str:
    """'62.5 %': the least theoretical occupancy that reaches NEAR_BEST of the curve's best throughput."""
    enough = line[line["throughput"] >= NEAR_BEST * line["throughput"].max()]
    return f"{100 * enough['occupancy_theoretical'].min():.3g} %"
