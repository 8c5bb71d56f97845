"""Whether rows are those that a model was fitted to."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from skewridge._typing import FloatArray

SUPPORT = {"center_rows_": "centres", "knot_rows_": "knots"}  # rows that span the estimate, and what they are called

_REMEMBERED = (
    ("center_rows_", "centers_"),
    ("knot_rows_", "knots_"),
    ("center_rows_", "X_fit_"),
    (None, "X_fit_"),
)


def has(fitted: Any, path: str) -> bool:
    """Whether an attribute, or an attribute of an attribute, is there."""
    try:
        attrgetter(path)(fitted)
    except AttributeError:
        return False
    return True


def seen_rows(fitted: Any, X: Any, y: FloatArray, output: int | None) -> bool | None:
    """Whether the rows that the model remembers stand at their places in X; None where it remembers none.

    Models that keep the responses of the fit, but no rows as they came, know rows by these.
    """
    if has(fitted, "loo_prediction_") and has(fitted, "_honest"):
        own = fitted._honest[1][:, output or 0]
        if len(own) == len(y):
            return bool(np.array_equal(own, y))
        values, counts = np.unique(own, return_counts=True)  # without rows of weight 0
        there = [np.count_nonzero(y == value) for value in values]
        return len(fitted.loo_prediction_) == len(y) and bool(np.all(counts <= there))
    for places, points in _REMEMBERED:
        if has(fitted, points) and (places is None or has(fitted, places)):
            kept = getattr(fitted, points)
            rows = np.arange(len(kept)) if places is None else getattr(fitted, places)
            n_rows = np.shape(X)[0]
            if rows.max() >= n_rows or (places is None and len(kept) != n_rows):
                return False
            values = (X.iloc if hasattr(X, "iloc") else np.asarray(X))[rows]
            return np.array_equal(np.asarray(values, dtype=np.float64), kept)
    return None


def may_be_training(fitted: Any, n_rows: int) -> bool:
    """Whether the model can have been fitted to so many rows."""
    if has(fitted, "slices_.labels") and len(fitted.slices_.labels) != n_rows:
        return False
    if has(fitted, "loo_prediction_") and len(fitted.loo_prediction_) != n_rows:
        return False
    return all(getattr(fitted, name).max() < n_rows for name in SUPPORT if has(fitted, name))
