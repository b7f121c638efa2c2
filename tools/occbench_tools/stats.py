# SPDX-License-Identifier: Apache-2.0
"""The statistics that the tools need, in numpy: distributions, tests of two samples, least squares.

Each function agrees with the one of scipy that its test names to 1e-10 relative. scipy itself would take
143 MB of a user's disk and most of a second at every start.
"""

import math
from functools import cache
from itertools import accumulate

import numpy as np

TERMS = 60  # of the continued fraction: 1e-11 relative up to 2,000 degrees of freedom, 1e-12 up to 200
ERFC, LGAMMA = (np.frompyfunc(function, 1, 1) for function in (math.erfc, math.lgamma))
NORMAL_MAD = 0.6744897501960817  # median absolute deviation of the standard normal distribution


def normal_tail(z: np.ndarray | float) -> np.ndarray:
    """P(Z > z) of the standard normal distribution; any shape."""
    return 0.5 * np.asarray(ERFC(np.asarray(z) / math.sqrt(2)), float)


def student_tail(t: np.ndarray | float, freedom: np.ndarray | float) -> np.ndarray:
    """P(T > t) of Student's t distribution with `freedom` > 0 degrees of freedom; NaN where either is NaN.

    Half the regularised incomplete beta function of freedom / (freedom + t^2), by its continued fraction
    (Press et al., Numerical Recipes, 6.4), on the side where that converges.
    """
    t, freedom = np.broadcast_arrays(np.asarray(t, float), np.asarray(freedom, float))
    with np.errstate(all="ignore"):
        square = t * t / freedom
        x, y = 1 / (1 + square), 1 / (1 + 1 / square)  # x + y = 1, both without loss of digits
        far = x <= (freedom / 2 + 1) / (freedom / 2 + 2.5)
        # The tail itself, or what lies between 0 and t.
        a, b = np.where(far, freedom / 2, 0.5), np.where(far, 0.5, freedom / 2)
        x, y = np.where(far, x, y), np.where(far, y, x)
        fraction = np.ones_like(x)
        for m in range(TERMS, 0, -1):
            fraction = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / fraction
            n = m - 1
            fraction = 1 - (a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)) / fraction
        log_beta = np.asarray(LGAMMA(a) + LGAMMA(b) - LGAMMA(a + b), float)
        part = np.exp(a * np.log(x) + b * np.log(y) - log_beta) / (a * fraction)
        tail = np.where(far, part, 1 - part) / 2
    tail = np.where(np.isinf(t), 0.0, np.where(t == 0, 0.5, tail))
    return np.where(np.isnan(t + freedom), np.nan, np.where(t < 0, 1 - tail, tail))


def median_tails(count: int) -> np.ndarray:
    """P(K <= k), k = 0 ... count // 2 - 1, of the binomial distribution of `count` fair tosses."""
    ways = accumulate(math.comb(count, k) for k in range(count // 2))
    return np.array([below / 2**count for below in ways])


def welch(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """p-values that the means of a (rows x m) are not greater than those of b (rows x n), variances unequal.

    Welch (1947). NaN where neither has any spread and their means are equal.
    """
    with np.errstate(all="ignore"):
        u, v = (each.var(axis=1, ddof=1) / each.shape[1] for each in (a, b))
        freedom = (u + v) ** 2 / (u**2 / (a.shape[1] - 1) + v**2 / (b.shape[1] - 1))
        t = (a.mean(axis=1) - b.mean(axis=1)) / np.sqrt(u + v)
    return student_tail(t, np.where(np.isnan(freedom), 1, freedom))


def rank_sums(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mann and Whitney's U of a (rows x m) over b (rows x n), ties half; and the sum of t^3 - t over ties."""
    both = np.concatenate([a, b], axis=1)
    order = np.argsort(both, axis=1, kind="stable")
    values = np.take_along_axis(both, order, axis=1)
    place = np.broadcast_to(np.arange(both.shape[1]), both.shape)
    edge = np.ones((len(both), 1), bool)
    rises = values[:, 1:] != values[:, :-1]
    first = np.maximum.accumulate(np.where(np.hstack([edge, rises]), place, 0), axis=1)
    last = np.where(np.hstack([rises, edge]), place, both.shape[1])
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    m = a.shape[1]
    u = np.where(order < m, (first + last) / 2 + 1, 0).sum(axis=1) - m * (m + 1) / 2
    return u, ((last - first + 1.0) ** 2 - 1).sum(axis=1)


@cache
def exact_tails(m: int, n: int) -> np.ndarray:
    """P(U >= k), k = 0 ... m n, of Mann and Whitney's U without ties.

    Orders by U are the coefficients of the product of (1 - q^(n + i)) / (1 - q^i), i = 1 ... m.
    """
    orders = [1] + [0] * (m * n)
    for i in range(1, min(m, n) + 1):
        up = max(m, n) + i
        orders[up:] = [c - before for c, before in zip(orders[up:], orders, strict=False)]
        for k in range(i, len(orders)):
            orders[k] += orders[k - i]
    whole = math.comb(m + n, m)
    return np.array([above / whole for above in accumulate(reversed(orders))][::-1])


def mann_whitney(a: np.ndarray, b: np.ndarray, exact: bool) -> np.ndarray:
    """p-values of Mann and Whitney's test that a (rows x m) is not greater than b (rows x n).

    exact: by all orders of the ranks, as if there were no ties; else by the normal law, with the corrections
    for continuity and ties (Conover, Practical Nonparametric Statistics, 5.1).
    """
    u, ties = rank_sums(a, b)
    return upper_tail(u, ties, a.shape[1], b.shape[1], exact)


def upper_tail(u: np.ndarray, ties: np.ndarray, m: int, n: int, exact: bool) -> np.ndarray:
    """P(U >= u) of two samples of m and n values."""
    if exact:
        return exact_tails(m, n)[u.astype(int)]
    with np.errstate(divide="ignore"):  # all are one value
        deviation = np.sqrt(m * n / 12 * (m + n + 1 - ties / ((m + n) * (m + n - 1))))
        return normal_tail((u - m * n / 2 - 0.5) / deviation)


def false_discovery(p_values: np.ndarray) -> np.ndarray:
    """p-values adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    order = np.argsort(p_values)[::-1]
    count = len(p_values)
    found = np.empty(count)
    found[order] = np.minimum(1, np.minimum.accumulate(p_values[order] * count / np.arange(count, 0, -1)))
    return found


def fisher(a: int, b: int, c: int, d: int) -> float:
    """Two-sided p-value of Fisher's exact test of the table ((a, b), (c, d)): all tables with these sums that
    are at most as likely. In whole numbers, for there 'as likely' is exact."""
    row, column, count = a + b, a + c, a + b + c + d
    low = max(0, row + column - count)
    weight = math.comb(column, low) * math.comb(count - column, row - low)
    weights = [weight]
    for k in range(low, min(row, column)):
        weight = weight * (column - k) * (row - k) // ((k + 1) * (count - column - row + k + 1))
        weights.append(weight)
    return sum(w for w in weights if w <= weights[a - low]) / math.comb(count, row)


def deviation(values: np.ndarray) -> float:
    """Standard deviation of normal values, by the median distance from their median."""
    return float(np.median(np.abs(values - np.median(values))) / NORMAL_MAD)


def non_negative(matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """x >= 0 with the least |matrix x - wanted| (Lawson and Hanson, Solving Least Squares Problems, 23.3)."""
    x = np.zeros(matrix.shape[1])
    free = np.zeros(len(x), bool)
    least = 10 * max(matrix.shape) * np.finfo(float).eps * np.linalg.norm(matrix, 1)
    for _ in range(3 * len(x)):  # rounding might have one come and go for ever
        gain = np.where(free, -np.inf, matrix.T @ (wanted - matrix @ x))
        if gain.max() <= least:
            break
        free[gain.argmax()] = True
        while True:
            step = np.zeros(len(x))
            step[free] = np.linalg.lstsq(matrix[:, free], wanted, rcond=None)[0]
            below = free & (step <= 0)
            if not below.any():
                break
            # As far towards it as all stay positive; what reaches zero is free no more.
            share = np.divide(x, x - step, out=np.zeros(len(x)), where=x != step)
            first = np.where(below, share, np.inf).argmin()
            x += share[first] * (step - x)
            free &= x > least
            free[first] = False
            x[~free] = 0
        x = step
    return x
