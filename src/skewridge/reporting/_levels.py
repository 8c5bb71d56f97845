"""What SkewRidge and LocalKernelRidge tell: stated errors, learned scales, cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._messages import row_name
from skewridge.plots.data import importance_bars
from skewridge.reporting._case import Case
from skewridge.two_levels.planning import bytes_per_row, levels_bytes, levels_flops


def of_output(value: Any, case: Case) -> Any:
    """One output's part of what is a tuple where there are several."""
    return value[case.output or 0] if isinstance(value, tuple) and not case.fitted._single else value


def stated(case: Case) -> dict[str, Any]:
    """The error that the model states for rows it has not seen, with standard errors."""
    risk = of_output(case.fitted.risk_, case)
    return {name: getattr(risk, name) for name in ("mse", "mse_error", "rare_mse", "rare_error")}


def dominant_row(case: Case) -> str | None:
    """A caution where one row decides the stated error."""
    risk = of_output(case.fitted.risk_, case)
    if risk.dominant_row is None:
        return None
    return (
        f"Training row {row_name(risk.dominant_row)} holds {risk.dominant_share:.0%} of the squared error that "
        "the model states: that error is decided by one row. Correct or drop it if it is wrong."
    )


def scales(case: Case) -> dict[str, Any] | None:
    """The largest learned scales, the largest first, and the columns that no fit sees."""
    learned = np.asarray(case.fitted.feature_scale_)
    own = learned[:, case.output or 0] if learned.ndim == 2 else learned
    if own.shape != (len(case.features),):
        return None
    unused = case.fitted.dropped_features_
    dropped = [case.features[name] if isinstance(name, int) else name for name in unused]
    return {**importance_bars(own, case.features), "dropped": dropped}


def fit_cost(case: Case) -> dict[str, Any]:
    """Of the whole fit, learning included, on one thread."""
    size = _size(case)
    return {"n_flops": levels_flops(size), "n_bytes": levels_bytes(size), "n_rows": size.n_rows}


def prediction_cost(case: Case) -> dict[str, Any]:
    """Kernel values for one prediction, on average over the training rows; bytes of the model."""
    size = _size(case)
    level_one = of_output(getattr(case.fitted, "global_", None), case)
    centers = 0 if level_one is None else len(level_one.centers)
    values = centers + sum(_values(model.cells) for model in _local_models(case))
    return {"n_values": round(values), "n_bytes": size.n_rows * bytes_per_row(size)}


def _values(cells: Any) -> float:
    """Rows in a row's cells, on average over the training rows."""
    sizes = np.diff(cells.rows.starts).astype(np.float64)
    return float(np.sum(sizes**2) / max(1, len(cells.points)))


def _local_models(case: Case) -> tuple[Any, ...]:
    if hasattr(case.fitted, "locals_"):
        return tuple(of_output(case.fitted.locals_, case))
    return () if case.fitted._model is None else (case.fitted._model,)


def _size(case: Case) -> Any:
    predictions = case.fitted.loo_prediction_
    n_outputs = 1 if predictions.ndim == 1 else predictions.shape[1]
    return case.fitted._size(len(predictions), case.fitted.n_features_in_, n_outputs)
