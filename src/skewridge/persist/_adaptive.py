"""The layout of AdaptiveKernelRidge in files.

Letters of lengths: d columns, D features that the kernel sees, r centres, p outputs, P penalties, q dominating rows.
"""

from __future__ import annotations

from typing import Any

from skewridge.centers.model import LowRankModel
from skewridge.centers.tuning import CenterTuning
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.features.scaled_forms import ScaledForms
from skewridge.kernels import KERNELS
from skewridge.persist._compound import Items, Maybe, NumberOr, OneOf, Record
from skewridge.persist._errors import NAMES, errors_hold
from skewridge.persist._estimator import Estimator
from skewridge.persist._forms import SCALED_FORMS, SCALING
from skewridge.persist._layouts import Floats, Ints, Kind, Length, Number
from skewridge.persist._regressors import FLAG, INTERVALS, POSITIVE, TEXT, WHOLE, kernel_layout
from skewridge.ridge.lowrank import Basis


def _slopes_by_name(state: dict[str, Any]) -> dict[str, Any]:
    """Call slopes by their name: files of version 0.1 have no importances, but slopes that were called so."""
    if "feature_importances_" in state and "feature_slopes_" not in state:
        state["feature_slopes_"] = state.pop("feature_importances_")
    return state


def _adaptive_holds(model: Any) -> bool:
    """Whether parameters are valid, and rows come out of the transform as wide as the kernel takes them."""
    model._check_parameters()
    if not hasattr(model, "_model"):
        return True
    scaling, width = model._scaling, model._model.basis.centers.shape[1]
    return (isinstance(scaling, ScaledForms) or len(scaling.scale) == width) and errors_hold(model)


BASIS = Record(
    Basis,
    {
        "kernel": kernel_layout("D"),
        "centers": Floats("r D"),
        "kept": Ints("r"),
        "factor": Floats("r r"),
    },
)
LOW_RANK = Record(
    LowRankModel,
    {
        "basis": BASIS,
        "rows": Ints("r"),
        "beta": Floats("p r"),
        "intercepts": Floats("p"),
        "factor": Floats("r r", finite=False),
        "noise": Floats("p"),
        "spread": Floats("p"),
        "n_rows": Number(POSITIVE),
        "low": Floats("p", finite=False),
        "high": Floats("p", finite=False),
        "dominant": Ints("q"),
        "pulls": Floats("q", finite=False),
        "n_steps": Maybe(WHOLE),
        "precision": Number(),
    },
    cached={"dual": Floats("p r")},
)
CENTER_TUNING = Record(
    CenterTuning,
    {
        "criterion": TEXT,
        "scoring": TEXT,
        "chosen": Kind(dict),
        "penalty": Number(),
        "dominant": Ints("q"),
        "pulls": Floats("q", finite=False),
        "tried": Items(Kind(dict)),
        "penalties": Floats("P"),
        "values": Floats("P", finite=False),
        "margins": Floats("P", finite=False),
        "at_edge": Kind(tuple),
        "n_fits": Number(0),
        "cost": Maybe(Kind(dict)),
    },
)
ADAPTIVE_KERNEL_RIDGE = Estimator(
    AdaptiveKernelRidge,
    {
        "centers_": Floats("r d"),
        "center_rows_": Ints("r"),
        "dual_coef_": Floats("r", "r p"),
        "intercept_": NumberOr(Floats("p")),
        "noise_": NumberOr(Floats("p")),
        "n_centers_": Length("r"),
        "adapt_": Number(0, 1),
        "kernel_": Kind(str, KERNELS),
        "bandwidth_": Maybe(Number(POSITIVE)),
        "penalty_": Number(POSITIVE),
        "feature_scale_": Floats("d"),
        "solver_": TEXT,
        "n_iter_": Maybe(WHOLE),
        "tuning_": CENTER_TUNING,
        "n_features_in_": Length("d"),
        "_scaling": OneOf((SCALING, SCALED_FORMS)),
        "_model": LOW_RANK,
        "_means": Floats("p"),
        "_units": Floats("p"),
        "_single": FLAG,
        **INTERVALS,
    },
    optional={
        **NAMES,
        "feature_importances_": Floats("d"),
        "rare_importances_": Floats("d"),
        "feature_slopes_": Floats("d"),
        "slice_on_": TEXT,  # which version 0.1 had
    },
    retired=("slice_on",),
    upgrade=_slopes_by_name,
    holds=_adaptive_holds,
)
