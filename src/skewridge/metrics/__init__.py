"""How good predictions are: overall, where the response is rare, and as whole distributions.

Errors where the response is rare are to be read beside the overall error. They take ``y_ref``, the training response,
which decides what is rare; without it ``y_true`` does. Scores of predicted distributions are in
:mod:`skewridge.metrics.distributions`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import BoolArray, FloatArray
from skewridge._validation import check_choice, check_real, check_same_order, check_vector
from skewridge.metrics.distributions import (
    Reliability,
    check_quantiles,
    crps,
    exceedance_brier,
    exceedance_log_score,
    interval_score,
    pinball_loss,
    pit,
    reliability,
    upper_crps,
)
from skewridge.response.slices import TOUCHING, slice_edges, slice_labels

__all__ = [
    "Reliability",
    "balanced_mse",
    "crps",
    "exceedance_brier",
    "exceedance_log_score",
    "interval_score",
    "pinball_loss",
    "pit",
    "rare_crps",
    "rare_mse",
    "rare_region",
    "relevance",
    "reliability",
    "scorer",
    "sera",
    "slice_mse",
    "upper_crps",
]

SCORINGS = ("mse", "balanced_mse", "sera")
RARE_SHARE = 0.02


def slice_mse(y_true: Any, y_pred: Any, *, y_ref: Any = None, slices: Any = "scott") -> FloatArray:
    """Return the mean squared error in every slice of the training response; nan where no row of y_true falls.

    Values outside the training range belong to the outer slices. The slices' edges are
    ``skewridge.response.slices.slice_edges(y_ref, slices)``.

    Examples
    --------
    >>> slice_mse([0, 0, 8, 9], [0, 1, 9, 11], slices=2)
    array([0.5, 2.5])
    """
    y_true, y_pred, y_ref = _check(y_true, y_pred, y_ref)
    edges = slice_edges(y_ref, slices)
    labels = slice_labels(y_true, edges)
    rows, squares = (np.bincount(labels, of, minlength=len(edges) - 1) for of in (None, (y_true - y_pred) ** 2))
    return np.divide(squares, rows, out=np.full(len(rows), np.nan), where=rows > 0)


def balanced_mse(y_true: Any, y_pred: Any, *, y_ref: Any = None, slices: Any = "scott") -> float:
    """Return the mean of the slices' mean squared errors: every part of the response's range counts alike.

    Examples
    --------
    >>> balanced_mse([0, 0, 8, 9], [0, 1, 9, 11], slices=2)
    1.5
    """
    return float(np.nanmean(slice_mse(y_true, y_pred, y_ref=y_ref, slices=slices)))


def rare_mse(
    y_true: Any,
    y_pred: Any,
    *,
    y_ref: Any = None,
    slices: Any = "scott",
    share: float = RARE_SHARE,
    by: Any = None,
) -> float:
    """Return the mean squared error in the rare region (see :func:`rare_region`).

    Parameters
    ----------
    y_true, y_pred : (n,) arrays
    y_ref : (N,) array, optional
        The training response.
    by : (n,) array, optional
        What decides whether a row is rare: y_true unless given. Selecting by observed y favours models that
        over-predict, so report it beside ``by=y_pred``; in simulations pass the noise-free truth.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.r_[np.zeros(99), 9.0]
    >>> rare_mse(y, np.zeros(100), slices=3)
    81.0
    """
    y_true, y_pred, y_ref = _check(y_true, y_pred, y_ref)
    by = y_true if by is None else check_vector("by", by, len(y_true))
    rare = rare_region(by, y_ref, slices=slices, share=share)
    if not rare.any():
        from sklearn.exceptions import UndefinedMetricWarning

        message = "rare_mse is not defined: no row lies in the rare region; returning nan."
        warnings.warn(message, UndefinedMetricWarning, stacklevel=2)
        return float("nan")
    return float(np.mean((y_true[rare] - y_pred[rare]) ** 2))


def rare_region(
    values: Any, y_ref: Any, *, slices: Any = "scott", share: float = RARE_SHARE, weights: FloatArray | None = None
) -> BoolArray:
    """Return which values are rare in the light of the training response y_ref.

    Slices of y_ref are taken in order of increasing count (the one farther from the fullest slice first where
    counts are equal) while they hold at most ``share`` of the rows together, and at least one occupied slice;
    empty slices and values outside the range of y_ref are rare too. ``weights`` are how often each y_ref occurs.

    Examples
    --------
    >>> import numpy as np
    >>> rare_region([0.0, 5.0, 9.0, 12.0], np.r_[np.zeros(99), 9.0], slices=3).tolist()
    [False, True, True, True]
    """
    share = check_real("share", share, 0, 1)
    values, y_ref = check_vector("values", values), check_vector("y_ref", y_ref)
    edges = slice_edges(y_ref, slices, weights)
    rare = rare_slices(np.bincount(slice_labels(y_ref, edges), weights, minlength=len(edges) - 1), share)
    outside = (values < y_ref.min()) | (values > y_ref.max())
    return rare[slice_labels(values, edges)] | outside


def sera(y_true: Any, y_pred: Any, *, y_ref: Any = None) -> float:
    """Return the squared error-relevance area: the integral over t in [0, 1] of sum_{phi(y_i) >= t} e_i^2.

    It equals ``sum_i phi(y_i) e_i^2``, with :func:`relevance` phi of the training response.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.r_[np.arange(10.0), 100.0]
    >>> sera(y, np.r_[np.arange(10.0) + 1, 98.0])  # the extreme row counts in full
    6.5
    """
    y_true, y_pred, y_ref = _check(y_true, y_pred, y_ref)
    return float(np.dot(relevance(y_true, y_ref), (y_true - y_pred) ** 2))


def relevance(values: Any, y_ref: Any, weights: FloatArray | None = None) -> FloatArray:
    """phi: 0 at the median of y_ref, 1 beyond the adjacent values of Tukey's boxplot, smooth in between.

    On a side where no point of y_ref lies beyond the fence (quartile +- 1.5 IQR) phi is 0. The curve is the
    monotone cubic with zero slopes at its control points. ``weights`` are how often each y_ref occurs.
    """
    values, y_ref = check_vector("values", values), check_vector("y_ref", y_ref)
    low, middle, high = _quartiles(y_ref, weights)
    reach = 1.5 * (high - low) * (1.0 + TOUCHING)  # a value at the fence is inside in any units
    if reach == 0:
        raise ValueError("sera needs a response with spread: the interquartile range of y_ref is 0.")
    inside = y_ref[(y_ref >= low - reach) & (y_ref <= high + reach)]
    if len(inside) == len(y_ref):
        raise ValueError(
            "sera needs extreme values: no y_ref lies beyond Tukey's fences "
            f"[{low - reach:g}, {high + reach:g}]. Use balanced_mse or rare_mse."
        )
    phi = np.zeros(len(values))
    if y_ref.max() > high + reach:
        phi += _smooth_step(values - middle, inside.max() - middle)
    if y_ref.min() < low - reach:
        phi += _smooth_step(middle - values, middle - inside.min())
    return phi


def _quartiles(y: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The quartiles of values that occur so often each, between neighbours on a straight line."""
    if weights is None:
        return np.percentile(y, [25, 50, 75])
    order = np.argsort(y, kind="stable")
    ends = np.cumsum(weights[order])
    places = np.array([0.25, 0.5, 0.75]) * (ends[-1] - 1.0)
    below, above = (
        y[order][np.minimum(np.searchsorted(ends, k, side="right"), len(y) - 1)]
        for k in (np.floor(places), np.floor(places) + 1.0)
    )
    return np.asarray(below + (places - np.floor(places)) * (above - below))


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
    edges = slice_edges(ref, slices)
    rare = rare_slices(
        np.bincount(slice_labels(ref, edges), minlength=len(edges) - 1), check_real("share", share, 0, 1)
    )
    points = np.clip(edges, ref.min(), ref.max())
    points[[0, -1]] = ref.min(), ref.max()
    rare_below = np.r_[0.0, np.cumsum(np.diff(points) * rare)]  # linear between points, and all is rare beyond them
    y, q = (
        np.interp(values, points, rare_below)
        + np.minimum(values - points[0], 0.0)
        + np.maximum(values - points[-1], 0.0)
        for values in (y, q)
    )
    return crps(y, q, tau, sample_weight=sample_weight)


def figures(y: FloatArray, predicted: FloatArray, rare: BoolArray) -> dict[str, float | None]:
    """Return RMSE, MAE, the median error in per cent of y, R2, and the RMSE of rare rows, or None where there are none.

    Per cents where a response is 0 have no meaning, and are None.

    Examples
    --------
    >>> import numpy as np
    >>> y, predicted = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    >>> found = figures(y, predicted, y > 3)
    >>> found["mae"], found["median_percent"], found["rare_rmse"]
    (1.0, 50.0, 2.0)
    """
    error = predicted - y
    spread = np.var(y) if len(y) else 0.0
    has_percents = len(y) > 0 and np.all(y != 0.0)
    return {
        "rmse": float(np.sqrt(np.mean(error**2))) if len(y) else None,
        "mae": float(np.mean(np.abs(error))) if len(y) else None,
        "median_percent": float(np.median(100.0 * np.abs(error) / np.abs(y))) if has_percents else None,
        "r2": 1.0 - float(np.mean(error**2)) / float(spread) if spread > 0 else None,
        "rare_rmse": float(np.sqrt(np.mean(error[rare] ** 2))) if rare.any() else None,
    }


def scorer(metric: str, *, y_ref: Any = None, **options: Any) -> Callable[..., Any]:
    """Return a scikit-learn scorer (greater is better, so the sign is turned) for a metric of this module.

    Parameters
    ----------
    metric : {"rare_mse", "balanced_mse", "sera", "slice_mse"}
        "slice_mse" gives a dict, one entry a slice, for ``cross_validate``.
    y_ref : (N,) array, optional
        The training response; without it every test fold decides for itself what is rare.
    options
        What else the metric takes.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from skewridge import ResponseStratifiedKFold
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(300, 2, random_state=0)
    >>> folds = ResponseStratifiedKFold(3, random_state=0)
    >>> cross_val_score(KNeighborsRegressor(), X, y, cv=folds, scoring=scorer("rare_mse", y_ref=y)).shape
    (3,)
    """
    from sklearn.metrics import make_scorer

    metrics = {"rare_mse": rare_mse, "balanced_mse": balanced_mse, "sera": sera, "slice_mse": slice_mse}
    check_choice("metric", metric, list(metrics))
    if metric == "slice_mse":
        if y_ref is None:
            raise ValueError("scorer('slice_mse') needs y_ref: without it every fold would cut slices of its own.")
        return partial(_score_slices, y_ref=y_ref, **options)
    made: Callable[..., Any] = make_scorer(metrics[metric], greater_is_better=False, y_ref=y_ref, **options)
    return made


def _score_slices(estimator: Any, X: Any, y: Any, **options: Any) -> dict[str, float]:
    """Return {"slice_0": -mse, ...}."""
    return {f"slice_{j}": -float(error) for j, error in enumerate(slice_mse(y, estimator.predict(X), **options))}


def rare_slices(counts: npt.NDArray[np.int64] | FloatArray, share: float = RARE_SHARE) -> BoolArray:
    """Return which slices make the rare region: the least full while they hold at most ``share`` of the rows."""
    distance = np.abs(np.arange(len(counts)) - np.argmax(counts))
    order = np.lexsort((-distance, counts))
    within = np.cumsum(counts[order]) <= share * counts.sum()
    within[: int(np.sum(counts == 0)) + 1] = True  # the empty slices and the rarest occupied one
    rare = np.zeros(len(counts), dtype=bool)
    rare[order[within]] = True
    return rare


def _smooth_step(distance: FloatArray, reach: float) -> FloatArray:
    """The cubic from (0, 0) to (reach, 1) with zero slopes at both ends, constant outside; a step for reach 0."""
    t = np.clip(distance / reach, 0.0, 1.0) if reach > 0 else (distance > 0).astype(np.float64)
    return t * t * (3.0 - 2.0 * t)


def _check(y_true: Any, y_pred: Any, y_ref: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    check_same_order(y_true, y_pred, ("y_true", "y_pred"))
    true = check_vector("y_true", y_true)
    return true, check_vector("y_pred", y_pred, len(true)), true if y_ref is None else check_vector("y_ref", y_ref)


def row_scores(scoring: Any, y: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return how much every row's squared error counts for a scoring; weights are how often rows occur."""
    if scoring == "balanced_mse":
        labels = slice_labels(y, slice_edges(y, "scott", weights))
        return 1.0 / np.bincount(labels, weights)[labels]
    if not callable(scoring):
        return relevance(y, y, weights) if scoring == "sera" else np.broadcast_to(np.float64(1.0), y.shape)
    expected = "A callable scoring takes y and returns one finite, nonnegative weight a row, not all of them 0"
    try:
        scores = np.asarray(scoring(y), dtype=np.float64)
    except TypeError as error:
        raise TypeError(
            f"{expected}; {scoring_name(scoring)} failed: {error}. Metrics and scorers are not taken."
        ) from error
    if scores.shape != y.shape:
        raise ValueError(f"{expected}; got an array of shape {scores.shape} for {len(y)} rows.")
    if not np.isfinite(scores).all() or (scores < 0).any() or not scores.any():
        raise ValueError(f"{expected}; got values from {scores.min():g} to {scores.max():g}.")
    return scores


def scoring_name(scoring: Any) -> str:
    """The name of a scoring."""
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "callable")
