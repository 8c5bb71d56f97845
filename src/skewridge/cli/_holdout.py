"""Rows that `skewridge fit` holds out: the model's errors on them, beside those of plain baselines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_real
from skewridge.cli._evaluate import measures
from skewridge.cli._screen import Table
from skewridge.metrics import rare_region
from skewridge.model_selection import response_train_test_split
from skewridge.tables.columns import Column, codes_of
from skewridge.tables.texts import shown

SHARE, FEWEST_ROWS = 0.1, 1000  # held out by default, from so many rows on
SCORES = ("rmse", "mae", "median_percent", "r2", "rare_rmse")
LABELS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "median_percent": "median error, %",
    "r2": "R2",
    "rare_rmse": "RMSE where rare",
}


def held_out(y: FloatArray, share: float | None, seed: int) -> tuple[IntArray, IntArray]:
    """Return the places of rows to fit and of rows to judge by, both ascending: a share of every slice of y.

    None is a tenth from 1,000 rows on, and nothing below, where every row is needed.
    """
    wanted = (SHARE if len(y) >= FEWEST_ROWS else 0.0) if share is None else check_share(share)
    places = np.arange(len(y))
    if wanted == 0.0:
        return places, places[:0]
    if wanted * len(y) < 1.0 or (1.0 - wanted) * len(y) < 1.0:
        raise ValueError(
            f"--holdout {wanted:g} of {len(y)} rows leaves none to fit or to judge by. Take another share."
        )
    fitted, judged, *_ = response_train_test_split(places, y, test_size=wanted, random_state=seed)
    return np.sort(fitted), np.sort(judged)


def check_share(share: float) -> float:
    """Return a share in [0, 1[, or raise."""
    found = check_real("--holdout", share, 0, 1)
    if found == 1.0:
        raise ValueError("--holdout must be below 1; got 1, which leaves no rows to fit.")
    return found


def can_be_encoded(model: Any, X: Any) -> tuple[Any, str]:
    """Return which rows hold values that a model takes, (n,), and the columns of the others in words.

    A text among numbers is a gap where the rows of the fit have it, and refused where they have not.
    """
    encoder, known, odd = model.steps[0][1], np.ones(len(X), dtype=bool), []
    for column in (column for column in encoder.columns_ if column.features):
        values = X[column.name]
        try:
            codes_of(column, values)
        except ValueError:
            refused = [value for value in values.dropna().unique() if not _is_known(column, value)]
            known &= ~values.isin(refused).to_numpy()
            odd.append(f"{column.name!r} ({shown([str(value) for value in refused])})")
    return known, ", ".join(odd)


def _is_known(column: Column, value: Any) -> bool:
    import pandas as pd

    try:
        codes_of(column, pd.Series([value]))
    except ValueError:
        return False
    return True


def judge(model: Any, fitted: tuple[Any, FloatArray], judged: tuple[Any, FloatArray]) -> dict[str, Any]:
    """Return errors on the rows held out, of the model and of baselines on the same numbers."""
    X, y = judged
    rare = rare_region(y, fitted[1])
    predictions = [(type(model.steps[-1][1]).__name__, model.predict(X)), *_baselines(model, *fitted, X)]
    return {
        "n_rows": len(y),
        "n_rare": int(rare.sum()),
        "errors": {name: _scores(y, np.asarray(found), rare) for name, found in predictions},
    }


def _baselines(model: Any, X: Any, y: FloatArray, new: Any) -> Iterator[tuple[str, FloatArray]]:
    """Yield names and predictions of the mean, ridge regression and boosted trees."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV

    rows = clone(model.steps[0][1]).fit_transform(X, y)  # means of levels as the model saw them, not of a row's own y
    numbers = model.steps[0][1].transform(new)
    yield "mean", np.full(len(numbers), y.mean())
    yield "ridge", RidgeCV(np.logspace(-3, 5, 17)).fit(rows, y).predict(numbers)
    yield "boosted trees", HistGradientBoostingRegressor(random_state=0).fit(rows, y).predict(numbers)


def _scores(y: FloatArray, prediction: FloatArray, rare: Any) -> dict[str, float | None]:
    own, some = measures(y, prediction), measures(y[rare], prediction[rare])
    known = y != 0.0
    off = np.abs(prediction - y)[known] / np.abs(y[known])
    return {
        "rmse": own["rmse"],
        "mae": own["mae"],
        "median_percent": 100.0 * float(np.median(off)) if known.all() else None,
        "r2": own["r2"],
        "rare_rmse": some["rmse"],
    }


def as_table(data: dict[str, Any]) -> list[str | Table]:
    """The errors for people, methods side by side."""
    names = list(data["errors"])
    rows = [[LABELS[score], *(_number(data["errors"][name][score]) for name in names)] for score in SCORES]
    held = f"Judged by {data['n_rows']:,} rows that were held out, {data['n_rare']:,} of them rare"
    return [Table(["held out", *names], rows), f"{held} (the 2% rarest values of the response)."]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{0.0 if abs(value) < 1e-6 else value:.4g}"
