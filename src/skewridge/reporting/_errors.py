"""How good a model is, overall and where the response is rare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.metrics import balanced_mse, sera
from skewridge.reporting import _levels
from skewridge.reporting._case import COVERAGE, Case, Part
from skewridge.reporting._likely import likely
from skewridge.reporting._response import records

MOST_POINTS = 2000  # rows that are drawn one by one
ROWS = {True: "fitted", False: "new", None: "unknown"}
SEED = 0  # which of more rows are drawn must not differ from report to report


def _scores(case: Case) -> list[dict[str, Any]]:
    """Return the errors that belong together (METHOD: errors to report), each beside that of predicting the mean."""
    return [{"name": name, "n_rows": n, **_compared(name, model, mean)} for name, n, model, mean in _errors(case)]


def _errors(case: Case) -> Iterator[tuple[str, int, Any, Any]]:
    """Yield name, rows, the model's error and that of predicting the mean of y_ref; None where there is none."""
    y, mean = case.y, np.full(len(case.y), case.y_ref.mean())
    yield "mse", len(y), _mse(y, case.predicted), _mse(y, mean)
    if not case.sliced:
        return
    for name, rows in (("rare_mse", case.rare), ("rare_mse_by_prediction", case.predicted_rare)):
        yield name, int(rows.sum()), _mse(y[rows], case.predicted[rows]), _mse(y[rows], mean[rows])
    both = (case.predicted, mean)
    balanced = [balanced_mse(y, values, y_ref=case.y_ref, slices=case.rule) for values in both]
    yield "balanced_mse", len(y), balanced[0], balanced[1]
    try:
        areas = [sera(y, values, y_ref=case.y_ref) for values in both]
    except ValueError:  # no response is extreme enough for it
        return
    yield "sera", len(y), areas[0], areas[1]


def _mse(y: FloatArray, predicted: FloatArray) -> float | None:
    return float(np.mean((y - predicted) ** 2)) if len(y) else None


def _compared(name: str, model: float | None, mean: float | None) -> dict[str, Any]:
    ratio = model / mean if model is not None and mean else None
    root = None if model is None or name == "sera" else np.sqrt(model)  # sera is a sum
    return {"model": model, "root": root, "mean": mean, "ratio": ratio}


def _slices(case: Case) -> list[dict[str, Any]]:
    """Return rows, mean squared errors, bias (prediction minus y) and share of the squared error, slice by slice."""
    error, spread = case.predicted - case.y, case.y - case.y_ref.mean()
    rows = case.bar_sums(case.y)
    squares = case.bar_sums(case.y, error**2)
    held = np.where(rows > 0, rows, np.nan)
    columns = {
        "n_rows": rows,
        "mse": squares / held,
        "mean": case.bar_sums(case.y, spread**2) / held,
        "bias": case.bar_sums(case.y, error) / held,
        "share": squares / (squares.sum() or 1.0),
    }
    return records(columns)


def _n_beyond(case: Case) -> int:
    """Rows whose response lies beyond the range of y_ref: they are rare, and stand in the outer slices."""
    return int(np.count_nonzero((case.y < case.y_ref.min()) | (case.y > case.y_ref.max())))


def _points(case: Case) -> dict[str, Any]:
    """Return rows to draw: all, or some with as many rare ones as others where there are enough."""
    rows = sample(case.rare, MOST_POINTS)
    return {
        "n_rows": len(case.y),
        "observed": case.y[rows],
        "predicted": case.predicted[rows],
        "rare": case.rare[rows],
        "slice": case.bars(case.y[rows]),
    }


def _intervals(case: Case) -> dict[str, Any] | None:
    """How often intervals hold the response: promised overall, and told where it is rare."""
    if case.forecaster is None:
        return None
    low, high = case.interval
    held, width = (low <= case.y) & (case.y <= high), high - low
    return {
        "coverage": COVERAGE,
        "held": held.mean(),
        "held_rare": held[case.rare].mean() if case.rare.any() else None,
        "width": np.median(width),
        "n_infinite": np.count_nonzero(np.isinf(width)),
    }


def sample(rare: BoolArray, most: int) -> IntArray:
    """Return at most so many rows, ascending: half of them rare, or as many as there are; others fill up."""
    kinds = [np.flatnonzero(rare), np.flatnonzero(~rare)]
    n_rare = min(len(kinds[0]), max(most // 2, most - len(kinds[1])))
    wanted = (n_rare, min(len(kinds[1]), most - n_rare))
    random = np.random.default_rng(SEED)
    chosen = [random.choice(rows, n, replace=False) for rows, n in zip(kinds, wanted, strict=True)]
    return np.sort(np.concatenate(chosen))


PARTS = (
    Part("rows", (), lambda case: ROWS[case.seen]),
    Part("n_rows", (), lambda case: len(case.y)),
    Part("n_beyond", (), _n_beyond),
    Part("scores", (), _scores),
    Part("stated", ("risk_",), _levels.stated),
    Part("slices", (), _slices),
    Part("points", (), _points),
    Part("intervals", ("predict_interval",), _intervals),
    Part("likely", ("predict_distribution",), lambda case: None if case.forecaster is None else likely(case)),
)
