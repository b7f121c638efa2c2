# SPDX-License-Identifier: Apache-2.0
"""Each function of stats.py against scipy's, on thousands of random samples and on what lies at the edges."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from occbench_tools import stats

pytest.importorskip("scipy")

import scipy.stats
from scipy import optimize, special

CLOSE = 1e-10  # relative
# Values of a sample: continuous, with many ties, with few, and all one.
KINDS = ("normal", "two values", "ten values", "one value")


def near(found: np.ndarray | float, expected: np.ndarray | float) -> None:
    """Equal to CLOSE; what lies below the smallest normal double has no digits to compare."""
    np.testing.assert_allclose(found, expected, rtol=CLOSE, atol=1e-305)


def sample(chance: np.random.Generator, kind: str, rows: int, count: int) -> np.ndarray:
    if kind == "normal":
        return chance.normal(chance.normal(), chance.lognormal(), (rows, count))
    most = {"two values": 2, "ten values": 10, "one value": 1}[kind]
    return chance.integers(0, most, (rows, count)).astype(float)


def test_normal_tail() -> None:
    z = np.r_[np.linspace(-40, 40, 16_001), 0.0, np.inf, -np.inf]
    near(stats.normal_tail(z), special.ndtr(-z))
    assert np.isnan(stats.normal_tail(np.nan)) and stats.normal_tail(0.3).shape == ()


def test_student_tail() -> None:
    """From a heavier tail than Cauchy's to one that is nearly normal; out to p-values of 1e-300."""
    chance = np.random.default_rng(1)
    freedom = np.r_[np.arange(1.0, 32), 2000, 10 ** chance.uniform(-0.3, 3, 60)][:, None]
    t = np.r_[0.0, np.inf, np.geomspace(1e-4, 1e60, 150), chance.normal(0, 3, 150)]
    t = np.r_[t, -t]
    near(stats.student_tail(t, freedom), special.stdtr(freedom, -t))
    # Nearer to 0 the density is constant; scipy is wrong in the ninth digit there, of Cauchy's law.
    t, freedom = np.geomspace(1e-15, 1e-7, 50), freedom[:32]
    near(stats.student_tail(t, freedom), 0.5 - t * scipy.stats.t.pdf(0, freedom))
    assert stats.student_tail(0.0, 3.0) == 0.5 and stats.student_tail(np.inf, 3.0) == 0
    assert np.isnan(stats.student_tail(np.array([np.nan, 1.0]), np.array([1.0, np.nan]))).all()
    for scalar in (0.2, 1.7, 30.0, -4.0):
        near(float(stats.student_tail(scalar, 8)), special.stdtr(8, -scalar))


@pytest.mark.parametrize("count", [*range(31), 99, 100, 1500])
def test_median_tails(count: int) -> None:
    near(stats.median_tails(count), scipy.stats.binom.cdf(np.arange(count // 2), count, 0.5))


@pytest.mark.parametrize("seed", range(3))
def test_welch(seed: int) -> None:
    chance = np.random.default_rng(seed)
    for m in range(2, 31):
        n = int(chance.integers(2, 31))
        for kinds in [("normal", "normal"), ("ten values", "ten values"), ("normal", "one value")]:
            a, b = (sample(chance, kind, 60, count) for kind, count in zip(kinds, (m, n), strict=True))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of samples without a spread
                expected = scipy.stats.ttest_ind(a, b, equal_var=False, alternative="greater", axis=1).pvalue
            near(stats.welch(a, b), expected)


def test_welch_of_constant_samples() -> None:
    a, b = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]]), np.array([[1.0] * 3, [1.0] * 3, [2.0] * 3])
    np.testing.assert_array_equal(stats.welch(a, b), [np.nan, 0, 1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exact", [True, False])
def test_mann_whitney(kind: str, exact: bool) -> None:
    chance = np.random.default_rng(KINDS.index(kind))
    sizes = [(m, int(chance.integers(2, 31))) for m in range(1, 31)] + [(12, 49), (49, 12), (49, 49)]
    for m, n in sizes:
        a, b = sample(chance, kind, 60, m), sample(chance, kind, 60, n)
        method = "exact" if exact else "asymptotic"
        for x, y in ((a, b), (b, a)):
            expected = scipy.stats.mannwhitneyu(x, y, alternative="greater", axis=1, method=method).pvalue
            near(stats.mann_whitney(x, y, exact), expected)
            less = scipy.stats.mannwhitneyu(y, x, alternative="less", axis=1, method=method).pvalue
            near(stats.mann_whitney(x, y, exact), less)


def test_false_discovery() -> None:
    chance = np.random.default_rng(2)
    for count in (1, 2, 3, 10, 2000):
        for values in (chance.random(count), chance.integers(0, 4, count) / 4, chance.random(count) ** 40):
            near(stats.false_discovery(values), scipy.stats.false_discovery_control(values, method="bh"))


def test_fisher() -> None:
    """Of every table of small counts, and of random ones up to samples of a run."""
    small = np.array(np.meshgrid(*[range(6)] * 4)).reshape(4, -1).T
    chance = np.random.default_rng(3)
    random = chance.integers(0, 10 ** chance.uniform(0.5, 3, (500, 1)), (500, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # odds of an empty table
        for a, b, c, d in [*small.tolist(), *random.tolist()]:
            near(stats.fisher(a, b, c, d), scipy.stats.fisher_exact([[a, b], [c, d]]).pvalue)


def test_deviation() -> None:
    chance = np.random.default_rng(5)
    for count in range(1, 40):
        for values in (chance.normal(size=count), chance.integers(0, 3, count) / 7):
            near(stats.deviation(values), scipy.stats.median_abs_deviation(values, scale="normal"))
    assert np.isnan(stats.deviation(np.array([1.0, np.nan])))


@pytest.mark.parametrize("seed", range(2))
def test_non_negative(seed: int) -> None:
    """Where the solution is one; counts as machine_code has them, and bounds that hold many at 0."""
    chance = np.random.default_rng(seed)
    for _ in range(400):
        rows, columns = int(chance.integers(2, 20)), int(chance.integers(1, 7))
        counts = chance.integers(0, 9, (rows, columns)).astype(float)
        for matrix in (counts, chance.normal(size=(rows, columns))):
            if np.linalg.matrix_rank(matrix) < columns or np.linalg.cond(matrix) > 1e4:
                continue
            exactly = matrix @ (chance.integers(0, 2, columns) * chance.integers(1, 10**6, columns))
            for wanted in (exactly, chance.normal(size=rows), np.zeros(rows)):
                found, expected = stats.non_negative(matrix, wanted), optimize.nnls(matrix, wanted)[0]
                scale = max(1.0, float(np.abs(expected).max()))
                np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * scale)
                assert (found >= 0).all()


def test_non_negative_with_equal_columns() -> None:
    """Columns that are equal, or empty: any share of theirs is a solution, and one is found."""
    matrix, wanted = np.array([[2.0, 2, 0], [3, 3, 0], [1, 0, 0]]), np.array([20.0, 30, 4])
    found = stats.non_negative(matrix, wanted)
    assert math.isclose(found[0], 4) and math.isclose(found[1], 6) and found[2] == 0
    found = stats.non_negative(matrix[:2], wanted[:2])
    assert (found >= 0).all() and math.isclose(found[0] + found[1], 10)
