"""Rows of equal x as one row, and which of them become centres: a share evenly over slices of y, the rest uniformly.

Copies of a row in different folds, or left out one by one, would tell each other's response: they are one row, of
frequency f and mean response. Rows are ordered by a keyed hash of what they hold, never by their place: the same rows
give the same centres in whatever order, and a row repeated w times counts as one row of weight w. Of a value its rank
among the distinct ones of its column is hashed: columns in other units give the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import blake2b
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import on_threads
from skewridge.execution.passes import map_rows
from skewridge.response.groups import apart, assign_groups
from skewridge.response.slices import choose_rule, ranks_within, slice_edges, slice_labels

N_FOLDS = 5

Hashes = npt.NDArray[np.uint64]

_GOLDEN, _MIX, _LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_SECOND_KEY = 2**63  # seeds are smaller
_TEXT_BYTES = 6  # of a text's hash: whole numbers of 48 bits, which doubles hold
_COLUMN_NUMBERS = 4_000_000  # of columns that are ranked after one reading of the rows


@dataclass(frozen=True)
class DistinctRows:
    """Rows with equal x collapsed to one, in canonical order: the first n of them, for any n, are a random sample.

    rows (n,), where in the data each is first found; member (N,), which of them every row of the data is; frequencies
    (n,), the rows' weights (N,) added up; Y (n, 1), weighted means of the responses; groups (n,), which of them
    are left out together, None: every one on its own.
    """

    rows: IntArray
    member: IntArray
    frequencies: FloatArray
    Y: FloatArray
    weights: FloatArray
    groups: IntArray | None = None

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self.rows)

    @property
    def draws(self) -> IntArray:
        """The draw that every row of the data belongs to, (N,): its group, or its distinct row."""
        return self.member if self.groups is None else self.groups[self.member]

    def means_of_others(self, Y: FloatArray) -> FloatArray:
        """The mean of all rows without one occurrence of each, (N, 1); nan where there is no other."""
        total, mean = float(self.weights.sum()), np.average(Y, axis=0, weights=self.weights)
        return np.asarray(mean - (Y - mean) / (total - 1.0 if total > 1.0 else np.nan))

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum of w_i values_i over every distinct row's copies, (n,): loss weights, for scores."""
        return member_sums(self.member, self.weights * values)


def collapse_rows(
    X: RowData, Y: FloatArray, weights: FloatArray, seed: int, *, groups: IntArray | None = None
) -> DistinctRows:
    """Collapse rows with equal x; Y is (N, 1), and weights are positive frequencies, (N,).

    Rows of different groups (labels, (N,), of :class:`~skewridge.response.groups.RowGroups`) stay apart.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[1.0], [2.0], [1.0]]), np.array([[3.0], [4.0], [6.0]])
    >>> found = collapse_rows(X, Y, np.array([1.0, 1.0, 2.0]), seed=0)
    >>> sorted(zip(X[found.rows, 0].tolist(), found.frequencies.tolist(), found.Y[:, 0].tolist()))
    [(1.0, 3.0, 5.0), (2.0, 1.0, 4.0)]
    """
    rows, _, member = distinct_rows(X, weights, seed, groups=groups)
    rows, member = rows.astype(np.int64), member.astype(np.int64)
    frequencies, means = member_sums(member, weights), member_means(rows, member, Y, weights)
    own = None if groups is None else apart(groups[rows])
    return DistinctRows(rows, member, frequencies, means, weights, own)


@dataclass(frozen=True)
class CandidateRows:
    """Distinct rows in their canonical order, and what centres are drawn by.

    rows (n,), where in the data each is first found; weights (n,), how often each occurs; labels (n,), the slice of its
    mean response; folds (n,); member (N,), which distinct row every row of the data is; groups (n,), rows that share a
    fold, None: none do.
    """

    rows: IntArray
    weights: FloatArray
    labels: IntArray
    folds: npt.NDArray[np.int8]
    member: IntArray
    groups: IntArray | None = None
    _turns: dict[int, IntArray] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, most: int) -> CandidateRows:
        """The first rows in the canonical order: a random sample that depends on the rows alone."""
        if len(self) <= most:
            return self
        return CandidateRows(
            rows=self.rows[:most],
            weights=self.weights[:most],
            labels=self.labels[:most],
            folds=self.folds[:most],
            member=np.empty(0, dtype=np.int64),  # which of them a row is makes no sense of some
            groups=None if self.groups is None else self.groups[:most],
        )

    def in_folds(self, n_folds: int) -> CandidateRows:
        """The rows and slices in another number of folds."""
        return replace(self, folds=_share_out(self.labels, n_folds, self.groups))

    def means(self, Y: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted means of the data's responses, (N, 1), over every distinct row's copies, (n, 1)."""
        return member_means(self.rows, self.member, Y, weights)

    def draw(self, n_centers: int, adapt: float, fold: int = -1) -> IntArray:
        """Return n_centers places among the distinct rows outside a fold (-1: among all), ascending.

        Draws are nested: more centres, or another share, change as few of them as they can.
        """
        wanted, drawn = round(adapt * n_centers), np.empty(0, dtype=np.int64)
        if wanted:
            if fold not in self._turns:  # one row of every slice outside the fold, then a second one, and so on
                inside = np.flatnonzero(self.folds != fold)
                self._turns[fold] = inside[np.argsort(ranks_within(self.labels[inside]), kind="stable")]
            drawn = self._turns[fold][:wanted]
        left = self.folds != fold
        left[drawn] = False
        rest = np.flatnonzero(left)[: max(0, n_centers - len(drawn))]
        return np.sort(np.concatenate([drawn, rest]))

    def center_weights(self, drawn: IntArray) -> FloatArray:
        """How many rows each of some centres stands for, (m,): a slice's rows are shared by its centres."""
        mass = np.bincount(self.labels, self.weights)
        many = np.bincount(self.labels[drawn], minlength=len(mass))
        shares = (mass / np.maximum(many, 1))[self.labels[drawn]]
        return shares * (self.weights.sum() / shares.sum())


def candidate_rows(
    X: RowData, Y: FloatArray, weights: FloatArray, rule: object, seed: int, *, groups: IntArray | None = None
) -> CandidateRows:
    """Return the distinct rows of X, with slices of their mean responses and folds that share the slices out.

    Responses Y (N, 1), frequencies (N,), the rule by which the response is cut into slices, the key of the canonical
    order, and labels of groups, (N,) (:class:`~skewridge.response.groups.RowGroups`): rows with equal x are one
    candidate within their group only, and groups share folds.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[1.0], [2.0], [1.0]]), np.array([[3.0], [4.0], [5.0]])
    >>> found = candidate_rows(X, Y, np.ones(3), "scott", seed=0)
    >>> sorted(X[found.rows, 0].tolist()), sorted(found.weights.tolist())
    ([1.0, 2.0], [1.0, 2.0])
    """
    small: Any = np.int32
    rows, _, member = distinct_rows(X, weights, seed, groups=groups)
    totals = member_sums(member, weights) if len(rows) < len(member) else weights[rows]
    y = member_means(rows, member, Y, weights)[:, 0]
    labels = slice_labels(y, slice_edges(y, choose_rule(y, rule, totals), totals)).astype(small)
    own = None if groups is None else apart(groups[rows])
    return CandidateRows(rows, totals, labels, _share_out(labels, N_FOLDS, own), member, own)


def _share_out(labels: IntArray, n_folds: int, groups: IntArray | None = None) -> npt.NDArray[np.int8]:
    """Folds of equal size that share every slice out, or whole groups."""
    if groups is not None:
        return assign_groups(groups, labels, n_folds).astype(np.int8)
    folds = np.empty(len(labels), dtype=np.int8)
    folds[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % n_folds
    return folds


def member_sums(member: IntArray, values: FloatArray) -> FloatArray:
    """Sums over the copies of every distinct row, added up by size: their order cannot matter."""
    order = np.lexsort((values, member))
    counts = np.bincount(member)
    return np.asarray(np.add.reduceat(values[order], np.cumsum(counts) - counts))


def member_means(rows: IntArray, member: IntArray, Y: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted means over the copies of every distinct row, (n, 1); a row of its own keeps its bits."""
    if len(rows) == len(member):
        return Y[rows]
    sums = np.column_stack([member_sums(member, weights * y) for y in Y.T])
    first, totals = Y[rows], member_sums(member, weights)[:, None]
    others = np.bincount(member, np.any(Y != first[member], axis=1))[:, None]
    differ = (others > 0) & (totals > 0)  # else w y / w may not be y
    return np.divide(sums, totals, out=first, where=differ)


def distinct_rows(
    X: RowData, weights: FloatArray, seed: int, *, groups: IntArray | None = None
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the distinct rows in the order of a keyed hash of their values' ranks.

    Rows are the same where two hashes of 64 bits are. They come as their first places, their weights in all, and for
    every row which of them it is. Columns that are multiplied by positive numbers, shifted, or changed by any other
    increasing function give the same answer. Rows of different groups, (N,), stay apart.

    Examples
    --------
    >>> import numpy as np
    >>> rows, weights, member = distinct_rows(np.array([[1.0], [2.0], [1.0]]), np.ones(3), seed=0)
    >>> sorted(zip(rows.tolist(), weights.tolist()))
    [(0, 2.0), (1, 1.0)]
    >>> rows[member].tolist()
    [0, 1, 0]
    """
    n_rows, d = X.shape
    size = max(1, _COLUMN_NUMBERS // n_rows) if isinstance(X, Table) else d  # columns at one reading
    places = [np.arange(start, min(start + size, d)) for start in range(0, d, size)]
    with on_threads(rows=X):
        parts = (map_rows(partial(np.take, indices=some, axis=1), [X], "distinct rows") for some in places)
        columns: Iterable[Any] = (column for part in parts for column in np.concatenate(list(part)).T)
        columns = columns if groups is None else chain(columns, [groups])
        ranks = (np.unique(column + 0.0, return_inverse=True)[1] for column in columns)  # -0.0 and 0.0 are one number
        first, second = _hashes(n_rows, ranks, [seed, seed + _SECOND_KEY])
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    small: Any = np.int32 if len(order) <= np.iinfo(np.int32).max else np.int64
    starts, member = np.flatnonzero(new), np.empty(len(order), dtype=small)
    member[order] = np.cumsum(new, dtype=small) - small(1)
    return order[starts].astype(small), np.add.reduceat(weights[order], starts), member


def _hashes(n_rows: int, columns: Iterable[npt.NDArray[Any]], keys: Sequence[int]) -> list[Hashes]:
    """A hash of 64 bits a row for every key: splitmix64 over columns of whole numbers, (n_rows,) each."""
    states = [np.full(n_rows, (int(_GOLDEN) * (key + 1)) % 2**64, dtype=np.uint64) for key in keys]
    for column in columns:
        words = column.astype(np.uint64, copy=False)
        for state in states:
            state ^= words
            state *= _GOLDEN
            state ^= state >> _HALF
            state *= _MIX
            state ^= state >> _HALF
            state *= _LAST
            state ^= state >> _HALF
    return states


def row_keys(X: Any) -> FloatArray:
    """Return the key of every row, (N, 2), of an array, a sparse matrix or a data frame: equal where rows are.

    The same values have the same key, whatever holds them: a key is the sum, modulo 2^64, of one hash for every entry
    that is not zero, keyed by its column.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> rows = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 1.5]])
    >>> keys = row_keys(rows)
    >>> bool((keys[0] == keys[2]).all()), bool((keys[0] == keys[1]).all())
    (True, False)
    >>> bool((row_keys(csr_array(rows)) == keys).all())
    True
    """
    total = np.zeros(X.shape[0], dtype=np.uint64)

    def add(rows: Any, values: Any, columns: Any) -> None:
        numbers = as_numbers(values)
        words = np.column_stack([numbers, np.broadcast_to(columns, numbers.shape)]).view(np.uint64)
        [hashes] = _hashes(len(words), words.T, [0])
        np.add.at(total, rows, np.where(numbers == 0.0, np.uint64(0), hashes))

    if hasattr(X, "tocoo"):
        entries = X.tocsr(copy=True)
        entries.sum_duplicates()
        entries = entries.tocoo()
        add(entries.row, entries.data, entries.col)
    else:
        columns = X.iloc if hasattr(X, "iloc") else X  # by their places: names may occur twice
        for place in range(X.shape[1]):
            add(slice(None), columns[:, place], place)
    return np.column_stack([total >> _HALF, total & np.uint64(2**32 - 1)]).astype(np.float64)


def as_numbers(values: Any) -> FloatArray:
    """Numbers as they are, times by their count of units, and a hash of every other value's text; one nan for all.

    Examples
    --------
    >>> import numpy as np
    >>> as_numbers(np.array([True, False])), as_numbers(np.array([2, None], dtype=object))
    (array([1., 0.]), array([ 2., nan]))
    """

    @cache
    def hashed(text: str) -> float:
        return float(int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=_TEXT_BYTES).digest()))

    def number(value: Any) -> float:
        if isinstance(value, Real):
            return float(value)
        return np.nan if value is None else hashed(str(value))

    array = np.asarray(values)
    if array.dtype.kind in "mM":
        array = array.astype(np.int64)
    if array.dtype.kind not in "biuf":
        array = np.array([number(value) for value in array.tolist()])
    numbers = array.astype(np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers)
