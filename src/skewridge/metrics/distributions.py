"""Scores of predicted distributions, given as quantiles, intervals or stated probabilities that y exceeds a threshold.

All scores are negatively oriented, less is better, and proper: no other predictions than the true ones have a better
expectation. Quantiles are an (n, L) array with a column a level, as ``predict_quantiles(X, levels)`` returns them, and
probabilities an (n, T) array with a column a threshold, as ``predict_exceedance(X, thresholds)`` does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import (
    check_choice,
    check_integer,
    check_plain,
    check_real,
    check_same_order,
    check_vector,
    check_weights,
)


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
    error = y[:, None] - q
    return mean_over_rows(np.maximum(tau * error, (tau - 1.0) * error), sample_weight)


def crps(y_true: Any, quantiles: Any, levels: Any, *, sample_weight: Any = None) -> float:
    """Return the continuous ranked probability score, in units of y.

    ``CRPS(F, y) = integral (F(z) - 1{y <= z})^2 dz = 2 integral over tau of the pinball loss at tau``, averaged over
    rows; of a prediction without spread it is the absolute error. The second integral is a weighted mean over the
    levels: a level counts for half the way to either neighbour, so that levels at equal distances count alike.
    What lies beyond the outermost levels does not count; 0.01, 0.02, ..., 0.99 are a good choice.

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
    loss = pinball_loss(y_true, quantiles, levels, sample_weight=sample_weight)
    return float(2.0 * np.dot(loss, level_weights(check_levels(levels))))


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
    return crps(np.maximum(y, t), np.maximum(q, t), tau, sample_weight=sample_weight)


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
    lower, upper = check_vector("low", low, len(y)), check_vector("high", high, len(y))
    crossed = lower > upper
    if crossed.any():
        row = int(np.argmax(crossed))
        raise ValueError(
            f"low must not exceed high: row {row} has low {lower[row]:g} and high {upper[row]:g}. "
            "Pass the lower ends first."
        )
    miss = 1.0 - check_real("coverage", coverage, 0, 1, open_low=True)
    if miss == 0:
        raise ValueError("coverage must be below 1: every miss would cost infinitely much; got 1.0. Use 0.99, say.")
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return float(mean_over_rows(upper - lower + 2.0 / miss * outside, sample_weight))


def exceedance_brier(y_true: Any, probability: Any, thresholds: Any, *, sample_weight: Any = None) -> Any:
    """Return the Brier score of stated exceedances: the mean of (p - 1{y > t})^2.

    Less is better; to state the share of rows above t for every row scores share (1 - share).

    Parameters
    ----------
    y_true : (n,) array
    probability : (n,) or (n, T) array
        P(y > t) as stated, such as ``predict_exceedance(X, thresholds)``.
    thresholds : float or (T,) array
    sample_weight : (n,) array, optional
        How often each row occurs.

    Returns
    -------
    score : float, or (T,) array where thresholds are several

    Examples
    --------
    >>> round(exceedance_brier([1.0, 5.0], [0.1, 0.8], 3.0), 3)
    0.025
    """
    exceeded, stated = check_exceedance(y_true, probability, thresholds)
    return _mean_score((stated - exceeded) ** 2, thresholds, sample_weight)


def exceedance_log_score(y_true: Any, probability: Any, thresholds: Any, *, sample_weight: Any = None) -> Any:
    """Return the logarithmic score of stated exceedances: the mean of -log of what was stated for what came.

    ``-log p`` where y > t, ``-log(1 - p)`` where not; less is better. It is infinite where something happened that
    was stated to be impossible.

    Parameters
    ----------
    y_true : (n,) array
    probability : (n,) or (n, T) array
        P(y > t) as stated, such as ``predict_exceedance(X, thresholds)``.
    thresholds : float or (T,) array
    sample_weight : (n,) array, optional
        How often each row occurs.

    Returns
    -------
    score : float, or (T,) array where thresholds are several

    Examples
    --------
    >>> round(exceedance_log_score([1.0, 5.0], [0.1, 0.8], 3.0), 3)
    0.164
    """
    exceeded, stated = check_exceedance(y_true, probability, thresholds)
    with np.errstate(divide="ignore"):
        surprise = -np.log(np.where(exceeded > 0, stated, 1.0 - stated))
    return _mean_score(surprise, thresholds, sample_weight)


class Reliability(NamedTuple):
    """Stated and observed frequencies, a bin each.

    Attributes
    ----------
    stated : (b,) array, mean of the stated probabilities
    observed : (b,) array, share of rows where the event happened
    n_rows : (b,) array, rows in the bin
    """

    stated: FloatArray
    observed: FloatArray
    n_rows: FloatArray


def reliability(
    y_true: Any, probability: Any, threshold: float, *, bins: int = 10, by: str = "rows", sample_weight: Any = None
) -> Reliability:
    """Return how often y exceeded a threshold where that was stated to be so likely.

    Rows are binned by the stated probability; honest ones have ``observed`` near ``stated`` in every bin, within about
    two standard errors ``sqrt(stated (1 - stated) / n_rows)``.

    Parameters
    ----------
    y_true, probability : (n,) arrays
        The response, and P(y > threshold) as stated.
    threshold : float
    bins : int, default=10
        How many bins; those without rows are left out.
    by : {"rows", "width"}, default="rows"
        "rows": about as many rows in every bin, equal probabilities in one. "width": bins of equal width.
    sample_weight : (n,) array, optional
        How often each row occurs.

    Examples
    --------
    >>> found = reliability([1, 2, 9, 1, 8, 9], [0.1, 0.1, 0.1, 0.7, 0.7, 0.7], 5.0, bins=2)
    >>> found.stated.round(2), found.observed.round(2), found.n_rows
    (array([0.1, 0.7]), array([0.33, 0.67]), array([3., 3.]))
    """
    if np.ndim(threshold) != 0:
        raise ValueError(
            f"threshold must be one number; got an array of shape {np.shape(threshold)}. "
            "Call reliability once a threshold."
        )
    exceeded, stated = (part[:, 0] for part in check_exceedance(y_true, probability, threshold))
    check_choice("by", by, ("rows", "width"))
    weights, weighted = check_weights(sample_weight, len(stated))
    exceeded, stated = exceeded[weighted], stated[weighted]
    n_bins = check_integer("bins", bins, 1)
    if by == "width":
        place = stated
    else:  # the share of rows below, of equal probabilities that of their middle
        _, groups = np.unique(stated, return_inverse=True)
        rows = np.bincount(groups, weights)
        place = ((np.cumsum(rows) - rows / 2.0) / rows.sum())[groups]
    labels = np.minimum((place * n_bins).astype(np.int64), n_bins - 1)
    rows, likely, happened = (np.bincount(labels, part) for part in (weights, weights * stated, weights * exceeded))
    there = rows > 0
    return Reliability(likely[there] / rows[there], happened[there] / rows[there], np.asarray(rows[there], np.float64))


def pit(y_true: Any, quantiles: Any, levels: Any, *, random_state: Any = 0) -> FloatArray:
    """Return the probability integral transform F(y) of every row: uniform on [0, 1] where quantiles are honest.

    F is linear between predicted quantiles. Where y equals several of them, F jumps there (a point mass, such as
    P(y = 0) > 0), and the value is drawn uniformly from the jump; so it is beyond the outermost quantiles, from
    [0, first level] and [last level, 1].

    Parameters
    ----------
    y_true : (n,) array
    quantiles : (n, L) array
        They must not decrease along the levels.
    levels : (L,) array in ]0, 1[, increasing
    random_state : int or numpy Generator, default=0

    Returns
    -------
    values : (n,) array

    Examples
    --------
    >>> import numpy as np
    >>> levels = np.arange(1, 100) / 100
    >>> y = np.random.default_rng(0).uniform(0, 6, size=1000)
    >>> honest, narrow = np.tile(6 * levels, (1000, 1)), np.tile(2 + 2 * levels, (1000, 1))
    >>> np.histogram(pit(y, honest, levels), 4, (0, 1))[0]
    array([231, 242, 260, 267])
    >>> np.histogram(pit(y, narrow, levels), 4, (0, 1))[0]  # y is too often at either end
    array([388,  85,  90, 437])
    """
    y, q, tau = check_quantiles(y_true, quantiles, levels)
    if (np.diff(q, axis=1) < 0).any():
        row = int(np.argmax((np.diff(q, axis=1) < 0).any(axis=1)))
        raise ValueError(f"quantiles must not decrease along the levels; row {row} does. Sort every row.")
    rows, last = np.arange(len(y)), len(tau)
    below, up_to = (q < y[:, None]).sum(axis=1), (q <= y[:, None]).sum(axis=1)
    ends = np.r_[0.0, tau, 1.0]
    low = np.where(below == 0, 0.0, ends[np.minimum(below + 1, last)])  # F just below y
    high = np.where(up_to == last, 1.0, ends[np.maximum(up_to, 1)])  # F at y
    left, right = np.maximum(below - 1, 0), np.minimum(below, last - 1)
    gap = q[rows, right] - q[rows, left]
    part = np.divide(y - q[rows, left], gap, out=np.zeros(len(y)), where=gap > 0)
    inside = (below == up_to) & (below > 0) & (below < last)  # between two quantiles, at neither
    low, high = (np.where(inside, tau[left] + part * (tau[right] - tau[left]), end) for end in (low, high))
    drawn = np.random.default_rng(random_state).random(len(y))
    return np.asarray(low + drawn * (high - low))


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


def check_quantiles(y_true: Any, quantiles: Any, levels: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return y (n,), quantiles (n, L) and levels (L,), or raise."""
    check_same_order(y_true, quantiles, ("y_true", "quantiles"))
    y, tau = check_vector("y_true", y_true), check_levels(levels)
    return y, _columns("quantiles", quantiles, len(y), len(tau), "level"), tau


def check_levels(levels: Any) -> FloatArray:
    """Return levels as an array, or raise."""
    tau = check_vector("levels", np.atleast_1d(levels))
    if (tau <= 0).any() or (tau >= 1).any():
        wrong = tau[(tau <= 0) | (tau >= 1)][0]
        raise ValueError(f"levels must lie strictly between 0 and 1; got {wrong:g}. The median is 0.5, not 50.")
    if (np.diff(tau) <= 0).any():
        place = int(np.argmax(np.diff(tau) <= 0))
        raise ValueError(
            f"levels must increase; got {tau[place]:g} before {tau[place + 1]:g}. Sort them, and the columns with them."
        )
    return tau


def check_exceedance(y_true: Any, probability: Any, thresholds: Any) -> tuple[FloatArray, FloatArray]:
    """Return whether y exceeds each threshold, as 0 and 1, and the stated probabilities, both (n, T), or raise."""
    check_same_order(y_true, probability, ("y_true", "probability"))
    y = check_vector("y_true", y_true)
    t = check_vector("thresholds", np.atleast_1d(thresholds))
    stated = _columns("probability", probability, len(y), len(t), "threshold")
    if stated.min() < 0 or stated.max() > 1:
        wrong = stated.min() if stated.min() < 0 else stated.max()
        raise ValueError(f"probability must lie in [0, 1]; got {wrong:g}. Divide percentages by 100.")
    return (y[:, None] > t).astype(np.float64), stated


def mean_over_rows(losses: FloatArray, sample_weight: Any) -> FloatArray:
    """Return the mean over the first axis, rows counted as often as their weights say."""
    if sample_weight is None:
        return np.asarray(losses.mean(axis=0))
    weights, weighted = check_weights(sample_weight, len(losses))
    return np.asarray(np.average(losses[weighted], axis=0, weights=weights))


def _columns(name: str, values: Any, n_rows: int, many: int, what: str) -> FloatArray:
    """Numbers with a row for every y and a column for every level or threshold."""
    check_plain(name, values)
    array = np.asarray(values, dtype=np.float64)
    array = array[:, None] if array.ndim == 1 and many == 1 else array
    if array.shape != (n_rows, many):
        raise ValueError(
            f"{name} must have a row for every y and a column for every {what}: expected shape ({n_rows}, {many}), "
            f"got {array.shape}. Of several outputs pass one at a time."
        )
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} must hold finite numbers; got nan or inf. Leave out each {what} that cannot be predicted."
        )
    return array


def _mean_score(losses: FloatArray, thresholds: Any, sample_weight: Any) -> Any:
    """The mean over rows: a float for one threshold, (T,) for an array of them."""
    scores = mean_over_rows(losses, sample_weight)
    return float(scores[0]) if np.ndim(thresholds) == 0 else scores
