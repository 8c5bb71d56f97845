"""Operations of what fits spend their time on, so that progress can be told.

An operation takes as long as one of a Cholesky factor; constants are measured.
"""

from __future__ import annotations

FITTING = "fitting centres"
VALUE_WORK = 60.0  # operations of matrix products that take as long as one kernel value


def values_work(n_rows: float, n_centers: float, n_features: float) -> float:
    """Operations of kernel values."""
    return n_rows * n_centers * (VALUE_WORK + 2.0 * n_features)


def sums_work(n_rows: float, n_centers: float, n_features: float) -> float:
    """Operations of F'F over rows: values, whitening, products, and the centres' factors."""
    products = 1.2 * n_rows * n_centers**2 + 2.0 * n_centers**3
    return products + values_work(n_rows, n_centers, n_features)


def folds_work(n_folds: int, rank: float) -> float:
    """Operations of every fold's projection and its path of penalties."""
    return n_folds * 6.0 * rank**3


def step_work(batch: float, n_features: float, n_searched: float = 0.0) -> float:
    """Operations of a step of learning: a gradient, and the search for the nearest rows."""
    gradient = 2.0 * batch**3 + batch**2 * (VALUE_WORK + 4.0 * n_features)
    return gradient + n_searched * (20.0 + 2.0 * n_features)


def cell_work(n_rows: float, n_features: float) -> float:
    """Operations of solving one cell: kernel values, the factor and its inverse."""
    return 2.0 / 3.0 * n_rows**3 + values_work(n_rows, n_rows / 2.0, n_features)
