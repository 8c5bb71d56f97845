"""Sections of a report that look at the fit: cautions, the response, the method, its cost, and how to repeat it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np

from skewridge import __version__
from skewridge._messages import as_records, listed, row_name, span
from skewridge._typing import Data
from skewridge.advice.diagnose import NAMES, about_heavy, heavy_columns, named_columns, named_heavy
from skewridge.advice.plan import plan
from skewridge.nodes.partition import make_plan
from skewridge.plots.displays import importance_bars, tuning_curves
from skewridge.reporting._errors import where
from skewridge.reporting._input import COVERAGE, SUPPORT, ReportInput, has, known
from skewridge.tables.columns import row_label
from skewridge.tables.out_of_range import outside_text
from skewridge.two_levels.planning import bytes_per_row, levels_bytes, levels_flops

FEW_ROWS = 10  # rare rows below which an error is hardly more than an anecdote; rows that a caution names
MOST_BANDS = 4  # that a caution names
SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LONGEST = 200  # characters of a value that are shown
SINGLE = (str, int, float, np.generic)  # what is shown as it is
PLANNED = ("oversampling", "max_per_slice", "n_nodes_", "n_centers_")  # what plans go by where a fit has it
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def cautions(case: ReportInput) -> dict[str, str]:
    """Cautions to read before trusting the numbers, by name."""
    return dict([*_cautions_of_rows(case), *_cautions_of_fit(case)])


def _cautions_of_rows(case: ReportInput) -> Iterator[tuple[str, str]]:
    """What in the rows, or in the predictions of them, makes errors doubtful."""
    if case.seen:
        yield (
            "seen",
            "The model was fitted to the very rows that it is judged by, so all errors below are too small. Judge it "
            "by rows that it has not seen: report(model, X_test, y_test, y_ref=y_train).",
        )
    n_rare = int(np.count_nonzero(case.rare))
    if case.sliced and n_rare < FEW_ROWS:
        few, lie = f"Only {n_rare}" if n_rare else "None", "lies" if n_rare < 2 else "lie"
        yield (
            "few_rare_rows",
            f"{few} of the rows that the model is judged by {lie} in the rare region: the error there says little.",
        )
    if case.sliced and not case.predicted_rare.any():
        yield "flat", "No prediction lies in the rare region: the model flattens what is rare."
    own, mean = case.methods[:2]
    if n_rare and own["rare_rmse"] >= mean["rare_rmse"]:
        yield "worse_than_the_mean", "Where the response is rare the model is no better than predicting the mean."
    if case.outside:
        text = outside_text(case.outside, len(case.y), lambda place: row_label(case.X, place, first=0))
        yield "outside_the_fit", text
    n_negative = int(np.count_nonzero(case.predicted < 0))
    if n_negative and case.knows_training and case.y_ref.min() >= 0:
        yield (
            "negative",
            f"{n_negative} predictions are below 0, and no response that was fitted is. If none can be, fit with "
            "bounds=(0, None).",
        )
    if case.forecaster is not None:
        yield from _caution_of_coverage(case)


def _caution_of_coverage(case: ReportInput) -> Iterator[tuple[str, str]]:
    """Bands of the prediction and fifths of columns where intervals hold too few or too many responses."""
    found = where(case)
    bands = [("the prediction", band) for band in found["by_prediction"]]
    bands += [(column["name"], band) for column in found["columns"] for band in column["bands"]]
    off = [(name, band) for name, band in bands if band["off"]]
    if not off:
        return
    off.sort(key=lambda one: -abs(one[1]["coverage"] - COVERAGE) * np.sqrt(one[1]["n_rows"]))
    named = []
    for name, band in off[:MOST_BANDS]:
        part = band.get("level") or span(band["low"], band["high"])
        named.append(f"{name} {part}: {band['coverage']:.0%} of {band['n_rows']:,} rows")
    more = f"; and {len(off) - MOST_BANDS} more" if len(off) > MOST_BANDS else ""
    yield (
        "coverage",
        f"Intervals made to hold {COVERAGE:.0%} of responses are too narrow or too wide in places ({'; '.join(named)}"
        f"{more}): more than chance explains.",
    )


def _cautions_of_fit(case: ReportInput) -> Iterator[tuple[str, str]]:
    """What in the fit, or in the columns that it got, makes the model doubtful."""
    fitted = case.fitted
    tuning: Any = getattr(fitted, "tuning_", None)
    at_edge = getattr(tuning, "at_edge", ())
    if at_edge:
        yield (
            "at_edge",
            f"The chosen {' and '.join(at_edge)} is at the edge of what was tried; pass a number to go beyond.",
        )
    if has(tuning, "dominant", "influence") and len(tuning.dominant):
        rows = [row_name(row) for row in tuning.dominant]
        yield (
            "dominant_rows",
            f"Training rows {listed(rows, len(rows), most=FEW_ROWS)} dominate the fit: row {rows[0]} alone moves the "
            f"fitted values by {tuning.influence[0]:.3g} typical residuals in all. Correct or drop them if they are "
            "wrong.",
        )
    risk = case.risk
    if risk is not None and risk.dominant_row is not None:
        yield (
            "dominant_row",
            f"Training row {row_name(risk.dominant_row)} holds {risk.dominant_share:.0%} of the squared error that "
            "the model states: that error is decided by one row. Correct or drop it if it is wrong.",
        )
    yield from (("heavy_columns", text) for text in _about_heavy(case))
    cost = getattr(tuning, "cost", None)
    if cost is not None:
        yield (
            "aim",
            f"Choices aimed at {tuning.scoring}, not at the mean squared error, which is {cost['ratio']:.2f} times the "
            f"least that was tried; the bias is {cost['bias']:.2g}.",
        )
    if has(fitted, "random_state") and fitted.random_state is None:
        yield (
            "no_seed",
            "No seed was set (random_state=None): fitting again gives a somewhat different model.",
        )


def _about_heavy(case: ReportInput) -> list[str]:
    """Columns with heavy tails, among the rows of the report and in the forms that the model has learned."""
    named = len(case.features) == np.shape(case.inputs)[1]
    found = {column.name: column for column in heavy_columns(case.inputs, case.features if named else None)}
    forms = getattr(case.fitted, "_column_forms", None)
    if forms is not None:
        ranked = np.flatnonzero(forms.ranked)
        learned = named_heavy((case.features[forms.columns[j]], forms.knots[j]) for j in ranked)
        found |= {column.name: column for column in learned}
    return about_heavy(sorted(found.values(), key=lambda column: -column.reach))


def response(case: ReportInput) -> Data:
    """The response: its shape and its slices."""
    y, found = case.y_ref, case.diagnosis
    return {
        "name": case.target,
        "rows": "fitted" if case.knows_training else "judged",
        "facts": {
            "n_rows": len(y),
            "min": y.min(),
            "max": y.max(),
            "mean": y.mean(),
            "deviation": y.std(),
            "skewness": found.skewness,
            "quantiles": as_records(share=SHARES, value=np.quantile(y, SHARES)),
            "scenario": found.scenario,
            "verdict": NAMES[found.scenario] if case.sliced else "constant",
            "matters": found.matters,
            "meaning": found.meaning,
        },
        "slicing": {
            "rule": found.rule,
            "n_slices": len(found.counts),
            "n_occupied": np.count_nonzero(found.counts),
            "n_bars": len(case.starts),
            "n_oversampled": found.n_oversampled,
        },
        "rare": {
            "n_rows": found.rare_rows,
            "share": found.rare_rows / found.n_rows,
            "ranges": found.rare_ranges,
        },
        "slices": _response_slices(case),
    }


def _response_slices(case: ReportInput) -> list[Data]:
    """Slices in ascending order, neighbours together where there are too many to show.

    ``copies`` are what Algorithm 2 with tau = 1 gives a row, on average over the rows of a group; a group is rare where
    most of its rows are, or of its slices where it has no rows.
    """
    found, starts = case.diagnosis, case.starts
    stops = np.r_[starts[1:], len(found.counts)]
    counts = np.add.reduceat(found.counts, starts)
    copies = np.add.reduceat(found.counts * found.copies, starts) / np.maximum(counts, 1)
    weights = np.where(np.repeat(counts, stops - starts) > 0, found.counts, 1)
    rare = np.add.reduceat(weights * found.rare, starts) / np.add.reduceat(weights, starts)
    return as_records(
        n_slices=stops - starts,
        low=found.edges[starts],
        high=found.edges[stops],
        count=counts,
        share=counts / found.n_rows,
        copies=copies,
        rare=rare > 0.5,
    )


def method(case: ReportInput) -> Data:
    """Parameters given and chosen, nodes or centres, and how they were chosen."""
    fitted = case.fitted
    tuning: Any = getattr(fitted, "tuning_", None)
    tuning = getattr(tuning, "level_one", tuning)
    searched = has(tuning, "penalties", "values", "margins") and np.count_nonzero(np.isfinite(tuning.values)) > 1
    scales = None
    if has(fitted, "expected_error_", "feature_scale_", "dropped_features_"):
        scales = _bars(case, fitted.feature_scale_)
    if scales is not None:  # and the columns that no fit sees
        dropped = [case.features[name] if isinstance(name, int) else name for name in fitted.dropped_features_]
        scales["dropped"] = dropped
    nodes, support = None, None
    if has(fitted, "allocation_.sizes"):
        sizes = fitted.allocation_.sizes
        nodes = {"n_nodes": len(sizes), "n_distinct": sizes.sum(), "smallest": sizes.min()}
        nodes |= {"median": np.median(sizes), "largest": sizes.max()}
    for name in [name for name in SUPPORT if has(fitted, name)]:  # in every slice of the report
        rows = getattr(fitted, name)
        per_slice = case.bar_sums(case.y_ref[rows]) if case.knows_training else None
        support = known(kind=SUPPORT[name], n_rows=len(rows), per_slice=per_slice)
    return known(
        estimator={
            "name": type(fitted).__name__,
            "within": None if fitted is case.model else type(case.model).__name__,
            "summary": (type(fitted).__doc__ or "").strip().split("\n")[0],
        },
        summary=fitted._summary() if has(fitted, "_summary") else None,
        settings=_settings(fitted) if has(fitted, "get_params") else None,
        slices=_fit_slices(case) if has(fitted, "slices_.copies", "slices_.labels") else None,
        nodes=nodes,
        support=support,
        path=tuning_curves(tuning) if searched else None,
        tried=[{name: shown(value) for name, value in one.items()} for one in getattr(tuning, "tried", ())] or None,
        scales=scales,
        importances=_bars(
            case, getattr(fitted, "feature_importances_", None), getattr(fitted, "rare_importances_", None)
        ),
    )


def _bars(case: ReportInput, values: Any, rare: Any = None) -> Data | None:
    """The features with the largest values, and what these are where the response is rare; None without one each."""
    return importance_bars(values, case.features, rare) if np.shape(values) == (len(case.features),) else None


def _settings(fitted: Any) -> list[Data]:
    """Every parameter as it was asked for, what a fit took for it, and what else a fit found."""
    found = {name: value for name, value in vars(fitted).items() if name.endswith("_") and name[0] != "_"}
    settings = []
    for name, value in fitted.get_params(deep=False).items():
        taken = found.pop(f"{name}_", None)
        if isinstance(taken, np.ndarray) and taken.ndim == 1 and taken.dtype.kind == "f" and taken.size:
            taken = f"{taken.min():.3g} to {taken.max():.3g} ({taken.size} values)"
        settings.append({"name": name, "asked": shown(value), "taken": taken if isinstance(taken, SINGLE) else None})
    single = {name: value for name, value in found.items() if isinstance(value, SINGLE)}
    return settings + [{"name": name, "asked": None, "taken": value} for name, value in sorted(single.items())]


def shown(value: Any) -> Any:
    """A single value as it is, and anything else as text that is not too long."""
    if value is None or isinstance(value, SINGLE):
        return value
    text = value.__name__ if callable(value) and hasattr(value, "__name__") else " ".join(repr(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _fit_slices(case: ReportInput) -> Data:
    """How the response was cut for the fit; copies a row, on average, in the slices of the report."""
    slices = case.fitted.slices_
    copies = None
    if case.knows_training:
        sums = case.bar_sums(case.y_ref, slices.copies[slices.labels].astype(np.float64))
        copies = sums / np.maximum(case.bar_sums(case.y_ref), 1)
    return known(
        n_slices=len(slices),
        n_occupied=len(slices.occupied),
        n_rows=slices.n_rows,
        n_oversampled=slices.n_oversampled,
        most_copies=slices.copies.max(),
        copies=copies,
    )


def cost(case: ReportInput) -> Data:
    """The cost of the fit and of a prediction, beside other ways to fit."""
    fitted, fit, ways = case.fitted, None, None
    if case.knows_training and has(fitted, "n_features_in_"):
        taken = {name.strip("_"): getattr(fitted, name) for name in PLANNED if has(fitted, name)}
        costs = plan(case.y_ref, n_features=fitted.n_features_in_, slices=case.rule, **taken).costs
        ways = [{name: getattr(way, name) for name in ("fit", "n_bytes", "n_flops", "fits")} for way in costs]
        if has(fitted, "centers_", "center_rows_"):  # of a pass over the rows with every setting known
            fit = (costs[1].n_flops, costs[1].n_bytes, len(case.y_ref))
    if has(fitted, "oof_prediction_"):  # of the whole fit, learning included, on one thread
        size = _level_size(case)
        fit = (levels_flops(size), levels_bytes(size), size.n_rows)
    elif has(fitted, "slices_.copies", "n_nodes_", "max_per_slice", "dual_coef_"):  # of the nodes' solves
        nodes = make_plan(fitted.slices_, fitted.n_nodes_, fitted.n_features_in_, fitted.max_per_slice)
        fit = (nodes.n_flops, nodes.n_bytes, nodes.n_rows)
    return known(
        fit=None if fit is None else dict(zip(("n_flops", "n_bytes", "n_rows"), fit, strict=True)),
        n_fits=fitted.tuning_.n_fits if has(fitted, "tuning_.n_fits") else None,
        prediction=_prediction_cost(case),
        ways=ways,
    )


def _prediction_cost(case: ReportInput) -> Data | None:
    """Kernel values for one prediction, of cells on average over the training rows, and bytes of the model."""
    fitted = case.fitted
    if has(fitted, "oof_prediction_"):
        size = _level_size(case)
        level_one = getattr(fitted, "_level_one", None)
        values = 0.0 if level_one is None else float(len(level_one.centers))
        models = (fitted._model,) if not hasattr(fitted, "_local_models") else fitted._local_models
        for cells in (model.cells for model in models if model is not None):
            values += float(np.sum(np.diff(cells.rows.starts).astype(np.float64) ** 2) / max(1, len(cells.points)))
        return {"n_values": round(values), "n_bytes": size.n_rows * bytes_per_row(size)}
    for name in ("centers_", "X_fit_"):
        if has(fitted, name, "dual_coef_"):
            points = getattr(fitted, name)
            return {"n_values": len(points), "n_bytes": points.nbytes + np.asarray(fitted.dual_coef_).nbytes}
    return None


def _level_size(case: ReportInput) -> Any:
    return case.fitted._size(len(case.fitted.oof_prediction_), case.fitted.n_features_in_)


def reproduce(case: ReportInput) -> Data:
    """How to get the same model and the same numbers again."""
    model, fitted = case.model, case.fitted
    parameters, seed = None, None
    if has(fitted, "get_params"):
        parameters = {name: shown(value) for name, value in model.get_params(deep=True).items()}
    if has(fitted, "random_state"):
        seed = {"value": shown(fitted.random_state), "fixed": isinstance(fitted.random_state, Integral)}
    n_rows, n_features = np.shape(case.X)[:2]
    versions = {"skewridge": __version__, "python": platform.python_version()}
    return known(
        code=repr(model),
        parameters=parameters,
        seed=seed,
        data={"n_rows": n_rows, "n_features": n_features, "checksum": checksum(case.X, case.y)},
        versions={**versions, **{name: version(name) for name in PACKAGES}},
    )


def checksum(X: Any, y: Any = None) -> str:
    """Return the SHA-256 of a table and a response: the same for an array and a frame of the same numbers.

    Columns are hashed one after the other, numbers as little-endian float64 and anything else as text, so that neither
    precision, memory order nor column names count; the order of rows and columns does.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.reporting import checksum
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> checksum(X) == checksum(np.asfortranarray(X, dtype=np.float32))
    True
    >>> checksum(X) == checksum(X[::-1])
    False
    """
    digest = hashlib.sha256(repr(np.shape(X)).encode())
    for _, column in [*named_columns(X), *([] if y is None else named_columns(y))]:
        try:
            digest.update(np.ascontiguousarray(column, dtype="<f8").tobytes())
        except (TypeError, ValueError):
            digest.update("\x1f".join(str(value) for value in column).encode())
    return digest.hexdigest()
