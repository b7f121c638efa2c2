# SPDX-License-Identifier: Apache-2.0
"""Chooses what `occbench whatif` is tested on, and prints it: python tests/whatif/choose.py > changes.csv

The rule was written down, and its list frozen, before any prediction of whatif's was seen:
  - Of the committed run of an H200, valid cases of the experiments that the model covers, without clusters.
  - A kernel is a family and a variant without its register cap, with all that its machine code depends on.
  - From a case, a change is another case of the kernel that differs in one of
      registers  (same block, shared memory and carve-out; no more local memory: what spills is refused)
      block      (same variant, shared memory and carve-out)
      ballast    (same variant, block and carve-out)
    Of each, those with the fewest and the most resident warps, and the one in the middle.
  - A kernel's base is the case with the most such changes, then the most resident warps, then by name.
  - Of each family the two kernels with the most changes, then by name.
Families of even places in the alphabet may be tuned on (`half` is tuning), the others are held out.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

RUN = Path(__file__).parents[2] / "results" / "nvidia-h200" / "2026-11-28-94ada86ac786" / "cases.csv"
OUTSIDE = {"cache_reuse", "clusters", "constant_memory", "launch_bounds_roulette"}
CODE = [
    "family", "form", "ilp", "bytes_per_access", "data_type", "static_smem_bytes", "barriers", "tile_width",
    "live_values", "idle_values", "fma_per_load", "stages", "bytes_in_flight", "working_set_bytes",
    "bank_conflict", "lanes_apart", "divergent_warps", "carveout_percent", "throughput_unit",
]  # fmt: skip
KERNELS_OF_A_FAMILY = 2
Case = dict[str, str]


def kernel(case: Case) -> tuple[str, ...]:
    """What two cases share that run the same source."""
    free = re.sub(r"-(maxnreg|maxrregcount|bounds)[\dx]+", "", case["variant"])
    return (free, *(case[name] for name in CODE))


def dial(base: Case, other: Case) -> str | None:
    """The one thing that differs between two cases of a kernel; None for none, or for more than one."""
    same = {name: base[name] == other[name] for name in
            ("variant", "block_size", "dynamic_smem_bytes", "registers_per_thread")}  # fmt: skip
    if same["variant"] and same["dynamic_smem_bytes"] and not same["block_size"]:
        return "block"
    if same["variant"] and same["block_size"] and not same["dynamic_smem_bytes"]:
        return "ballast"
    spills = int(other["local_bytes"]) > int(base["local_bytes"])
    if same["block_size"] and same["dynamic_smem_bytes"] and not same["registers_per_thread"] and not spills:
        return "registers"
    return None


def changes_of(base: Case, cases: list[Case]) -> list[tuple[str, Case]]:
    """At most three of each dial: the fewest, the most and the middle number of resident warps."""
    found: dict[str, dict[tuple[str, ...], Case]] = defaultdict(dict)
    for case in cases:
        if (what := dial(base, case)) is not None:
            point = (
                case["block_size"],
                case["dynamic_smem_bytes"],
                case["registers_per_thread"],
            )
            found[what].setdefault(point, case)
    chosen = []
    for what in sorted(found):
        there = sorted(
            found[what].values(),
            key=lambda case: (
                int(case["warps_per_sm"]),
                int(case["block_size"]),
                case["case_id"],
            ),
        )
        places = sorted({0, len(there) // 2, len(there) - 1})
        chosen += [(what, there[place]) for place in places]
    return chosen


def main() -> None:
    """Prints the list."""
    kernels: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    with RUN.open(newline="") as file:
        for case in csv.DictReader(file):
            if (
                case["status"] == "valid"
                and case["experiment"] not in OUTSIDE
                and case["cluster_size"] == "1"
            ):
                kernels[kernel(case)].append(case)
    families: dict[str, list[tuple[Case, list[tuple[str, Case]]]]] = defaultdict(list)
    for cases in kernels.values():
        cases.sort(key=lambda case: case["case_id"])
        base = max(
            cases,
            key=lambda case: (len(changes_of(case, cases)), int(case["warps_per_sm"])),
        )
        if changes := changes_of(base, cases):
            families[base["family"]].append((base, changes))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["half", "family", "base", "dial", "changed"])
    names = sorted(families)
    for place in range(KERNELS_OF_A_FAMILY):
        for index, family in enumerate(names):
            ranked = sorted(
                families[family],
                key=lambda found: (-len(found[1]), found[0]["case_id"]),
            )
            for base, changes in ranked[place : place + 1]:
                for what, case in changes:
                    half = "tuning" if index % 2 else "held out"
                    out.writerow([half, family, base["case_id"], what, case["case_id"]])


if __name__ == "__main__":
    main()
