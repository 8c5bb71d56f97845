"""skewridge predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._messages import in_full
from skewridge._typing import BoolArray, FloatArray
from skewridge._validation import check_choice
from skewridge.cli._fitted_rows import note_fitted_rows
from skewridge.cli._info import columns_of, final_step, used_columns
from skewridge.cli._likely import Likely, exceedance_text
from skewridge.cli._outside import below_zero, outside_rows
from skewridge.cli._pieces import exceeds_memory, predict_in_pieces
from skewridge.cli._reading import find_files, read_tables
from skewridge.cli._screen import Answer, Reading, Screen
from skewridge.cli._table import MISSING, REMEDY, check_twins, complete_rows, split_names
from skewridge.cli._writing import STDOUT, Output, check_predictions, write_table
from skewridge.estimators.sources import check_std
from skewridge.io.formats import PARQUET
from skewridge.persist import ModelFile, read_model
from skewridge.tables.columns import Column, as_frame, check_columns, codes_of, refuse_missing, row_label
from skewridge.tables.out_of_range import outside_text
from skewridge.tables.written_numbers import SHOWN

SEEN = "their predictions have seen their own response, and lie nearer to it than those of new rows."


@dataclass(frozen=True)
class PredictRequest:
    """A model, a table, and what to do about missing values."""

    model: str
    data: Sequence[str]
    missing: str | None = None
    jobs: int = -1
    reading: Reading | None = None


def predict_table(
    request: PredictRequest, output: Output, std: bool, keep: str | None, likely: Likely, screen: Screen
) -> Answer:
    """Read, predict, write."""
    asked = likely.check()  # what cannot be read is refused before any work
    check_predictions(output, [request.model], request.data, screen)
    file = read_model(request.model)
    if exceeds_memory(request.data) and not (hasattr(file.model, "steps") or asked or keep):
        return _predict_pieces(request, file, output, std, screen)
    frame = read_rows(request, file, screen, split_names(keep))
    kept = list(frame.columns) if keep == "*" else list(dict.fromkeys(split_names(keep)))
    check_columns(kept, frame.columns)
    check_twins([] if keep == "*" else kept, frame.columns)
    prediction, deviation = predict_rows(request, file, frame, std, screen)
    columns = {"prediction": prediction, **({"std": deviation} if std else {})}
    there = ~np.isnan(prediction)
    if asked:
        found = likely.columns(file.model, predicted_inputs(request, file, frame[there]))
        columns |= {name: _spread(values, there) for name, values in found.items()}
    clash = [name for name in kept if name in columns]
    if clash:
        raise ValueError(f"The table has a column {clash[0]!r} already. Leave it out of --keep, or rename it.")
    write_table(frame[kept].assign(**columns), output)
    done, truth = prediction[there], _known_response(file, frame[there])
    data = {
        "output": output.path,
        "n_rows": len(prediction),
        "n_predicted": len(done),
        "least": float(done.min()),
        "mean": float(done.mean()),
        "largest": float(done.max()),
        "outside": _note_outside(request, file, frame[there], screen),
        "n_fitted_rows": None,
        "exceeds": _exceedances(likely, frame, columns, there, truth),
    }
    if not np.isnan(truth).all():
        data["n_fitted_rows"] = note_fitted_rows(request.model, file, frame[there], truth, screen, SEEN)
    below_zero(file, done, screen)
    return Answer({} if output.path == STDOUT else data, [] if output.path == STDOUT else _as_text(data))


def _known_response(file: ModelFile, frame: Any) -> FloatArray:
    """The response where the table has it, (n,); nan elsewhere, and where its column holds something else."""
    target = file.about.get("target")
    if target not in frame.columns:
        return np.full(len(frame), np.nan)
    try:
        return codes_of(Column(str(target), "number"), frame[target])
    except ValueError:  # which predicting does not need
        return np.full(len(frame), np.nan)


def _exceedances(
    likely: Likely, frame: Any, columns: dict[str, FloatArray], there: BoolArray, truth: FloatArray
) -> list[dict[str, Any]]:
    """What is to be expected beyond thresholds, of rows whose response is not known; of all where every one is."""
    places = np.flatnonzero(there)
    asked = places[np.isnan(truth)] if np.isnan(truth).any() else places
    return likely.exceedances(columns, asked, lambda place: row_label(frame, place))


def _predict_pieces(request: PredictRequest, file: ModelFile, output: Output, std: bool, screen: Screen) -> Answer:
    """Predict a table that memory does not hold, with a model that was fitted in pieces."""
    if output.suffix not in PARQUET:
        raise ValueError(
            f"Memory does not hold {request.data[0]}, whose predictions go to Parquet. Name a .parquet file by "
            f"--output; got {output.path}."
        )
    predict_in_pieces(file.model, request.data[0], output.path, std, request.reading, screen)
    return Answer({"output": output.path}, [output.path])


def _note_outside(request: PredictRequest, file: ModelFile, frame: Any, screen: Screen) -> list[dict[str, Any]]:
    """Tell of rows outside the range of the fit; return them as plain data."""
    found = outside_rows(file.model, predicted_inputs(request, file, frame))

    def name(place: int) -> str:
        return row_label(frame, place)

    if found:
        screen.note(outside_text(found, len(frame), name))
    return [column.to_dict(name) for column in found]


def predicted_inputs(request: PredictRequest, file: ModelFile, frame: Any) -> Any:
    """The rows that were predicted, as the model takes them."""
    columns = used_columns(file.model)
    return model_inputs(file.model, columns, frame[[column.name for column in columns]], missing_policy(request, file))


def missing_policy(request: PredictRequest, file: ModelFile) -> str:
    """What happens to missing values: as the option says, else as at fit."""
    return check_choice("--missing", request.missing or file.about.get("missing", "refuse"), MISSING)


def read_rows(request: PredictRequest, file: ModelFile, screen: Screen, named: Sequence[str] = ()) -> Any:
    """Return the table, which has all columns that the model needs, and those named."""
    needed = used_columns(file.model)
    if not needed:
        raise ValueError(
            f"{request.model} was fitted to columns without names, so none can be found in a table. Fit it with "
            "skewridge fit, or to a data frame."
        )
    files = find_files(request.data)
    texts = {column.name for column in needed if column.levels or column.dates or _has_comma(column)}
    used: set[Any] = {column.name for column in needed} | {file.about.get("target")}
    every = {*used, *named}
    how: dict[str, Any] = {"reading": request.reading, "usual_decimal": file.about.get("decimal"), "say": screen.note}
    frame = as_frame(read_tables(files, texts=texts, named=every, **how))
    check_columns([column.name for column in needed], frame.columns)
    told = {column.name for column in columns_of(file.model)}  # what was left out was told by the fit
    extra = [] if "*" in named else [name for name in frame.columns if name not in {*every, *told}]
    if extra:
        more = ", ..." if len(extra) > SHOWN else ""
        screen.note(f"Columns that the model does not use: {', '.join(map(repr, extra[:SHOWN]))}{more}.")
    return frame


def _has_comma(column: Column) -> bool:
    return column.writing is not None and column.writing.decimal == ","


def predict_rows(
    request: PredictRequest, file: ModelFile, frame: Any, std: bool, screen: Screen
) -> tuple[FloatArray, FloatArray]:
    """Return prediction and standard deviation of every row, nan where missing values are dropped."""
    policy = missing_policy(request, file)
    if std:
        check_std(final_step(file.model))
    columns = used_columns(file.model)
    features = frame[[column.name for column in columns]]
    if policy == "refuse":
        refuse_missing(features, REMEDY)
    rows = complete_rows(features, policy, screen)
    inputs = model_inputs(file.model, columns, features[rows], policy)
    final_step(file.model).set_params(n_jobs=request.jobs)
    with screen.progress():
        found = file.model.predict(inputs, **({"return_std": True} if std else {}))
    prediction, deviation = found if std else (found, np.full(int(rows.sum()), np.nan))
    if prediction.ndim > 1:
        raise ValueError(f"{request.model} predicts {prediction.shape[1]} outputs, and the command line takes one.")
    return _spread(prediction, rows), _spread(deviation, rows)


def model_inputs(model: Any, columns: Sequence[Column], features: Any, policy: str) -> Any:
    """The rows as the model takes them: a table for a pipeline, numbers for an estimator alone."""
    if hasattr(model, "steps"):
        model.steps[0][1].set_params(missing="impute" if policy == "impute" else "refuse")
        return features
    refuse_missing(features, "The model cannot impute: add --missing drop, or correct the table.")
    return features.assign(**{column.name: codes_of(column, features[column.name]) for column in columns})


def _spread(values: FloatArray, rows: Any) -> FloatArray:
    """Put values at the rows they belong to."""
    out = np.full(len(rows), np.nan)
    out[rows] = values
    return out


def _as_text(data: dict[str, Any]) -> list[str]:
    empty = data["n_rows"] - data["n_predicted"]
    left = f" ({empty:,} without a prediction)" if empty else ""
    least, largest, mean = (in_full(data[name]) for name in ("least", "largest", "mean"))
    told = f"{data['output']}: {data['n_rows']:,} rows{left}, predictions from {least} to {largest}, mean {mean}"
    return [told, *(exceedance_text(one, data["n_predicted"]) for one in data["exceeds"])]
