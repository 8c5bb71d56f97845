"""How likely is more than a threshold, and do intervals hold everywhere: the stated distribution against what came."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.reporting._case import COVERAGE, Case

LEVELS = (0.9, 0.95, 0.98, 0.99)  # of the training response: thresholds
N_BANDS, FEWEST_ROWS = 5, 100  # of the prediction and of every column; rows of a band
OFF = 4.0  # standard errors of a band's coverage, beyond which it is told


def likely(case: Case) -> dict[str, Any]:
    """Return stated and counted exceedances, coverage by bands of prediction and columns, and the upper tail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model warned when it was calibrated
        found = case.fitted.predict_distribution(case.inputs)
    thresholds = np.unique(np.quantile(case.y_ref, LEVELS))
    above = _of(case, found.sf(thresholds))
    low, high = case.interval
    inside = (low <= case.y) & (case.y <= high)
    named = [("prediction", case.predicted), *_columns(case)]
    bands = [_band(name, values, inside) for name, values in named]
    return {
        "coverage": COVERAGE,
        "exceedances": [
            {"threshold": t, "stated": p.sum(), "counted": int(np.sum(case.y > t)), "most": p.max()}
            for t, p in zip(thresholds, above.T, strict=True)
        ],
        "bands": [band for band in bands if band is not None],
        "tail": _tail(case),
    }


def _columns(case: Case) -> list[tuple[str, FloatArray]]:
    """The columns by name, as the model sees them; none where they are no numbers."""
    try:
        rows = np.asarray(case.inputs, dtype=np.float64)
    except (TypeError, ValueError):
        return []
    fits = rows.ndim == 2 and rows.shape[1] == len(case.features)
    return list(zip(case.features, rows.T, strict=True)) if fits else []


def _of(case: Case, values: FloatArray) -> FloatArray:
    """The values of the output that is judged, without an axis for outputs."""
    several = len(case.fitted.calibration_) > 1
    return values[:, case.output or 0] if several else values


def _band(name: str, values: FloatArray, inside: Any) -> dict[str, Any] | None:
    """The least and the largest coverage over fifths of a column; None where it has no fifths of enough rows."""
    cuts = np.unique(np.quantile(values, np.arange(1, N_BANDS) / N_BANDS))
    labels = np.searchsorted(cuts, values, side="left")
    rows = np.bincount(labels)
    shares = np.bincount(labels, inside) / np.maximum(rows, 1)
    shares, rows = shares[rows >= FEWEST_ROWS], rows[rows >= FEWEST_ROWS]
    if not len(rows):
        return None
    error = np.sqrt(COVERAGE * (1.0 - COVERAGE) / rows)
    off = bool(np.any(np.abs(shares - COVERAGE) > OFF * error))
    return {"name": name, "least": shares.min(), "largest": shares.max(), "off": off}


def _tail(case: Case) -> dict[str, Any] | None:
    """The shape of the upper tail of errors with its interval; None where errors are too few for one."""
    shape = case.fitted.calibration_[case.output or 0].shape
    if shape.high is None:
        return None
    tail = shape.high
    return {
        "shape": tail.shape,
        "shape_low": tail.shape_low,
        "shape_high": tail.shape_high,
        "share": shape.slices[0].high.share,
        "n_rows": tail.n_rows,
    }
