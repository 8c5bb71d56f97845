"""Rows that a model was fitted to, found again in a table: errors on them flatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.cli._info import used_columns
from skewridge.cli._screen import Screen
from skewridge.estimators.row_keys import row_keys
from skewridge.persist import ModelFile

KEY = "row_hashes"  # in a model file, written by `skewridge fit`
FLATTERED = "errors on them flatter. Take rows that it has not seen."


def row_hashes(model: Any, frame: Any, y: FloatArray) -> IntArray:
    """One number for every row, equal where all columns that the model uses and the response are, (n,)."""
    names = [column.name for column in used_columns(model)]
    high, low = row_keys(frame[names].assign(**{"": y})).T.astype(np.int64)  # no column has an empty name
    return (high - 2**31) * 2**32 + low


def fitted_rows(file: ModelFile, frame: Any, y: FloatArray) -> BoolArray | None:
    """Which rows equal rows of the fit, (n,); None where the model file does not know."""
    known = file.about.get(KEY)
    if not isinstance(known, np.ndarray) or known.ndim != 1 or known.dtype.kind != "i":
        return None
    return np.isin(row_hashes(file.model, frame, y), known)


def note_fitted_rows(
    name: str, file: ModelFile, frame: Any, y: FloatArray, screen: Screen, beware: str = FLATTERED
) -> int | None:
    """Tell how many rows equal rows of the fit, and return it; None where that is not known."""
    found = fitted_rows(file, frame, y)
    if found is None:
        return None
    count = int(found.sum())
    if count:
        screen.note(
            f"{count:,} of {len(found):,} rows equal rows that {name} was fitted to, in every column that it uses and "
            f"in the target: {beware}"
        )
    return count
