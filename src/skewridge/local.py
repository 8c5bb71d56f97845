"""What a node solves: (weighted) kernel ridge regression on its own rows.

A node of n rows solves (K + n penalty I) beta = y; with weights w, (K + penalty (sum w) W^-1) beta = y.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from .kernels import Kernel
from .lapack import NotPositiveDefinite, cholesky, cholesky_solve
from .slices import FloatArray, IntArray


@dataclass(frozen=True)
class NodeFit:
    """One local estimate: f(x) = sum_i coef_i k(x, x_rows[i])."""

    rows: IntArray
    coef: FloatArray


class Workspace(threading.local):
    """One square matrix for each thread, used again by every node that fits in it."""

    def __init__(self) -> None:
        self._buffer = np.empty(0)

    def square(self, n: int) -> FloatArray:
        """Return an uninitialised (n, n) matrix, valid until the next call in this thread."""
        if self._buffer.size < n * n:
            self._buffer = np.empty(n * n)
        return self._buffer[: n * n].reshape(n, n)


def ridge_of(n_rows: int, penalty: float, weights: FloatArray | None = None) -> FloatArray:
    """Return what is added to the diagonal of K: n penalty, or penalty (sum w) / w_i."""
    if weights is None:
        return np.full(n_rows, n_rows * penalty)
    return penalty * weights.sum() / weights


def factorise(
    kernel: Kernel,
    X: FloatArray,
    penalty: float,
    weights: FloatArray | None = None,
    *,
    workspace: Workspace,
    node: int = 0,
) -> FloatArray:
    """Return the Cholesky factor of k(X, X) + diag(ridge), in the thread's workspace."""
    matrix = kernel.gram_lower(X, workspace.square(len(X)))
    matrix.reshape(-1)[:: len(X) + 1] += ridge_of(len(X), penalty, weights)
    where = f"Node {node} ({len(X):,} rows) cannot be solved with penalty {penalty:.3g}"
    try:
        factor = cholesky(matrix)
    except NotPositiveDefinite as error:
        raise np.linalg.LinAlgError(
            f"{where}: {error}. Raise the penalty, or lower the bandwidth or the degree; rows that repeat need a "
            "larger penalty than others."
        ) from error
    if not np.isfinite(factor.diagonal()).all():
        raise np.linalg.LinAlgError(
            f"{where}: the kernel's values overflow. Standardise the features or lower the degree."
        )
    return factor


def solve_node(
    kernel: Kernel,
    X: FloatArray,
    y: FloatArray,
    penalty: float,
    weights: FloatArray | None = None,
    *,
    workspace: Workspace | None = None,
    node: int = 0,
) -> FloatArray:
    """Return beta with (K + n penalty I) beta = y, or its weighted version.

    Examples
    --------
    >>> import numpy as np
    >>> beta = solve_node(Kernel("gaussian", bandwidth=1.0), np.array([[0.0]]), np.array([3.0]), penalty=0.5)
    >>> beta  # 3 / (1 + 1 * 0.5)
    array([2.])
    """
    factor = factorise(kernel, X, penalty, weights, workspace=workspace or Workspace(), node=node)
    return cholesky_solve(factor, np.array(y, dtype=np.float64))
