"""Prediction intervals: conformal within slices of the prediction (Mondrian conformal prediction).

The errors y - f(x) of rows that the model has not seen are sorted into slices of f(x); a new row's interval is f(x)
plus the errors' tail quantiles in its slice. Where rows are exchangeable and slices fixed beforehand, y lies below the
interval with probability at most (1 - coverage) / 2 given the slice, and above it with no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_real
from skewridge.distribution.errors import FEWEST_ROWS, ErrorDistribution, error_distribution, join_slices
from skewridge.execution.chunked import RowData
from skewridge.features.scaling import common_error, weighted_median
from skewridge.response.candidates import N_FOLDS, distinct_rows
from skewridge.response.slices import slice_labels

SOURCES = ("fresh", "cross-fitted", "left out", "unstable")  # whose errors intervals are made of
_SLACK = 1e-9  # weights that add up to a whole number but for rounding
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of f + (y - f), which need not be y
_APART = 0.5  # medians of folds further apart than so much of the width of their errors, and 2 / sqrt(n) of it


@dataclass(frozen=True)
class Bands:
    """Interval ends low and high (g,) relative to the prediction, and calibration rows, by slices of it (edges, g + 1).

    They are infinite where there are too few rows.
    """

    edges: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: FloatArray

    def around(self, prediction: FloatArray, scale: FloatArray | float = 1.0) -> tuple[FloatArray, FloatArray]:
        """Return the interval's ends for predictions, (n,) each, and the scale of the noise at them."""
        label = slice_labels(prediction, self.edges)
        return prediction + scale * self.low[label], prediction + scale * self.high[label]


@dataclass(frozen=True)
class Calibration:
    """Errors of rows that the model has not seen, by slices of the prediction.

    Attributes
    ----------
    edges : (l + 1,) array, slices of the training response
    starts : (l + 1,) array, where the errors of predictions in each slice start
    errors : (n,) array, y - prediction, over the scale of the noise at the row where that is known
    weights : (n,) array, how often each row occurs
    source : "fresh" rows; or rows of the fit: "cross-fitted", predicted by fits without their fold; "unstable", where
        these fits differ by more than their errors; or "left out", predicted by fits without the row
    """

    edges: FloatArray
    starts: IntArray
    errors: FloatArray
    weights: FloatArray
    source: str

    @property
    def n_rows(self) -> float:
        """How many rows it rests on."""
        return float(self.weights.sum())

    def bands(self, coverage: float) -> Bands:
        """Return the errors' tail quantiles in every slice, neighbours joined until each slice has enough rows."""
        tail = self._tail(coverage)
        mass = np.r_[0.0, np.cumsum(self.weights)][self.starts]
        first = join_slices(np.diff(mass), max(FEWEST_ROWS, self.rows_needed(coverage)))
        bounds = self.starts[[*first, -1]]
        parts = [slice(low, high) for low, high in pairwise(bounds.tolist())]
        ends = np.empty((2, len(parts)))
        for j, part in enumerate(parts):
            errors, weights = self.errors[part], self.weights[part]
            rounding = _ROUNDING * (np.max(np.abs(self.edges)) + np.max(np.abs(errors), initial=0.0))
            for side, end in enumerate(_tail_errors(errors, weights, tail)):
                # rounded outwards: f + (y - f) need not be y
                shared = weights[np.abs(errors - end) <= rounding].sum() > 1
                ends[side, j] = end + (2 * side - 1) * rounding * shared
        rows = np.array([self.weights[part].sum() for part in parts])
        return Bands(self.edges[[*first, -1]], ends[0], ends[1], rows)

    @cached_property
    def distribution(self) -> ErrorDistribution:
        """The distribution of the errors, slice by slice."""
        return error_distribution(self.edges, self.starts, self.errors, self.weights)

    def rows_needed(self, coverage: float) -> int:
        """Return how many rows a finite interval needs."""
        return ceil(1 / self._tail(coverage)) - 1

    def _tail(self, coverage: float) -> Fraction:
        """The share of errors beyond either end; of unstable folds, where any one fold may be right, a fifth of it."""
        return check_tail(coverage) / (N_FOLDS if self.source == "unstable" else 1)


@dataclass(frozen=True)
class OutOfSample:
    """Rows predicted by fits that have not seen them: prediction, y and frequencies, (n,) each, and their source.

    folds (n,) are those of rows that were cross-fitted, None where folds may differ; X (n, d) is None where rows are no
    numbers, or of no use; groups (n,) are labels of rows that are left out together. level (n,) is where rows lie
    among the predictions of new rows, None where their own predictions do: a fit without the row may tell the row's
    own response, since the mean of the others is low where y is high.
    """

    prediction: FloatArray
    y: FloatArray
    weights: FloatArray
    source: str
    folds: IntArray | None = None
    X: FloatArray | None = None
    groups: IntArray | None = None
    level: FloatArray | None = None

    def calibration(self, edges: FloatArray, scale: FloatArray) -> Calibration:
        """Return errors over their scale, (n,), by slices of the prediction; those of unstable folds are one slice."""
        source = self.source
        if self.folds is not None and folds_disagree(self.prediction, self.y, self.weights, self.folds):
            edges, source = edges[[0, -1]], "unstable"
        return calibration_of(self.prediction, self.y, edges, self.weights, source, scale, self.level)


def with_common_error(
    prediction: FloatArray, y: FloatArray, weights: FloatArray, X: RowData | None = None
) -> FloatArray:
    """Left-out predictions, (n,), with the common error of the whole fit, not that of fits without a row.

    A few gross errors shift a fit, and with it every error. Without rows of weight f in all, those with the same x,
    of a whole weight W, the shift is W / (W - f) as large; new rows see that of the whole fit. What no row shifts so
    stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.append(np.zeros(30), np.arange(10.0))
    >>> y[0] = 4e5  # the mean is 10,001; without another row 400,000 / 39 and more
    >>> left_out = (y.sum() - y) / 39
    >>> np.abs(with_common_error(left_out, y, np.ones(40))[1:30] - y.mean()).max() < 1e-9
    np.True_
    """
    shift = common_error(y - prediction, y, weights)
    if not shift:
        return prediction
    together = weights
    if X is not None:
        _, totals, member = distinct_rows(X, weights, seed=0)
        together = totals[member]
    return np.asarray(prediction + together / weights.sum() * shift)


def folds_disagree(prediction: FloatArray, y: FloatArray, weights: FloatArray, folds: IntArray) -> bool:
    """True if errors differ more between folds than within: then they are draws of a few fits, not of many rows.

    The medians of the folds are compared with the width that holds nine in ten of the errors about them.

    Examples
    --------
    >>> import numpy as np
    >>> y, folds = np.random.default_rng(0).normal(size=500), np.arange(500) % 5
    >>> ones = np.ones(500)
    >>> folds_disagree(0 * y, y, ones, folds), folds_disagree(10.0 * folds, y, ones, folds)
    (False, True)
    """
    errors, there = y - prediction, np.unique(folds)
    if len(there) < 2:
        return False
    parts = [folds == fold for fold in there]
    medians = np.array([weighted_median(errors[part], weights[part]) for part in parts])
    about = errors - medians[np.searchsorted(there, folds)]
    low, high = _tail_errors(about, weights, Fraction(1, 20))
    fewest = min(weights[part].sum() for part in parts)
    rounding = 1e-9 * np.max(np.abs(prediction) + np.abs(y))
    return bool(np.ptp(medians) > (high - low) * (_APART + 2.0 / np.sqrt(fewest)) + rounding)


def calibration_of(
    prediction: FloatArray,
    y: FloatArray,
    edges: FloatArray,
    weights: FloatArray,
    source: str,
    scale: FloatArray | float = 1.0,
    level: FloatArray | None = None,
) -> Calibration:
    """Sort errors (n,) into slices of the prediction; neither edges nor scale may have been chosen by these rows.

    level, (n,), is where rows lie among predictions, if not where their own prediction does.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(40.0) % 20
    >>> found = calibration_of(np.repeat([0.0, 100.0], 20), y, np.array([0.0, 50.0, 100.0]), np.ones(40), "fresh")
    >>> found.bands(0.8).around(np.array([0.0]))  # too few rows for two slices: all 40 errors count
    (array([-97.]), array([16.]))
    """
    labels = slice_labels(prediction if level is None else level, edges)
    errors = (y - prediction) / scale
    order = np.lexsort((errors, labels))
    starts = np.searchsorted(labels[order], np.arange(len(edges)))
    return Calibration(edges, starts, errors[order], weights[order], source)


def check_tail(coverage: float) -> Fraction:
    """Return (1 - coverage) / 2 as a fraction, so that a 0.05th of 20 rows is one row and not 0.999, or raise."""
    coverage = check_real("coverage", coverage, 0, 1, open_low=True)
    if coverage == 1:
        raise ValueError("coverage must be below 1, since errors of any size are possible; got 1.0. Use 0.99, say.")
    return (1 - Fraction(coverage).limit_denominator(10**6)) / 2


def _tail_errors(errors: FloatArray, weights: FloatArray, tail: Fraction) -> tuple[float, float]:
    """The floor((n + 1) tail)-th smallest and largest of errors that occur w times each; infinite where that is 0."""
    rank = np.floor((weights.sum() + 1.0) * float(tail) + _SLACK)
    if rank < 1:
        return -np.inf, np.inf
    order = np.argsort(errors, kind="stable")
    places = [np.searchsorted(np.cumsum(weights[o]), rank - _SLACK) for o in (order, order[::-1])]
    return float(errors[order][places[0]]), float(errors[order][::-1][places[1]])
