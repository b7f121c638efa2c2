# SPDX-License-Identifier: Apache-2.0
"""The speed-up of kernels that only the old device has run, learnt from the cases of both.

Extremely randomized trees (Geurts, Ernst and Wehenkel 2006; scikit-learn's) over the features of features.py.
Intervals are conformal: as wide as the errors on experiments that the trees had not seen, in units of the
trees' disagreement. A kernel further from all cases than nearly all held-out cases are from the others is
unknown: the suite has nothing like it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

TREES = 100
LEVEL = 0.9  # of the intervals
FOLDS = 8  # of the cross-validation that the intervals are calibrated on
NEIGHBOURS = 5  # cases that a kernel must lie near to be known
FURTHEST = 0.99  # of held-out cases are nearer to the others than an unknown kernel is
FLOOR = 0.005  # least disagreement that counts: reruns of a case differ by as much


@dataclass
class Estimates:
    """Each kernel's log speed-up, the trees' disagreement, and the distance to the nearest cases."""

    log_speedup: np.ndarray
    disagreement: np.ndarray
    distance: np.ndarray


class Trees:
    """Trees fitted to cases, which predict others."""

    def __init__(self, features: pd.DataFrame, log_speedup: np.ndarray) -> None:
        from scipy.spatial import cKDTree  # which comes with scikit-learn
        from sklearn.ensemble import ExtraTreesRegressor  # takes a second

        self.trees = ExtraTreesRegressor(TREES, random_state=0, n_jobs=4)
        self.trees.fit(features.to_numpy(), log_speedup)
        spread = features.std().to_numpy()
        self.scale = np.where(spread > 0, spread, 1)
        self.cases = cKDTree(features.to_numpy() / self.scale)

    def predict(self, features: pd.DataFrame) -> Estimates:
        values = features.to_numpy()
        each = np.stack([tree.predict(values.astype(np.float32)) for tree in self.trees.estimators_])
        near = min(NEIGHBOURS, self.cases.n)
        distance, _ = self.cases.query(values / self.scale, [near])
        return Estimates(each.mean(axis=0), each.std(axis=0) + FLOOR, distance[:, 0])


def cross_validate(features: pd.DataFrame, log_speedup: np.ndarray, groups: np.ndarray) -> Estimates:
    """Predictions of each group's cases by trees that were fitted without it."""
    whole = Estimates(*(np.zeros(len(features)) for _ in range(3)))
    for group in np.unique(groups):
        here = groups == group
        found = Trees(features[~here], log_speedup[~here]).predict(features[here])
        whole.log_speedup[here], whole.disagreement[here] = found.log_speedup, found.disagreement
        whole.distance[here] = found.distance
    return whole


def reach(found: Estimates, log_speedup: np.ndarray) -> float:
    """How many disagreements hold LEVEL of the errors."""
    errors = np.abs(log_speedup - found.log_speedup) / found.disagreement
    return float(np.quantile(errors, min(1, LEVEL * (1 + 1 / len(errors)))))


def folds(experiments: pd.Series) -> np.ndarray:
    """Whole experiments dealt to FOLDS groups, the largest first and each to the smallest group."""
    sizes = np.zeros(FOLDS)
    group = {}
    for name, count in experiments.value_counts().sort_index().sort_values(ascending=False).items():
        group[name] = int(sizes.argmin())
        sizes[group[name]] += count
    return experiments.map(group).to_numpy()


def predict(cases: pd.DataFrame, speedup: pd.Series, experiments: pd.Series, kernels: pd.DataFrame
            ) -> pd.DataFrame:  # fmt: skip
    """A row per kernel: speedup, low, high (LEVEL of kernels lie between), known.

    cases and kernels: the same columns of features. ValueError where the cases are of one experiment alone.
    """
    groups = folds(experiments)
    if len(np.unique(groups)) < 2:
        raise ValueError("a prediction needs cases of several experiments that both devices ran")
    logs = np.log(speedup.to_numpy())
    before = cross_validate(cases, logs, groups)
    found = Trees(cases, logs).predict(kernels)
    wide = reach(before, logs) * found.disagreement
    return pd.DataFrame(
        dict(
            speedup=np.exp(found.log_speedup), low=np.exp(found.log_speedup - wide),
            high=np.exp(found.log_speedup + wide),
            known=found.distance <= np.quantile(before.distance, FURTHEST),
        ),
        index=kernels.index,
    )  # fmt: skip


def errors(cases: pd.DataFrame, speedup: pd.Series, experiments: pd.Series) -> pd.DataFrame:
    """Leave-one-experiment-out validation: a row per case with `error` (fraction), `covered` and `known`.

    Its interval comes from the errors of the other experiments.
    """
    logs, names = np.log(speedup.to_numpy()), experiments.to_numpy()
    found = cross_validate(cases, logs, names)
    off = np.abs(logs - found.log_speedup)
    covered, known = np.zeros(len(cases), bool), np.zeros(len(cases), bool)
    for name in np.unique(names):
        here = names == name
        parts = (found.log_speedup, found.disagreement, found.distance)
        others = Estimates(*(values[~here] for values in parts))
        covered[here] = off[here] <= reach(others, logs[~here]) * found.disagreement[here]
        known[here] = found.distance[here] <= np.quantile(others.distance, FURTHEST)
    error = np.abs(np.expm1(found.log_speedup - logs))
    return pd.DataFrame(dict(experiment=names, error=error, covered=covered, known=known), index=cases.index)
