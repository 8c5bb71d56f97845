"""Rows that `skewridge fit` holds out: the model's errors on them, beside those of plain baselines."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_real
from skewridge.cli._screen import Table
from skewridge.metrics import rare_region
from skewridge.metrics.figures import figures
from skewridge.model_selection import response_train_test_split

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


def judge(
    model: Any, others: dict[str, FloatArray], judged: tuple[Any, FloatArray], y_ref: FloatArray
) -> dict[str, Any]:
    """Return errors on the rows held out, of the model and of what baselines predict of the same rows."""
    X, y = judged
    rare = rare_region(y, y_ref)
    mean = np.full(len(y), y_ref.mean())
    predictions = {type(model.steps[-1][1]).__name__: np.asarray(model.predict(X)), "mean": mean, **others}
    return {
        "n_rows": len(y),
        "n_rare": int(rare.sum()),
        "errors": {name: figures(y, found, rare) for name, found in predictions.items()},
    }


def baselines(model: Any, X: Any, y: FloatArray, new: Any) -> dict[str, FloatArray]:
    """Return what ridge regression and boosted trees predict of new rows, fitted to the numbers that the model saw."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV

    rows = clone(model.steps[0][1]).fit_transform(X, y)  # means of levels as the model saw them, not of a row's own y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model notes what it has not seen
        numbers = model.steps[0][1].transform(new)
    others = {
        "ridge": RidgeCV(np.logspace(-3, 5, 17)),
        "boosted trees": HistGradientBoostingRegressor(random_state=0),
    }
    return {name: other.fit(rows, y).predict(numbers) for name, other in others.items()}


def as_table(data: dict[str, Any]) -> list[str | Table]:
    """The errors for people, methods side by side."""
    names = list(data["errors"])
    rows = [[LABELS[score], *(_number(data["errors"][name][score]) for name in names)] for score in SCORES]
    held = f"Judged by {data['n_rows']:,} rows that were held out, {data['n_rare']:,} of them rare"
    return [Table(["held out", *names], rows), f"{held} (the 2% rarest values of the response)."]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{0.0 if abs(value) < 1e-6 else value:.4g}"
