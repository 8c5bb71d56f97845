"""skewridge fit: read, hold rows out, fit, evaluate on these rows beside plain baselines, save."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from inspect import signature
from os.path import getsize, realpath, splitext
from typing import Any

import numpy as np
from sklearn.base import clone

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, SkewRidge
from skewridge._atomic import atomic_file
from skewridge._messages import in_full, rows_named
from skewridge._typing import BoolArray, Data, FloatArray, IntArray
from skewridge._validation import check_choice, check_real, format_bytes
from skewridge.cli._app import FitOptions
from skewridge.cli._evaluate import title_of
from skewridge.cli._predict import HASHES, chosen_text, facts, roles_text, row_hashes
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.cli._tables import (
    TAKEN_AS,
    Rows,
    check_output,
    encoder_of,
    in_pieces,
    note_dialects,
    read_options,
    read_rows,
    split_names,
)
from skewridge.estimators.left_out import LeftOutEstimator
from skewridge.estimators.sources import fit_source
from skewridge.estimators.table_model import TableModel
from skewridge.io.csv_dialect import Dialect, ReadOptions
from skewridge.io.files import FileChunk, open_files
from skewridge.io.sources import open_source
from skewridge.metrics import figures, rare_region
from skewridge.model_selection import response_train_test_split
from skewridge.persist import save_model
from skewridge.tables.columns import Column, codes_of, row_label, shown
from skewridge.tables.encoder import HEADINGS

ESTIMATORS: dict[str, Any] = {
    "skew": SkewRidge,
    "local": LocalKernelRidge,
    "adaptive": AdaptiveKernelRidge,
    "dac": DacKernelRidge,
}
IN_PIECES = ("adaptive", "dac")  # which read a table that memory does not hold
SMALLER = "Here that is --estimator adaptive; skewridge plan tells what each needs."
HOLDOUT_SHARE, HOLDOUT_FROM = 0.1, 1000  # held out by default, from so many rows on
LABELS = {"rmse": "RMSE", "mae": "MAE", "median_percent": "median error, %", "r2": "R2", "rare_rmse": "RMSE where rare"}
NO_PERCENTS = "No errors in per cent are told: some of these rows have a response of 0."


def fit_table(options: FitOptions, screen: Screen) -> Answer:
    """Read, hold rows out, fit, save, evaluate."""
    model, encoder, read_as = make_estimator(options), encoder_of(options), read_options(options.reading)
    page = options.report or f"{splitext(options.output)[0]}.html"
    for output in (options.output, page):
        check_output(output, options.data)
    if realpath(page) == realpath(options.output):
        raise ValueError(f"The report and the model would both be written to {page}. Name another file by --report.")
    if options.holdout is not None and check_real("--holdout", options.holdout, 0, 1) == 1.0:
        raise ValueError("--holdout must be below 1; got 1, which leaves no rows to fit.")
    is_plain = not (options.categorical or options.ordinal or options.kind)
    pieces = in_pieces(options.data, options.memory_limit) if is_plain and options.estimator in IN_PIECES else ""
    if pieces:
        return _fit_pieces(options, model, read_as, pieces, screen)

    rows = read_rows(options, encoder, read_as, screen)
    is_test = held_out(rows.response, options.holdout, options.seed, rows.fit_params)
    train = rows.some(~is_test) if is_test.any() else rows
    pipeline = TableModel([("table", encoder), ("model", model)])
    screen.step(f"Fitting {type(model).__name__} to {len(train.response):,} rows")
    row_names: dict[str, str] = {}  # of rows that messages name

    def name_row(place: int) -> str:
        return row_names.setdefault(str(place), row_label(train.features, place))

    start = time.perf_counter()
    with screen.progress(), rows_named(name_row):
        try:
            pipeline.fit(train.features, train.response, **train.fit_params)
        except MemoryError as error:
            if not str(error) or not isinstance(model, LeftOutEstimator):
                raise
            raise MemoryError(f"{error} {SMALLER}") from error
    seconds = time.perf_counter() - start
    about = {"target": options.target, "missing": options.missing, "response": train.response, **options.roles}
    if row_names:
        about["row_names"] = row_names
    if train.decimal == ",":
        about["decimal"] = ","  # for new files that have no decimal sign
    evaluated = _evaluate(pipeline, train, rows.some(is_test), options, screen) if is_test.any() else None
    used = [column.name for column in encoder.columns_ if column.features]
    about[HASHES] = row_hashes(train.features[used], train.response)
    save_model(pipeline, options.output, about=about)
    columns = {**options.roles, "features": list(train.features.columns), **pipeline.summary_.to_dict()}
    data = _facts_of_fit(model, options, columns, len(train.response), seconds)
    parts: list[str | Table] = [Table(HEADINGS, pipeline.summary_.rows, numbers=False)]
    if evaluated is not None:
        errors, html = evaluated
        with atomic_file(page) as file:
            file.write(html.encode())
        data |= {"held_out": errors, "report": page}
        parts += as_table(errors, options.roles)
    return Answer(data, [*parts, *roles_text(options.roles), *_as_text(data, model)])


def _fit_pieces(options: FitOptions, model: Any, read_as: ReadOptions, pieces: str, screen: Screen) -> Answer:
    """Fit to a table that memory does not hold, without an encoder, and save."""
    if options.holdout or options.report:
        raise ValueError("--holdout and --report need the table in memory, which does not hold it. Leave them out.")
    if options.roles:
        said = ", ".join(f"--{name}" for name in options.roles)
        raise ValueError(f"{said}: these need the table in memory, which does not hold it. Leave them out.")
    [source] = options.data
    screen.note(f"{pieces}: columns must be numbers without gaps, and no rows are held out.")
    start = time.perf_counter()
    with screen.progress():
        names, excluded = split_names(options.features) or None, split_names(options.exclude)
        if names is None and excluded:
            names = [name for name in open_files(source, read_as).types if name not in (options.target, *excluded)]
        X, y = open_source(source, options.target, names, options=read_as)
        files = [chunk for chunk in X.chunks if isinstance(chunk, FileChunk) and isinstance(chunk.how, Dialect)]
        note_dialects({chunk.url: chunk.how.said for chunk in files}, screen.note)
        fit_source(model, source, y, list(X.names or ()), **vars(read_as))
    seconds = time.perf_counter() - start
    about = {"target": options.target, "missing": "refuse", "response": y}
    save_model(model, options.output, about=about)
    columns = {"features": model.feature_names_in_.tolist()}
    data = _facts_of_fit(model, options, columns, len(y), seconds)
    return Answer(data, _as_text(data, model))


def _facts_of_fit(estimator: Any, options: FitOptions, columns: Data, n_rows: int, seconds: float) -> Data:
    """What was fitted and saved, as plain data."""
    return {
        "model": options.output,
        "bytes": getsize(options.output),
        "estimator": type(estimator).__name__,
        "target": options.target,
        **columns,
        "n_rows": n_rows,
        "n_features": int(estimator.n_features_in_),
        "seconds": seconds,
        "chosen": facts(estimator),
    }


def _as_text(data: Data, estimator: Any) -> list[str]:
    more = " --interval 0.9" if isinstance(estimator, LeftOutEstimator) else ""  # others would have to be calibrated
    return [
        f"{data['estimator']} of {data['target']!r}: {data['n_rows']:,} rows, {len(data['features'])} columns as "
        f"{data['n_features']} features, {data['seconds']:.1f} s",
        *chosen_text(data["chosen"]),
        f"saved: {data['model']} ({format_bytes(data['bytes'])})" + (f", {data['report']}" if "report" in data else ""),
        f"next: skewridge predict {data['model']} DATA{more}",
    ]


# The estimator


def make_estimator(options: FitOptions) -> Any:
    """Return the estimator with its parameters; refuse, before anything is read, what it does not have or take."""
    cls = ESTIMATORS[check_choice("--estimator", options.estimator, list(ESTIMATORS))]
    if {"groups", "time"} <= options.roles.keys():
        raise ValueError(
            "--groups and --time cannot both be given: rows are left out with their group, or predicted by earlier "
            "ones. Give the one that tells how new rows come: in new groups, or later."
        )
    for option, column in options.roles.items():
        if column == options.target:
            raise ValueError(f"--{option} names {column!r}, which is the target. Name another column.")
        able = [name for name, one in ESTIMATORS.items() if TAKEN_AS[option] in signature(one.fit).parameters]
        if options.estimator not in able:
            others = " or ".join(f"--estimator {name}" for name in able)
            raise ValueError(f"{cls.__name__} cannot take --{option}. Take {others}, or leave it out.")
    given = {}
    for text in options.param or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--param must be name=value; got {text!r}.")
        try:
            given[name.strip()] = json.loads(value)
        except ValueError:  # what is not JSON is text
            given[name.strip()] = value
    params = cls().get_params()
    for name in given:
        if name not in params:
            owners = [f"--estimator {other}" for other, one in ESTIMATORS.items() if name in one().get_params()]
            have = f" {' and '.join(owners)} {'has' if len(owners) == 1 else 'have'} it." if owners else ""
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {', '.join(params)}.{have}")
    shared = {"random_state": options.seed, "n_jobs": options.jobs, "memory_limit": options.memory_limit}
    return cls(**{**shared, **given})


# Rows held out


def held_out(y: FloatArray, share: float | None, seed: int, fit_params: Mapping[str, Any]) -> BoolArray:
    """Return which rows are held out, (n,): a share of every slice of y.

    Where rows have groups whole groups are held out, and where they have times the last rows. A share of None is a
    tenth from 1,000 rows on, and nothing below, where every row is needed.
    """
    if share is None:
        share = HOLDOUT_SHARE if len(y) >= HOLDOUT_FROM else 0.0
    is_test = np.zeros(len(y), dtype=bool)
    if share == 0.0:
        return is_test
    if share * len(y) < 1.0 or (1.0 - share) * len(y) < 1.0:
        raise ValueError(f"--holdout {share:g} of {len(y)} rows leaves none to fit or to judge by. Take another share.")
    if "groups" in fit_params:
        return _whole_groups(fit_params["groups"], y, share, seed)
    if "order" in fit_params:
        times = fit_params["order"]
        distinct, counts = np.unique(times, return_counts=True)
        if len(distinct) < 2:
            raise ValueError(f"--time must hold at least two times; got one for all {len(y):,} rows. Leave it out.")
        later = np.cumsum(counts[::-1])[::-1][1:]  # rows from a time on; the first time is always fitted
        first_out = distinct[1 + int(np.argmin(np.abs(later - share * len(y))))]
        return np.asarray(times >= first_out)  # equal ones together
    _, test, *_ = response_train_test_split(np.arange(len(y)), y, test_size=share, random_state=seed)
    is_test[test] = True
    return is_test


def _whole_groups(groups: IntArray, y: FloatArray, share: float, seed: int) -> BoolArray:
    """The rows of some groups, (n,): systematic sampling of groups ordered by mean response.

    ``due`` grows by share times size, and a group is taken when at least half of it is due, then paid for.
    """
    _, group_of_row, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError(f"--groups must hold at least two groups; got one for all {len(y):,} rows. Leave it out.")
    rng = np.random.default_rng(seed)
    means = np.bincount(group_of_row, y) / sizes
    is_test = np.zeros(len(sizes), dtype=bool)
    due = (rng.uniform() - 0.5) * sizes.mean()
    for group in np.lexsort((rng.permutation(len(sizes)), means)).tolist():
        due += share * sizes[group]
        if due >= sizes[group] / 2:
            is_test[group] = True
            due -= sizes[group]
    if is_test.all() or not is_test.any():  # few groups: neither part stays empty
        is_test[int(np.argmin(sizes))] ^= True
    return is_test[group_of_row]


def _evaluate(
    model: TableModel, train: Rows, test: Rows, options: FitOptions, screen: Screen
) -> tuple[Data, str] | None:
    """Errors on the rows held out, and a page about them: both before anything is written, since they may fail."""
    import pandas as pd

    from skewridge.reporting import report

    screen.step(f"Judging by {len(test.response):,} rows that were held out")
    encodable, odd = can_be_encoded(model.steps[0][1].columns_, test.features)
    if odd:
        screen.note(f"{(~encodable).sum()} of them are not judged: the rows that were fitted do not explain {odd}.")
        test = test.some(encodable)
    if not len(test.response):
        return None
    y, y_ref, estimator = test.response, train.response, model.steps[-1][1]
    others = baselines(model, train, test.features)
    rare = rare_region(y, y_ref)
    mean = np.full(len(y), np.average(y_ref, weights=train.fit_params.get("sample_weight")))
    predictions = {type(estimator).__name__: np.asarray(model.predict(test.features)), "mean": mean, **others}
    errors = {name: figures(y, found, rare) for name, found in predictions.items()}
    named = pd.Series(y, index=test.features.index, name=options.target)
    title = title_of(estimator, options.target, options.roles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predicting has noted them
        html = report(model, test.features, named, y_ref=y_ref, title=title, baselines=others)
    return {"n_rows": len(y), "n_rare": int(rare.sum()), "errors": errors}, html


def can_be_encoded(columns: list[Column], X: Any) -> tuple[BoolArray, str]:
    """Return which rows hold values that columns take, (n,), and the columns of the others in words.

    A text among numbers is a gap where the rows of the fit have it, and refused where they have not.
    """
    import pandas as pd

    encodable, odd = np.ones(len(X), dtype=bool), []
    for column in columns:
        values = X[column.name]
        if column.features and not _takes(column, values):
            refused = [value for value in values.dropna().unique() if not _takes(column, pd.Series([value]))]
            encodable &= ~values.isin(refused).to_numpy()
            odd.append(f"{column.name!r} ({shown([str(value) for value in refused])})")
    return encodable, ", ".join(odd)


def _takes(column: Column, values: Any) -> bool:
    try:
        codes_of(column, values)
    except ValueError:
        return False
    return True


def baselines(model: TableModel, train: Rows, new: Any) -> dict[str, FloatArray]:
    """Return what ridge regression and boosted trees predict of new rows, fitted to the numbers that the model saw."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV

    encoder, y = model.steps[0][1], train.response
    # with means of levels as the model saw them
    numbers_of_train = clone(encoder).fit_transform(train.features, y, **train.fit_params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model notes what it has not seen
        numbers_of_new = encoder.transform(new)
    others = {
        "ridge": RidgeCV(np.logspace(-3, 5, 17)),
        "boosted trees": HistGradientBoostingRegressor(random_state=0),
    }
    weights = train.fit_params.get("sample_weight")
    return {name: other.fit(numbers_of_train, y, weights).predict(numbers_of_new) for name, other in others.items()}


def as_table(data: Data, roles: Mapping[str, str]) -> list[str | Table]:
    """The errors for people, methods side by side."""
    errors = data["errors"]
    has_zeros = all(found["median_percent"] is None for found in errors.values())
    rows = []
    for score, label in LABELS.items():
        values = [found[score] for found in errors.values()]
        if score == "r2":
            values = [value if value is None else round(value, 4) + 0.0 for value in values]  # no -2e-05, and no -0
        if not (has_zeros and score == "median_percent"):
            rows.append([label, *map(in_full, values)])
    which = ""
    if "groups" in roles:
        which = f", whole groups of {roles['groups']!r}"
    elif "time" in roles:
        which = f", the last by {roles['time']!r}"
    said = (
        f"Judged by {data['n_rows']:,} rows that were held out{which}, {data['n_rare']:,} of them rare (the 2% rarest "
        "values of the response)."
    )
    return [Table(["held out", *errors], rows), said, *([NO_PERCENTS] if has_zeros else [])]
