"""The low-rank model by preconditioned conjugate gradients, for more centres than N m^2 allows.

(F'F + c) beta = F'y as in :mod:`~skewridge.ridge.low_rank`, but F'F is never formed: F = k(X, C) L^-T, so a step costs
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
from skewridge.linalg.cholesky import cholesky_solve, lower_solve, lower_square
from skewridge.ridge.low_rank import Basis, ridge_factor

PRECISION = 1e-9  # share of the first error, in the preconditioner's norm, at which steps end
LEAST_PRECISION = 1e-6  # that will do where rounding leaves no more: further steps would not help
MOST_STEPS = 300
NOTHING = 1e-13  # share of the responses' size below which what could be fitted is rounding

Solution = tuple[FloatArray, int, float]  # beta, (p, r), the steps taken, and the precision reached


def is_solved(n_steps: int, precision: float) -> bool:
    """Whether steps ended because they were done, or as done as rounding allows, and not because they ran out."""
    return precision <= PRECISION or (n_steps < MOST_STEPS and precision <= LEAST_PRECISION)


def preconditioner(basis: Basis, ridge: float, center_weights: FloatArray) -> FloatArray:
    """The Cholesky factor of L' W L + ridge."""
    return ridge_factor(lower_square(basis.factor * np.sqrt(center_weights)[:, None]), ridge)


@dataclass(frozen=True)
class NormalEquations:
    """F'wF + ridge as an operator on (q, r) arrays, never formed, with its preconditioner's factor."""

    basis: Basis
    X: RowData
    weights: FloatArray
    ridge: float
    factor: FloatArray

    def residual_moments(self, beta: FloatArray, targets: FloatArray | None, label: str) -> FloatArray:
        """F'w(targets - F beta), (q, r), for targets (N, q); None for targets of 0."""
        product = self.basis.kernel.product(self.basis.centers, self.basis.dual(beta), 0.0)

        def block(X: FloatArray, weights: FloatArray, *given: FloatArray) -> FloatArray:
            return product.residual_moments(X, weights, *(given or [np.zeros((len(X), len(beta)))]))

        tables = [self.X, self.weights] if targets is None else [self.X, self.weights, targets]
        return lower_solve(self.basis.factor, sum_rows(block, tables, label)[0])

    def __call__(self, beta: FloatArray, label: str) -> FloatArray:
        """(F'wF + ridge) beta."""
        return self.ridge * beta - self.residual_moments(beta, None, label)


def conjugate_solve(equations: NormalEquations, Y: FloatArray, precision: float = PRECISION) -> Solution:
    """Solve for every output of centred responses Y, (N, p), at once."""

    def residual(beta: FloatArray) -> FloatArray:
        return equations.residual_moments(beta, Y, "moments") - equations.ridge * beta

    least = NOTHING**2 * (equations.weights @ Y**2)
    return _descend(equations, residual, (Y.shape[1], len(equations.factor)), precision, least)


def conjugate_inverse(equations: NormalEquations, rows: FloatArray, precision: float) -> FloatArray:
    """(F'wF + ridge)^-1 v for every row v."""
    return _descend(equations, lambda beta: rows - equations(beta, "check"), rows.shape, precision)[0]


def _descend(
    equations: NormalEquations,
    true_residual: Callable[[FloatArray], FloatArray],
    shape: tuple[int, int],
    precision: float,
    least: FloatArray | float = 0.0,
) -> Solution:
    """Steps from 0 until what is left of the right-hand side is small; outputs whose size is the least are solved.

    The residual that steps carry along drifts from the true one where the centres are nearly dependent: the true one is
    computed when the steps believe to be done, and they start again from it while that helps.
    """
    beta, n_steps, reached = np.zeros(shape), 0, np.inf
    residual = true_residual(beta)
    _, first = _preconditioned(equations, residual)
    first[first <= least] = 0.0
    while n_steps < MOST_STEPS:
        before, direction = np.ones(len(beta)), np.zeros(shape)
        for step in range(MOST_STEPS - n_steps + 1):
            scaled, size = _preconditioned(equations, residual)
            if _share(size, first) <= precision or n_steps + step == MOST_STEPS:
                break
            direction = scaled + (_ratio(size, before)[:, None] * direction if step else 0.0)
            image = equations(direction, f"step {step + 1}")
            along = _ratio(size, np.sum(direction * image, axis=1))[:, None]
            beta = beta + along * direction
            residual = residual - along * image
            before = size
        n_steps += step
        residual, last = true_residual(beta), reached
        reached = _share(_preconditioned(equations, residual)[1], first)
        if reached <= precision or not reached <= 0.5 * last:
            break
    return beta, n_steps, reached


def _preconditioned(equations: NormalEquations, residual: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M^-1 r of every row r, by the preconditioner M, and the squared norms r'M^-1 r."""
    scaled = cholesky_solve(equations.factor, residual.copy())
    return scaled, np.sum(residual * scaled, axis=1)


def _share(size: FloatArray, first: FloatArray) -> float:
    return float(np.sqrt(np.max(_ratio(size, first))))


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Outputs that are solved already have nothing over nothing: 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
