"""skewridge info."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from skewridge._messages import in_full
from skewridge._validation import format_bytes
from skewridge.cli._roles import TAKEN_AS, roles_text
from skewridge.cli._screen import Answer, Table
from skewridge.persist import ModelFile, read_model
from skewridge.tables.columns import Column
from skewridge.tables.encoder import HEADINGS, TableSummary

TOLD = (
    "n_centers_",
    "adapt_",
    "kernel_",
    "n_nodes_",
    "n_distinct_",
    "bandwidth_",
    "penalty_",
    "solver_",
    "n_cells_",
    "ridge_",
)
STATED = ("stated_mse", "stated_rare_mse")


def describe(path: str) -> Answer:
    """Tell what is in a model file."""
    file = read_model(path)
    estimator = final_step(file.model)
    columns = columns_of(file.model)
    summary = TableSummary(tuple(columns))
    data = {
        "model": path,
        "bytes": os.path.getsize(path),
        "skewridge": file.library,
        "estimator": type(estimator).__name__,
        "target": file.about.get("target"),
        **{name: file.about.get(name) for name in TAKEN_AS},
        "n_rows": response_rows(file),
        "columns": [
            {**told, "levels": list(c.levels)} for c, told in zip(columns, summary.to_dict()["columns"], strict=True)
        ],
        "n_features": int(estimator.n_features_in_),
        "parameters": {name: plain(value) for name, value in estimator.get_params(deep=False).items()},
        "chosen": facts(estimator),
    }
    return Answer(data, [*_as_text(data), *([Table(HEADINGS, summary.rows, numbers=False)] if columns else [])])


def final_step(model: Any) -> Any:
    """The estimator itself, of a pipeline or alone."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def columns_of(model: Any) -> list[Column]:
    """The columns of a table that a model takes; of an estimator alone, numbers of the names it was fitted to."""
    if hasattr(model, "steps"):
        return list(model.steps[0][1].columns_)
    return [Column(name, "number") for name in getattr(model, "feature_names_in_", ())]


def used_columns(model: Any) -> list[Column]:
    """The columns of a table that a model needs: all but those that were left out."""
    return [column for column in columns_of(model) if column.features]


def response_rows(file: ModelFile) -> int | None:
    """The rows that the model was fitted to, where that is known."""
    response = file.about.get("response")
    return len(response) if isinstance(response, np.ndarray) and response.ndim == 1 else None


def facts(estimator: Any) -> dict[str, Any]:
    """The settings that a fit chose, in a few words."""
    found = {name.rstrip("_"): getattr(estimator, name, None) for name in TOLD}
    found = {**found, **_stated(estimator), **_blend(estimator)}
    return {name: _short(value) for name, value in found.items() if value is not None and np.ndim(value) == 0}


def _stated(estimator: Any) -> dict[str, Any]:
    """The errors that an estimator states for rows it has not seen."""
    risk = getattr(estimator, "risk_", None)
    found = {f"stated_{name}": getattr(risk, name, None) for name in ("mse", "rare_mse")}
    return {name: value for name, value in found.items() if value is not None and np.isfinite(value)}


def chosen_text(chosen: dict[str, Any]) -> list[str]:
    """What a fit states of its errors, in units of the response, and what it chose."""
    roots = {name: in_full(chosen[name] ** 0.5) for name in STATED if name in chosen}
    others = ", ".join(f"{name} {value}" for name, value in chosen.items() if name not in STATED)
    rare = f", {roots['stated_rare_mse']} where the response is rare" if "stated_rare_mse" in roots else ""
    stated = (
        f"stated by the fit for rows it has not seen: RMSE {roots['stated_mse']}{rare}" if "stated_mse" in roots else ""
    )
    return [line for line in (stated, f"chosen: {others}" if others else "") if line]


def _blend(estimator: Any) -> dict[str, Any]:
    """The members of a blend and their weights, in one line."""
    tuning: Any = getattr(estimator, "tuning_", None)
    if not hasattr(tuning, "members"):
        return {}
    pairs = zip(tuning.members, tuning.weights.tolist(), strict=True)
    return {"blend": " + ".join(f"{weight:.2f} {name}" for name, weight in pairs)}


def plain(value: Any) -> Any:
    """A parameter as JSON, which has no infinities."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    known = isinstance(value, int | str | None) or (isinstance(value, float) and np.isfinite(value))
    return value if known else str(value)


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else plain(value)


def _as_text(data: dict[str, Any]) -> list[str]:
    rows = "" if data["n_rows"] is None else f", {data['n_rows']:,} rows"
    target = "" if data["target"] is None else f" of {data['target']!r}"
    return [
        f"{data['estimator']}{target}{rows}, {data['n_features']} features",
        f"{data['model']}: {format_bytes(data['bytes'])}, written by skewridge {data['skewridge']}",
        *chosen_text(data["chosen"]),
        "parameters: " + ", ".join(f"{name}={value!r}" for name, value in data["parameters"].items()),
        *roles_text(data),
    ]
