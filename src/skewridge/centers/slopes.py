"""How steeply a fit changes along every feature."""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.kernels import Kernel

SLOPE_ROWS = 4_000  # that slopes are averaged over


def mean_squared_slopes(
    kernel: Kernel,
    centers: FloatArray,
    dual: FloatArray,
    X: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Mean squared slopes of f = k(x, C) a along the features that the kernel sees, (d,).

    Averaged over outputs. Along a feature of two values the slope is the difference between the
    predictions at both over their distance: a kernel much narrower than that is flat at either.
    """
    squares = [kernel.gradient(X, centers, a) ** 2 for a in dual]
    found = np.mean([np.average(square, axis=0, weights=weights) for square in squares], axis=0)
    low, high, binary = _two_values(X)
    product = kernel.product(centers, dual)
    f = product(X) if len(binary) else np.empty(0)
    for feature in binary:
        other = X.copy()
        at_low = X[:, feature] == low[feature]
        other[:, feature] = np.where(at_low, high[feature], low[feature])
        slopes = (product(other) - f) / (high[feature] - low[feature])
        found[feature] = np.average(slopes**2, axis=0, weights=weights).mean()
    return np.asarray(found)


def _two_values(X: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """The least and largest value of every feature, and which features have these two alone."""
    low, high = X.min(axis=0), X.max(axis=0)
    two = np.all((X == low) | (X == high), axis=0) & (high > low)
    return low, high, np.flatnonzero(two)
