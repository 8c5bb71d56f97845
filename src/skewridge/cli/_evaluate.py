"""Models on rows with a response: skewridge evaluate, compare and report. Overall and rare errors side by side."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._atomic import atomic_file
from skewridge._messages import in_full, plain, rows_named
from skewridge._typing import BoolArray, Data, FloatArray
from skewridge.cli._predict import SavedModel, roles_text
from skewridge.cli._screen import Answer, Table
from skewridge.cli._tables import check_output, with_target
from skewridge.metrics import balanced_mse, figures, rare_region, sera

MEASURES = ("rows", "mse", "rmse", "mae", "bias", "r2")
CLEARLY = 2.0  # standard errors
FEWEST_ROWS = 10  # for a difference to be clear
DECIDES = 0.5  # of all that models differ by: a row with more of it decides alone
UNCLEAR = "no clear difference"
TITLES = {"weight": "weighted by", "groups": "by groups of", "time": "in the order of"}


@dataclass(frozen=True)
class Evaluation:
    """The N rows of a table that have a response, and what a model predicts of n of them."""

    response: FloatArray  # (N,)
    rows: BoolArray  # (N,), which are predicted
    inputs: Any  # (n, d), as the model takes them
    y: FloatArray  # (n,)
    prediction: FloatArray  # (n,)


def evaluate(saved: SavedModel) -> Evaluation:
    """Read the rows that have a response, and predict them."""
    frame = saved.read([saved.target])
    frame, y = with_target(frame, saved.target, saved.missing, saved.screen)
    rows, inputs = saved.complete(frame)
    return Evaluation(y, rows, inputs, y[rows], saved.predict(inputs)["prediction"])


def reference_response(saved: SavedModel, y: FloatArray) -> FloatArray:
    """The response that decides what is rare: the one that was fitted to, where the file has it."""
    if saved.response is not None:
        return saved.response
    saved.screen.note("The model file does not hold the training response: what is rare is decided by this table.")
    return y


def evaluate_table(saved: SavedModel) -> Answer:
    """Read, predict, and measure errors overall, where y is rare and where the prediction is."""
    found = evaluate(saved)
    data = errors_of(found.y, found.prediction, reference_response(saved, found.response))
    data["n_fitted_rows"] = saved.count_fitted_rows(found.inputs, found.y)
    parts = ("overall", "rare", "rare_by_prediction")
    rows = [[name, *(in_full(data[part][name]) for part in parts)] for name in MEASURES]
    return Answer(
        {"model": saved.path, "target": saved.target, **saved.roles, **data},
        [
            Table(["", "overall", f"rare {saved.target}", "rare prediction"], rows),
            f"balanced mse {in_full(data['balanced_mse'])}, sera {in_full(data['sera'])}",
            "Rare: the 2% rarest values of the training response. bias: mean of prediction minus truth.",
            *roles_text(saved.roles),
        ],
    )


def errors_of(y: FloatArray, prediction: FloatArray, y_ref: FloatArray) -> Data:
    """Return errors overall, where y is rare and where the prediction is; None where there are none to tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slices without a row
        regions: dict[str, Any] = {"overall": slice(None), "rare": rare_region(y, y_ref)}
        regions["rare_by_prediction"] = rare_region(prediction, y_ref)
        balanced = balanced_mse(y, prediction, y_ref=y_ref)
        try:
            relevant: float | None = sera(y, prediction, y_ref=y_ref)
        except ValueError:  # no response is extreme enough for it
            relevant = None
    return {
        **{name: measures(y[rows], prediction[rows]) for name, rows in regions.items()},
        **plain({"balanced_mse": balanced, "sera": relevant}),
    }


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
    found: dict[str, float | None] = {"rows": len(y), "mse": float(np.mean(error**2)), "bias": float(np.mean(error))}
    found |= figures(y, prediction, np.zeros(len(y), dtype=bool))
    return {name: found[name] for name in MEASURES}


# Several models


def split_files(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell model files from tables; at least two of the first and one of the second, or raise."""
    models = [file for file in files if _is_model(file)]
    data = [file for file in files if file not in models]
    if len(models) < 2 or not data:
        raise ValueError(
            f"compare needs two or more model files and a table: skewridge compare a.skr b.skr test.csv; got "
            f"{len(models)} model files and {len(data)} others."
        )
    twice = [name for name in models if models.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is named twice. Name every model once.")
    return models, data


def _is_model(file: str) -> bool:
    """Whether a file is one of skewridge fit: by its ending, or by what is in it."""
    if file.endswith(".skr"):
        return True
    try:
        with zipfile.ZipFile(file) as archive:
            return "manifest.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def compare_models(models: Sequence[SavedModel]) -> Answer:
    """Read, predict with every model, compare with the first."""
    first = models[0]
    for saved in models:
        if saved.target != first.target:
            raise ValueError(
                f"{first.path} predicts {first.target!r} and {saved.path} {saved.target!r}: errors of different "
                "responses do not compare. Take models of one target, or name the column with the truth by --target."
            )
    found = [evaluate(saved) for saved in models]
    rows = np.all([one.rows for one in found], axis=0)
    if not rows.any():
        raise ValueError(
            "No row is predicted by all of the models. Fill the gaps of the table, or add --missing impute."
        )
    if not rows.all():
        first.screen.note(f"{(~rows).sum()} of {len(rows)} rows are left out: not every model predicts them.")
    y = found[0].response[rows]
    rare = rare_region(y, reference_response(first, y))
    results: list[Data] = []
    errors: list[FloatArray] = []
    for saved, one in zip(models, found, strict=True):
        shared = rows[one.rows]  # of the rows that this model predicts, those that all do
        prediction = one.prediction[shared]
        errors.append(prediction - y)
        results.append(
            {
                "model": saved.path,
                "estimator": type(saved.estimator).__name__,
                "overall": measures(y, prediction),
                "rare": measures(y[rare], prediction[rare]),
                "n_fitted_rows": saved.count_fitted_rows(one.inputs[shared], y),
            }
        )
    compared = [
        {"model": saved.path, "against": first.path, **differences(errors[0], own, rare)}
        for saved, own in zip(models[1:], errors[1:], strict=True)
    ]
    counts = {"n_rows": len(y), "n_rare": int(rare.sum())}
    cells = [
        [f"{label}{where}", *(in_full(one[part][name]) for one in results)]
        for part, where in (("overall", ""), ("rare", " where rare"))
        for name, label in (("rmse", "RMSE"), ("mae", "MAE"), ("bias", "bias"), ("r2", "R2"))
    ]
    summary = (
        f"{len(y):,} rows, {counts['n_rare']:,} of them rare: the 2% rarest values of the response that {first.path} "
        "was fitted to. se: standard error over rows, in pairs."
    )
    sentences = [_sentence(one, part) for one in compared for part in ("overall", "rare")]
    data = {"target": first.target, **counts, "models": results, "differences": compared}
    return Answer(data, [Table(["", *(saved.path for saved in models)], cells), *sentences, summary])


def differences(first: FloatArray, second: FloatArray, rare: BoolArray) -> Data:
    """By how much the errors of a second model, (n,), exceed those of the first, overall and where y is rare."""
    return {"overall": _difference(first, second), "rare": _difference(first[rare], second[rare])}


def _difference(first: FloatArray, second: FloatArray) -> Data:
    """Differences of root mean squared and mean absolute error with standard errors, of rows in pairs.

    The root mean squared errors differ by about the mean of ``e2^2 / (2 rmse2) - e1^2 / (2 rmse1)`` over rows, and that
    mean's standard error is reported.

    Examples
    --------
    >>> import numpy as np
    >>> found = _difference(np.ones(20), np.full(20, 3.0))
    >>> found["rmse"], found["mae"], found["verdict"]
    (2.0, 2.0, 'worse')
    """
    n = len(first)
    found: Data = {"rows": n, "rmse": None, "rmse_se": None, "mae": None, "mae_se": None}
    if n:
        before, after = (float(np.sqrt(np.mean(errors**2))) for errors in (first, second))
        halves = second**2 / (2.0 * after or 1.0) - first**2 / (2.0 * before or 1.0)
        absolute = np.abs(second) - np.abs(first)
        found |= {"rmse": after - before, "mae": float(absolute.mean())}
        if n > 1:
            halves_se, absolute_se = (float(values.std(ddof=1) / np.sqrt(n)) for values in (halves, absolute))
            found |= {"rmse_se": halves_se, "mae_se": absolute_se}
    more = np.abs(second**2 - first**2)  # of squared errors, by row
    if n < FEWEST_ROWS:
        why = f"only {n} rows" if n else "no rows"
    elif more.max() > DECIDES * more.sum():
        why = "one row decides"
    elif abs(found["rmse"]) <= CLEARLY * found["rmse_se"]:
        why = f"within {CLEARLY:g} standard errors"
    else:
        verdict = "better" if found["rmse"] < 0 else "worse"
        return {**found, "verdict": verdict, "why": f"beyond {CLEARLY:g} standard errors"}
    return {**found, "verdict": UNCLEAR, "why": why}


def _sentence(one: Data, part: str) -> str:
    """How a model's errors differ from those of the first, overall or where the response is rare."""
    found, where = one[part], "overall" if part == "overall" else "where rare"
    by = ", ".join(
        f"{name.upper()} {in_full(found[name], sign=True)} (se {in_full(found[f'{name}_se'])})"
        for name in ("rmse", "mae")
        if found["rows"]
    )
    is_clear = found["verdict"] != UNCLEAR
    verdict = f"{one['model']} is {found['verdict']}" if is_clear else f"{UNCLEAR} ({found['why']})"
    return f"{one['model']} against {one['against']}, {where}: {by}{': ' if by else ''}{verdict}"


def title_of(estimator: Any, target: str, roles: Mapping[str, str]) -> str:
    """The title of a report, which says what was left out together."""
    ways = (f", {TITLES[role]} {column}" for role, column in roles.items())
    return f"{type(estimator).__name__} for {target}{''.join(ways)}"


def report_table(saved: SavedModel, output: str) -> Answer:
    """Read, predict, and tell the story on one page."""
    import pandas as pd

    from skewridge.reporting import collect, render

    check_output(output, saved.data, saved.path)
    found = evaluate(saved)
    saved.count_fitted_rows(found.inputs, found.y)
    y = pd.Series(found.y, index=found.inputs.index, name=saved.target)
    title = title_of(saved.estimator, saved.target, saved.roles)
    row_names = dict(saved.about.get("row_names", {}))
    with rows_named(lambda place: row_names.get(str(place), str(place))):
        page_data = collect(saved.model, found.inputs, y, y_ref=saved.response, title=title)
    with atomic_file(output) as page:
        page.write(render(page_data).encode())
    return Answer({"output": output, **page_data}, [f"{output}: {page_data['title']}"])
