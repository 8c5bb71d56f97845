"""Pictures of the response, of a fit, of its errors and of predicted distributions; they need matplotlib."""

from skewridge.plots.displays import (
    CostDisplay,
    ImportanceDisplay,
    NodesDisplay,
    PredictionDisplay,
    SearchDisplay,
    SliceErrorDisplay,
    SlicesDisplay,
    TuningDisplay,
)
from skewridge.plots.distributions import (
    ExceedanceMapDisplay,
    PITDisplay,
    QuantileFanDisplay,
    ReliabilityDisplay,
    ReturnLevelDisplay,
)

__all__ = [
    "CostDisplay",
    "ExceedanceMapDisplay",
    "ImportanceDisplay",
    "NodesDisplay",
    "PITDisplay",
    "PredictionDisplay",
    "QuantileFanDisplay",
    "ReliabilityDisplay",
    "ReturnLevelDisplay",
    "SearchDisplay",
    "SliceErrorDisplay",
    "SlicesDisplay",
    "TuningDisplay",
]
