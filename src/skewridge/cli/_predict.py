"""A saved model and the rows that it predicts: skewridge predict, and what skewridge info tells of the file."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from skewridge._atomic import atomic_file
from skewridge._messages import in_full, listed
from skewridge._typing import BoolArray, Data, FloatArray, IntArray
from skewridge._validation import format_bytes
from skewridge.cli._app import EvaluateOptions, PredictOptions
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.cli._tables import (
    check_output,
    check_spaces,
    complete_rows,
    find_files,
    in_pieces,
    read_options,
    read_tables,
    split_names,
)
from skewridge.estimators.sources import check_std, predict_source
from skewridge.io.formats import PARQUET
from skewridge.persist import read_model
from skewridge.response.candidates import row_keys
from skewridge.tables.columns import Column, check_columns, codes_of, refuse_missing, row_label
from skewridge.tables.encoder import HEADINGS, TableSummary
from skewridge.tables.out_of_range import outside_fit, outside_text

WRITTEN = (".csv", ".tsv", *PARQUET)
STDOUT = "-"
FORMULA = tuple("=+-@\t\r")  # starts what spreadsheets may run
HASHES = "row_hashes"  # in a model file, written by `skewridge fit`
FLATTERED = "errors on them flatter. Take rows that it has not seen."
SEEN = "their predictions have seen their own response, and lie nearer to it than those of new rows."
MOST_NAMED = 5  # rows that are likeliest to exceed a value
CHOSEN = (
    *("n_centers_", "adapt_", "kernel_", "n_nodes_", "n_distinct_"),
    *("bandwidth_", "penalty_", "solver_", "n_cells_", "ridge_"),
)
STATED = ("stated_mse", "stated_rare_mse")
ROLES = {
    "weight": "weights: a row counts as often as {column!r} says in the fit, and once in errors",
    "groups": "groups: rows of one {column!r} were left out together; stated errors are for new ones",
    "time": "time: rows of later {column!r} were predicted from earlier ones; stated errors are for what follows",
}


class SavedModel:
    """A model file, the table that it is to predict, and what to do about missing values."""

    def __init__(self, screen: Screen, path: str, data: Sequence[str], options: EvaluateOptions) -> None:
        file = read_model(path)
        about, steps = file.about, getattr(file.model, "steps", None)
        self.screen, self.path, self.data, self.jobs = screen, path, data, options.jobs
        self.reading = read_options(options.reading)
        self.model, self.about, self.library = file.model, about, file.library
        self.roles = {role: about[role] for role in ROLES if role in about}
        self.encoder = steps[0][1] if steps else None
        self.estimator = steps[-1][1] if steps else file.model
        alone = [Column(name, "number") for name in getattr(self.estimator, "feature_names_in_", ())]
        self.columns: list[Column] = list(steps[0][1].columns_) if steps else alone
        self.used = [column for column in self.columns if column.features]  # all but those that were left out
        self.names = [column.name for column in self.used]
        self.missing = options.policy or about.get("missing", "refuse")  # as the option says, else as at fit
        self.truth: Any = options.truth or about.get("target")  # the column that is named, else that of the fit
        y = about.get("response")
        self.response = y if isinstance(y, np.ndarray) and y.ndim == 1 and len(y) else None  # that was fitted to

    @property
    def target(self) -> str:
        """The column with the truth, or raise where none is known."""
        if not isinstance(self.truth, str):
            raise ValueError(f"{self.path} does not say what it predicts: name the column by --target.")
        return self.truth

    def read(self, named: Sequence[str] = ()) -> Any:
        """Return the table, which has all columns that the model needs, and those named."""
        if not self.names:
            raise ValueError(
                f"{self.path} was fitted to columns without names, so none can be found in a table. Fit it with "
                "skewridge fit, or to a data frame."
            )
        texts = {column.name for column in self.used if column.levels or column.dates}
        texts |= {column.name for column in self.used if column.writing and column.writing.decimal == ","}
        every: set[Any] = {*self.names, self.about.get("target"), *named}
        decimal = self.about.get("decimal")
        how: Data = {"texts": texts, "named": every, "usual_decimal": decimal, "note": self.screen.note}
        frame, _ = read_tables(find_files(self.data), self.reading, **how)
        check_columns(self.names, frame.columns)
        known = {*every, *(column.name for column in self.columns)}  # what was left out was reported by the fit
        extra = [] if "*" in named else [name for name in frame.columns if name not in known]
        if extra:
            unused = listed(map(repr, extra), len(extra), ", ...")
            self.screen.note(f"Columns that the model does not use: {unused}.")
        return frame

    def complete(self, frame: Any) -> tuple[BoolArray, Any]:
        """Which rows are predicted, (N,), and these as the model takes them: raw, or numbers without an encoder."""
        features = frame[self.names]
        rows = complete_rows(features, self.missing, self.screen)
        inputs = features[rows]
        if self.encoder is not None:
            self.encoder.set_params(missing="impute" if self.missing == "impute" else "refuse")
            return rows, inputs
        refuse_missing(inputs, "The model cannot impute: add --missing drop, or correct the table.")
        return rows, inputs.assign(**{column.name: codes_of(column, inputs[column.name]) for column in self.used})

    def predict(self, inputs: Any, std: bool = False) -> dict[str, FloatArray]:
        """The prediction, and std, the standard deviation, where that is asked for, (n,) each."""
        self.estimator.set_params(n_jobs=self.jobs)
        with self.screen.progress():
            found = self.model.predict(inputs, return_std=True) if std else [self.model.predict(inputs)]
        return dict(zip(("prediction", "std"), found, strict=False))

    def numbers(self, inputs: Any) -> Any:
        """Rows as the estimator itself takes them."""
        if self.encoder is None:
            return inputs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # predicting has said it already
            return self.model[:-1].transform(inputs)

    def count_fitted_rows(self, inputs: Any, y: FloatArray, beware: str = FLATTERED) -> int | None:
        """Note how many rows equal rows of the fit, and return it; None where that is not known."""
        known = self.about.get(HASHES)
        if not isinstance(known, np.ndarray):
            return None
        count = int(np.isin(row_hashes(inputs, y), known).sum())
        if count:
            self.screen.note(
                f"{count:,} of {len(y):,} rows equal rows that {self.path} was fitted to, in every column that it uses "
                f"and in the target: {beware}"
            )
        return count


def row_hashes(features: Any, y: FloatArray) -> IntArray:
    """One number for every row, equal where all columns that the model uses and the response are, (n,)."""
    high, low = row_keys(features.assign(**{"": y})).T.astype(np.int64)  # no column has an empty name
    return (high - 2**31) * 2**32 + low


def predict_table(options: PredictOptions, screen: Screen) -> Answer:
    """Read, predict, write."""
    names, is_every = split_names(options.keep), options.keep == "*"
    quantiles, exceeds = _check_options(options)
    suffix = _check_output(options, screen)
    as_evaluated = EvaluateOptions(policy=options.missing, jobs=options.jobs, reading=options.reading)
    saved = SavedModel(screen, options.model, options.data, as_evaluated)
    asks_more = options.interval is not None or quantiles or exceeds or names
    pieces = "" if asks_more or saved.encoder is not None else in_pieces(options.data)
    if pieces:
        return _predict_pieces(saved, options, suffix, pieces)
    frame = saved.read(names)
    copied = list(frame.columns) if is_every else list(dict.fromkeys(names))
    check_columns(copied, frame.columns)
    check_spaces([] if is_every else copied, frame.columns)
    if options.std:
        check_std(saved.estimator)
    rows, inputs = saved.complete(frame)
    columns, numbers = saved.predict(inputs, options.std), saved.numbers(inputs)
    prediction = columns["prediction"]
    if options.interval is not None:
        columns["low"], columns["high"] = saved.estimator.predict_interval(numbers, options.interval)
    for named, method in ((quantiles, "predict_quantiles"), (exceeds, "predict_exceedance")):
        if named:
            columns |= zip(named, getattr(saved.estimator, method)(numbers, list(named.values())).T, strict=True)
    clash = [name for name in copied if name in columns]
    if clash:
        raise ValueError(f"The table has a column {clash[0]!r} already. Leave it out of --keep, or rename it.")
    every = np.full((len(frame), len(columns)), np.nan)  # rows that are dropped have no prediction
    every[rows] = np.column_stack(list(columns.values()))
    _write_table(frame[copied].assign(**dict(zip(columns, every.T, strict=True))), options, suffix)

    outside, row_name = outside_fit(saved.estimator, numbers, (), saved.columns), partial(row_label, inputs)
    if outside:
        screen.note(outside_text(outside, len(inputs), row_name))
    truth, target = np.full(len(inputs), np.nan), str(saved.about.get("target"))
    if target in frame.columns:
        with suppress(ValueError):  # where its column holds something else, which predicting does not need
            truth = codes_of(Column(target, "number"), frame[target][rows])
    unknown = np.isnan(truth)
    asked = unknown if unknown.any() else ~unknown
    data = {
        "output": options.output,
        "n_rows": len(frame),
        "n_predicted": len(inputs),
        "least": float(prediction.min()),
        "mean": float(prediction.mean()),
        "largest": float(prediction.max()),
        "outside": [column.to_dict(row_name) for column in outside],
        "n_fitted_rows": None if unknown.all() else saved.count_fitted_rows(inputs, truth, SEEN),
        "exceeds": [_exceedance(above, columns[name][asked], inputs[asked]) for name, above in exceeds.items()],
    }
    negative = int((prediction < 0).sum())
    if negative and saved.response is not None and saved.response.min() >= 0:
        screen.note(
            f"{negative} predictions are below 0, and no response that was fitted is. If none can be, fit with "
            "-p 'bounds=[0, null]'."
        )
    return Answer({}) if options.output == STDOUT else Answer(data, _as_text(data))


def _predict_pieces(saved: SavedModel, options: PredictOptions, suffix: str, pieces: str) -> Answer:
    """Predict a table that memory does not hold, with a model that was fitted in pieces, into a Parquet file."""
    [source] = options.data
    if suffix not in PARQUET:
        raise ValueError(
            f"Memory does not hold {source}, whose predictions go to Parquet. Name a .parquet file by --output; got "
            f"{options.output}."
        )
    saved.screen.note(f"{pieces}.")
    predict_source(saved.model, source, options.output, return_std=options.std, **asdict(saved.reading))
    return Answer({"output": options.output}, [options.output])


def _check_output(options: PredictOptions, screen: Screen) -> str:
    """The ending of the output, that of CSV for stdout; refuse what cannot be written, or would replace data."""
    output = options.output
    suffix = ".csv" if output == STDOUT else Path(output).suffix.lower()
    if output == STDOUT and screen.as_json:
        raise ValueError("--json and --output - cannot share stdout. Name a file for the output.")
    if suffix not in WRITTEN:
        raise ValueError(f"The output {output} must end in {', '.join(WRITTEN)}, or be - for stdout.")
    if options.escape_formulas and suffix in PARQUET:
        raise ValueError("--escape-formulas is for CSV, which spreadsheets open. Leave it out for Parquet.")
    if output != STDOUT:
        check_output(output, options.data, options.model)
    return suffix


def _check_options(options: PredictOptions) -> list[dict[str, float]]:
    """The levels of quantiles and the thresholds to exceed, by the names of their columns; or raise."""
    interval = options.interval
    if interval is not None and not 0.0 < interval <= 1.0:
        raise ValueError(f"--interval must be a share above 0 and at most 1, such as 0.9 for 90%; got {interval:g}.")
    found: list[dict[str, float]] = []
    for option, text, prefix, example in (
        ("--quantiles", options.quantiles, "q", "0.5,0.9,0.99"),
        ("--exceeds", options.exceeds, "p_above_", "1e6,2e6"),
    ):
        written = [] if text is None else [part.strip() for part in text.split(",")]
        twice = [part for part in written if written.count(part) > 1]
        try:
            found.append({f"{prefix}{part}": float(part) for part in written})
        except ValueError as error:
            message = f"{option} must be numbers with commas between them, such as {example}; got {text!r}."
            raise ValueError(message) from error
        if twice:
            column = f"{prefix}{twice[0]}"
            raise ValueError(f"The output would have two columns {column!r}. Name every level and value once.")
    return found


def _write_table(frame: Any, options: PredictOptions, suffix: str) -> None:
    """Write a data frame, in one step; CSV is UTF-8 on stdout as well, whatever a terminal of another locale shows."""
    if options.escape_formulas:
        frame = frame.rename(columns=_escaped).apply(lambda column: column.map(_escaped))
    if options.output != STDOUT:
        with atomic_file(options.output) as file:
            if suffix in PARQUET:
                frame.to_parquet(file, index=False)
            else:
                frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(frame.to_csv(index=False).encode())
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(frame.to_csv(index=False))


def _escaped(cell: Any) -> Any:
    """A text that a spreadsheet would run, with an apostrophe before it; any other cell as it is."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _exceedance(above: float, probability: FloatArray, rows: Any) -> Data:
    """How many of some rows should exceed a threshold by their probabilities, (n,), how many likely do, and which."""
    first = np.argsort(-probability, kind="stable")[:MOST_NAMED].tolist()
    return {
        "above": above,
        "n_rows": len(probability),
        "expected": float(probability.sum()),
        "n_likely": int(np.sum(probability > 0.5)),
        "likeliest": [
            {"row": row_label(rows, place), "probability": float(probability[place])}
            for place in first
            if probability[place] > 0.0
        ],
    }


def _as_text(data: Data) -> list[str]:
    """What was written in a line, and one for every threshold."""
    n_predicted = data["n_predicted"]
    empty = data["n_rows"] - n_predicted
    left = f" ({empty:,} without a prediction)" if empty else ""
    least, largest, mean = (in_full(data[name]) for name in ("least", "largest", "mean"))
    lines = [f"{data['output']}: {data['n_rows']:,} rows{left}, predictions from {least} to {largest}, mean {mean}"]
    for found in data["exceeds"]:
        likeliest = ", ".join(f"{one['row']} ({_percent(one['probability'])})" for one in found["likeliest"])
        which = "" if found["n_rows"] == n_predicted else " without a response"
        lines.append(
            f"more than {in_full(found['above'])}: {found['expected']:,.1f} of {found['n_rows']:,} rows{which} "
            f"expected, {found['n_likely']:,} likelier than not"
            + (f"; likeliest: row {likeliest}" if likeliest else "")
        )
    return lines


def _percent(share: float) -> str:
    """A probability for people; nothing is called certain that is not.

    Examples
    --------
    >>> _percent(0.9998), _percent(0.25), _percent(1.0)
    ('>99.9%', '25%', '100%')
    """
    return ">99.9%" if 0.9995 <= share < 1.0 else f"{100 * share:.3g}%"


# What is in a file


def describe(saved: SavedModel) -> Answer:
    """Tell what is in a model file."""
    summary, estimator = TableSummary(tuple(saved.columns)), saved.estimator
    columns = zip(saved.columns, summary.to_dict()["columns"], strict=True)
    data: Data = {
        "model": saved.path,
        "bytes": os.path.getsize(saved.path),
        "skewridge": saved.library,
        "estimator": type(estimator).__name__,
        "target": saved.about.get("target"),
        **{role: saved.roles.get(role) for role in ROLES},
        "n_rows": None if saved.response is None else len(saved.response),
        "columns": [{**described, "levels": list(column.levels)} for column, described in columns],
        "n_features": int(estimator.n_features_in_),
        "parameters": {name: _as_json(value) for name, value in estimator.get_params(deep=False).items()},
        "chosen": facts(estimator),
    }
    rows = "" if saved.response is None else f", {len(saved.response):,} rows"
    target = "" if data["target"] is None else f" of {data['target']!r}"
    parts: list[str | Table] = [
        f"{data['estimator']}{target}{rows}, {data['n_features']} features",
        f"{data['model']}: {format_bytes(data['bytes'])}, written by skewridge {data['skewridge']}",
        *chosen_text(data["chosen"]),
        "parameters: " + ", ".join(f"{name}={value!r}" for name, value in data["parameters"].items()),
        *roles_text(saved.roles),
    ]
    return Answer(data, [*parts, *([Table(HEADINGS, summary.rows, numbers=False)] if saved.columns else [])])


def facts(estimator: Any) -> Data:
    """The settings that a fit chose, the errors that it states for unseen rows, and its blend, in a few words."""
    risk: Any = getattr(estimator, "expected_error_", None)
    tuning: Any = getattr(estimator, "tuning_", None)
    found = {name.rstrip("_"): getattr(estimator, name, None) for name in CHOSEN}
    found |= {name: getattr(risk, name.removeprefix("stated_"), None) for name in STATED}
    if hasattr(tuning, "members"):
        pairs = zip(tuning.weights.tolist(), tuning.members, strict=True)
        found["blend"] = " + ".join(f"{weight:.2f} {name}" for weight, name in pairs)
    known = {name: value for name, value in found.items() if value is not None and np.ndim(value) == 0}
    short = {name: float(f"{v:.4g}") if isinstance(v, float) else _as_json(v) for name, v in known.items()}
    return {name: value for name, value in short.items() if not isinstance(value, float) or np.isfinite(value)}


def chosen_text(chosen: Data) -> list[str]:
    """What a fit states of its errors, in units of the response, and what it chose."""
    roots = {name: in_full(chosen[name] ** 0.5) for name in STATED if name in chosen}
    others = ", ".join(f"{name} {value}" for name, value in chosen.items() if name not in STATED)
    rare = f", {roots['stated_rare_mse']} where the response is rare" if "stated_rare_mse" in roots else ""
    lines = [f"chosen: {others}"] if others else []
    if "stated_mse" in roots:
        lines.insert(0, f"stated by the fit for rows it has not seen: RMSE {roots['stated_mse']}{rare}")
    return lines


def roles_text(roles: Mapping[str, str]) -> list[str]:
    """What is to be said of a model that was fitted with weights, groups or times."""
    return [ROLES[role].format(column=column) for role, column in roles.items()]


def _as_json(value: Any) -> Any:
    """A parameter as JSON, which has no infinities."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    known = isinstance(value, int | str | None) or (isinstance(value, float) and np.isfinite(value))
    return value if known else str(value)
