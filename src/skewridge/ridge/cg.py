"""The low-rank model by preconditioned conjugate gradients, for more centres than N m^2 allows.

(F'F + c) beta = F'y as in :mod:`~skewridge.ridge.lowrank`, but F'F is never formed: F = k(X, C) L^-T, so a step costs
one pass of kernel values, each computed once and used twice. The centres' own features are the rows of L; with every
centre standing for its share of the rows they estimate F'F by L' W L, whose factor with c is the preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.chunked import RowData
from skewridge.execution.passes import sum_rows
from skewridge.linalg.cholesky import cholesky, cholesky_solve, lower_solve, lower_square
from skewridge.ridge.lowrank import Basis

PRECISION = 1e-9  # share of the first error, in the preconditioner's norm, at which steps end
LEAST_PRECISION = 1e-6  # that will do where rounding leaves no more: further steps would not help
MOST_STEPS = 300
NOTHING = 1e-13  # share of the responses' size below which what could be fitted is rounding


@dataclass(frozen=True)
class Converged:
    """The solution, (p, r), the steps taken, and the precision reached."""

    beta: FloatArray
    n_steps: int
    precision: float


def is_solved(n_steps: int, precision: float) -> bool:
    """Whether steps ended because they were done, or as done as rounding allows, and not because they ran out."""
    return precision <= PRECISION or (n_steps < MOST_STEPS and precision <= LEAST_PRECISION)


@dataclass(frozen=True)
class Normal:
    """F'wF + ridge as an operator on (q, r) arrays, never formed, with its preconditioner's factor."""

    basis: Basis
    X: RowData
    weights: FloatArray
    ridge: float
    factor: FloatArray

    def pulled(self, beta: FloatArray, targets: FloatArray | None, label: str) -> FloatArray:
        """F'w(targets - F beta), (q, r), for targets (N, q); None for targets of 0."""
        product = self.basis.kernel.product(self.basis.centers, self.basis.dual(beta), 0.0)

        def block(X: FloatArray, weights: FloatArray, *wanted: FloatArray) -> FloatArray:
            return product.residual_moments(X, weights, *(wanted or [np.zeros((len(X), len(beta)))]))

        tables = [self.X, self.weights] if targets is None else [self.X, self.weights, targets]
        sums = sum_rows(block, tables, label)[0]
        return lower_solve(self.basis.factor, sums)

    def __call__(self, beta: FloatArray, label: str) -> FloatArray:
        """(F'wF + ridge) beta."""
        return self.ridge * beta - self.pulled(beta, None, label)


def conjugate_solve(normal: Normal, Y: FloatArray, precision: float = PRECISION) -> Converged:
    """Solve for every output of centred responses Y, (N, p), at once."""

    def left(beta: FloatArray) -> FloatArray:
        return normal.pulled(beta, Y, "moments") - normal.ridge * beta

    least = NOTHING**2 * (normal.weights @ Y**2)
    return _descend(normal, left, (Y.shape[1], len(normal.factor)), precision, least)


def conjugate_inverse(normal: Normal, rows: FloatArray, precision: float) -> FloatArray:
    """(F'wF + ridge)^-1 v for every row v."""
    return _descend(normal, lambda beta: rows - normal(beta, "check"), rows.shape, precision).beta


def _descend(
    normal: Normal,
    left: Callable[[FloatArray], FloatArray],
    shape: tuple[int, int],
    precision: float,
    least: FloatArray | float = 0.0,
) -> Converged:
    """Steps from 0 until what is left of the right-hand side is small; outputs whose size is the least are solved.

    The residual that steps carry along drifts from the true one where the centres are nearly dependent: the true one is
    computed when the steps believe to be done, and they start again from it while that helps.
    """
    beta, steps, reached = np.zeros(shape), 0, np.inf
    residual = left(beta)
    first = _size(residual, normal)
    first[first <= least] = 0.0
    while steps < MOST_STEPS:
        beta, taken = _steps(normal, beta, residual, first, precision, MOST_STEPS - steps)
        steps, residual, before = steps + taken, left(beta), reached
        reached = _share(_size(residual, normal), first)
        if reached <= precision or not reached <= 0.5 * before:
            break
    return Converged(beta, steps, reached)


def _steps(
    normal: Normal, beta: FloatArray, residual: FloatArray, first: FloatArray, precision: float, most: int
) -> tuple[FloatArray, int]:
    """Conjugate gradients from beta; returns the solution and the number of steps."""
    direction, size = np.zeros(beta.shape), np.ones(len(beta))
    for step in range(most + 1):
        scaled = cholesky_solve(normal.factor, residual.copy())
        before, size = size, np.sum(residual * scaled, axis=1)
        if _share(size, first) <= precision or step == most:
            break
        direction = scaled + (_ratio(size, before)[:, None] * direction if step else 0.0)
        image = normal(direction, f"step {step + 1}")
        along = _ratio(size, np.sum(direction * image, axis=1))[:, None]
        beta = beta + along * direction
        residual = residual - along * image
    return beta, step


def _size(residual: FloatArray, normal: Normal) -> FloatArray:
    """The squared norm of every row, by the preconditioner."""
    return np.sum(residual * cholesky_solve(normal.factor, residual.copy()), axis=1)


def _share(size: FloatArray, first: FloatArray) -> float:
    return float(np.sqrt(np.max(_ratio(size, first))))


def preconditioner(basis: Basis, ridge: float, center_weights: FloatArray) -> FloatArray:
    """The Cholesky factor of L' W L + ridge."""
    matrix = lower_square(basis.factor * np.sqrt(center_weights)[:, None])
    matrix.reshape(-1)[:: len(matrix) + 1] += ridge
    return cholesky(matrix)


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Outputs that are solved already have nothing over nothing: 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
