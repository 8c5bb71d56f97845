"""Rows that belong together: groups that are left out as a whole, and blocks of rows that have an order.

Rows of one patient, site or series share what no column tells, and a row is predicted well by its
mates. Where new rows come from other groups, or later, errors of rows left out one by one say
nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_same_order

N_BLOCKS = 10  # of rows in an order; those of the later half are predicted by what lies before them
ROUNDING = 1e-12  # of shares of all rows
ALONE = -1  # the label of rows that are groups of their own


@dataclass(frozen=True)
class RowGroups:
    """Which rows are left out together.

    labels (N,), numbers from 0, -1 where a row is a group of its own; of rows in an order their blocks, numbered along
    it, of which ``first_ahead`` is the first that is predicted by what lies before it (None: no order).
    """

    labels: IntArray
    first_ahead: int | None = None

    @property
    def n_draws(self) -> int:
        """How many draws the rows are: groups, and rows on their own; 0 of an order, whose blocks are few."""
        return 0 if self.first_ahead is not None else len(np.unique(apart(self.labels)))

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
        folds = assign_groups(apart(self.labels), values, n_folds, weights)
        for fold in range(int(folds.max()) + 1):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


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
    several = (counts > 1) | (np.bincount(own, weights) > 1.0)
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
    values, own = np.unique(ranks, return_inverse=True)
    if len(values) < 2:
        raise ValueError(
            "order must hold at least two values, since later rows are predicted by earlier ones; got one "
            f"for all {len(ranks):,} rows. Leave `order` out, or give the rows' times or places."
        )
    totals = np.bincount(own, weights)
    before = (np.cumsum(totals) - totals) / totals.sum() + ROUNDING
    blocks, first, labels = np.unique(np.floor(N_BLOCKS * before), return_index=True, return_inverse=True)
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


def assign_groups(
    groups: IntArray, values: npt.NDArray[Any], n_folds: int, weights: FloatArray | None = None
) -> IntArray:
    """Assign whole groups to folds of about equal size, which share values, (n,), out; returns folds (n,).

    Large groups go first, each to the fold with the fewest rows; of equally large ones those with
    lower mean values. Fewer groups than folds leave folds out.

    Examples
    --------
    >>> import numpy as np
    >>> assign_groups(np.array([4, 4, 7, 9, 9, 9]), np.zeros(6), 2).tolist()
    [1, 1, 1, 0, 0, 0]
    """
    _, first, own = np.unique(groups, return_index=True, return_inverse=True)
    counts = np.bincount(own, weights).astype(np.float64)
    means = np.bincount(own, values if weights is None else values * weights) / counts
    fold_of = np.empty(len(counts), dtype=np.int64)
    filled = [(0.0, fold) for fold in range(n_folds)]
    heapify(filled)
    for group in np.lexsort((first, means, -counts)).tolist():
        size, fold = filled[0]
        fold_of[group] = fold
        heapreplace(filled, (size + float(counts[group]), fold))
    return fold_of[own]


# Labels as users give them


def coded_labels(name: str, X: Any, values: Any, n_rows: int, sortable: bool = False) -> IntArray:
    """Numbers of the labels, (N,): by size where they have an order, else as they come.

    ``name``, "groups" or "order", is for messages; X are the rows as they were given, whose index labels must not
    contradict; values are an array, series, one-column frame or list of one label a row, which must have an order where
    they are ``sortable``: numbers, times, or texts that are such.

    Examples
    --------
    >>> coded_labels("order", None, ["2020-01-31", "2019-12-01", "2020-01-31"], 3, sortable=True).tolist()
    [1, 0, 1]
    """
    check_same_order(X, values, ("X", name))
    labels = _as_list(name, values)
    if len(labels) != n_rows:
        raise ValueError(f"{name} must have one value a row: expected {n_rows}, got {len(labels)}.")
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"{name} must have a value for every row; got none for {len(missing)}, the first of them row "
            f"{missing[0]}. Fill them, or drop these rows."
        )
    try:
        kinds = list(dict.fromkeys(labels))
    except TypeError:
        raise TypeError(f"{name} must hold hashable labels; got {type(labels[0]).__name__}.") from None
    sizes = _sizes(kinds) if sortable else kinds
    try:
        ranks = {size: rank for rank, size in enumerate(sorted(dict.fromkeys(sizes)))}
    except TypeError:  # labels of several kinds have no order
        if sortable:
            raise TypeError(f"{name} must hold values that can be sorted, such as numbers or times.") from None
        ranks = {kind: rank for rank, kind in enumerate(kinds)}
    codes = {kind: ranks[size] for kind, size in zip(kinds, sizes, strict=True)}
    return np.array([codes[label] for label in labels], dtype=np.int64)


def _sizes(kinds: list[Any]) -> list[Any]:
    """What distinct values of an order are sorted by: texts by the numbers or times that they are."""
    sizes = kinds
    if all(isinstance(kind, str) for kind in kinds):
        for read in (float, datetime.fromisoformat):
            try:
                sizes = [read(kind) for kind in kinds]
                break
            except ValueError:
                continue
        else:
            raise ValueError(
                f"order must hold numbers or times; got texts such as {kinds[0]!r}, whose alphabetical order need not "
                "be that of time. Turn them into numbers or times first; texts like '2020-01-31' are read as they are."
            )
    unordered = [kind for kind, size in zip(kinds, sizes, strict=True) if _is_missing(size)]
    if unordered:
        raise ValueError(f"order must hold numbers or times; got {unordered[0]!r}, which has no place in an order.")
    return sizes


def _as_list(name: str, values: Any) -> list[Any]:
    """The labels one by one, from arrays, series, one-column frames and lists; ordered categories by place."""
    if hasattr(values, "compute"):
        values = values.compute()
    shape = getattr(values, "shape", None)
    no_column = shape is not None and (len(shape) == 0 or tuple(shape[1:]) not in ((), (1,)))
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__") or no_column:
        got = repr(values) if shape is None else f"shape {shape}"
        raise ValueError(f"{name} must be one-dimensional, with one value a row; got {got}.")
    if shape is not None and len(shape) == 2 and not isinstance(values, np.ndarray):
        values = values.iloc[:, 0] if hasattr(values, "iloc") else values.to_series()
    kind = getattr(values, "dtype", None)
    if getattr(kind, "ordered", False):  # of pandas
        codes = np.asarray(getattr(values, "cat", values).codes, dtype=np.float64)
        values = np.where(codes < 0, np.nan, codes)
    elif type(kind).__name__ == "Enum":  # of polars
        values = values.to_physical()
    if isinstance(values, np.ndarray):
        values = values.reshape(-1)
        return list(values) if values.dtype.kind == "M" else list(values.tolist())
    listed = next((way for way in ("tolist", "to_list", "to_pylist") if hasattr(values, way)), None)
    return list(values) if listed is None else list(getattr(values, listed)())


def _is_missing(label: Any) -> bool:
    """True of None, nan, also of decimals, NaT and pandas.NA."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | Decimal | np.floating | np.datetime64) and bool(label != label)
