"""What drives a model, by the columns of a table as it came; one prediction explained; whether more rows would help."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skewridge._messages import as_records, compact, plain
from skewridge._typing import BoolArray, Data, FloatArray, IntArray
from skewridge._validation import check_integer, check_same_order, check_vector
from skewridge.metrics import rare_region
from skewridge.tables.columns import LISTED, Column, codes_of, level_counts

MOST_ROWS = 400  # whose errors are measured, half of them rare where there are enough
FEWEST_ROWS = 50  # of tables with very many columns
MOST_REPEATS = 5  # shuffles of a column
MOST_PREDICTIONS = 40_000  # of all shuffles together, unless columns are very many
N_SOURCES = 2_000  # rows that values are taken from
IDLE = 0.01  # of the squared error: a column that surely loses less can be left out
SURELY = 2.0  # standard errors

N_CURVES, N_BACKGROUND, N_PAIR_ROWS = 6, 100, 50  # columns with a curve; rows that a curve, and a pair, is the mean of
N_GRID, N_LEVELS, N_PAIR = 20, 8, 8  # values of a number or date, levels, and either side of a pair
ENDS = (0.01, 0.99)  # quantiles between which a grid lies: beyond them are few rows to go by
DECILES = np.arange(1, 10) / 10
FEWEST_GAPS = 0.01  # share of rows without a value from which gaps are reported
STEADY = 0.8  # of all ups and downs: a curve whose ends differ by that much rises or falls
FLAT = 0.05  # of the root mean squared error: a curve that moves less says nothing

N_OTHERS = 200  # rows whose values stand for "any other row" when one row is explained
MOST_FITTED, FEWEST_FITTED = 4_000, 40  # rows of the largest and of the smallest fit of a learning curve
HELPS = 0.02  # a fall of the error by twice the rows from which more rows are said to help

KINDS = {"date": "date", **dict.fromkeys((*LISTED, "boolean"), "level")}  # anything else is a number

Predict = Callable[[Any], FloatArray]
Coded = tuple[str, FloatArray, tuple[str, ...]]  # "number", "date" (days since 1970) or "level"; codes; levels


@dataclass(frozen=True)
class RawRows:
    """Rows as a model takes them, (n, d): a pandas frame or an array, whose columns can be exchanged."""

    table: Any
    names: tuple[str, ...]
    encoded: Mapping[str, Column]  # what a TableEncoder has learned of columns, by name

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def used(self) -> list[int]:
        """The places of columns that the model sees: all but those that an encoder left out."""
        left_out = [name for name, column in self.encoded.items() if not column.features]
        return [place for place, name in enumerate(self.names) if name not in left_out]

    def some(self, rows: IntArray, exchanged: Mapping[int, IntArray] | None = None) -> Any:
        """Some rows; the columns at the places of ``exchanged`` take the values of the rows given there."""
        is_frame = hasattr(self.table, "iloc")
        part = self.table.iloc[rows].copy(deep=False) if is_frame else self.table[rows]
        for place, others in (exchanged or {}).items():
            if is_frame:
                part.isetitem(place, self.table.iloc[others, place].array)
            else:
                part[:, place] = self.table[others, place]
        return part

    def value(self, row: int, place: int) -> Any:
        """One value as it came; None for a gap."""
        value = self.table.iat[row, place] if hasattr(self.table, "iat") else self.table[row, place]
        return None if type(value).__name__ == "NAType" or value is None or value != value else value

    def coded(self, place: int) -> Coded:
        """What a column holds, its values as numbers, (n,), nan for gaps, and the texts that places of levels mean."""
        column = self.table.iloc[:, place] if hasattr(self.table, "iloc") else self.table[:, place]
        learned = self.encoded.get(self.names[place])
        if learned is not None:
            codes, kind = codes_of(learned, column), KINDS.get(learned.kind, "number")
            levels = ("false", "true") if learned.kind == "boolean" else learned.levels
            return kind, np.where((codes < 0) & (kind == "level"), np.nan, codes), levels
        try:
            return "number", np.asarray(column, dtype=np.float64), ()
        except (TypeError, ValueError):
            levels = tuple(level_counts(column))
            return "level", codes_of(Column(self.names[place], "category", levels), column), levels


def raw_rows(model: Any, X: Any, rows: IntArray, names: Sequence[str] | None = None) -> RawRows:
    """Take rows of an array, of a sparse matrix, or of a frame of pandas, polars or pyarrow."""
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    if hasattr(X, "iloc"):
        own = getattr(model, "best_estimator_", model)
        first = own.steps[0][1] if getattr(own, "steps", None) else None  # a TableEncoder has columns_
        encoded = {column.name: column for column in getattr(first, "columns_", ())}
        return RawRows(X.iloc[rows], tuple(map(str, X.columns)), encoded)
    part = X.tocsr()[rows].toarray() if hasattr(X, "tocsr") else np.asarray(X)[rows]
    fitted = tuple(map(str, getattr(model, "feature_names_in_", ())))
    if len(fitted) != part.shape[1]:
        fitted = tuple(f"x{f}" for f in range(part.shape[1]))
    return RawRows(part, tuple(names or fitted), {})


def draw_rows(rare: BoolArray, most: int, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """At most so many rows, rare and common ones, ascending: half of them rare, or as many as there are."""
    rows, others = np.flatnonzero(rare), np.flatnonzero(~rare)
    n_rare = min(len(rows), max(most // 2, most - len(others)))
    n_others = min(len(others), most - n_rare)
    drawn = random.choice(rows, n_rare, replace=False)
    return np.sort(drawn), np.sort(random.choice(others, n_others, replace=False))


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
) -> Data:
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
    response = check_vector("y", y)
    random = np.random.default_rng(check_integer("seed", seed, 0))
    rare = rare_region(response, response if y_ref is None else y_ref, slices=slices)
    rare = rare & ~rare.all()  # none where all would be
    most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_PREDICTIONS // max(1, np.shape(X)[1])))
    measured = np.concatenate(draw_rows(rare, most, random))
    sources = np.sort(random.choice(len(response), min(len(response), N_SOURCES), replace=False))
    is_rare = rare[measured]
    per_rare, per_common = (kind.sum() / max(1, drawn.sum()) for kind, drawn in ((rare, is_rare), (~rare, ~is_rare)))
    weights = np.where(is_rare, per_rare, per_common)  # so many rows of its kind does each stand for
    predict = partial(_prediction, model, output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows whose columns do not go together
        rows = raw_rows(model, X, np.r_[measured, sources], names)
        found = _importances(predict, rows, response[measured], is_rare, weights, random)
        first = [rows.names.index(column["name"]) for column in found["columns"][:N_CURVES]]
        return plain({**found, **_dependence(predict, raw_rows(model, X, sources, names), first, random)})


def _prediction(model: Any, output: int | None, rows: Any) -> FloatArray:
    """The prediction of rows (n, d) as numbers, (n,): of several outputs one."""
    found = np.asarray(model.predict(rows), dtype=np.float64)
    return found if found.ndim == 1 else found[:, output or 0]


def _importances(
    predict: Predict, rows: RawRows, y: FloatArray, rare: BoolArray, weights: FloatArray, random: np.random.Generator
) -> Data:
    """Errors of the first n rows, whose response is y, and what every column is worth, the most important first.

    Values of other rows are those of the rows after the first n; a row stands for ``weights`` rows of its kind.
    """
    own, used = np.arange(len(y)), rows.used()
    before = (predict(rows.some(own)) - y) ** 2
    repeats = int(np.clip(MOST_PREDICTIONS // max(1, len(y) * len(used)), 1, MOST_REPEATS))
    many = np.tile(own, repeats)
    losses = np.empty((len(used), len(y)))
    for j, place in enumerate(used):
        others = random.integers(len(y), len(rows), len(many))
        errors = (predict(rows.some(many, {place: others})) - np.tile(y, repeats)) ** 2
        losses[j] = errors.reshape(repeats, -1).mean(axis=0) - before
    rare_weights = weights * rare
    lost = losses @ weights / weights.sum()
    spread = np.sqrt((losses - lost[:, None]) ** 2 @ weights**2) / weights.sum()
    base = float(before @ weights / weights.sum())
    shares, rare_shares = (np.maximum(one, 0.0) for one in (lost, losses @ rare_weights))  # below 0 is chance
    rmse, rare_rmse = _root(before, weights), _root(before, rare_weights)
    columns = as_records(
        name=[rows.names[place] for place in used],
        share=shares / (shares.sum() or 1.0),
        rare_share=rare_shares / (rare_shares.sum() or 1.0) if rare.any() else np.full(len(used), np.nan),
        rise=[_root(before + loss, weights) - rmse for loss in losses],
        rare_rise=[_root(before + loss, rare_weights) - rare_rmse for loss in losses],
        sure=lost > SURELY * spread,
        idle=(lost + SURELY * spread < IDLE * base) | ~losses.any(axis=1),
    )
    return {
        "n_rows": len(y),
        "n_rare": int(rare.sum()),
        "n_repeats": repeats,
        "rmse": rmse,
        "rare_rmse": rare_rmse,
        "columns": [columns[j] for j in np.argsort(-lost, kind="stable")],
    }


def _root(squares: FloatArray, weights: FloatArray) -> float:
    """The root of the weighted mean of squares (n,), 0 where that is negative; nan without weight."""
    total = weights.sum()
    return float(np.sqrt(np.maximum(0.0, squares @ weights / total))) if total else np.nan


def _dependence(predict: Predict, rows: RawRows, places: list[int], random: np.random.Generator) -> Data:
    """The mean prediction along columns that have several values, and over a grid of the first two of them."""
    some = np.sort(random.choice(len(rows), min(len(rows), N_BACKGROUND), replace=False))
    curves, varying = [], []
    for place in places:  # along the observed values, or the most frequent levels
        column = rows.coded(place)
        kind, codes, _ = column
        gap, is_level = np.isnan(codes), kind == "level"
        if len(np.unique(codes[~gap])) < 2:
            continue
        varying.append((place, column))
        grid_rows, axis = _grid(column, N_LEVELS if is_level else N_GRID)
        curve = {
            "name": rows.names[place],
            **axis,
            "mean": _means(predict, rows, some, {place: grid_rows}),
            "deciles": None if is_level else np.quantile(codes[~gap], DECILES),
            "shares": [np.mean(codes == value) for value in axis["values"]] if is_level else None,
            "gaps": None,
        }
        if gap.sum() >= max(1.0, FEWEST_GAPS * len(gap)):
            at_gap = _means(predict, rows, some, {place: np.flatnonzero(gap)[:1]})
            curve["gaps"] = {"share": gap.mean(), "mean": at_gap[0]}
        curves.append(curve)
    if len(varying) < 2:
        return {"partial": curves, "pair": None}
    places = [place for place, _ in varying[:2]]
    (first, across), (second, down) = (_grid(column, N_PAIR) for _, column in varying[:2])
    exchanged = {places[0]: np.tile(first, len(second)), places[1]: np.repeat(second, len(first))}
    means = _means(predict, rows, some[:: -(-len(some) // N_PAIR_ROWS)], exchanged)
    names = [rows.names[place] for place in places]
    pair = {"names": names, "axes": [across, down], "mean": means.reshape(len(second), len(first))}
    return {"partial": curves, "pair": pair}


def _grid(column: Coded, most: int) -> tuple[IntArray, Data]:
    """Rows (g,) that have observed values, and the axis of these: kind, values (g,) and, but for numbers, labels.

    Values ascend, evenly by rank; of levels there are the most frequent in their order.
    """
    kind, codes, levels = column
    there = np.flatnonzero(~np.isnan(codes))
    values, first, counts = np.unique(codes[there], return_index=True, return_counts=True)
    if kind == "level":
        taken = np.sort(np.argsort(-counts, kind="stable")[:most])
    elif len(values) <= most:
        taken = np.arange(len(values))
    else:
        wanted = np.quantile(codes[there], np.linspace(*ENDS, most), method="nearest")
        taken = np.searchsorted(values, np.unique(wanted))
    labels = None
    if kind == "level":
        labels = [levels[int(value)] for value in values[taken]]
    elif kind == "date":
        labels = np.datetime_as_string(values[taken].astype("datetime64[D]")).tolist()
    return there[first][taken], {"kind": kind, "values": values[taken], "labels": labels}


def _means(predict: Predict, rows: RawRows, some: IntArray, exchanged: dict[int, IntArray]) -> FloatArray:
    """Mean predictions (g,) of some rows, one for every value that columns take together from g rows."""
    n_values = len(next(iter(exchanged.values())))
    values = {place: np.repeat(others, len(some)) for place, others in exchanged.items()}
    found = predict(rows.some(np.tile(some, n_values), values))
    return found.reshape(n_values, len(some)).mean(axis=1)


def dependence_in_words(target: str, partial: Data, rmse: float | None = None) -> str:
    """What the mean prediction does along a column, by ``drivers(...)["partial"]``; it may be flat beside the error.

    Examples
    --------
    >>> partial = {"name": "rooms", "kind": "number", "values": [2, 5], "labels": None, "mean": [4e5, 1.1e6]}
    >>> dependence_in_words("price", partial)
    'price rises from 400k to 1.1M as rooms goes from 2 to 5'
    """
    name, means, points = str(partial["name"]), np.asarray(partial["mean"], dtype=np.float64), partial["labels"]
    low, high = int(np.argmin(means)), int(np.argmax(means))
    if points is None:  # in as many digits as a hundredth of their range needs: longitudes need more than rooms
        values = partial["values"]
        size, span = float(np.abs(values).max()), float(np.ptp(values))
        digits = int(np.clip(np.ceil(np.log10(size / (0.01 * span))), 3, 10)) if span else 3
        points = [compact(float(value), digits=digits) for value in values]
    if rmse is not None and means[high] - means[low] < FLAT * rmse:
        return f"{target} hardly changes along {name} on average: it matters together with other columns, if at all"
    most, least = compact(means[high]), compact(means[low])
    if partial["kind"] == "level":
        return f"{target} is highest for {name} {points[high]!r}, {most}, and lowest for {points[low]!r}, {least}"
    change = float(means[-1] - means[0])
    if abs(change) >= STEADY * float(np.abs(np.diff(means)).sum()):
        verb = "rises" if change > 0 else "falls"
        ends = f"from {compact(means[0])} to {compact(means[-1])}"
        return f"{target} {verb} {ends} as {name} goes from {points[0]} to {points[-1]}"
    ends = f"highest, {most}, at {points[high]}, and lowest, {least}, at {points[low]}"
    return f"{target} goes up and down along {name}: {ends}"


def explain_row(model: Any, X: Any, row: int, *, seed: int = 0) -> Data:
    """Return a row's prediction and what every column adds to it, as plain data.

    A column's effect is the prediction minus the mean prediction of the same row with the column's values of other
    rows of X, one column at a time. It is what the column does *here*, given all other columns of the row. Columns that
    only matter together, or that tell the same, share what they do or hide it: effects need not add up to how far the
    prediction is from the average, and they are no causes.

    Parameters
    ----------
    model : fitted regressor of one output, or a pipeline such as :func:`make_table_model`
    X : (n, d) array or data frame
        At most 200 of its other rows are drawn to compare with.
    row : int, the place of the row in X
    seed : int, default=0

    Returns
    -------
    dict
        ``prediction``; ``average``, the mean prediction of the other rows; ``n_rows`` of them; ``columns``, the largest
        effect first, each with ``name``, ``value`` as text (None for a gap), ``effect`` and its standard error ``se``.

    Examples
    --------
    >>> import pandas as pd
    >>> from skewridge import DacKernelRidge, make_table_model
    >>> homes = pd.DataFrame({"rooms": [1, 2, 3, 4] * 10, "town": ["Oslo"] * 20 + ["Moss"] * 20})
    >>> model = make_table_model(DacKernelRidge(1, bandwidth=1.0, penalty=1e-3)).fit(homes, 3.0 * homes.rooms)
    >>> told = explain_row(model, homes, 3)
    >>> told["columns"][0]["name"], told["columns"][0]["value"], round(told["columns"][0]["effect"])
    ('rooms', '4', 5)
    """
    n_rows = int(np.shape(X)[0])
    place = check_integer("row", row, 0, n_rows - 1)
    if n_rows < 2:
        raise ValueError("A row is explained by comparison with others; got one row. Give a table with more rows.")
    others = np.delete(np.arange(n_rows), place)
    random = np.random.default_rng(check_integer("seed", seed, 0))
    drawn = np.sort(random.choice(others, min(len(others), N_OTHERS), replace=False))
    rows = raw_rows(model, X, np.r_[place, drawn])
    background, same = np.arange(1, len(rows)), np.zeros(len(drawn), dtype=np.int64)
    values = [rows.value(0, column) for column in rows.used()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows whose columns do not go together
        own = np.asarray(model.predict(rows.some(same[:1])), dtype=np.float64)
        if own.ndim > 1:
            raise ValueError(f"A model of one output is needed; this one predicts {own.shape[1]}.")
        predict = partial(_prediction, model, None)
        effects = [own[0] - predict(rows.some(same, {column: background})) for column in rows.used()]
        average = predict(rows.some(background)).mean()
    columns = as_records(
        name=[rows.names[column] for column in rows.used()],
        value=[f"{v:.6g}" if isinstance(v, float | np.floating) else v if v is None else str(v) for v in values],
        effect=[effect.mean() for effect in effects],
        se=[effect.std() / np.sqrt(len(effect)) for effect in effects],
    )
    columns.sort(key=lambda column: -abs(column["effect"]))
    return dict(plain({"prediction": own[0], "average": average, "n_rows": len(drawn), "columns": columns}))


def learning_curve(
    model: Any, X: Any, y: Any, X_new: Any, y_new: Any, *, output: int | None = None, seed: int = 0
) -> Data | None:
    """The error on new rows of fits to fewer rows, and what twice the rows would make of it; None below 160 rows.

    Two further fits of copies of the model, to a quarter and to half of the rows, at most 1,000 and 4,000 of them; its
    own error comes last. Errors are taken to fall as a power of the number of rows, as they did last; more rows help
    where twice as many make the error at least 2% smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge import DacKernelRidge
    >>> X = np.random.default_rng(0).random((400, 1))
    >>> y = np.sin(9 * X[:, 0])
    >>> model = DacKernelRidge(1, bandwidth=0.2, penalty=1e-6).fit(X[:300], y[:300])
    >>> learning_curve(model, X[:300], y[:300], X[300:], y[300:])["n_rows"]
    [75, 150, 300]
    """
    check_same_order(X, y)
    response, truth = np.asarray(y), check_vector("y_new", y_new)
    n_rows = len(response)
    quarter, half = min(n_rows // 4, MOST_FITTED // 4), min(n_rows // 2, MOST_FITTED)
    if quarter < FEWEST_FITTED:
        return None
    order = np.random.default_rng(check_integer("seed", seed, 0)).permutation(n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer rows than were fitted
        models = [model]
        for size in (half, quarter):
            some = np.sort(order[:size])
            models.insert(0, copy.deepcopy(model).fit(raw_rows(model, X, some).table, response[some]))
        errors = [float(np.sqrt(np.mean((_prediction(one, output, X_new) - truth) ** 2))) for one in models]
    twice = errors[-1]
    if min(errors) > 0:
        slope = np.log(errors[-1] / errors[-2]) / np.log(n_rows / half)
        twice *= 2.0 ** float(min(0.0, slope))
    helps = bool(twice < (1.0 - HELPS) * errors[-1])
    return plain({"n_rows": [quarter, half, n_rows], "rmse": errors, "twice": twice, "helps": helps})
