"""Rows outside the range that a model was fitted to: by column, and how far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.tables.columns import Column
from skewridge.tables.dates import as_date
from skewridge.tables.texts import SHOWN

MOST_TOLD = 20  # rows of a column that are told to machines


@dataclass(frozen=True)
class Outside:
    """The rows that one column puts outside the range of a fit, the furthest first.

    Attributes
    ----------
    column : its name
    low, high : the range of the fit
    rows : (n,) array, places
    values : (n,) array, of the column
    beyond : (n,) array, distances from the range as a multiple of its width; inf where the column was constant
    are_days : whether values are days since the first of 1970, which are told as dates
    """

    column: str
    low: float
    high: float
    rows: IntArray
    values: FloatArray
    beyond: FloatArray
    are_days: bool = False

    def _plain(self, value: float) -> float | str:
        return as_date(value) if self.are_days else float(value)

    def _text(self, value: float) -> str:
        return as_date(value) if self.are_days else f"{value:.6g}"

    def to_dict(self, name: Callable[[int], str]) -> dict[str, Any]:
        """The column as plain data, its rows by name."""
        told = zip(self.rows[:MOST_TOLD], self.values, self.beyond, strict=False)
        rows = [
            {"row": name(int(row)), "value": self._plain(value), "beyond": float(far) if np.isfinite(far) else None}
            for row, value, far in told
        ]
        low, high = self._plain(self.low), self._plain(self.high)
        return {"column": self.column, "low": low, "high": high, "n_rows": len(self.rows), "rows": rows}

    def as_text(self, name: Callable[[int], str]) -> str:
        """The column in a few words."""
        told = zip(self.rows[:SHOWN], self.values, strict=False)
        listed = ", ".join(f"{self._text(value)} in row {name(int(row))}" for row, value in told)
        more = f" and {len(self.rows) - SHOWN} more" if len(self.rows) > SHOWN else ""
        far = f"up to {self.beyond[0]:.2g} times that range beyond" if self.low < self.high else "where it was constant"
        return f"{self.column!r} ({self._text(self.low)} to {self._text(self.high)}): {listed}{more}, {far}"


def outside_fit(fitted: Any, X: Any, names: Sequence[str], columns: Sequence[Column] = ()) -> list[Outside]:
    """Return the columns that put rows outside the range of a fit; none where the model does not know its range.

    Parameters
    ----------
    fitted : estimator
    X : (n, d) array or data frame, the rows as it gets them
    names : of their d columns
    columns : of the table that X was encoded from; values are told in the table's units

    Examples
    --------
    >>> from skewridge import DacKernelRidge
    >>> model = DacKernelRidge(1, bandwidth=1.0, penalty=0.1).fit([[1.0], [3.0]], [0.0, 1.0])
    >>> [found] = outside_fit(model, [[2.0], [7.0]], ["rooms"])
    >>> found.as_text(str)
    "'rooms' (1 to 3): 7 in row 1, up to 2 times that range beyond"
    """
    low, high = getattr(fitted, "feature_min_in_", None), getattr(fitted, "feature_max_in_", None)
    if low is None or high is None:
        return []
    values = np.asarray(X, dtype=np.float64)
    units = [_unit(column, name) for column in columns for name in column.features] or [Unit(name) for name in names]
    beyond = np.maximum(low - values, values - high)
    told = np.flatnonzero((beyond > 0).any(axis=0)).tolist()
    return [_outside(units[j], values[:, j], beyond[:, j], low[j], high[j]) for j in told if units[j].scale > 0]


def count_outside(found: Sequence[Outside]) -> int:
    """How many rows one column or another puts outside."""
    return len(np.unique(np.concatenate([column.rows for column in found]))) if found else 0


def outside_text(found: Sequence[Outside], n_rows: int, name: Callable[[int], str]) -> str:
    """The columns in a few words, those that reach furthest first."""
    furthest = sorted(found, key=lambda column: -column.beyond[0])
    listed = "; ".join(column.as_text(name) for column in furthest[:SHOWN])
    more = f"; and {len(found) - SHOWN} more columns" if len(found) > SHOWN else ""
    return (
        f"{count_outside(found)} of {n_rows} rows lie outside the range that the model was fitted to, where it has "
        f"nothing to go by: {listed}{more}."
    )


@dataclass(frozen=True)
class Unit:
    """How the values of a feature were shifted and scaled, whether they are days; scale 0: a table tells no range."""

    name: str
    shift: float = 0.0
    scale: float = 1.0
    are_days: bool = False


def _unit(column: Column, feature: str) -> Unit:
    are_days = feature == f"{column.name}: days" and column.dates is not None
    scale = column.scale if are_days or feature == column.name else 0.0
    return Unit(column.name, column.shift, scale, are_days)


def _outside(unit: Unit, values: FloatArray, beyond: FloatArray, low: float, high: float) -> Outside:
    rows = np.flatnonzero(beyond > 0)
    rows = rows[np.argsort(-beyond[rows], kind="stable")]
    width = high - low
    return Outside(
        column=unit.name,
        low=float(low / unit.scale + unit.shift),
        high=float(high / unit.scale + unit.shift),
        rows=rows,
        values=values[rows] / unit.scale + unit.shift,
        beyond=beyond[rows] / width if width > 0 else np.full(len(rows), np.inf),
        are_days=unit.are_days,
    )
