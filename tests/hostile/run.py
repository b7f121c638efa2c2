# SPDX-License-Identifier: Apache-2.0
"""Looks for input and bad luck that the program and the tools do not stand.

usage: python -P tests/hostile/run.py [--duration 30m] [--jobs N] [--seed N] [--only KIND...] [--count N]

Without --duration each kind has its few trials of the short form. With it, trials go on for so long.
A trial is its kind and its seed: what fails is run again by the line that is printed. Exit code 1 if anything
failed. OCCBENCH names the program (default: the one of build/ci).
"""
# ruff: noqa: E402 - Python is started with -P, so that the rooms beside are found by no accident.

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "tools")]

import batch
import folders
import forms
import fuzz
import others
import page
import runs
import words
from verdict import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
Trial = Callable[[int, Path, Path, Path], list[Fault]]


class Kind(NamedTuple):
    trial: Trial
    short: int  # trials without --duration
    share: float  # of the time with it


KINDS = {
    "folders": Kind(folders.trial, 12, 0.23),  # x 16 calls of readers
    "words": Kind(words.trial, 60, 0.07),  # x 5 calls
    "kills": Kind(runs.kill, 4, 0.07),
    "races": Kind(runs.race, 8, 0.08),
    "misery": Kind(runs.misery, 10, 0.02),
    "batch": Kind(batch.trial, 2, 0.015),  # x 10,000 rows
    "fleet": Kind(others.fleet, 6, 0.08),  # x 3 calls
    "programs": Kind(others.programs, 4, 0.06),  # folders of attach, x 5 readers
    "binaries": Kind(others.binaries, 4, 0.06),  # x 6 calls
    "forms": Kind(forms.trial, 80, 0.06),  # x 5 calls: each file of tests/forms once
    "page": Kind(page.trial, 2, 0.02),  # x 40 questions
    "attach": Kind(others.attach, 4, 0.04),
    "fuzz": Kind(fuzz.trial, 0, 0.195),  # x 20 s of a target; tests of their own replay corpus and properties
}


def seconds(text: str) -> float:
    if not (found := re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)):
        raise argparse.ArgumentTypeError(f"{text}: a time is 90s, 30m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


class Failure(NamedTuple):
    kind: str
    seed: int
    fault: Fault


def one(kind: str, seed: int, place: Path, occbench: Path) -> list[Failure]:
    """A trial in a folder of its own, in memory where that can be."""
    cwd = Path(tempfile.mkdtemp(prefix="trial-", dir=place))
    try:
        found = KINDS[kind].trial(seed, cwd, place, occbench)
    except Exception:  # the hunt's own fault, which must not pass for none
        found = [Fault("traceback", f"of the hunt itself: {traceback.format_exc()}")]
    finally:
        shutil.rmtree(cwd, ignore_errors=True)
    return [Failure(kind, seed, fault) for fault in found]


GUESS_S = 0.5  # of a trial that is under way


class Schedule:
    """Which trial is next: that of the kind which had least of its share of the time."""

    def __init__(self, kinds: list[str], seed: int, counts: dict[str, int] | None, until: float) -> None:
        self.kinds, self.seed, self.counts, self.until = kinds, seed, counts, until
        self.lock = multiprocessing.Lock()
        self.begun = multiprocessing.Array("l", len(kinds), lock=False)
        self.spent = multiprocessing.Array("d", len(kinds), lock=False)

    def next(self) -> tuple[str, int] | None:
        with self.lock:
            if self.counts is None:
                if time.time() >= self.until:
                    return None
                at = min(range(len(self.kinds)), key=lambda n: self.spent[n] / KINDS[self.kinds[n]].share)
                self.spent[at] += GUESS_S  # until it is known, so that not all workers take the same kind
            else:
                left = [n for n, kind in enumerate(self.kinds) if self.begun[n] < self.counts[kind]]
                if not left:
                    return None
                at = left[0]
            self.begun[at] += 1
            return self.kinds[at], self.seed + self.begun[at] - 1

    def took(self, kind: str, took_s: float) -> None:
        with self.lock:
            guess = GUESS_S if self.counts is None else 0
            self.spent[self.kinds.index(kind)] += took_s - guess

    def tries(self) -> str:
        return ", ".join(f"{kind} {self.begun[n]}" for n, kind in enumerate(self.kinds))


def work(schedule: Schedule, place: Path, occbench: Path, found: multiprocessing.SimpleQueue) -> None:
    while (trial := schedule.next()) is not None:
        start = time.monotonic()
        for failure in one(*trial, place, occbench):
            found.put(failure)
        schedule.took(trial[0], time.monotonic() - start)


def hunt(schedule: Schedule, jobs: int, place: Path, occbench: Path) -> list[Failure]:
    found: multiprocessing.SimpleQueue = multiprocessing.SimpleQueue()
    workers = [
        multiprocessing.Process(target=work, args=(schedule, place, occbench, found)) for _ in range(jobs)
    ]
    for worker in workers:
        worker.start()
    failures: list[Failure] = []
    said = time.monotonic()
    while any(worker.is_alive() for worker in workers) or not found.empty():
        while not found.empty():
            failures.append(found.get())
            kind, seed, fault = failures[-1]
            again = f"build/venv/bin/python -P tests/hostile/run.py --only {kind} --seed {seed}"
            print(f"{fault.kind}: {fault.what}\n  again: {again}", flush=True)
        if time.monotonic() - said > 60:
            said = time.monotonic()
            print(f"{time.strftime('%H:%M:%S')}  {schedule.tries()}; {len(failures)} failed", flush=True)
        time.sleep(0.2)
    for n, worker in enumerate(workers):
        if worker.exitcode != 0:
            failures.append(Failure("hunt", n, Fault("crash", f"worker {n} ended by {worker.exitcode}")))
    return failures


def table(schedule: Schedule, failures: list[Failure]) -> str:
    count = Counter((failure.kind, failure.fault.kind) for failure in failures)
    heads = ("kind", "trials", "minutes", *FAULTS)
    lines = [heads]
    for n, kind in enumerate(schedule.kinds):
        begun, minutes = schedule.begun[n], schedule.spent[n] / 60
        lines.append((kind, f"{begun:,}", f"{minutes:.1f}", *(f"{count[kind, fault]}" for fault in FAULTS)))
    wide = [max(len(line[n]) for line in lines) for n in range(len(heads))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, wide, strict=True)) for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--duration", type=seconds)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", choices=KINDS, nargs="+")
    parser.add_argument("--count", type=int, help="trials of each kind of --only (default: 1)")
    options = parser.parse_args()
    occbench = Path(os.environ.get("OCCBENCH", ROOT / "build/ci/benchmarks/occbench")).resolve()
    os.environ["OCCBENCH"] = str(occbench)
    seed = options.seed
    if seed is None:  # the short form is the same each time
        seed = int(time.time()) * 1000 if options.duration else 1
    kinds = options.only or [k for k in KINDS if k != "fuzz" or options.duration]
    if not fuzz.RUN.exists():
        kinds = [kind for kind in kinds if kind != "fuzz"]
    if options.only and not options.duration:
        counts: dict[str, int] | None = dict.fromkeys(kinds, options.count or 1)
    else:
        counts = None if options.duration else {kind: KINDS[kind].short for kind in kinds}
    memory = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="occbench-hostile-", dir=memory if memory.is_dir() else None))
    print(f"seed {seed}, {options.jobs} jobs, {occbench}", flush=True)
    try:
        folders.tools()
        for room in (folders, runs, others, page, *([fuzz] if "fuzz" in kinds else [])):
            room.prepare(place, occbench)
        schedule = Schedule(kinds, seed, counts, time.time() + (options.duration or 0))
        failures = hunt(schedule, options.jobs, place, occbench)
        executed = fuzz.executions(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(table(schedule, failures))
    if executed:
        print(executed)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
