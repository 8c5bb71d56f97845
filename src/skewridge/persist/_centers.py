"""The layout of AdaptiveKernelRidge in files.

Letters of lengths: d features, r centres, p outputs, P penalties, q dominating rows.
"""

from __future__ import annotations

from skewridge.centers.account import CenterTuning
from skewridge.centers.fit import LowRankModel
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.features.scaling import Scaling
from skewridge.kernels import KERNELS
from skewridge.persist._estimators import Estimator
from skewridge.persist._layouts import Floats, Ints, Items, Kind, Length, Maybe, Number, NumberOr, Record
from skewridge.persist._regressors import FLAG, INTERVALS, KERNEL, NAMES, POSITIVE, TEXT, WHOLE
from skewridge.ridge.lowrank import Basis

BASIS = Record(Basis, {"kernel": KERNEL, "centers": Floats("r d"), "kept": Ints("r"), "factor": Floats("r r")})
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
        "low": Floats("p"),
        "high": Floats("p"),
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
        "slice_on_": TEXT,
        "kernel_": Kind(str, KERNELS),
        "bandwidth_": Maybe(Number(POSITIVE)),
        "penalty_": Number(POSITIVE),
        "feature_scale_": Floats("d"),
        "feature_importances_": Floats("d"),
        "solver_": TEXT,
        "n_iter_": Maybe(WHOLE),
        "tuning_": CENTER_TUNING,
        "n_features_in_": Length("d"),
        "_scaling": SCALING,
        "_model": LOW_RANK,
        "_means": Floats("p"),
        "_units": Floats("p"),
        "_single": FLAG,
        **INTERVALS,
    },
    optional=NAMES,
    holds=lambda model: model._check_parameters(),
)
