"""The one parameter for clipping predictions: ``bounds="auto" | None | (low, high)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_real, is_auto
from skewridge.features.scaling import prediction_bounds


def check_bounds(bounds: Any) -> None:
    """Raise unless bounds are "auto", None, or (low, high), either of which may be None.

    Examples
    --------
    >>> check_bounds((0.0, None))
    >>> check_bounds((1.0, 0.0))
    Traceback (most recent call last):
    ValueError: bounds must be (low, high) with low < high; got (1.0, 0.0). Swap the ends.
    """
    if bounds is None or is_auto(bounds):
        return
    pair = isinstance(bounds, tuple | list | np.ndarray) and np.shape(bounds) == (2,)
    if not pair:
        raise TypeError(
            f"bounds must be 'auto', None or (low, high), or one end None; got {bounds!r}.",
        )
    low, high = (_check_end(end) for end in bounds)
    if low is not None and high is not None and not low < high:
        raise ValueError(
            f"bounds must be (low, high) with low < high; got {bounds!r}. Swap the ends.",
        )


def _check_end(end: Any) -> float | None:
    return None if end is None else check_real("bounds", end, -np.inf, also=" or None")


def as_bounds(bounds: Any) -> str | tuple[float | None, float | None] | None:
    """Checked bounds as the algebra takes them."""
    if bounds is None or is_auto(bounds):
        return bounds
    low, high = bounds
    return None if low is None else float(low), None if high is None else float(high)


def bounds_of(bounds: Any, Y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """The ends that predictions of Y, (N, p), are clipped to, (p,) and (p,); None: no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> bounds_of("auto", np.array([[0.0], [10.0]]))
    (array([-1.]), array([11.]))
    >>> bounds_of(None, np.zeros((1, 1))) is None
    True
    """
    if bounds is None:
        return None
    zero, one = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
    return prediction_bounds(as_bounds(bounds), Y, zero, one)


def clipped(prediction: FloatArray, ends: tuple[FloatArray, FloatArray] | None) -> FloatArray:
    """Predictions, (n,) or (n, p), within ends; as they are where there are none."""
    if ends is None:
        return prediction
    low, high = ends if prediction.ndim == 2 else (end[0] for end in ends)
    return np.clip(prediction, low, high)
