"""Partial dependence: the mean prediction when a column, or a pair of them, takes one value after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.advice.raw_rows import Coded, RawRows

N_GRID, N_LEVELS, N_PAIR = 20, 8, 8  # values of a number or date, levels, and either side of a pair
ENDS = (0.01, 0.99)  # quantiles between which a grid lies: beyond them are few rows to go by
DECILES = np.arange(1, 10) / 10
FEWEST_GAPS = 0.01  # share of rows without a value from which gaps are told


@dataclass(frozen=True)
class Grid:
    """Values that a column takes, each told by a row that has it.

    Attributes
    ----------
    rows : (g,) array, rows that have them
    values : (g,) array, codes
    """

    rows: IntArray
    values: FloatArray


def partial_dependence(predict: Callable[[Any], FloatArray], rows: RawRows, place: int, some: IntArray) -> Any:
    """The mean prediction of some rows along the observed values, or the most frequent levels, of one column."""
    column = rows.coded(place)
    grid = make_grid(column, N_LEVELS if column.kind == "level" else N_GRID)
    known = column.codes[~np.isnan(column.codes)]
    gaps = np.flatnonzero(np.isnan(column.codes))
    told = {
        "name": rows.names[place],
        **axis_of(column, grid),
        "mean": _means(predict, rows, some, {place: grid.rows}),
        "deciles": None if column.kind == "level" else np.quantile(known, DECILES),
        "shares": [np.mean(column.codes == value) for value in grid.values] if column.kind == "level" else None,
        "gaps": None,
    }
    if len(gaps) >= max(1.0, FEWEST_GAPS * len(column.codes)):
        at_gap = _means(predict, rows, some, {place: gaps[:1]})
        told["gaps"] = {"share": len(gaps) / len(column.codes), "mean": at_gap[0]}
    return told


def pair_dependence(
    predict: Callable[[Any], FloatArray], rows: RawRows, places: tuple[int, int], some: IntArray
) -> dict[str, Any]:
    """The mean prediction over a grid of two columns; ``mean`` has a row for every value of the second one."""
    columns = [rows.coded(place) for place in places]
    first, second = (make_grid(column, N_PAIR) for column in columns)
    each = {places[0]: np.tile(first.rows, len(second.rows)), places[1]: np.repeat(second.rows, len(first.rows))}
    means = _means(predict, rows, some, each)
    return {
        "names": [rows.names[place] for place in places],
        "axes": [axis_of(column, grid) for column, grid in zip(columns, (first, second), strict=True)],
        "mean": means.reshape(len(second.rows), len(first.rows)),
    }


def make_grid(column: Coded, most: int) -> Grid:
    """Observed values in ascending order, evenly by rank; of levels the most frequent in their order, or all."""
    there = np.flatnonzero(~np.isnan(column.codes))
    values, first, counts = np.unique(column.codes[there], return_index=True, return_counts=True)
    rows = there[first]
    if column.kind == "level":
        taken = np.sort(np.argsort(-counts, kind="stable")[:most])
    elif len(values) <= most:
        taken = np.arange(len(values))
    else:
        wanted = np.quantile(column.codes[there], np.linspace(*ENDS, most), method="nearest")
        taken = np.searchsorted(values, np.unique(wanted))
    return Grid(rows[taken], values[taken])


def axis_of(column: Coded, grid: Grid) -> dict[str, Any]:
    """Kind, values and, but for numbers, labels of a grid."""
    labels = None
    if column.kind == "level":
        labels = [column.levels[int(value)] for value in grid.values]
    elif column.kind == "date":
        labels = np.datetime_as_string(grid.values.astype("datetime64[D]")).tolist()
    return {"kind": column.kind, "values": grid.values, "labels": labels}


def _means(
    predict: Callable[[Any], FloatArray], rows: RawRows, some: IntArray, exchanged: dict[int, IntArray]
) -> FloatArray:
    """Mean predictions of some rows, one for every value that columns take together."""
    n_values = len(next(iter(exchanged.values())))
    values = {place: np.repeat(others, len(some)) for place, others in exchanged.items()}
    found = predict(rows.some(np.tile(some, n_values), values))
    return found.reshape(n_values, len(some)).mean(axis=1)
