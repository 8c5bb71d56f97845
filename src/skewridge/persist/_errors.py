"""The layout of errors of unseen rows: their order, their scale, values that y shares; and of names of features.

Letters of lengths: d features, l slices, n errors, g slices of shares, a shared values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge.distribution.intervals import SOURCES, Calibration
from skewridge.distribution.point_masses import PointMasses
from skewridge.estimators.error_models import ErrorModel
from skewridge.persist._compound import Items, Maybe, Record
from skewridge.persist._forms import END, GLOBAL, width_of
from skewridge.persist._layouts import Field, Floats, Ints, Kind, Number, Texts
from skewridge.persist._regressors import cuts


def _masses_hold(masses: PointMasses) -> bool:
    """Whether values and edges ascend, and shares are probabilities."""
    ascending = all(bool((np.diff(part) > 0).all()) for part in (masses.values, masses.edges[1:-1]))
    totals = masses.shares.sum(axis=1)
    return ascending and bool(masses.shares.min() >= 0.0 and totals.max() <= 1.0 + 1e-9)


def _error_model_holds(model: ErrorModel) -> bool:
    """Whether the noise is one number a row, and the ends are in order."""
    return model.low <= model.high and (model.noise is None or len(model.noise.means) == 1)


def errors_hold(estimator: Any) -> bool:
    """Whether every output has errors, and their scale depends on its rows and predictions."""
    models = getattr(estimator, "_error_models", ())
    widths = {width_of(model.noise.transform) for model in models if model.noise is not None}
    if models and len(models) != len(getattr(estimator, "calibration_", ())):
        return False
    return widths <= {estimator.n_features_in_ + 1}


CALIBRATION = Record(
    Calibration,
    {
        "edges": Floats("l+1", finite=False),
        "starts": Ints("l+1"),
        "errors": Floats("n"),
        "weights": Floats("n"),
        "source": Kind(str, SOURCES),
    },
    holds=lambda calibration: cuts(calibration.starts, len(calibration.errors)),
    alone=True,
)
MASSES = Record(
    PointMasses,
    {
        "values": Floats("a"),
        "edges": Floats("g+1", finite=False),
        "shares": Floats("g a"),
        "rest": Maybe(CALIBRATION),
    },
    holds=_masses_hold,
    alone=True,
)
ERROR_MODEL = Record(
    ErrorModel,
    {
        "noise": Maybe(GLOBAL),
        "masses": Maybe(MASSES),
        "low": END,
        "high": END,
        "origin": Number(),
        "step": Number(0),
    },
    holds=_error_model_holds,
    alone=True,
)
NAMES: dict[str, Field] = {
    "feature_names_in_": Texts("d"),
    "column_labels_in_": Texts("d"),
    "feature_min_in_": Floats("d"),
    "feature_max_in_": Floats("d"),
    "calibration_": Items(CALIBRATION, tuple),
    "_error_models": Items(ERROR_MODEL, tuple),
}
