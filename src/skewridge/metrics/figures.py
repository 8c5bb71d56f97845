"""The few figures that errors are told by, in the units of the response."""

from __future__ import annotations

import numpy as np

from skewridge._typing import BoolArray, FloatArray


def figures(y: FloatArray, predicted: FloatArray, rare: BoolArray) -> dict[str, float | None]:
    """Return RMSE, MAE, the median error in per cent of y, R2, and the RMSE of rare rows.

    None where there are no rows to tell; per cents where a response is 0 have no meaning, and are None.

    Examples
    --------
    >>> import numpy as np
    >>> y, predicted = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    >>> told = figures(y, predicted, y > 3)
    >>> told["mae"], told["median_percent"], told["rare_rmse"]
    (1.0, 50.0, 2.0)
    """
    error = predicted - y
    spread = float(np.var(y)) if len(y) else 0.0
    percents = 100.0 * np.abs(error) / np.abs(y) if len(y) and np.all(y != 0.0) else None
    return {
        "rmse": _root(error),
        "mae": float(np.mean(np.abs(error))) if len(y) else None,
        "median_percent": None if percents is None else float(np.median(percents)),
        "r2": 1.0 - float(np.mean(error**2)) / spread if spread > 0 else None,
        "rare_rmse": _root(error[rare]),
    }


def _root(error: FloatArray) -> float | None:
    return float(np.sqrt(np.mean(error**2))) if len(error) else None
