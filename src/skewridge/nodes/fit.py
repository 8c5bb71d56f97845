"""Every node solved on its own rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.job import Job, run
from skewridge.execution.memory import MACHINE, Budget
from skewridge.kernels import Kernel
from skewridge.nodes.partition import Partition
from skewridge.ridge.batches import Work, solve_shares
from skewridge.ridge.coordinates import make_layout
from skewridge.ridge.local import NodeFit, Workspace, make_nodes


@dataclass(frozen=True)
class Problem:
    """The nodes' problem: rows, centred response, who holds which row, kernel, and a penalty for every node.

    In single precision where that is asked for and the penalty is large enough.
    """

    X: RowData
    y: FloatArray
    partition: Partition
    kernel: Kernel
    penalties: FloatArray
    single: bool = False


def fit_nodes(problem: Problem, job: Job, budget: Budget = MACHINE) -> FloatArray:
    """Solve every node on its own rows, largest first; all coefficients, (N~,), node after node.

    Rows of a table, or for another engine, are gathered for some nodes at a time.
    """
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


def node_fits(problem: Problem, coef: FloatArray) -> list[NodeFit]:
    """The local estimates one by one."""
    allocation = problem.partition.allocation
    parts = np.split(coef, allocation.starts[1:-1])
    return [NodeFit(rows, part) for rows, part in zip(allocation, parts, strict=True)]
