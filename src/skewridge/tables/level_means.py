"""Columns of many levels: the mean response of a level, shrunk, and how many rows have it.

A mean that has seen a row's own response tells it to whoever fits the row. So training rows get means of the other
folds (cross-fitting), and new rows those of all training rows. Where rows have an order, those of the later half see
earlier rows only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import BoolArray, FloatArray, IntArray
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


@dataclass(frozen=True)
class FoldPlan:
    """Which responses the mean of a row may be made of: those of other parts, and never its own.

    Attributes
    ----------
    parts : (n,) array of numbers from 0; -1 for rows that no model is fitted to, whose means are those of new rows
    weights : (n,) array, how often each row occurs; 0 in part -1
    first_ahead : the first part that sees only the parts before it; those before see each other. None: every part sees
        all others
    """

    parts: IntArray
    weights: FloatArray
    first_ahead: int | None = None

    def seen_by(self, part: int) -> BoolArray:
        """The rows whose responses the rows of a part may see, (n,)."""
        if self.first_ahead is None or part < 0:
            return (self.parts >= 0) & (self.parts != part)
        end = part if part >= self.first_ahead else self.first_ahead
        return (self.parts >= 0) & (self.parts < end) & (self.parts != part)


def deal_folds(codes: FloatArray) -> IntArray:
    """Return a fold for every row of (n, c) codes; equal rows, and those with the same gaps, share theirs.

    The fold depends on what a row holds and not on its place in the table, so that the order of rows changes nothing.
    """
    _, member = np.unique(np.nan_to_num(codes, nan=-np.inf), axis=0, return_inverse=True)
    member = member.reshape(-1).astype(np.int64)
    n_distinct = int(member.max()) + 1
    return shuffle(np.arange(n_distinct), n_distinct, SEED, STREAM)[member] % N_FOLDS


def shrunk_deviations(codes: IntArray, Y: FloatArray, n_levels: int, weights: FloatArray | None = None) -> FloatArray:
    """Return ``n (m - M) / (n + k)`` of every level and response, (n_levels, p).

    n and m are rows and mean of a level, M the mean of all rows, and k = (variance within levels) / (variance between
    them), both estimated by analysis of variance: the less levels differ, the more a mean is taken for chance. A row of
    weight 2 is two rows.

    Examples
    --------
    >>> import numpy as np
    >>> codes, Y = np.array([0, 0, 1, 1]), np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> shrunk_deviations(codes, Y, 3).ravel().round(3).tolist()
    [-4.9, 4.9, 0.0]
    """
    w = np.ones(len(codes)) if weights is None else weights
    counts = np.bincount(codes, w, n_levels)
    n, n_there = float(np.sum(w)), int(np.count_nonzero(counts))
    out = np.zeros((n_levels, Y.shape[1]))
    spare = n - n_there  # degrees of freedom within levels
    if spare <= 0 or n_there < 2:
        return out
    for j, y in enumerate(Y.T):
        centered = y - np.average(y, weights=weights)
        means = np.bincount(codes, w * centered, n_levels) / np.where(counts > 0, counts, 1.0)
        within = np.sum(w * (centered - means[codes]) ** 2) / spare
        excess = np.sum(counts * means**2) - (n_there - 1) * within
        between = excess / (n - np.sum(counts**2) / n)
        if between > 0:
            out[:, j] = counts * means / (counts + within / between)
    return out


def cross_fitted(codes: FloatArray, Y: FloatArray, plan: FoldPlan, n_levels: int) -> FloatArray:
    """Return every row's deviations by the rows that it may see, (n, p); 0 where the level is missing or new."""
    out = np.zeros(Y.shape)
    known = codes >= 0  # not a gap
    for part in np.unique(plan.parts).tolist():
        seen, here = known & plan.seen_by(part), known & (plan.parts == part)
        if seen.any() and here.any():
            found = shrunk_deviations(codes[seen].astype(np.int64), Y[seen], n_levels, plan.weights[seen])
            out[here] = found[codes[here].astype(np.int64)]
    return out


def learn_means(
    codes: FloatArray, Y: FloatArray, fitted: FloatArray, n_levels: int, weights: FloatArray | None = None
) -> LevelMeans:
    """Learn from all rows; ``fitted`` are their cross-fitted deviations, which decide the scale."""
    every = np.ones(len(codes)) if weights is None else weights
    known = (codes >= 0) & (every > 0)
    places, w = codes[known].astype(np.int64), every[known]
    found = shrunk_deviations(places, Y[known], n_levels, w)
    counts = np.rint(np.bincount(places, w, n_levels)).astype(np.int64)
    logs = standard_scaling(np.log(np.maximum(counts[places], 1))[:, None], w)
    spread = np.sqrt(np.average(fitted**2, axis=0, weights=weights))
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
