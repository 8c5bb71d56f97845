"""skewridge fit."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os.path import splitext
from pathlib import Path
from typing import Any

import numpy as np

from skewridge._atomic import atomic_file
from skewridge._messages import rows_named
from skewridge._validation import check_choice, format_bytes
from skewridge.cli._fitted_rows import KEY as HASHES
from skewridge.cli._fitted_rows import row_hashes
from skewridge.cli._holdout import as_table, baselines, can_be_encoded, check_share, held_out, judge
from skewridge.cli._info import chosen_text, facts
from skewridge.cli._pieces import exceeds_memory, fit_in_pieces
from skewridge.cli._reading import check_output
from skewridge.cli._roles import check_roles, fit_arguments, roles_text, titled
from skewridge.cli._screen import Answer, Screen, Table
from skewridge.cli._table import Table as Rows
from skewridge.cli._table import TableRequest, read_table
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.estimators.dac import DacKernelRidge
from skewridge.estimators.honest import HonestEstimator
from skewridge.estimators.local import LocalKernelRidge
from skewridge.estimators.skew_ridge import SkewRidge
from skewridge.estimators.table_model import TableModel
from skewridge.persist import save_model
from skewridge.tables.columns import row_label
from skewridge.tables.encoder import HEADINGS

ESTIMATORS = {
    "skew": SkewRidge,
    "local": LocalKernelRidge,
    "adaptive": AdaptiveKernelRidge,
    "dac": DacKernelRidge,
}
IN_PIECES = ("adaptive", "dac")  # which read a table that memory does not hold
SMALLER = "Here that is --estimator adaptive; skewridge plan tells what each needs."


@dataclass(frozen=True)
class FitRequest:
    """The options of `skewridge fit`."""

    table: TableRequest
    estimator: str
    output: str
    parameters: Sequence[str] | None = None
    seed: int = 0
    jobs: int = -1
    memory_limit: str | None = None
    holdout: float | None = None
    page: str | None = None


def fit_table(request: FitRequest, screen: Screen) -> Answer:
    """Read, hold rows out, fit, save, judge."""
    model = make_estimator(request)
    page = request.page or f"{splitext(request.output)[0]}.html"
    _check_places(request, page)
    if _is_in_pieces(request):
        return _fit_pieces(request, model, screen)
    whole = read_table(request.table, screen)
    places, judged = held_out(whole.response, request.holdout, request.seed, whole.known)
    table = whole.some(places) if len(judged) else whole
    pipeline = TableModel([("table", request.table.encoder), ("model", model)])
    screen.step(f"Fitting {type(model).__name__} to {len(table.response):,} rows")
    start, row_names = time.perf_counter(), dict[str, str]()
    with screen.progress(), rows_named(partial(_row_name, table, row_names)):
        _fit(pipeline, table)
    seconds = time.perf_counter() - start
    about = {"target": request.table.target, "missing": request.table.missing, "response": table.response}
    about |= request.table.roles.given | ({"row_names": row_names} if row_names else {})
    about |= {"decimal": ","} if table.decimal == "," else {}  # for new files that do not tell
    judging = _judged(pipeline, table, whole.some(judged), about, screen) if len(judged) else None
    about[HASHES] = row_hashes(pipeline, table.features, table.response)
    save_model(pipeline, request.output, about=about)
    data = {
        "model": request.output,
        "bytes": Path(request.output).stat().st_size,
        "estimator": type(model).__name__,
        "target": request.table.target,
        **request.table.roles.given,
        "features": list(table.features.columns),
        **pipeline.summary_.to_dict(),
        "n_rows": len(table.response),
        "n_features": int(model.n_features_in_),
        "seconds": seconds,
        "chosen": facts(model),
    }
    told: list[str | Table] = [Table(HEADINGS, pipeline.summary_.rows, numbers=False)]
    if judging is not None:
        data["held_out"], html = judging
        data["report"] = _write_page(page, html)
        told += as_table(data["held_out"], request.table.roles)
    told += roles_text(about)
    more = " --interval 0.9" if isinstance(model, HonestEstimator) else ""  # others would have to be calibrated first
    return Answer(data, [*told, *_as_text(data, more)])


def _is_in_pieces(request: FitRequest) -> bool:
    """Whether memory does not hold the table, and the estimator does not need it as a whole."""
    table = request.table
    is_plain = not (table.categorical or table.ordinal or table.kind)
    return is_plain and request.estimator in IN_PIECES and exceeds_memory(table.data, request.memory_limit)


def _fit_pieces(request: FitRequest, model: Any, screen: Screen) -> Answer:
    """Fit to a table that memory does not hold, and save."""
    if request.holdout or request.page:
        raise ValueError("--holdout and --report need the table in memory, which does not hold it. Leave them out.")
    if request.table.roles.given:
        said = ", ".join(f"--{name}" for name in request.table.roles.given)
        raise ValueError(f"{said}: these need the table in memory, which does not hold it. Leave them out.")
    start = time.perf_counter()
    with screen.progress():
        y = fit_in_pieces(model, request.table, screen)
    seconds = time.perf_counter() - start
    save_model(model, request.output, about={"target": request.table.target, "missing": "refuse", "response": y})
    data = {
        "model": request.output,
        "bytes": Path(request.output).stat().st_size,
        "estimator": type(model).__name__,
        "target": request.table.target,
        "features": model.feature_names_in_.tolist(),
        "n_rows": len(y),
        "n_features": int(model.n_features_in_),
        "seconds": seconds,
        "chosen": facts(model),
    }
    return Answer(data, _as_text(data, ""))


def _check_places(request: FitRequest, page: str) -> None:
    """Refuse, before any work, places that cannot be written, and a share that cannot be held out."""
    for output in (request.output, page):
        check_output(output, request.table.data)
    if Path(page).resolve() == Path(request.output).resolve():
        raise ValueError(f"The report and the model would both be written to {page}. Name another file by --report.")
    if request.holdout is not None:
        check_share(request.holdout)


def _judged(
    model: TableModel, fitted: Rows, rows: Rows, about: dict[str, Any], screen: Screen
) -> tuple[dict[str, Any], str] | None:
    """Errors on the rows held out, and a page about them: both before anything is written, since they may fail."""
    import pandas as pd

    from skewridge.reporting import report

    screen.step(f"Judging by {len(rows.response):,} rows that were held out")
    known, odd = can_be_encoded(model, rows.features)
    if odd:
        screen.note(f"{(~known).sum()} of them are not judged: the rows that were fitted do not explain {odd}.")
        rows = rows.some(np.flatnonzero(known))
    if not len(rows.response):
        return None
    others = baselines(model, fitted, rows.features)
    errors = judge(model, others, rows, fitted)
    named = pd.Series(rows.response, index=rows.features.index, name=about["target"])
    title = titled(type(model.steps[-1][1]).__name__, about["target"], about)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # judging has noted them
        return errors, report(model, rows.features, named, y_ref=fitted.response, title=title, baselines=others)


def _write_page(page: str, html: str) -> str:
    with atomic_file(page) as file:
        file.write(html.encode())
    return page


def _row_name(table: Rows, asked: dict[str, str], place: int) -> str:
    """The number of a row in its file; rows that were asked for are remembered."""
    return asked.setdefault(str(place), row_label(table.features, place))


def _fit(pipeline: TableModel, table: Rows) -> None:
    """Fit; a refusal for memory names the option for an estimator that needs less."""
    try:
        pipeline.fit(table.features, table.response, **fit_arguments(table.known))
    except MemoryError as error:
        if not str(error) or not isinstance(pipeline.steps[-1][1], HonestEstimator):
            raise
        raise MemoryError(f"{error} {SMALLER}") from error


def make_estimator(request: FitRequest) -> Any:
    """Return the estimator with its parameters, or raise for one that there is not."""
    cls = ESTIMATORS[check_choice("--estimator", request.estimator, list(ESTIMATORS))]
    check_roles(request.table.roles, request.table.target, cls, ESTIMATORS)
    given = dict(_parameter(text) for text in request.parameters or ())
    known = cls().get_params()
    for name in given:
        if name not in known:
            own = ", ".join(known)
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {own}.{_owners(name)}")
    shared = {"random_state": request.seed, "n_jobs": request.jobs, "memory_limit": request.memory_limit}
    return cls(**{**shared, **given})


def _owners(parameter: str) -> str:
    """Which estimators have a parameter, if any."""
    owners = [name for name, cls in ESTIMATORS.items() if parameter in cls().get_params()]
    listed = " and ".join(f"--estimator {name}" for name in owners)
    return f" {listed} {'has' if len(owners) == 1 else 'have'} it." if owners else ""


def _parameter(text: str) -> tuple[str, Any]:
    """Return name and value of "name=value"; what is not JSON is text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"--param must be name=value; got {text!r}.")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _as_text(data: dict[str, Any], more: str) -> list[str]:
    return [
        f"{data['estimator']} of {data['target']!r}: {data['n_rows']:,} rows, {len(data['features'])} columns as "
        f"{data['n_features']} features, {data['seconds']:.1f} s",
        *chosen_text(data["chosen"]),
        f"saved: {data['model']} ({format_bytes(data['bytes'])})" + (f", {data['report']}" if "report" in data else ""),
        f"next: skewridge predict {data['model']} DATA{more}",
    ]
