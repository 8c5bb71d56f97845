"""Columns with values far from all others: heavy tails, and cells that may be wrong."""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray

FAR = 25.0  # times the usual distance from the median; an exponential column of a million rows reaches 17
NORMAL_IQR = 1.349  # the interquartile range of a standard normal column
FEWEST_VALUES = 8  # beside the most common one, that quartiles are told by
QUARTILES = (0.25, 0.5, 0.75)


def usual_range(values: FloatArray, totals: FloatArray) -> tuple[float, float]:
    """The range beyond which values are far: the median and 25 times IQR / 1.349 on either side.

    Values come distinct and ascending, and occur ``totals`` times. Where half of them are one, only the others are
    looked at; where too few values differ, none is far.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = usual_range(np.append(np.linspace(-1.0, 1.0, 101), 1e6), np.ones(102))
    >>> round(low), round(high)
    (-19, 19)
    """
    low, middle, high = _quartiles(values, totals)
    if low == high:
        others = values != middle
        if np.count_nonzero(others) < FEWEST_VALUES:
            return -np.inf, np.inf
        low, middle, high = _quartiles(values[others], totals[others])
    far = FAR * (high - low) / NORMAL_IQR
    return (middle - far, middle + far) if far > 0.0 else (-np.inf, np.inf)


def reach(x: FloatArray) -> float:
    """The largest distance of a column's values from the median over that which is usual, IQR / 1.349.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1.0, 1.0, 101)
    >>> round(reach(x), 2), bool(reach(np.append(x, 1e6)) > 1e6)
    (1.34, True)
    """
    values, totals = np.unique(x[np.isfinite(x)], return_counts=True)
    low, high = usual_range(values, totals.astype(np.float64)) if len(values) else (-np.inf, np.inf)
    if not np.isfinite(high - low):
        return 0.0
    return float(np.abs(values - (low + high) / 2).max() / (high - low) * 2 * FAR)


def _quartiles(values: FloatArray, totals: FloatArray) -> FloatArray:
    """Quartiles between mid-ranks; constant where more than half of the values are one."""
    ranks = (np.cumsum(totals) - 0.5 * totals) / totals.sum()
    mode = int(np.argmax(totals))
    if totals[mode] > 0.5 * totals.sum():
        return np.repeat(values[mode], 3)
    return np.interp(QUARTILES, ranks, values)
