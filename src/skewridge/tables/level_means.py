"""Columns of many levels: the mean response of a level, shrunk, and how many rows have it.

A mean that has seen a row's own response tells it to whoever fits the row. So training rows get means of the other
folds (cross-fitting), and new rows those of all training rows. Where rows have an order, those of the later half see
earlier rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_plain, check_same_order, check_weights
from skewridge.features.scaling import standard_scaling
from skewridge.response.groups import coded_labels, ordered_blocks

N_FOLDS = 5
SEED, STREAM = 0, 25  # the key of the folds: the same rows, the same folds


@dataclass(frozen=True)
class LevelMeans:
    """What a level becomes, of p responses."""

    deviations: tuple[tuple[float, ...], ...]  # p, of one number a level: its shrunk mean minus that of all rows
    counts: tuple[int, ...]  # rows of each level
    scales: tuple[float, ...]  # p, what deviations are multiplied by
    count_shift: float = 0.0  # what is subtracted from the logarithm of a count
    count_scale: float = 1.0  # and what that is multiplied by

    @property
    def names(self) -> list[str]:
        """The names of the numbers: the mean, one for each of several responses, and the count."""
        several = len(self.scales) > 1
        return [*(f"mean {i}" if several else "mean" for i in range(len(self.scales))), "count"]


def assign_folds(codes: FloatArray) -> IntArray:
    """A fold for every row of (n, c) codes, (n,); equal rows, and those with the same gaps, share theirs.

    The fold depends on what a row holds and not on its place in the table, so that the order of rows changes nothing.
    """
    _, member = np.unique(np.nan_to_num(codes, nan=-np.inf), axis=0, return_inverse=True)
    member = member.reshape(-1).astype(np.int64)
    n_distinct = int(member.max()) + 1
    return shuffle(np.arange(n_distinct), n_distinct, SEED, STREAM)[member] % N_FOLDS


def assign_parts(
    codes: Sequence[FloatArray], X: Any, groups: Any = None, order: Any = None, sample_weight: Any = None
) -> tuple[IntArray, FloatArray, int | None]:
    """Parts and weights of rows, (n,) each, and the first part that sees only those before it; see `cross_fitted`.

    Parts are folds that equal rows share, or those of one group, or blocks of an order.
    """
    n_rows = len(codes[0])
    positive, kept = check_weights(sample_weight, n_rows, X, are_counts=False)
    weights, parts, first_ahead = np.zeros(n_rows), np.full(n_rows, -1), None
    weights[kept] = positive
    if order is not None:
        ranks = coded_labels("order", X, order, n_rows, sortable=True)
        blocks = ordered_blocks(ranks[kept], positive)
        parts[kept], first_ahead = blocks.labels, blocks.first_ahead
    elif groups is not None:
        _, member = np.unique(np.asarray(groups).astype(str)[kept], return_inverse=True)
        parts[kept] = assign_folds(member.reshape(-1, 1).astype(np.float64))
    else:
        parts[kept] = assign_folds(np.column_stack([code[kept] for code in codes]))
    return parts, weights, first_ahead


def check_response(column: str, X: Any, y: Any, n_rows: int) -> FloatArray:
    """The responses, (n, p), or raise with the column that needs them."""
    if y is None:
        raise ValueError(
            f"Column {column!r} has many levels, which become means of the response: call fit_transform(X, y) or "
            "fit(X, y). Without a response allow more max_categories, or leave it out: "
            f"kinds={{{column!r}: 'drop'}}."
        )
    check_plain("y", y)
    check_same_order(X, y)
    Y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(len(y), -1)
    check_consistent_length(np.empty(n_rows), Y)
    return Y


def shrunk_deviations(codes: IntArray, Y: FloatArray, n_levels: int, weights: FloatArray) -> FloatArray:
    """``n (m - M) / (n + k)`` of every level and response, (n_levels, p).

    n and m are rows and mean of a level, M the mean of all rows, and k = (variance within levels) / (variance between
    them), both estimated by analysis of variance: the less levels differ, the more a mean is taken for chance. A row of
    weight 2 is two rows.
    """
    counts = np.bincount(codes, weights, n_levels)
    n, n_there = float(np.sum(weights)), int(np.count_nonzero(counts))
    out = np.zeros((n_levels, Y.shape[1]))
    spare = n - n_there  # degrees of freedom within levels
    if spare <= 0 or n_there < 2:
        return out
    for j, y in enumerate(Y.T):
        centered = y - np.average(y, weights=weights)
        means = np.bincount(codes, weights * centered, n_levels) / np.where(counts > 0, counts, 1.0)
        within = np.sum(weights * (centered - means[codes]) ** 2) / spare
        excess = np.sum(counts * means**2) - (n_there - 1) * within
        between = excess / (n - np.sum(counts**2) / n)
        if between > 0:
            out[:, j] = counts * means / (counts + within / between)
    return out


def cross_fitted(
    codes: FloatArray,
    Y: FloatArray,
    n_levels: int,
    parts: IntArray,
    weights: FloatArray,
    first_ahead: int | None = None,
) -> FloatArray:
    """Every row's deviations by the rows that it may see, (n, p); 0 where the level is missing or new.

    Rows see the other parts and never their own; from part ``first_ahead`` on, only the parts before. Part -1, of
    weight 0, is of rows that no model is fitted to: they see all others, as new rows do, and are seen by none.
    """
    out = np.zeros(Y.shape)
    known = codes >= 0  # not a gap
    for part in np.unique(parts).tolist():
        seen = known & (parts >= 0) & (parts != part)
        if first_ahead is not None and part >= 0:
            seen &= parts < max(part, first_ahead)
        here = known & (parts == part)
        if seen.any() and here.any():
            found = shrunk_deviations(codes[seen].astype(np.int64), Y[seen], n_levels, weights[seen])
            out[here] = found[codes[here].astype(np.int64)]
    return out


def learn_means(codes: FloatArray, Y: FloatArray, fitted: FloatArray, n_levels: int, weights: FloatArray) -> LevelMeans:
    """Learn from all rows; ``fitted`` are their cross-fitted deviations, (n, p), which decide the scale."""
    known = (codes >= 0) & (weights > 0)
    places, w = codes[known].astype(np.int64), weights[known]
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
    """The numbers, (n, p + 1): deviations, of all rows or as they were cross-fitted, and the logarithmic count.

    A level that is missing or new deviates by 0 and counts once, as one that a single row had.
    """
    places = np.where(codes >= 0, codes, -1).astype(np.int64)
    if fitted is None:
        table = np.vstack([np.array(means.deviations).T, np.zeros(len(means.scales))])
        fitted = table[places]
    logs = np.log(np.maximum(np.append(np.array(means.counts), 1)[places], 1))
    return np.column_stack([fitted * np.array(means.scales), (logs - means.count_shift) * means.count_scale])
