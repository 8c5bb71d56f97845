"""Rows outside the range that a model was fitted to: by column, and how far; and values that the fit did not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._messages import listed
from skewridge._typing import FloatArray, IntArray
from skewridge._validation import warn_user
from skewridge.tables.columns import UNSEEN, Column, level_counts
from skewridge.tables.dates import as_date

MOST_TOLD = 20  # rows of a column that are told to machines


@dataclass(frozen=True)
class Outside:
    """The rows that one column puts outside the range of a fit, the furthest first."""

    column: str
    low: float  # the range of the fit
    high: float
    rows: IntArray  # (n,), places
    values: FloatArray  # (n,), of the column
    beyond: FloatArray  # (n,), distances from the range as a multiple of its width; inf where the column was constant
    are_days: bool = False  # whether values are days since the first of 1970, which are told as dates

    def to_dict(self, name: Callable[[int], str]) -> dict[str, Any]:
        """The column as plain data, its rows by name."""
        plain = as_date if self.are_days else float
        rows = [
            {"row": name(int(row)), "value": plain(value), "beyond": float(far) if np.isfinite(far) else None}
            for row, value, far in zip(self.rows[:MOST_TOLD], self.values, self.beyond, strict=False)
        ]
        low, high = plain(self.low), plain(self.high)
        return {"column": self.column, "low": low, "high": high, "n_rows": len(self.rows), "rows": rows}

    def as_text(self, name: Callable[[int], str]) -> str:
        """The column in a few words."""
        text = as_date if self.are_days else "{:.6g}".format
        rows = (f"{text(value)} in row {name(int(row))}" for row, value in zip(self.rows, self.values, strict=True))
        far = f"up to {self.beyond[0]:.2g} times that range beyond" if self.low < self.high else "where it was constant"
        return f"{self.column!r} ({text(self.low)} to {text(self.high)}): {listed(rows, len(self.rows))}, {far}"


def outside_fit(fitted: Any, X: Any, names: Sequence[str], columns: Sequence[Column] = ()) -> list[Outside]:
    """The columns of rows, (n, d), that lie outside the range of a fit; none where the model does not know its range.

    ``names`` are those of the d features. Where these were encoded from columns, values are told in the units of those.
    """
    low, high = getattr(fitted, "feature_min_in_", None), getattr(fitted, "feature_max_in_", None)
    if low is None or high is None:
        return []
    X = np.asarray(X, dtype=np.float64)
    columns = columns or [Column(name, "number") for name in names]
    features = [(column, feature) for column in columns for feature in column.features]
    beyond = np.maximum(low - X, X - high)
    found = []
    for j in np.flatnonzero((beyond > 0).any(axis=0)).tolist():
        column, feature = features[j]
        are_days = column.dates is not None and feature == f"{column.name}: days"
        if column.scale <= 0 or not (are_days or feature == column.name):
            continue  # a feature that is not in the units of the table tells no range
        rows = np.flatnonzero(beyond[:, j] > 0)
        rows = rows[np.argsort(-beyond[rows, j], kind="stable")]
        width = high[j] - low[j]
        found.append(
            Outside(
                column=column.name,
                low=float(low[j] / column.scale + column.shift),
                high=float(high[j] / column.scale + column.shift),
                rows=rows,
                values=X[rows, j] / column.scale + column.shift,
                beyond=beyond[rows, j] / width if width > 0 else np.full(len(rows), np.inf),
                are_days=are_days,
            )
        )
    return found


def outside_text(found: Sequence[Outside], n_rows: int, name: Callable[[int], str]) -> str:
    """The columns in a few words, those that reach furthest first."""
    furthest = sorted(found, key=lambda column: -column.beyond[0])
    texts = (column.as_text(name) for column in furthest)
    n_outside = len(np.unique(np.concatenate([column.rows for column in found])))
    return (
        f"{n_outside} of {n_rows} rows lie outside the range that the model was fitted to, where it has "
        f"nothing to go by: {listed(texts, len(found), '; and {} more columns', separator='; ')}."
    )


def warn_new_gaps(columns: Sequence[Column], codes: Sequence[FloatArray]) -> None:
    """Warn of gaps that nothing was learned of: the usual value stands for them, and no feature tells the model."""
    found = [
        f"{column.name!r}: {np.isnan(code).sum()}"
        for column, code in zip(columns, codes, strict=True)
        if not column.n_gaps and np.isnan(code).any()
    ]
    if found:
        columns_said = listed(found, len(found), " and {} more columns")
        warn_user(
            f"Rows lack values of columns that no row of the fit lacked ({columns_said}): the median, or the most "
            "frequent value, is taken for them, and how far off that is cannot be known."
        )


def warn_new_levels(column: Column, codes: FloatArray, values: Any) -> None:
    """Warn of texts that are no level of a column, if there are any, and how many rows have each."""
    if not column.levels or not (codes == UNSEEN).any():
        return
    known = set(column.levels)
    new = {text: count for text, count in level_counts(values).items() if text not in known}
    texts = listed((f"{text[:40]!r}: {count}" for text, count in new.items()), len(new))
    become = {"ordinal": "the mean of its order", "means": "the mean of all responses"}.get(column.kind)
    rows = sum(new.values())
    counted, they = ("1 row has a value", "it is") if rows == 1 else (f"{rows} rows have values", "they are")
    warn_user(
        f"{counted} of {column.name!r} that the model has not seen ({texts}): {they} taken for "
        f"{become or 'none of its categories'}."
    )
