"""The method of a fit: parameters given and chosen, nodes or centres, and how they were chosen."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge.plots.data import center_tuning, importance_bars, tuning_curves
from skewridge.reporting import _levels
from skewridge.reporting._case import Case, Part
from skewridge.reporting._fitted_rows import SUPPORT

LONGEST = 200  # characters of a value that are shown
SINGLE = (str, int, float, np.generic)  # what is shown as it is


def _estimator(case: Case) -> dict[str, Any]:
    return {
        "name": type(case.fitted).__name__,
        "within": None if case.fitted is case.model else type(case.model).__name__,
        "summary": (type(case.fitted).__doc__ or "").strip().split("\n")[0],
    }


def _settings(case: Case) -> list[dict[str, Any]]:
    """Return every parameter as it was asked for, what a fit took for it, and what else a fit found."""
    given = case.fitted.get_params(deep=False)
    found = {name: value for name, value in vars(case.fitted).items() if name.endswith("_") and name[0] != "_"}
    asked = [{"name": n, "asked": shown(v), "taken": _taken(found.pop(f"{n}_", None))} for n, v in given.items()]
    single = {name: value for name, value in found.items() if isinstance(value, SINGLE)}
    return asked + [{"name": name, "asked": None, "taken": value} for name, value in sorted(single.items())]


def shown(value: Any) -> Any:
    """Return a single value as it is, and anything else as text that is not too long."""
    if value is None or isinstance(value, SINGLE):
        return value
    text = value.__name__ if callable(value) and hasattr(value, "__name__") else " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _taken(value: Any) -> Any:
    """A single value, the span of several numbers, or nothing."""
    if isinstance(value, SINGLE):
        return value
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind != "f" or not value.size:
        return None
    return f"{value.min():.3g} to {value.max():.3g} ({value.size} values)"


def _slices(case: Case) -> dict[str, Any]:
    """How the response was cut for the fit; copies a row, on average, in the slices of the report."""
    slices = case.fitted.slices_
    told = {
        "n_slices": len(slices),
        "n_occupied": len(slices.occupied),
        "n_rows": slices.n_rows,
        "n_oversampled": slices.n_oversampled,
        "most_copies": slices.copies.max(),
    }
    if case.knows_training:
        told["copies"] = _means(case, slices.copies[slices.labels].astype(np.float64))
    return told


def _nodes(case: Case) -> dict[str, Any]:
    sizes = case.fitted.allocation_.sizes
    return {
        "n_nodes": len(sizes),
        "n_distinct": sizes.sum(),
        "smallest": sizes.min(),
        "median": np.median(sizes),
        "largest": sizes.max(),
    }


def _support(name: str, case: Case) -> dict[str, Any]:
    """The rows that span the estimate, their number, and their number in every slice of the report."""
    rows = getattr(case.fitted, name)
    told: dict[str, Any] = {"kind": SUPPORT[name], "n_rows": len(rows)}
    if case.knows_training:
        told["per_slice"] = case.bar_sums(case.y_ref[rows])
    return told


def _path(case: Case) -> dict[str, Any] | None:
    """The criterion along the penalties, a curve a bandwidth; along the bandwidths where the penalty was given."""
    tuning = center_tuning(case.fitted.tuning_)
    return tuning_curves(tuning) if np.count_nonzero(np.isfinite(tuning.values)) > 1 else None


def _tried(case: Case) -> list[dict[str, Any]] | None:
    """The candidates in order, with the held-out risk of each."""
    tried = center_tuning(case.fitted.tuning_).tried
    return [{name: shown(value) for name, value in one.items()} for one in tried] or None


def _importances(case: Case) -> dict[str, Any] | None:
    """The most important features, the largest first, and what they are worth where the response is rare."""
    values, rare = case.fitted.feature_importances_, getattr(case.fitted, "rare_importances_", None)
    return importance_bars(values, case.features, rare) if np.shape(values) == (len(case.features),) else None


def _means(case: Case, values: FloatArray) -> FloatArray:
    """Means over the training rows in every slice of the report."""
    rows = case.bar_sums(case.y_ref)
    return np.divide(case.bar_sums(case.y_ref, values), rows, out=np.zeros(len(rows)), where=rows > 0)


PARTS = (
    Part("estimator", (), _estimator),
    Part("summary", ("_summary",), lambda case: case.fitted._summary()),
    Part("settings", ("get_params",), _settings),
    Part("slices", ("slices_.copies", "slices_.labels"), _slices),
    Part("nodes", ("allocation_.sizes",), _nodes),
    *(Part("support", (name,), partial(_support, name)) for name in SUPPORT),
    Part("path", ("tuning_.penalties", "tuning_.values", "tuning_.margins"), _path),
    Part("tried", ("tuning_.tried",), _tried),
    Part("path", ("tuning_.level_one.values",), _path),
    Part("tried", ("tuning_.level_one.tried",), _tried),
    Part("scales", ("risk_", "feature_scale_", "dropped_features_"), _levels.scales),
    Part("importances", ("feature_importances_",), _importances),
)
