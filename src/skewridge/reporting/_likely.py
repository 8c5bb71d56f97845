"""How likely is more than a threshold, and what do few rows exceed: the stated distribution against what came."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.reporting._case import COVERAGE, Case

LEVELS = (0.9, 0.95, 0.98, 0.99)  # of the training response: thresholds
PERIODS = (10, 100, 1_000, 10_000)  # rows of which one exceeds a level
MOST_ROWS = 1_000  # that return levels are the mean of
STEPS = 40  # halvings of a bracket


def likely(case: Case) -> dict[str, Any]:
    """Return stated and counted exceedances, levels that few rows exceed, and the upper tail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model warned when it was calibrated
        found = case.forecaster.predict_distribution(case.inputs)
        some = np.sort(np.random.default_rng(0).permutation(len(case.y))[:MOST_ROWS])
        few = case.forecaster.predict_distribution(_rows(case.inputs, some))
    thresholds = np.unique(np.quantile(case.y_ref, LEVELS))
    above = _of(case, found.sf(thresholds))
    return {
        "coverage": COVERAGE,
        "exceedances": [
            {"threshold": t, "stated": p.sum(), "counted": int(np.sum(case.y > t)), "most": p.max()}
            for t, p in zip(thresholds, above.T, strict=True)
        ],
        "levels": _levels(case, lambda levels: _of(case, few.sf(levels)).mean(axis=0)),
        "tail": _tail(case),
    }


def _levels(case: Case, exceeded: Callable[[FloatArray], FloatArray]) -> list[dict[str, Any]]:
    """The levels that one in so many rows exceeds, by bisection of the mean probability of more."""
    shares = 1.0 / np.array(PERIODS, dtype=np.float64)
    low = np.full(len(shares), float(min(case.y_ref.min(), case.predicted.min())))
    width = float(np.ptp(case.y_ref)) or 1.0
    high = low + width
    for _ in range(STEPS):  # until few enough rows exceed it
        high = np.where(exceeded(high) > shares, high + (high - low), high)
    known = exceeded(high) <= shares
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = exceeded(middle) > shares
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    told = zip(PERIODS, high.tolist(), known.tolist(), strict=True)
    return [
        {"period": period, "level": level, "counted": int(np.sum(case.y > level)), "expected": len(case.y) / period}
        for period, level, reached in told
        if reached
    ]


def _rows(inputs: Any, rows: IntArray) -> Any:
    """Some rows as the model gets them."""
    if hasattr(inputs, "iloc"):
        return inputs.iloc[rows]
    return (inputs if hasattr(inputs, "tocsr") else np.asarray(inputs))[rows]


def _of(case: Case, values: FloatArray) -> FloatArray:
    """The values of the output that is judged, without an axis for outputs."""
    several = len(case.forecaster.calibration_) > 1
    return values[:, case.output or 0] if several else values


def _tail(case: Case) -> dict[str, Any] | None:
    """The shape of the upper tail of errors with its interval; None where errors are too few for one."""
    shape = case.forecaster.calibration_[case.output or 0].shape
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
