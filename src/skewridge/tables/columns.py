"""Columns of a table as numbers: what a column is taken for, what is learned of it, and what its values become.

Values are first coded: a number, 0 or 1, days, or the place of a level; nan where there is a gap. Codes then become one
or several numbers, the column's features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from numbers import Number
from typing import Any

import numpy as np

from skewridge._messages import listed
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge._validation import check_magnitude, check_plain, is_lazy
from skewridge.features.scaling import standard_scaling
from skewridge.tables.dates import (
    DATE_FORMATS,
    DAY,
    DateParts,
    as_days,
    date_features,
    find_date_format,
    is_ambiguous,
    varying_parts,
)
from skewridge.tables.level_means import LevelMeans, mean_features
from skewridge.tables.written_numbers import NumberFormat, find_number_format, is_gap, read_number

KINDS = ("number", "boolean", "category", "ordinal", "date", "duration", "means", "drop")
LISTED = ("category", "ordinal", "means")  # kinds that have levels
ANY_CATEGORY = "any category"  # dummies or means, by the number of levels
UNSEEN = -1.0  # the code of a level that was not there when the column was learned
FEWEST = 20  # rows from which a column can seem to number or to name them
DIFFERENT = 0.5  # a larger share of texts that occur in one row only makes them ids or free text
LIKE = 0.7  # of difflib's ratio: below it a guess misleads more often than it helps
_ID = re.compile(r"(.*[^a-z])?(id|uuid|guid|key)", re.IGNORECASE)
_INFERRED = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("datetime64", "datetime", "date", "period", "time"), "date"),
    **dict.fromkeys(("timedelta64", "timedelta"), "duration"),
    **dict.fromkeys(("string", "mixed", "mixed-integer"), "text"),
    "boolean": "boolean",
    "categorical": "category",
}  # kinds by the types of values


@dataclass(frozen=True)
class Column:
    """The facts about a column that an encoder replays."""

    name: str
    kind: str  # one of KINDS; "means" are those of the response, by level
    levels: tuple[str, ...] = ()  # the texts of a category, most frequent first, or of an ordinal, lowest first
    fill: float = 0.0  # the code that stands for a gap: the median, the most frequent level, or -1 for no level
    shift: float = 0.0  # what is subtracted from a code
    scale: float = 1.0  # and what that is multiplied by
    gap_flag: bool = False  # whether a further feature tells gaps, 1, from values, 0
    n_gaps: int = 0  # rows without a value when the column was learned
    writing: NumberFormat | None = None  # of numbers stored as text, and the texts that are gaps among dates
    dates: DateParts | None = None  # what becomes of a date
    means: LevelMeans | None = None  # what levels become in a column of many
    note: str = ""  # what else was noticed, for people

    @property
    def features(self) -> list[str]:
        """The names of the numbers that it becomes."""
        parts = self.means or self.dates
        if self.kind == "category":
            own = [f"{self.name}={level}" for level in self.levels]
        elif parts is not None:
            own = [f"{self.name}: {part}" for part in parts.names]
        else:
            own = [] if self.kind == "drop" else [self.name]
        return [*own, f"{self.name}: missing"] if self.gap_flag else own


# Tables


def as_frame(X: Any) -> Any:
    """Return a pandas data frame whose columns have different names that are text, or raise."""
    if is_lazy(X):
        raise TypeError("A table in memory is needed; got one of Dask. Call compute() first.")
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not (hasattr(X, "columns") and hasattr(X, "iloc")):
        raise TypeError(f"A data frame is needed, whose columns have names; got {type(X).__name__}.")
    odd = [name for name in X.columns if not isinstance(name, str)]
    if odd:
        raise TypeError(f"Column names must be text; got {odd[0]!r}. Rename the columns.")
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"Two columns are called {twice!r}. Rename one of them.")
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"The table has {X.shape[0]} rows and {X.shape[1]} columns: at least one of each is needed.")
    return X


def check_columns(names: Iterable[str], columns: Any) -> None:
    """Refuse names that are not among the columns, with those that were probably meant."""
    missing = [name for name in names if name not in columns]
    if missing:
        there = listed(map(repr, columns), len(columns), ", ...", most=20)
        by_letters = {_letters(column): column for column in reversed(list(columns))}
        near = []  # but for case, spaces, signs or a slip
        for name in missing:
            for match in get_close_matches(_letters(name), by_letters, n=1, cutoff=LIKE):
                near.append(repr(by_letters[match]) + (f" for {name!r}" if len(missing) > 1 else ""))
        meant = f" Did you mean {', '.join(near)}?" if near else ""
        raise ValueError(f"The table has no column {', '.join(map(repr, missing))}; it has {there}.{meant}")


def _letters(name: str) -> str:
    """A name without case, spaces and signs; the whole name where there is nothing else in it."""
    return "".join(filter(str.isalnum, name.casefold())) or name


def count_missing(X: Any) -> tuple[int, str, str]:
    """How many rows lack a value, a summary of it, and how many every column lacks, for columns that lack any."""
    lacking = X.isna()
    counts, n_rows = lacking.sum(), int(lacking.any(axis=1).sum())
    each = ", ".join(f"{name!r}: {count}" for name, count in counts[counts > 0].items())
    return n_rows, f"{n_rows} of {len(X)} rows have missing values", each


def refuse_missing(X: Any, remedy: str = "Drop these rows, or take missing='impute'.") -> None:
    """Raise where values are missing, with a count."""
    n_rows, summary, each = count_missing(X)
    if n_rows:
        raise ValueError(f"{summary} ({each}). {remedy}")


def row_label(rows: Any, place: int, first: int = 1) -> str:
    """The number of a row for people: as its file counts it where the index knows that, else its place."""
    names = list(getattr(getattr(rows, "index", None), "names", ()))
    if names == ["file", "row"]:
        file, row = rows.index[place]
        return f"{row} of {file}"
    return str(rows.index[place] if names == ["row"] else place + first)


def refuse_values(name: str, expected: str, values: Any, odd: IntArray) -> None:
    """Raise with the first values that are not what is expected, if there are any; ``odd`` are their places."""
    if len(odd):
        rows = (f"{str(values.iloc[i])[:40]!r} in row {row_label(values, int(i))}" for i in odd)
        raise ValueError(
            f"Column {name!r} should hold {expected}; {len(odd)} of {len(values)} values are none, the first of them "
            f"{listed(rows, len(odd), ', ...')}. Correct them, or leave the column out."
        )


# Texts


def texts_of(values: Any) -> tuple[list[str], Any]:
    """The different values as text, and every row's place among them, (n,); -1 where it is missing.

    A whole number is its digits in whatever type a file has it.
    """
    import pandas as pd

    places, different = pd.factorize(values)
    floats = float | np.floating
    return [str(int(v)) if isinstance(v, floats) and float(v).is_integer() else str(v) for v in different], places


def level_counts(values: Any) -> dict[str, int]:
    """The different texts and how many rows have each."""
    texts, places = texts_of(values)
    counts = np.bincount(places[places >= 0], minlength=len(texts))
    total: dict[str, int] = {}
    for text, count in zip(texts, counts.tolist(), strict=True):
        total[text] = total.get(text, 0) + count
    return total


def shown(texts: Sequence[str]) -> str:
    """The first few texts in quotes, for a message."""
    return listed((repr(text[:40]) for text in texts), len(texts), ", ...")


# What a column is taken for: columns of which nothing else is known


def infer_column(name: str, values: Any, max_categories: int = 30) -> Column:
    """What a pandas series holds; it is dropped where it says nothing, refused where it has no meaning as numbers."""
    from pandas.api.types import infer_dtype

    if values.isna().all():
        return Column(name, "drop", note="no values")
    inferred = infer_dtype(values, skipna=True)
    kind = _INFERRED.get(inferred, "unknown")
    if kind == "text" and inferred != "string":
        types = values.dropna().map(type).unique()
        kind = kind if all(issubclass(own, str | Number | np.generic) for own in types) else "unknown"
    if kind == "unknown":
        raise ValueError(
            f"Column {name!r} holds {inferred} values, neither numbers nor text. Convert it, or leave it out: "
            f"kinds={{{name!r}: 'drop'}}."
        )
    if not values.isna().any() and values.iloc[0] == values.iloc[-1]:
        texts, _ = texts_of(values)
        if len(set(texts)) == 1:
            return Column(name, "drop", note=f"constant: {texts[0][:40]}")
    if kind == "number":
        note = _id_note(name, values.to_numpy(dtype=np.float64, na_value=np.nan))
        return Column(name, "drop" if note else "number", note=note)
    if kind == "text":
        return _column_of_texts(name, level_counts(values), max_categories)
    if kind == "category":
        counts = level_counts(values)
        if values.dtype.ordered:
            order = [text for text in level_counts(values.dtype.categories) if text in counts]
            return Column(name, "ordinal", levels=tuple(order))
        return Column(name, "category" if len(counts) <= max_categories else "means")
    return Column(name, kind, dates=DateParts() if kind == "date" else None)


def _id_note(name: str, numbers: FloatArray) -> str:
    """Why numbers only number the rows or name them; nothing where they do not."""
    if len(numbers) < FEWEST or np.isnan(numbers).any():
        return ""
    if numbers[0] in (0.0, 1.0) and (np.diff(numbers) == 1.0).all():
        return "numbers the rows"
    whole = (numbers == np.floor(numbers)).all()
    different = whole and _ID.fullmatch(name) and len(np.unique(numbers)) == len(numbers)
    return "an id: every row has its own" if different else ""


def _column_of_texts(name: str, counts: Mapping[str, int], max_categories: int) -> Column:
    """Truth values, dates, numbers, a category of few levels, one of many, or texts of which nearly all differ."""
    if {text.strip().casefold() for text in counts} <= {"true", "false"}:
        return Column(name, "boolean")
    date_format = find_date_format(counts)
    if date_format is not None:
        return _written_dates(name, counts, date_format)
    numbers = find_number_format(counts)
    if numbers is not None:
        return Column(name, "number", writing=numbers, note=numbers.describe(counts))
    n_rows, n_levels = sum(counts.values()), len(counts)
    if n_levels == n_rows >= FEWEST or n_levels > max(max_categories, DIFFERENT * n_rows):
        note = f"{n_levels:,} of {n_rows:,} texts differ: ids or free text, as {shown(list(counts)[:1])}"
        return Column(name, "drop", note=note)
    return Column(name, "category" if n_levels <= max_categories else "means")


def _written_dates(name: str, counts: Mapping[str, int], written: str) -> Column:
    doubt = " (day and month could be exchanged)" if is_ambiguous(counts) else ""
    return Column(name, "date", dates=DateParts(writing=written), note=f"read as {written}{doubt}")


def _column_of_kind(name: str, values: Any, kind: str, order: Sequence[str] | None, max_categories: int) -> Column:
    """A column of the kind that the user gave, or raise where it cannot be."""
    if kind != "drop" and values.isna().all():
        raise ValueError(f"Column {name!r} has no values at all, and cannot be a {kind}. Leave it out.")
    if kind == ANY_CATEGORY:
        counts = level_counts(values)
        many = len(counts) > max(max_categories, DIFFERENT * sum(counts.values()))
        return Column(name, "means" if many else "category")
    if kind == "number" and values.dtype.kind not in "iufb":
        counts = level_counts(values)
        numbers = find_number_format(counts)
        return Column(name, kind, writing=numbers, note="" if numbers is None else numbers.describe(counts))
    if kind == "date" and all(isinstance(value, str) for value in values.dropna()):
        counts = level_counts(values)
        return _written_dates(name, counts, find_date_format(counts) or "words")
    if kind == "ordinal":
        return Column(name, kind, levels=_order(name, list(level_counts(values)), order))
    return Column(name, kind, dates=DateParts() if kind == "date" else None)


def _order(name: str, texts: Sequence[str], order: Sequence[str] | None) -> tuple[str, ...]:
    """The levels of an ordinal, lowest first: as given, or by the alphabet."""
    levels = tuple(sorted(texts) if order is None else order)
    left_out = [text for text in texts if text not in levels]
    if left_out or len(set(levels)) < len(levels):
        raise ValueError(
            f"The order of column {name!r} must name all of its texts once; got {shown(levels)}, "
            f"without {shown(left_out)}."
        )
    return levels


# What is learned of it


def learn_column(
    name: str, values: Any, kind: str | None = None, order: Sequence[str] | None = None, max_categories: int = 30
) -> Column:
    """Learn a pandas series: levels, the code of a gap, and scales; its kind is inferred unless given.

    ``order`` are the levels of an ordinal. The means of a column of many levels are learned afterwards.
    """
    if kind is None:
        column = infer_column(name, values, max_categories)
    else:
        column = _column_of_kind(name, values, kind, order, max_categories)
    n_missing = int(values.isna().sum())
    if column.kind == "drop":
        return replace(column, n_gaps=n_missing)
    if column.kind in ("category", "means"):
        counts = level_counts(values)
        levels = tuple(sorted(counts, key=lambda text: (-counts[text], text)))
        fill = UNSEEN if n_missing or column.kind == "means" else 0.0
        return replace(column, levels=levels, fill=fill, n_gaps=n_missing)

    if column.dates is None:
        codes, learned = codes_of(column, values), column
    else:
        codes = as_days(values, column.dates.writing)
        learned = _with_gap_texts(column, values, np.isnan(codes))
    known = codes[~np.isnan(codes)]
    if not len(known):
        raise ValueError(f"Column {column.name!r} has no values at all. Leave it out.")
    n_gaps = len(codes) - len(known)  # with texts that stand for gaps
    if column.kind == "boolean":
        return replace(learned, n_gaps=n_gaps, fill=float(known.mean() > 0.5))
    scaling = standard_scaling(known[:, None], np.ones(len(known)))
    return replace(
        learned,
        n_gaps=n_gaps,
        fill=float(np.median(known)),
        shift=float(scaling.shift[0]),
        scale=float(scaling.scale[0]),
        dates=None if column.dates is None else replace(column.dates, parts=varying_parts(known)),
    )


def _with_gap_texts(column: Column, values: Any, unread: BoolArray) -> Column:
    """A column of dates of which the few texts that are none, (n,), stand for gaps."""
    assert column.dates is not None
    if unread.all():
        refuse_values(column.name, DATE_FORMATS[column.dates.writing], values, np.flatnonzero(values.notna()))
    odd = {str(value) for value in values[unread & values.notna().to_numpy()].unique()}
    gaps = tuple(sorted(text for text in odd if not is_gap(text)))
    if not gaps:
        return column
    notes = [column.note, f"gaps: {shown(gaps)}"]
    return replace(column, writing=NumberFormat(gaps=gaps), note=", ".join(filter(None, notes)))


# What its values become


def codes_of(column: Column, values: Any) -> FloatArray:
    """The code of every value, (n,): nan where it is missing, -1 where its level is unknown."""
    if column.kind == "number":
        return _numbers(column, values)
    if column.kind in ("date", "duration"):
        return _durations(column, values) if column.dates is None else _dates(column, values)
    texts, places = texts_of(values)
    if column.kind == "boolean":
        truth = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        words = [text.strip().casefold() for text in texts]
        odd = [text for text, word in zip(texts, words, strict=True) if word not in truth]
        if odd:
            raise ValueError(f"Column {column.name!r} should hold true and false only; got {shown(odd)}. Correct them.")
        codes = [truth[word] for word in words]
    else:
        place_of_level = {level: float(i) for i, level in enumerate(column.levels)}
        codes = [place_of_level.get(text, UNSEEN) for text in texts]
    return np.array([*codes, np.nan])[places]  # missing values are at place -1


def _numbers(column: Column, values: Any) -> FloatArray:
    """The numbers of a column, (n,), or raise with the first values that are none."""
    import pandas as pd

    check_plain(f"Column {column.name!r}", values)
    plain = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    if column.writing is not None and not pd.api.types.is_numeric_dtype(plain):
        places, different = pd.factorize(plain)
        found = [read_number(value, column.writing) for value in different]
        numbers = np.array([*found, np.nan], dtype=np.float64)[places]
        odd = np.array([*(number is None for number in found), False])[places]
    else:
        numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        odd = np.isnan(numbers) & ~values.isna().to_numpy()
    refuse_values(column.name, "numbers", values, np.flatnonzero(odd))
    if np.isinf(numbers).any():
        raise ValueError(
            f"Column {column.name!r} holds {np.isinf(numbers).sum()} infinite numbers. Correct or drop them."
        )
    check_magnitude(f"column {column.name!r}", numbers[~np.isnan(numbers)])
    return numbers


def _durations(column: Column, values: Any) -> FloatArray:
    """Lengths of time in days, (n,), or raise with the first values that are none."""
    import pandas as pd

    lengths = pd.to_timedelta(values, errors="coerce")
    days = (lengths.dt.total_seconds() / DAY).to_numpy(dtype=np.float64)
    refuse_values(column.name, "lengths of time", values, np.flatnonzero(np.isnan(days) & values.notna().to_numpy()))
    return days


def _dates(column: Column, values: Any) -> FloatArray:
    """Days since the first of 1970, (n,), or raise; texts that stood for gaps at fit do so again."""
    assert column.dates is not None
    days = as_days(values, column.dates.writing)
    gaps = column.writing.gaps if column.writing else ()
    unread = np.flatnonzero(np.isnan(days) & values.notna().to_numpy())
    odd = np.array([i for i in unread if not is_gap(values.iloc[i], gaps)], dtype=np.int64)
    refuse_values(column.name, DATE_FORMATS[column.dates.writing], values, odd)
    return days


def features_of(column: Column, codes: FloatArray, fitted: FloatArray | None = None) -> FloatArray:
    """The numbers that a column becomes, (n, len(column.features)), of its codes, (n,).

    ``fitted`` are the cross-fitted means of its rows. A level that is unknown is none of a category's, the mean of an
    order, and the mean response where levels become means.
    """
    gaps = np.isnan(codes)
    filled = np.where(gaps, column.fill, codes)
    if column.kind == "category":
        own = (filled[:, None] == np.arange(len(column.levels))).astype(np.float64)
    elif column.means is not None:
        own = mean_features(filled, column.means, fitted)
    elif column.dates is not None:
        own = date_features(filled, column.dates, column.shift, column.scale)
    else:
        filled = np.where(filled == UNSEEN, column.shift, filled) if column.kind == "ordinal" else filled
        own = ((filled - column.shift) * column.scale)[:, None]
    return np.column_stack([own, gaps]) if column.gap_flag else own
