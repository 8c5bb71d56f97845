"""One cell: exact kernel ridge regression with a refitted mean, and its leave-one-out values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.kernels import Kernel
from skewridge.kernels.kernel import loops_module
from skewridge.linalg.inverse_factor import inverse_factor, inverse_solve
from skewridge.linalg.lapack import NotPositiveDefinite, add_gram, lower_square, squared_columns
from skewridge.response.grouping import share_groups
from skewridge.ridge.leave_one_out import errors_by_group
from skewridge.ridge.local import Workspace

EPS = float(np.finfo(np.float64).eps)
RAISE = 10.0  # what the ridge of a singular cell is multiplied by
MOST_RIDGE = 1e6  # times the largest diagonal: a matrix that is singular even so holds nan or inf


@dataclass(frozen=True)
class CellSolution:
    """The estimate of one cell, f(x) = mean + slope' q(x) + sum_i coef_i k(x, z_i).

    Attributes
    ----------
    coef : (n, p) array
    mean : (p,) array
    slope : (k, p) array, one row for every column of q
    left_out : (n, p) array, the estimate at every row without that row, or without its group; nan
        where its group is all that the cell holds
    ridge : float, the ridge it was solved with; above the one asked for where that left the cell
        singular
    """

    coef: FloatArray
    mean: FloatArray
    slope: FloatArray
    left_out: FloatArray
    ridge: float


def solve_cell(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    q: FloatArray | None = None,
    *,
    ridge: float,
    trend: float | FloatArray = 0.0,
    groups: IntArray | None = None,
    workspace: Workspace | None = None,
) -> CellSolution:
    """Solve a cell and leave every row, or every group, out once.

    With G = k(Z, Z) + q diag(trend) q' + ridge diag(1 / f) and P = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1):
    coef = P Y, mean = 1' G^-1 Y / (1' G^-1 1), and the estimate without row i is
    y_i - (P Y)_i / P_ii; without a group B it is Y_B - P_BB^-1 (P Y)_B. A row of frequency f is left
    out with all its copies. Trends are taken around the cell's means of q, which changes nothing but
    rounding.

    Parameters
    ----------
    Z : (n, D) array of scaled rows, at least two
    Y : (n, p) array
    frequencies : (n,) array, how often each row occurs
    q : (n, k) array, or None for no trend
    trend : float, or (k,) array with one for every column of q
    groups : (n,) array, rows that are left out together; None: every row on its own

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.array([[0.0], [50.0]])  # too far apart to share more than the mean
    >>> Y = np.array([[1.0], [3.0]])
    >>> cell = solve_cell(Kernel("laplacian", bandwidth=1.0), Z, Y, np.ones(2), ridge=1.0)
    >>> cell.mean, cell.coef.ravel(), cell.left_out.ravel()
    (array([2.]), array([-0.5,  0.5]), array([3., 1.]))
    """
    columns = np.empty((0, len(Z))) if q is None else np.ascontiguousarray(q.T)
    middle = np.array([np.average(column, weights=frequencies) for column in columns])
    centred = columns - middle[:, None]
    trends = np.broadcast_to(trend, middle.shape)
    workspace = workspace or Workspace()
    inverse, raised = _factorise(kernel, Z, centred.T, trends, ridge / frequencies, workspace)
    offset = np.average(Y, axis=0, weights=frequencies)
    right = np.ones((Y.shape[1] + 1, len(Z)))
    right[:-1] = (Y - offset).T
    inverse_solve(inverse, right)
    ones, total = right[-1], right[-1].sum()
    mean = right[:-1].sum(axis=1) / total
    coef = np.ascontiguousarray((right[:-1] - np.outer(mean, ones)).T)
    slope = trends[:, None] * _products(centred, coef)
    left_out = Y - _left_out_errors(inverse, ones, coef, groups)
    return CellSolution(coef, mean + offset - middle @ slope, slope, left_out, ridge * raised)


def _left_out_errors(inverse: FloatArray, ones: FloatArray, coef: FloatArray, groups: IntArray | None) -> FloatArray:
    """Errors of rows, or of groups, left out, (n, p), from G's inverse factor, which is overwritten, and G^-1 1."""
    total = ones.sum()
    if groups is None or not share_groups(groups):
        diagonal = squared_columns(inverse)
        precision = np.maximum(diagonal - ones**2 / total, EPS * diagonal)
        return np.asarray(coef / precision[:, None])
    if np.all(groups == groups[0]):
        return np.full_like(coef, np.nan)
    P = np.empty_like(inverse)
    loops_module().project_out_mean(lower_square(inverse), ones, float(total), P)
    return errors_by_group(P, coef, groups)


def _products(rows: FloatArray, coef: FloatArray) -> FloatArray:
    """Rows @ coef, (k, p), row by row: one more of them changes no bit of the others."""
    return np.array([row @ coef for row in rows]).reshape(len(rows), coef.shape[1])


def _factorise(
    kernel: Kernel,
    Z: FloatArray,
    q: FloatArray,
    trends: FloatArray,
    ridge: FloatArray,
    workspace: Workspace,
) -> tuple[FloatArray, float]:
    """The inverse Cholesky factor of G, and how many times the ridge had to be raised for it to exist."""
    raised = 1.0
    while True:
        matrix = kernel.gram_lower(Z, workspace.square(len(Z)))
        add_gram(matrix, q, trends)
        diagonal = matrix.reshape(-1)[:: len(Z) + 1]
        largest = float(diagonal.max())
        diagonal += raised * ridge
        if _factors(matrix, largest):
            return matrix, raised
        raised *= RAISE
        if not raised * ridge.max() <= MOST_RIDGE * max(largest, 1.0):
            raise np.linalg.LinAlgError(
                f"A cell of {len(Z):,} rows cannot be solved with any ridge: its kernel values are "
                "not finite. Look for nan, inf or huge numbers among the scaled features."
            )


def _factors(matrix: FloatArray, largest: float) -> bool:
    """Overwrite the matrix with its inverse Cholesky factor; False if it is singular to rounding."""
    try:
        inverses = inverse_factor(matrix).diagonal()
    except NotPositiveDefinite:
        return False
    return bool(np.isfinite(inverses).all() and EPS * largest * inverses.max() ** 2 < 1.0)
