"""How wrong, where? By bands of the prediction, of the response and of every column; the worst rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.advice.raw_rows import Coded
from skewridge.reporting._case import COVERAGE, Case, Part
from skewridge.tables.columns import row_label

N_BANDS, N_FIFTHS = 10, 5
FEWEST_ROWS = 100  # of a band whose coverage is called off
OFF = 4.0  # standard errors of a band's coverage, beyond which it is called off
N_WORST, MOST_COLUMNS, LONGEST = 20, 8, 24  # rows; columns that are told of them; characters of a value


def by_prediction(case: Case) -> list[dict[str, Any]]:
    """Ten bands of the prediction, of about as many rows each."""
    return _bands(case, case.predicted)


def by_response(case: Case) -> list[dict[str, Any]]:
    """Ten bands of the response, of about as many rows each."""
    return _bands(case, case.y)


def rare(case: Case) -> dict[str, Any] | None:
    """The rare region as one band."""
    return _band(case, case.rare, case.y) if case.rare.any() else None


def columns(case: Case) -> list[dict[str, Any]]:
    """How often intervals hold in every fifth of every column, or for its most frequent levels."""
    low, high = case.interval
    inside = (low <= case.y) & (case.y <= high)
    found = [_column(case.raw.names[place], case.raw.coded(place), inside) for place in case.raw.used()]
    return [column for column in found if len(column["bands"]) > 1]


def worst(case: Case) -> dict[str, Any]:
    """The rows with the largest errors, and the values of their columns, the most important ones first."""
    error = case.predicted - case.y
    rows = np.argsort(-np.abs(error), kind="stable")[:N_WORST]
    names = [one["name"] for one in case.drivers["columns"][:MOST_COLUMNS]]
    places = [case.raw.names.index(name) for name in names]
    low, high = (None, None) if case.forecaster is None else case.interval
    return {
        "columns": names,
        "rows": [
            {
                "row": row_label(case.X, row, first=0),
                "observed": case.y[row],
                "predicted": case.predicted[row],
                "low": None if low is None else low[row],
                "high": None if high is None else high[row],
                "error": error[row],
                "rare": case.rare[row],
                "values": [_shown(case.raw.value(row, place)) for place in places],
            }
            for row in rows.tolist()
        ],
    }


def is_off(inside: BoolArray) -> bool:
    """Whether a share of intervals that hold is off by more than chance."""
    n = len(inside)
    error = np.sqrt(COVERAGE * (1.0 - COVERAGE) / max(1, n))
    return bool(n >= FEWEST_ROWS and abs(inside.mean() - COVERAGE) > OFF * error)


def _bands(case: Case, values: FloatArray) -> list[dict[str, Any]]:
    labels = cut(values, N_BANDS)
    return [_band(case, labels == label, values) for label in np.unique(labels)]


def _band(case: Case, rows: BoolArray, values: FloatArray) -> dict[str, Any]:
    y, error = case.y[rows], case.predicted[rows] - case.y[rows]
    told = {
        "low": values[rows].min(),
        "high": values[rows].max(),
        "n_rows": len(y),
        "rmse": np.sqrt(np.mean(error**2)),
        "bias": error.mean(),
        "median_percent": 100.0 * np.median(np.abs(error / y)) if np.all(y != 0) else None,
    }
    if case.forecaster is None:
        return told
    low, high = (end[rows] for end in case.interval)
    inside = (low <= y) & (y <= high)
    return {**told, "width": np.median(high - low), "coverage": inside.mean(), "off": is_off(inside)}


def _column(name: str, column: Coded, inside: BoolArray) -> dict[str, Any]:
    groups = _levels(column) if column.kind == "level" else _fifths(column)
    return {
        "name": name,
        "kind": column.kind,
        "bands": [
            {"low": low, "high": high, "level": level, "n_rows": len(rows), "coverage": inside[rows].mean()}
            | {"off": is_off(inside[rows])}
            for low, high, level, rows in groups
        ],
    }


def _fifths(column: Coded) -> Iterator[tuple[Any, Any, str | None, IntArray]]:
    """Ends, no level, and rows of the fifths of numbers or dates; gaps last."""
    known = np.flatnonzero(~np.isnan(column.codes))
    values = column.codes[known]
    labels = cut(values, N_FIFTHS) if len(known) else np.empty(0, dtype=np.int64)
    for label in np.unique(labels):
        rows = known[labels == label]
        low, high = column.codes[rows].min(), column.codes[rows].max()
        days = np.array([low, high]).astype("datetime64[D]").astype(str) if column.kind == "date" else None
        yield low, high, None if days is None else f"{days[0]} to {days[1]}", rows
    gaps = np.flatnonzero(np.isnan(column.codes))
    if len(gaps):
        yield None, None, "no value", gaps


def _levels(column: Coded) -> Iterator[tuple[Any, Any, str | None, IntArray]]:
    """The most frequent levels, and all others together."""
    codes, counts = np.unique(column.codes[~np.isnan(column.codes)], return_counts=True)
    most = codes[np.argsort(-counts, kind="stable")][: N_FIFTHS - 1 if len(codes) > N_FIFTHS else N_FIFTHS]
    for code in most:
        yield None, None, column.levels[int(code)][:LONGEST], np.flatnonzero(column.codes == code)
    others = np.flatnonzero(~np.isin(column.codes, most))
    if len(others):
        yield None, None, "others", others


def cut(values: FloatArray, n_bands: int) -> IntArray:
    """Return the band of every value, of about as many rows each; equal values share one."""
    cuts = np.unique(np.quantile(values, np.arange(1, n_bands) / n_bands))
    return np.searchsorted(cuts, values, side="left")


def _shown(value: Any) -> Any:
    """Numbers as they are, anything else as a short text; None for a gap."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value) if isinstance(value, float | np.floating) else int(value)
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


PARTS = (
    Part("by_prediction", (), by_prediction),
    Part("by_response", (), by_response),
    Part("rare", (), rare),
    Part("columns", (), lambda case: None if case.forecaster is None else columns(case)),
    Part("worst", (), worst),
)
