"""Columns of many levels: the mean response of a level, shrunk, and how many rows have it.

A mean that has seen a row's own response tells it to whoever fits the row. So training rows get means of the other
folds (cross-fitting), and new rows those of all training rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.features.scaling import standard_scaling

N_FOLDS = 5
SEED, STREAM = 0, 25  # the key of the folds: the same rows, the same folds


@dataclass(frozen=True)
class LevelMeans:
    """What a level becomes.

    Attributes
    ----------
    deviations : for each response, one number a level: its shrunk mean minus that of all rows
    counts : rows of each level
    scales : for each response, what deviations are multiplied by
    count_shift, count_scale : what is subtracted from the logarithm of a count, and what that is multiplied by
    """

    deviations: tuple[tuple[float, ...], ...]
    counts: tuple[int, ...]
    scales: tuple[float, ...]
    count_shift: float = 0.0
    count_scale: float = 1.0

    @property
    def names(self) -> list[str]:
        """The names of the numbers: the mean, one for each of several responses, and the count."""
        several = len(self.scales) > 1
        return [*(f"mean {i}" if several else "mean" for i in range(len(self.scales))), "count"]


def deal_folds(codes: FloatArray) -> IntArray:
    """Return a fold for every row of (n, c) codes; equal rows, and those with the same gaps, share theirs.

    The fold depends on what a row holds and not on its place in the table, so that the order of rows changes nothing.
    """
    _, member = np.unique(np.nan_to_num(codes, nan=-np.inf), axis=0, return_inverse=True)
    member = member.reshape(-1).astype(np.int64)
    n_distinct = int(member.max()) + 1
    return shuffle(np.arange(n_distinct), n_distinct, SEED, STREAM)[member] % N_FOLDS


def shrunk_deviations(codes: IntArray, Y: FloatArray, n_levels: int) -> FloatArray:
    """Return ``n (m - M) / (n + k)`` of every level and response, (n_levels, p).

    n and m are rows and mean of a level, M the mean of all rows, and k = (variance within levels) / (variance between
    them), both estimated by analysis of variance: the less levels differ, the more a mean is taken for chance.

    Examples
    --------
    >>> import numpy as np
    >>> codes, Y = np.array([0, 0, 1, 1]), np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> shrunk_deviations(codes, Y, 3).ravel().round(3).tolist()
    [-4.9, 4.9, 0.0]
    """
    n, p = Y.shape
    counts = np.bincount(codes, minlength=n_levels).astype(np.float64)
    out = np.zeros((n_levels, p))
    there = counts > 0
    spare = n - np.count_nonzero(there)  # degrees of freedom within levels
    if not spare or np.count_nonzero(there) < 2:
        return out
    for j in range(p):
        centered = Y[:, j] - Y[:, j].mean()
        means = np.bincount(codes, centered, n_levels) / np.maximum(counts, 1.0)
        within = np.sum((centered - means[codes]) ** 2) / spare
        excess = np.sum(counts * means**2) - (np.count_nonzero(there) - 1) * within
        between = excess / (n - np.sum(counts**2) / n)
        if between > 0:
            out[:, j] = counts * means / (counts + within / between)
    return out


def cross_fitted(codes: FloatArray, Y: FloatArray, folds: IntArray, n_levels: int) -> FloatArray:
    """Return every row's deviations by the rows of the other folds, (n, p); 0 where the level is missing or new."""
    out = np.zeros(Y.shape)
    known = codes >= 0  # not a gap
    for fold in range(N_FOLDS):
        rest, here = known & (folds != fold), known & (folds == fold)
        if rest.any() and here.any():
            found = shrunk_deviations(codes[rest].astype(np.int64), Y[rest], n_levels)
            out[here] = found[codes[here].astype(np.int64)]
    return out


def learn_means(codes: FloatArray, Y: FloatArray, fitted: FloatArray, n_levels: int) -> LevelMeans:
    """Learn from all rows; ``fitted`` are their cross-fitted deviations, which decide the scale."""
    known = codes >= 0
    places = codes[known].astype(np.int64)
    found = shrunk_deviations(places, Y[known], n_levels)
    counts = np.bincount(places, minlength=n_levels)
    logs = standard_scaling(np.log(counts[places])[:, None], np.ones(len(places)))
    spread = np.sqrt(np.mean(fitted**2, axis=0))
    scales = np.divide(1.0, spread, out=np.zeros(len(spread)), where=spread > 0)
    return LevelMeans(
        deviations=tuple(tuple(column) for column in found.T.tolist()),
        counts=tuple(counts.tolist()),
        scales=tuple(scales.tolist()),
        count_shift=float(logs.shift[0]),
        count_scale=float(logs.scale[0]),
    )


def mean_features(codes: FloatArray, means: LevelMeans, fitted: FloatArray | None = None) -> FloatArray:
    """Return the numbers, (n, p + 1): deviations, of all rows or as they were cross-fitted, and the logarithmic count.

    A level that is missing or new deviates by 0 and counts once, as one that a single row had.
    """
    places = np.where(codes >= 0, codes, -1).astype(np.int64)
    if fitted is None:
        table = np.vstack([np.array(means.deviations).T, np.zeros(len(means.scales))])
        fitted = table[places]
    logs = np.log(np.maximum(np.append(np.array(means.counts), 1)[places], 1))
    return np.column_stack([fitted * np.array(means.scales), (logs - means.count_shift) * means.count_scale])
