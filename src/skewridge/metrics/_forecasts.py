"""Checks of predicted quantiles and probabilities, and means over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_plain, check_same_order, check_vector, check_weights


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
    weights, kept = check_weights(sample_weight, len(losses))
    return np.asarray(np.average(losses[kept], axis=0, weights=weights))


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
