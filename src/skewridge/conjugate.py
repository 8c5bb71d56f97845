"""The low-rank model by preconditioned conjugate gradients, for more centres than N m^2 allows.

(F'F + c) beta = F'y as in :mod:`~skewridge.lowrank`, but F'F is never formed: F = k(X, C) L^-T, so a step costs one
pass of kernel values, each computed once and used twice. The centres' own features are the rows of L; with every centre
standing for its share of the rows they estimate F'F by L' W L, whose factor with c is the preconditioner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .engine import Job, run
from .lapack import cholesky, cholesky_solve, lower_solve, lower_square
from .lowrank import BLOCK_ROWS, Basis
from .slices import FloatArray

PRECISION = 1e-9  # share of the first error, in the preconditioner's norm, at which steps end
LEAST_PRECISION = 1e-6  # of a solution that passes without a warning
MOST_STEPS = 300


@dataclass(frozen=True)
class Converged:
    """The solution, (p, r), the factor of the preconditioner, (r, r), the steps taken, and the precision reached."""

    beta: FloatArray
    factor: FloatArray
    n_steps: int
    precision: float


def conjugate_solve(
    basis: Basis,
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    ridge: float,
    stands_for: FloatArray,
    job: Job,
    precision: float = PRECISION,
) -> Converged:
    """Solve for every output of centred responses Y, (N, p), at once; ``stands_for`` rows each centre of the basis."""
    factor = preconditioner(basis, ridge, stands_for)
    shape = Y.shape[1], len(basis.factor)
    nothing = np.zeros_like(Y)

    def pulled(dual: FloatArray, targets: FloatArray, label: str) -> FloatArray:
        product = basis.kernel.product(basis.centers, dual, 0.0)

        def block(start: int) -> FloatArray:
            rows = slice(start, start + BLOCK_ROWS)
            return product.pull(X[rows], weights[rows], targets[rows])

        total = np.zeros(shape)
        for part in run(block, range(0, len(X), BLOCK_ROWS), job, label):
            total += part
        return lower_solve(basis.factor, total)

    def applied(beta: FloatArray, step: int) -> FloatArray:
        return ridge * beta - pulled(basis.dual(beta), nothing, f"step {step}")

    residual = pulled(np.zeros(shape), Y, "moments")
    beta, direction = np.zeros(shape), np.zeros(shape)
    first = size = np.ones(shape[0])
    for step in range(MOST_STEPS + 1):
        scaled = cholesky_solve(factor, residual.copy())
        before, size = size, np.sum(residual * scaled, axis=1)
        first = size if step == 0 else first
        reached = float(np.sqrt(np.max(np.divide(size, first, out=np.zeros_like(size), where=first > 0))))
        if reached <= precision or step == MOST_STEPS:
            return Converged(beta, factor, step, reached)
        direction = scaled + _ratio(size, before)[:, None] * direction
        image = applied(direction, step + 1)
        along = _ratio(size, np.sum(direction * image, axis=1))[:, None]
        beta = beta + along * direction
        residual = residual - along * image
    raise AssertionError("the last step returns")


def preconditioner(basis: Basis, ridge: float, stands_for: FloatArray) -> FloatArray:
    """The Cholesky factor of L' W L + ridge."""
    matrix = lower_square(basis.factor * np.sqrt(stands_for)[:, None])
    matrix.reshape(-1)[:: len(matrix) + 1] += ridge
    return cholesky(matrix)


def _ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Outputs that are solved already have nothing over nothing: 0."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
