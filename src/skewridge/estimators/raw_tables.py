"""Refusing a raw table where numbers are needed, with the lines that would fit it."""

from __future__ import annotations

from typing import Any

from skewridge._validation import columns_with_times

SHOWN = 5  # columns that a message lists


def refuse_raw(estimator: Any, X: Any) -> None:
    """Raise for a data frame with columns of text, dates or times; what it says can be pasted.

    Lazy collections are checked where they are read.
    """
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        X = X.to_pandas()  # a table of pyarrow
    if not hasattr(X, "columns") or type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        return
    times = columns_with_times(X)
    texts = [str(name) for name in _texts(X) if str(name) not in times]
    found = [
        f"{what} in {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"
        for what, names in (("dates, times or durations", times), ("text", texts))
        if names
    ]
    if found:
        raise TypeError(
            f"X must hold numbers; got {' and '.join(found)}. Encode the table and fit it by these two lines:\n\n"
            f"from skewridge import {type(estimator).__name__}, make_table_model\n"
            f"model = make_table_model({' '.join(repr(estimator).split())}).fit(X, y)"
        )


def _texts(X: Any) -> list[Any]:
    """The columns of a frame that hold a text that is no number."""
    if not hasattr(X, "iloc"):  # polars
        return [name for name in X.columns if str(X[name].dtype) in ("String", "Utf8", "Categorical", "Enum")]
    import pandas as pd

    found = []
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
            words = column[column.map(lambda value: isinstance(value, str))]
            if pd.to_numeric(words, errors="coerce").isna().any():
                found.append(name)
    return found
