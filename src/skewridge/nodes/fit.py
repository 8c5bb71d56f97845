"""Every node solved on its own rows: exactly, or over centres that all nodes share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.job import Job, run
from skewridge.execution.memory import MACHINE, Budget
from skewridge.kernels import Kernel
from skewridge.linalg.cholesky import NOT_FINITE, NotPositiveDefinite
from skewridge.nodes.partition import Partition
from skewridge.nodes.planning import n_shared_centers
from skewridge.ridge.batches import Work, solve_shares
from skewridge.ridge.coordinates import make_layout
from skewridge.ridge.local import NodeFit, Workspace, make_nodes, unsolvable
from skewridge.ridge.lowrank import Basis, make_basis
from skewridge.ridge.nystroem import SharedNode, draw_shared, spread_out


@dataclass(frozen=True)
class Problem:
    """The nodes' problem: rows, centred response, who holds which row, kernel, and a penalty for every node.

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


def shared_centers(X: RowData, sliced: FloatArray, partition: Partition, rule: object, seed: int, job: Job) -> IntArray:
    """Draw the rows that all nodes' estimates are to be expanded over."""
    allocation = partition.allocation
    m = n_shared_centers(len(X), len(allocation.rows) / len(allocation))
    return draw_shared(X, sliced, rule, m, seed, job)


def fit_nodes(problem: Problem, job: Job, budget: Budget = MACHINE) -> FloatArray:
    """Solve every node on its own rows, largest first; the coefficients of all :attr:`Problem.terms`.

    Rows of a table, or for another engine, are gathered for some nodes at a time.
    """
    if problem.centers is not None:
        return _fit_shared(problem, problem.centers, job)
    layout = make_layout(problem.kernel, problem.X, problem.single, float(problem.penalties.min()), job.unkept)
    own = problem.y, problem.partition.weights, problem.penalties, problem.partition.allocation
    if isinstance(problem.X, Table) or job.engine is not None or job.checkpoint is not None:
        part = problem.partition
        work = Work(problem.kernel, layout, *own, part.slices.labels, part.dealing)
        return solve_shares(work, problem.X, budget, job)
    nodes, workspace = make_nodes(problem.kernel, problem.X, *own, layout), Workspace()
    for _ in run(lambda batch: nodes.solve(batch, workspace), nodes.batches(), job, "local fits"):
        pass
    return nodes.coef.astype(np.float64, copy=False)


def _fit_shared(problem: Problem, centers: IntArray, job: Job) -> FloatArray:
    """Solve every node over the shared centres, (k m,): 0 at centres that the others explain."""
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
