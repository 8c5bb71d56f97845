"""Every node solved on its own rows, the average of their estimates, and how uncertain it is given the allocation.

The average is one expansion over the rows, and linear in y: fbar(x) = sum_i a_i(x) y_i, where a row that several nodes
share adds up its influence in all of them before it is squared: var = sigma^2 sum_i a_i(x)^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import current, run, using
from skewridge.kernels import Kernel
from skewridge.linalg.cholesky import Workspace, cholesky_solve, lower_inverse, squared_columns
from skewridge.nodes.partition import Partition
from skewridge.ridge.exact import Nodes, NodeSolver, factorise, make_layout, ridge_of
from skewridge.ridge.sharding import solve_shares

INFLUENCE_BYTES = 256e6  # how much of the influence matrix (new points x shared rows) is held at once


@dataclass(frozen=True)
class Problem:
    """The nodes' problem: rows (N, d), centred response (N,), who holds which row, kernel, the nodes' penalties (k,).

    In single precision where that is asked for and the penalty is large enough.
    """

    X: RowData
    y: FloatArray
    partition: Partition
    kernel: Kernel
    penalties: FloatArray
    single: bool = False

    @property
    def n_holding(self) -> IntArray:
        """How many nodes hold every row, (N,)."""
        return np.bincount(self.partition.allocation.rows, minlength=len(self.y))

    def factor(self, i: int, workspace: Workspace) -> FloatArray:
        """The Cholesky factor of node i's gram and ridge."""
        rows, weights = self.partition.node(i)
        return factorise(self.kernel, self.X[rows], float(self.penalties[i]), weights, workspace=workspace, node=i)


def fit_nodes(problem: Problem) -> FloatArray:
    """Solve every node on its own rows, largest first; all coefficients, (N~,), node after node.

    Rows of a table, or for another engine, are gathered for some nodes at a time.
    """
    partition = problem.partition
    with using(checkpoint=None):
        layout = make_layout(problem.kernel, problem.X, problem.single, float(problem.penalties.min()))
    nodes = Nodes(problem.kernel, layout, problem.y, partition.weights, problem.penalties, partition.allocation)
    if isinstance(problem.X, Table) or current().engine is not None or current().checkpoint is not None:
        return solve_shares(nodes, problem.X, partition.slices.labels, partition.dealing)
    solver = NodeSolver(nodes, problem.X)
    for _ in run(solver.solve, nodes.batches(), "local fits"):
        pass
    return solver.coef.astype(np.float64, copy=False)


def average_nodes(problem: Problem, coef: FloatArray) -> FloatArray:
    """The average as one expansion, (N,): beta_i = (1/k) sum of row i's coefficients over the nodes that hold it."""
    allocation = problem.partition.allocation
    return np.bincount(allocation.rows, weights=coef, minlength=len(problem.y)) / len(allocation)


def spread(estimates: Iterator[FloatArray]) -> FloatArray:
    """The standard deviation between estimates (Welford's update, in order); 0 for one of them."""
    mean, scatter, count = np.zeros(1), np.zeros(1), 0
    for count, values in enumerate(estimates, 1):
        step = values - mean
        mean = mean + step / count
        scatter = scatter + step * (values - mean)
    return np.sqrt(scatter / max(1, count - 1))


def noise_std(problem: Problem) -> float:
    """Sigma: the nodes' squared residuals over their residual degrees of freedom, every row counted once.

    Where the nodes cannot follow the truth their bias counts as noise.
    """
    scale = float(np.abs(problem.y).max()) or 1.0  # squares of tiny responses must not vanish
    n_holding, workspace = problem.n_holding, Workspace()

    def local(i: int) -> tuple[float, float]:
        rows, weights = problem.partition.node(i)
        ridge = ridge_of(len(rows), problem.penalties[i], weights)
        factor = problem.factor(i, workspace)
        residual = ridge * cholesky_solve(factor, problem.y[rows] / scale)
        unexplained = ridge * squared_columns(lower_inverse(factor))  # 1 - A_ii, A the node's hat matrix
        return float(np.sum(residual**2 / n_holding[rows])), float(np.sum(unexplained / n_holding[rows]))

    sums = np.array(list(run(local, range(len(problem.partition.allocation)), "noise")))
    squares, freedom = sums.sum(axis=0)
    return scale * float(np.sqrt(squares / freedom))


def relative_variance(problem: Problem, X: FloatArray, centred: bool) -> FloatArray:
    """sum_i a_i(x)^2 at every x, (n,): the variance of the average, given inputs and allocation, over that of noise.

    ``centred``: the mean of y was subtracted, so it is estimated from the same rows. Every node is factorised again for
    every block of new points that 256 MB of influences can hold: rows of one node alone are squared at once, the others
    when all is added.
    """
    n_holding, allocation, workspace = problem.n_holding, problem.partition.allocation, Workspace()
    k, n_rows, n_shared = len(allocation), len(problem.y), int(np.sum(n_holding > 1))
    column = np.cumsum(n_holding > 1) - 1  # where a shared row's influence is added up

    def of_block(X: FloatArray) -> FloatArray:
        def local(i: int) -> FloatArray:
            return cholesky_solve(problem.factor(i, workspace), problem.kernel.cross(X, problem.X[allocation[i]])) / k

        shared, total, squares = np.zeros((len(X), n_shared)), np.zeros(len(X)), np.zeros(len(X))
        for rows, influence in zip(allocation, run(local, range(k), "influence of rows"), strict=True):
            several = n_holding[rows] > 1
            total += influence.sum(axis=1)
            squares += np.sum(influence[:, ~several] ** 2, axis=1)
            shared[:, column[rows[several]]] += influence[:, several]
        squares += np.sum(shared**2, axis=1)
        if centred:  # a_i + t for every row, t = (1 - sum a) / N
            t = (1.0 - total) / n_rows
            squares += t * (2.0 * total + n_rows * t)
        return squares

    width = max(1, int(INFLUENCE_BYTES / (8 * max(1, n_shared))))
    return np.concatenate([of_block(X[start : start + width]) for start in range(0, len(X), width)])
