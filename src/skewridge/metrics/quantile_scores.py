"""Scores of predicted quantiles: one number for the whole distribution, or for the part of it that matters.

All are negatively oriented, less is better, and proper: no other quantiles than the true ones have a better
expectation. Quantiles are an (n, L) array with a column a level, as ``predict_quantiles(X, levels)`` returns them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_real, check_vector
from skewridge.metrics._forecasts import check_quantiles, mean_over_rows
from skewridge.metrics.rare import RARE_SHARE, rare_slices
from skewridge.response.slices import slice_edges, slice_labels


def pinball_loss(y_true: Any, quantiles: Any, levels: Any, *, sample_weight: Any = None) -> FloatArray:
    """Return the mean pinball loss at every level: (y - q) tau where y is above q, (q - y)(1 - tau) where below.

    Parameters
    ----------
    y_true : (n,) array
    quantiles : (n, L) array
        The predicted quantiles; (n,) where there is one level.
    levels : (L,) array in ]0, 1[, increasing
    sample_weight : (n,) array, optional
        How often each row occurs.

    Returns
    -------
    loss : (L,) array

    Examples
    --------
    >>> pinball_loss([0.0, 10.0], [[1.0, 4.0], [1.0, 4.0]], [0.5, 0.9])
    array([2.5, 2.9])
    """
    y, q, tau = check_quantiles(y_true, quantiles, levels)
    return mean_over_rows(_pinball(y, q, tau), sample_weight)


def crps(y_true: Any, quantiles: Any, levels: Any, *, sample_weight: Any = None) -> float:
    """Return the continuous ranked probability score, in units of y.

    ``CRPS(F, y) = integral (F(z) - 1{y <= z})^2 dz = 2 integral over tau of the pinball loss at tau``, averaged over
    rows; of a prediction without spread it is the absolute error. The second integral is a weighted mean over the
    levels: a level counts for half the way to either neighbour, so that levels at equal distances count alike.
    What lies beyond the outermost levels is not seen; 0.01, 0.02, ..., 0.99 are a good choice.

    Parameters
    ----------
    y_true : (n,) array
    quantiles : (n, L) array
    levels : (L,) array in ]0, 1[, increasing
    sample_weight : (n,) array, optional
        How often each row occurs.

    Examples
    --------
    >>> import numpy as np
    >>> levels = np.arange(1, 100) / 100
    >>> sure, unsure = np.full((1, 99), 3.0), 6.0 * levels[None, :]  # 3, and anything between 0 and 6
    >>> round(crps([3.0], sure, levels), 3), round(crps([3.0], unsure, levels), 3)
    (0.0, 0.505)
    >>> round(crps([5.0], sure, levels), 3), round(crps([5.0], unsure, levels), 3)
    (2.0, 1.178)
    """
    y, q, tau = check_quantiles(y_true, quantiles, levels)
    return _crps(y, q, tau, sample_weight)


def upper_crps(y_true: Any, quantiles: Any, levels: Any, *, threshold: float, sample_weight: Any = None) -> float:
    """Return the CRPS above a threshold t: how well the upper tail is predicted.

    ``integral from t to infinity of (F(z) - 1{y <= z})^2 dz``, which is the CRPS of max(y, t). All rows count:
    to average an ordinary score over rows with large y would favour predictions that are always large.

    Parameters
    ----------
    y_true : (n,) array
    quantiles : (n, L) array
    levels : (L,) array in ]0, 1[, increasing
    threshold : float
        t; the 95% quantile of the training response, say.
    sample_weight : (n,) array, optional
        How often each row occurs.

    Examples
    --------
    >>> quantiles = [[1.0, 2.0, 3.0], [4.0, 8.0, 9.0]]
    >>> round(upper_crps([2.5, 8.0], quantiles, [0.25, 0.5, 0.75], threshold=5.0), 3)
    0.333
    """
    y, q, tau = check_quantiles(y_true, quantiles, levels)
    t = check_real("threshold", threshold, -np.inf)
    return _crps(np.maximum(y, t), np.maximum(q, t), tau, sample_weight)


def rare_crps(
    y_true: Any,
    quantiles: Any,
    levels: Any,
    *,
    y_ref: Any = None,
    slices: Any = "scott",
    share: float = RARE_SHARE,
    sample_weight: Any = None,
) -> float:
    """Return the CRPS over the rare region of the response.

    ``integral over the rare region R of (F(z) - 1{y <= z})^2 dz``, which is the CRPS of v(y), where v(z) is how much
    of R lies below z. R is the region of :func:`skewridge.metrics.rare_region`: slices of the training response that
    hold few rows, and all that lies outside its range. All rows count.

    Parameters
    ----------
    y_true : (n,) array
    quantiles : (n, L) array
    levels : (L,) array in ]0, 1[, increasing
    y_ref : (N,) array, optional
        The training response; y_true unless given.
    slices, share
        As for :func:`skewridge.metrics.rare_region`.
    sample_weight : (n,) array, optional
        How often each row occurs.

    Examples
    --------
    >>> import numpy as np
    >>> y_ref = np.r_[np.zeros(99), 9.0]  # slices [0, 3], [3, 6] and [6, 9]: the last two are rare
    >>> rare_crps([2.0, 5.0], [[1.0], [1.0]], [0.5], y_ref=y_ref, slices=3)
    1.0
    """
    y, q, tau = check_quantiles(y_true, quantiles, levels)
    ref = y if y_ref is None else check_vector("y_ref", y_ref)
    points, below = _rare_measure(ref, slices, check_real("share", share, 0, 1))
    return _crps(_amount_below(y, points, below), _amount_below(q, points, below), tau, sample_weight)


def interval_score(y_true: Any, low: Any, high: Any, *, coverage: float = 0.9, sample_weight: Any = None) -> float:
    """Return the interval score: the width, and 2 / (1 - coverage) times the distance of y where it lies outside.

    ``(high - low) + 2/a max(low - y, 0) + 2/a max(y - high, 0)`` with a = 1 - coverage, averaged over rows.

    Parameters
    ----------
    y_true, low, high : (n,) arrays
        As ``predict_interval(X, coverage)`` returns them.
    coverage : float in ]0, 1[, default=0.9
    sample_weight : (n,) array, optional
        How often each row occurs.

    Examples
    --------
    >>> round(interval_score([1.0, 7.0], [0.0, 2.0], [4.0, 6.0], coverage=0.9), 6)
    14.0
    """
    y = check_vector("y_true", y_true)
    ends = check_vector("low", low, len(y)), check_vector("high", high, len(y))
    if (ends[0] > ends[1]).any():
        row = int(np.argmax(ends[0] > ends[1]))
        raise ValueError(
            f"low must not exceed high: row {row} has low {ends[0][row]:g} and high {ends[1][row]:g}. "
            "Pass the lower ends first."
        )
    miss = 1.0 - check_real("coverage", coverage, 0, 1, open_low=True)
    if miss == 0:
        raise ValueError("coverage must be below 1: every miss would cost infinitely much; got 1.0. Use 0.99, say.")
    outside = np.maximum(ends[0] - y, 0.0) + np.maximum(y - ends[1], 0.0)
    return float(mean_over_rows(ends[1] - ends[0] + 2.0 / miss * outside, sample_weight))


def level_weights(levels: FloatArray) -> FloatArray:
    """Return what every level counts for in an integral over levels: half the way to either neighbour; sum 1.

    The outermost levels count for as much outwards as inwards, but not beyond 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> level_weights(np.array([0.2, 0.4, 0.6])).round(3), level_weights(np.array([0.5, 0.9])).round(3)
    (array([0.333, 0.333, 0.333]), array([0.571, 0.429]))
    """
    if len(levels) == 1:
        return np.ones(1)
    half = np.diff(levels) / 2.0
    first, last = min(half[0], levels[0]), min(half[-1], 1.0 - levels[-1])
    widths = np.r_[first, half] + np.r_[half, last]
    return np.asarray(widths / widths.sum())


def _crps(y: FloatArray, quantiles: FloatArray, levels: FloatArray, sample_weight: Any) -> float:
    loss = mean_over_rows(_pinball(y, quantiles, levels), sample_weight)
    return float(2.0 * np.dot(loss, level_weights(levels)))


def _pinball(y: FloatArray, quantiles: FloatArray, levels: FloatArray) -> FloatArray:
    error = y[:, None] - quantiles
    return np.maximum(levels * error, (levels - 1.0) * error)


def _rare_measure(y_ref: FloatArray, slices: Any, share: float) -> tuple[FloatArray, FloatArray]:
    """Edges of slices within the range of y_ref, and how much of the rare region lies between the first and each."""
    edges = slice_edges(y_ref, slices)
    rare = rare_slices(np.bincount(slice_labels(y_ref, edges), minlength=len(edges) - 1), share)
    points = np.clip(edges, y_ref.min(), y_ref.max())
    points[[0, -1]] = y_ref.min(), y_ref.max()
    return points, np.r_[0.0, np.cumsum(np.diff(points) * rare)]


def _amount_below(values: FloatArray, points: FloatArray, below: FloatArray) -> FloatArray:
    """How much of the rare region lies below values: linear between points, and all is rare beyond them."""
    inside = np.interp(values, points, below)
    beyond = np.minimum(values - points[0], 0.0) + np.maximum(values - points[-1], 0.0)
    return np.asarray(inside + beyond)
