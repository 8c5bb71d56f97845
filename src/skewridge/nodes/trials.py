"""Trials: a few nodes solved along a path of penalties for several bandwidths, and judged at a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.execution.job import Job, run
from skewridge.kernels import Kernel
from skewridge.linalg.tridiagonal import Path, solve_path
from skewridge.nodes.criteria import cp, error_products, gcv
from skewridge.response.slices import slice_quietly
from skewridge.ridge.local import Workspace

BLOCK_ROWS = 128

Node = tuple[IntArray, FloatArray | None]


@dataclass(frozen=True)
class Trial:
    """k nodes, of which some are solved, and the rows at which they are judged.

    ``left_out``: a row that a node holds is judged by the node's estimate without it; otherwise by the node's own fit.
    """

    nodes: list[Node]
    n_nodes: int
    rows: IntArray
    row_weights: FloatArray
    left_out: bool


@dataclass(frozen=True)
class Tried:
    """One node at one bandwidth, along P penalties.

    Attributes
    ----------
    rows : (n,) array, its own
    coef : (P, n) array
    judged : (h,) array, places among the judged rows of those that the node holds; empty unless they are left out
    left_out : (P, h) array, y minus the node's estimate without the row
    trace, gcv, cp : (P,) arrays; empty where rows are left out, which needs few leverages
    """

    rows: IntArray
    coef: FloatArray
    judged: IntArray
    left_out: FloatArray
    trace: FloatArray
    gcv: FloatArray
    cp: FloatArray


@dataclass(frozen=True)
class NodeData:
    """A node's rows: numbers, features, responses and weights; places in the node of judged rows, and among those."""

    rows: IntArray
    X: FloatArray
    y: FloatArray
    weights: FloatArray | None
    held: IntArray | None
    judged: IntArray


def judged_rows(y: FloatArray, size: int, seed: int) -> tuple[IntArray, FloatArray]:
    """Return a sample of about ``size`` rows and how many rows each stands for.

    Slice j of n_j rows gives a number of rows proportional to sqrt(n_j), all of them at most: errors are large and
    rows few where the response is rare.
    """
    if len(y) <= size:
        return np.arange(len(y)), np.ones(len(y))
    slices = slice_quietly(y)
    counts = slices.counts[slices.occupied]
    taken = _shared_out(counts, size)
    members = [rows for rows in slices.rows_by_slice() if len(rows)]
    picked = [
        rows[np.argsort(shuffle(np.arange(len(rows)), len(rows), seed, 1_000_000 + j))[:number]]
        for j, (rows, number) in enumerate(zip(members, taken, strict=True))
    ]
    rows = np.concatenate(picked)
    weights = np.repeat(counts / taken, taken)
    order = np.argsort(rows)
    return rows[order], weights[order]


def try_nodes(
    trial: Trial,
    which: range,
    X: RowData,
    y: FloatArray,
    base: Kernel,
    bandwidths: list[float | None],
    penalties: FloatArray,
    job: Job,
) -> list[list[Tried]]:
    """Solve some of a trial's nodes for every bandwidth and penalty; ``[i][j]`` is bandwidth i, node j.

    Distances are computed once a node and serve every bandwidth. A thread holds one square matrix: distances above the
    diagonal, and below it the gram of one bandwidth after the other and what it is reduced to.
    """
    workspace = Workspace()

    def one(node: NodeData) -> list[Tried]:
        square = workspace.square(len(node.rows))
        diagonal = base.similarity_upper(node.X, square)
        found = []
        for bandwidth in bandwidths:
            gram = base.rescaled_below(square, diagonal, bandwidth)
            path = solve_path(gram, node.y, penalties, node.weights, node.held)
            found.append(_tried(node.rows, path, node.judged, node.weights, trial.left_out))
        return found

    nodes = (_node_data(trial, j, X, y) for j in which)
    work = len(bandwidths) * sum(4 / 3 * len(trial.nodes[j][0]) ** 3 for j in which)
    return [list(tried) for tried in zip(*run(one, nodes, job.sized(work), "tuning", len(which)), strict=True)]


def judge(
    trial: Trial,
    tried: list[list[Tried]],
    X: RowData,
    y: FloatArray,
    base: Kernel,
    bandwidths: list[float | None],
    row_weights: FloatArray,
    job: Job,
) -> tuple[FloatArray, FloatArray]:
    """Return the nodes' error products, (B, P, q, q), and mean errors, (B, P), summed over the judged rows.

    Both are sums weighted by ``row_weights``. Rows go by in blocks, so that no more than a block of errors is held.
    """
    rights = [base.prepare_right(X[node.rows]) for node in tried[0]]

    def block(rows: tuple[int, FloatArray, FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        start, X, y, weights = rows
        errors = _errors(y, base.prepare(X), start, tried, rights, base, bandwidths)
        return error_products(errors, weights), errors.mean(axis=0) @ weights

    judged_X, judged_y, starts = X[trial.rows], y[trial.rows], range(0, len(trial.rows), BLOCK_ROWS)
    blocks = (
        (start, judged_X[start:stop], judged_y[start:stop], row_weights[start:stop])
        for start, stop in ((first, first + BLOCK_ROWS) for first in starts)
    )
    values = len(trial.rows) * sum(len(node.rows) for node in tried[0]) * len(bandwidths)
    job = job.sized(values * (60.0 + 2 * len(tried[0][0].coef)))
    products, means = np.zeros(1), np.zeros(1)
    for more_products, more_means in run(block, blocks, job, "judging", len(starts)):
        products, means = products + more_products, means + more_means
    return products, means


def _node_data(trial: Trial, j: int, X: RowData, y: FloatArray) -> NodeData:
    rows, weights = trial.nodes[j]
    held, judged = _held(rows, trial.rows) if trial.left_out else (None, np.empty(0, dtype=np.int64))
    return NodeData(rows, X[rows], y[rows], weights, held, judged)


def _tried(rows: IntArray, path: Path, judged: IntArray, weights: FloatArray | None, left_out: bool) -> Tried:
    none = np.empty(0)
    if left_out:
        return Tried(rows, path.coef, judged, path.left_out, none, none, none)
    empty = np.empty((len(path.penalties), 0))
    return Tried(rows, path.coef, judged, empty, path.trace, gcv(path, weights), cp(path, weights))


def _held(rows: IntArray, judged: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places in a node of the judged rows that it holds, and their places among the judged."""
    place = np.minimum(np.searchsorted(rows, judged), len(rows) - 1)
    which = np.flatnonzero(rows[place] == judged)
    return place[which], which


def _errors(
    y: FloatArray,
    left: FloatArray,
    start: int,
    tried: list[list[Tried]],
    rights: list[FloatArray],
    base: Kernel,
    bandwidths: list[float | None],
) -> FloatArray:
    """y - f at a block of judged rows, from place ``start`` on, (q, B, P, rows)."""
    errors = np.empty((len(rights), len(bandwidths), len(tried[0][0].coef), len(y)))
    for j, right in enumerate(rights):
        distances = base.similarity_prepared(left, right)
        values = np.empty_like(distances)
        for i, bandwidth in enumerate(bandwidths):
            node = tried[i][j]
            base.rescaled(distances, bandwidth, values)
            np.subtract(y, node.coef @ values.T, out=errors[j, i])
            here = slice(*np.searchsorted(node.judged, (start, start + len(y))))
            errors[j, i][:, node.judged[here] - start] = node.left_out[:, here]
    return errors


def _shared_out(counts: IntArray, size: int) -> IntArray:
    """Numbers of rows proportional to sqrt(counts), at least 1 and at most counts, about size in all."""

    def taken(rate: float) -> IntArray:
        return np.clip((rate * np.sqrt(counts)).astype(np.int64), 1, counts)

    low, high = 0.0, float(np.sqrt(counts.max())) + 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if taken(middle).sum() <= size else (low, middle)
    return taken(low)
