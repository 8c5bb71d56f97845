"""How large errors are at x: level 1 fitted to the logarithms of left-out errors.

The prediction is a column beside those of x. A row's own error would make its scale too large or too small by just
what is to be measured, so scales of training rows are cross-fitted; new rows get the mean of the fits that gave them.
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.cross_fit import cross_fit
from skewridge.centers.fit import GlobalModel
from skewridge.centers.rows import CenterSettings
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData
from skewridge.execution.context import on_threads
from skewridge.execution.passes import map_rows
from skewridge.features.scaling import common_error, weighted_median
from skewridge.response.candidates import candidate_rows

FEWEST_ROWS = 200  # distinct ones; of fewer the scale is the same everywhere
MOST_ROWS = 15_000  # distinct ones that it is learned from
LEAST_GAIN = 0.005  # of the variance of log errors, that the scale must explain of rows that are left out
CENTERS: dict[str, Any] = {"n_centers": 300, "adapt": 0.5, "n_steps": 60}
TINY = 1e-6  # of the median: smaller errors are those of rows that are fitted exactly
FLOOR = 0.05  # the quantile of absolute errors that smaller ones are taken for


def fit_noise(
    X: RowData,
    prediction: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    *,
    level: FloatArray | None = None,
    groups: IntArray | None = None,
    seed: int,
) -> tuple[GlobalModel | None, FloatArray]:
    """Return a model of log s(x, prediction), and s at the rows, (n,), by fits without them; None and 1 where alike.

    Rows are in memory or in chunks; ``prediction``, (n,), are left-out ones, and ``level`` those that no row's own
    response moves, for the column beside those of x; None: the left-out ones, if these do not either. Labels of
    ``groups``, (n,), are left out together.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2))
    >>> noise = (0.1 + X[:, 1]) * rng.normal(size=2000)
    >>> model, scale = fit_noise(X, 0 * noise, noise, np.ones(2000), seed=0)
    >>> bool(np.corrcoef(scale, 0.1 + X[:, 1])[0, 1] > 0.9)
    True
    """
    same = None, np.ones(len(y))
    errors = y - prediction
    sizes = _log_sizes(errors, weights)
    if sizes is None or common_error(errors, y, weights):  # sizes of errors then tell of the shift
        return same
    rows = candidate_rows(X, sizes, weights, "auto", seed, groups=groups)
    if len(rows) < FEWEST_ROWS:
        return same
    some = np.flatnonzero(rows.member < MOST_ROWS)
    labels = None if groups is None else groups[some]
    level = prediction if level is None else level
    Z, settings = np.column_stack([np.asarray(X[some]), level[some]]), CenterSettings(**CENTERS, guides=True)
    with on_threads():
        fit = cross_fit(Z, sizes[some], weights[some], settings, groups=labels, seed=seed)
    found, size, w = fit.values[:, 0], sizes[some, 0], weights[some]
    unexplained = float(np.average((size - found) ** 2, weights=w))
    if not unexplained < (1.0 - LEAST_GAIN) * float(np.average((size - np.average(size, weights=w)) ** 2, weights=w)):
        return same
    scale = noise_scale(fit.model, X, level)
    scale[some] = np.exp(found)
    return fit.model, scale


def noise_scale(model: GlobalModel | None, X: RowData, prediction: FloatArray) -> FloatArray:
    """Return s at new rows, (n,)."""
    if model is None:
        return np.ones(len(X))

    def scale(X: FloatArray, prediction: FloatArray) -> FloatArray:
        return np.exp(model.predict(np.column_stack([X, prediction]))[:, 0])

    with one_blas_thread():
        return np.concatenate(list(map_rows(scale, [X, prediction], "noise")))


def _log_sizes(errors: FloatArray, weights: FloatArray) -> FloatArray | None:
    """Logarithms of absolute errors in units of a power of two, (n, 1); None where most are too small to differ."""
    sizes = np.abs(errors)
    if not len(sizes):
        return None
    floor, quarter, middle = (weighted_median(sizes, weights, level) for level in (FLOOR, 0.25, 0.5))
    floor = floor if floor > TINY * middle else quarter
    if floor <= TINY * middle:
        return None
    unit = 2.0 ** frexp(middle)[1]
    return np.log(np.maximum(sizes, floor) / unit)[:, None]
