"""Columns of cells that have types of their own, as JSON and Excel have them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

LARGEST = 1 << 63  # whole numbers beyond become numbers in double precision


def column_of(values: Sequence[Any]) -> Any:
    """A column of pyarrow: numbers, truth values or times where all values are such, else texts; None is a gap.

    Examples
    --------
    >>> column_of([1, None, 2.5]).to_pylist(), column_of([1, "unknown"]).to_pylist()
    ([1.0, None, 2.5], ['1', 'unknown'])
    """
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(value is None or abs(value) < LARGEST for value in values):
        return pa.array(values, pa.int64())
    if kinds and kinds <= {int, float}:
        return pa.array([None if value is None else _as_float(value) for value in values], from_pandas=True)
    if kinds == {bool} or kinds == {timedelta}:
        return pa.array(values)
    if kinds and kinds <= {datetime, date}:
        return pa.array([_as_datetime(value) for value in values], pa.timestamp("us"))
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def is_numeric(column: Any) -> bool:
    """Whether a column holds numbers or truth values, or nothing."""
    import pyarrow.types as kinds

    kind, is_empty = column.type, column.null_count == len(column)
    return is_empty or kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)


def as_numbers(column: Any) -> Any:
    """A column of numbers in double precision."""
    import pyarrow as pa

    return column.cast(pa.float64(), safe=False)


def _as_datetime(value: date | None) -> datetime | None:
    return value if value is None or isinstance(value, datetime) else datetime.combine(value, time())


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # whole numbers of JSON may have any length
        return math.inf


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
