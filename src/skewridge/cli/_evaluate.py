"""skewridge evaluate: the overall error and that of the rare region, always side by side."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skewridge._messages import in_full
from skewridge._typing import FloatArray
from skewridge.cli._fitted_rows import note_fitted_rows
from skewridge.cli._info import response_rows
from skewridge.cli._predict import PredictRequest, missing_policy, predict_rows, read_rows
from skewridge.cli._roles import TAKEN_AS, roles_text
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.cli._table import with_target
from skewridge.metrics import balanced_mse, rare_region, sera
from skewridge.persist import ModelFile, read_model
from skewridge.tables.columns import check_columns

MEASURES = ("rows", "mse", "rmse", "mae", "bias", "r2")


def evaluate_table(request: PredictRequest, target: str | None, screen: Screen) -> Answer:
    """Read, predict, compare."""
    file = read_model(request.model)
    target = target_of(request.model, file, target)
    frame, y, prediction = predicted_table(request, file, target, screen)
    done = ~np.isnan(prediction)
    data = compare(y[done], prediction[done], reference_response(file, y, screen))
    data["n_fitted_rows"] = note_fitted_rows(request.model, file, frame[done], y[done], screen)
    said = {name: file.about[name] for name in TAKEN_AS if name in file.about}
    return Answer(
        {"model": request.model, "target": target, **said, **data}, [*_as_text(target, data), *roles_text(said)]
    )


def target_of(name: str, file: ModelFile, target: str | None) -> str:
    """The column with the truth: the one that is named, else the one that was fitted to."""
    found = target or file.about.get("target")
    if not isinstance(found, str):
        raise ValueError(f"{name} does not say what it predicts: name the column by --target.")
    return found


def predicted_table(
    request: PredictRequest, file: ModelFile, target: str, screen: Screen
) -> tuple[Any, FloatArray, FloatArray]:
    """Read the rows that have a response; return them, the response, and predictions, nan where there is none."""
    frame = read_rows(request, file, screen, [target])
    check_columns([target], frame.columns)
    frame, y = with_target(frame, target, missing_policy(request, file), screen)
    prediction, _ = predict_rows(request, file, frame, False, screen)
    return frame, y, prediction


def compare(y: FloatArray, prediction: FloatArray, reference: FloatArray) -> dict[str, Any]:
    """Return errors overall, where y is rare and where the prediction is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slices without a row
        by_truth, by_prediction = rare_region(y, reference), rare_region(prediction, reference)
        whole = {
            "balanced_mse": balanced_mse(y, prediction, y_ref=reference),
            "sera": _sera(y, prediction, reference),
        }
    return {
        "overall": measures(y, prediction),
        "rare": measures(y[by_truth], prediction[by_truth]),
        "rare_by_prediction": measures(y[by_prediction], prediction[by_prediction]),
        **{name: value if np.isfinite(value) else None for name, value in whole.items()},
    }


def _sera(y: FloatArray, prediction: FloatArray, reference: FloatArray) -> float:
    """The squared errors weighted by relevance; nan where nothing is relevant, since no response stands out."""
    try:
        return float(sera(y, prediction, y_ref=reference))
    except ValueError:
        return float("nan")


def measures(y: FloatArray, prediction: FloatArray) -> dict[str, float | None]:
    """Return the usual errors; None where there are no rows to tell.

    Examples
    --------
    >>> import numpy as np
    >>> measures(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
    {'rows': 2, 'mse': 0.5, 'rmse': 0.7071067811865476, 'mae': 0.5, 'bias': 0.5, 'r2': 0.5}
    """
    if not len(y):
        return {"rows": 0, **dict.fromkeys(MEASURES[1:])}
    error = prediction - y
    mse, variance = float(np.mean(error**2)), float(np.var(y))
    return {
        "rows": len(y),
        "mse": mse,
        "rmse": float(np.sqrt(mse)),
        "mae": float(np.mean(np.abs(error))),
        "bias": float(np.mean(error)),
        "r2": 1.0 - mse / variance if variance > 0 else None,
    }


def reference_response(file: ModelFile, y: FloatArray, screen: Screen) -> FloatArray:
    """The response that decides what is rare: the one that was fitted to, where the file has it."""
    if response_rows(file):
        return file.about["response"]
    screen.note("The model file does not hold the training response: what is rare is decided by this table.")
    return y


def _as_text(target: str, data: dict[str, Any]) -> list[str | Table]:
    parts = ("overall", "rare", "rare_by_prediction")
    rows = [[name, *(in_full(data[part][name]) for part in parts)] for name in MEASURES]
    table = Table(["", "overall", f"rare {target}", "rare prediction"], rows)
    return [
        table,
        f"balanced mse {in_full(data['balanced_mse'])}, sera {in_full(data['sera'])}",
        "Rare: the 2% rarest values of the training response. bias: mean of prediction minus truth.",
    ]
