"""Data of pictures as plain dicts: drawn by :mod:`skewridge.plots`, or by anything else that reads JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import FloatArray
from skewridge._validation import check_vector, format_bytes
from skewridge.advice.plan import FitPlan
from skewridge.metrics import RARE_SHARE, rare_region, rare_slices, slice_mse
from skewridge.response.slices import Slices, slice_edges, slice_labels

MOST_POINTS = 5_000  # drawn of a scatter; rare ones are all drawn
MOST_FEATURES = 20


def slice_bars(slices: Slices) -> dict[str, Any]:
    """Rows of every slice before and after oversampling, and which slices are rare.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.response.slices import slice_response
    >>> bars = slice_bars(slice_response(np.array([0.0, 0.0, 0.0, 9.0]), 3))
    >>> bars["counts"], bars["oversampled"], bars["rare"]
    ([3, 0, 1], [3, 0, 3], [False, True, True])
    """
    return plain(
        {
            "edges": finite_edges(slices.edges),
            "counts": slices.counts,
            "copies": slices.copies,
            "oversampled": slices.counts * slices.copies,
            "rare": rare_slices(slices.counts) if len(slices.occupied) > 1 else np.zeros(len(slices), dtype=bool),
        }
    )


def node_curves(model: Any, X: Any, truth: Any = None) -> dict[str, Any]:
    """Every node's estimate and their average along one feature; X is (n, 1), and the truth its values there."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(f"Node estimates are drawn along one feature: X must have shape (n, 1); got {X.shape}.")
    order = np.argsort(X[:, 0], kind="stable")
    X = X[order]
    known = None if truth is None else check_vector("truth", truth, len(X))[order]
    return plain({"x": X[:, 0], "nodes": model.predict_nodes(X), "average": model.predict(X), "truth": known})


def center_tuning(tuning: Any) -> Any:
    """The record, or that of level 1 where there are two; of several outputs the first."""
    first = tuning[0] if isinstance(tuning, tuple) else tuning
    return getattr(first, "level_one", first)


def tuning_curves(tuning: Any) -> dict[str, Any]:
    """The criterion along penalties (or bandwidths, where only those were searched), one curve a bandwidth.

    Of two levels, that of level 1.
    """
    tuning = center_tuning(tuning)
    if tuning is None:
        raise ValueError("There is no tuning to draw: rows were too few for level 1.")
    values = np.atleast_2d(tuning.values)
    if values.size == 0:
        raise ValueError("There is no tuning to draw: nothing was searched.")
    margins = np.atleast_2d(tuning.margins)
    bandwidths = getattr(tuning, "bandwidths", np.full(len(values), np.nan))
    chosen = getattr(tuning, "bandwidth", None)
    told = {"criterion": tuning.criterion, "scoring": tuning.scoring, "cost": tuning.cost}
    if len(tuning.penalties) == 1:
        curve = {"name": "", "values": values[:, 0], "margins": margins[:, 0], "chosen": True}
        return plain({**told, "along": "bandwidth", "x": bandwidths, "choice": chosen, "curves": [curve]})
    curves = [
        {
            "name": "" if np.isnan(bandwidth) else f"{bandwidth:.3g}",
            "values": value,
            "margins": margin,
            "chosen": bool(np.isnan(bandwidth) or bandwidth == chosen),
        }
        for bandwidth, value, margin in zip(bandwidths, values, margins, strict=True)
    ]
    return plain({**told, "along": "penalty", "x": tuning.penalties, "choice": tuning.penalty, "curves": curves})


def search_points(tuning: Any) -> dict[str, Any]:
    """Candidates of level 1: cross-validated risk by number of centres, adaptive or not."""
    tuning = center_tuning(tuning)
    if not getattr(tuning, "tried", None):
        raise ValueError(
            "There is no search to draw: nothing was tried, or the model is neither SkewRidge nor AdaptiveKernelRidge."
        )
    names = ("n_centers", "risk", "adapt", "bandwidth", "kernel", "features", "penalty")
    return plain(
        {
            **{name: [tried[name] for tried in tuning.tried] for name in names},
            "chosen": {name: tuning.chosen[name] for name in names},
        }
    )


def slice_errors(y_true: Any, y_pred: Any, y_ref: Any = None, slices: Any = "scott") -> dict[str, Any]:
    """Root mean squared error and rows of every slice of the training response, and overall.

    Examples
    --------
    >>> errors = slice_errors([0, 0, 8, 9], [0, 1, 9, 11], slices=2)
    >>> errors["rows"], [round(e, 3) for e in errors["rmse"]]
    ([2, 2], [0.707, 1.581])
    """
    true = check_vector("y_true", y_true)
    predicted = check_vector("y_pred", y_pred, len(true))
    ref = true if y_ref is None else check_vector("y_ref", y_ref)
    edges = slice_edges(ref, slices)
    many = len(edges) - 1
    return plain(
        {
            "edges": finite_edges(edges),
            "rows": np.bincount(slice_labels(true, edges), minlength=many),
            "rmse": np.sqrt(slice_mse(true, predicted, y_ref=ref, slices=slices)),
            "rare": rare_slices(np.bincount(slice_labels(ref, edges), minlength=many)) if many > 1 else [False],
            "overall": np.sqrt(np.mean((true - predicted) ** 2)),
        }
    )


def prediction_points(
    y_true: Any, y_pred: Any, y_ref: Any = None, slices: Any = "scott", share: float = RARE_SHARE
) -> dict[str, Any]:
    """Observed and predicted values, which of them are rare, and the errors; at most 5,000 common ones are kept."""
    true = check_vector("y_true", y_true)
    predicted = check_vector("y_pred", y_pred, len(true))
    ref = true if y_ref is None else check_vector("y_ref", y_ref)
    rare = rare_region(true, ref, slices=slices, share=share)
    errors = (true - predicted) ** 2
    common = np.flatnonzero(~rare)
    shown = np.sort(np.r_[np.flatnonzero(rare), common[:: max(1, -(-len(common) // MOST_POINTS))]])
    return plain(
        {
            "observed": true[shown],
            "predicted": predicted[shown],
            "rare": rare[shown],
            "rmse": np.sqrt(errors.mean()),
            "rare_rmse": np.sqrt(errors[rare].mean()) if rare.any() else None,
            "n_rows": len(true),
            "n_rare": int(rare.sum()),
        }
    )


def importance_bars(importances: Any, names: Any = None, rare: Any = None) -> dict[str, Any]:
    """Features by their importance, the largest first, at most 20 of them; ``rare`` is that where y is rare."""
    values = check_vector("importances", importances)
    names = [f"x{i}" for i in range(len(values))] if names is None else [str(name) for name in names]
    if len(names) != len(values):
        raise ValueError(f"feature_names must hold one name a feature: expected {len(values)}, got {len(names)}.")
    order = np.argsort(-values, kind="stable")[:MOST_FEATURES]
    bars = {"names": [names[i] for i in order], "values": values[order], "n_features": len(values)}
    return plain(bars if rare is None else {**bars, "rare": check_vector("rare", rare, len(values))[order]})


def cost_bars(planned: FitPlan) -> dict[str, Any]:
    """Operations and memory of every way of fitting, and the memory there is."""
    costs = [{**plain(cost), "memory": format_bytes(cost.n_bytes)} for cost in planned.costs]
    return plain({"costs": costs, "allowed": planned.allowed})


def finite_edges(edges: FloatArray) -> FloatArray:
    """Edges with infinite outer ones drawn in: a slice without an end is drawn as wide as the median slice."""
    inner = edges[np.isfinite(edges)]
    width = float(np.median(np.diff(inner))) if len(inner) > 1 else 1.0
    ends = (inner[0] - width, inner[-1] + width) if len(inner) else (0.0, 1.0)
    return np.nan_to_num(edges, neginf=ends[0], posinf=ends[1])
