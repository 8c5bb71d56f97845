"""The cost of the fit, beside other ways to fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge.advice.plan import plan
from skewridge.nodes.planning import make_plan
from skewridge.reporting import _levels
from skewridge.reporting._case import Case, Part


def _nodes(case: Case) -> dict[str, Any]:
    """Of the nodes' solves, every setting known."""
    fitted = case.fitted
    shared = getattr(fitted, "local_solver", "exact") == "nystroem"
    told = make_plan(fitted.slices_, fitted.n_nodes_, fitted.n_features_in_, fitted.max_per_slice, shared=shared)
    return {"n_flops": told.n_flops, "n_bytes": told.n_bytes, "n_rows": told.n_rows}


def _centers(case: Case) -> dict[str, Any] | None:
    """Of a pass over the rows with every setting known, where it is known how many rows there were."""
    if not case.knows_training:
        return None
    settings = {"n_nodes": 1, "slices": 1, "n_centers": len(case.fitted.center_rows_)}
    told = plan(case.y_ref, n_features=case.fitted.n_features_in_, **settings)
    cost = next(cost for cost in told.costs if cost.fit.startswith("AdaptiveKernelRidge"))
    return {"n_flops": cost.n_flops, "n_bytes": cost.n_bytes, "n_rows": told.n_rows}


def _prediction(case: Case) -> dict[str, Any]:
    """Kernel values for one prediction, and bytes of the points and coefficients that it needs."""
    points = getattr(case.fitted, "centers_", None)
    points = case.fitted.X_fit_ if points is None else points
    return {"n_values": len(points), "n_bytes": points.nbytes + np.asarray(case.fitted.dual_coef_).nbytes}


def _ways(case: Case) -> list[dict[str, Any]] | None:
    """Return what each way of fitting needs on the training response; the nodes and centres are the model's."""
    if not case.knows_training:
        return None
    fitted = case.fitted
    settings = {name: getattr(fitted, name) for name in ("oversampling", "max_per_slice") if hasattr(fitted, name)}
    n_centers = getattr(fitted, "n_centers_", "auto")
    size = {"n_features": fitted.n_features_in_, "n_nodes": getattr(fitted, "n_nodes_", "auto")}
    told = plan(case.y_ref, slices=case.rule, n_centers=n_centers, **size, **settings)
    return [{name: value for name, value in vars(cost).items() if name != "seconds"} for cost in told.costs]


PARTS = (
    Part("fit", ("slices_.copies", "n_nodes_", "max_per_slice", "dual_coef_", "n_features_in_"), _nodes),
    Part("fit", ("centers_", "center_rows_", "n_features_in_"), _centers),
    Part("fit", ("loo_prediction_", "n_features_in_"), _levels.fit_cost),
    Part("n_fits", ("tuning_.n_fits",), lambda case: case.fitted.tuning_.n_fits),
    Part("prediction", ("dual_coef_", "X_fit_"), _prediction),
    Part("prediction", ("dual_coef_", "centers_"), _prediction),
    Part("prediction", ("loo_prediction_", "n_features_in_"), _levels.prediction_cost),
    Part("ways", ("n_features_in_",), _ways),
)
