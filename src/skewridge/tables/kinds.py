"""What a column holds by nature: numbers, truth values, dates, categories of few or many levels, or nothing of use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from skewridge.tables.dates import find_date_writing, is_ambiguous
from skewridge.tables.texts import levels_of, shown
from skewridge.tables.written_numbers import Writing, find_writing, in_words, is_gap_word

FEWEST = 20  # rows from which a column can seem to number or to name them
DIFFERENT = 0.5  # a larger share of texts that occur in one row only makes them ids or free text
_ID = re.compile(r"(.*[^a-z])?(id|uuid|guid|key)", re.IGNORECASE)
_NATURAL = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("datetime64", "datetime", "date", "period", "time"), "date"),
    **dict.fromkeys(("timedelta64", "timedelta"), "duration"),
    **dict.fromkeys(("string", "mixed", "mixed-integer"), "text"),
    "boolean": "boolean",
    "categorical": "category",
}


@dataclass(frozen=True)
class Nature:
    """What a column is taken for.

    Attributes
    ----------
    kind : one of the kinds of a column
    note : why, where that is not plain
    writing : of numbers stored as text, and the texts that stand for a gap among dates
    dates : how dates are written where they were stored as text
    levels : of a column whose type has an order
    """

    kind: str
    note: str = ""
    writing: Writing | None = None
    dates: str = ""
    levels: tuple[str, ...] | None = None


def natural_kind(name: str, values: Any, most: int = 30) -> Nature:
    """Return what a column holds; it is dropped where it says nothing, refused where it has no meaning as numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> natural_kind("town", pd.Series(["Oslo", "Bergen", "Oslo"])).kind
    'category'
    >>> natural_kind("price", pd.Series(["1,200", "950"])).kind, natural_kind("size", pd.Series([7, 7])).note
    ('number', 'constant: 7')
    """
    from pandas.api.types import infer_dtype

    if values.isna().all():
        return Nature("drop", "no values")
    inferred = infer_dtype(values, skipna=True)
    kind = _NATURAL.get(inferred, "unknown")
    if kind == "text" and inferred != "string" and not _plain(values):
        kind = "unknown"
    if kind == "unknown":
        raise ValueError(
            f"Column {name!r} holds {inferred} values, neither numbers nor text. Convert it, or leave it out: "
            f"kinds={{{name!r}: 'drop'}}."
        )
    constant = _constant(values)
    if constant is not None:
        return Nature("drop", f"constant: {constant[:40]}")
    if kind == "number":
        return _of_numbers(name, values)
    if kind == "text":
        return nature_of_texts(values, most)
    if kind == "category":
        return _of_categories(values, most)
    return Nature(kind)


def nature_of_texts(values: Any, most: int) -> Nature:
    """What a column of texts holds."""
    texts, counted = levels_of(values)
    counts = dict(zip(texts, counted, strict=True))
    if {text.strip().casefold() for text in texts} <= {"true", "false"}:
        return Nature("boolean")
    dates = find_date_writing(counts)
    if dates is not None:
        return nature_of_dates(counts, dates)
    writing = find_writing(counts)
    if writing is not None:
        return Nature("number", in_words(writing, counts), writing)
    return by_levels(counts, most)


def nature_of_dates(counts: Mapping[str, int], written: str) -> Nature:
    """A column of dates stored as text."""
    doubt = " (day and month could be exchanged)" if is_ambiguous(counts) else ""
    return Nature("date", f"read as {written}{doubt}", dates=written)


def by_levels(counts: Mapping[str, int], most: int) -> Nature:
    """A category of few levels, one of many, or texts of which nearly all differ."""
    n_rows, n_levels = sum(counts.values()), len(counts)
    all_differ = n_levels == n_rows and n_rows >= FEWEST
    if all_differ or (n_levels > most and n_levels > DIFFERENT * n_rows):
        first = shown(list(counts)[:1])
        return Nature("drop", f"{n_levels:,} of {n_rows:,} texts differ: ids or free text, as {first}")
    return Nature("category" if n_levels <= most else "means")


def _of_categories(values: Any, most: int) -> Nature:
    """A column whose type says that it is a category: with the order of its type, if that has one."""
    if values.dtype.ordered:
        there = {str(level) for level in levels_of(values)[0]}
        return Nature("ordinal", levels=tuple(t for t in levels_of(values.dtype.categories)[0] if t in there))
    return Nature("category" if len(levels_of(values)[0]) <= most else "means")


def _of_numbers(name: str, values: Any) -> Nature:
    """Numbers, or whole ones that number the rows or name them."""
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(numbers) < FEWEST or np.isnan(numbers).any():
        return Nature("number")
    if numbers[0] in (0.0, 1.0) and (np.diff(numbers) == 1.0).all():
        return Nature("drop", "numbers the rows")
    whole = (numbers == np.floor(numbers)).all()
    if whole and _ID.fullmatch(name) and len(np.unique(numbers)) == len(numbers):
        return Nature("drop", "an id: every row has its own")
    return Nature("number")


def _constant(values: Any) -> str | None:
    """The only value of a column, or None where there are several, or gaps."""
    if values.isna().any() or values.iloc[0] != values.iloc[-1]:
        return None
    texts, _ = levels_of(values)
    return texts[0] if len(texts) == 1 else None


def _plain(values: Any) -> bool:
    """Whether values of mixed types are texts, numbers and truth values only."""
    return all(issubclass(kind, str | Number | np.generic) for kind in values.dropna().map(type).unique())


def gap_texts(values: Any, days: Any) -> tuple[str, ...]:
    """The texts among dates that are none, without the usual words for a gap."""
    odd = {str(value) for value in values[np.isnan(days) & values.notna().to_numpy()].unique()}
    return tuple(sorted(text for text in odd if not is_gap_word(text)))
