"""The conditional variance of the average: what the noise in y does to it, given the inputs and the allocation.

The average is linear in y: fbar(x) = sum_i a_i(x) y_i, where a row that several nodes share adds up its influence in
all of them before it is squared: var = sigma^2 sum_i a_i(x)^2.
"""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.job import Job, run
from skewridge.linalg.cholesky import cholesky_solve, lower_inverse, squared_columns
from skewridge.nodes.fit import Problem
from skewridge.ridge.local import Workspace, factorise, ridge_of

INFLUENCE_BYTES = 256e6  # how much of the influence matrix (new points x shared rows) is held at once


def conditional_std(problem: Problem, X: FloatArray, centred: bool, job: Job) -> FloatArray:
    """Return the conditional standard deviation of the average at X.

    ``centred``: the mean of y was subtracted, so it is estimated from the same rows. Every node is factorised again,
    once for the noise and once for every block of new points that 256 MB of influences can hold.
    """
    return np.sqrt(relative_variance(problem, X, centred, job)) * noise_std(problem, _held(problem), job)


def relative_variance(problem: Problem, X: FloatArray, centred: bool, job: Job) -> FloatArray:
    """Return sum_i a_i(x)^2 at every x: the conditional variance of the average over that of the noise, exactly."""
    held = _held(problem)
    column = np.cumsum(held > 1) - 1  # where a shared row's influence is added up
    width = max(1, int(INFLUENCE_BYTES / (8 * max(1, int(np.sum(held > 1))))))
    blocks = [X[start : start + width] for start in range(0, len(X), width)]
    return np.concatenate([_influence(problem, block, held, column, centred, job) for block in blocks])


def noise_std(problem: Problem, held: IntArray, job: Job) -> float:
    """Return sigma: the nodes' squared residuals over their residual degrees of freedom, every row counted once.

    Where the nodes cannot follow the truth their bias counts as noise.
    """
    scale = float(np.abs(problem.y).max()) or 1.0  # squares of tiny responses must not vanish
    hats = Hats(problem)

    def local(i: int) -> tuple[float, float]:
        rows = problem.partition.allocation[i]
        residual, unexplained = hats.residual(i, scale)
        return float(np.sum(residual**2 / held[rows])), float(np.sum(unexplained / held[rows]))

    sums = np.array(list(run(local, range(len(problem.partition.allocation)), job, "noise")))
    squares, freedom = sums.sum(axis=0)
    return scale * float(np.sqrt(squares / freedom))


def _influence(
    problem: Problem, X: FloatArray, held: IntArray, column: IntArray, centred: bool, job: Job
) -> FloatArray:
    """Return sum_i a_i(x)^2: rows of one node alone are squared at once, the others when all is added."""
    k, n_rows, hats = len(problem.partition.allocation), len(problem.y), Hats(problem)

    def local(i: int) -> tuple[IntArray, FloatArray]:
        return problem.partition.allocation[i], hats.influence(i, X) / k

    shared = np.zeros((len(X), int(np.sum(held > 1))))
    total, squares = np.zeros(len(X)), np.zeros(len(X))
    for rows, influence in run(local, range(k), job, "influence of rows"):
        several = held[rows] > 1
        total += influence.sum(axis=1)
        squares += np.sum(influence[:, ~several] ** 2, axis=1)
        shared[:, column[rows[several]]] += influence[:, several]
    squares += np.sum(shared**2, axis=1)
    if centred:  # a_i + t for every row, t = (1 - sum a) / N
        t = (1.0 - total) / n_rows
        squares += t * (2.0 * total + n_rows * t)
    return squares


def _held(problem: Problem) -> IntArray:
    """How many nodes hold every row."""
    return np.bincount(problem.partition.allocation.rows, minlength=len(problem.y))


class Hats:
    """How the nodes' estimates depend on their responses."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.workspace = problem, Workspace()

    def residual(self, i: int, scale: float) -> tuple[FloatArray, FloatArray]:
        """y - f on the rows of node i, over a scale, and 1 - A_ii, A its hat matrix."""
        rows, weights = self.problem.partition.node(i)
        ridge = ridge_of(len(rows), self.problem.penalties[i], weights)
        factor = self._factor(i)
        residual = ridge * cholesky_solve(factor, self.problem.y[rows] / scale)
        return residual, ridge * squared_columns(lower_inverse(factor))

    def influence(self, i: int, X: FloatArray) -> FloatArray:
        """How much every response of node i counts at X, (n, rows)."""
        rows = self.problem.partition.allocation[i]
        return cholesky_solve(self._factor(i), self.problem.kernel.cross(X, self.problem.X[rows]))

    def _factor(self, i: int) -> FloatArray:
        rows, weights = self.problem.partition.node(i)
        kernel, penalty = self.problem.kernel, float(self.problem.penalties[i])
        return factorise(kernel, self.problem.X[rows], penalty, weights, workspace=self.workspace, node=i)
