"""skewridge explain: what drives a model, and one prediction in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._messages import compact
from skewridge.advice.explain import dependence_in_words, drivers
from skewridge.cli._evaluate import predicted_table, reference_response, target_of
from skewridge.cli._explain_row import explain_one
from skewridge.cli._fitted_rows import note_fitted_rows
from skewridge.cli._info import columns_of, final_step
from skewridge.cli._predict import PredictRequest, predicted_inputs
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.persist import ModelFile, read_model

MOST_TOLD = 15  # columns in the table for people


def explain_model(request: PredictRequest, target: str | None, row: int | None, screen: Screen) -> Answer:
    """Tell what drives a model; of one row what drives its prediction."""
    file = read_model(request.model)
    if row is not None:
        if not request.data:
            raise ValueError("--row is a row of a table: skewridge explain MODEL DATA --row 7.")
        return explain_one(request, file, target, row, screen)
    if not request.data:
        return _of_the_fit(request.model, file)
    wanted = target_of(request.model, file, target)
    frame, y, prediction = predicted_table(request, file, wanted, screen)
    done = ~np.isnan(prediction)
    note_fitted_rows(request.model, file, frame[done], y[done], screen)
    inputs = predicted_inputs(request, file, frame[done])
    with screen.progress():
        told = drivers(file.model, inputs, y[done], y_ref=reference_response(file, y[done], screen))
    words = [dependence_in_words(wanted, partial, told["rmse"]) for partial in told["partial"]]
    return Answer({"model": request.model, "target": wanted, **told, "words": words}, _as_text(told, words))


def _as_text(told: dict[str, Any], words: list[str]) -> list[str | Table]:
    headings = ["column", "share", "share where rare", "RMSE rises by", "by, where rare"]
    rows = [
        [
            one["name"],
            *(_percent(one[name]) for name in ("share", "rare_share")),
            *(_number(one[name]) for name in ("rise", "rare_rise")),
        ]
        for one in told["columns"][:MOST_TOLD]
    ]
    idle = [one["name"] for one in told["columns"] if one["idle"]]
    return [
        Table(headings, rows),
        *words,
        *([f"could be left out: {', '.join(idle)}"] if idle else []),
        f"Share: of the rise of squared errors when a column takes the values of other rows; {told['n_rows']:,} rows, "
        f"{told['n_rare']:,} of them rare. Directions are means over rows, and no causes.",
    ]


def _of_the_fit(name: str, file: ModelFile) -> Answer:
    """What the fit itself has measured, by column; or raise for a model that has not."""
    estimator = final_step(file.model)
    overall, rare = (getattr(estimator, f"{kind}_importances_", None) for kind in ("feature", "rare"))
    if overall is None or rare is None:
        raise ValueError(
            f"{name} holds no importances: name a table with the target, best of rows that the model has not seen, as "
            f"in skewridge explain {name} test.csv."
        )
    owners = [column.name for column in columns_of(file.model) for _ in column.features]
    totals: dict[str, list[float]] = {owner: [0.0, 0.0] for owner in owners}
    for owner, one, other in zip(owners, overall.tolist(), rare.tolist(), strict=True):
        totals[owner] = [totals[owner][0] + one, totals[owner][1] + other]
    columns: list[dict[str, Any]] = [
        {"name": owner, "share": one, "rare_share": other}
        for owner, (one, other) in sorted(totals.items(), key=lambda item: -item[1][0])
    ]
    rows = [[one["name"], _percent(one["share"]), _percent(one["rare_share"])] for one in columns[:MOST_TOLD]]
    said = f"Measured at fit, on rows left out. With a table there are directions: skewridge explain {name} test.csv"
    return Answer({"model": name, "columns": columns}, [Table(["column", "share", "where rare"], rows), said])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _number(value: float | None) -> str:
    return "-" if value is None else compact(value, digits=4)
