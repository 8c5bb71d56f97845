"""Nodes solved share by share: some nodes' rows are gathered, the nodes solved, and the rows forgotten.

A node's solution depends on its own rows and on the layout that all nodes share, so it is the same to the last bit
whatever it is solved with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.execution.context import current, on_threads, reported, run
from skewridge.execution.memory import GATHERED, require_on_worker
from skewridge.execution.progress import STAGE
from skewridge.kernels import Kernel
from skewridge.response.allocation import Allocation, Assignment
from skewridge.response.slices import ranks_within
from skewridge.ridge.exact import Nodes, NodeSolver, PointLayout

SHARES, SHARES_A_THREAD = 32, 4  # at least, so that threads of a cluster end together

Solved = Iterator[tuple[IntArray, list[FloatArray]]]  # some nodes by their names, and their coefficients
Piece = tuple[
    Any, ...
]  # rows, responses, weights; and pairs of places among them, nodes, slices, their places in these


def solve_shares(
    nodes: Nodes, X: RowData, labels: IntArray | None = None, assignment: Assignment | None = None
) -> FloatArray:
    """The coefficients of all nodes, (N~,), node after node, with rows gathered within a share of the memory.

    By labels, (N,), and the assignment workers that have some of the rows know where they go. With a checkpoint, nodes
    are kept as they are solved, and not solved again.
    """
    starts = nodes.allocation.starts
    coef, checkpoint = np.empty(len(nodes.allocation.rows)), current().checkpoint
    store = None if checkpoint is None else checkpoint.parts("nodes")

    def fill(names: IntArray, found: list[FloatArray]) -> None:
        for name, part in zip(names, found, strict=True):
            coef[starts[name] : starts[name + 1]] = part

    left = np.ones(len(nodes.allocation), dtype=bool)
    for names, found in [] if store is None else map(store.kept, store):
        fill(names, found)
        left[names] = False
    todo = np.flatnonzero(left)
    if not len(todo):
        return coef
    if current().engine is None:
        solved = _solved_here(nodes, X, todo)
    else:
        assert labels is not None
        assert assignment is not None
        solved = _solved_there(nodes, X, todo, labels, assignment)
    for names, found in solved:
        fill(names, found)
        if store is not None:
            store.keep(int(names[0]), (names, found))
    return coef


def solve_share(X: FloatArray, nodes: Nodes) -> Solved:
    """Yield some nodes and their coefficients, as they are solved on the threads of this process, largest first."""
    solver, batches, starts = NodeSolver(nodes, X), nodes.batches(), nodes.allocation.starts
    names = np.arange(len(nodes.allocation)) if nodes.names is None else nodes.names
    with on_threads():
        done = run(solver.solve, batches, "local fits")
    for batch, _ in zip(batches, done, strict=True):
        yield names[batch], [solver.coef[starts[i] : starts[i + 1]].astype(np.float64) for i in batch]


def divided(allocation: Allocation, names: IntArray, most_rows: float, most_work: float = np.inf) -> list[IntArray]:
    """Cut nodes into runs that hold at most so many distinct rows and cost at most so much, at least one node each."""
    taken = np.zeros(int(allocation.rows.max(initial=0)) + 1, dtype=bool)
    cuts, gathered, work = list[int](), 0, 0.0
    for place, name in enumerate(names):
        rows = allocation[name]
        new, cost = int(np.count_nonzero(~taken[rows])), float(len(rows)) ** 3
        if place and (gathered + new > most_rows or work + cost > most_work):
            cuts.append(place)
            taken[:] = False
            new, gathered, work = len(rows), 0, 0.0
        taken[rows] = True
        gathered, work = gathered + new, work + cost
    return np.split(names, cuts)


def rows_within(n_bytes: float, n_features: int) -> float:
    """How many gathered rows fit: as they are, as they are prepared, and once more on the way."""
    return n_bytes / (8.0 * (3 * n_features + 4))


def _solved_here(nodes: Nodes, X: RowData, names: IntArray) -> Solved:
    most_rows = rows_within(GATHERED * current().budget.allowed, X.shape[1])
    for part in divided(nodes.allocation, names, most_rows):
        ids, share = nodes.some(part)
        yield from solve_share(X[ids], share)


def _solved_there(nodes: Nodes, X: RowData, names: IntArray, labels: IntArray, assignment: Assignment) -> Solved:
    """Nodes solved by workers: those that have rows send them where they go, and others solve what comes to them."""
    engine, d, all_sizes = current().engine, X.shape[1], nodes.allocation.sizes
    assert engine is not None
    sizes = all_sizes[names].astype(np.float64)
    largest = float(sizes.max())
    needed = 8.0 * largest * (largest + 4 * d + 4)
    require_on_worker(needed, engine.task_bytes, f"A node of {largest:,.0f} rows needs", "or raise n_nodes")
    spare = max(GATHERED * engine.task_bytes, needed - 8.0 * largest**2)  # for rows, besides the largest node's matrix
    most_work = float(np.sum(sizes**3)) / max(SHARES, SHARES_A_THREAD * engine.n_threads)
    parts = divided(nodes.allocation, names, rows_within(spare, d), most_work)

    ranks = ranks_within(labels)
    tables = [X, nodes.y, labels, ranks, np.ones(len(ranks)) if nodes.weights is None else nodes.weights]
    join = partial(join_pieces, assignment, nodes.kernel, nodes.layout, nodes.weights is not None)
    joins = [partial(join, part, nodes.penalties[part]) for part in parts]
    n_bytes = [8.0 * (d + 6) * float(all_sizes[part].sum()) for part in parts]
    found = engine.shuffle(partial(split_rows, assignment, parts), tables, joins, n_bytes)
    for part, coefs in zip(parts, reported(found, len(parts), "local fits", STAGE.get()), strict=True):
        order = np.argsort(-all_sizes[part], kind="stable")  # a share's nodes are solved largest first
        yield part[order], coefs


def split_rows(
    assignment: Assignment,
    parts: Sequence[IntArray],
    numbers: Sequence[int],
    X: FloatArray,
    y: FloatArray,
    labels: IntArray,
    ranks: IntArray,
    w: FloatArray,
) -> list[Piece]:
    """Which of some rows the shares of some numbers need, and which of their nodes hold them: a piece for each."""
    rows, nodes, places = assignment.pairs(labels, ranks)
    found = []
    for number in numbers:
        own = np.flatnonzero(np.isin(nodes, parts[number]))
        mine, local = np.unique(rows[own], return_inverse=True)
        found.append((X[mine], y[mine], w[mine], local, nodes[own], labels[rows[own]], places[own]))
    return found


def join_pieces(
    assignment: Assignment,
    kernel: Kernel,
    layout: PointLayout,
    weighted: bool,
    names: IntArray,
    penalties: FloatArray,
    pieces: list[Piece],
) -> list[FloatArray]:
    """Put the pieces of one share of nodes together; every node's coefficients, largest node first."""
    before = np.cumsum([0, *(len(piece[0]) for piece in pieces)])
    rows = np.concatenate([piece[3] + start for piece, start in zip(pieces, before, strict=False)])
    X, y, w, _, owners, labels, places = (np.concatenate(part) for part in zip(*pieces, strict=True))
    if assignment.max_per_slice is not None:
        kept = ranks_within(owners * len(assignment.counts) + labels, places) < assignment.max_per_slice
        rows, owners = rows[kept], owners[kept]
    order = np.lexsort((rows, owners))
    starts = np.searchsorted(owners[order], [*names, names[-1] + 1])
    allocation = Allocation(rows[order].astype(np.int32), starts)
    share = Nodes(kernel, layout, y, w if weighted else None, penalties, allocation, names)
    return [found for _, part in solve_share(X, share) for found in part]
