"""The values of a column as texts: which there are, and how many rows have each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

SHOWN = 5  # values that a message lists


def texts_of(values: Any) -> tuple[list[str], Any]:
    """The different values as text, and every row's place among them; -1 where it is missing."""
    import pandas as pd

    places, different = pd.factorize(values)
    return [as_text(value) for value in different], places


def levels_of(values: Any) -> tuple[list[str], list[int]]:
    """The different texts and how many rows have each."""
    texts, places = texts_of(values)
    counts = np.bincount(places[places >= 0], minlength=len(texts))
    total: dict[str, int] = {}
    for text, count in zip(texts, counts.tolist(), strict=True):
        total[text] = total.get(text, 0) + count
    return list(total), list(total.values())


def as_text(value: Any) -> str:
    """Text is itself; a whole number is its digits in whatever type a file has it.

    Examples
    --------
    >>> as_text(3.0), as_text(3), as_text("3.0")
    ('3', '3', '3.0')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def shown(texts: Sequence[str]) -> str:
    """The first few texts in quotes, for a message."""
    more = ", ..." if len(texts) > SHOWN else ""
    return ", ".join(repr(text[:40]) for text in texts[:SHOWN]) + more
