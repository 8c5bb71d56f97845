"""Splits that keep the response's shape: every slice of y gives its share to every part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import column_or_1d

from skewridge._typing import FloatArray, IntArray, RandomState, SliceRule
from skewridge._validation import check_integer, check_real, check_same_order
from skewridge.response.allocation import allocate
from skewridge.response.slices import slice_response


class ResponseStratifiedKFold(BaseCrossValidator):
    """K folds, each with its share of every slice of the response.

    A slice's rows are spread so evenly that the folds' counts differ by at most one, slice by slice and in
    total.

    Parameters
    ----------
    n_splits : int, default=5
    slices : {"scott", "sturges", "fd", "log"}, int or array of edges, default="scott"
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> y = np.r_[np.zeros(8), 9.0, 9.0]
    >>> folds = ResponseStratifiedKFold(2, random_state=0).split(np.zeros((10, 1)), y)
    >>> [int((y[test] == 9).sum()) for _, test in folds]
    [1, 1]
    """

    def __init__(self, n_splits: int = 5, *, slices: SliceRule = "scott", random_state: RandomState = None) -> None:
        self.n_splits = n_splits
        self.slices = slices
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return check_integer("n_splits", self.n_splits, 2)

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield (training rows, test rows) for every fold."""
        return super().split(X, y, groups)

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[npt.NDArray[np.intp]]:
        y = _response(y)
        k = check_integer("n_splits", self.n_splits, 2)
        if k > len(y):
            raise ValueError(f"n_splits must not exceed the number of rows; got {k} for {len(y)} rows.")
        folds = allocate(slice_response(y, self.slices, oversampling=0.0), k, draw_seed(self.random_state))
        for rows in folds:
            yield rows.astype(np.intp)


def response_train_test_split(
    X: Any,
    y: Any,
    *arrays: Any,
    test_size: float = 0.1,
    slices: SliceRule = "scott",
    random_state: RandomState = None,
) -> list[Any]:
    """Split rows at random with a share of every slice of y in the test part (the paper's protocol).

    Parameters
    ----------
    X, y, *arrays : arrays, data frames or series of equal length; y is sliced
    test_size : float in ]0, 1[ or int, default=0.1
        Share or number of the test rows. Every slice's test rows are within one of its exact share, and so is
        their total.
    slices : {"scott", "sturges", "fd", "log"}, int or array of edges, default="scott"
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X_train, X_test, y_train, y_test, ... : as scikit-learn's train_test_split

    Examples
    --------
    >>> import numpy as np
    >>> y = np.r_[np.zeros(90), np.full(10, 9.0)]
    >>> X_train, X_test, y_train, y_test = response_train_test_split(y[:, None], y, random_state=0)
    >>> len(y_test), int((y_test == 9).sum())
    (10, 1)
    """
    check_same_order(X, y)
    indexable(X, y, *arrays)
    response = _response(y)
    if len(response) < 2:
        raise ValueError(f"At least two rows are needed for two parts; got {len(response)}.")
    if isinstance(test_size, int | np.integer) and not isinstance(test_size, bool):
        share = check_integer("test_size", test_size, 1, max(1, len(response) - 1)) / len(response)
    else:
        share = check_real("test_size", test_size, 0, 1, open_low=True, also=" or a number of rows")
    if share == 1:
        raise ValueError("test_size must be below 1, or an integer number of rows; got 1.0.")
    rng = check_random_state(random_state)
    cut = slice_response(response, slices, oversampling=0.0)
    ends = np.floor(np.r_[0, np.cumsum(cut.counts)] * share + rng.uniform()).astype(int)
    picked = [rng.permutation(rows)[:size] for rows, size in zip(cut.rows_by_slice(), np.diff(ends), strict=True)]
    is_test = np.zeros(len(response), dtype=bool)
    is_test[np.concatenate(picked)] = True
    if is_test.all() or not is_test.any():  # few rows: neither part stays empty
        is_test[rng.randint(len(response))] ^= True
    parts = (np.flatnonzero(~is_test), np.flatnonzero(is_test))
    return [_safe_indexing(array, rows) for array in (X, y, *arrays) for rows in parts]


def _response(y: Any) -> FloatArray:
    if y is None:
        raise ValueError("y is needed: the folds follow its slices.")
    return column_or_1d(y, dtype=np.float64)


def draw_seed(random_state: RandomState) -> int:
    """Draw the one number that all of a fit's or a split's randomness is keyed by."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
