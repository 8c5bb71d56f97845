"""Who is held out by which outer fold: distinct rows, draws of one x, whole groups, or what comes later.

Distinct rows are dealt to five folds. Where x is discrete and rows with equal x are draws that met by chance, not
copies, the draws of one x are dealt out as well: a new row is then likely to be at an x that was seen, and what
predicts it is judged by that. Groups go as a whole; rows that have an order are held out block by block, and predicted
by what lies before them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.response.grouping import RowGroups, apart, deal_groups
from skewridge.response.sampling import member_sums
from skewridge.ridge.distinct import DistinctRows
from skewridge.two_levels.members import Rows
from skewridge.two_levels.planning import N_OUTER_FOLDS

TIED = 0.5  # of the distinct rows: where so many share their value, a column is discrete
MOST_DRAWS = 1e6  # of the smallest weight in the largest: beyond, weights are no counts
WHOLE = 1e-3  # of the least unit: what rounding may leave of one
FOLDS = range(N_OUTER_FOLDS)


@dataclass(frozen=True)
class Deal:
    """How often every row is held out by every outer fold: ``counts``, (N, F), sum to the rows' weights.

    ``draw`` is the weight of one draw where draws of one x are dealt out; 0: rows with equal x share a fold.
    ``blocks``, (n,), are places of distinct rows in an order, by the fold that holds them out, below 0 where none does:
    a fold's fit then sees what lies before it, and else all that it does not hold out.
    """

    counts: FloatArray
    distinct: DistinctRows
    draw: float = 0.0
    whole_groups: bool = False
    blocks: IntArray | None = None

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return self.counts.shape[1]

    @property
    def together(self) -> bool:
        """True if rows with equal x share a fold."""
        return self.draw == 0.0

    @property
    def held(self) -> FloatArray:
        """The weight of every distinct row that each fold holds out, (n, F)."""
        member = self.distinct.member
        held = np.column_stack([member_sums(member, column) for column in self.counts.T])
        return held if self.together else self.draw * np.rint(held / self.draw)

    def means(self, y: FloatArray, held: FloatArray) -> FloatArray:
        """The mean responses of what folds hold out, (k, 1), distinct row after distinct row."""
        sums = [member_sums(self.distinct.member, column * y) for column in self.counts.T]
        places = held > 0.0
        own = np.column_stack(sums)[places] / held[places]
        return own[:, None]

    def outside(self, rows: Rows, y: FloatArray, held: FloatArray, fold: int) -> Rows:
        """The distinct rows that a fold's fit sees, with their weights and mean responses."""
        if self.blocks is not None:
            return rows.some(self.blocks < fold)
        if self.together:
            return rows.some(held[:, fold] == 0.0)
        left = self.distinct.weights - self.counts[:, fold]
        sums = member_sums(self.distinct.member, left * y)
        weights = self.draw * np.rint((rows.frequencies - held[:, fold]) / self.draw)
        seen = weights > 0.0
        return replace(rows.some(seen), y=(sums[seen] / weights[seen])[:, None], frequencies=weights[seen])

    def by_row(self, values: FloatArray, held: FloatArray) -> FloatArray:
        """Every row's mean over the folds that hold it out, (N,), of one value for each, (k,); nan where none does."""
        by_fold = np.zeros(held.shape)
        by_fold[held > 0.0] = values
        shares = self.counts / self.distinct.weights[:, None]
        found = np.sum(shares * by_fold[self.distinct.member], axis=1)
        return np.where(self.counts.any(axis=1), found, np.nan)


def deal_rows(X: FloatArray, y: FloatArray, distinct: DistinctRows) -> Deal:
    """Deal rows to five folds that share out the response evenly; rows with equal x together, or in the order of y."""
    order = np.argsort(distinct.Y[:, 0], kind="stable")
    folds = np.empty(len(distinct), dtype=np.int64)
    folds[order] = np.arange(len(distinct)) % N_OUTER_FOLDS
    counts, draw = _draws_by_fold(X, y, distinct, folds)
    return Deal(counts, distinct, draw) if draw else _whole_folds(folds, distinct, N_OUTER_FOLDS)


def deal_whole_groups(distinct: DistinctRows, groups: RowGroups) -> Deal:
    """Deal whole groups to up to five folds, or hold out the later blocks of an order one by one."""
    labels = groups.labels[distinct.rows]
    if groups.first_ahead is not None:
        blocks = labels - groups.first_ahead
        deal = _whole_folds(blocks, distinct, int(blocks.max()) + 1)
        return replace(deal, whole_groups=True, blocks=blocks)
    folds = deal_groups(apart(labels), distinct.Y[:, 0], N_OUTER_FOLDS)
    return replace(_whole_folds(folds, distinct, int(folds.max()) + 1), whole_groups=True)


def _whole_folds(folds: IntArray, distinct: DistinctRows, n_folds: int) -> Deal:
    """Every distinct row in one fold, (n,); below 0: in none."""
    own = folds[distinct.member][:, None] == np.arange(n_folds)
    return Deal(own * distinct.weights[:, None], distinct)


def is_discrete(X: FloatArray) -> bool:
    """True if rows with equal x may have met by chance: in every column that varies, values are shared.

    At least half of the distinct rows X share their value with another one; a continuous column does not repeat, so
    that rows which are equal in it are copies, or were measured again on purpose.

    Examples
    --------
    >>> import numpy as np
    >>> is_discrete(np.array([[1.0, 5.0], [1.0, 7.0], [2.0, 7.0]]))
    True
    >>> is_discrete(np.array([[1.0, 5.1], [1.0, 7.2], [2.0, 7.3]]))
    False
    """
    return all(_tied_share(column) >= TIED for column in X.T if np.any(column != column[0]))


def common_unit(weights: FloatArray) -> float:
    """The largest weight of which all are whole multiples; 0 if some would be over a million times as much.

    A table of which all rows were copied equally often has their number as its unit, and counts as the table itself.

    Examples
    --------
    >>> import numpy as np
    >>> weights = [4.0, 6.0], [0.3, 0.1], [3.0], [1.0, np.pi]
    >>> [round(common_unit(np.array(own)), 6) for own in weights]
    [2.0, 0.1, 3.0, 0.0]
    """
    largest = float(weights.max())
    unit, least = 1.0, 1.0 / MOST_DRAWS
    for share in np.unique(weights / largest):
        other = float(share)
        while other > least:  # Euclid's algorithm
            unit, other = other, float(np.fmod(unit, other))
            other = 0.0 if min(other, unit - other) < least * WHOLE else other
        if other > 0.0 or unit <= least:
            return 0.0
    return largest * unit


def _draws_by_fold(X: FloatArray, y: FloatArray, distinct: DistinctRows, folds: IntArray) -> tuple[FloatArray, float]:
    """The weights of rows by fold, (N, F), and of one draw, 0 where rows with equal x are no draws that met by chance.

    Draws of every x go round the folds in the order of y, beginning with the fold of the x. Rows that are equal in x
    and y count as one: whether they are many or one of that weight cannot matter.
    """
    order = np.lexsort((y, distinct.member))
    owner, values = distinct.member[order], y[order]
    new = np.append(True, (owner[1:] != owner[:-1]) | (values[1:] != values[:-1]))
    group, owner, values = np.cumsum(new) - 1, owner[new], values[new]
    weights = member_sums(group, distinct.weights[order])
    draw, none = common_unit(weights), (np.empty((0, 0)), 0.0)
    if draw == 0.0 or not np.any(distinct.frequencies > 1.5 * draw) or not is_discrete(X[distinct.rows]):
        return none
    counts = np.rint(weights / draw)
    several = np.bincount(owner, counts)[owner] > 1.5
    differ = np.bincount(owner)[owner] > 1
    if np.mean(differ[several]) < TIED and _tied_share(values) < TIED:  # one response where they are continuous: copies
        return none
    before = np.cumsum(counts) - counts
    first = np.searchsorted(owner, np.arange(len(distinct)))  # of every x
    start = before - before[first][owner] + folds[owner]
    turns = [np.ceil((start + counts - f) / N_OUTER_FOLDS) - np.ceil((start - f) / N_OUTER_FOLDS) for f in FOLDS]
    out = np.empty((len(order), N_OUTER_FOLDS))
    out[order] = (np.column_stack(turns) / counts[:, None])[group] * distinct.weights[order, None]
    return out, draw


def _tied_share(column: FloatArray) -> float:
    """The share of values that occur more than once."""
    _, counts = np.unique(column, return_counts=True)
    return float(1.0 - np.sum(counts == 1) / len(column))
