"""Columns of a table with values far from all others, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.features.forms import FAR, reach

MOST_NAMED = 10


@dataclass(frozen=True)
class HeavyColumn:
    """A column whose farthest value is ``reach`` times as far from the median as is usual (IQR / 1.349)."""

    name: str
    reach: float


def heavy_columns(X: Any, names: Sequence[str] | None = None) -> tuple[HeavyColumn, ...]:
    """Return the columns of a table, array or data frame, with heavy tails, the farthest first; names replace its own.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[7, 1] = 1e6
    >>> [column.name for column in heavy_columns(X)]
    ['x1']
    """
    return named_heavy(_numbers(X, names))


def named_heavy(columns: Iterable[tuple[str, FloatArray]]) -> tuple[HeavyColumn, ...]:
    """Return those of named columns, pairs of a name and values, that have heavy tails, the farthest first."""
    found = [HeavyColumn(name, reach(values)) for name, values in columns]
    heavy = [column for column in found if column.reach > FAR]
    return tuple(sorted(heavy, key=lambda column: -column.reach))


def about_heavy(columns: Sequence[HeavyColumn]) -> Iterator[str]:
    """Yield a sentence about columns with heavy tails, if there are any."""
    if not columns:
        return
    named = ", ".join(f"{column.name} ({column.reach:,.0f} times)" for column in columns[:MOST_NAMED])
    more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
    yield (
        "Columns with values many times as far from the median as is usual (by the interquartile range): "
        f"{named}{more}. SkewRidge, AdaptiveKernelRidge and LocalKernelRidge see them clipped and by rank; for other "
        "estimators take logarithms or ranks first. Correct values that are wrong."
    )


def _numbers(X: Any, names: Sequence[str] | None) -> Iterator[tuple[str, FloatArray]]:
    """Yield the names and values of columns of numbers; a column of anything else is passed over."""
    columns = _columns(X)
    names = [name for name, _ in columns] if names is None else names
    for name, (_, values) in zip(names, columns, strict=True):
        if values.ndim == 1 and values.dtype.kind in "iuf":
            yield name, values.astype(np.float64)


def _columns(X: Any) -> list[tuple[str, Any]]:
    """The columns of a data frame, or of an array of two dimensions, by name or by number."""
    if hasattr(X, "columns"):
        return [(str(name), np.asarray(X[name])) for name in X.columns]
    table = np.asarray(X)
    return [(f"x{f}", column) for f, column in enumerate(table.T)] if table.ndim == 2 else []
