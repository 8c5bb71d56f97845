"""Ridge regression on standardised columns, with its penalty chosen by exact leave-one-out.

With S the standardised columns, clipped at 8 standard deviations, F = diag(f) and n = sum f, the coefficients minimise
sum_i f_i (y_i - b - s_i' beta)^2 + n penalty ||beta||^2. One decomposition
F^1/2 S = U diag(s)^1/2 V' serves every penalty; the intercept b is refitted whenever a row is left
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.features.forms import MOST_DEVIATIONS
from skewridge.features.scaling import Scaling, standard_scaling, unit_responses
from skewridge.response.grouping import deal_groups

PENALTIES = np.logspace(3, -9, 37)  # the largest first, which is taken where several are as good
GROUP_FOLDS = 10  # that groups are left out in; of fewer groups every one on its own
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class LinearModel:
    """f(x) = intercept + standardised x @ coef.

    Attributes
    ----------
    scaling : Scaling, which standardises the columns and ignores constant ones
    coef : (d, p) array
    intercept : (p,) array
    """

    scaling: Scaling
    coef: FloatArray
    intercept: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict one block of rows; returns (n, p). A product by BLAS would round a row by how many there are."""
        rows = _standardised(self.scaling, X)
        return np.column_stack([np.sum(rows * own, axis=1) for own in self.coef.T]) + self.intercept


@dataclass(frozen=True)
class LinearFit:
    """A fitted model and what is known about it.

    Attributes
    ----------
    model : LinearModel
    left_out : (n, p) array, the prediction at every row of the fit without that row, or without its
        fold of groups; the columns' scales and the penalty are given
    penalties : (p,) array, the one chosen for every output
    """

    model: LinearModel
    left_out: FloatArray
    penalties: FloatArray


@dataclass(frozen=True)
class _Spectrum:
    """F^1/2 S = U diag(values)^1/2 V' without directions whose value is 0 to rounding.

    Attributes
    ----------
    values : (r,) array
    left, right : (n, r) array U and (d, r) array V
    beyond : (n,) array, 1 - h_i without a penalty: 1 - f_i / sum f - sum_m U_im^2
    """

    values: FloatArray
    left: FloatArray
    right: FloatArray
    beyond: FloatArray


def fit_linear(
    X: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    *,
    scores: FloatArray | None = None,
    penalties: FloatArray = PENALTIES,
    least_gain: float = 0.0,
    groups: IntArray | None = None,
) -> LinearFit:
    """Fit ridge regression, each output with the penalty of least leave-one-out error.

    The row left out goes with all its copies: e_i = r_i / (1 - f_i h_i), with
    h_i = 1 / sum f + s_i' (S'FS + n penalty I)^-1 s_i.

    Parameters
    ----------
    X : (n, d) array of distinct rows, at least two; d may exceed n, and columns may be constant or
        collinear
    Y : (n, p) array
    frequencies : (n,) array, how often each row occurs
    scores : (n,) array, how much each row's squared error counts; None is 1
    penalties : (P,) array, candidates; the first of equally good ones is taken
    least_gain : float, the share by which a later penalty must lower the error: a line that needs no small penalty
        has none, and does not explode at rows off the plane of those it was fitted to
    groups : (n,) array, rows that are left out together, in ten folds of whole groups; None: every row on its own

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    >>> fit = fit_linear(X, 3 * X[:, :1] + 1, np.ones(4))
    >>> fit.model.predict(np.array([[3.0, 7.0]])).round(6), fit.left_out.round(6).ravel()
    (array([[10.]]), array([ 1.,  4.,  7., 13.]))
    """
    if len(X) < 2:
        raise ValueError(f"Leave-one-out needs at least 2 distinct rows; got {len(X)}.")
    centred, means, units = unit_responses(Y, frequencies, centre=True)
    scaling = standard_scaling(X, frequencies)
    columns = _standardised(scaling, X)
    shift = np.average(columns, axis=0, weights=frequencies)  # what rounding has left of the mean
    roots = np.sqrt(frequencies)[:, None]
    spectrum = _decompose((columns - shift) * roots, frequencies)
    counts = frequencies if scores is None else frequencies * scores
    if groups is None:
        paths = _left_out_path(spectrum, centred * roots, roots, penalties)
    else:
        paths = _folds_path(columns, centred, frequencies, deal_groups(groups, centred[:, 0], GROUP_FOLDS), penalties)
    errors, chosen = _best_errors(paths, Y.shape, counts, least_gain)
    coef = _coefficients(spectrum, centred * roots, penalties[chosen] * frequencies.sum()) * units
    model = LinearModel(scaling, coef, means - shift @ coef)
    return LinearFit(model, Y - errors * units, penalties[chosen])


def _standardised(scaling: Scaling, X: FloatArray) -> FloatArray:
    """Columns in standard deviations, clipped at 8: one absurd cell must not carry a line away."""
    return np.clip(scaling(X), -MOST_DEVIATIONS, MOST_DEVIATIONS)


def _decompose(rows: FloatArray, frequencies: FloatArray) -> _Spectrum:
    """Decompose weighted and centred rows by the smaller of rows' rows and rows rows'."""
    n, d = rows.shape
    wide = 2 * d > n  # rows rows' is also the more exact one where the fit may interpolate
    values, vectors = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    large = values > EPS * max(n, d) * values.max(initial=0.0)
    values, vectors = values[large], vectors[:, large]
    other = (rows.T if wide else rows) @ vectors / np.sqrt(values)
    left, right = (vectors, other) if wide else (other, vectors)
    beyond = np.maximum(1.0 - frequencies / frequencies.sum() - np.sum(left**2, axis=1), 0.0)
    interpolates = len(values) >= n - 1  # all directions but the constant one
    return _Spectrum(values, left, right, np.zeros(n) if interpolates else beyond)


def _left_out_path(
    spectrum: _Spectrum,
    targets: FloatArray,
    roots: FloatArray,
    penalties: FloatArray,
) -> Iterator[FloatArray]:
    """Yield the leave-one-out errors of every penalty, (n, p)."""
    total = float(np.sum(roots**2))
    moments, squares = spectrum.left.T @ targets, spectrum.left**2
    beyond = targets - spectrum.left @ moments if spectrum.beyond.any() else np.zeros_like(targets)
    for penalty in penalties:
        shrunk = penalty * total / (spectrum.values + penalty * total)
        unexplained = np.maximum(spectrum.beyond + squares @ shrunk, EPS)
        residual = beyond + spectrum.left @ (shrunk[:, None] * moments)
        yield residual / (roots * unexplained[:, None])


def _folds_path(
    columns: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    folds: IntArray,
    penalties: FloatArray,
) -> Iterator[FloatArray]:
    """Yield the errors of every penalty, (n, p), by fits without the row's fold."""
    parts = [folds == fold for fold in np.unique(folds)]
    rests = [_centred(columns[~own], Y[~own], frequencies[~own]) for own in parts]
    for penalty in penalties:
        errors = np.empty_like(Y)
        for own, (shift, means, spectrum, targets, total) in zip(parts, rests, strict=True):
            coef = _coefficients(spectrum, targets, np.full(Y.shape[1], penalty * total))
            errors[own] = Y[own] - means - (columns[own] - shift) @ coef
        yield errors


def _centred(
    columns: FloatArray, Y: FloatArray, frequencies: FloatArray
) -> tuple[FloatArray, FloatArray, _Spectrum, FloatArray, float]:
    """Means of columns and responses, the decomposition around them, weighted responses and the sum of weights."""
    shift, means = (np.average(values, axis=0, weights=frequencies) for values in (columns, Y))
    roots = np.sqrt(frequencies)[:, None]
    spectrum = _decompose((columns - shift) * roots, frequencies)
    return shift, means, spectrum, (Y - means) * roots, float(frequencies.sum())


def _best_errors(
    paths: Iterable[FloatArray],
    shape: tuple[int, ...],
    counts: FloatArray,
    least_gain: float,
) -> tuple[FloatArray, IntArray]:
    """Errors of left-out rows at the best penalty of every output, (n, p), and its number, (p,)."""
    best = np.full(shape[1], np.inf)
    errors, chosen = np.zeros(shape), np.zeros(shape[1], dtype=np.int64)
    for number, found in enumerate(paths):
        loss = counts @ found**2
        better = loss < (1.0 - least_gain) * best
        best[better], chosen[better] = loss[better], number
        errors[:, better] = found[:, better]
    return errors, chosen


def _coefficients(spectrum: _Spectrum, targets: FloatArray, ridges: FloatArray) -> FloatArray:
    """V [s^1/2 / (s + c)] U'y of every output with its own ridge c, (d, p)."""
    s = spectrum.values[:, None]
    coef: FloatArray = spectrum.right @ (np.sqrt(s) / (s + ridges) * (spectrum.left.T @ targets))
    return coef
