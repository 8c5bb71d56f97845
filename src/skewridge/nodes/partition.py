"""Algorithm 2 up to the nodes: how many there are, what a fit takes of memory, and which rows every node holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_integer, check_real, format_bytes, is_auto
from skewridge.execution.context import current
from skewridge.response.allocation import Allocation, Assignment, allocate, expected_node_size, inclusion_probability
from skewridge.response.slices import MAX_OVERSAMPLING, Slices, check_slice_rule, slice_quietly, slice_response

TARGET_NODE_SIZE = 1500
SINGLE_NODE_BELOW = 2000
FEWEST_ROWS_PER_NODE = 50  # "auto" takes at most N/50 nodes
OVERSAMPLINGS = (1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 8, 1 / 10, 1 / 20, 1 / 50, 0.0)  # that a refusal may name


@dataclass(frozen=True)
class PartitionSettings:
    """How rows are to be dealt; the parameters that every divide-and-conquer estimator shares."""

    n_nodes: Any = "auto"
    slices: Any = "scott"
    oversampling: float = 1.0
    max_per_slice: int | None = None
    focus: float = 1.0

    def check(self, n_rows: int | None = None) -> PartitionSettings:
        """Return self, or raise for a setting that no data could make valid, or that so many rows do not."""
        if not is_auto(self.n_nodes):
            check_integer("n_nodes", self.n_nodes, 1, also=" or 'auto'")
        check_slice_rule(self.slices)
        check_real("oversampling", self.oversampling, 0, MAX_OVERSAMPLING)
        if self.max_per_slice is not None:
            check_integer("max_per_slice", self.max_per_slice, 1, also=" or None")
        check_real("focus", self.focus, 0, 1)
        if n_rows is not None and self.n_nodes != "auto" and self.n_nodes > n_rows:
            raise ValueError(
                f"n_nodes must not exceed the number of rows; got n_nodes={self.n_nodes} for {n_rows} rows. "
                "Use fewer nodes, or 'auto'."
            )
        return self


@dataclass(frozen=True)
class Plan:
    """The size of a fit: N, d, l, k, N*, expected N~, peak bytes beyond the data, operations of the local solves."""

    n_rows: int
    n_features: int
    n_slices: int
    n_nodes: int
    n_oversampled: int
    n_distinct: float
    n_bytes: float
    n_flops: float

    def __str__(self) -> str:
        return (
            f"{self.n_rows:,} rows, rare ones copied by {self.n_slices:,} slices of y until there are "
            f"{self.n_oversampled:,}, and {self.n_distinct:,.0f} once no node holds a row twice, on {self.n_nodes:,} "
            f"nodes of {self.n_distinct / self.n_nodes:,.0f} rows ({format_bytes(self.n_bytes)})"
        )


@dataclass(frozen=True)
class Partition:
    """Slices of the response, the nodes' rows, and the rows' weights, (N,); None where the published method applies.

    ``dealing`` is for machines that hold some of the rows: where these go.
    """

    slices: Slices
    allocation: Allocation
    weights: FloatArray | None
    dealing: Assignment | None = None

    def node(self, i: int) -> tuple[IntArray, FloatArray | None]:
        """The rows of node i and their weights."""
        rows = self.allocation[i]
        return rows, None if self.weights is None else self.weights[rows]


def deal_rows(slices: Slices, n_nodes: int, seed: int, settings: PartitionSettings) -> Partition:
    """Deal the slices' copies evenly to nodes and de-duplicate (steps 2 and 3); with focus, weights pi^-(1 - focus)."""
    cap, weights = settings.max_per_slice, None
    if settings.focus != 1:
        pi = inclusion_probability(slices.counts, slices.copies, n_nodes, cap)
        of_slice = np.ones(len(pi))
        of_slice[slices.occupied] = pi[slices.occupied] ** (settings.focus - 1.0)
        weights = of_slice[slices.labels]
    assignment = Assignment(slices.counts, slices.copies, n_nodes, seed, cap)
    return Partition(slices, allocate(slices, n_nodes, seed, cap), weights, assignment)


def plan_fit(
    y: FloatArray, settings: PartitionSettings, n_features: int, n_workers: int = 1, in_memory: bool = True
) -> tuple[Slices, Plan]:
    """The slices of y (step 1) and the plan of a fit, refused with figures and remedies before any work."""
    settings.check(len(y))
    slices = slice_response(y, settings.slices, settings.oversampling)
    k = choose_n_nodes(y, slices, settings, n_features) if settings.n_nodes == "auto" else int(settings.n_nodes)
    plan = make_plan(slices, k, n_features, settings.max_per_slice, n_workers, in_memory)
    refusal = memory_refusal(y, slices, settings, plan, n_workers, in_memory)
    if refusal is not None:
        raise MemoryError(refusal)
    return slices, plan


def make_plan(
    slices: Slices,
    n_nodes: int,
    n_features: int,
    max_per_slice: int | None = None,
    n_workers: int = 1,
    in_memory: bool = True,
) -> Plan:
    """What a fit on these slices and nodes needs; every worker holds a node's matrix.

    A node of n rows holds n^2 numbers and costs n^3/3 + 2 n^2 operations to solve, plus its gram. The largest node is
    taken four standard deviations above the mean. Rows are held once more, as the kernel takes them, and so are all
    nodes' coefficients.
    """
    counts, rows = slices.counts, slices.n_rows
    pi = inclusion_probability(counts, slices.copies, n_nodes, max_per_slice)
    size = float(np.dot(counts, pi))
    largest = min(size + 4 * np.sqrt(np.dot(counts, pi * (1 - pi))), rows)
    dealing = 40.0 * float(np.max(counts * slices.copies)) + 20.0 * (size * n_nodes)
    kept = n_nodes * size + rows * (3 * n_features * in_memory + 6)
    solving = 8.0 * (min(n_workers, n_nodes) * (largest**2 + 2 * largest * n_features) + kept)
    flops = size**3 / 3 + 2 * size**2 + size**2 / 2 * (3 * n_features + 25)
    return Plan(
        n_rows=rows,
        n_features=n_features,
        n_slices=len(counts),
        n_nodes=n_nodes,
        n_oversampled=slices.n_oversampled,
        n_distinct=size * n_nodes,
        n_bytes=dealing + solving,
        n_flops=n_nodes * flops,
    )


def choose_n_nodes(y: FloatArray, slices: Slices, settings: PartitionSettings, n_features: int) -> int:
    """The fewest nodes whose expected size is at most 1,500 rows; one node below 2,000 rows.

    Rare rows sit in nearly every node, so nodes do not shrink as 1/k: where even N/50 nodes are too large
    the fit is refused with what it would take and what would fit.
    """
    if slices.n_rows < SINGLE_NODE_BELOW:
        return 1
    most, cap = slices.n_rows // FEWEST_ROWS_PER_NODE, settings.max_per_slice

    def small(cut: Slices, cap: int | None, n_nodes: int = most) -> bool:
        return expected_node_size(cut, n_nodes, cap) <= TARGET_NODE_SIZE

    if not small(slices, cap):
        raise ValueError(
            f"n_nodes='auto' looks for nodes of about {TARGET_NODE_SIZE:,} rows and found none up to a node for every "
            f"{FEWEST_ROWS_PER_NODE} rows: "
            f"{make_plan(slices, most, n_features, cap)}. {_remedies(y, slices, settings, small)} "
            "Or pass n_nodes as a number."
        )
    numbers = range(1, most)  # the expected size falls as k grows
    return 1 + bisect_left(numbers, True, key=lambda k: small(slices, cap, k))


def memory_refusal(
    y: FloatArray, slices: Slices, settings: PartitionSettings, plan: Plan, n_workers: int, in_memory: bool = True
) -> str | None:
    """What the fit needs, what there is and what would fit; None where the memory holds it.

    Rows that are read when they are needed take a quarter of the memory.
    """
    budget = current().budget if in_memory else current().budget.beside_rows
    if plan.n_bytes <= budget.allowed:
        return None

    def fits(cut: Slices, cap: int | None, n_nodes: int = plan.n_nodes) -> bool:
        return make_plan(cut, n_nodes, plan.n_features, cap, n_workers, in_memory).n_bytes <= budget.allowed

    doubled = (plan.n_nodes << i for i in range(1, (plan.n_rows // plan.n_nodes).bit_length()))
    remedies = _remedies(y, slices, settings, fits, doubled)
    return f"The fit needs {format_bytes(plan.n_bytes)} and {budget}: {plan}. {remedies}"


def _remedies(
    y: FloatArray, slices: Slices, settings: PartitionSettings, fits: Callable[..., bool], n_nodes: Iterable[int] = ()
) -> str:
    """The first n_nodes, the largest max_per_slice, oversampling and number of slices that would fit, each on its own.

    ``fits(slices, max_per_slice, n_nodes)`` says whether a fit would, without the last on as many nodes as now.
    """
    cap, tau = settings.max_per_slice, settings.oversampling
    caps = range(1, (cap or int(slices.counts.max())) + 1)
    taus = (other for other in OVERSAMPLINGS if other < tau)
    numbers = (len(slices) >> i for i in range(1, len(slices).bit_length()))
    offers = {
        "n_nodes": next((k for k in n_nodes if fits(slices, cap, k)), None),
        "max_per_slice": bisect_left(caps, True, key=lambda m: not fits(slices, m)) or None,
        "oversampling": next((t for t in taus if fits(slice_quietly(y, settings.slices, t), cap)), None),
        "slices": next((n for n in numbers if fits(slice_quietly(y, n, tau), cap)), None),
    }
    found = [
        f"{name}={offer:.3g}" if name == "oversampling" else f"{name}={offer}"
        for name, offer in offers.items()
        if offer is not None
    ]
    return f"What would fit: {', or '.join(found)}." if found else "No setting of the slices would fit."
