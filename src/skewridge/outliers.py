"""Rows that pull a least-squares fit after them."""

from __future__ import annotations

import numpy as np

from .slices import FloatArray, IntArray

SUSPECTS = 20  # rows of the largest residuals, and of the most extreme responses, that are looked at
MOST_NAMED = 10
NEGLIGIBLE = 0.1  # residuals below this share of the response's spread are not told apart
STRONG = 30.0  # a row dominates when it moves the fit at its own place by so many typical residuals


def suspects(y: FloatArray, residual: FloatArray) -> IntArray:
    """Rows that may dominate: a row that the fit follows has a small residual but an extreme response."""
    n = min(SUSPECTS, len(y))
    extreme = np.argpartition(-np.abs(y - np.median(y)), n - 1)[:n]
    missed = np.argpartition(-np.abs(residual), n - 1)[:n]
    return np.union1d(extreme, missed)


def typical(residual: FloatArray) -> float:
    """The residuals' spread, which a few rows cannot change."""
    return 1.4826 * float(np.median(np.abs(residual))) or float(np.sqrt(np.mean(residual**2)))


def dominating(residual: FloatArray, hat: FloatArray, spread: float) -> tuple[IntArray, FloatArray]:
    """Return which of some rows dominate the fit, strongest first, and by how many typical residuals they move it.

    Without row i the fit at x_i would be lower by h_ii e_i, with e_i = r_i / (1 - h_ii). A row found is left out before
    the next is looked for (r_j + h_ji e_i, h_jl + h_ji h_il / (1 - h_ii)): rows near it are not blamed for what it did.

    Examples
    --------
    >>> import numpy as np
    >>> dominating(np.array([50.0, 0.1]), np.array([[0.5, 0.1], [0.1, 0.2]]), 1.0)
    (array([0]), array([50.]))
    """
    r, h, left = residual.copy(), hat.copy(), np.ones(len(residual), dtype=bool)
    found, pulls = list[int](), list[float]()
    while left.any() and len(found) < MOST_NAMED:
        free = np.maximum(1.0 - h.diagonal(), 1e-12)
        pull = np.where(left, np.abs(h.diagonal() * r / free), -1.0)
        i = int(np.argmax(pull))
        if not pull[i] > STRONG * spread:
            break
        found.append(i)
        pulls.append(pull[i] / spread if spread > 0 else np.inf)
        left[i] = False
        r, h = r + h[:, i] * r[i] / free[i], h + np.outer(h[:, i], h[i]) / free[i]
    return np.array(found, dtype=np.int64), np.array(pulls)
