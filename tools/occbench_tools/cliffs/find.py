# SPDX-License-Identifier: Apache-2.0
"""The cliffs of a run's sweeps, as the program finds and words them (benchmarks/report/findings/cliffs)."""

from typing import Any

import pandas as pd

from occbench_tools.explain.program import ask_program

COLUMNS = [
    "experiment", "family", "kernel", "sweep", "dial", "from_value", "to_value", "from_case_id",
    "to_case_id", "cause", "predicted", "blocks_from", "blocks_to", "drop", "drop_low", "drop_high",
    "p_value", "verdict", "note",
]  # fmt: skip
WORDS = "drop_words"  # the drop and its interval for people
# Of an absent cliff: whether its note has a reason, and whether the change contradicts theory.
REASONS = ("explained", "against_theory")
EXTRA = [WORDS, *REASONS]  # not in cliffs.csv
BOOLEANS = {"predicted", *REASONS}
TEXT = {"experiment", "family", "kernel", "sweep", "dial", "from_case_id", "to_case_id", "cause", "verdict",
        "note", WORDS}  # fmt: skip


def find_cliffs(
    cases: pd.DataFrame, env: dict[str, Any], samples: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The program's cliffs of these valid rows: a row per cliff, with COLUMNS and EXTRA.

    from and to are neighbours on a sweep's dial, from_value the smaller. drop is 1 - throughput(to) /
    throughput(from), negative for a gain, with its 95 % interval; of an unpredicted cliff it is the step
    beyond the trend on both sides. p_value: of no difference (predicted; by Mann-Whitney where `samples`,
    samples.csv, are given), or of noise alone making such a step anywhere in the sweep (unpredicted).
    verdict: confirmed (as theory says, beyond noise), absent (the effect that theory names is below 1 % over
    its whole interval), unclear (neither), unpredicted. A modelled run has no intervals. Raises CommandError,
    ValueError.
    """
    return table_of(ask_program(cases, env, samples))


def table_of(document: dict[str, Any]) -> pd.DataFrame:
    """The cliffs of findings.json, which is as results/schema.json says."""
    cliffs = document.get("cliffs", [])
    names = [*COLUMNS, *EXTRA]
    table = pd.DataFrame([[row[name] for name in names] for row in cliffs], columns=names)
    numbers = dict.fromkeys((name for name in COLUMNS if name not in TEXT | BOOLEANS), float)
    blocks = [name for name in ("blocks_from", "blocks_to") if table[name].notna().all()]
    return table.astype(numbers | dict.fromkeys(blocks, "int64"))
