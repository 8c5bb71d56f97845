"""A few rows of a table as it came, whose columns can be exchanged for those of other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.tables.columns import LISTED, Column, codes_of
from skewridge.tables.texts import levels_of

KINDS = {"date": "date", **dict.fromkeys((*LISTED, "boolean"), "level")}  # anything else is a number


@dataclass(frozen=True)
class Coded:
    """The values of a column as numbers.

    Attributes
    ----------
    kind : "number", "date" (days since the first of 1970) or "level" (places in ``levels``)
    codes : (n,) array, nan where there is no value
    levels : the texts that places of levels stand for
    """

    kind: str
    codes: FloatArray
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class RawRows:
    """Rows as a model takes them: a pandas frame or an array, and what their columns are called.

    Attributes
    ----------
    table : (n, d) frame or array
    names : of the d columns
    encoded : what a TableEncoder has learned of columns, by name
    """

    table: Any
    names: tuple[str, ...]
    encoded: Mapping[str, Column]

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def used(self) -> list[int]:
        """The places of columns that the model sees: all but those that an encoder left out."""
        left_out = [name for name, column in self.encoded.items() if not column.features]
        return [place for place, name in enumerate(self.names) if name not in left_out]

    def some(self, rows: IntArray, exchanged: Mapping[int, IntArray] | None = None) -> Any:
        """Return some rows; the columns at the places of ``exchanged`` take the values of the rows given there."""
        changes = exchanged or {}
        if not hasattr(self.table, "iloc"):
            part = self.table[rows]
            for place, others in changes.items():
                part[:, place] = self.table[others, place]
            return part
        part = self.table.iloc[rows].copy(deep=False)
        for place, others in changes.items():
            part.isetitem(place, self.table.iloc[others, place].array)
        return part

    def value(self, row: int, place: int) -> Any:
        """One value as it came."""
        return self.table.iat[row, place] if hasattr(self.table, "iat") else self.table[row, place]

    def coded(self, place: int) -> Coded:
        """Return a column as numbers, by its encoder where there is one."""
        known = self.encoded.get(self.names[place])
        if known is not None:
            values = codes_of(known, self.table.iloc[:, place])
            levels = ("false", "true") if known.kind == "boolean" else known.levels
            kind = KINDS.get(known.kind, "number")
            unseen = (values < 0) & (kind == "level")
            return Coded(kind, np.where(unseen, np.nan, values), levels)
        column = self.table.iloc[:, place] if hasattr(self.table, "iloc") else self.table[:, place]
        try:
            return Coded("number", np.asarray(column, dtype=np.float64))
        except (TypeError, ValueError):
            texts = tuple(levels_of(column)[0])
            return Coded("level", codes_of(Column(self.names[place], "category", texts), column), texts)


def raw_rows(model: Any, X: Any, rows: IntArray, names: Sequence[str] | None = None) -> RawRows:
    """Take rows of an array, of a sparse matrix, or of a frame of pandas, polars or pyarrow."""
    if hasattr(X, "iloc"):
        part = X.iloc[rows]
    elif hasattr(X, "take") and hasattr(X, "to_pandas"):  # of pyarrow
        part = X.take(rows).to_pandas()
    elif hasattr(X, "to_pandas"):  # of polars
        part = X[rows.tolist()].to_pandas()
    else:
        part = X.tocsr()[rows].toarray() if hasattr(X, "tocsr") else np.asarray(X)[rows]
    own = [str(name) for name in part.columns] if hasattr(part, "columns") else None
    fitted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    named = own or names or (fitted if len(fitted) == part.shape[1] else [f"x{f}" for f in range(part.shape[1])])
    columns = _encoded_columns(model) if hasattr(part, "iloc") else ()
    return RawRows(part, tuple(named), {column.name: column for column in columns})


def _encoded_columns(model: Any) -> tuple[Column, ...]:
    """The columns that a TableEncoder has learned, where one stands first in a pipeline."""
    model = getattr(model, "best_estimator_", model)
    first = model.steps[0][1] if getattr(model, "steps", None) else None
    return tuple(getattr(first, "columns_", ()))
