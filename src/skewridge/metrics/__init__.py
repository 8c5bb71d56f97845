"""How good predictions are: overall, where the response is rare, and as whole distributions.

Errors of means where the response is rare are in :mod:`skewridge.metrics.rare`. They take ``y_ref``, the training
response, which decides what is rare; without it ``y_true`` does.
"""

from skewridge.metrics.rare import (
    RARE_SHARE,
    SCORINGS,
    balanced_mse,
    every_row_alike,
    rare_mse,
    rare_region,
    rare_slices,
    relevance,
    row_scores,
    scorer,
    scoring_name,
    sera,
    slice_mse,
)

__all__ = [
    "RARE_SHARE",
    "SCORINGS",
    "balanced_mse",
    "every_row_alike",
    "rare_mse",
    "rare_region",
    "rare_slices",
    "relevance",
    "row_scores",
    "scorer",
    "scoring_name",
    "sera",
    "slice_mse",
]
