"""A node's ridge regression for every penalty at once.

The seam: :func:`reduce_node` does the O(n^3) work that no penalty changes, W^1/2 K W^1/2 = Q T Q' with T tridiagonal;
:func:`solve_path` then costs O(n^2) a penalty. Reducing to a tridiagonal costs a third of an eigendecomposition and
serves a path of penalties as well; leverages cost O(n^2) more for every row whose leverage is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.linalg.lapack import Tridiagonal, tridiagonalise

LEVERAGES_AT_ONCE = 64


@dataclass(frozen=True)
class Reduction:
    """The part of a node's solution that no penalty changes.

    Attributes
    ----------
    matrix : W^1/2 K W^1/2 = Q T Q'
    z : (n,) array, Q' W^1/2 y
    weights : (n,) array, or None where all are 1
    """

    matrix: Tridiagonal
    z: FloatArray
    weights: FloatArray | None


@dataclass(frozen=True)
class Path:
    """A node's estimates along P penalties; every array has one row a penalty.

    Attributes
    ----------
    penalties : (P,) array
    coef : (P, n) array; (P, m) where the node's estimate is an expansion over m centres
    residual : (P, n) array, y - f on the node's own rows
    unexplained : (P, m) array, 1 - A_ii of the rows asked for, A the hat matrix
    rows : (m,) array
    """

    penalties: FloatArray
    coef: FloatArray
    residual: FloatArray
    unexplained: FloatArray
    rows: IntArray

    @property
    def trace(self) -> FloatArray:
        """tr A, the degrees of freedom, (P,); all leverages must have been asked for."""
        return self.residual.shape[1] - self.unexplained.sum(axis=1)

    @property
    def left_out(self) -> FloatArray:
        """y_i minus the node's estimate without row i, r_i / (1 - A_ii), for the rows asked for, (P, m)."""
        return self.residual[:, self.rows] / self.unexplained


def reduce_node(gram: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> Reduction:
    """Reduce a node's gram, of which the lower triangle is read and overwritten; the upper one stays as it is."""
    root = None if weights is None else np.sqrt(weights)
    if root is not None:
        for i in range(len(root)):
            gram[i, : i + 1] *= root[: i + 1] * root[i]
    matrix = tridiagonalise(gram)
    z = matrix.rotate(np.array([y if root is None else root * y]), transpose=True)[0]
    return Reduction(matrix, z, weights)


def solve_path(node: Reduction, penalties: FloatArray, rows: IntArray | None = None) -> Path:
    """Solve a reduced node for every penalty, with the leverages of some rows (None: of all).

    With c = penalty sum w: coef = W^1/2 Q (T + c)^-1 z, residual = c W^-1 coef, 1 - A_ii = c [Q (T + c)^-1 Q']_ii.
    """
    from skewridge.linalg.tridiagonal import solve_shifted  # compiled on first use

    T, weights, n = node.matrix, node.weights, len(node.z)
    rows = np.arange(n) if rows is None else rows
    ridge = penalties * (n if weights is None else weights.sum())
    pivots, below = shifted_factors(T, ridge)
    coef = np.empty((len(ridge), n))
    solve_shifted(pivots, below, node.z, coef)
    T.rotate(coef, transpose=False)
    if weights is not None:
        coef *= np.sqrt(weights)
    residual = coef * ridge[:, None]
    if weights is not None:
        residual /= weights
    return Path(penalties, coef, residual, _leverages(T, pivots, below, rows) * ridge[:, None], rows)


def shifted_factors(T: Tridiagonal, ridges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Factorise T + c for every ridge c: pivots and what stands below them, both (P, n)."""
    from skewridge.linalg.tridiagonal import factorise_shifted

    n = len(T.diagonal)
    pivots, below = np.empty((len(ridges), n)), np.zeros((len(ridges), n))
    factorise_shifted(T.diagonal, T.off, ridges, pivots, below)
    return pivots, below


def _leverages(T: Tridiagonal, pivots: FloatArray, below: FloatArray, rows: IntArray) -> FloatArray:
    """[Q (T + c)^-1 Q']_ii for some rows i, (P, m), a few columns of Q' at a time."""
    out = np.empty((len(pivots), len(rows)))
    for start in range(0, len(rows), LEVERAGES_AT_ONCE):
        block = rows[start : start + LEVERAGES_AT_ONCE]
        units = np.zeros((len(block), pivots.shape[1]))
        units[np.arange(len(block)), block] = 1.0
        out[:, start : start + len(block)] = quadratic_forms(T, pivots, below, units)
    return out


def quadratic_forms(T: Tridiagonal, pivots: FloatArray, below: FloatArray, rows: FloatArray) -> FloatArray:
    """v' Q (T + c)^-1 Q' v for every row v and every ridge c that was factorised, (P, m); rows are overwritten."""
    from skewridge.linalg.tridiagonal import inverse_diagonals

    basis = np.ascontiguousarray(T.rotate(rows, transpose=True).T)
    out = np.empty((len(pivots), len(rows)))
    inverse_diagonals(pivots, below, basis, out)
    return out
