"""Pictures of the response, of a fit and of its errors; they need matplotlib."""

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

__all__ = [
    "CostDisplay",
    "ImportanceDisplay",
    "NodesDisplay",
    "PredictionDisplay",
    "SearchDisplay",
    "SliceErrorDisplay",
    "SlicesDisplay",
    "TuningDisplay",
]
