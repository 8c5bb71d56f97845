"""The names of rows in messages: their places, unless whoever has the rows knows better names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NAMING: ContextVar[Callable[[int], str]] = ContextVar("_NAMING", default=str)


@contextmanager
def rows_named(name: Callable[[int], str]) -> Iterator[None]:
    """Have messages name rows so, by their places in the rows of a fit.

    Examples
    --------
    >>> with rows_named(lambda place: f"{place + 1} of rows.csv"):
    ...     row_name(6)
    '7 of rows.csv'
    >>> row_name(6)
    '6'
    """
    before = _NAMING.set(name)
    try:
        yield
    finally:
        _NAMING.reset(before)


def row_name(place: int) -> str:
    """The name of a row for people."""
    return _NAMING.get()(int(place))
