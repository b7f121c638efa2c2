# SPDX-License-Identifier: Apache-2.0
"""Times of the commands that read folders, at a million samples each: python tests/tools/million.py FOLDER

Lays two such folders below FOLDER, unless they are there: copies of a committed run whose ids, families and
times differ (--more visits: one copy, whose cases have as many more visits). Then each command runs once as
a user calls it, its output dropped, and a line says its seconds, its peak memory and its exit code. No test:
what a machine takes is not a property of the code.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
from made_up import newest_run
from occbench_tools.untrusted_files import plain_or_packed

COMMANDS = ("compare", "validate", "report", "explain", "cliffs", "predictions", "plot")
TIMES = ("time_median_s", "time_ci95_low_s", "time_ci95_high_s", "time_p10_s", "time_p90_s")
RATES = ("throughput", "percent_of_ceiling", "per_cycle_per_sm")
# What a sample's and a case's time may be off by: other processes, and other launches of one.
LAUNCH, PROCESS = 0.002, 0.001


def lay(folder: Path, samples: int, more: str, seed: int) -> None:
    """A folder of that many samples, or a few more."""
    chance = np.random.default_rng(seed)
    source = newest_run("nvidia-h200")
    cases, told = (
        pd.read_csv(
            plain_or_packed(source / name), dtype=dict(variant=str), keep_default_na=False, na_values=[""]
        )
        for name in ("cases.csv", "samples.csv")
    )
    copies = -(-samples // len(told))
    off = chance.normal(0, PROCESS, len(cases) * (copies if more == "cases" else 1))
    off[:: max(len(off) // 60, 1)] += 0.03  # some cases are slower than elsewhere
    parts = [told.copy() for _ in range(copies)]
    if more == "cases":
        cases = pd.concat([renamed(cases, copy) for copy in range(copies)], ignore_index=True)
        parts = [renamed(part.assign(experiment=""), copy) for copy, part in enumerate(parts)]
        parts = [part.drop(columns="experiment") for part in parts]
    else:
        rounds = told["round"].max() + 1
        parts = [part.assign(round=part["round"] + copy * rounds) for copy, part in enumerate(parts)]
    told = pd.concat(parts, ignore_index=True)
    by_case = pd.Series(np.exp(off), cases["case_id"])
    told["time_s"] *= told["case_id"].map(by_case) * np.exp(chance.normal(0, LAUNCH, len(told)))
    kept = told[told["discarded"] == 0].groupby("case_id")["time_s"]
    factor = (cases["case_id"].map(kept.median()) / cases["time_median_s"]).fillna(1)
    for column in TIMES:
        cases[column] *= factor
    for column in RATES:
        cases[column] /= factor
    cases["cycles_per_iteration"] *= factor
    valid = cases["status"].eq("valid")
    dropped = told.groupby("case_id")["discarded"].sum()
    for column, count in (("samples", kept.size()), ("discarded", dropped)):
        cases.loc[valid, column] = cases["case_id"].map(count)[valid]
    whole = cases.select_dtypes("float").columns[cases.select_dtypes("float").mod(1).fillna(0).eq(0).all()]
    cases[whole] = cases[whole].astype("Int64")
    folder.mkdir(parents=True)
    (folder / "env.json").write_text(json.dumps(json.loads((source / "env.json").read_text())))
    for name, table in (("cases.csv", cases), ("samples.csv", told)):
        table.to_csv(folder / name, index=False, lineterminator="\n")


def renamed(cases: pd.DataFrame, copy: int) -> pd.DataFrame:
    """Other experiments than those of the first copy: what reads them knows each of them by its name."""
    if not copy:
        return cases
    letters = "".join(chr(ord("a") + int(digit)) for digit in f"{copy:02}")  # a number in a name is a dial
    return cases.assign(
        case_id=f"{letters}." + cases["case_id"], experiment=cases["experiment"] + f"_{letters}"
    )


def timed(words: list[str]) -> tuple[float, float, float, int]:
    """Seconds of the clock and of the processor, MiB at most and exit code; nobody reads its output."""
    start = time.perf_counter()
    nowhere = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
    child = os.posix_spawnp(words[0], words, os.environ, file_actions=nowhere)
    _, status, used = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def main() -> int:
    parser = argparse.ArgumentParser(description="Seconds of each command on a million samples.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--more", choices=("cases", "visits"), default="cases")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    options = parser.parse_args()
    pair = [options.folder / f"{options.more}-{side}" for side in ("base", "candidate")]
    for seed, folder in enumerate(pair):
        if not folder.exists():
            lay(folder, options.samples, options.more, seed)
    for command in options.commands:
        folders = pair if command == "compare" else pair[1:]
        words = [sys.executable, "-P", "-m", f"occbench_tools.{command}", *map(str, folders)]
        seconds, busy, memory, code = timed(words)
        used = f"{seconds:7.1f} s, {busy:7.1f} s of processor, {memory:6,.0f} MiB, exit {code}"
        print(f"{command:12}{used}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
