"""Data of pictures of distributions as plain dicts; models need ``predict_quantiles`` and ``predict_exceedance``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import FloatArray
from skewridge._validation import check_integer, check_real, check_vector, check_weights
from skewridge.metrics import pit, reliability
from skewridge.plots.data import MOST_POINTS

FAN = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
STEPS = 200  # of a fan, and of return levels
BLOCK = 5_000  # rows whose exceedances are in memory together


def reliability_points(
    y_true: Any, probability: Any, threshold: float, *, bins: int = 10, by: str = "rows", sample_weight: Any = None
) -> dict[str, Any]:
    """Stated and observed frequencies of y > threshold, and where observed ones of an honest statement would lie.

    ``low`` and ``high`` are two standard errors about what was stated.

    Examples
    --------
    >>> points = reliability_points([1, 2, 9, 1, 8, 9], [0.1, 0.1, 0.1, 0.7, 0.7, 0.7], 5.0, bins=2)
    >>> [round(value, 2) for value in points["stated"]], [round(value, 2) for value in points["observed"]]
    ([0.1, 0.7], [0.33, 0.67])
    """
    found = reliability(y_true, probability, threshold, bins=bins, by=by, sample_weight=sample_weight)
    margin = 2.0 * np.sqrt(found.stated * (1.0 - found.stated) / found.n_rows)
    return plain(
        {
            **found._asdict(),
            "low": np.maximum(found.stated - margin, 0.0),
            "high": np.minimum(found.stated + margin, 1.0),
            "threshold": float(threshold),
            "expected": np.dot(found.n_rows, found.stated),
            "counted": np.dot(found.n_rows, found.observed),
        }
    )


def pit_bars(
    y_true: Any, quantiles: Any, levels: Any, *, bins: int = 20, random_state: Any = 0, sample_weight: Any = None
) -> dict[str, Any]:
    """Histogram of F(y), scaled so that honest quantiles give bars of height 1, within two standard errors.

    Examples
    --------
    >>> bars = pit_bars([0.5, 1.5, 2.5, 3.5], [[1.0, 2.0, 3.0]] * 4, [0.25, 0.5, 0.75], bins=4)
    >>> bars["heights"]
    [1.0, 1.0, 1.0, 1.0]
    """
    many = check_integer("bins", bins, 2)
    values = pit(y_true, quantiles, levels, random_state=random_state)
    weights, kept = check_weights(sample_weight, len(values))
    rows, edges = np.histogram(values[kept], many, (0.0, 1.0), weights=weights)
    margin = 2.0 * np.sqrt((many - 1) / weights.sum())
    band = {"low": max(1.0 - margin, 0.0), "high": 1.0 + margin}
    return plain({"edges": edges, "heights": rows * many / weights.sum(), "n_rows": weights.sum(), **band})


def quantile_fan(
    model: Any, X: Any, feature: Any = 0, *, levels: Sequence[float] = FAN, y: Any = None, steps: int = STEPS
) -> dict[str, Any]:
    """Predicted quantiles along one feature, all others at their medians (categories at the most frequent one).

    ``feature`` is a column's place, or its name in a frame. With y the rows themselves are kept too, at most 5,000;
    their other features are not at the medians, so that a fan need not cover them.
    """
    column = _column(X, feature)
    grid = np.linspace(column.min(), column.max(), check_integer("steps", steps, 2))
    asked = np.sort(np.atleast_1d(np.asarray(levels, dtype=np.float64)))
    found = _of_first_output(model.predict_quantiles(_typical_rows(X, {feature: grid}), asked), 2)
    rows = None
    if y is not None:
        response = check_vector("y", y, len(column))
        some = slice(None, None, max(1, -(-len(column) // MOST_POINTS)))
        rows = {"x": column[some], "y": response[some]}
    told = {"feature": _name(feature), "x": grid, "levels": asked}
    return plain({**told, "quantiles": found.T, "rows": rows})


def exceedance_grid(
    model: Any, X: Any, features: tuple[Any, Any] = (0, 1), *, threshold: float, steps: int = 60
) -> dict[str, Any]:
    """P(y > threshold) over two features, all others at their medians (categories at the most frequent one)."""
    if len(features) != 2 or features[0] == features[1]:
        raise ValueError(f"features must be two different columns; got {features!r}.")
    across, along = (_column(X, feature) for feature in features)
    many = check_integer("steps", steps, 2)
    xs, ys = (np.linspace(values.min(), values.max(), many) for values in (across, along))
    first, second = (values.ravel() for values in np.meshgrid(xs, ys))
    rows = _typical_rows(X, {features[0]: first, features[1]: second})
    height = check_real("threshold", threshold, -np.inf)
    found = _of_first_output(model.predict_exceedance(rows, height), 1)
    shown = slice(None, None, max(1, -(-len(across) // MOST_POINTS)))
    return plain(
        {
            "features": [_name(feature) for feature in features],
            "threshold": height,
            "x": xs,
            "y": ys,
            "probability": found.reshape(many, many),
            "rows": {"x": across[shown], "y": along[shown]},
        }
    )


def return_levels(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    thresholds: Any = None,
    band: tuple[Any, Any] | None = None,
    rows_per_period: float = 1.0,
) -> dict[str, Any]:
    """Levels, and after how many rows like those of X each is exceeded once: 1 / mean of P(y > level).

    Parameters
    ----------
    model : an estimator with ``predict_exceedance``
    X : rows that stand for those to come
    y : (n,) array, optional
        Observed responses, to be drawn at (n + 1) / rank.
    thresholds : (T,) array, optional
        The levels; by default from the median prediction to the largest 0.999 quantile.
    band : (low, high), two (T,) arrays, optional
        Ends of the uncertainty of every threshold: levels that might be exceeded as often. It needs thresholds.
    rows_per_period : float, default=1
        How many rows a year, say, has: periods are then in years.
    """
    levels = _reach(model, X) if thresholds is None else check_vector("thresholds", thresholds)
    many = check_real("rows_per_period", rows_per_period, 0, open_low=True)
    rates = _mean_exceedance(model, X, levels)
    seen = rates > 0
    told: dict[str, Any] = {"level": levels[seen], "period": 1.0 / (rates[seen] * many), "band": None, "rows": None}
    if band is not None:
        if thresholds is None:
            raise ValueError("band needs thresholds: its ends belong to levels that you choose. Pass both.")
        told["band"] = [check_vector("band", end, len(levels))[seen] for end in band]
    if y is not None:
        response = np.sort(check_vector("y", y))[::-1]
        periods = (len(response) + 1.0) / np.arange(1, len(response) + 1) / many
        told["rows"] = {"level": response[:MOST_POINTS], "period": periods[:MOST_POINTS]}
    return plain(told)


def _reach(model: Any, X: Any) -> FloatArray:
    """Levels from the median prediction to the largest 0.999 quantile."""
    found = _of_first_output(model.predict_quantiles(X, np.array([0.5, 0.999])), 2)
    low, high = float(np.median(found[:, 0])), float(np.max(found[:, 1]))
    if not np.isfinite([low, high]).all():
        raise ValueError("The 0.999 quantile is not finite, so that levels cannot be chosen. Pass thresholds.")
    return np.linspace(low, high, STEPS)


def _mean_exceedance(model: Any, X: Any, levels: FloatArray) -> FloatArray:
    """The mean of P(y > level) over rows, block by block."""
    n_rows, total = len(X), np.zeros(len(levels))
    for start in range(0, n_rows, BLOCK):
        block = X[start : start + BLOCK]
        total += _of_first_output(model.predict_exceedance(block, levels), 2).sum(axis=0)
    return total / n_rows


def _of_first_output(values: Any, n_dims: int) -> FloatArray:
    """Predictions of the first output: (n, p, ...) becomes (n, ...)."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, 0] if array.ndim > n_dims else array


def _column(X: Any, feature: Any) -> FloatArray:
    """A column of an array by place, of a frame by name or place."""
    names = list(getattr(X, "columns", range(np.shape(X)[1])))
    if feature not in names and not (isinstance(feature, int) and 0 <= feature < len(names)):
        listed = ", ".join(str(name) for name in names[:10])
        raise ValueError(f"feature must be a column of X, by name or place; got {feature!r}. There are {listed}.")
    if not hasattr(X, "iloc"):
        return check_vector(f"column {feature}", np.asarray(X)[:, feature])
    return check_vector(f"column {feature}", X[feature] if feature in names else X.iloc[:, feature])


def _typical_rows(X: Any, changed: dict[Any, FloatArray]) -> Any:
    """Rows at the medians of X but for the columns that are given."""
    n_rows = len(next(iter(changed.values())))
    if not hasattr(X, "iloc"):
        rows = np.tile(np.median(np.asarray(X, dtype=np.float64), axis=0), (n_rows, 1))
        for place, values in changed.items():
            rows[:, place] = values
        return rows
    rows = X.iloc[np.zeros(n_rows, dtype=np.int64)].reset_index(drop=True)
    for name in X.columns:
        numeric = X[name].dtype.kind in "iuf"
        rows[name] = X[name].median() if numeric else X[name].mode().iloc[0]
    for feature, values in changed.items():
        rows[feature if feature in X.columns else X.columns[feature]] = values
    return rows


def _name(feature: Any) -> str:
    return feature if isinstance(feature, str) else f"x{feature}"
