"""Labels of columns that are no texts: scikit-learn compares names that are, and lets others pass in any order."""

from __future__ import annotations

from typing import Any

import numpy as np


def remember_labels(checked: Any, X: Any) -> None:
    """Keep the labels of a frame's columns, as texts, on a validated clone; nothing where they are names."""
    labels = _labels(X)
    if labels is not None:
        checked.column_labels_in_ = np.array(labels, dtype=object)


def check_labels(fitted: Any, X: Any) -> None:
    """Refuse a frame whose columns have the labels of the fit in another order."""
    before, now = getattr(fitted, "column_labels_in_", None), _labels(X)
    if before is None or now is None or before.tolist() == now or sorted(before) != sorted(now):
        return
    place = next(i for i, (one, other) in enumerate(zip(before, now, strict=True)) if one != other)
    raise ValueError(
        f"X must have its columns in the order of the fit: expected {before[place]} at place {place}, "
        f"got {now[place]}. Reorder them, or drop the labels with to_numpy()."
    )


def _labels(X: Any) -> list[str] | None:
    """What tells the columns of a pandas frame apart, as texts; None where all are texts, or there are none."""
    columns: Any = getattr(X, "columns", None)
    if not hasattr(X, "iloc") or not hasattr(columns, "tolist"):
        return None
    labels = columns.tolist()
    return None if all(isinstance(label, str) for label in labels) else [repr(label) for label in labels]


def check_one_column(estimator: Any, y: Any) -> None:
    """Refuse a response of several columns, and say what fits one estimator to each."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y must have one column; got {shape[1]}. Wrap the estimator: "
            f"sklearn.multioutput.MultiOutputRegressor({type(estimator).__name__}())."
        )
