"""How good predictions are: overall, where the response is rare, and as whole distributions.

Errors of means where the response is rare are in :mod:`skewridge.metrics.rare`. They take ``y_ref``, the training
response, which decides what is rare; without it ``y_true`` does. Scores of predicted quantiles are in
:mod:`skewridge.metrics.quantile_scores`, those of stated exceedances in :mod:`skewridge.metrics.exceedance`.
"""

from skewridge.metrics.exceedance import Reliability, exceedance_brier, exceedance_log_score, pit, reliability
from skewridge.metrics.quantile_scores import crps, interval_score, pinball_loss, rare_crps, upper_crps
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
    "Reliability",
    "balanced_mse",
    "crps",
    "every_row_alike",
    "exceedance_brier",
    "exceedance_log_score",
    "interval_score",
    "pinball_loss",
    "pit",
    "rare_crps",
    "rare_mse",
    "rare_region",
    "rare_slices",
    "relevance",
    "reliability",
    "row_scores",
    "scorer",
    "scoring_name",
    "sera",
    "slice_mse",
    "upper_crps",
]
