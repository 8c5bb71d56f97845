"""Labels of groups and places in an order, as users give them, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from skewridge._typing import IntArray
from skewridge._validation import check_same_order


def coded_labels(name: str, X: Any, values: Any, n_rows: int, sortable: bool = False) -> IntArray:
    """Numbers of the labels, (N,): by size where they have an order, else as they come.

    Parameters
    ----------
    name : "groups" or "order", for messages
    X : the rows as they were given, whose index labels must not contradict
    values : array, series, one-column frame or list of one label a row
    sortable : whether labels must have an order: numbers, times, or texts that are such

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
    try:
        codes = _ranks(kinds) if sortable else {label: code for code, label in enumerate(sorted(kinds))}
    except TypeError:  # labels of several kinds have no order
        if sortable:
            raise TypeError(f"{name} must hold values that can be sorted, such as numbers or times.") from None
        codes = {label: code for code, label in enumerate(kinds)}
    return np.array([codes[label] for label in labels], dtype=np.int64)


def _ranks(kinds: list[Any]) -> dict[Any, int]:
    """The places of distinct values in their order: texts by the numbers or times that they are."""
    sizes = kinds
    if all(isinstance(kind, str) for kind in kinds):
        sizes = _all_read(float, kinds) or _all_read(datetime.fromisoformat, kinds) or []
        if not sizes:
            raise ValueError(
                f"order must hold numbers or times; got texts such as {kinds[0]!r}, whose alphabetical order need not "
                "be that of time. Turn them into numbers or times first; texts like '2020-01-31' are read as they are."
            )
    unordered = [kind for kind, size in zip(kinds, sizes, strict=True) if _is_missing(size)]
    if unordered:
        raise ValueError(f"order must hold numbers or times; got {unordered[0]!r}, which has no place in an order.")
    ranks = {size: rank for rank, size in enumerate(sorted(set(sizes)))}
    return {kind: ranks[size] for kind, size in zip(kinds, sizes, strict=True)}


def _all_read(read: Callable[[str], Any], texts: list[str]) -> list[Any] | None:
    """All texts as they are read; None where some are something else."""
    try:
        return [read(text) for text in texts]
    except ValueError:
        return None


def _as_list(name: str, values: Any) -> list[Any]:
    """The labels one by one, from arrays, series, one-column frames and lists."""
    if hasattr(values, "compute"):
        values = values.compute()
    shape = getattr(values, "shape", None)
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__") or _is_wide(shape):
        got = repr(values) if shape is None else f"shape {shape}"
        raise ValueError(f"{name} must be one-dimensional, with one value a row; got {got}.")
    if shape is not None and len(shape) == 2 and not isinstance(values, np.ndarray):
        values = values.iloc[:, 0] if hasattr(values, "iloc") else values.to_series()
    values = _by_category(values)
    if isinstance(values, np.ndarray):
        return list(values.reshape(-1).tolist() if values.dtype.kind != "M" else values.reshape(-1))
    listed = next((way for way in ("tolist", "to_list", "to_pylist") if hasattr(values, way)), None)
    return list(values) if listed is None else list(getattr(values, listed)())


def _is_wide(shape: Any) -> bool:
    """True unless a shape is unknown, or that of one value a row."""
    return shape is not None and (len(shape) == 0 or tuple(shape[1:]) not in ((), (1,)))


def _by_category(values: Any) -> Any:
    """Categories that have an order as their places in it; anything else as it is."""
    kind = getattr(values, "dtype", None)
    if getattr(kind, "ordered", False):  # of pandas
        codes = np.asarray(getattr(values, "cat", values).codes, dtype=np.float64)
        return np.where(codes < 0, np.nan, codes)
    return values.to_physical() if type(kind).__name__ == "Enum" else values  # of polars


def _is_missing(label: Any) -> bool:
    """True of None, nan, also of decimals, NaT and pandas.NA."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | Decimal | np.floating | np.datetime64) and bool(label != label)
