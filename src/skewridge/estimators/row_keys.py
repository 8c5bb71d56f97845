"""Two numbers for every row of any table, by which rows are told from each other: equal where rows are."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray
from skewridge.response.distinct import hash_rows

_BYTES = 6  # of a text's hash: whole numbers of 48 bits, which doubles hold
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)

Hashes = npt.NDArray[np.uint64]


def row_keys(X: Any) -> FloatArray:
    """Return the key of every row, (N, 2), of an array, a sparse matrix or a data frame.

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
    if hasattr(X, "tocoo"):
        entries = X.tocsr(copy=True)
        entries.sum_duplicates()
        entries = entries.tocoo()
        np.add.at(total, entries.row, _entry_hashes(as_numbers(entries.data), entries.col))
    else:
        for place, values in enumerate(_columns(X)):
            total += _entry_hashes(as_numbers(values), np.full(len(total), place))
    return np.column_stack([total >> _HALF, total & _LOW]).astype(np.float64)


def as_numbers(values: Any) -> FloatArray:
    """Numbers as they are, times by their count of units, and a hash of every other value's text; one nan for all.

    Examples
    --------
    >>> import numpy as np
    >>> as_numbers(np.array([True, False])), as_numbers(np.array([2, None], dtype=object))
    (array([1., 0.]), array([ 2., nan]))
    """
    array = np.asarray(values)
    if array.dtype.kind in "mM":
        array = array.astype(np.int64)
    if array.dtype.kind not in "biuf":
        known: dict[Any, float] = {}
        array = np.array([_number(value, known) for value in array.tolist()])
    numbers = array.astype(np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers)


def _number(value: Any, known: dict[Any, float]) -> float:
    """A number itself, nan for None, and a hash for any other value, which is computed once for every text."""
    if isinstance(value, Real):
        return float(value)
    if value is None:
        return np.nan
    text = str(value)
    if text not in known:
        known[text] = float(int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=_BYTES).digest()))
    return known[text]


def _columns(X: Any) -> Iterator[Any]:
    """The columns of an array or a frame, by their places: names may occur twice."""
    rows = X.iloc if hasattr(X, "iloc") else X
    return (rows[:, place] for place in range(X.shape[1]))


def _entry_hashes(values: FloatArray, columns: Any) -> Hashes:
    """One hash for every entry, 0 for zeros."""
    hashes = hash_rows(np.column_stack([values, columns]), 0)
    return np.where(values == 0.0, np.uint64(0), hashes)
