"""Random partitions of x into cells: trees that are grown once and replayed on new rows.

A node is split at a random 40 to 60% quantile of a feature drawn in proportion to its standard
deviation in the node, down to ``cell_size`` rows. Draws are keyed by (seed, partition, node): the
same rows give the same cells anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_integer
from skewridge.kernels.kernel import loops_module

CELL_SIZE = 1200
N_PARTITIONS = 4
GUIDED_CELL_SIZE, GUIDED_PARTITIONS = 1000, 3  # of cells that see beyond their walls, through a guide
MANY_ROWS, LEAST_GUIDED_SIZE, FEW_PARTITIONS = 200_000, 500, 2  # beyond so many rows guided cells shrink to this size
LEAST_CELL_SIZE = 8  # so that every cell holds two rows, which leave-one-out needs
QUANTILES = (0.4, 0.6)
EVEN_SHARE = 0.25  # of a node's rows on the smaller side of a split that is taken as it was drawn
ATTEMPTS = 8  # draws of a feature and a quantile, before the most even split of all is looked for
SPLIT_ROWS = 4000  # of a node that a split is drawn by: rows come in random order
SMALL_CELLS = 24  # no split makes a cell smaller than cell_size / 24
LEAF = -1


def guided_cell_size(n_rows: int) -> int:
    """Rows of a guided cell at most: 1,000; of more than 200,000 rows fewer, so that all cells together cost the same.

    Examples
    --------
    >>> [guided_cell_size(n) for n in (15_000, 400_000, 10_000_000)]
    [1000, 707, 500]
    """
    fewer = GUIDED_CELL_SIZE * np.sqrt(MANY_ROWS / max(n_rows, MANY_ROWS))
    return max(LEAST_GUIDED_SIZE, int(fewer))


def guided_partitions(n_rows: int) -> int:
    """Partitions into guided cells: 3; of more than 200,000 rows 2, since cells differ less the more rows there are.

    Examples
    --------
    >>> [guided_partitions(n) for n in (15_000, 400_000)]
    [3, 2]
    """
    return GUIDED_PARTITIONS if n_rows <= MANY_ROWS else FEW_PARTITIONS


@dataclass(frozen=True)
class Partitions:
    """Several partitions of x into cells, as binary trees in arrays; cells are numbered through.

    Attributes
    ----------
    roots : (T,) array, the first node of every tree
    feature : (n_nodes,) array, the feature that a node splits; -1 in a leaf
    cut : (n_nodes,) array; rows with z[feature] <= cut go to the left
    child : (n_nodes,) array, the left child (the right one follows it); in a leaf, its cell
    """

    roots: IntArray
    feature: IntArray
    cut: FloatArray
    child: IntArray

    @property
    def n_cells(self) -> int:
        """Cells of all partitions."""
        return int(np.sum(self.feature == LEAF))

    def cells_of(self, Z: FloatArray) -> IntArray:
        """Return the cell of every row in every partition, (n, T)."""
        if np.all(self.feature[self.roots] == LEAF):
            return np.tile(self.child[self.roots], (len(Z), 1))
        out = np.empty((len(Z), len(self.roots)), dtype=np.int64)
        rows = np.ascontiguousarray(Z, dtype=np.float64)
        loops_module().leaves_of(rows, self.roots, self.feature, self.cut, self.child, out)
        return out


@dataclass(frozen=True)
class CellRows:
    """The rows that every cell is fitted to: those of cell c are order[starts[c]:starts[c + 1]]."""

    order: IntArray
    starts: IntArray

    def __getitem__(self, cell: int) -> IntArray:
        return self.order[self.starts[cell] : self.starts[cell + 1]]

    @property
    def sizes(self) -> IntArray:
        """Rows of every cell."""
        return np.diff(self.starts)


def random_partitions(
    Z: FloatArray, *, seed: int, n_partitions: int = N_PARTITIONS, cell_size: int = CELL_SIZE
) -> Partitions:
    """Grow random partitions of scaled rows Z, (N, D), into cells of at most ``cell_size`` rows.

    Rows come in random order: splits of many are drawn by the first of them. Up to ``cell_size``
    rows are one cell of one partition. Every split leaves at least cell_size / 24 rows on either
    side; rows that no such split divides stay together even if they are more than ``cell_size``,
    and :func:`rows_of_cells` draws those that the cell is fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.random.default_rng(0).random((1000, 3))
    >>> partitions = random_partitions(Z, seed=0, n_partitions=2, cell_size=300)
    >>> cells = partitions.cells_of(Z)
    >>> cells.shape, int(np.bincount(cells.ravel()).max()) <= 300
    ((1000, 2), True)
    """
    check_integer("cell_size", cell_size, LEAST_CELL_SIZE)
    check_integer("n_partitions", n_partitions, 1)
    nodes: list[tuple[int, float, int]] = []
    roots, n_cells = [], 0
    columns = np.ascontiguousarray(Z.T)  # a split reads one of them, of all its rows
    for partition in range(n_partitions if len(Z) > cell_size else 1):
        roots.append(len(nodes))
        n_cells = _grow(Z, columns, nodes, n_cells, (seed, partition), cell_size)
    feature, cut, child = zip(*nodes, strict=True)
    cuts = np.array(cut, dtype=np.float64)
    return Partitions(np.array(roots), np.array(feature), cuts, np.array(child))


def rows_of_cells(
    cells: IntArray,
    n_cells: int,
    *,
    seed: int,
    cell_size: int = CELL_SIZE,
) -> CellRows:
    """List the rows of every cell from the cells of every row, (N, T), ascending within a cell.

    A cell of more than ``cell_size`` rows, which no split divides, is given ``cell_size`` of them,
    drawn by a permutation keyed by (seed, cell).
    """
    T = cells.shape[1]
    by_cell = np.argsort(cells.ravel(), kind="stable") // T
    ends = np.cumsum(np.bincount(cells.ravel(), minlength=n_cells))[:-1]
    parts = [_at_most(rows, cell_size, seed, c) for c, rows in enumerate(np.split(by_cell, ends))]
    starts = np.cumsum([0, *(len(rows) for rows in parts)])
    return CellRows(np.concatenate(parts), starts)


def _at_most(rows: IntArray, cell_size: int, seed: int, cell: int) -> IntArray:
    if len(rows) <= cell_size:
        return rows
    return rows[np.sort(shuffle(np.arange(cell_size), len(rows), seed, cell))]


def _grow(
    Z: FloatArray,
    columns: FloatArray,
    nodes: list[tuple[int, float, int]],
    n_cells: int,
    key: tuple[int, int],
    cell_size: int,
) -> int:
    """Append the nodes of one tree, level by level; returns the number of cells so far."""
    root = len(nodes)
    waiting = [np.arange(len(Z))]
    for number, rows in enumerate(waiting):  # which grows as nodes are split
        rng = np.random.default_rng([*key, number])
        split = _draw_split(Z, rows, rng, cell_size) if len(rows) > cell_size else None
        if split is None:
            nodes.append((LEAF, 0.0, n_cells))
            n_cells += 1
        else:
            feature, cut = split
            nodes.append((feature, cut, root + len(waiting)))
            left = columns[feature][rows] <= cut
            waiting += [rows[left], rows[~left]]
        waiting[number] = np.empty(0, dtype=np.int64)  # its rows are no longer needed
    return n_cells


def _draw_split(
    Z: FloatArray,
    rows: IntArray,
    rng: np.random.Generator,
    cell_size: int,
) -> tuple[int, float] | None:
    """Draw a feature and a cut that divides some rows evenly; None if nothing divides them.

    Of many rows the first, which are a random sample, decide, unless nothing divides these.
    """
    if len(rows) > SPLIT_ROWS:
        found = _even_split(np.ascontiguousarray(Z[rows[:SPLIT_ROWS]].T), rng, cell_size)
        if found is not None:
            return found
    return _even_split(np.ascontiguousarray(Z[rows].T), rng, cell_size)


def _even_split(
    columns: FloatArray,
    rng: np.random.Generator,
    cell_size: int,
) -> tuple[int, float] | None:
    """Draw a feature and a cut that divides all rows evenly, features (D, n); None if nothing divides them."""
    spread = _standard_deviations(columns)
    total = spread.sum()
    if not total > 0:
        return None
    for _ in range(ATTEMPTS):
        feature = int(rng.choice(len(spread), p=spread / total))
        column = columns[feature]
        cut = _quantile(column, rng.uniform(*QUANTILES))
        share = np.count_nonzero(column <= cut) / len(column)
        if EVEN_SHARE <= share <= 1.0 - EVEN_SHARE:
            return feature, cut
    return _most_even_split(columns, max(2, cell_size // SMALL_CELLS))


def _quantile(column: FloatArray, share: float) -> float:
    """np.quantile of one column, in a third of its time for a few thousand rows."""
    place = share * (len(column) - 1)
    low = int(place)
    found = np.partition(column, (low, min(low + 1, len(column) - 1)))[low : low + 2]
    return float(found[0] + (place - low) * (found[-1] - found[0]))


def _standard_deviations(columns: FloatArray) -> FloatArray:
    """The columns' standard deviations, (D,), with one copy of the rows."""
    moved = columns - columns[:, :1]  # constant columns become exactly 0
    mean = moved.mean(axis=1)
    squares = np.einsum("ij,ij->i", moved, moved) / columns.shape[1]
    return np.sqrt(np.maximum(squares - mean * mean, 0.0))


def _most_even_split(columns: FloatArray, least: int) -> tuple[int, float] | None:
    """The feature and the cut whose smaller side is largest; None if that is below ``least``."""
    best, found = least - 1, None
    for feature, column in enumerate(columns):
        values, counts = np.unique(column, return_counts=True)
        below = np.cumsum(counts)[:-1]
        smaller = np.minimum(below, len(column) - below)
        if smaller.max(initial=0) > best:
            place = int(np.argmax(smaller))
            best, found = int(smaller[place]), (feature, _between(values[place], values[place + 1]))
    return found


def _between(low: float, high: float) -> float:
    """A cut with low <= cut < high, half-way if numbers allow."""
    middle = float(low + 0.5 * (high - low))
    return middle if middle < high else float(low)
