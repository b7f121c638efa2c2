# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.devices OLD NEW: leave-one-experiment-out validation of --predict-for.

By all columns of a row, and by ncu's alone.
"""

import sys
from pathlib import Path

import pandas as pd

from occbench_tools.compare.align import align
from occbench_tools.devices import features, predict, speedup
from occbench_tools.folder import read_folder
from occbench_tools.screen import align_columns

NEAR = 0.05


def line(name: str, found: pd.DataFrame) -> list[str]:
    shares = (found["error"] <= NEAR).mean(), found["covered"].mean(), 1 - found["known"].mean()
    errors = (f"{100 * value:.2f} %" for value in found["error"].quantile([0.5, 0.9]))
    return [name, f"{len(found):,}", *errors, *(f"{100 * share:.1f} %" for share in shares)]


def main() -> None:
    old, new = (read_folder(Path(folder), samples=False) for folder in sys.argv[1:])
    pairs, _ = align(old.valid, new.valid, False)
    cases = speedup.pairs_of(old.valid, new.valid, pairs)
    known = features.of_rows(cases, old.env["gpu"])
    rows = [["left out", "cases", "median error", "90 % within", "within 5 %", "covered", "unknown"]]
    for words, columns in (("row", list(known)), ("ncu", list(features.SHARED))):
        found = predict.errors(known[columns], cases["speedup"], cases["experiment"])
        rows.append(line(f"all, by a {words}" if words == "row" else "all, by ncu", found))
        if words == "row":
            parts = [line(name, part) for name, part in found.groupby("experiment")]
            worst = sorted(parts, key=lambda row: -float(row[3].split()[0]))[:5]
    print("\n".join(align_columns([*rows, *worst], 100, 0)))


main()
