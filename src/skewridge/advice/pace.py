"""Seconds that work takes on this machine: operations, at the pace of a tenth of a second's trial."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from skewridge.execution.blas import one_blas_thread
from skewridge.linalg.cholesky import inverse_factor

TRIAL_ROWS = 500
TRIAL_SECONDS = 0.1


@cache
def seconds_per_operation() -> float:
    """The time of an operation of a Cholesky factor; tried once a process.

    The median over inverse factors of a matrix of 500 rows, of which each has 2/3 n^3.
    """
    rows = np.linspace(0.0, 5.0, TRIAL_ROWS)
    matrix = np.exp(-np.abs(rows[:, None] - rows)) + np.eye(TRIAL_ROWS)
    took, end = list[float](), time.perf_counter() + TRIAL_SECONDS
    with one_blas_thread():
        while time.perf_counter() < end or not took:
            work = matrix.copy()
            start = time.perf_counter()
            inverse_factor(work)
            took.append(time.perf_counter() - start)
    return float(np.median(took)) / (2.0 / 3.0 * TRIAL_ROWS**3)
