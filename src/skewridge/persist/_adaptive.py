"""The layout of AdaptiveKernelRidge in files.

Letters of lengths: d columns, D features that the kernel sees, r centres, p outputs, P penalties, q dominating rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skewridge.centers.model import LowRankModel
from skewridge.centers.tuning import CenterTuning
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.features.rank_forms import FeatureForms
from skewridge.features.scaled_forms import ScaledForms
from skewridge.features.scaling import Scaling
from skewridge.kernels import KERNELS
from skewridge.persist._compound import Items, Maybe, NumberOr, OneOf, Record
from skewridge.persist._estimator import Estimator
from skewridge.persist._layouts import Bools, Floats, Ints, Kind, Length, Number
from skewridge.persist._regressors import FLAG, INTERVALS, NAMES, POSITIVE, TEXT, WHOLE, kernel_layout
from skewridge.ridge.lowrank import Basis


def _forms_hold(forms: FeatureForms) -> bool:
    """Whether every form has ascending knots, at least two, and a score for each."""
    if not len(forms.knots) == len(forms.scores) == len(forms):
        return False
    pairs = zip(forms.knots, forms.scores, strict=True)
    return all(len(k) == len(s) > 1 and bool((np.diff(k) > 0).all()) for k, s in pairs)


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
    return isinstance(scaling, ScaledForms) or len(scaling.scale) == width


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
SCALING = Record(Scaling, {"shift": Floats("d"), "scale": Floats("d")})
FORMS = Record(
    FeatureForms,
    {
        "n_columns": Length("d"),
        "columns": Ints("D", below="d"),
        "ranked": Bools("D"),
        "knots": Items(Floats("*"), tuple),
        "scores": Items(Floats("*"), tuple),
    },
    holds=_forms_hold,
)
SCALED_FORMS = Record(ScaledForms, {"forms": FORMS, "scales": Floats("D")})
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
