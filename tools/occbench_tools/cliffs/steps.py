# SPDX-License-Identifier: Apache-2.0
"""Steps in a noisy curve, found without theory.

A step is a difference between neighbours that the curve's slopes on both sides do not explain. Saturation, a
knee and a straight line have none: there each difference lies between those before and behind it. Noise with
single points far out has none either: a step stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from occbench_tools.stats import median_of_five, student_tail

SIDE = 3  # least points on either side of a step: two cannot outvote one that is far out
POINTS = 2 * SIDE + 2  # least of a curve in which a step is looked for
WINDOW = 8  # most points of a side that count
CERTAIN = 0.05  # p-value of the sweep's strongest gap under noise alone
TAILS = 8  # degrees of freedom of the noise that p-values assume: far points are commoner than normal ones
HALF = 2.306004135204166  # of their 95 % interval, in standard errors


@dataclass
class Step:
    """Between points `place` and place + 1; heights in natural logarithms of y."""

    place: int
    height: float
    half: float  # of its 95 % interval
    p_value: float  # for the whole sweep


def scale_of(x: np.ndarray) -> np.ndarray:
    """x or its logarithm, on which its points lie more evenly."""
    if len(x) < 3 or x.min() <= 0:
        return x
    gaps, ratios = np.diff(x), np.diff(np.log(x))
    return np.log(x) if ratios.std() / ratios.mean() < gaps.std() / gaps.mean() else x


def noise_of(x: np.ndarray, y: np.ndarray) -> float:
    """Standard deviation of y around a smooth curve, also where every third point stands beside a step.

    From each point's distance to the straight line through its neighbours. A low quantile, for steps and
    bends only ever make distances larger.
    """
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off = y[1:-1] - (1 - share) * y[:-2] - share * y[2:]
    off /= np.sqrt(1 + share**2 + (1 - share) ** 2)
    quantile = 0.35
    return float(np.quantile(np.abs(off), quantile) / NormalDist().inv_cdf((1 + quantile) / 2))


def line_of(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope and level at x = 0 of the line that single points do not move (Theil 1950, Sen 1968)."""
    i, j = np.triu_indices(len(x), 1)
    slope = float(np.median((y[j] - y[i]) / (x[j] - x[i])))
    return slope, float(np.median(y - slope * x))


def excess(value: float, *slopes: float) -> float:
    """How far `value` lies outside of what the slopes explain, with its sign."""
    return value - float(np.clip(value, min(slopes), max(slopes)))


def weigh(
    x: np.ndarray, y: np.ndarray, place: int, start: int, end: int, noise: float
) -> tuple[float, float, float]:
    """Height, its error and the height that the two points alone say, of the step behind `place`.

    The points from start up to end hold no other step.
    """
    gap = x[place + 1] - x[place]
    ends, slopes, variance = [], [], 0.0
    for side, at in (
        (slice(max(start, place + 1 - WINDOW), place + 1), place),
        (slice(place + 1, min(end, place + 1 + WINDOW)), place + 1),
    ):
        xs, ys = x[side] - x[at], y[side]
        slope, level = line_of(xs, ys)
        # On a bend the line holds for fewer points.
        while len(xs) > SIDE and np.median(np.abs(ys - level - slope * xs)) > noise:
            xs, ys = (xs[1:], ys[1:]) if at == place else (xs[:-1], ys[:-1])
            slope, level = line_of(xs, ys)
        ends.append(level)
        slopes.append(slope * gap)
        # As far as the other side of the gap, for a slope may have to reach there.
        variance += 1 / len(xs) + (abs(xs.mean()) + gap) ** 2 / np.sum((xs - xs.mean()) ** 2)
    height = excess(ends[1] - ends[0], *slopes)
    return height, noise * float(np.sqrt(variance)), excess(y[place + 1] - y[place], *slopes)


def find_steps(
    x: Sequence[float], y: Sequence[float], smallest: float, noise: float, known: Sequence[int] = ()
) -> list[Step]:
    """Steps of at least `smallest` (fraction) in y > 0 over rising x.

    noise: the least standard deviation of y that is believed (fraction). known: places of steps that are
    not looked for, and bound the pieces on which the others are.
    """
    count = len(x)
    if count < POINTS:
        return []
    x, y = scale_of(np.asarray(x, float)), np.log(np.asarray(y, float))
    noise = max(noise, noise_of(x, y))
    gaps = np.diff(x)
    trend = median_of_five(np.diff(y) / gaps)
    differences = np.abs(np.diff(y) - trend * gaps)
    fixed = set(known)

    @cache
    def weighed(before: int, place: int, after: int) -> tuple[float, Step | None]:
        """How strong the step at `place` is, with no other between before and after; None: it is none."""
        if min(place - before, after - place) < SIDE:
            # Too short a piece to be one: it loses the smaller of its ends, before all that can be weighed.
            return differences[place] - 1e6, None
        height, error, alone = weigh(x, y, place, before + 1, after + 1, noise)
        if abs(height) < smallest or height * alone <= 0 or abs(alone) < abs(height) / 2:
            return 0.0, None
        p_value = min(1.0, count * 2 * float(student_tail(abs(height) / error, TAILS)))
        return abs(height) / error, Step(place, height, HALF * error, p_value) if p_value < CERTAIN else None

    # Every gap that might hold a step bounds the pieces first, or one step would spoil another's window; then
    # the weakest falls, again and again, until all that are left are certain.
    might = {i for i, d in enumerate(differences) if d > 1.5 * noise} - fixed
    while might:
        bounds = [-1, *sorted(might | fixed), count - 1]
        pieces = [p for p in zip(bounds, bounds[1:], bounds[2:], strict=False) if p[1] in might]
        weakest = min(pieces, key=lambda piece: weighed(*piece)[0])
        if weighed(*weakest)[1]:
            return [step for piece in pieces if (step := weighed(*piece)[1])]
        might.remove(weakest[1])
    return []
