"""Rows that belong together: groups that are left out as a whole, and blocks of rows that have an order.

Rows of one patient, site or series share what no column tells, and a row is predicted well by its
mates. Where new rows come from other groups, or later, errors of rows left out one by one say
nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import BoolArray, FloatArray, IntArray

N_BLOCKS = 10  # of rows in an order; those of the later half are predicted by what lies before them
ROUNDING = 1e-12  # of shares of all rows
ALONE = -1  # the label of rows that are groups of their own


@dataclass(frozen=True)
class RowGroups:
    """Which rows are left out together.

    Attributes
    ----------
    labels : (N,) array of numbers from 0; -1 where a row is a group of its own. Of rows in an order:
        their blocks, numbered along it
    first_ahead : the first block that is predicted by what lies before it; None where rows have no order
    """

    labels: IntArray
    first_ahead: int | None = None

    def some(self, places: IntArray | BoolArray) -> RowGroups:
        """The groups of some rows."""
        return RowGroups(self.labels[places], self.first_ahead)

    @property
    def n_draws(self) -> int:
        """How many draws the rows are: groups, and rows on their own; 0 of an order, whose blocks are few."""
        if self.first_ahead is not None:
            return 0
        alone = self.labels == ALONE
        return int(alone.sum()) + len(np.unique(self.labels[~alone]))

    @property
    def holds_several(self) -> bool:
        """True if there are at least two groups to leave out."""
        return bool(np.any(self.labels != self.labels[0])) or self.labels[0] == ALONE

    def folds(self, values: FloatArray, n_folds: int, weights: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows to fit and the rows that they predict.

        Whole groups are left out, in folds that share values, (N,), out; blocks of an order are
        predicted by those before them. A row of weight 2 is two rows.
        """
        if self.first_ahead is not None:
            for block in np.unique(self.labels[self.labels >= self.first_ahead]):
                yield np.flatnonzero(self.labels < block), np.flatnonzero(self.labels == block)
            return
        dealt = deal_groups(apart(self.labels), values, n_folds, weights)
        for fold in range(int(dealt.max()) + 1):
            yield np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)


def row_groups(codes: IntArray, weights: FloatArray | None = None) -> RowGroups | None:
    """Groups from one number a row, (N,); None where every row is a group of its own.

    A row of weight 2 is two rows, and so no longer on its own.

    Examples
    --------
    >>> import numpy as np
    >>> row_groups(np.array([5, 7, 5, 9])).labels.tolist()
    [0, -1, 0, -1]
    >>> row_groups(np.array([5, 7, 9])) is None
    True
    """
    _, own, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError(
            "groups must hold at least two groups, since one is predicted by the others; got one for all "
            f"{len(codes):,} rows. Leave `groups` out, or give labels that tell groups apart."
        )
    several = (counts > 1) | (_totals(own, weights) > 1.0)
    if not several.any():
        return None
    return RowGroups(np.where(several, np.cumsum(several) - 1, ALONE)[own].astype(np.int64))


def ordered_blocks(ranks: IntArray, weights: FloatArray | None = None) -> RowGroups:
    """Cut rows into ten blocks along an order of ranks, (N,); rows of equal rank share a block.

    Blocks are of equal weight, as far as ranks let them.

    Examples
    --------
    >>> import numpy as np
    >>> found = ordered_blocks(np.array([0, 3, 1, 2, 3, 3]))
    >>> found.labels.tolist(), found.first_ahead
    ([0, 3, 1, 2, 3, 3], 3)
    """
    _, own, counts = np.unique(ranks, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError(
            "order must hold at least two values, since later rows are predicted by earlier ones; got one "
            f"for all {len(ranks):,} rows. Leave `order` out, or give the rows' times or places."
        )
    totals = _totals(own, weights)
    before = (np.cumsum(totals) - totals) / totals.sum() + ROUNDING
    blocks, first = np.unique(np.floor(N_BLOCKS * before), return_index=True)
    labels = np.searchsorted(first, np.arange(len(counts)), side="right") - 1
    late = before[first] >= 0.5
    ahead = int(np.argmax(late)) if late.any() else len(blocks) - 1
    return RowGroups(labels[own].astype(np.int64), max(1, ahead))


def apart(labels: IntArray) -> IntArray:
    """Labels with a number of its own for every row that is a group of its own, (n,)."""
    out, alone = labels.astype(np.int64), np.flatnonzero(labels == ALONE)
    out[alone] = labels.max(initial=ALONE) + 1 + np.arange(len(alone))
    return out


def share_groups(groups: IntArray) -> bool:
    """True if some rows share a group."""
    return len(np.unique(groups)) < len(groups)


def _totals(own: IntArray, weights: FloatArray | None) -> FloatArray:
    """The weights of all groups, numbered from 0; None: every row counts once."""
    return np.bincount(own, weights).astype(np.float64)


def deal_groups(
    groups: IntArray, values: npt.NDArray[Any], n_folds: int, weights: FloatArray | None = None
) -> IntArray:
    """Deal whole groups to folds of about equal size, which share values, (n,), out; returns folds (n,).

    Large groups go first, each to the fold with the fewest rows; of equally large ones those with
    lower mean values. Fewer groups than folds leave folds out.

    Examples
    --------
    >>> import numpy as np
    >>> deal_groups(np.array([4, 4, 7, 9, 9, 9]), np.zeros(6), 2).tolist()
    [1, 1, 1, 0, 0, 0]
    """
    _, first, own = np.unique(groups, return_index=True, return_inverse=True)
    counts = _totals(own, weights)
    means = np.bincount(own, values if weights is None else values * weights) / counts
    fold_of = np.empty(len(counts), dtype=np.int64)
    filled = [(0.0, fold) for fold in range(n_folds)]
    heapify(filled)
    for group in np.lexsort((first, means, -counts)).tolist():
        size, fold = filled[0]
        fold_of[group] = fold
        heapreplace(filled, (size + float(counts[group]), fold))
    return fold_of[own]
