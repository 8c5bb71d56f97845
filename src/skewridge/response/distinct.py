"""Rows told apart by hashes of what they hold, and put in a canonical order by them.

Of a value its rank among the distinct ones of its column is hashed: columns in other units give the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from hashlib import blake2b
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData, is_held
from skewridge.execution.context import where_rows_are
from skewridge.execution.passes import map_rows

Hashes = npt.NDArray[np.uint64]

_GOLDEN, _MIX, _LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_SECOND_KEY = 2**63  # seeds are smaller
_TEXT_BYTES = 6  # of a text's hash: whole numbers of 48 bits, which doubles hold
_COLUMN_NUMBERS = 4_000_000  # of columns that are ranked after one reading of the rows


def distinct_rows(
    tables: Sequence[RowData],
    weights: FloatArray,
    seed: int,
    *,
    groups: IntArray | None = None,
) -> tuple[IntArray, FloatArray, IntArray]:
    """Return the distinct rows of tables side by side in the order of a keyed hash of their values' ranks.

    Rows are the same where two hashes of 64 bits are. They come as their first places, their weights in all, and for
    every row which of them it is. Columns that are multiplied by positive numbers, shifted, or changed by any other
    increasing function give the same answer. Rows of different groups, (N,), stay apart.

    Examples
    --------
    >>> import numpy as np
    >>> rows, weights, member = distinct_rows([np.array([[1.0], [2.0], [1.0]])], np.ones(3), seed=0)
    >>> sorted(zip(rows.tolist(), weights.tolist()))
    [(0, 2.0), (1, 1.0)]
    >>> rows[member].tolist()
    [0, 1, 0]
    """
    with where_rows_are(*tables):
        columns = chain(_columns(tables), [] if groups is None else [groups])
        ranks = (np.unique(column + 0.0, return_inverse=True)[1] for column in columns)  # -0.0 and 0.0 are one number
        first, second = _hashes(len(tables[0]), ranks, [seed, seed + _SECOND_KEY])
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    small: Any = np.int32 if len(order) <= np.iinfo(np.int32).max else np.int64
    starts, member = np.flatnonzero(new), np.empty(len(order), dtype=small)
    member[order] = np.cumsum(new, dtype=small) - small(1)
    return order[starts].astype(small), np.add.reduceat(weights[order], starts), member


def _columns(tables: Sequence[RowData]) -> Iterator[FloatArray]:
    """Yield all columns of all tables one by one; rows that are not in memory are read for several at a time."""
    for table in tables:
        n_rows, d = table.shape
        size = d if is_held(table) else max(1, _COLUMN_NUMBERS // n_rows)
        for start in range(0, d, size):
            taken = partial(np.take, indices=np.arange(start, min(start + size, d)), axis=1)
            yield from np.concatenate(list(map_rows(taken, [table], "distinct rows"))).T


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
