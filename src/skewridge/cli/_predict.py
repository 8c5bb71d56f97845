"""skewridge predict."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skewridge._atomic import atomic_file
from skewridge._typing import FloatArray
from skewridge._validation import check_choice
from skewridge.cli._fit import check_output
from skewridge.cli._info import columns_of, final_step
from skewridge.cli._reading import PARQUET, find_files, read_tables
from skewridge.cli._screen import Answer, Screen
from skewridge.cli._table import MISSING, REMEDY, complete_rows, split_names
from skewridge.estimators.sources import check_std
from skewridge.persist import ModelFile, read_model
from skewridge.tables.columns import SHOWN, Column, as_frame, check_columns, codes_of, refuse_missing

WRITTEN = (".csv", ".tsv", *PARQUET)
STDOUT = "-"


@dataclass(frozen=True)
class PredictRequest:
    """A model, a table, and what to do about missing values."""

    model: str
    data: Sequence[str]
    missing: str | None = None
    jobs: int = -1
    delimiter: str | None = None


def predict_table(request: PredictRequest, output: str, std: bool, keep: str | None, screen: Screen) -> Answer:
    """Read, predict, write."""
    _check_output(output, request.data, screen)
    file = read_model(request.model)
    frame = read_rows(request, file, screen)
    kept = list(frame.columns) if keep == "*" else split_names(keep)
    check_columns(kept, frame.columns)
    prediction, deviation = predict_rows(request, file, frame, std, screen)
    columns = {"prediction": prediction, **({"std": deviation} if std else {})}
    clash = [name for name in kept if name in columns]
    if clash:
        raise ValueError(f"The table has a column {clash[0]!r} already. Leave it out of --keep, or rename it.")
    _write(frame[kept].assign(**columns), output)
    done = prediction[~np.isnan(prediction)]
    data = {
        "output": output,
        "n_rows": len(prediction),
        "n_predicted": len(done),
        "least": float(done.min()),
        "mean": float(done.mean()),
        "largest": float(done.max()),
    }
    return Answer({} if output == STDOUT else data, [] if output == STDOUT else [_as_text(data)])


def read_rows(request: PredictRequest, file: ModelFile, screen: Screen) -> Any:
    """Return the table, which has all columns that the model needs."""
    needed = columns_of(file.model)
    if not needed:
        raise ValueError(
            f"{request.model} was fitted to columns without names, so none can be found in a table. Fit it with "
            "skewridge fit, or to a data frame."
        )
    files = find_files(request.data)
    texts = {column.name for column in needed if column.levels}
    frame = as_frame(read_tables(files, texts=texts, delimiter=request.delimiter, note=screen.note))
    check_columns([column.name for column in needed], frame.columns)
    used = {column.name for column in needed} | {file.about.get("target")}
    extra = [name for name in frame.columns if name not in used]
    if extra:
        more = ", ..." if len(extra) > SHOWN else ""
        screen.note(f"Columns that the model does not use: {', '.join(map(repr, extra[:SHOWN]))}{more}.")
    return frame


def predict_rows(
    request: PredictRequest, file: ModelFile, frame: Any, std: bool, screen: Screen
) -> tuple[FloatArray, FloatArray]:
    """Return prediction and standard deviation of every row, nan where missing values are dropped."""
    policy = check_choice("--missing", request.missing or file.about.get("missing", "refuse"), MISSING)
    if std:
        check_std(final_step(file.model))
    columns = columns_of(file.model)
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


def _check_output(output: str, data: Sequence[str], screen: Screen) -> None:
    if output == STDOUT and screen.as_json:
        raise ValueError("--json and --output - cannot share stdout. Name a file for the output.")
    if output == STDOUT:
        return
    if Path(output).suffix.lower() not in WRITTEN:
        raise ValueError(f"The output {output} must end in {', '.join(WRITTEN)}, or be - for stdout.")
    check_output(output, data)


def _write(frame: Any, output: str) -> None:
    if output == STDOUT:
        text = io.StringIO()
        frame.to_csv(text, index=False)
        sys.stdout.write(text.getvalue())
        return
    suffix = Path(output).suffix.lower()
    with atomic_file(output) as file:
        if suffix in PARQUET:
            frame.to_parquet(file, index=False)
        else:
            frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")


def _as_text(data: dict[str, Any]) -> str:
    empty = data["n_rows"] - data["n_predicted"]
    left = f" ({empty:,} without a prediction)" if empty else ""
    return (
        f"{data['output']}: {data['n_rows']:,} rows{left}, predictions from {data['least']:.4g} to "
        f"{data['largest']:.4g}, mean {data['mean']:.4g}"
    )
