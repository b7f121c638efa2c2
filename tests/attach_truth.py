# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` held against curves that the suite measured itself (docs/data/attach-truth.csv).

On a GPU, with RUN a folder of `occbench run --precision 0.1%` from the same card:

    CASES=$(python tests/attach_truth.py RUN)
    occbench attach --all --by-range --budget 2000% --precision 0.2% --levels 0.5,0.25,0.125 \
        --output ATTACHED -- occbench run --case $CASES --launches 300
    python tests/attach_truth.py RUN ATTACHED

The first prints the case of most blocks per SM of each curve. The last prints each kernel's times against
what the curve says, in percent, and verdicts that differ from the curve's. A verdict at a threshold is open.

    CASES=$(python tests/attach_truth.py --sms RUN)
    occbench attach --sms --by-range --budget 2000% --precision 0.2% --output ATTACHED -- \
        occbench run --case $CASES --launches 300
    python tests/attach_truth.py --sms RUN ATTACHED

holds times on fewer SMs against the experiment sm_share: its cases on all SMs, and their times on each share.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

EXPERIMENTS = ("shared_memory", "registers", "latency_hiding")
CLOSE = 0.02
Row = dict[str, str]
Curve = dict[int, Row]  # by blocks per SM


def sm_curves(run: Path) -> dict[str, Curve]:
    """By the id of the case on all SMs: the rows of its work by number of SMs."""
    found: dict[tuple[str, ...], Curve] = defaultdict(dict)
    for row in rows_of(run / "cases.csv"):
        if row["experiment"] == "sm_share" and row["status"] == "valid":
            names = ("family", "variant", "blocks_per_sm", "grid_size", "iterations")
            found[tuple(row[name] for name in names)][int(row["sm_count"])] = row
    return {curve[max(curve)]["case_id"]: curve for curve in found.values()}


def compare_sms(run: Path, attached: Path) -> None:
    arms = defaultdict(list)
    for arm in rows_of(attached / "arms.csv"):
        if arm["time_median_s"] and arm["arm"] in ("untouched", "fewer SMs"):
            arms[arm["kernel_id"]].append(arm)
    tops = sm_curves(run)
    levels = close = alike = 0
    for kernel in rows_of(attached / "kernels.csv"):
        case = next((case for case in tops if kernel["range"].endswith(case)), None)
        if case is None or kernel["grid_x"] != tops[case][max(tops[case])]["grid_size"]:
            continue
        off, of_all = {}, 0.0
        for arm in sorted(arms[kernel["kernel_id"]], key=lambda arm: arm["arm"] != "untouched"):
            row = tops[case].get(int(arm["sm_count"]))
            if row:
                by_gpc = row["sms_by_gpc"]
                change = float(arm["time_median_s"]) / float(row["time_median_s"]) - 1
                off[f"{arm['sm_count']} ({by_gpc})"] = change
                if arm["arm"] == "untouched":
                    of_all = change
                else:
                    levels += 1
                    close += abs(change) <= CLOSE
                    alike += abs((1 + change) / (1 + of_all) - 1) <= CLOSE
        said = {sms: f"{100 * each:+.2f} %" for sms, each in off.items()}
        print(case, said, kernel["sm_verdict"])
    print(f"{close} of {levels} levels within {100 * CLOSE:g} %, {alike} of their slowdowns")


def rows_of(file: Path) -> list[Row]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def curves(run: Path) -> dict[str, Curve]:
    """By the id of the case of most blocks; one whole wave each, so that blocks are resident all the time."""
    found: dict[tuple[str, ...], Curve] = defaultdict(dict)
    for row in rows_of(run / "cases.csv"):
        if row["experiment"] in EXPERIMENTS and row["status"] == "valid" and row["waves"] == "1":
            names = ("experiment", "family", "variant", "block_size", "carveout_percent")
            found[tuple(row[name] for name in names)].setdefault(int(row["blocks_per_sm"]), row)
    return {curve[max(curve)]["case_id"]: curve for curve in found.values() if len(curve) >= 3}


def expected_s(curve: Curve, blocks: int) -> float | None:
    """Seconds of the launch of most blocks with `blocks` at a time: wave after wave, each at its own rate."""
    top = max(curve)
    whole, left, time = curve[top], top, 0.0
    while left > 0:
        here = min(blocks, left)
        if here not in curve:
            return None
        rate = float(curve[here]["throughput"]) / float(whole["throughput"])
        time += here / top / rate * float(whole["time_median_s"])
        left -= here
    return time


def verdict_of(curve: Curve, levels: list[int]) -> str:
    """What `attach` would say of the curve's times at levels, most blocks first, by its own thresholds."""
    top = max(curve)
    rates = [float(curve[blocks]["throughput"]) / float(curve[top]["throughput"]) for blocks in levels]
    if max(rates) > 1.01:
        return "faster at lower occupancy"
    slower = 1 / rates[0] - 1
    return "needs occupancy" if slower >= 0.03 else "saturated" if slower < 0.01 else "small gain"


def compare(run: Path, attached: Path) -> None:
    arms = defaultdict(list)
    for arm in rows_of(attached / "arms.csv"):
        if arm["time_median_s"]:
            arms[arm["kernel_id"]].append(arm)
    tops = curves(run)
    levels = close = verdicts = same = left_open = 0
    for kernel in rows_of(attached / "kernels.csv"):
        case = next((case for case in tops if kernel["range"].endswith(case)), None)
        if case is None or not kernel["verdict"] or int(kernel["blocks_per_sm"]) != max(tops[case]):
            continue
        off = {}
        for arm in arms[kernel["kernel_id"]]:
            expected = expected_s(tops[case], int(arm["blocks_per_sm"]))
            if arm["arm"] != "untouched" and expected:
                off[int(arm["blocks_per_sm"])] = float(arm["time_median_s"]) / expected - 1
        levels += len(off)
        close += sum(abs(each) <= CLOSE for each in off.values())
        verdict, its_arms = kernel["verdict"], arms[kernel["kernel_id"]]
        lower = sorted((int(arm["blocks_per_sm"]) for arm in its_arms if arm["arm"] == "lower"), reverse=True)
        if lower and set(lower) <= set(tops[case]):
            curve_says = verdict_of(tops[case], lower)
            verdicts += 1
            same += verdict == curve_says
            left_open += verdict != curve_says and "at the threshold of" in kernel["why"]
            verdict += "" if verdict == curve_says else f", the curve {curve_says}"
        print(case, {blocks: f"{100 * each:+.2f} %" for blocks, each in off.items()}, verdict)
    print(
        f"{close} of {levels} levels within {100 * CLOSE:g} %, "
        f"{same} of {verdicts} verdicts the same, {left_open} of the others open"
    )


if __name__ == "__main__":
    is_by_sms = "--sms" in sys.argv
    folders = [Path(each) for each in sys.argv[1:] if each != "--sms"]
    if len(folders) == 1:
        print(",".join((sm_curves if is_by_sms else curves)(folders[0])))
    elif len(folders) == 2:
        (compare_sms if is_by_sms else compare)(*folders)
    else:
        sys.exit(__doc__)
