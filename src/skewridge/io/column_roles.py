"""Which columns of a frame or an array are the features, and which the response."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any


def names_columns(target: Any) -> bool:
    """Whether a target names columns; otherwise it is the response itself, or there is none."""
    first = target[0] if isinstance(target, list | tuple) and len(target) else target
    return isinstance(first, str | Integral)


def pick(
    known: Sequence[Any], target: Any, features: Sequence[Any] | None, index: Collection[Any] = ()
) -> tuple[list[Any], list[Any]]:
    """The columns of the features, all but targets and index where none are named, and those of the response.

    Examples
    --------
    >>> pick(["a", "b", "y"], "y", None)
    (['a', 'b'], ['y'])
    """
    targets = [] if not names_columns(target) else list(target) if isinstance(target, list | tuple) else [target]
    columns = [name for name in known if name not in (*targets, *index)] if features is None else list(features)
    missing = [name for name in [*targets, *columns] if name not in known]
    if missing or not columns:
        raise ValueError(f"The source has the columns {list(known)}; got {missing or 'none for features'}.")
    return columns, targets


def frame_parts(frame: Any, target: Any, features: Sequence[Any] | None) -> tuple[Any, Any]:
    """Features and response of a frame, be it lazy."""
    columns, targets = pick(list(frame.columns), target, features)
    if not targets:
        return frame[columns], target
    return frame[columns], frame[targets if isinstance(target, list | tuple) else target]


def array_parts(rows: Any, target: Any, features: Sequence[Any] | None) -> tuple[Any, Any]:
    """Features and response of an array, be it lazy, by the places of columns; -1 is the last."""
    if rows.ndim != 2:
        raise ValueError(
            "source must be a table: an array of two dimensions, a data frame, a Dask collection, or the name of "
            f"files; got {type(rows).__name__} of {rows.ndim} dimensions."
        )
    d = rows.shape[1]
    if names_columns(target):
        target = [_place(i, d) for i in target] if isinstance(target, list | tuple) else _place(target, d)
    columns, targets = pick(range(d), target, None if features is None else [_place(i, d) for i in features])
    if not targets:
        return rows if len(columns) == d else rows[:, columns], target
    return rows[:, columns], rows[:, targets if isinstance(target, list) else target]


def _place(column: Any, n_columns: int) -> Any:
    """A column counted from the end counted from the start; what is no place is refused later, by name."""
    place = int(column) if isinstance(column, Integral) else n_columns
    return place % n_columns if -n_columns <= place < n_columns else column
