"""The path from rows to one expansion, shared by every way of running it.

partition (slices, nodes, allocation) -> local fits -> collapse to one coefficient a row -> evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from .allocation import Allocation, allocate, inclusion_probability
from .engine import run
from .kernels import Kernel
from .lapack import cholesky_solve
from .local import NodeFit, Workspace, factorise, ridge_of, solve_node, unexplained
from .planning import check_plan, choose_n_nodes, make_plan
from .slices import FloatArray, IntArray, Slices, slice_response

BLOCK_ROWS = 1024  # rows evaluated at a time; never a function of n_jobs or memory_limit
INFLUENCE_BYTES = 256e6  # how much of the influence matrix (N x new points) is held at once


@dataclass(frozen=True)
class Partition:
    """Slices of the response and the nodes' rows; ``weights`` are None where the published method applies."""

    slices: Slices
    allocation: Allocation
    weights: FloatArray | None


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum_i coef_i k(x, points_i)."""

    points: FloatArray
    coef: FloatArray
    kernel: Kernel


@dataclass(frozen=True)
class Job:
    """How to run: threads, and whether to tell how far the work is."""

    n_jobs: int | None = None
    verbose: int = 0


def partition_rows(
    y: FloatArray,
    n_features: int,
    seed: int,
    *,
    n_nodes: Any,
    slices: Any,
    oversampling: float,
    max_per_slice: int | None,
    focus: float,
    memory_limit: float | None,
    n_jobs: int | None,
) -> Partition:
    """Cut the response into slices and deal its rows to nodes, once the plan is known to fit (Algorithm 2)."""
    cut = slice_response(y, slices, oversampling)
    k = choose_n_nodes(y, cut, n_features, max_per_slice) if n_nodes == "auto" else int(n_nodes)
    workers = effective_n_jobs(n_jobs)
    plan = make_plan(cut, k, n_features, max_per_slice, workers)
    check_plan(y, cut, plan, memory_limit, max_per_slice, workers)
    return Partition(cut, allocate(cut, k, seed, max_per_slice), focus_weights(cut, k, focus, max_per_slice))


def focus_weights(slices: Slices, n_nodes: int, focus: float, max_per_slice: int | None) -> FloatArray | None:
    """Return pi^-(1 - focus) for every row: 1 is the published method (no weights), 0 the overall risk."""
    if focus == 1:
        return None
    pi = inclusion_probability(slices.counts, slices.copies, n_nodes, max_per_slice)
    weights = np.ones(len(pi))
    weights[slices.occupied] = pi[slices.occupied] ** (focus - 1.0)
    return weights[slices.labels]


def fit_nodes(
    X: FloatArray, y: FloatArray, partition: Partition, kernel: Kernel, penalty: float, job: Job
) -> Iterator[NodeFit]:
    """Solve every node on its own rows, in node order."""
    allocation, weights, workspace = partition.allocation, partition.weights, Workspace()

    def solve(node: int) -> NodeFit:
        rows = allocation[node]
        local_weights = None if weights is None else weights[rows]
        coef = solve_node(kernel, X[rows], y[rows], penalty, local_weights, workspace=workspace, node=node)
        return NodeFit(rows, coef)

    return run(solve, range(len(allocation)), n_jobs=job.n_jobs, label="local fits", verbose=job.verbose)


def collapse(fits: Iterator[NodeFit] | Sequence[NodeFit], n_rows: int, n_nodes: int) -> FloatArray:
    """Average the local estimates: beta_i = (1/k) sum of row i's coefficient over the nodes that hold it."""
    coef = np.zeros(n_rows)
    for fit in fits:
        coef[fit.rows] += fit.coef
    return coef / n_nodes


def evaluate(expansion: Expansion, X: FloatArray, job: Job) -> FloatArray:
    """k(X, points) @ coef, block by block of X."""
    kernel, coef = expansion.kernel, expansion.coef
    right = kernel.prepare_right(expansion.points)

    def block(rows: slice) -> FloatArray:
        return kernel.matvec_prepared(X[rows], right, coef)

    blocks = run(block, row_blocks(len(X)), n_jobs=job.n_jobs, label="prediction", verbose=job.verbose)
    return np.concatenate(list(blocks))


def node_estimates(
    nodes: Sequence[NodeFit], kernel: Kernel, X_fit: FloatArray, X: FloatArray, job: Job
) -> Iterator[FloatArray]:
    """Yield every node's own estimate at X, in node order."""

    def local(fit: NodeFit) -> FloatArray:
        return kernel.matvec(X, X_fit[fit.rows], fit.coef)

    return run(local, nodes, n_jobs=job.n_jobs, label="node estimates", verbose=job.verbose)


def spread(estimates: Iterator[FloatArray]) -> FloatArray:
    """Return the standard deviation between estimates (Welford's update, in order); 0 for one of them."""
    mean, scatter, count = np.zeros(1), np.zeros(1), 0
    for count, values in enumerate(estimates, 1):
        step = values - mean
        mean = mean + step / count
        scatter = scatter + step * (values - mean)
    return np.sqrt(scatter / max(1, count - 1))


def conditional_std(
    X_fit: FloatArray,
    y: FloatArray,
    partition: Partition,
    kernel: Kernel,
    penalty: float,
    X: FloatArray,
    *,
    centred: bool,
    job: Job,
) -> FloatArray:
    """Return the standard deviation of the average at X given the inputs and the allocation.

    The average is linear in y: fbar(x) = sum_i a_i(x) y_i, where a row shared by several nodes adds up its
    influence in all of them before it is squared: std^2 = sigma^2 sum_i a_i(x)^2. sigma^2 is the nodes' residual
    variance per residual degree of freedom, every row counted once; where nodes cannot follow the truth it
    counts their bias as noise. Every node is factorised again.
    """
    width = max(1, int(INFLUENCE_BYTES / (8 * len(X_fit))))
    scale = float(np.abs(y).max()) or 1.0  # squares of tiny responses must not vanish
    y, pieces, noise = y / scale, [], 0.0
    for start in range(0, len(X), width):
        squared, noise = _influence(X_fit, y, partition, kernel, penalty, X[start : start + width], centred, job)
        pieces.append(squared)
    return scale * np.sqrt(noise * np.concatenate(pieces))


def _influence(
    X_fit: FloatArray,
    y: FloatArray,
    partition: Partition,
    kernel: Kernel,
    penalty: float,
    X: FloatArray,
    centred: bool,
    job: Job,
) -> tuple[FloatArray, float]:
    """Return sum_i a_i(x)^2 at every x, and the noise variance."""
    allocation, weights, workspace = partition.allocation, partition.weights, Workspace()
    held = np.bincount(allocation.rows, minlength=len(y))

    def local(node: int) -> tuple[IntArray, FloatArray, float, float]:
        rows = allocation[node]
        ridge = ridge_of(len(rows), penalty, None if weights is None else weights[rows])
        factor = factorise(kernel, X_fit[rows], ridge, workspace, node)
        influence = cholesky_solve(factor, kernel.cross(X, X_fit[rows]))
        residual = ridge * cholesky_solve(factor, y[rows])
        free = unexplained(factor, ridge)
        return rows, influence, float(np.sum(residual**2 / held[rows])), float(np.sum(free / held[rows]))

    total, squares, freedom = np.zeros((len(X), len(y))), 0.0, 0.0
    for rows, influence, node_squares, node_freedom in run(
        local, range(len(allocation)), n_jobs=job.n_jobs, label="influence of rows", verbose=job.verbose
    ):
        total[:, rows] += influence / len(allocation)
        squares, freedom = squares + node_squares, freedom + node_freedom
    if centred:  # the mean of y is estimated from the same rows
        total += (1.0 - total.sum(axis=1, keepdims=True)) / len(y)
    return np.sum(total**2, axis=1), squares / freedom


def row_blocks(n_rows: int) -> list[slice]:
    """Fixed blocks of consecutive rows."""
    return [slice(start, start + BLOCK_ROWS) for start in range(0, n_rows, BLOCK_ROWS)]
