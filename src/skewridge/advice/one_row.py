"""One prediction explained: what each column does to it, compared with the values of other rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skewridge._messages import plain
from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_integer
from skewridge.advice.raw_rows import raw_rows

N_BACKGROUND = 200  # rows whose values stand for "any other row"


def explain_row(model: Any, X: Any, row: int, *, seed: int = 0) -> dict[str, Any]:
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
    drawn = np.random.default_rng(check_integer("seed", seed, 0)).choice(
        others, min(len(others), N_BACKGROUND), replace=False
    )
    rows = raw_rows(model, X, np.r_[place, np.sort(drawn)])
    background = np.arange(1, len(rows))

    def predict(some: IntArray, exchanged: dict[int, IntArray] | None = None) -> FloatArray:
        found = np.asarray(model.predict(rows.some(some, exchanged)), dtype=np.float64)
        if found.ndim > 1:
            raise ValueError(f"A model of one output is needed; this one predicts {found.shape[1]}.")
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows whose columns do not go together
        own = float(predict(np.array([0]))[0])
        same = np.zeros(len(background), dtype=np.int64)
        effects = {column: own - predict(same, {column: background}) for column in rows.used()}
        average = float(predict(background).mean())
    told = [
        {
            "name": rows.names[column],
            "value": _value(rows.table, column),
            "effect": float(found.mean()),
            "se": float(found.std() / np.sqrt(len(found))),
        }
        for column, found in effects.items()
    ]
    order = np.argsort([-abs(found.mean()) for found in effects.values()], kind="stable")
    columns = [told[place] for place in order]
    return plain({"prediction": own, "average": average, "n_rows": len(background), "columns": columns})


def _value(table: Any, column: int) -> str | None:
    """The first row's value as text; None for a gap."""
    value = table.iloc[0, column] if hasattr(table, "iloc") else table[0, column]
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
