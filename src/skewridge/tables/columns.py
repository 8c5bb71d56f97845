"""Columns of a table as numbers: what a column holds, what is learned of it, what its values become.

Numbers and ordered levels become ``(x - mean) / sd``, truth values 0 and 1, and every other text one column of 0 and 1
for each of its levels. Values are first coded: a number, 0 or 1, or the place of a level; nan where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_magnitude, check_plain
from skewridge.features.scaling import standard_scaling

KINDS = ("number", "boolean", "category", "ordinal")
UNSEEN = -1.0  # the code of a level that was not there when the column was learned
SHOWN = 5  # values that a message lists

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?")
_NATURAL = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("datetime64", "datetime", "date", "period", "time", "timedelta64", "timedelta"), "date"),
    "boolean": "boolean",
    "string": "text",
    "categorical": "category",
}


@dataclass(frozen=True)
class Column:
    """The facts about a column that an encoder replays.

    Attributes
    ----------
    name : str
    kind : "number", "boolean", "category" or "ordinal"
    levels : the texts of a category, most frequent first, or of an ordinal, lowest first
    fill : the code that stands for a missing value: the median, or the most frequent level
    shift, scale : what is subtracted from a code, and what that is multiplied by
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    fill: float = 0.0
    shift: float = 0.0
    scale: float = 1.0

    @property
    def features(self) -> list[str]:
        """The names of the numbers that it becomes."""
        return [f"{self.name}={level}" for level in self.levels] if self.kind == "category" else [self.name]


def as_frame(X: Any) -> Any:
    """Return a pandas data frame whose columns have different names that are text, or raise."""
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
    """Refuse names that are not among the columns."""
    missing = [name for name in names if name not in columns]
    if missing:
        there = ", ".join(map(repr, list(columns)[:20])) + (", ..." if len(columns) > 20 else "")
        raise ValueError(f"The table has no column {', '.join(map(repr, missing))}; it has {there}.")


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


def learn_column(
    name: str, values: Any, kind: str | None = None, levels: Sequence[str] | None = None, most: int = 30
) -> Column:
    """Learn a pandas series; ``kind`` is the one that its values have by nature unless given.

    Examples
    --------
    >>> import pandas as pd
    >>> learn_column("size", pd.Series(["S", "L", "S"]), "ordinal", ["S", "M", "L"]).levels
    ('S', 'M', 'L')
    >>> learn_column("town", pd.Series(["Oslo", "Bergen", "Oslo"])).features
    ['town=Oslo', 'town=Bergen']
    """
    kind = natural_kind(name, values) if kind is None else kind
    if kind in ("number", "boolean"):
        found = codes_of(Column(name, kind), values)
        return _numeric(Column(name, kind), found[~np.isnan(found)])
    texts, counts = _levels(values)
    if kind == "category" and len(texts) > most:
        raise ValueError(
            f"Column {name!r} has {len(texts)} different texts ({_shown(texts)}), more than {most}. Leave it out, give "
            "it an order (ordinal), or allow more categories."
        )
    if kind == "category":
        order = sorted(range(len(texts)), key=lambda i: (-counts[i], texts[i]))
        return Column(name, kind, tuple(texts[i] for i in order))
    column = Column(name, kind, tuple(sorted(texts) if levels is None else levels))
    found = codes_of(column, values)
    _check_ordered(column, texts)
    return _numeric(column, found[~np.isnan(found)])


def natural_kind(name: str, values: Any) -> str:
    """Return what a column's values are, or raise for what cannot become numbers by itself."""
    from pandas.api.types import infer_dtype

    if values.isna().all():
        raise ValueError(f"Column {name!r} has no values at all. Leave it out.")
    inferred = infer_dtype(values, skipna=True)
    kind = _NATURAL.get(inferred, "unknown")
    if kind == "text":
        kind = _kind_of_texts(_levels(values)[0])
    if kind == "date":
        raise ValueError(
            f"Column {name!r} holds dates or times. Put what matters of them, such as year, month, hour or days since "
            "some day, in columns of numbers, and leave this one out."
        )
    if kind == "unknown":
        raise ValueError(
            f"Column {name!r} holds {inferred} values, neither numbers nor text. Convert it, or leave it out."
        )
    return kind


def codes_of(column: Column, values: Any) -> FloatArray:
    """Return the code of every value: nan where it is missing, -1 where its level is unknown."""
    if column.kind == "number":
        return _numbers(column.name, values)
    texts, places = _texts(values)
    if column.kind == "boolean":
        known = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
        found = [known.get(text.casefold(), UNSEEN) for text in texts]
    else:
        known = {level: float(i) for i, level in enumerate(column.levels)}
        found = [known.get(text, UNSEEN) for text in texts]
    codes = np.array([*found, np.nan])[places]  # missing values are at place -1
    if column.kind == "boolean" and (codes == UNSEEN).any():
        odd = [text for text, code in zip(texts, found, strict=True) if code == UNSEEN]
        raise ValueError(f"Column {column.name!r} should hold true and false only; got {_shown(odd)}. Correct them.")
    return codes


def unseen_texts(column: Column, values: Any) -> dict[str, int]:
    """Return the texts that are no level of a category or an ordinal, and how many rows have each."""
    texts, counts = _levels(values)
    known = set(column.levels)
    return {text: count for text, count in zip(texts, counts, strict=True) if text not in known}


def features_of(column: Column, codes: FloatArray) -> FloatArray:
    """Return the numbers that a column becomes, (n, w); a level that is unknown is none of them, or the mean."""
    filled = np.where(np.isnan(codes), column.fill, codes)
    if column.kind == "category":
        return (filled[:, None] == np.arange(len(column.levels))).astype(np.float64)
    if column.kind == "ordinal":
        filled = np.where(filled == UNSEEN, column.shift, filled)
    return ((filled - column.shift) * column.scale)[:, None]


def _numeric(column: Column, codes: FloatArray) -> Column:
    """Learn what stands for missing codes and, of numbers and ordered levels, the scale."""
    if column.kind == "boolean":
        return Column(column.name, column.kind, fill=float(codes.mean() > 0.5))
    scaling = standard_scaling(codes[:, None], np.ones(len(codes)))
    fill, shift, scale = float(np.median(codes)), float(scaling.shift[0]), float(scaling.scale[0])
    return Column(column.name, column.kind, column.levels, fill, shift, scale)


def _check_ordered(column: Column, texts: Sequence[str]) -> None:
    """Refuse an order that leaves out texts that are there, or names one twice."""
    left_out = [text for text in texts if text not in column.levels]
    if left_out or len(set(column.levels)) < len(column.levels):
        raise ValueError(
            f"The order of column {column.name!r} must name all of its texts once; got {_shown(column.levels)}, "
            f"without {_shown(left_out)}."
        )


def _numbers(name: str, values: Any) -> FloatArray:
    """The numbers of a column, or raise with the first value that is none."""
    import pandas as pd

    check_plain(f"Column {name!r}", values)
    plain = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    numbers = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    odd = np.flatnonzero(np.isnan(numbers) & ~values.isna().to_numpy())
    if len(odd):
        raise ValueError(
            f"Column {name!r} should hold numbers; {len(odd)} of {len(numbers)} values are none, the first of them "
            f"{str(values.iloc[odd[0]])[:40]!r} in row {row_label(values, int(odd[0]))}. Correct them, or leave the "
            "column out."
        )
    if np.isinf(numbers).any():
        raise ValueError(f"Column {name!r} holds {np.isinf(numbers).sum()} infinite numbers. Correct or drop them.")
    check_magnitude(f"column {name!r}", numbers[~np.isnan(numbers)])
    return numbers


def _texts(values: Any) -> tuple[list[str], Any]:
    """The different values as text, and every row's place among them; -1 where it is missing."""
    import pandas as pd

    places, different = pd.factorize(values)
    return [_as_text(value) for value in different], places


def _levels(values: Any) -> tuple[list[str], list[int]]:
    """The different texts and how many rows have each."""
    texts, places = _texts(values)
    counts = np.bincount(places[places >= 0], minlength=len(texts))
    total: dict[str, int] = {}
    for text, count in zip(texts, counts.tolist(), strict=True):
        total[text] = total.get(text, 0) + count
    return list(total), list(total.values())


def _as_text(value: Any) -> str:
    """Text is itself; a whole number is its digits in whatever type a file has it."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _kind_of_texts(texts: Sequence[str]) -> str:
    if {text.casefold() for text in texts} <= {"true", "false"}:
        return "boolean"
    return "date" if all(_DATE.fullmatch(text.strip()) for text in texts) else "category"


def _shown(texts: Sequence[str]) -> str:
    more = ", ..." if len(texts) > SHOWN else ""
    return ", ".join(repr(text[:40]) for text in texts[:SHOWN]) + more
