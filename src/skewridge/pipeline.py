"""The path from rows to one expansion, shared by every way of running it.

partition (slices, nodes, allocation) -> local fits -> collapse to one coefficient a row -> evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from .allocation import Allocation, Dealing, allocate, inclusion_probability
from .checks import format_bytes
from .engine import Job, run
from .frames import make_frame
from .kernels import Kernel, Product
from .lapack import NOT_FINITE, NotPositiveDefinite
from .local import NodeFit, Workspace, make_nodes, unsolvable
from .lowrank import Basis, make_basis
from .planning import PartitionSettings, machine_memory, n_shared_centers, plan_fit
from .shares import Work, solve_shares
from .sharing import SharedNode, draw_shared, spread_out
from .slices import FloatArray, IntArray, Slices
from .tables import RowData, Table

BLOCK_ROWS = 1024  # rows evaluated at a time; never a function of n_jobs or memory_limit


@dataclass(frozen=True)
class Partition:
    """Slices of the response, the nodes' rows, the rows' weights (None where the published method applies).

    ``dealing`` tells machines that hold some of the rows where they go.
    """

    slices: Slices
    allocation: Allocation
    weights: FloatArray | None
    dealing: Dealing | None = None

    def node(self, i: int) -> tuple[IntArray, FloatArray | None]:
        """Return the rows of node i and their weights."""
        rows = self.allocation[i]
        return rows, None if self.weights is None else self.weights[rows]


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum_i coef_i k(x, points_i); the scale is that of the response, and what float32 is measured by."""

    points: FloatArray
    coef: FloatArray
    kernel: Kernel
    scale: float = 0.0

    @cached_property
    def product(self) -> Product:
        """x -> f(x), prepared once."""
        return self.kernel.product(self.points, self.coef[None, :])

    @cached_property
    def single_product(self) -> Product:
        """The same in float32 where that serves."""
        return self.product.in_single(np.array([self.scale]))

    def __getstate__(self) -> dict[str, object]:
        """What is prepared is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Problem:
    """What the nodes solve: rows, centred response, who holds which row, kernel, and a penalty for every node.

    In single precision where that is asked for and the penalty is large enough. ``centers`` are rows over which every
    node's estimate is expanded; None: each over its own rows.
    """

    X: RowData
    y: FloatArray
    partition: Partition
    kernel: Kernel
    penalties: FloatArray
    single: bool = False
    centers: IntArray | None = None

    @property
    def terms(self) -> IntArray:
        """The row of every node's every term, node after node."""
        allocation = self.partition.allocation
        return allocation.rows if self.centers is None else np.tile(self.centers, len(allocation))

    @property
    def points(self) -> IntArray:
        """The rows that the average is expanded over."""
        return np.arange(len(self.y)) if self.centers is None else self.centers

    def shared_node(self, i: int, basis: Basis) -> SharedNode:
        """Node i over the shared centres, whose functions are the basis."""
        rows, weights = self.partition.node(i)
        return SharedNode(basis, self.X[rows], self.y[rows], weights)


def partition_rows(
    y: FloatArray,
    settings: PartitionSettings,
    n_features: int,
    seed: int,
    limit: float | None,
    job: Job,
    shared: bool = False,
    held: bool = True,
) -> Partition:
    """Cut the response into slices and deal its rows to nodes, once the plan is known to fit (Algorithm 2).

    ``shared``: the nodes' estimates are to be expanded over shared centres; ``held``: whether the rows are in memory.
    """
    slices, plan = plan_fit(y, settings, n_features, limit, job.n_threads, shared, held)
    allocation = allocate(slices, plan.n_nodes, seed, settings.max_per_slice)
    dealing = Dealing(slices.counts, slices.copies, plan.n_nodes, seed, settings.max_per_slice)
    return Partition(slices, allocation, focus_weights(slices, plan.n_nodes, settings), dealing)


def focus_weights(slices: Slices, n_nodes: int, settings: PartitionSettings) -> FloatArray | None:
    """Return pi^-(1 - focus) for every row: 1 is the published method (no weights), 0 the overall risk."""
    if settings.focus == 1:
        return None
    pi = inclusion_probability(slices.counts, slices.copies, n_nodes, settings.max_per_slice)
    weights = np.ones(len(pi))
    weights[slices.occupied] = pi[slices.occupied] ** (settings.focus - 1.0)
    return weights[slices.labels]


def shared_centers(X: RowData, sliced: FloatArray, partition: Partition, rule: object, seed: int, job: Job) -> IntArray:
    """Draw the rows that all nodes' estimates are to be expanded over."""
    allocation = partition.allocation
    m = n_shared_centers(len(X), len(allocation.rows) / len(allocation))
    return draw_shared(X, sliced, rule, m, seed, job)


def fit_nodes(problem: Problem, job: Job, limit: float | None = None) -> FloatArray:
    """Solve every node on its own rows, largest first; the coefficients of all :attr:`Problem.terms`.

    Rows of a table, or for another engine, are gathered for some nodes at a time.
    """
    if problem.centers is not None:
        return _fit_shared(problem, problem.centers, job)
    frame = make_frame(problem.kernel, problem.X, problem.single, float(problem.penalties.min()), job.unkept)
    own = problem.y, problem.partition.weights, problem.penalties, problem.partition.allocation
    if isinstance(problem.X, Table) or job.engine is not None or job.checkpoint is not None:
        part = problem.partition
        work = Work(problem.kernel, frame, *own, part.slices.labels, part.dealing)
        return solve_shares(work, problem.X, machine_memory() if limit is None else limit, job)
    nodes, workspace = make_nodes(problem.kernel, problem.X, *own, frame), Workspace()
    for _ in run(lambda batch: nodes.solve(batch, workspace), nodes.batches(), job, "local fits"):
        pass
    return nodes.coef.astype(np.float64, copy=False)


def _fit_shared(problem: Problem, centers: IntArray, job: Job) -> FloatArray:
    """The same over the shared centres, (k m,): 0 at centres that the others explain."""
    basis = make_basis(problem.kernel, problem.X[centers])

    def local(i: int) -> FloatArray:
        node, penalty = problem.shared_node(i, basis), float(problem.penalties[i])
        try:
            beta = node.beta(penalty)
        except NotPositiveDefinite as error:
            raise unsolvable(i, len(node.y), penalty, error.minor) from error
        if not np.isfinite(beta).all():
            raise unsolvable(i, len(node.y), penalty, NOT_FINITE)
        return spread_out(basis.dual(beta[None, :]), basis, len(centers))[0]

    return np.concatenate(list(run(local, range(len(problem.partition.allocation)), job, "local fits")))


def node_fits(problem: Problem, coef: FloatArray) -> list[NodeFit]:
    """The local estimates one by one."""
    allocation, centers = problem.partition.allocation, problem.centers
    if centers is not None:
        return [NodeFit(centers, part) for part in coef.reshape(len(allocation), -1)]
    parts = np.split(coef, allocation.starts[1:-1])
    return [NodeFit(rows, part) for rows, part in zip(allocation, parts, strict=True)]


def collapse(problem: Problem, coef: FloatArray) -> FloatArray:
    """Average the local estimates: beta_i = (1/k) sum of row i's coefficient over the nodes that hold it.

    One coefficient for every one of :attr:`Problem.points`.
    """
    total = np.bincount(problem.terms, weights=coef, minlength=len(problem.y))
    return total[problem.points] / len(problem.partition.allocation)


def load_rows(X: RowData, limit: float | None) -> FloatArray:
    """All rows in one array, as an expansion takes them; refused where memory does not hold them."""
    if not isinstance(X, Table):
        return X
    needed, allowed = 8.0 * len(X) * X.n_columns, machine_memory() if limit is None else limit
    if needed > allowed:
        raise MemoryError(
            f"Predictions of divide-and-conquer need all {len(X):,} training rows at hand, {format_bytes(needed)}, and "
            f"{'the machine has' if limit is None else 'memory_limit is'} {format_bytes(allowed)}. Raise memory_limit, "
            "predict where there is more memory, or use AdaptiveKernelRidge, which keeps its centres only."
        )
    return X.load()


def evaluate(expansion: Expansion, X: FloatArray, job: Job) -> FloatArray:
    """k(X, points) @ coef, block by block of X; float32 rows are evaluated in float32 where that serves."""
    product = expansion.single_product if X.dtype == np.float32 else expansion.product
    blocks = [X[start : start + BLOCK_ROWS] for start in range(0, len(X), BLOCK_ROWS)]
    values = np.concatenate(list(run(product, blocks, job, "prediction")))[:, 0]
    if not np.isfinite(values).all():
        raise ValueError(
            f"The {expansion.kernel.name} kernel overflows at some of these points: they lie too far from the training "
            "rows. Rescale the features or use another kernel."
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
