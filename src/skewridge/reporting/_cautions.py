"""Cautions to read before trusting the numbers."""

from __future__ import annotations

import numpy as np

from skewridge._messages import row_name, span
from skewridge.advice.columns import about_heavy, heavy_columns, named_heavy
from skewridge.reporting import _levels, _where
from skewridge.reporting._case import COVERAGE, Case, Part, table_columns
from skewridge.tables.columns import row_label
from skewridge.tables.outside import outside_fit, outside_text

SHOWN = 4  # bands that a caution names
FEW_ROWS = 10  # rare rows below which an error is hardly more than an anecdote


def _seen(case: Case) -> str | None:
    if not case.seen:
        return None
    return (
        "The model was fitted to the very rows that it is judged by, so all errors below are too small. Judge it by "
        "rows that it has not seen: report(model, X_test, y_test, y_ref=y_train)."
    )


def _few(case: Case) -> str | None:
    n = int(np.count_nonzero(case.rare))
    if not case.sliced or n >= FEW_ROWS:
        return None
    held, lie = f"Only {n}" if n else "None", "lies" if n < 2 else "lie"
    return f"{held} of the rows that the model is judged by {lie} in the rare region: the error there says little."


def _flat(case: Case) -> str | None:
    if not case.sliced or case.predicted_rare.any():
        return None
    return "No prediction lies in the rare region: the model flattens what is rare."


def _worse(case: Case) -> str | None:
    error, spread = case.predicted - case.y, case.y - case.y_ref.mean()
    if not case.rare.any() or np.sum(error[case.rare] ** 2) < np.sum(spread[case.rare] ** 2):
        return None
    return "Where the response is rare the model is no better than predicting the mean."


def _at_edge(case: Case) -> str | None:
    names = " and ".join(case.fitted.tuning_.at_edge)
    return f"The chosen {names} is at the edge of what was tried; pass a number to go beyond." if names else None


def _dominant(case: Case) -> str | None:
    tuning = case.fitted.tuning_
    if not len(tuning.dominant):
        return None
    rows = [row_name(row) for row in tuning.dominant[:FEW_ROWS]]
    more = f" and {len(tuning.dominant) - FEW_ROWS} more" if len(tuning.dominant) > FEW_ROWS else ""
    return (
        f"Training rows {', '.join(rows)}{more} dominate the fit: row {rows[0]} alone moves the fitted values by "
        f"{tuning.pulls[0]:.3g} typical residuals in all. Correct or drop them if they are wrong."
    )


def _heavy(case: Case) -> str | None:
    """Columns with heavy tails, among the rows that the model is judged by and in the forms that it has learned."""
    named = len(case.features) == (np.shape(case.inputs)[1:] or (0,))[0]
    judged = heavy_columns(case.inputs, case.features if named else None)
    found = {column.name: column for column in judged}
    forms = getattr(case.fitted, "_column_forms", None)
    if forms is not None:
        ranked = np.flatnonzero(forms.ranked)
        learned = named_heavy((case.features[forms.columns[j]], forms.knots[j]) for j in ranked)
        found.update({column.name: column for column in learned})
    return next(about_heavy(sorted(found.values(), key=lambda column: -column.reach)), None)


def _aim(case: Case) -> str | None:
    cost = case.fitted.tuning_.cost
    if cost is None:
        return None
    return (
        f"Choices aimed at {case.fitted.tuning_.scoring}, not at the mean squared error, which is {cost['ratio']:.2f} "
        f"times the least that was tried; the bias is {cost['bias']:.2g}."
    )


def _seedless(case: Case) -> str | None:
    if case.fitted.random_state is not None:
        return None
    return "No seed was set (random_state=None): fitting again gives a somewhat different model."


def _outside(case: Case) -> str | None:
    columns = table_columns(case.model)
    found = outside_fit(case.fitted, case.inputs, case.features, columns)
    return outside_text(found, len(case.y), lambda place: row_label(case.X, place, first=0)) if found else None


def _negative(case: Case) -> str | None:
    n = int(np.count_nonzero(case.predicted < 0))
    if not n or not case.knows_training or case.y_ref.min() < 0:
        return None
    return (
        f"{n} predictions are below 0, and no response that was fitted is. If none can be, fit with bounds=(0, None)."
    )


def _coverage(case: Case) -> str | None:
    """Bands of the prediction and fifths of columns where intervals hold too few or too many responses."""
    if case.forecaster is None:
        return None
    bands = [("the prediction", span(b["low"], b["high"]), b) for b in _where.by_prediction(case)]
    for column in _where.columns(case):
        bands += [(column["name"], b["level"] or span(b["low"], b["high"]), b) for b in column["bands"]]
    off = [(name, where, b["coverage"], b["n_rows"]) for name, where, b in bands if b["off"]]
    if not off:
        return None
    off.sort(key=lambda one: -abs(one[2] - COVERAGE) * np.sqrt(one[3]))
    told = [f"{name} {where}: {share:.0%} of {n:,} rows" for name, where, share, n in off[:SHOWN]]
    more = f"; and {len(off) - SHOWN} more" if len(off) > SHOWN else ""
    return (
        f"Intervals made to hold {COVERAGE:.0%} of responses are too narrow or too wide in places ({'; '.join(told)}"
        f"{more}): more than chance explains."
    )


PARTS = (
    Part("seen", (), _seen),
    Part("few_rare_rows", (), _few),
    Part("flat", (), _flat),
    Part("worse_than_the_mean", (), _worse),
    Part("outside_the_fit", ("feature_min_in_", "feature_max_in_"), _outside),
    Part("negative", (), _negative),
    Part("coverage", ("predict_interval",), _coverage),
    Part("at_edge", ("tuning_.at_edge",), _at_edge),
    Part("dominant_rows", ("tuning_.dominant", "tuning_.pulls"), _dominant),
    Part("dominant_row", ("risk_",), _levels.dominant_row),
    Part("heavy_columns", (), _heavy),
    Part("aim", ("tuning_.cost",), _aim),
    Part("no_seed", ("random_state",), _seedless),
)
