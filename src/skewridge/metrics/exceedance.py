"""Scores of stated probabilities that y exceeds a threshold, and whether they, and quantiles, are honest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_integer, check_weights
from skewridge.metrics._forecasts import check_exceedance, check_quantiles, mean_over_rows

BINS = ("rows", "width")


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
    return _as_asked(mean_over_rows((stated - exceeded) ** 2, sample_weight), thresholds)


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
    happened = np.where(exceeded > 0, stated, 1.0 - stated)
    with np.errstate(divide="ignore"):
        surprise = -np.log(happened)
    return _as_asked(mean_over_rows(surprise, sample_weight), thresholds)


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
    exceeded, stated = (part[:, 0] for part in check_exceedance(y_true, probability, _one(threshold)))
    check_choice("by", by, BINS)
    weights, kept = check_weights(sample_weight, len(stated))
    exceeded, stated = exceeded[kept], stated[kept]
    labels = _bins(stated, weights, check_integer("bins", bins, 1), by)
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
    low, high = _jump(y, q, tau)
    drawn = np.random.default_rng(random_state).random(len(y))
    return np.asarray(low + drawn * (high - low))


def _jump(y: FloatArray, quantiles: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F just below y and at y, where quantiles tell; from 0 or to 1 at and beyond the outermost."""
    rows, last = np.arange(len(y)), len(levels)
    below, upto = (quantiles < y[:, None]).sum(axis=1), (quantiles <= y[:, None]).sum(axis=1)
    ends = np.r_[0.0, levels, 1.0]
    left, right = np.maximum(below - 1, 0), np.minimum(below, last - 1)
    gap = quantiles[rows, right] - quantiles[rows, left]
    part = np.divide(y - quantiles[rows, left], gap, out=np.zeros(len(y)), where=gap > 0)
    between = levels[left] + part * (levels[right] - levels[left])
    inside = (below == upto) & (below > 0) & (below < last)  # between two quantiles, at neither
    low = np.where(below == 0, 0.0, ends[np.minimum(below + 1, last)])
    high = np.where(upto == last, 1.0, ends[np.maximum(upto, 1)])
    return np.where(inside, between, low), np.where(inside, between, high)


def _bins(stated: FloatArray, weights: FloatArray, bins: int, by: str) -> Any:
    """The bin of every probability; equal ones share it."""
    if by == "width":
        return np.minimum((stated * bins).astype(np.int64), bins - 1)
    _, places = np.unique(stated, return_inverse=True)
    held = np.bincount(places, weights)
    middle = (np.cumsum(held) - held / 2.0) / held.sum()
    return np.minimum((middle * bins).astype(np.int64), bins - 1)[places]


def _one(threshold: Any) -> Any:
    if np.ndim(threshold) != 0:
        raise ValueError(
            f"threshold must be one number; got an array of shape {np.shape(threshold)}. "
            "Call reliability once a threshold."
        )
    return threshold


def _as_asked(scores: FloatArray, thresholds: Any) -> Any:
    """A float for one threshold, an array for an array of them."""
    return float(scores[0]) if np.ndim(thresholds) == 0 else scores
