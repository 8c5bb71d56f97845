"""What drives a model: by the columns of a table as it came, overall and where the response is rare."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge._validation import check_integer, check_same_order, check_vector
from skewridge.advice.dependence import pair_dependence, partial_dependence
from skewridge.advice.raw_rows import RawRows, raw_rows
from skewridge.metrics import rare_region

MOST_ROWS = 400  # whose errors are measured, half of them rare where there are enough
FEWEST_ROWS = 50  # of tables with very many columns
MOST_REPEATS = 5  # shuffles of a column
MOST_PREDICTIONS = 40_000  # of all shuffles together, unless columns are very many
N_SOURCES = 2_000  # rows that values are taken from
N_CURVES, N_BACKGROUND, N_PAIR_ROWS = 6, 100, 50  # columns with a curve; rows that a curve, and a pair, is the mean of
IDLE = 0.01  # of the squared error: a column that surely loses less can be left out
SURELY = 2.0  # standard errors


@dataclass(frozen=True)
class _Sample:
    """Rows whose errors are measured, and how many rows each of them stands for.

    Attributes
    ----------
    rows : RawRows, these rows first, then those that values are taken from
    y, rare, weights : (n,) arrays
    sources : RawRows, those that values are taken from
    """

    rows: RawRows
    y: FloatArray
    rare: BoolArray
    weights: FloatArray
    sources: RawRows

    def others(self, n: int, random: np.random.Generator) -> IntArray:
        """Places of so many rows that values are taken from."""
        return random.integers(len(self.y), len(self.rows), n)


def drivers(
    model: Any,
    X: Any,
    y: Any,
    *,
    y_ref: Any = None,
    slices: Any = "scott",
    output: int | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Return what drives a fitted model, by column of the table that it takes, as plain data.

    A column's importance is what the model loses when the column takes the values of other rows: a column of text or
    dates counts as a whole, whatever numbers it becomes. At most 400 rows are predicted, half of them rare where there
    are enough, with weights that undo this; the same seed gives the same figures.

    Parameters
    ----------
    model : fitted regressor
        Or a pipeline; of a :func:`make_table_model` columns are those of the raw table.
    X : (n, d) array or data frame
        Rows that the model has not seen, as it takes them.
    y : (n,) array or series
    y_ref : (N,) array, optional
        The training response, which decides what is rare; y unless given.
    slices : how y_ref is cut, as in :func:`skewridge.metrics.rare_region`
    output : int, optional
        Which column of the prediction, where there are several.
    names : of columns that have none
    seed : int, default=0

    Returns
    -------
    dict
        ``columns``, the most important first, each with ``name``, ``share`` and ``rare_share`` of all that is lost,
        ``rise`` and ``rare_rise`` of the root mean squared error in units of y, ``sure`` (it is worth something) and
        ``idle`` (it could be left out); ``partial``, the mean prediction along the first six columns (values, labels
        but for numbers, mean, deciles of the column or shares of its levels, and what gaps predict); ``pair``, over a
        grid of the first two; ``n_rows``, ``n_rare``, ``rmse`` and ``rare_rmse`` of the rows that were measured.

    Examples
    --------
    >>> import pandas as pd
    >>> from skewridge import DacKernelRidge, make_table_model
    >>> homes = pd.DataFrame({"rooms": [1, 2, 3, 4] * 10, "town": ["Oslo"] * 20 + ["Moss"] * 20})
    >>> model = make_table_model(DacKernelRidge(1, bandwidth=1.0, penalty=1e-3)).fit(homes, 3.0 * homes.rooms)
    >>> told = drivers(model, homes, 3.0 * homes.rooms)
    >>> told["columns"][0]["name"], [round(m) for m in told["partial"][0]["mean"]]
    ('rooms', [3, 6, 9, 12])
    """
    check_same_order(X, y)
    column = check_vector("y", y)
    random = np.random.default_rng(check_integer("seed", seed, 0))
    sample = _take(model, X, column, _rare(column, column if y_ref is None else y_ref, slices), names, random)

    def predict(rows: Any) -> FloatArray:
        found = np.asarray(model.predict(rows), dtype=np.float64)
        return found if found.ndim == 1 else found[:, output or 0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows whose columns do not go together
        found = _importances(predict, sample, random)
        return plain({**found, **_dependence(predict, sample, [one["name"] for one in found["columns"]], random)})


def _rare(y: FloatArray, y_ref: Any, slices: Any) -> BoolArray:
    """Which rows are rare; none where all would be."""
    rare = rare_region(y, y_ref, slices=slices)
    return np.zeros(len(y), dtype=bool) if rare.all() else rare


def _take(
    model: Any,
    X: Any,
    y: FloatArray,
    rare: BoolArray,
    names: Sequence[str] | None,
    random: np.random.Generator,
) -> _Sample:
    """Draw rows to measure, half of them rare where there are enough, and rows to take values from."""
    n_columns = max(1, np.shape(X)[1])
    most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_PREDICTIONS // n_columns))
    kinds = [np.flatnonzero(rare), np.flatnonzero(~rare)]
    n_rare = min(len(kinds[0]), max(most // 2, most - len(kinds[1])))
    sizes = (n_rare, min(len(kinds[1]), most - n_rare))
    drawn = [np.sort(random.choice(own, size, replace=False)) for own, size in zip(kinds, sizes, strict=True)]
    weights = [np.full(size, len(own) / max(1, size)) for own, size in zip(kinds, sizes, strict=True)]
    measured = np.concatenate(drawn)
    sources = np.sort(random.choice(len(y), min(len(y), N_SOURCES), replace=False))
    return _Sample(
        rows=raw_rows(model, X, np.r_[measured, sources], names),
        y=y[measured],
        rare=rare[measured],
        weights=np.concatenate(weights),
        sources=raw_rows(model, X, sources, names),
    )


def _importances(predict: Callable[[Any], FloatArray], sample: _Sample, random: np.random.Generator) -> dict[str, Any]:
    """The errors of the sample, and what every column is worth, the most important first."""
    own = np.arange(len(sample.y))
    before = (predict(sample.rows.some(own)) - sample.y) ** 2
    used = sample.rows.used()
    repeats = int(np.clip(MOST_PREDICTIONS // max(1, len(own) * len(used)), 1, MOST_REPEATS))
    many = np.tile(own, repeats)
    losses = []
    for place in used:
        others = sample.others(len(many), random)
        errors = (predict(sample.rows.some(many, {place: others})) - np.tile(sample.y, repeats)) ** 2
        losses.append(errors.reshape(repeats, -1).mean(axis=0) - before)
    columns = _columns(sample, before, np.array(losses).reshape(len(used), len(own)), used)
    return {
        "n_rows": len(own),
        "n_rare": int(sample.rare.sum()),
        "n_repeats": repeats,
        "rmse": _root(before, sample.weights),
        "rare_rmse": _root(before, sample.weights * sample.rare),
        "columns": columns,
    }


def _columns(sample: _Sample, before: FloatArray, losses: FloatArray, used: list[int]) -> list[dict[str, Any]]:
    """What shuffling loses, of rows (d, n), as shares and as rises of the root mean squared error."""
    all_rows, rare_rows = sample.weights, sample.weights * sample.rare
    lost = losses @ all_rows / all_rows.sum()
    spread = np.sqrt((losses - lost[:, None]) ** 2 @ all_rows**2) / all_rows.sum()
    base = float(before @ all_rows / all_rows.sum())
    shares, rare_shares = _shares(lost), _shares(losses @ rare_rows)
    any_rare = bool(sample.rare.any())
    return [
        {
            "name": sample.rows.names[used[j]],
            "share": shares[j],
            "rare_share": rare_shares[j] if any_rare else None,
            "rise": _rise(before, losses[j], all_rows),
            "rare_rise": _rise(before, losses[j], rare_rows) if any_rare else None,
            "sure": bool(lost[j] > SURELY * spread[j]),
            "idle": bool(lost[j] + SURELY * spread[j] < IDLE * base) or not losses[j].any(),
        }
        for j in np.argsort(-lost, kind="stable").tolist()
    ]


def _dependence(
    predict: Callable[[Any], FloatArray], sample: _Sample, ordered: list[str], random: np.random.Generator
) -> dict[str, Any]:
    """Curves of the first columns, and the grid of the first two."""
    rows = sample.sources
    some = np.sort(random.choice(len(rows), min(len(rows), N_BACKGROUND), replace=False))
    few = some[:: -(-len(some) // N_PAIR_ROWS)]
    places = [rows.names.index(name) for name in ordered[:N_CURVES]]
    drawn = [place for place in places if len(np.unique(_known(rows, place))) > 1]
    pair = (drawn[0], drawn[1]) if len(drawn) > 1 else None
    return {
        "partial": [partial_dependence(predict, rows, place, some) for place in drawn],
        "pair": None if pair is None else pair_dependence(predict, rows, pair, few),
    }


def _known(rows: RawRows, place: int) -> FloatArray:
    codes = rows.coded(place).codes
    return codes[~np.isnan(codes)]


def _shares(lost: FloatArray) -> FloatArray:
    above = np.maximum(lost, 0.0)  # below 0 is chance
    return np.asarray(above / (above.sum() or 1.0))


def _rise(before: FloatArray, lost: FloatArray, weights: FloatArray) -> float:
    """By how much the root mean squared error rises."""
    after = max(0.0, float((before + lost) @ weights / weights.sum()))
    return float(np.sqrt(after)) - (_root(before, weights) or 0.0)


def _root(squares: FloatArray, weights: FloatArray) -> float | None:
    total = float(weights.sum())
    return float(np.sqrt(squares @ weights / total)) if total else None
