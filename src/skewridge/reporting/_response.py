"""The response: its slices and its shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.advice.diagnose import NAMES
from skewridge.reporting._case import Case, Part

SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def _facts(case: Case) -> dict[str, Any]:
    y, told = case.y_ref, case.diagnosis
    return {
        "n_rows": len(y),
        "min": y.min(),
        "max": y.max(),
        "mean": y.mean(),
        "deviation": y.std(),
        "skewness": told.skewness,
        "quantiles": [{"share": share, "value": np.quantile(y, share)} for share in SHARES],
        "scenario": told.scenario,
        "verdict": NAMES[told.scenario] if case.sliced else "constant",
        "matters": told.matters,
        "meaning": told.meaning,
    }


def _slicing(case: Case) -> dict[str, Any]:
    told = case.diagnosis
    return {
        "rule": told.rule,
        "n_slices": len(told.counts),
        "n_occupied": np.count_nonzero(told.counts),
        "n_bars": len(case.starts),
        "n_oversampled": told.n_oversampled,
    }


def _rare(case: Case) -> dict[str, Any]:
    told = case.diagnosis
    return {"n_rows": told.rare_rows, "share": told.rare_rows / told.n_rows, "ranges": told.rare_ranges}


def _slices(case: Case) -> list[dict[str, Any]]:
    """Return slices in ascending order, neighbours together where there are too many to show.

    ``copies`` are what Algorithm 2 with tau = 1 gives a row, on average over the rows of a group; a group is rare where
    most of its rows are, or of its slices where it has no rows.
    """
    told, starts = case.diagnosis, case.starts
    counts = np.add.reduceat(told.counts, starts)
    stops = np.r_[starts[1:], len(told.counts)]
    copied = np.add.reduceat(told.counts * told.copies, starts)
    weights = np.where(np.repeat(counts, stops - starts) > 0, told.counts, 1)
    rare = np.add.reduceat(weights * told.rare, starts) / np.add.reduceat(weights, starts) > 0.5
    columns = {
        "n_slices": stops - starts,
        "low": told.edges[starts],
        "high": told.edges[stops],
        "count": counts,
        "share": counts / told.n_rows,
        "copies": _ratio(copied, counts),
        "rare": rare,
    }
    return records(columns)


def records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns of equal length as one dict a row."""
    values = (column.tolist() for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros(len(below)), where=below > 0)


PARTS = (
    Part("name", (), lambda case: case.target),
    Part("rows", (), lambda case: "fitted" if case.knows_training else "judged"),
    Part("facts", (), _facts),
    Part("slicing", (), _slicing),
    Part("rare", (), _rare),
    Part("slices", (), _slices),
)
