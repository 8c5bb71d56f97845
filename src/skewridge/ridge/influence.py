"""Rows that pull a least-squares fit after them."""

from __future__ import annotations

import numpy as np

from skewridge._typing import BoolArray, FloatArray, IntArray

SUSPECTS = 20  # rows of the largest residuals, and of the most extreme responses, that are looked at
MOST_NAMED = 10
NEGLIGIBLE = 0.1  # residuals below this share of the response's spread are not told apart
STRONG = 30.0  # a row dominates when it moves the fitted values by so many typical residuals in all
LEAST_FREE = 1e-3  # 1 - h below which a row is interpolated


def suspects(y: FloatArray, residual: FloatArray) -> IntArray:
    """Rows that may dominate: a row that the fit follows has a small residual but an extreme response."""
    n = min(SUSPECTS, len(y))
    extreme = np.argpartition(-np.abs(y - np.median(y)), n - 1)[:n]
    missed = np.argpartition(-np.abs(residual), n - 1)[:n]
    return np.union1d(extreme, missed)


def typical(residual: FloatArray) -> float:
    """The residuals' spread about their median, which a few rows cannot change even by shifting the intercept."""
    deviation = residual - np.median(residual)
    return 1.4826 * float(np.median(np.abs(deviation))) or float(np.sqrt(np.mean(deviation**2)))


def dominating(
    residual: FloatArray, response: FloatArray, hat: FloatArray, spread: float, strong: float = STRONG
) -> tuple[IntArray, FloatArray]:
    """Return which of some rows dominate the fit, the culprit first, and by how many typical residuals they move it.

    Without row i, whose left-out error is e_i = r_i / (1 - h_ii), the fitted values would change by h_ji e_i, which is
    at most e_i sqrt(h_ii) in all (the root of the sum of squares). A row that the fit interpolates (h_ii = 1) is left
    out to the level of the others: its error is its response, centred at the median. Of the rows that dominate, the one
    whose absence makes the others predictable is named, and is left out before the next is looked for (r_j + h_ji e_i,
    h_jl + h_ji h_il / (1 - h_ii)): rows near it are not blamed for what it did.

    Examples
    --------
    >>> import numpy as np
    >>> hat = np.array([[0.25, 0.1], [0.1, 0.2]])
    >>> dominating(np.array([50.0, 0.1]), np.array([60.0, 5.0]), hat, 1.0)
    (array([0]), array([33.33333333]))
    """
    r, h, left = residual.copy(), hat.copy(), np.ones(len(residual), dtype=bool)
    found, pulls = list[int](), list[float]()
    while len(found) < MOST_NAMED:
        pull = np.where(left, np.abs(_left_out(r, response, h)) * np.sqrt(_own(h)), 0.0)
        likely = np.flatnonzero(pull > strong * spread).tolist()
        if not likely:
            break
        without = {i: _without(i, r, response, h) for i in likely}
        i = min(likely, key=lambda i: _squared_errors(*without[i], response, left, i))
        found.append(i)
        pulls.append(float(pull[i]))
        left[i] = False
        r, h = without[i]
    return np.array(found, dtype=np.int64), np.array(pulls) / spread if spread > 0 else np.full(len(pulls), np.inf)


def _own(h: FloatArray) -> FloatArray:
    return np.clip(h.diagonal(), 0.0, 1.0)


def _left_out(r: FloatArray, response: FloatArray, h: FloatArray) -> FloatArray:
    """Every row's error when it is left out."""
    free = 1.0 - _own(h)
    return np.where(free > LEAST_FREE, r / np.maximum(free, LEAST_FREE), response)


def _without(i: int, r: FloatArray, response: FloatArray, h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Residuals and hat matrix when row i is left out."""
    free = 1.0 - float(_own(h)[i])
    shifted = r + h[:, i] * _left_out(r, response, h)[i]
    return shifted, h + np.outer(h[:, i], h[i]) / free if free > LEAST_FREE else h


def _squared_errors(r: FloatArray, h: FloatArray, response: FloatArray, left: BoolArray, i: int) -> float:
    """How badly the others are predicted when each is left out as well."""
    others = left.copy()
    others[i] = False
    return float(np.sum(_left_out(r, response, h)[others] ** 2))
