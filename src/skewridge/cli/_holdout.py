"""Rows that `skewridge fit` holds out: the model's errors on them, beside those of plain baselines."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from skewridge._messages import in_full
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge._validation import check_real
from skewridge.cli._roles import Roles, fit_arguments
from skewridge.cli._screen import Table
from skewridge.cli._table import Table as Rows
from skewridge.metrics import figures, rare_region
from skewridge.model_selection import response_train_test_split
from skewridge.tables.columns import Column, codes_of, shown
from skewridge.tables.level_means import ByRow

SHARE, FEWEST_ROWS = 0.1, 1000  # held out by default, from so many rows on
EVERY_ROW_ALIKE = ByRow()
SCORES = ("rmse", "mae", "median_percent", "r2", "rare_rmse")
LABELS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "median_percent": "median error, %",
    "r2": "R2",
    "rare_rmse": "RMSE where rare",
}
NO_PERCENTS = "No errors in per cent are told: some of these rows have a response of 0."


def held_out(
    y: FloatArray, share: float | None, seed: int, known: ByRow = EVERY_ROW_ALIKE
) -> tuple[IntArray, IntArray]:
    """Return the places of rows to fit and of rows to judge by, both ascending: a share of every slice of y.

    Where rows have groups whole groups are held out, and where they have times the last rows. A share of None is a
    tenth from 1,000 rows on, and nothing below, where every row is needed.
    """
    wanted = (SHARE if len(y) >= FEWEST_ROWS else 0.0) if share is None else check_share(share)
    places = np.arange(len(y))
    if wanted == 0.0:
        return places, places[:0]
    if wanted * len(y) < 1.0 or (1.0 - wanted) * len(y) < 1.0:
        raise ValueError(
            f"--holdout {wanted:g} of {len(y)} rows leaves none to fit or to judge by. Take another share."
        )
    if known.groups is None and known.order is None:
        fitted, judged, *_ = response_train_test_split(places, y, test_size=wanted, random_state=seed)
        return np.sort(fitted), np.sort(judged)
    out = _last_rows(known.order, wanted) if known.groups is None else _whole_groups(known.groups, y, wanted, seed)
    return places[~out], places[out]


def _last_rows(times: FloatArray, share: float) -> BoolArray:
    """The rows of the last times; equal times stay together, on the side that comes nearer to the share."""
    distinct, counts = np.unique(times, return_counts=True)
    if len(distinct) < 2:
        raise ValueError(f"--time must hold at least two times; got one for all {len(times):,} rows. Leave it out.")
    later = np.cumsum(counts[::-1])[::-1][1:]  # rows from a time on; the first time is always fitted
    return times >= distinct[1 + int(np.argmin(np.abs(later - share * len(times))))]


def _whole_groups(groups: IntArray, y: FloatArray, share: float, seed: int) -> BoolArray:
    """Groups along their mean response, each held out as soon as half of it is due: a share of all kinds of groups."""
    _, own, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError(f"--groups must hold at least two groups; got one for all {len(y):,} rows. Leave it out.")
    rng = np.random.default_rng(seed)
    means = np.bincount(own, y) / sizes
    picked, due = np.zeros(len(sizes), dtype=bool), (rng.uniform() - 0.5) * sizes.mean()
    for group in np.lexsort((rng.permutation(len(sizes)), means)).tolist():
        due += share * sizes[group]
        if due >= sizes[group] / 2:
            picked[group], due = True, due - sizes[group]
    if picked.all() or not picked.any():  # few groups: neither part stays empty
        picked[int(np.argmin(sizes))] ^= True
    return picked[own]


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


def judge(model: Any, others: dict[str, FloatArray], judged: Rows, fitted: Rows) -> dict[str, Any]:
    """Return errors on the rows held out, of the model and of what baselines predict of the same rows."""
    y, y_ref = judged.response, fitted.response
    rare = rare_region(y, y_ref)
    mean = np.full(len(y), np.average(y_ref, weights=fitted.known.sample_weight))
    own = np.asarray(model.predict(judged.features))
    predictions = {type(model.steps[-1][1]).__name__: own, "mean": mean, **others}
    return {
        "n_rows": len(y),
        "n_rare": int(rare.sum()),
        "errors": {name: figures(y, found, rare) for name, found in predictions.items()},
    }


def baselines(model: Any, fitted: Rows, new: Any) -> dict[str, FloatArray]:
    """Return what ridge regression and boosted trees predict of new rows, fitted to the numbers that the model saw."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV

    y, weights = fitted.response, fitted.known.sample_weight
    encoder = clone(model.steps[0][1])  # means of levels as the model saw them, not of a row's own y
    rows = encoder.fit_transform(fitted.features, y, **fit_arguments(fitted.known))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model notes what it has not seen
        numbers = model.steps[0][1].transform(new)
    others = {
        "ridge": RidgeCV(np.logspace(-3, 5, 17)),
        "boosted trees": HistGradientBoostingRegressor(random_state=0),
    }
    return {name: other.fit(rows, y, weights).predict(numbers) for name, other in others.items()}


def as_table(data: dict[str, Any], roles: Roles) -> list[str | Table]:
    """The errors for people, methods side by side."""
    names = list(data["errors"])
    has_zeros = all(found["median_percent"] is None for found in data["errors"].values())
    scores = [score for score in SCORES if not (has_zeros and score == "median_percent")]
    rows = [[LABELS[score], *(_figure(score, data["errors"][name][score]) for name in names)] for score in scores]
    which = f", whole groups of {roles.groups!r}" if roles.groups else ""
    which = f", the last by {roles.time!r}" if roles.time else which
    held = f"Judged by {data['n_rows']:,} rows that were held out{which}, {data['n_rare']:,} of them rare"
    told: list[str | Table] = [Table(["held out", *names], rows)]
    told.append(f"{held} (the 2% rarest values of the response).")
    return [*told, *([NO_PERCENTS] if has_zeros else [])]


def _figure(score: str, value: float | None) -> str:
    return in_full(value if value is None or score != "r2" else round(value, 4) + 0.0)  # no -2e-05, and no -0
