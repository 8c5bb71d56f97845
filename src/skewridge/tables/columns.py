"""Columns of a table as numbers: what an encoder remembers of a column, and what its values become.

Values are first coded: a number, 0 or 1, days, or the place of a level; nan where there is a gap. Codes then become one
or several numbers, the column's features.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_magnitude, check_plain, is_lazy
from skewridge.tables.dates import DAY, WRITINGS, DateParts, as_days, date_features, part_names
from skewridge.tables.level_means import LevelMeans, mean_features
from skewridge.tables.near_names import did_you_mean
from skewridge.tables.texts import SHOWN, levels_of, shown, texts_of
from skewridge.tables.written_numbers import Writing, is_gap_word, read_numbers

KINDS = ("number", "boolean", "category", "ordinal", "date", "duration", "means", "drop")
LISTED = ("category", "ordinal", "means")  # kinds that have levels
UNSEEN = -1.0  # the code of a level that was not there when the column was learned


@dataclass(frozen=True)
class Column:
    """The facts about a column that an encoder replays.

    Attributes
    ----------
    name : str
    kind : "number", "boolean", "category", "ordinal", "date", "duration", "means" (of the response, by level) or "drop"
    levels : the texts of a category, most frequent first, or of an ordinal, lowest first
    fill : the code that stands for a missing value: the median, the most frequent level, or -1 for no level
    shift, scale : what is subtracted from a code, and what that is multiplied by
    gap_flag : whether a further feature tells gaps, 1, from values, 0
    n_gaps : rows without a value when the column was learned
    writing : how numbers are written where they were stored as text
    dates : what becomes of a date
    means : what levels become in a column of many
    note : what else was noticed, for people
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    fill: float = 0.0
    shift: float = 0.0
    scale: float = 1.0
    gap_flag: bool = False
    n_gaps: int = 0
    writing: Writing | None = None
    dates: DateParts | None = None
    means: LevelMeans | None = None
    note: str = ""

    @property
    def features(self) -> list[str]:
        """The names of the numbers that it becomes."""
        flag = [f"{self.name}: missing"] if self.gap_flag else []
        return [*self._own_features, *flag]

    @property
    def _own_features(self) -> list[str]:
        if self.kind == "category":
            return [f"{self.name}={level}" for level in self.levels]
        if self.means is not None:
            return [f"{self.name}: {part}" for part in self.means.names]
        if self.dates is not None:
            return [f"{self.name}: {part}" for part in part_names(self.dates.parts)]
        return [] if self.kind == "drop" else [self.name]


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
        there = ", ".join(map(repr, list(columns)[:20])) + (", ..." if len(columns) > 20 else "")
        meant = did_you_mean(missing, columns)
        raise ValueError(f"The table has no column {', '.join(map(repr, missing))}; it has {there}.{meant}")


def count_missing(X: Any) -> tuple[dict[str, int], int]:
    """Return how many values every column lacks, for columns that lack any, and how many rows lack one."""
    lacking = X.isna()
    counts = lacking.sum()
    return {name: int(count) for name, count in counts[counts > 0].items()}, int(lacking.any(axis=1).sum())


def refuse_missing(X: Any, remedy: str = "Drop these rows, or take missing='impute'.") -> None:
    """Raise where values are missing, with a count."""
    counts, n_rows = count_missing(X)
    if counts:
        listed = ", ".join(f"{name!r}: {count}" for name, count in counts.items())
        raise ValueError(f"{n_rows} of {len(X)} rows have missing values ({listed}). {remedy}")


def row_label(rows: Any, place: int, first: int = 1) -> str:
    """The number of a row for people: as its file counts it where the index knows that, else its place.

    Examples
    --------
    >>> import pandas as pd
    >>> row_label(pd.Series([1.0, 2.0]), 1)
    '2'
    >>> row_label(pd.Series([1.0, 2.0], index=pd.Index([5, 9], name="row")), 1)
    '9'
    """
    names = list(getattr(getattr(rows, "index", None), "names", ()))
    if names == ["file", "row"]:
        file, row = rows.index[place]
        return f"{row} of {file}"
    return str(rows.index[place] if names == ["row"] else place + first)


def codes_of(column: Column, values: Any) -> FloatArray:
    """Return the code of every value: nan where it is missing, -1 where its level is unknown."""
    if column.kind == "number":
        return _numbers(column, values)
    if column.kind == "date":
        return _dates(column, values)
    if column.kind == "duration":
        return _durations(column.name, values)
    texts, places = texts_of(values)
    if column.kind == "boolean":
        known = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        found = [known.get(text.strip().casefold(), UNSEEN) for text in texts]
    else:
        known = {level: float(i) for i, level in enumerate(column.levels)}
        found = [known.get(text, UNSEEN) for text in texts]
    codes = np.array([*found, np.nan])[places]  # missing values are at place -1
    if column.kind == "boolean" and (codes == UNSEEN).any():
        odd = [text for text, code in zip(texts, found, strict=True) if code == UNSEEN]
        raise ValueError(f"Column {column.name!r} should hold true and false only; got {shown(odd)}. Correct them.")
    return codes


def unseen_texts(column: Column, values: Any) -> dict[str, int]:
    """Return the texts that are no level of a column, and how many rows have each."""
    texts, counts = levels_of(values)
    known = set(column.levels)
    return {text: count for text, count in zip(texts, counts, strict=True) if text not in known}


def features_of(column: Column, codes: FloatArray, fitted: FloatArray | None = None) -> FloatArray:
    """Return the numbers that a column becomes, (n, w).

    A level that is unknown is none of a category's, the mean of an order, and the mean response where levels become
    means. ``fitted`` are cross-fitted means for the rows of a fit.
    """
    gaps = np.isnan(codes)
    own = _own_features(column, np.where(gaps, column.fill, codes), fitted)
    return np.column_stack([own, gaps]) if column.gap_flag else own


def _own_features(column: Column, filled: FloatArray, fitted: FloatArray | None) -> FloatArray:
    if column.kind == "drop":
        return np.empty((len(filled), 0))
    if column.kind == "category":
        return (filled[:, None] == np.arange(len(column.levels))).astype(np.float64)
    if column.means is not None:
        return mean_features(filled, column.means, fitted)
    if column.dates is not None:
        return date_features(filled, column.dates, column.shift, column.scale)
    if column.kind == "ordinal":
        filled = np.where(filled == UNSEEN, column.shift, filled)
    return ((filled - column.shift) * column.scale)[:, None]


def _numbers(column: Column, values: Any) -> FloatArray:
    """The numbers of a column, or raise with the first values that are none."""
    import pandas as pd

    check_plain(f"Column {column.name!r}", values)
    plain = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    if column.writing is not None and not pd.api.types.is_numeric_dtype(plain):
        typed = plain.map(lambda value: isinstance(value, Number)).to_numpy(dtype=bool)
        texts, places = texts_of(plain.where(~typed))
        found, odd_texts = read_numbers(texts, column.writing)
        numbers = np.append(found, np.nan)[places]
        numbers[typed] = plain[typed].to_numpy(dtype=np.float64, na_value=np.nan)  # not by their text: 1.5 is no 1,5
        odd = np.flatnonzero(np.array([*odd_texts, False])[places] & ~typed)
    else:
        numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        odd = np.flatnonzero(np.isnan(numbers) & ~values.isna().to_numpy())
    if len(odd):
        refuse_values(column.name, "numbers", values, odd)
    if np.isinf(numbers).any():
        raise ValueError(
            f"Column {column.name!r} holds {np.isinf(numbers).sum()} infinite numbers. Correct or drop them."
        )
    check_magnitude(f"column {column.name!r}", numbers[~np.isnan(numbers)])
    return numbers


def _dates(column: Column, values: Any) -> FloatArray:
    """Days since the first of 1970; texts that stood for gaps at fit do so again."""
    writing = column.dates.writing if column.dates else ""
    days = as_days(values, writing)
    odd = np.flatnonzero(np.isnan(days) & ~values.isna().to_numpy())
    known = column.writing.gaps if column.writing else ()
    odd = np.array([i for i in odd if not is_gap(values.iloc[i], known)], dtype=np.int64)
    if len(odd):
        refuse_values(column.name, WRITINGS[writing], values, odd)
    return days


def _durations(name: str, values: Any) -> FloatArray:
    """Lengths of time in days."""
    import pandas as pd

    found = pd.to_timedelta(values, errors="coerce")
    odd = np.flatnonzero(found.isna().to_numpy() & ~values.isna().to_numpy())
    if len(odd):
        refuse_values(name, "lengths of time", values, odd)
    return (found.dt.total_seconds() / DAY).to_numpy(dtype=np.float64)


def is_gap(value: Any, known: tuple[str, ...] = ()) -> bool:
    """Whether a value is a text that stands for a gap."""
    return isinstance(value, str) and (value in known or is_gap_word(value))


def refuse_values(name: str, expected: str, values: Any, odd: IntArray) -> None:
    """Raise with the first values that are not what is expected."""
    rows = ", ".join(f"{str(values.iloc[i])[:40]!r} in row {row_label(values, int(i))}" for i in odd[:SHOWN])
    more = ", ..." if len(odd) > SHOWN else ""
    raise ValueError(
        f"Column {name!r} should hold {expected}; {len(odd)} of {len(values)} values are none, the first of them "
        f"{rows}{more}. Correct them, or leave the column out."
    )
