"""From node fits to one estimate: the average as one expansion over the rows, and how far the nodes disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.job import Job, run
from skewridge.execution.memory import Budget
from skewridge.kernels import Kernel
from skewridge.nodes.fit import Problem
from skewridge.ridge.local import NodeFit


def collapse(problem: Problem, coef: FloatArray) -> FloatArray:
    """Average the local estimates, (N,): beta_i = (1/k) sum of row i's coefficient over the nodes that hold it."""
    allocation = problem.partition.allocation
    return np.bincount(allocation.rows, weights=coef, minlength=len(problem.y)) / len(allocation)


def load_rows(X: RowData, budget: Budget) -> FloatArray:
    """All rows in one array, as an expansion takes them; refused where memory does not hold them."""
    if not isinstance(X, Table):
        return X
    what = f"Predictions of divide-and-conquer need all {len(X):,} training rows at hand, {{need}},"
    remedy = (
        "Raise memory_limit, predict where there is more memory, or use AdaptiveKernelRidge, which keeps its centres "
        "only."
    )
    budget.require(8.0 * len(X) * X.n_columns, what, remedy)
    return X.load()


def node_estimates(
    nodes: Sequence[NodeFit], kernel: Kernel, X_fit: RowData, X: FloatArray, job: Job
) -> Iterator[FloatArray]:
    """Yield every node's own estimate at X, in node order."""
    return run(lambda fit: kernel.matvec(X, X_fit[fit.rows], fit.coef), nodes, job, "node estimates")


def spread(estimates: Iterator[FloatArray]) -> FloatArray:
    """Return the standard deviation between estimates (Welford's update, in order); 0 for one of them."""
    mean, scatter, count = np.zeros(1), np.zeros(1), 0
    for count, values in enumerate(estimates, 1):
        step = values - mean
        mean = mean + step / count
        scatter = scatter + step * (values - mean)
    return np.sqrt(scatter / max(1, count - 1))
