"""Algorithm 2 up to the nodes: slices of the response, copies of rare rows, and which node gets which row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.job import Job
from skewridge.execution.memory import Budget
from skewridge.nodes.planning import PartitionSettings, plan_fit
from skewridge.response.allocation import Allocation, Dealing, allocate, inclusion_probability
from skewridge.response.slices import Slices


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


def partition_rows(
    y: FloatArray,
    settings: PartitionSettings,
    n_features: int,
    seed: int,
    budget: Budget,
    job: Job,
    held: bool = True,
) -> Partition:
    """Cut the response into slices and deal its rows to nodes, once the plan is known to fit (Algorithm 2).

    ``held``: whether the rows are in memory.
    """
    slices, plan = plan_fit(y, settings, n_features, budget, job.n_threads, held)
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
