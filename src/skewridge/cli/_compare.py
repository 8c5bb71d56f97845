"""skewridge compare: errors of several models on the same rows, and whether they differ."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skewridge._messages import in_full
from skewridge._typing import BoolArray, FloatArray
from skewridge.cli._evaluate import measures, predicted_table, reference_response, target_of
from skewridge.cli._fitted_rows import note_fitted_rows
from skewridge.cli._info import final_step
from skewridge.cli._predict import PredictRequest
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.metrics import rare_region
from skewridge.persist import ModelFile, read_model

CLEARLY = 2.0  # standard errors
FEWEST_ROWS = 10  # that a difference is judged by
DECIDES = 0.5  # of all that models differ by: a row with more of it decides alone
BETTER, WORSE, UNCLEAR = "better", "worse", "no clear difference"


@dataclass(frozen=True)
class Judged:
    """A model, and what it predicts of the rows of a table; nan where it predicts nothing."""

    name: str
    file: ModelFile
    frame: Any
    y: FloatArray
    prediction: FloatArray


def compare_models(files: Sequence[str], request: PredictRequest, target: str | None, screen: Screen) -> Answer:
    """Read, predict with every model, compare; ``files`` are the models and then the tables."""
    names, tables = split_files(files)
    loaded = [(name, read_model(name)) for name in names]
    wanted = _common_target(loaded, target)
    request = replace(request, data=tables)
    judged = [_judge(replace(request, model=name), file, wanted, screen) for name, file in loaded]
    done = ~np.isnan(np.array([one.prediction for one in judged]).sum(axis=0))
    if not done.any():
        raise ValueError(
            "No row is predicted by all of the models. Fill the gaps of the table, or add --missing impute."
        )
    if not done.all():
        screen.note(f"{(~done).sum()} of {len(done)} rows are left out: not every model predicts them.")
    y = judged[0].y[done]
    rare = rare_region(y, reference_response(loaded[0][1], y, screen))
    models = [_errors(one, done, rare, screen) for one in judged]
    errors = [one.prediction[done] - y for one in judged]
    data = {
        "target": wanted,
        "n_rows": len(y),
        "n_rare": int(rare.sum()),
        "models": models,
        "differences": [
            {"model": one.name, "against": judged[0].name, **differences(errors[0], own, rare)}
            for one, own in zip(judged[1:], errors[1:], strict=True)
        ],
    }
    return Answer(data, _as_text(data))


def split_files(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell model files from tables; at least two of the first and one of the second, or raise."""
    models = [file for file in files if _is_model(file)]
    data = [file for file in files if file not in models]
    if len(models) < 2 or not data:
        raise ValueError(
            f"compare needs two or more model files and a table: skewridge compare a.skr b.skr test.csv; got "
            f"{len(models)} model files and {len(data)} others."
        )
    twice = [name for place, name in enumerate(models) if name in models[:place]]
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


def _common_target(loaded: Sequence[tuple[str, ModelFile]], target: str | None) -> str:
    found = [target_of(name, file, target) for name, file in loaded]
    odd = [place for place, own in enumerate(found) if own != found[0]]
    if odd:
        (first, _), (other, _) = loaded[0], loaded[odd[0]]
        raise ValueError(
            f"{first} predicts {found[0]!r} and {other} {found[odd[0]]!r}: errors of different responses do not "
            "compare. Take models of one target, or name the column with the truth by --target."
        )
    return found[0]


def _judge(request: PredictRequest, file: ModelFile, target: str, screen: Screen) -> Judged:
    return Judged(request.model, file, *predicted_table(request, file, target, screen))


def _errors(one: Judged, done: BoolArray, rare: BoolArray, screen: Screen) -> dict[str, Any]:
    y, prediction = one.y[done], one.prediction[done]
    return {
        "model": one.name,
        "estimator": type(final_step(one.file.model)).__name__,
        "overall": measures(y, prediction),
        "rare": measures(y[rare], prediction[rare]),
        "n_fitted_rows": note_fitted_rows(one.name, one.file, one.frame[done], y, screen),
    }


def differences(first: FloatArray, second: FloatArray, rare: BoolArray) -> dict[str, Any]:
    """By how much the errors of a second model, (n,), exceed those of the first, overall and where y is rare."""
    return {"overall": _difference(first, second), "rare": _difference(first[rare], second[rare])}


def _difference(first: FloatArray, second: FloatArray) -> dict[str, Any]:
    """Differences of root mean squared and mean absolute error with standard errors, of rows in pairs.

    The root mean squared errors differ by about the mean of ``e2^2 / (2 rmse2) - e1^2 / (2 rmse1)`` over rows, and that
    mean's standard error is told.

    Examples
    --------
    >>> import numpy as np
    >>> found = _difference(np.ones(20), np.full(20, 3.0))
    >>> found["rmse"], found["mae"], found["verdict"]
    (2.0, 2.0, 'worse')
    """
    n = len(first)
    if not n:
        return {
            "rows": 0,
            "rmse": None,
            "rmse_se": None,
            "mae": None,
            "mae_se": None,
            "verdict": UNCLEAR,
            "why": "no rows",
        }
    roots = [float(np.sqrt(np.mean(errors**2))) for errors in (first, second)]
    halves = [errors**2 / (2.0 * root or 1.0) for errors, root in zip((first, second), roots, strict=True)]
    absolute = np.abs(second) - np.abs(first)
    rmse, rmse_se = roots[1] - roots[0], _standard_error(halves[1] - halves[0])
    return {
        "rows": n,
        "rmse": rmse,
        "rmse_se": rmse_se,
        "mae": float(absolute.mean()),
        "mae_se": _standard_error(absolute),
        **_verdict(second**2 - first**2, rmse, rmse_se),
    }


def _verdict(more: FloatArray, rmse: float, rmse_se: float | None) -> dict[str, str]:
    """Which is better, by the squared errors of rows, and why that is not clear where it is not."""
    total = float(np.abs(more).sum())
    if len(more) < FEWEST_ROWS or rmse_se is None:
        return {"verdict": UNCLEAR, "why": f"only {len(more)} rows"}
    if total and np.abs(more).max() > DECIDES * total:
        return {"verdict": UNCLEAR, "why": "one row decides"}
    if abs(rmse) <= CLEARLY * rmse_se:
        return {"verdict": UNCLEAR, "why": f"within {CLEARLY:g} standard errors"}
    return {"verdict": BETTER if rmse < 0 else WORSE, "why": f"beyond {CLEARLY:g} standard errors"}


def _standard_error(values: FloatArray) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _as_text(data: dict[str, Any]) -> list[str | Table]:
    headings = ["", *(one["model"] for one in data["models"])]
    rows = [
        [f"{label}{where}", *(in_full(one[part][name]) for one in data["models"])]
        for part, where in (("overall", ""), ("rare", " where rare"))
        for name, label in (("rmse", "RMSE"), ("mae", "MAE"), ("bias", "bias"), ("r2", "R2"))
    ]
    told: list[str | Table] = [Table(headings, rows)]
    told += [line for one in data["differences"] for line in _sentences(one)]
    told.append(
        f"{data['n_rows']:,} rows, {data['n_rare']:,} of them rare: the 2% rarest values of the response that "
        f"{data['models'][0]['model']} was fitted to. se: standard error over rows, in pairs."
    )
    return told


def _sentences(one: dict[str, Any]) -> list[str]:
    lines = []
    for part, where in (("overall", "overall"), ("rare", "where rare")):
        found = one[part]
        by = "" if found["rmse"] is None else f"{_differs_by(found, 'rmse')}, "
        by += "" if found["mae"] is None else f"{_differs_by(found, 'mae')}: "
        verdict = (
            f"{UNCLEAR} ({found['why']})" if found["verdict"] == UNCLEAR else f"{one['model']} is {found['verdict']}"
        )
        lines.append(f"{one['model']} against {one['against']}, {where}: {by}{verdict}")
    return lines


def _differs_by(found: dict[str, Any], name: str) -> str:
    return f"{name.upper()} {in_full(found[name], sign=True)} (se {in_full(found[f'{name}_se'])})"
