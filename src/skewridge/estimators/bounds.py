"""The one parameter for clipping: what predictions stay between."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import is_auto
from skewridge.features.scaling import response_bounds

Bounds: TypeAlias = Literal["auto"] | tuple[float | None, float | None] | None
WANTED = "bounds must be 'auto', None or a pair (low, high) whose ends are numbers or None"


def check_bounds(bounds: Any) -> None:
    """Refuse what is no pair of ends, low below high."""
    if bounds is None or is_auto(bounds):
        return
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"{WANTED}; got {bounds!r}.")
    for end in bounds:
        number = isinstance(end, int | float | np.integer | np.floating) and not isinstance(end, bool)
        if end is not None and (not number or np.isnan(end)):
            raise ValueError(f"{WANTED}; got {bounds!r}.")
    low, high = _ends(bounds)
    if not low < high:
        raise ValueError(f"{WANTED}, low below high; got {bounds!r}.")


def ends_of(bounds: Any, Y: FloatArray) -> FloatArray:
    """The least and the largest prediction of every output, (2, p); infinite where there is no bound."""
    if is_auto(bounds):
        return np.array(response_bounds(Y))
    low, high = (-np.inf, np.inf) if bounds is None else _ends(bounds)
    return np.repeat([[low], [high]], Y.shape[1], axis=1)


def clip_columns(values: FloatArray, ends: FloatArray) -> FloatArray:
    """Values, (n, p), within their outputs' ends."""
    return np.clip(values, ends[0], ends[1])


def _ends(bounds: Any) -> tuple[float, float]:
    low, high = bounds
    return -np.inf if low is None else float(low), np.inf if high is None else float(high)
