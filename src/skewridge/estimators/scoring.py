"""The `scoring` parameter: how much every row's squared error counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge._typing import FloatArray
from skewridge._validation import check_choice
from skewridge.metrics import SCORINGS, row_scores


def check_scoring(scoring: Any) -> None:
    """Refuse what is neither a known name nor a function."""
    if not callable(scoring):
        check_choice("scoring", scoring, SCORINGS)


def scores_of(scoring: Any, y: FloatArray, weights: FloatArray) -> FloatArray | None:
    """How much every row counts, (N,), 1 on average; None where all rows count alike."""
    if scoring == "mse":
        return None
    scores = row_scores(scoring, y, weights)
    return np.asarray(scores / np.average(scores, weights=weights))
