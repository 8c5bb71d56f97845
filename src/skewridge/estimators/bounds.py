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


def bounds_of(bounds: Any, y: FloatArray) -> tuple[float, float] | None:
    """The ends that predictions of y are clipped to; None: no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> bounds_of("auto", np.array([0.0, 10.0]))
    (-1.0, 11.0)
    >>> bounds_of(None, np.zeros(1)) is None
    True
    """
    if bounds is None:
        return None
    low, high = prediction_bounds(as_bounds(bounds), y.reshape(-1, 1), np.zeros(1), np.ones(1))
    return float(low[0]), float(high[0])
