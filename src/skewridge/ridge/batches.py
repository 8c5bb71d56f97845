"""Nodes solved share by share: some nodes' rows are gathered, the nodes solved, and the rows forgotten.

A node's solution depends on its own rows and on the layout that all nodes share, so it is the same to the last bit
whatever it is solved with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.execution.context import current, on_threads, reported, run
from skewridge.execution.memory import GATHERED, require_on_worker
from skewridge.execution.progress import stage_here
from skewridge.kernels import Kernel
from skewridge.response.allocation import Allocation, Dealing, first_dealt, ranks_of
from skewridge.ridge.coordinates import PointLayout
from skewridge.ridge.local import Workspace, make_nodes

SHARES, SHARES_A_THREAD = 32, 4  # at least, so that threads of a cluster end together


@dataclass(frozen=True)
class Share:
    """Some nodes with all that they need but their rows' features: rows are places among those gathered."""

    names: IntArray
    kernel: Kernel
    layout: PointLayout
    y: FloatArray
    weights: FloatArray | None
    penalties: FloatArray
    allocation: Allocation


@dataclass(frozen=True)
class Work:
    """All nodes: kernel, layout, (N,) responses and weights, (k,) penalties, and who holds which row.

    Labels and dealing tell workers that hold some of the rows where they go.
    """

    kernel: Kernel
    layout: PointLayout
    y: FloatArray
    weights: FloatArray | None
    penalties: FloatArray
    allocation: Allocation
    labels: IntArray | None = None
    dealing: Dealing | None = None

    def share(self, names: IntArray) -> tuple[IntArray, Share]:
        """The rows to gather for some nodes, and the nodes on them."""
        own = [self.allocation[i] for i in names]
        ids, places = np.unique(np.concatenate(own), return_inverse=True)
        starts = np.cumsum([0, *(len(rows) for rows in own)])
        local = Allocation(places.astype(self.allocation.rows.dtype), starts)
        weights = None if self.weights is None else self.weights[ids]
        return ids, Share(names, self.kernel, self.layout, self.y[ids], weights, self.penalties[names], local)


def solve_shares(work: Work, X: RowData) -> FloatArray:
    """The coefficients of all nodes, (N~,), node after node, with rows gathered within a share of the memory.

    With a checkpoint, nodes are kept as they are solved, and not solved again.
    """
    coef = np.empty(len(work.allocation.rows))
    checkpoint = current().checkpoint
    store = None if checkpoint is None else checkpoint.parts("nodes")
    done = [] if store is None else [store.kept(i) for i in store]
    for names, found in done:
        _fill(coef, work.allocation, names, found)
    left = np.setdiff1d(np.arange(len(work.allocation)), [i for names, _ in done for i in names])
    for names, found in _solved(work, X, left):
        _fill(coef, work.allocation, names, found)
        if store is not None:
            store.keep(int(names[0]), (names, found))
    return coef


def solve_share(X: FloatArray, share: Share) -> list[FloatArray]:
    """Every node's coefficients, one node after the other."""
    return [found for _, part in solved_batches(X, share) for found in part]


def solved_batches(X: FloatArray, share: Share) -> Iterator[tuple[IntArray, list[FloatArray]]]:
    """Yield some nodes and their coefficients, as they are solved on the threads of this process."""
    nodes = make_nodes(
        share.kernel, X, share.y, share.weights, share.penalties, share.allocation, share.layout, share.names
    )
    batches, workspace, starts = nodes.batches(), Workspace(), share.allocation.starts
    with on_threads():
        done = run(lambda batch: nodes.solve(batch, workspace), batches, "local fits")
    for batch, _ in zip(batches, done, strict=True):
        yield share.names[batch], [nodes.coef[starts[i] : starts[i + 1]].astype(np.float64) for i in batch]


def divided(allocation: Allocation, names: IntArray, most_rows: float, most_work: float = np.inf) -> list[IntArray]:
    """Cut nodes into runs that hold at most so many distinct rows and cost at most so much, at least one node each."""
    seen = np.zeros(int(allocation.rows.max(initial=0)) + 1, dtype=bool)
    cuts, held, work = list[int](), 0, 0.0
    for place, name in enumerate(names):
        rows = allocation[name]
        new, cost = int(np.count_nonzero(~seen[rows])), float(len(rows)) ** 3
        if place and (held + new > most_rows or work + cost > most_work):
            cuts.append(place)
            seen[:] = False
            new, held, work = len(rows), 0, 0.0
        seen[rows] = True
        held, work = held + new, work + cost
    return np.split(names, cuts)


def _solved(work: Work, X: RowData, names: IntArray) -> Iterator[tuple[IntArray, list[FloatArray]]]:
    if not len(names):
        return
    if current().engine is not None:
        yield from _solved_there(work, X, names)
        return
    for part in divided(work.allocation, names, rows_within(GATHERED * current().budget.allowed, X.shape[1])):
        ids, share = work.share(part)
        yield from solved_batches(X[ids], share)


def _solved_there(work: Work, X: RowData, names: IntArray) -> Iterator[tuple[IntArray, list[FloatArray]]]:
    """Nodes solved by workers: those that hold rows tell where they go, and others solve what comes to them."""
    engine = current().engine
    assert engine is not None
    assert work.labels is not None
    assert work.dealing is not None
    sizes = work.allocation.sizes[names].astype(np.float64)
    spare = _spare_bytes(float(sizes.max()), X.shape[1], engine.task_bytes)
    most_work = float(np.sum(sizes**3)) / max(SHARES, SHARES_A_THREAD * engine.n_threads)
    parts = divided(work.allocation, names, rows_within(spare, X.shape[1]), most_work)
    ranks = ranks_of(work.labels, work.dealing.counts)
    tables = [X, work.y, work.labels, ranks, np.ones(len(ranks)) if work.weights is None else work.weights]
    plain = work.weights is None
    joins = [Join(part, work.kernel, work.layout, work.penalties[part], work.dealing, plain) for part in parts]
    n_bytes = [8.0 * (X.shape[1] + 6) * float(work.allocation.sizes[part].sum()) for part in parts]
    found = engine.shuffle(Split(work.dealing, tuple(parts)), tables, joins, n_bytes)
    for part, coefs in zip(parts, reported(found, len(parts), "local fits", stage_here()), strict=True):
        order = np.argsort(-work.allocation.sizes[part], kind="stable")  # a share's nodes are solved largest first
        yield part[order], coefs


Piece = tuple[Any, ...]  # rows, responses, weights; and pairs of places among them, nodes, slices, places dealt


@dataclass(frozen=True)
class Split:
    """Tells which of some rows every share needs, and which of its nodes hold them."""

    dealing: Dealing
    parts: tuple[IntArray, ...]

    def __call__(
        self, numbers: Sequence[int], X: FloatArray, y: FloatArray, labels: IntArray, ranks: IntArray, w: FloatArray
    ) -> list[Piece]:
        """The pieces of some shares, by their numbers."""
        rows, nodes, places = self.dealing.pairs(labels, ranks)
        owner = np.full(self.dealing.n_nodes, -1)
        for number in numbers:
            owner[self.parts[number]] = number
        order = np.argsort(owner[nodes], kind="stable")
        starts = np.searchsorted(owner[nodes][order], [*numbers, max(numbers) + 1])
        found = []
        for first, last in pairwise(starts):
            own = order[first:last]
            mine, local = np.unique(rows[own], return_inverse=True)
            found.append((X[mine], y[mine], w[mine], local, nodes[own], labels[rows[own]], places[own]))
        return found


@dataclass(frozen=True)
class Join:
    """Puts the pieces of one share together and solves its nodes."""

    names: IntArray
    kernel: Kernel
    layout: PointLayout
    penalties: FloatArray
    dealing: Dealing
    is_plain: bool

    def __call__(self, pieces: list[Piece]) -> list[FloatArray]:
        """Every node's coefficients, largest node first."""
        before = np.cumsum([0, *(len(piece[0]) for piece in pieces)])
        rows = np.concatenate([piece[3] + start for piece, start in zip(pieces, before, strict=False)])
        X, y, w, _, nodes, labels, places = (np.concatenate(part) for part in zip(*pieces, strict=True))
        if self.dealing.max_per_slice is not None:
            kept = first_dealt(nodes, labels, places, self.dealing.max_per_slice)
            rows, nodes = rows[kept], nodes[kept]
        order = np.lexsort((rows, nodes))
        starts = np.searchsorted(nodes[order], [*self.names, self.names[-1] + 1])
        local = Allocation(rows[order].astype(np.int32), starts)
        weights = None if self.is_plain else w
        return solve_share(X, Share(self.names, self.kernel, self.layout, y, weights, self.penalties, local))


def _spare_bytes(largest: float, n_features: int, there: float) -> float:
    """Bytes a worker has left for rows beside the largest node's matrix; refuse workers that it does not fit in."""
    needed = 8.0 * largest * (largest + 4 * n_features + 4)
    require_on_worker(needed, there, f"A node of {largest:,.0f} rows needs", "or raise n_nodes")
    return max(GATHERED * there, needed - 8.0 * largest**2)


def rows_within(n_bytes: float, n_features: int) -> float:
    """How many gathered rows fit: as they are, as they are prepared, and once more on the way."""
    return n_bytes / (8.0 * (3 * n_features + 4))


def _fill(coef: FloatArray, allocation: Allocation, names: IntArray, found: list[FloatArray]) -> None:
    for name, part in zip(names, found, strict=True):
        coef[allocation.starts[name] : allocation.starts[name + 1]] = part
