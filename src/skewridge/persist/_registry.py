"""The classes that model files may hold, and no others: to add an estimator is to add its entry here."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skewridge.estimators.table_model import TableModel
from skewridge.persist._adaptive import ADAPTIVE_KERNEL_RIDGE
from skewridge.persist._archive import ModelFileError
from skewridge.persist._dac import DAC_KERNEL_RIDGE, dac_regressor
from skewridge.persist._estimator import Estimator
from skewridge.persist._layouts import Field, Sizes
from skewridge.persist._skew_ridge import LOCAL_KERNEL_RIDGE, skew_ridge
from skewridge.persist._spline import SMOOTHING_SPLINE
from skewridge.persist._table_encoder import TABLE_ENCODER
from skewridge.tables.encoder import TableEncoder


class Node(Field):
    """A fitted estimator of ours, for as many features as the model has."""

    def check(self, value: Any, sizes: Sizes, place: str) -> None:
        """Compare class, state and width."""
        if type(value) not in REGRESSORS or not hasattr(value, "n_features_in_"):
            raise ModelFileError(f"{place} is not a fitted estimator of skewridge's own")
        sizes.match("d", value.n_features_in_, place)


def _check_pipeline(pipeline: Any) -> None:
    """Raise unless a fitted encoder leads to a fitted regressor."""
    steps: Any = pipeline.steps
    pairs = type(steps) is list and len(steps) == 2 and all(type(step) is tuple and len(step) == 2 for step in steps)
    names, models = zip(*steps, strict=True) if pairs else ((), ())
    encoder: Any = models[0] if pairs else None
    model: Any = models[1] if pairs else None
    if (
        [type(name) for name in names] != [str, str]
        or type(encoder) is not TableEncoder
        or type(model) not in REGRESSORS
    ):
        raise TypeError("a Pipeline of other steps than a TableEncoder and an estimator of ours cannot be saved")
    check_is_fitted(encoder)
    check_is_fitted(model)
    if sum(len(column.features) for column in encoder.columns_) != model.n_features_in_:
        raise ValueError("the estimator of a Pipeline was fitted to other columns than its TableEncoder makes")


REGRESSORS: set[type] = set()  # filled from the classes below, of which two hold others of them
ESTIMATORS = {
    "DacKernelRidge": DAC_KERNEL_RIDGE,
    "DacRegressor": dac_regressor(Node()),
    "AdaptiveKernelRidge": ADAPTIVE_KERNEL_RIDGE,
    "LocalKernelRidge": LOCAL_KERNEL_RIDGE,
    "SkewRidge": skew_ridge(Node(), REGRESSORS),
    "SmoothingSpline": SMOOTHING_SPLINE,
    "TableEncoder": TABLE_ENCODER,
    "Pipeline": Estimator(Pipeline, {}, parameters=("steps",), holds=_check_pipeline),
    "TableModel": Estimator(TableModel, {}, parameters=("steps",), holds=_check_pipeline),
}
NO_REGRESSORS = ("TableEncoder", "Pipeline", "TableModel")
REGRESSORS.update(layout.cls for name, layout in ESTIMATORS.items() if name not in NO_REGRESSORS)
