"""The path from rows to one expansion, shared by every way of running it.

partition (slices, nodes, allocation) -> local fits -> collapse to one coefficient a row -> evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs

from .allocation import Allocation, allocate, inclusion_probability
from .engine import Job, run
from .kernels import Kernel
from .local import NodeFit, Workspace, solve_node
from .planning import PartitionSettings, plan_fit
from .slices import FloatArray, IntArray, Slices

BLOCK_ROWS = 1024  # rows evaluated at a time; never a function of n_jobs or memory_limit


@dataclass(frozen=True)
class Partition:
    """Slices of the response, the nodes' rows, and the rows' weights (None where the published method applies)."""

    slices: Slices
    allocation: Allocation
    weights: FloatArray | None

    def node(self, i: int) -> tuple[IntArray, FloatArray | None]:
        """Return the rows of node i and their weights."""
        rows = self.allocation[i]
        return rows, None if self.weights is None else self.weights[rows]


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum_i coef_i k(x, points_i)."""

    points: FloatArray
    coef: FloatArray
    kernel: Kernel


@dataclass(frozen=True)
class Problem:
    """What the nodes solve: rows, centred response, who holds which row, kernel, and a penalty for every node."""

    X: FloatArray
    y: FloatArray
    partition: Partition
    kernel: Kernel
    penalties: FloatArray


def partition_rows(
    y: FloatArray,
    settings: PartitionSettings,
    n_features: int,
    seed: int,
    limit: float | None,
    job: Job,
) -> Partition:
    """Cut the response into slices and deal its rows to nodes, once the plan is known to fit (Algorithm 2)."""
    slices, plan = plan_fit(y, settings, n_features, limit, effective_n_jobs(job.n_jobs))
    allocation = allocate(slices, plan.n_nodes, seed, settings.max_per_slice)
    return Partition(slices, allocation, focus_weights(slices, plan.n_nodes, settings))


def focus_weights(slices: Slices, n_nodes: int, settings: PartitionSettings) -> FloatArray | None:
    """Return pi^-(1 - focus) for every row: 1 is the published method (no weights), 0 the overall risk."""
    if settings.focus == 1:
        return None
    pi = inclusion_probability(slices.counts, slices.copies, n_nodes, settings.max_per_slice)
    weights = np.ones(len(pi))
    weights[slices.occupied] = pi[slices.occupied] ** (settings.focus - 1.0)
    return weights[slices.labels]


def fit_nodes(problem: Problem, job: Job) -> Iterator[NodeFit]:
    """Solve every node on its own rows, in node order."""
    X, y, kernel, workspace = problem.X, problem.y, problem.kernel, Workspace()

    def solve(i: int) -> NodeFit:
        rows, weights = problem.partition.node(i)
        coef = solve_node(kernel, X[rows], y[rows], problem.penalties[i], weights, workspace=workspace, node=i)
        return NodeFit(rows, coef)

    return run(solve, range(len(problem.partition.allocation)), job, "local fits")


def collapse(fits: Iterable[NodeFit], n_rows: int, n_nodes: int) -> FloatArray:
    """Average the local estimates: beta_i = (1/k) sum of row i's coefficient over the nodes that hold it."""
    coef = np.zeros(n_rows)
    for fit in fits:
        coef[fit.rows] += fit.coef
    return coef / n_nodes


def evaluate(expansion: Expansion, X: FloatArray, job: Job) -> FloatArray:
    """k(X, points) @ coef, block by block of X."""
    kernel, coef = expansion.kernel, expansion.coef
    right = kernel.prepare_right(expansion.points)
    blocks = [X[start : start + BLOCK_ROWS] for start in range(0, len(X), BLOCK_ROWS)]
    values = np.concatenate(
        list(run(lambda block: kernel.matvec_prepared(block, right, coef), blocks, job, "prediction"))
    )
    if not np.isfinite(values).all():
        raise ValueError(
            f"The {kernel.name} kernel overflows at some of these points: they lie too far from the training rows. "
            "Rescale the features or use another kernel."
        )
    return values


def node_estimates(
    nodes: Sequence[NodeFit], kernel: Kernel, X_fit: FloatArray, X: FloatArray, job: Job
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
