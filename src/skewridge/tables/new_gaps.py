"""Gaps in columns that had none when they were learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import warn_user
from skewridge.tables.columns import Column
from skewridge.tables.texts import SHOWN


def warn_new_gaps(columns: Sequence[Column], codes: Sequence[FloatArray]) -> None:
    """Tell of gaps that nothing was learned of: the usual value stands for them, and no feature tells the model."""
    found = [
        f"{column.name!r}: {np.isnan(code).sum()}"
        for column, code in zip(columns, codes, strict=True)
        if not column.n_gaps and np.isnan(code).any()
    ]
    if found:
        more = f" and {len(found) - SHOWN} more columns" if len(found) > SHOWN else ""
        warn_user(
            f"Rows lack values of columns that no row of the fit lacked ({', '.join(found[:SHOWN])}{more}): the "
            "median, or the most frequent value, is taken for them, and how far off that is cannot be known."
        )
