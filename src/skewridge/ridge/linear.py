"""Ridge regression on standardised columns, with its penalty chosen by exact leave-one-out.

With S the standardised columns, clipped at 8 standard deviations, F = diag(f) and n = sum f, the coefficients minimise
sum_i f_i (y_i - b - s_i' beta)^2 + n penalty ||beta||^2. One decomposition
F^1/2 S = U diag(s)^1/2 V' serves every penalty; the intercept b is refitted whenever a row is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.features.forms import MOST_DEVIATIONS
from skewridge.features.scaling import Scaling, standard_scaling, unit_responses
from skewridge.response.groups import assign_groups

PENALTIES = np.logspace(3, -9, 37)  # the largest first, which is taken where several are as good
GROUP_FOLDS = 10  # that groups are left out in; of fewer groups every one on its own
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LinearModel:
    """f(x) = intercept + standardised x @ coef, (d, 1); constant columns are ignored."""

    scaling: Scaling
    coef: FloatArray
    intercept: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict one block of rows; returns (n, 1). A product by BLAS would round a row by how many there are."""
        columns = np.clip(self.scaling(X), -MOST_DEVIATIONS, MOST_DEVIATIONS)
        return np.sum(columns * self.coef[:, 0], axis=1, keepdims=True) + self.intercept


@dataclass(frozen=True)
class _Spectrum:
    """F^1/2 (S - shift) = U diag(values)^1/2 V' without directions of value 0 to rounding; moments U' F^1/2 y, (r, 1).

    shift (d,), values (r,), left U (n, r), right V (d, r); total is sum f.
    """

    shift: FloatArray
    values: FloatArray
    left: FloatArray
    right: FloatArray
    moments: FloatArray
    total: float

    def coef(self, penalty: float) -> FloatArray:
        """V [s^1/2 / (s + n penalty)] U' F^1/2 y, (d, 1)."""
        s = self.values[:, None]
        found: FloatArray = self.right @ (np.sqrt(s) / (s + penalty * self.total) * self.moments)
        return found


def fit_linear(
    X: FloatArray,
    y: FloatArray,
    frequencies: FloatArray,
    *,
    loss_weights: FloatArray | None = None,
    penalties: FloatArray = PENALTIES,
    least_gain: float = 0.0,
    groups: IntArray | None = None,
) -> tuple[LinearModel, FloatArray, float]:
    """Fit ridge regression with the penalty of least leave-one-out error; model, left-out predictions, penalty.

    The row left out goes with all its copies: e_i = r_i / (1 - f_i h_i), with
    h_i = 1 / sum f + s_i' (S'FS + n penalty I)^-1 s_i.

    X (n, d) holds at least two distinct rows; d may exceed n, and columns may be constant or collinear. y is (n, 1);
    squared errors count by loss weights, (n,), the frequencies unless given. A later penalty is taken where it lowers
    the error by more than ``least_gain`` of it: a line that needs no small penalty has none, and does not explode at
    rows off the plane of those it was fitted to. Rows of a group are left out in ten folds of whole groups.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    >>> model, left_out, _ = fit_linear(X, 3 * X[:, :1] + 1, np.ones(4))
    >>> model.predict(np.array([[3.0, 7.0]])).round(6), left_out.round(6).ravel()
    (array([[10.]]), array([ 1.,  4.,  7., 13.]))
    """
    if len(X) < 2:
        raise ValueError(f"Leave-one-out needs at least 2 distinct rows; got {len(X)}.")
    centred, mean, unit = unit_responses(y, frequencies, centre=True)
    scaling = standard_scaling(X, frequencies)
    columns = np.clip(scaling(X), -MOST_DEVIATIONS, MOST_DEVIATIONS)  # no absurd cell may carry a line away
    spectrum = _decompose(columns, centred, frequencies)
    if groups is None:
        path = _left_out_path(spectrum, centred, frequencies, penalties)
    else:
        path = _folds_path(columns, centred, frequencies, assign_groups(groups, centred[:, 0], GROUP_FOLDS), penalties)
    counts = frequencies if loss_weights is None else loss_weights
    best, errors, chosen = np.inf, np.zeros(y.shape), float(penalties[0])
    for penalty, found in zip(penalties, path, strict=True):
        loss = float((counts @ found**2)[0])
        if loss < (1.0 - least_gain) * best:
            best, errors, chosen = loss, found, float(penalty)
    coef = spectrum.coef(chosen) * unit
    return LinearModel(scaling, coef, mean - spectrum.shift @ coef), y - errors * unit, chosen


def _decompose(columns: FloatArray, y: FloatArray, frequencies: FloatArray) -> _Spectrum:
    """Decompose columns around their mean, for a centred response, (n, 1), by the smaller of S'S and SS'."""
    shift = np.average(columns, axis=0, weights=frequencies)
    roots = np.sqrt(frequencies)[:, None]
    rows = (columns - shift) * roots
    n, d = rows.shape
    wide = 2 * d > n  # rows rows' is also the more exact one where the fit may interpolate
    values, vectors = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    large = values > EPS * max(n, d) * values.max(initial=0.0)
    values, vectors = values[large], vectors[:, large]
    other = (rows.T if wide else rows) @ vectors / np.sqrt(values)
    left, right = (vectors, other) if wide else (other, vectors)
    return _Spectrum(shift, values, left, right, left.T @ (y * roots), float(frequencies.sum()))


def _left_out_path(
    spectrum: _Spectrum, y: FloatArray, frequencies: FloatArray, penalties: FloatArray
) -> Iterator[FloatArray]:
    """Yield the leave-one-out errors of every penalty, (n, 1)."""
    squares, roots = spectrum.left**2, np.sqrt(frequencies)[:, None]
    free = np.maximum(1.0 - frequencies / spectrum.total - np.sum(squares, axis=1), 0.0)  # 1 - h_i without a penalty
    if len(spectrum.values) >= len(y) - 1:  # all directions but the constant one: it interpolates
        free = np.zeros(len(y))
    targets = y * roots
    outside = targets - spectrum.left @ spectrum.moments if free.any() else np.zeros_like(targets)
    ridges = penalties * float(np.sum(roots**2))
    for ridge in ridges:
        shrunk = ridge / (spectrum.values + ridge)
        unexplained = np.maximum(free + squares @ shrunk, EPS)
        residual = outside + spectrum.left @ (shrunk[:, None] * spectrum.moments)
        yield residual / (roots * unexplained[:, None])


def _folds_path(
    columns: FloatArray, y: FloatArray, frequencies: FloatArray, folds: IntArray, penalties: FloatArray
) -> Iterator[FloatArray]:
    """Yield the errors of every penalty, (n, 1), by fits without the row's fold."""
    fits = []
    for fold in np.unique(folds):
        own = folds == fold
        mean = np.average(y[~own], axis=0, weights=frequencies[~own])
        fits.append((own, mean, _decompose(columns[~own], y[~own] - mean, frequencies[~own])))
    for penalty in penalties:
        errors = np.empty_like(y)
        for own, mean, spectrum in fits:
            errors[own] = y[own] - mean - (columns[own] - spectrum.shift) @ spectrum.coef(penalty)
        yield errors
