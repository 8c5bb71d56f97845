"""The low-rank model: f(x) = k(x, C) a on m centres C, with every row in the loss.

With K_CC = L L', the features F(x) = L^-1 k(C, x) are orthonormal in the kernel's space, so that the penalty is
||beta||^2 and a = L^-T beta. (F'F + N penalty I) beta = F'y. Features are whitened BEFORE they are summed: sums of raw
kernel values lose all digits at wide bandwidths (where a penalty drowns that, they are whitened after).
The seam: :func:`sum_features` passes the data; :func:`ridge_path` knows no data and serves every penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import where_it_pays
from skewridge.execution.passes import sum_rows
from skewridge.kernels import Kernel
from skewridge.linalg.cholesky import (
    NotPositiveDefinite,
    cholesky,
    congruence,
    lower_inverse,
    lower_multiply,
    lower_solve,
    pivoted_cholesky,
    squared_columns,
    tridiagonalise,
)

LARGEST_LOSS = 1e-7  # of the penalty: the share that rounding may add to it before sums are whitened late
MANY = 2_000  # centres from which pivoting, which waits for memory, is avoided where it can be
TOLERANCE = 1e-10  # centres that the others explain to this share of the largest k(x, x) are dropped


@dataclass(frozen=True)
class Basis:
    """r functions, orthonormal in the kernel's space, that span the kernel at the centres.

    centers (r, d), those that are linearly independent; kept (r,), their places among those given; factor L (r, r).
    """

    kernel: Kernel
    centers: FloatArray
    kept: IntArray
    factor: FloatArray

    def features(self, X: FloatArray) -> FloatArray:
        """F(x) = L^-1 k(C, x) of every row, (n, r)."""
        return lower_solve(self.factor, self.kernel.cross(X, self.centers))

    @property
    def summed_features(self) -> Callable[[FloatArray], FloatArray]:
        """X -> the features to rounding, for sums over many rows: by a product with L^-1, in half the time."""
        if len(self.factor) > MANY:
            return self.features
        inverse = lower_inverse(self.factor.copy())
        return lambda X: lower_multiply(inverse, self.kernel.cross(X, self.centers))

    def dual(self, beta: FloatArray) -> FloatArray:
        """L^-T beta: the coefficients of k(x, C), for every row of beta, (p, r)."""
        return lower_solve(self.factor, np.array(beta, dtype=np.float64, order="C"), transpose=True)


def make_basis(kernel: Kernel, centers: FloatArray) -> Basis:
    """Return the basis of some centres; rank-revealing, so repeated or nearly dependent centres do no harm."""
    with np.errstate(over="ignore"):
        diagonal = kernel.diagonal(centers)
    if not np.isfinite(diagonal).all():
        raise np.linalg.LinAlgError(
            f"The {kernel.name} kernel's values overflow. Standardise the features or lower the degree."
        )
    if len(centers) > MANY:
        with suppress(NotPositiveDefinite):
            factor = cholesky(kernel.gram_lower(centers))
            if float(factor.diagonal().min()) ** 2 > TOLERANCE * float(diagonal.max()):  # none is explained by others
                return Basis(kernel, centers, np.arange(len(centers)), np.tril(factor))
            del factor
    kept, factor = pivoted_cholesky(kernel.gram_lower(centers), TOLERANCE)
    return Basis(kernel, centers[kept], kept, factor)


@dataclass(frozen=True)
class Sums:
    """Sums over rows with weights w: F'wF, (r, r); F'w[Y, 1], (r, p + 1); and [Y, 1]'w[Y, 1]."""

    gram: FloatArray
    cross: FloatArray
    inner: FloatArray

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.gram + other.gram, self.cross + other.cross, self.inner + other.inner)

    def __iadd__(self, other: Sums) -> Sums:
        np.add(self.gram, other.gram, out=self.gram)
        np.add(self.cross, other.cross, out=self.cross)
        np.add(self.inner, other.inner, out=self.inner)
        return self

    def __sub__(self, other: Sums) -> Sums:
        return Sums(self.gram - other.gram, self.cross - other.cross, self.inner - other.inner)

    @property
    def n_rows(self) -> float:
        """The sum of the weights."""
        return float(self.inner[-1, -1])

    def moments(self, intercepts: FloatArray) -> FloatArray:
        """F'w(Y - intercepts), (p, r)."""
        return np.ascontiguousarray((self.cross[:, :-1] - np.outer(self.cross[:, -1], intercepts)).T)

    def errors(self, beta: FloatArray, intercepts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of w e^2 and of w e, e = Y - intercepts - F beta, for betas (P, p, r): (P, p) both."""
        yy, y1 = np.diagonal(self.inner)[:-1], self.inner[-1, :-1]
        total = yy - 2 * intercepts * y1 + intercepts**2 * self.n_rows
        fitted = np.einsum("qpr,pr->qp", beta, self.moments(intercepts))
        square = np.einsum("qpr,qpr->qp", beta, beta @ self.gram)
        plain = y1 - intercepts * self.n_rows - beta @ self.cross[:, -1]
        return np.maximum(total - 2 * fitted + square, 0.0), plain


def sum_features(
    basis: Basis,
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    label: str = "sums",
    penalty: float | None = None,
) -> Sums:
    """Sum over all rows; the same bits for any chunks and any number of threads.

    Where a penalty is given that the sums are meant for, and it drowns what is lost, kernel values are summed as they
    are and the sums whitened: half the work. Errors of about eps in every product are a matrix of norm sqrt(r) eps,
    which whitening stretches by up to the trace of K_CC^-1.
    """
    kernel, centers, late = basis.kernel, basis.centers, False
    if penalty is not None:
        largest = float(np.max(kernel.diagonal(centers))) ** 2
        rounding = float(np.finfo(np.float64).eps) * float(np.sqrt(len(basis.factor))) * largest
        loss = rounding * float(squared_columns(lower_inverse(basis.factor.copy())).sum())
        late = loss <= LARGEST_LOSS * penalty
    features_of = (lambda X: kernel.cross(X, centers)) if late else basis.summed_features  # raw values need no factor
    [raw] = sum_blocks(features_of, X, Y, weights, label, width=len(basis.kept))
    if not late:
        return raw
    cross = lower_solve(basis.factor, np.ascontiguousarray(raw.cross.T)).T
    return Sums(congruence(basis.factor, raw.gram), cross, raw.inner)


def sum_blocks(
    features_of: Callable[[FloatArray], FloatArray],
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    label: str,
    ends: Sequence[int] | None = None,
    width: int = 0,
) -> list[Sums]:
    """Sum what a function makes of the rows, block by block, over all rows or up to every end (a fold's last row + 1).

    The function must return arrays of its own, which are changed; ``width`` is the number of features, where known.
    """

    def block(X: FloatArray, Y: FloatArray, weights: FloatArray) -> Sums:
        counted = weights > 0
        if not counted.all():
            X, Y, weights = X[counted], Y[counted], weights[counted]
        root = np.sqrt(weights)[:, None]
        features = features_of(X)
        if np.any(root != 1.0):
            features *= root
        targets = np.column_stack([Y, np.ones(len(root))]) * root
        return Sums(features.T @ features, features.T @ targets, targets.T @ targets)

    light = bool(width) and not isinstance(X, Table)
    with where_it_pays(len(X) * width * (2.0 * width + 60.0)) if light else nullcontext():
        return sum_rows(block, [X, Y, weights], label, ends)


def ridge_path(gram: FloatArray, moments: FloatArray, ridges: FloatArray) -> FloatArray:
    """(gram + c)^-1 moments for every ridge c and every row of moments, (P, p, r); overwrites the gram.

    The gram is reduced to a tridiagonal once; a ridge then costs O(r^2).
    """
    from skewridge.linalg._tridiagonal_compiled import solve_shifted  # compiled on first use

    T, out = tridiagonalise(gram), np.empty((len(moments), len(ridges), len(gram)))
    solve_shifted(T.diagonal, T.off, ridges, T.rotate(moments.copy(), transpose=True), out)
    return T.rotate(out.reshape(-1, len(gram)), transpose=False).reshape(out.shape).transpose(1, 0, 2)


def ridge_factor(gram: FloatArray, ridge: float) -> FloatArray:
    """The Cholesky factor of gram + ridge I, which overwrites the gram."""
    gram[np.diag_indices(len(gram))] += ridge
    return cholesky(gram)


def subspace(basis: Basis, centers: FloatArray) -> FloatArray:
    """Return an orthonormal T', (q, r), of the functions that some of the basis's centres span: features T F."""
    inside = basis.features(centers)
    kept, factor = pivoted_cholesky(inside @ inside.T, TOLERANCE)
    return np.ascontiguousarray(lower_solve(factor, np.ascontiguousarray(inside[kept].T)).T)
