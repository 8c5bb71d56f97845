"""A node's ridge regression for every penalty at once.

The seam: :func:`tridiagonalise` does the O(n^3) work that no penalty changes, W^1/2 K W^1/2 = Q T Q' with T
tridiagonal; a penalty then costs O(n^2). Reducing to a tridiagonal costs a third of an eigendecomposition and
serves a path of penalties as well; leverages cost O(n^2) more for every row whose leverage is asked for.

What is compiled is imported in the functions: numba takes half a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.linalg.cholesky import lapack

LEVERAGES_AT_ONCE = 64


@dataclass(frozen=True)
class Tridiagonal:
    """a = Q T Q': T by its diagonal (n,) and off-diagonal (n - 1,), Q as LAPACK's reflectors, never formed."""

    diagonal: FloatArray
    off: FloatArray
    reflectors: FloatArray
    scales: FloatArray

    def rotate(self, rows: FloatArray, transpose: bool) -> FloatArray:
        """Overwrite every row v of a C-ordered matrix with Q v, or with Q' v."""
        n, m, way, Q = len(self.diagonal), len(rows), b"T" if transpose else b"N", self.reflectors
        work = np.empty(64 * max(1, m))
        lapack("ormtr", Q, b"L", b"U", way, n, m, Q, n, self.scales, rows, n, work, work.size)
        return rows


def tridiagonalise(a: FloatArray) -> Tridiagonal:
    """Reduce a symmetric matrix; overwrites it with the reflectors."""
    n = len(a)
    d, e, tau, work = np.empty(n), np.empty(max(1, n - 1)), np.empty(max(1, n - 1)), np.empty(64 * n)
    lapack("sytrd", a, b"U", n, a, n, d, e, tau, work, work.size)
    return Tridiagonal(d, e[: n - 1], a, tau)


@dataclass(frozen=True)
class Path:
    """A node's estimates along P penalties; every array has one row a penalty.

    coef (P, n); residual (P, n), y - f on the node's rows; unexplained (P, m), 1 - A_ii of the rows (m,) asked for, A
    the hat matrix.
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


def solve_path(
    gram: FloatArray,
    y: FloatArray,
    penalties: FloatArray,
    weights: FloatArray | None = None,
    rows: IntArray | None = None,
) -> Path:
    """Solve a node for every penalty, with the leverages of some rows (None: of all).

    With c = penalty sum w: coef = W^1/2 Q (T + c)^-1 z, residual = c W^-1 coef, 1 - A_ii = c [Q (T + c)^-1 Q']_ii.
    The lower triangle of the gram is read and overwritten; the upper one stays as it is.
    """
    from skewridge.linalg._tridiagonal_compiled import inverse_diagonals, solve_shifted

    n, root = len(y), None if weights is None else np.sqrt(weights)
    if root is not None:
        for i in range(n):
            gram[i, : i + 1] *= root[: i + 1] * root[i]
    T = tridiagonalise(gram)
    z = T.rotate(np.array([y if root is None else root * y]), transpose=True)

    ridge = penalties * (n if weights is None else weights.sum())
    coef = np.empty((len(ridge), n))
    pivots, below = solve_shifted(T.diagonal, T.off, ridge, z, coef[None])
    T.rotate(coef, transpose=False)
    if root is not None:
        coef *= root
    residual = coef * ridge[:, None]
    if weights is not None:
        residual /= weights

    rows = np.arange(n) if rows is None else rows
    leverages = np.empty((len(ridge), len(rows)))
    for start in range(0, len(rows), LEVERAGES_AT_ONCE):
        block = rows[start : start + LEVERAGES_AT_ONCE]
        units = np.zeros((len(block), n))
        units[np.arange(len(block)), block] = 1.0
        basis = np.ascontiguousarray(T.rotate(units, transpose=True).T)  # a unit vector u becomes Q'u
        forms = np.empty((len(ridge), len(block)))
        inverse_diagonals(pivots, below, basis, forms)
        leverages[:, start : start + len(block)] = forms
    return Path(penalties, coef, residual, leverages * ridge[:, None], rows)
