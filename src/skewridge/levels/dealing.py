"""Who is held out by which outer fold: distinct rows, draws of one x, whole groups, or what comes later.

Distinct rows are dealt to five folds. Where x is discrete and rows with equal x are draws that met
by chance, not copies, the draws of one x are dealt out as well: a new row is then likely to be at
an x that was seen, and what predicts it is judged by that. Groups go as a whole; rows that have an
order are held out block by block, and predicted by what lies before them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.levels.planning import N_OUTER_FOLDS
from skewridge.levels.rows import Rows
from skewridge.response.grouping import RowGroups, apart, deal_groups
from skewridge.response.sampling import member_sums
from skewridge.ridge.distinct import DistinctRows

TIED = 0.5  # of the distinct rows: where so many share their value, a column is discrete
MOST_DRAWS = 1e6  # of the smallest weight in the largest: beyond, weights are no counts
WHOLE = 1e-3  # of the least unit: what rounding may leave of one


@dataclass(frozen=True)
class Deal:
    """How often every row is held out by every outer fold.

    Attributes
    ----------
    counts : (N, F) array of the rows' weights, which are its sums over folds
    distinct : DistinctRows
    draw : float, the weight of one draw where draws of one x are dealt out; 0: rows with equal x share a fold
    whole_groups : bool, True if folds hold whole groups, or blocks of an order
    blocks : (n,) array, the place of every distinct row in an order, by the fold that holds it out; below 0
        where none does. A fold's fit then sees what lies before it; None: all that it does not hold out
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
        """Every row's mean over the folds that hold it out, (N,), of one value for each of them, (k,).

        Rows that no fold holds out have nan.
        """
        by_fold = np.zeros(held.shape)
        by_fold[held > 0.0] = values
        shares = self.counts / self.distinct.weights[:, None]
        found = np.sum(shares * by_fold[self.distinct.member], axis=1)
        return np.where(self.counts.any(axis=1), found, np.nan)


def deal_rows(X: FloatArray, y: FloatArray, distinct: DistinctRows) -> Deal:
    """Deal rows to five folds that share out the response evenly; rows with equal x together.

    Where these are draws that met by chance, every x's rows are dealt out in the order of their
    responses.
    """
    order = np.argsort(distinct.Y[:, 0], kind="stable")
    folds = np.empty(len(distinct), dtype=np.int64)
    folds[order] = np.arange(len(distinct)) % N_OUTER_FOLDS
    groups = _equal_rows(y, distinct)
    draw = common_unit(groups.weights)
    repeated = draw > 0.0 and bool(np.any(distinct.frequencies > 1.5 * draw))
    if repeated and is_discrete(X[distinct.rows]) and _met_by_chance(groups, draw):
        return Deal(_dealt_draws(groups, distinct, folds, draw), distinct, draw)
    return _whole_folds(folds, distinct, N_OUTER_FOLDS)


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

    At least half of the distinct rows X share their value with another one; a continuous column
    does not repeat, so that rows which are equal in it are copies, or were measured again on purpose.

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

    A table of which all rows were copied equally often has their number as its unit, and so counts
    as the table itself.

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


@dataclass(frozen=True)
class _EqualRows:
    """Rows by x and, within it, by y: those that are equal in both count as one.

    Attributes
    ----------
    order : (N,) array, the rows' places in this order
    group : (N,) array, in this order
    member : (G,) array, the distinct x of every group
    y, weights : (G,) arrays
    """

    order: IntArray
    group: IntArray
    member: IntArray
    y: FloatArray
    weights: FloatArray


def _equal_rows(y: FloatArray, distinct: DistinctRows) -> _EqualRows:
    order = np.lexsort((y, distinct.member))
    member, values = distinct.member[order], y[order]
    new = np.append(True, (member[1:] != member[:-1]) | (values[1:] != values[:-1]))
    group = np.cumsum(new) - 1
    weights = member_sums(group, distinct.weights[order])
    return _EqualRows(order, group, member[new], values[new], weights)


def _met_by_chance(groups: _EqualRows, draw: float) -> bool:
    """True unless draws of one x have one response where responses are continuous: those are copies."""
    per_x = np.bincount(groups.member, np.rint(groups.weights / draw))
    several = per_x[groups.member] > 1.5
    differ = np.bincount(groups.member)[groups.member] > 1
    if np.mean(differ[several]) >= TIED:
        return True
    return _tied_share(groups.y) >= TIED


def _tied_share(column: FloatArray) -> float:
    """The share of values that occur more than once."""
    _, counts = np.unique(column, return_counts=True)
    return float(1.0 - np.sum(counts == 1) / len(column))


def _dealt_draws(groups: _EqualRows, distinct: DistinctRows, folds: IntArray, draw: float) -> FloatArray:
    """Deal the draws of every x round the folds in the order of y, beginning with the fold of the x, (N, F).

    Whether equal rows are many or one of that weight cannot matter: they share their draws' folds.
    """
    counts, owner = np.rint(groups.weights / draw), groups.member
    before = np.cumsum(counts) - counts
    first = np.searchsorted(owner, np.arange(len(distinct)))  # of every x
    start = before - before[first][owner] + folds[owner]
    dealt = np.column_stack([_turns(start + counts, f) - _turns(start, f) for f in range(N_OUTER_FOLDS)])
    shares = (dealt / counts[:, None])[groups.group]
    out = np.empty((len(groups.order), N_OUTER_FOLDS))
    out[groups.order] = shares * distinct.weights[groups.order, None]
    return out


def _turns(n: FloatArray, fold: int) -> FloatArray:
    """How many of the turns 0, ..., n - 1 are the fold's."""
    return np.asarray(np.ceil((n - fold) / N_OUTER_FOLDS))
