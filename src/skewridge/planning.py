"""What a fit will need, known exactly in expectation before any work; and how many nodes to take."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .allocation import expected_node_size, inclusion_probability
from .checks import format_bytes
from .slices import FloatArray, Slices, copies_per_slice, slice_response

TARGET_NODE_SIZE = 1500
SINGLE_NODE_BELOW = 2000
FEWEST_ROWS_PER_NODE = 50  # "auto" takes at most N/50 nodes

_OVERSAMPLINGS = (1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 8, 1 / 10, 1 / 20, 1 / 50, 0.0)


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
            f"N={self.n_rows:,} rows in {self.n_slices:,} slices on k={self.n_nodes:,} nodes of "
            f"{self.n_distinct / self.n_nodes:,.0f} rows (N*={self.n_oversampled:,}, N~={self.n_distinct:,.0f}, "
            f"{format_bytes(self.n_bytes)}, {self.n_flops:.2g} flops)"
        )


def make_plan(
    slices: Slices, n_nodes: int, n_features: int, max_per_slice: int | None = None, n_workers: int = 1
) -> Plan:
    """Return what a fit on these slices and nodes needs.

    A node of n rows holds n^2 numbers and costs n^3/3 + 2 n^2 operations to solve, plus its gram; the
    largest node is taken four standard deviations above the mean.
    """
    counts = slices.counts
    pi = inclusion_probability(counts, slices.copies, n_nodes, max_per_slice)
    size = float(np.dot(counts, pi))
    largest = min(size + 4 * np.sqrt(np.dot(counts, pi * (1 - pi))), slices.n_rows)
    distinct = size * n_nodes
    rows = slices.n_rows
    dealing = 40.0 * float(np.max(counts * slices.copies)) + 20.0 * distinct
    solving = 8.0 * (min(n_workers, n_nodes) * largest**2 + distinct + rows * (n_features + 2))
    flops = n_nodes * (size**3 / 3 + 2 * size**2 + size**2 / 2 * (3 * n_features + 25))
    return Plan(rows, n_features, len(counts), n_nodes, slices.n_oversampled, distinct, dealing + solving, flops)


def choose_n_nodes(y: FloatArray, slices: Slices, n_features: int, max_per_slice: int | None = None) -> int:
    """Return the fewest nodes whose expected size is at most 1,500 rows; one node below 2,000 rows.

    Rare rows sit in nearly every node, so nodes do not shrink as 1/k: where even N/50 nodes are too large
    the fit is refused with what it would take and what would fit.
    """
    if slices.n_rows < SINGLE_NODE_BELOW:
        return 1
    most = slices.n_rows // FEWEST_ROWS_PER_NODE

    def fits(candidate: Slices, cap: int | None) -> bool:
        return expected_node_size(candidate, most, cap) <= TARGET_NODE_SIZE

    if not fits(slices, max_per_slice):
        raise ValueError(
            f"n_nodes='auto' looks for nodes of about {TARGET_NODE_SIZE:,} rows and found none up to k=N/50: "
            f"{make_plan(slices, most, n_features, max_per_slice)}. "
            f"{_remedies(y, slices, max_per_slice, fits)} Or pass n_nodes as a number."
        )
    few = 1
    while few < most:  # the expected size falls as k grows: bisect
        middle = (few + most) // 2
        if expected_node_size(slices, middle, max_per_slice) <= TARGET_NODE_SIZE:
            most = middle
        else:
            few = middle + 1
    return most


def check_plan(
    y: FloatArray, slices: Slices, plan: Plan, limit: float | None, cap: int | None, n_workers: int
) -> None:
    """Refuse a plan that needs more than ``limit`` bytes (None: the machine's memory), naming what would fit."""
    allowed = machine_memory() if limit is None else limit
    if plan.n_bytes <= allowed:
        return

    def need(candidate: Slices, k: int, candidate_cap: int | None) -> float:
        return make_plan(candidate, k, plan.n_features, candidate_cap, n_workers).n_bytes

    def fits(candidate: Slices, candidate_cap: int | None) -> bool:
        return need(candidate, plan.n_nodes, candidate_cap) <= allowed

    doubled = (plan.n_nodes * 2**i for i in range(1, 40) if plan.n_nodes * 2**i <= plan.n_rows)
    nodes = next((k for k in doubled if need(slices, k, cap) <= allowed), None)
    more = [f"n_nodes={nodes}"] if nodes else []
    which = "the machine's memory" if limit is None else "memory_limit"
    raise MemoryError(
        f"The fit needs {format_bytes(plan.n_bytes)} and {which} is {format_bytes(allowed)}: {plan}. "
        f"{_remedies(y, slices, cap, fits, more)}"
    )


def machine_memory() -> float:
    """Return the machine's physical memory in bytes; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")


Fits = Callable[[Slices, int | None], bool]


def _remedies(y: FloatArray, slices: Slices, cap: int | None, fits: Fits, more: list[str] | None = None) -> str:
    """Name the largest oversampling, number of slices and max_per_slice that would fit, each on its own."""
    found = list(more or [])
    found += [f"max_per_slice={m}" for m in _largest_cap(slices, cap, fits)]
    found += [f"oversampling={tau:.3g}" for tau in _largest_oversampling(slices, cap, fits)]
    found += [f"slices={n}" for n in _most_slices(y, slices, cap, fits)]
    return f"What would fit: {', or '.join(found)}." if found else "No setting of the slices would fit."


def _largest_cap(slices: Slices, cap: int | None, fits: Fits) -> Iterator[int]:
    low, high = 0, int(slices.counts.max()) if cap is None else cap
    while low < high:  # the largest m that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(slices, middle) else (low, middle - 1)
    if low:
        yield low


def _largest_oversampling(slices: Slices, cap: int | None, fits: Fits) -> Iterator[float]:
    for tau in _OVERSAMPLINGS:
        copies = copies_per_slice(slices.counts, tau)
        thinner = Slices(slices.edges, slices.labels, slices.counts, np.minimum(copies, slices.copies))
        if fits(thinner, cap):
            yield tau
            return


def _most_slices(y: FloatArray, slices: Slices, cap: int | None, fits: Fits) -> Iterator[int]:
    n_slices = len(slices) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while n_slices >= 1:
            if fits(slice_response(y, n_slices), cap):
                yield n_slices
                return
            n_slices //= 2
