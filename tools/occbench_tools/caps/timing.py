# SPDX-License-Identifier: Apache-2.0
"""Builds timed against each other: whole programs, in rounds of random order, with intervals."""

import hashlib
import os
import random
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from occbench_tools.caps.builds import Build
from occbench_tools.caps.toolchain import Children
from occbench_tools.stats import median_tails

CONFIDENCE = 0.95


@dataclass
class Times:
    """The times of one build, a number per round."""

    build: Build
    values: list[float] = field(default_factory=list)
    outputs: set[str] = field(default_factory=set)  # hashes of its output, without the time
    why_not: str = ""
    code: int = 0  # its exit code where it failed


def interval(values: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """The median and its order-statistic interval, free of any distribution (Conover, 3.2); the extremes
    where there are too few values for the confidence."""
    ordered = np.sort(values)
    count = len(ordered)
    outside = 2 * median_tails(count)  # chance of the median outside ranks k + 1, n - k
    rank = max(int((outside <= 1 - confidence).sum()), 1)
    return float(np.median(ordered)), float(ordered[rank - 1]), float(ordered[count - rank])


def run_once(
    times: Times, words: list[str], pattern: re.Pattern[str] | None, children: Children, limit_s: float
) -> float | None:
    """Seconds of the whole program, or the number that the pattern finds; None where it failed."""
    own = [word.replace("{}", str(times.build.program)) for word in words]
    start = time.perf_counter()
    try:
        ran = children.run(own, dict(os.environ), limit_s=limit_s)
    except subprocess.TimeoutExpired:
        times.why_not, times.code = f"not done in {limit_s:g} s", 124
        return None
    except OSError as error:
        times.why_not = f"{own[0]}: cannot be run: {error.strerror}"
        times.code = 127 if isinstance(error, FileNotFoundError) else 126
        return None
    elapsed = time.perf_counter() - start
    if ran.returncode:
        last = [line for line in ran.stdout.splitlines() if line.strip()][-1:] or ["no word"]
        code = ran.returncode if ran.returncode > 0 else 128 - ran.returncode
        times.why_not, times.code = f"ended with {code}: {last[0].strip()}", code
        return None
    printed = pattern.sub("", ran.stdout) if pattern else ran.stdout
    times.outputs.add(hashlib.sha256(printed.encode(errors="replace")).hexdigest())
    if pattern is None:
        return elapsed
    found = pattern.findall(ran.stdout)
    try:
        return float(found[-1])
    except (IndexError, ValueError, TypeError):
        times.why_not, times.code = f"printed no number that matches '{pattern.pattern}'", 1
        return None


def time_all(
    builds: list[Build],
    words: list[str],
    rounds: int,
    pattern: re.Pattern[str] | None,
    children: Children,
    limit_s: float,
    seed: int = 1,
) -> list[Times]:
    """Runs each build once per round, after one run that does not count. A failed build is not run again."""
    dice = random.Random(seed)
    found = [Times(build) for build in builds]
    for number in range(rounds + 1):
        order = [each for each in found if not each.why_not]
        dice.shuffle(order)
        for times in order:
            value = run_once(times, words, pattern, children, limit_s)
            if value is not None and number > 0:
                times.values.append(value)
    return found


def output_of(times: Times, base: Times) -> str:
    """The output against that of the source as it is: 'same', 'differs', 'varies' if that varies, or ''."""
    if len(base.outputs) > 1:
        return "varies"
    if not times.outputs or not base.outputs:
        return ""
    return "same" if times.outputs == base.outputs else "differs"


def program_words(words: list[str], output: str | None) -> list[str]:
    """The call with {} for the program that nvcc makes; empty where the words lack it."""
    program = Path(output or "a.out").resolve()
    with_braces = ["{}" if Path(word).resolve() == program else word for word in words]
    return with_braces if any("{}" in word for word in with_braces) else []


@dataclass(frozen=True)
class Change:
    """Time against another build's, by round: 0.97 is 3 % less."""

    ratio: float
    low: float
    high: float

    @property
    def faster(self) -> bool:
        return self.high < 1

    @property
    def slower(self) -> bool:
        return self.low > 1


def change(times: Times, base: Times, comparisons: int) -> Change:
    """With an interval that holds for so many comparisons at once (Bonferroni)."""
    ratios = np.array(times.values) / np.array(base.values)
    return Change(*interval(ratios, 1 - (1 - CONFIDENCE) / max(comparisons, 1)))


def verdict(base: Times, others: list[Times]) -> str:
    """One or two sentences: the fastest build, or that none differs."""
    timed = [each for each in others if each.values and not each.why_not]
    if not base.values or not timed:
        return "Nothing could be compared."
    changes = [(change(each, base, len(timed)), each) for each in timed]
    faster = sorted(((c, t) for c, t in changes if c.faster), key=lambda pair: pair[0].ratio)
    if not faster:
        slower = sum(c.slower for c, _ in changes)
        if slower:
            return f"None is faster than the source as it is; {slower} of {len(timed)} are slower."
        return "None differs in time from the source as it is."
    best, times = faster[0]
    alike = [name(each) for _, each in faster[1:] if not change(times, each, len(timed)).faster]
    sentence = f"Fastest is {name(times)}: {percent(best)} against the source as it is."
    return sentence + (f" No different from it: {', '.join(alike)}." if alike else "")


def name(times: Times) -> str:
    build = times.build
    if build.limit is None:
        return "as it is"
    alike = ", ".join(limit.words() for limit in build.alike)
    return build.limit.words() + (f" ({alike}: the same code)" if alike else "")


def percent(change: Change) -> str:
    """'-3.2 % (-3.9 to -2.5)'"""
    ratio, low, high = (100 * (each - 1) for each in (change.ratio, change.low, change.high))
    return f"{ratio:+.1f} % ({low:+.1f} to {high:+.1f})"
