"""skewridge explain --row: one prediction in words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skewridge._messages import compact
from skewridge.advice.explain import explain_row
from skewridge.cli._info import final_step, used_columns
from skewridge.cli._outside import outside_rows
from skewridge.cli._predict import PredictRequest, missing_policy, predicted_inputs, read_rows
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.cli._table import REMEDY, complete_rows
from skewridge.estimators.nearness import nearest_fitted_rows
from skewridge.persist import ModelFile
from skewridge.tables.columns import Column, codes_of, refuse_missing, row_label
from skewridge.tables.out_of_range import Outside

COVERAGE = 0.9
MOST_TOLD = 10  # columns in the table for people
FAR = 0.95  # of rows of the fit are nearer to their neighbours: then there is little to go by


def explain_one(request: PredictRequest, file: ModelFile, target: str | None, row: int, screen: Screen) -> Answer:
    """Tell what a row's prediction is made of, how sure it is, and how near the rows of the fit are."""
    name = target or file.about.get("target")
    name = name if isinstance(name, str) else "the response"
    frame = read_rows(request, file, screen, [name])
    if not 1 <= row <= len(frame):
        raise ValueError(f"--row must be a row of the table, 1 to {len(frame):,}; got {row}.")
    frame, place = _complete(request, file, frame, row - 1, screen)
    inputs = predicted_inputs(request, file, frame)
    with screen.progress():
        told = explain_row(file.model, inputs, place)
    one = inputs.iloc[[place]]
    data = {
        "model": request.model,
        "row": row_label(frame, place),
        "target": name,
        "truth": _truth(frame, name, place),
        **told,
        "interval": _interval(file.model, one),
        "nearness": _nearness(file.model, one),
        "outside": [found.to_dict(lambda _: row_label(frame, place)) for found in outside_rows(file.model, one)],
    }
    return Answer(data, _as_text(data, outside_rows(file.model, one)))


def _complete(request: PredictRequest, file: ModelFile, frame: Any, place: int, screen: Screen) -> tuple[Any, int]:
    """The rows that the model predicts, and the place of the one that is asked for among them."""
    policy, names = missing_policy(request, file), [column.name for column in used_columns(file.model)]
    if policy != "impute":
        refuse_missing(frame[names].iloc[[place]], REMEDY)
    if policy == "refuse":
        refuse_missing(frame[names], REMEDY)
    kept = complete_rows(frame[names], policy, screen)
    return frame[kept], int(np.sum(kept[:place]))


def _truth(frame: Any, target: str, place: int) -> float | None:
    if target not in frame.columns:
        return None
    value = codes_of(Column(target, "number"), frame[target].iloc[[place]])[0]
    return None if np.isnan(value) else float(value)


def _interval(model: Any, one: Any) -> dict[str, float] | None:
    """Where nine of ten responses lie; None of a model that was not calibrated."""
    if not hasattr(final_step(model), "calibration_"):
        return None
    low, high = final_step(model).predict_interval(_numbers(model, one), COVERAGE)
    return {"coverage": COVERAGE, "low": float(low[0]), "high": float(high[0])}


def _nearness(model: Any, one: Any) -> dict[str, float] | None:
    found = nearest_fitted_rows(final_step(model), _numbers(model, one))
    if found is None:
        return None
    return {"distance": float(found.distance[0]), "usual": found.usual, "further_than": float(found.further[0])}


def _numbers(model: Any, one: Any) -> Any:
    """A row as the estimator itself takes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predicting has said it already
        return model[:-1].transform(one) if hasattr(model, "steps") else one


def _as_text(data: dict[str, Any], outside: list[Outside]) -> list[str | Table]:
    between = data["interval"]
    sure = "" if between is None else f", {between['coverage']:.0%} interval {_span(between['low'], between['high'])}"
    truth = "" if data["truth"] is None else f" (in the table: {_text(data['truth'])})"
    off = data["prediction"] - data["average"]
    told: list[str | Table] = [
        f"row {data['row']}: {data['target']} {_text(data['prediction'])}{sure}{truth}",
        f"{_text(off, sign=True)} from {_text(data['average'])}, the mean prediction of {data['n_rows']} other rows",
    ]
    for sign, words in ((1, "pushed up by"), (-1, "pushed down by")):
        pushing = [one for one in data["columns"][:MOST_TOLD] if sign * one["effect"] > 2 * one["se"]]
        if pushing:
            told.append(f"{words} {', '.join(map(_column, pushing))}")
    total = sum(one["effect"] for one in data["columns"])
    told.append(
        f"Each column alone, compared with its values in other rows; {_text(total, sign=True)} in sum. Columns that "
        "matter together count twice or not at all, and none need be a cause."
    )
    told += [_near(data["nearness"])] if data["nearness"] else []
    return [*told, *(f"outside the range of the fit: {found.as_text(lambda _: data['row'])}" for found in outside)]


def _text(value: float, *, sign: bool = False) -> str:
    return compact(value, sign=sign, digits=4)  # intervals may be narrow


def _span(low: float, high: float) -> str:
    return f"{_text(low)} to {_text(high)}"


def _column(one: dict[str, Any]) -> str:
    value = "missing" if one["value"] is None else one["value"]
    return f"{one['name']} {value} ({_text(one['effect'], sign=True)})"


def _near(found: dict[str, float]) -> str:
    if not found["distance"]:
        return "nearest row of the fit: the same in every column that matters"
    share = found["further_than"]
    times = f"{found['distance'] / found['usual']:.2g} times as far as is usual in the fit; " if found["usual"] else ""
    text = f"nearest row of the fit: {times}{share:.0%} of its rows have a nearer neighbour"
    return f"{text}, so that there is little to go by" if share >= FAR else text
