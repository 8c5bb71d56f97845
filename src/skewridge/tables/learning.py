"""What is learned of a column: levels, the code of a gap, and scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.features.scaling import standard_scaling
from skewridge.tables.columns import UNSEEN, Column, codes_of, refuse_values
from skewridge.tables.dates import WRITINGS, DateParts, as_days, find_date_writing, varying_parts
from skewridge.tables.kinds import Nature, by_levels, gap_texts, natural_kind, nature_of_dates
from skewridge.tables.texts import levels_of, shown
from skewridge.tables.written_numbers import Writing, find_writing, in_words

ANY_CATEGORY = "any category"  # dummies or means, by the number of levels


@dataclass(frozen=True)
class Wanted:
    """What the user says about a column: its kind or None, and the levels of an order or None."""

    kind: str | None = None
    levels: Sequence[str] | None = None


def learn_column(name: str, values: Any, wanted: Wanted | None = None, most: int = 30) -> Column:
    """Learn a pandas series; its kind is the one that its values have by nature unless given.

    The means of a column of many levels are learned afterwards, by :mod:`skewridge.tables.many_levels`.

    Examples
    --------
    >>> import pandas as pd
    >>> learn_column("size", pd.Series(["S", "L", "S"]), Wanted("ordinal", ["S", "M", "L"])).levels
    ('S', 'M', 'L')
    >>> learn_column("town", pd.Series(["Oslo", "Bergen", "Oslo"])).features
    ['town=Oslo', 'town=Bergen']
    """
    wanted = wanted or Wanted()
    nature = natural_kind(name, values, most) if wanted.kind is None else _asked_for(name, values, wanted, most)
    n_gaps = int(values.isna().sum())
    column = Column(name, nature.kind, n_gaps=n_gaps, writing=nature.writing, note=nature.note)
    if nature.kind in ("number", "boolean", "duration"):
        return _numeric(column, codes_of(column, values))
    if nature.kind == "date":
        return _dated(column, values, nature)
    if nature.kind == "drop":
        return column
    return _listed(column, values, nature.levels if wanted.levels is None else wanted.levels)


def _asked_for(name: str, values: Any, wanted: Wanted, most: int) -> Nature:
    """What a column of the kind that the user gave is, or raise where it cannot be."""
    kind = str(wanted.kind)
    if kind != "drop" and values.isna().all():
        raise ValueError(f"Column {name!r} has no values at all, and cannot be a {kind}. Leave it out.")
    counts = {} if kind not in ("number", "date", ANY_CATEGORY) else dict(zip(*levels_of(values), strict=True))
    if kind == ANY_CATEGORY:
        found = by_levels(counts, most)
        return Nature("means") if found.kind == "drop" and len(counts) > most else Nature("category")
    if kind == "number" and values.dtype.kind not in "iufb":
        writing = find_writing(counts)
        return Nature(kind) if writing is None else Nature(kind, in_words(writing, counts), writing)
    if kind == "date" and all(isinstance(value, str) for value in values.dropna()):
        return nature_of_dates(counts, find_date_writing(counts) or "words")
    return Nature(kind)


def _numeric(column: Column, codes: FloatArray) -> Column:
    """Learn what stands for missing codes and, of numbers and ordered levels, the scale."""
    n_gaps, known = int(np.isnan(codes).sum()), codes[~np.isnan(codes)]
    if not len(known):
        raise ValueError(f"Column {column.name!r} has no values at all. Leave it out.")
    if column.kind == "boolean":
        return replace(column, fill=float(known.mean() > 0.5), n_gaps=n_gaps)
    scaling = standard_scaling(known[:, None], np.ones(len(known)))
    shift, scale = float(scaling.shift[0]), float(scaling.scale[0])
    return replace(column, fill=float(np.median(known)), shift=shift, scale=scale, n_gaps=n_gaps)


def _dated(column: Column, values: Any, nature: Nature) -> Column:
    """Learn which parts of a date vary; a few texts that are no dates stand for gaps."""
    days = as_days(values, nature.dates)
    if np.isnan(days).all():
        refuse_values(column.name, WRITINGS[nature.dates], values, np.flatnonzero(values.notna()))
    odd = gap_texts(values, days)
    note = ", ".join([*([nature.note] if nature.note else []), *([f"gaps: {shown(odd)}"] if odd else [])])
    column = _numeric(column, days)
    return replace(
        column,
        dates=DateParts(varying_parts(days[~np.isnan(days)]), nature.dates),
        writing=Writing(gaps=odd) if odd else None,
        note=note,
    )


def _listed(column: Column, values: Any, order: Sequence[str] | None) -> Column:
    """Learn the levels of a category, or of an order."""
    texts, counts = levels_of(values)
    if column.kind == "ordinal":
        column = replace(column, levels=tuple(sorted(texts) if order is None else order))
        _check_ordered(column, texts)
        return _numeric(column, codes_of(column, values))
    by_count = sorted(range(len(texts)), key=lambda i: (-counts[i], texts[i]))
    fill = UNSEEN if column.n_gaps or column.kind == "means" else 0.0
    return replace(column, levels=tuple(texts[i] for i in by_count), fill=fill)


def _check_ordered(column: Column, texts: Sequence[str]) -> None:
    """Refuse an order that leaves out texts that are there, or names one twice."""
    left_out = [text for text in texts if text not in column.levels]
    if left_out or len(set(column.levels)) < len(column.levels):
        raise ValueError(
            f"The order of column {column.name!r} must name all of its texts once; got {shown(column.levels)}, "
            f"without {shown(left_out)}."
        )
