"""Trials: which nodes are tried and at which rows they are evaluated; and criteria from what comes of it.

``gcv`` and ``cp`` evaluate a node by its own rows; the others the average of k nodes, if need be from q of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.linalg.tridiagonal import Path
from skewridge.nodes.partition import Partition, PartitionSettings, deal_rows
from skewridge.response.allocation import allocate
from skewridge.response.slices import slice_quietly

EVALUATED_ROWS, EVALUATED_SHARED_ROWS = 2000, 1000  # the latter where nodes share rows, whose leverages cost as much
N_FOLDS = 5

Node = tuple[IntArray, FloatArray | None]  # rows and their weights
Solved = tuple[FloatArray, FloatArray]  # a node's coefficients along P penalties, (P, n), and the criterion's figures
Risk = tuple[FloatArray, FloatArray]  # an estimated risk, (...), and what it would be without each of q nodes, (..., q)


class Trial:
    """The nodes of an average in the order in which they are tried, and the rows (R,) at which they are evaluated.

    ``row_weights``: how many rows each of those stands for; ``solved``: the first nodes, by bandwidth.
    """

    def __init__(self, nodes: list[Node], rows: IntArray, row_weights: FloatArray) -> None:
        self.nodes, self.rows, self.row_weights = nodes, rows, row_weights
        self.solved: dict[float | None, list[Solved]] = {}


def make_trials(
    criterion: str, sliced: FloatArray, partition: Partition, settings: PartitionSettings, seed: int
) -> list[Trial]:
    """One trial of the nodes; with cv one a response-stratified fold, of nodes of the rows outside it."""

    def in_random_order(partition: Partition) -> list[Node]:
        k = len(partition.allocation)
        return [partition.node(i) for i in np.argsort(shuffle(np.arange(k), k, seed, stream=2_000_000))]

    k, n_rows, trials = len(partition.allocation), len(sliced), []
    if criterion != "cv":
        n_evaluated = EVALUATED_ROWS if len(partition.allocation.rows) <= 1.5 * n_rows else EVALUATED_SHARED_ROWS
        return [Trial(in_random_order(partition), *sample_rows(sliced, n_evaluated, seed))]
    for fold, inside in enumerate(allocate(slice_quietly(sliced, settings.slices, 0.0), N_FOLDS, seed)):
        outside = np.setdiff1d(np.arange(n_rows), inside)
        slices = slice_quietly(sliced[outside], settings.slices, settings.oversampling)
        dealt = deal_rows(slices, min(k, len(outside)), seed + 1 + fold, settings)
        nodes = [(outside[rows], weights) for rows, weights in in_random_order(dealt)]
        rows, row_weights = sample_rows(sliced[inside], EVALUATED_ROWS, seed)
        trials.append(Trial(nodes, inside[rows], row_weights))
    return trials


def sample_rows(y: FloatArray, size: int, seed: int) -> tuple[IntArray, FloatArray]:
    """About ``size`` rows to evaluate at, ascending, and how many rows each stands for.

    Slice j of n_j rows gives a number of rows proportional to sqrt(n_j), at least one and all of them at most: errors
    are large and rows few where the response is rare.
    """
    if len(y) <= size:
        return np.arange(len(y)), np.ones(len(y))
    slices = slice_quietly(y)
    counts = slices.counts[slices.occupied]

    def taken_at(rate: float) -> IntArray:
        return np.clip((rate * np.sqrt(counts)).astype(np.int64), 1, counts)

    low, high = 0.0, float(np.sqrt(counts.max())) + 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if taken_at(middle).sum() <= size else (low, middle)
    taken, members = taken_at(low), [rows for rows in slices.rows_by_slice() if len(rows)]
    picked = []
    for j, (rows, number) in enumerate(zip(members, taken, strict=True)):
        order = np.argsort(shuffle(np.arange(len(rows)), len(rows), seed, 1_000_000 + j))
        picked.append(rows[order[:number]])
    rows = np.concatenate(picked)
    order = np.argsort(rows)
    return rows[order], np.repeat(counts / taken, taken)[order]


def shared_places(rows: IntArray, others: IntArray) -> tuple[IntArray, IntArray]:
    """Where ascending rows are among ascending others: their places in the rows, and among the others."""
    place = np.minimum(np.searchsorted(rows, others), len(rows) - 1)
    which = np.flatnonzero(rows[place] == others)
    return place[which], which


def gcv(path: Path, weights: FloatArray | None = None) -> FloatArray:
    """Generalised cross-validation of one node, (P,): n ||r||^2 / (n - tr A)^2.

    With weights the mean square is weighted: sum w r^2 / sum w / (1 - tr A / n)^2.
    """
    n = path.residual.shape[1]
    return np.average(path.residual**2, axis=1, weights=weights) / (1.0 - path.trace / n) ** 2


def cp(path: Path, weights: FloatArray | None = None) -> FloatArray:
    """Mallows' Cp of one node, (P,): ||r||^2/n + 2 s2 tr A / n.

    The noise variance s2 = ||r||^2 / (n - tr A) is taken where generalised cross-validation is least.
    """
    n = path.residual.shape[1]
    square, trace = np.average(path.residual**2, axis=1, weights=weights), path.trace
    best = int(np.argmin(gcv(path, weights)))
    noise = square[best] / (1.0 - trace[best] / n)
    return square + 2.0 * noise * trace / n


def dgcv(risk: Risk, mean_trace: FloatArray, n_rows: int) -> Risk:
    """Distributed GCV (Xu, Shang & Cheng 2018): mean (y - fbar)^2 / (1 - tr H / N)^2, tr H = mean_j tr A_j."""
    factor = 1.0 / (1.0 - mean_trace / n_rows) ** 2
    return risk[0] * factor, risk[1] * factor[:, None]


def error_products(errors: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Weighted inner products of the nodes' errors over rows, (..., q, q), from errors (q, ..., R)."""
    scaled = np.moveaxis(errors * np.sqrt(row_weights), 0, -2)
    return scaled @ np.swapaxes(scaled, -1, -2)


def pair_risk(products: FloatArray, k: int) -> Risk:
    """Mean squared error of the average of k nodes, from the error products, (..., q, q), of q of them.

    (1/k) mean_j e_j^2 + (1 - 1/k) mean_{j != j'} e_j e_j', averaged over rows by weights that sum to 1. The square of
    the q-average would count the nodes' variance k/q times too often and over-smooth. With q = k it is the squared
    error of the average itself, and its standard error is 0.
    """

    def combined(squares: FloatArray, crossed: FloatArray, q: int) -> FloatArray:
        pairs = crossed / (q * (q - 1)) if q > 1 else squares  # of one node there is no pair: its square is both
        return squares / (q * k) + (1.0 - 1.0 / k) * pairs

    q = products.shape[-1]
    squares = np.einsum("...jj->...j", products)
    crossed = products.sum(axis=-1) - squares  # sum over the other nodes of <e_j, e_j'>
    square, cross = squares.sum(axis=-1), crossed.sum(axis=-1)
    risk = combined(square, cross, q)
    if q == k:
        return risk, risk[..., None]
    return risk, combined(square[..., None] - squares, cross[..., None] - 2 * crossed, q - 1)


def mean_risk(parts: Sequence[Risk], shares: FloatArray) -> Risk:
    """The mean of independent estimates with shares that sum to 1; their leave-one-out estimates stand side by side."""
    if len(parts) == 1:
        return parts[0]
    risk = np.sum([share * part for share, (part, _) in zip(shares, parts, strict=True)], axis=0)
    total = sum(without.shape[-1] for _, without in parts)
    if total == len(parts):
        return risk, risk[..., None]
    shifts = []
    for share, (_, without) in zip(shares, parts, strict=True):
        scale = np.sqrt((1 - 1 / without.shape[-1]) / (1 - 1 / total))  # the jackknife's (q - 1) / q
        shifts.append((without - without.mean(axis=-1, keepdims=True)) * scale * share)
    return risk, risk[..., None] + np.concatenate(shifts, axis=-1)


def jackknife_error(without: FloatArray) -> FloatArray:
    """Standard error from leave-one-node-out estimates, (..., q); 0 where nothing was left out."""
    q = without.shape[-1]
    spread = without - without.mean(axis=-1, keepdims=True)
    return np.sqrt((q - 1) / q * np.sum(spread**2, axis=-1))


def lowest_penalty(penalties: FloatArray, values: FloatArray, fallback: float) -> tuple[float, bool]:
    """The penalty of the least value, by a parabola in the logarithm, and whether it is at the edge.

    Where no penalty is better than another it is the fallback.
    """
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return (fallback if len(values) > 1 else float(penalties[0])), False
    i = int(np.argmin(values))
    if i in (0, len(values) - 1):
        return float(penalties[i]), True
    left, middle, right = values[i - 1 : i + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(penalties[i] * np.exp(shift * np.log(penalties[i + 1] / penalties[i]))), False
