"""Rows with equal x become one row before anything else is done.

Copies of a row in different folds, or left out one by one, would tell each other's response. So
rows are collapsed to distinct ones, of frequency f and mean response; a row of weight 2 is two rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.execution.chunked import RowData
from skewridge.response.distinct import distinct_rows
from skewridge.response.groups import apart
from skewridge.response.sampling import member_means, member_sums


@dataclass(frozen=True)
class DistinctRows:
    """Rows with equal x collapsed to one; see :func:`collapse_rows`.

    Distinct rows come in the order of a keyed hash of x: it depends on the rows' values alone, and
    the first n of them, for any n, are a random sample.

    Attributes
    ----------
    rows : (n,) array, where in the data each distinct row is first found
    member : (N,) array, which distinct row every row of the data is
    frequencies : (n,) array, the rows' weights added up
    Y : (n, p) array, the weighted means of the responses
    within : (p,) array, sum of w_i (y_i - ybar)^2: the part of squared errors that no fit changes
    weights : (N,) array
    groups : (n,) array, which distinct rows are left out together; None: every one on its own
    """

    rows: IntArray
    member: IntArray
    frequencies: FloatArray
    Y: FloatArray
    within: FloatArray
    weights: FloatArray
    groups: IntArray | None = None

    def __len__(self) -> int:
        """The number of distinct rows."""
        return len(self.rows)

    @property
    def draws(self) -> IntArray:
        """The draw that every row of the data belongs to, (N,): its group, or its distinct row."""
        return self.member if self.groups is None else self.groups[self.member]

    def row_errors(self, errors: FloatArray, Y: FloatArray) -> FloatArray:
        """Every row's own error e_g + y_i - ybar_g, (N, p), from those of distinct rows, (n, p).

        For left-out errors this is exactly the error when all copies are left out together.
        """
        return np.asarray(errors[self.member] + (Y - self.Y[self.member]))

    def means_of_others(self, Y: FloatArray) -> FloatArray:
        """The mean of all rows without one occurrence of each, (N, p); nan where there is no other."""
        total, mean = float(self.weights.sum()), np.average(Y, axis=0, weights=self.weights)
        return np.asarray(mean - (Y - mean) / (total - 1.0 if total > 1.0 else np.nan))

    def totals(self, values: FloatArray) -> FloatArray:
        """Sum of w_i values_i over every distinct row's copies, (n,): loss weights, for scores."""
        return member_sums(self.member, self.weights * values)


def collapse_rows(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    seed: int,
    *,
    groups: IntArray | None = None,
) -> DistinctRows:
    """Collapse rows with equal x; Y is (N, p), and weights are positive frequencies, (N,).

    Rows of different groups (labels, (N,), of :class:`~skewridge.response.groups.RowGroups`) stay apart.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[1.0], [2.0], [1.0]]), np.array([[3.0], [4.0], [6.0]])
    >>> found = collapse_rows(X, Y, np.array([1.0, 1.0, 2.0]), seed=0)
    >>> sorted(zip(X[found.rows, 0].tolist(), found.frequencies.tolist(), found.Y[:, 0].tolist()))
    [(1.0, 3.0, 5.0), (2.0, 1.0, 4.0)]
    >>> found.within
    array([6.])
    """
    rows, _, member = distinct_rows([X], weights, seed, groups=groups)
    rows, member = rows.astype(np.int64), member.astype(np.int64)
    frequencies = member_sums(member, weights)
    means = member_means(rows, member, Y, weights)
    spread = np.sort(weights[:, None] * (Y - means[member]) ** 2, axis=0)
    return DistinctRows(
        rows=rows,
        member=member,
        frequencies=frequencies,
        Y=means,
        within=spread.sum(axis=0),
        weights=weights,
        groups=None if groups is None else apart(groups[rows]),
    )
