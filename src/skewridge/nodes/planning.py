"""Memory and operations of a fit, exact in expectation before any work; and how many nodes to take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_integer, check_real, format_bytes, is_auto
from skewridge.execution.memory import MACHINE, Budget
from skewridge.response.allocation import expected_node_size, inclusion_probability
from skewridge.response.slices import MAX_OVERSAMPLING, Slices, check_slice_rule, slice_quietly, slice_response

TARGET_NODE_SIZE = 1500
SINGLE_NODE_BELOW = 2000
FEWEST_ROWS_PER_NODE = 50  # "auto" takes at most N/50 nodes

_OVERSAMPLINGS = (1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 8, 1 / 10, 1 / 20, 1 / 50, 0.0)


@dataclass(frozen=True)
class PartitionSettings:
    """How rows are to be dealt; the parameters that every divide-and-conquer estimator shares."""

    n_nodes: Any = "auto"
    slices: Any = "scott"
    oversampling: float = 1.0
    max_per_slice: int | None = None
    focus: float = 1.0

    def check(self) -> PartitionSettings:
        """Return self, or raise for a setting that no data could make valid."""
        if not is_auto(self.n_nodes):
            check_integer("n_nodes", self.n_nodes, 1, also=" or 'auto'")
        check_slice_rule(self.slices)
        check_real("oversampling", self.oversampling, 0, MAX_OVERSAMPLING)
        if self.max_per_slice is not None:
            check_integer("max_per_slice", self.max_per_slice, 1, also=" or None")
        check_real("focus", self.focus, 0, 1)
        return self

    def cut(self, y: FloatArray) -> Slices:
        """Slice the response."""
        return slice_response(y, self.slices, self.oversampling)


@dataclass(frozen=True)
class Plan:
    """The size of a fit.

    Attributes
    ----------
    n_rows, n_features, n_slices, n_nodes : N, d, l, k
    n_oversampled : N*, rows after oversampling
    n_distinct : expected N~, the sum of the node sizes
    n_bytes : peak memory beyond the data passed in
    n_flops : floating-point operations of the local solves
    """

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


def plan_fit(
    y: FloatArray,
    settings: PartitionSettings,
    n_features: int,
    budget: Budget = MACHINE,
    n_matrices: int = 1,
    held: bool = True,
) -> tuple[Slices, Plan]:
    """Return the slices and the plan of a fit, or refuse it with figures and remedies before any work.

    ``n_matrices`` of a node's size are held at once, one a worker. ``held`` is False where rows are read when they are
    needed, into a quarter of the memory.
    """
    check_n_nodes(settings, len(y))
    slices = settings.cut(y)
    k = choose_n_nodes(y, slices, settings, n_features) if settings.n_nodes == "auto" else int(settings.n_nodes)
    plan = make_plan(slices, k, n_features, settings.max_per_slice, n_matrices, held)
    refusal = memory_refusal(y, slices, settings, plan, budget, n_matrices, held)
    if refusal is not None:
        raise MemoryError(refusal)
    return slices, plan


def check_n_nodes(settings: PartitionSettings, n_rows: int) -> None:
    """Refuse more nodes than rows."""
    if settings.n_nodes != "auto" and settings.n_nodes > n_rows:
        raise ValueError(
            f"n_nodes must not exceed the number of rows; got n_nodes={settings.n_nodes} for {n_rows} rows. "
            "Use fewer nodes, or 'auto'."
        )


def memory_refusal(
    y: FloatArray,
    slices: Slices,
    settings: PartitionSettings,
    plan: Plan,
    budget: Budget,
    n_matrices: int,
    held: bool = True,
) -> str | None:
    """Say what the fit needs, what there is and what would fit; None where the memory holds it."""
    budget = budget if held else budget.beside_rows
    if budget.holds(plan.n_bytes):
        return None
    return (
        f"The fit needs {format_bytes(plan.n_bytes)} and {budget}: {plan}. "
        f"{_memory_remedies(y, slices, settings, plan, budget, n_matrices, held)}"
    )


def make_plan(
    slices: Slices,
    n_nodes: int,
    n_features: int,
    max_per_slice: int | None = None,
    n_matrices: int = 1,
    held: bool = True,
) -> Plan:
    """Return what a fit on these slices and nodes needs.

    A node of n rows holds n^2 numbers and costs n^3/3 + 2 n^2 operations to solve, plus its gram. The largest node is
    taken four standard deviations above the mean. Rows are held once more, as the kernel takes them, and so are all
    nodes' coefficients.
    """
    counts, rows = slices.counts, slices.n_rows
    pi = inclusion_probability(counts, slices.copies, n_nodes, max_per_slice)
    size = float(np.dot(counts, pi))
    largest = min(size + 4 * np.sqrt(np.dot(counts, pi * (1 - pi))), rows)
    distinct = size * n_nodes
    dealing = 40.0 * float(np.max(counts * slices.copies)) + 20.0 * distinct
    workers = min(n_matrices, n_nodes)
    flops = size**3 / 3 + 2 * size**2 + size**2 / 2 * (3 * n_features + 25)
    kept = n_nodes * size + rows * (3 * n_features * held + 6)
    solving = 8.0 * (workers * (largest**2 + 2 * largest * n_features) + kept)
    return Plan(
        *(rows, n_features, len(counts), n_nodes, slices.n_oversampled, distinct, dealing + solving),
        n_nodes * flops,
    )


def choose_n_nodes(y: FloatArray, slices: Slices, settings: PartitionSettings, n_features: int) -> int:
    """Return the fewest nodes whose expected size is at most 1,500 rows; one node below 2,000 rows.

    Rare rows sit in nearly every node, so nodes do not shrink as 1/k: where even N/50 nodes are too large
    the fit is refused with what it would take and what would fit.
    """
    if slices.n_rows < SINGLE_NODE_BELOW:
        return 1
    few, most, cap = 1, slices.n_rows // FEWEST_ROWS_PER_NODE, settings.max_per_slice
    if expected_node_size(slices, most, cap) > TARGET_NODE_SIZE:
        fits = _fits(y, slices, settings, lambda s, c: expected_node_size(s, most, c) <= TARGET_NODE_SIZE)
        raise ValueError(
            f"n_nodes='auto' looks for nodes of about {TARGET_NODE_SIZE:,} rows and found none up to a node for every "
            f"{FEWEST_ROWS_PER_NODE} rows: "
            f"{make_plan(slices, most, n_features, cap)}. {_remedies(slices, settings, fits)} "
            "Or pass n_nodes as a number."
        )
    while few < most:  # the expected size falls as k grows: bisect
        middle = (few + most) // 2
        if expected_node_size(slices, middle, cap) <= TARGET_NODE_SIZE:
            most = middle
        else:
            few = middle + 1
    return most


def _memory_remedies(
    y: FloatArray,
    slices: Slices,
    settings: PartitionSettings,
    plan: Plan,
    budget: Budget,
    n_matrices: int,
    held: bool,
) -> str:
    def need(cut: Slices, k: int, cap: int | None) -> float:
        return make_plan(cut, k, plan.n_features, cap, n_matrices, held).n_bytes

    fits = _fits(y, slices, settings, lambda cut, cap: budget.holds(need(cut, plan.n_nodes, cap)))
    doubled = (plan.n_nodes * 2**i for i in range(1, 40) if plan.n_nodes * 2**i <= plan.n_rows)
    nodes = next((k for k in doubled if budget.holds(need(slices, k, settings.max_per_slice))), None)
    return _remedies(slices, settings, fits, [f"n_nodes={nodes}"] if nodes else [])


Fits = Callable[[PartitionSettings], bool]


def _fits(
    y: FloatArray, slices: Slices, settings: PartitionSettings, small: Callable[[Slices, int | None], bool]
) -> Fits:
    """Whether other settings would fit; the response is cut again only where they cut it otherwise."""

    def fits(other: PartitionSettings) -> bool:
        same = other.oversampling == settings.oversampling and other.slices is settings.slices
        cut = slices if same else slice_quietly(y, other.slices, other.oversampling)
        return small(cut, other.max_per_slice)

    return fits


def _remedies(slices: Slices, settings: PartitionSettings, fits: Fits, more: list[str] | None = None) -> str:
    """Name the largest max_per_slice, oversampling and number of slices that would fit, each on its own."""
    found = list(more or [])
    found += [f"max_per_slice={m}" for m in _largest_cap(slices, settings, fits)]
    taus = (tau for tau in _OVERSAMPLINGS if tau < settings.oversampling)
    found += [f"oversampling={t:.3g}" for t in _first(taus, lambda t: fits(replace(settings, oversampling=t)))]
    numbers = (len(slices) >> i for i in range(1, len(slices).bit_length()))
    found += [f"slices={n}" for n in _first(numbers, lambda n: fits(replace(settings, slices=n)))]
    return f"What would fit: {', or '.join(found)}." if found else "No setting of the slices would fit."


def _largest_cap(slices: Slices, settings: PartitionSettings, fits: Fits) -> Iterator[int]:
    low, high = 0, settings.max_per_slice or int(slices.counts.max())
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(replace(settings, max_per_slice=middle)) else (low, middle - 1)
    if low:
        yield low


def _first(values: Iterator[Any], fits: Callable[[Any], bool]) -> Iterator[Any]:
    for value in values:
        if fits(value):
            yield value
            return
