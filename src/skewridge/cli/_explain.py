"""skewridge explain: what drives a model, and one prediction in words."""

from __future__ import annotations

import numpy as np

from skewridge._messages import compact
from skewridge._typing import Data
from skewridge.advice.explain import dependence_in_words, drivers, explain_row
from skewridge.cli._evaluate import evaluate, reference_response
from skewridge.cli._predict import SavedModel
from skewridge.cli._screen import Answer, Table
from skewridge.cli._tables import REMEDY
from skewridge.estimators.local import nearest_fitted_rows
from skewridge.tables.columns import Column, codes_of, refuse_missing, row_label
from skewridge.tables.out_of_range import outside_fit

MOST_COLUMNS, MOST_PUSHING = 15, 10  # columns in the table for people; those that are looked at to explain a row
COVERAGE = 0.9
FAR = 0.95  # of rows of the fit are nearer to their neighbours: then there is little to go by


def explain_model(saved: SavedModel, row: int | None) -> Answer:
    """Tell what drives a model; of one row what drives its prediction."""
    if saved.data:
        return _explain_rows(saved) if row is None else _explain_one(saved, row)
    if row is not None:
        raise ValueError("--row is a row of a table: skewridge explain MODEL DATA --row 7.")
    return _explain_fit(saved)


def _explain_rows(saved: SavedModel) -> Answer:
    """What drives a model, measured on the rows of a table."""
    found = evaluate(saved)
    saved.count_fitted_rows(found.inputs, found.y)
    with saved.screen.progress():
        measured = drivers(saved.model, found.inputs, found.y, y_ref=reference_response(saved, found.y))
    words = [dependence_in_words(saved.target, partial, measured["rmse"]) for partial in measured["partial"]]
    rows = [
        [one["name"], *map(_percent, (one["share"], one["rare_share"])), *map(_text, (one["rise"], one["rare_rise"]))]
        for one in measured["columns"][:MOST_COLUMNS]
    ]
    idle = [one["name"] for one in measured["columns"] if one["idle"]]
    parts: list[str | Table] = [
        Table(["column", "share", "share where rare", "RMSE rises by", "by, where rare"], rows),
        *words,
        *([f"could be left out: {', '.join(idle)}"] if idle else []),
        "Share: of the rise of squared errors when a column takes the values of other rows; "
        f"{measured['n_rows']:,} rows, {measured['n_rare']:,} of them rare. Directions are means over rows, "
        "and no causes.",
    ]
    return Answer({"model": saved.path, "target": saved.target, **measured, "words": words}, parts)


def _explain_fit(saved: SavedModel) -> Answer:
    """What the fit itself has measured, by column; or raise for a model that has not."""
    name = saved.path
    overall, rare = (getattr(saved.estimator, f"{kind}_importances_", None) for kind in ("feature", "rare"))
    if overall is None or rare is None:
        raise ValueError(
            f"{name} holds no importances: name a table with the target, best of rows that the model has not seen, as "
            f"in skewridge explain {name} test.csv."
        )
    ends = np.cumsum([len(column.features) for column in saved.used])[:-1]
    columns: list[Data] = []
    for column, own in zip(saved.used, np.split(np.column_stack([overall, rare]), ends), strict=True):
        share, rare_share = map(sum, own.T.tolist())
        columns.append({"name": column.name, "share": share, "rare_share": rare_share})
    columns.sort(key=lambda one: -one["share"])
    rows = [[one["name"], _percent(one["share"]), _percent(one["rare_share"])] for one in columns[:MOST_COLUMNS]]
    said = f"Measured at fit, on rows left out. With a table there are directions: skewridge explain {name} test.csv"
    return Answer({"model": name, "columns": columns}, [Table(["column", "share", "where rare"], rows), said])


def _explain_one(saved: SavedModel, row: int) -> Answer:
    """What a row's prediction is made of, how sure it is, and how near the rows of the fit are."""
    target = saved.truth if isinstance(saved.truth, str) else "the response"
    frame = saved.read([target])
    if not 1 <= row <= len(frame):
        raise ValueError(f"--row must be a row of the table, 1 to {len(frame):,}; got {row}.")
    own = frame.iloc[[row - 1]]  # refused by itself where it lacks a value, before what becomes of others is noted
    if saved.missing != "impute":
        refuse_missing(own[saved.names], REMEDY)
    rows, inputs = saved.complete(frame)
    place = int(np.sum(rows[: row - 1]))
    with saved.screen.progress():
        explained = explain_row(saved.model, inputs, place)
    numbers, name = saved.numbers(inputs.iloc[[place]]), row_label(inputs, place)
    truth = codes_of(Column(target, "number"), own[target])[0] if target in frame.columns else np.nan
    interval = nearness = None
    if hasattr(saved.estimator, "calibration_"):
        low, high = saved.estimator.predict_interval(numbers, COVERAGE)
        interval = {"coverage": COVERAGE, "low": float(low[0]), "high": float(high[0])}
    near = nearest_fitted_rows(saved.estimator, numbers)
    if near is not None:
        nearness = {"distance": float(near.distance[0]), "usual": near.usual, "further_than": float(near.further[0])}
    outside = outside_fit(saved.estimator, numbers, (), saved.columns)
    data = {
        "model": saved.path,
        "row": name,
        "target": target,
        "truth": None if np.isnan(truth) else float(truth),
        **explained,
        "interval": interval,
        "nearness": nearness,
        "outside": [column.to_dict(lambda _: name) for column in outside],
    }
    beyond = [f"outside the range of the fit: {column.as_text(lambda _: name)}" for column in outside]
    return Answer(data, [*_as_text(data), *beyond])


def _as_text(data: Data) -> list[str]:
    """One prediction in words."""
    between, truth, near = data["interval"], data["truth"], data["nearness"]
    sure = f", {COVERAGE:.0%} interval {_text(between['low'])} to {_text(between['high'])}" if between else ""
    in_table = "" if truth is None else f" (in the table: {_text(truth)})"
    off, total = data["prediction"] - data["average"], sum(one["effect"] for one in data["columns"])
    lines = [
        f"row {data['row']}: {data['target']} {_text(data['prediction'])}{sure}{in_table}",
        f"{_text(off, sign=True)} from {_text(data['average'])}, the mean prediction of {data['n_rows']} other rows",
    ]
    for sign, words in ((1, "pushed up by"), (-1, "pushed down by")):
        pushing = [
            f"{one['name']} {'missing' if one['value'] is None else one['value']} ({_text(one['effect'], sign=True)})"
            for one in data["columns"][:MOST_PUSHING]
            if sign * one["effect"] > 2 * one["se"]
        ]
        lines += [f"{words} {', '.join(pushing)}"] if pushing else []
    lines.append(
        f"Each column alone, compared with its values in other rows; {_text(total, sign=True)} in sum. Columns that "
        "matter together count twice or not at all, and none need be a cause."
    )
    if near and not near["distance"]:
        lines.append("nearest row of the fit: the same in every column that matters")
    elif near:
        share, usual = near["further_than"], near["usual"]
        times = f"{near['distance'] / usual:.2g} times as far as is usual in the fit; " if usual else ""
        little = ", so that there is little to go by" if share >= FAR else ""
        lines.append(f"nearest row of the fit: {times}{share:.0%} of its rows have a nearer neighbour{little}")
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _text(value: float | None, *, sign: bool = False) -> str:
    """Four digits, since intervals may be narrow."""
    return "-" if value is None else compact(value, sign=sign, digits=4)
