"""A node's ridge regression for every penalty at once.

The seam: :func:`reduce_node` does the O(n^3) work that no penalty changes, W^1/2 K W^1/2 = Q T Q' with T tridiagonal;
:func:`solve_path` then costs O(n^2) a penalty for coefficients, residuals and leverages together. Reducing to a
tridiagonal costs half of an eigendecomposition and serves a path of penalties as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .lapack import tridiagonalise
from .slices import FloatArray


@dataclass(frozen=True)
class Reduction:
    """What no penalty changes about a node: T's diagonals, Q', z = Q' W^1/2 y and the weights (None: all 1)."""

    diagonal: FloatArray
    off: FloatArray
    basis: FloatArray
    z: FloatArray
    weights: FloatArray | None


@dataclass(frozen=True)
class Path:
    """A node's estimates along P penalties; every array has one row a penalty.

    Attributes
    ----------
    penalties : (P,) array
    coef : (P, n) array
    residual : (P, n) array, y - f on the node's own rows
    unexplained : (P, n) array, 1 - A_ii, A the hat matrix
    """

    penalties: FloatArray
    coef: FloatArray
    residual: FloatArray
    unexplained: FloatArray

    @property
    def trace(self) -> FloatArray:
        """tr A, the degrees of freedom, (P,)."""
        return self.unexplained.shape[1] - self.unexplained.sum(axis=1)

    @property
    def left_out(self) -> FloatArray:
        """y_i minus the node's estimate without row i, r_i / (1 - A_ii), (P, n)."""
        return self.residual / self.unexplained


def reduce_node(gram: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> Reduction:
    """Reduce a node's gram, of which the lower triangle is read; overwrites it."""
    root = None if weights is None else np.sqrt(weights)
    if root is not None:
        gram *= root
        gram *= root[:, None]
    diagonal, off = tridiagonalise(gram)
    return Reduction(diagonal, off, gram, gram @ (y if root is None else root * y), weights)


def solve_path(node: Reduction, penalties: FloatArray) -> Path:
    """Solve a reduced node for every penalty.

    With c = penalty sum w: coef = W^1/2 Q (T + c)^-1 z, residual = c W^-1 coef, 1 - A_ii = c [Q (T + c)^-1 Q']_ii.
    """
    from .tridiagonal import solve_shifted  # compiled on first use

    n, weights = len(node.diagonal), node.weights
    ridge = penalties * (n if weights is None else weights.sum())
    solutions, inverse = np.empty((len(ridge), n)), np.empty((len(ridge), n))
    solve_shifted(node.diagonal, node.off, ridge, node.basis, node.z, solutions, inverse)
    coef = solutions @ node.basis
    if weights is not None:
        coef *= np.sqrt(weights)
    residual = coef * ridge[:, None]
    if weights is not None:
        residual /= weights
    return Path(penalties, coef, residual, inverse * ridge[:, None])
