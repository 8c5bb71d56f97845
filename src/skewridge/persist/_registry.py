"""The classes that model files may hold, and no others: to add an estimator is to add its entry here.

Letters of lengths: N rows, d features, l slices, k nodes, M rows of all nodes together (the paper's N~), e terms of the
nodes' average, r centres, p outputs, B bandwidths, P penalties, q dominating rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skewridge.centers.account import CenterTuning
from skewridge.centers.fit import LowRankModel
from skewridge.distribution.intervals import Calibration
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.estimators.dac import DacKernelRidge
from skewridge.estimators.dac_regressor import DacRegressor
from skewridge.features.scaling import Scaling
from skewridge.kernels import BANDWIDTH_FREE, KERNELS, MAX_DEGREE, Kernel
from skewridge.nodes.fit import Problem
from skewridge.nodes.partition import Partition
from skewridge.nodes.tuning import Tuning
from skewridge.persist._archive import ModelFileError
from skewridge.persist._estimators import Estimator
from skewridge.persist._layouts import (
    Field,
    Floats,
    Ints,
    Items,
    Kind,
    Length,
    Maybe,
    Number,
    NumberOr,
    Numbers,
    Record,
    Sizes,
    Texts,
)
from skewridge.persist._splines import spline_layout
from skewridge.persist._tables import TABLE_ENCODER
from skewridge.response.allocation import Allocation
from skewridge.response.slices import Slices
from skewridge.ridge.expansion import Expansion
from skewridge.ridge.local import NodeFit
from skewridge.ridge.lowrank import Basis
from skewridge.tables.encoder import TableEncoder

FLAG, TEXT = Kind(bool), Kind(str)
POSITIVE = float(np.nextafter(0.0, 1.0))


def _kernel_holds(kernel: Kernel) -> bool:
    """Whether the kernel has a bandwidth just where it needs one, and a range for every feature or none."""
    scaled = len(kernel.low) == len(kernel.high) and (len(kernel.low) > 0) == (kernel.name == "sobolev")
    return scaled and (kernel.bandwidth is None) == (kernel.name in BANDWIDTH_FREE)


def _covers(allocation: Allocation) -> bool:
    """Whether the nodes' starts cut all rows."""
    starts = allocation.starts
    return bool(starts[0] == 0 and starts[-1] == len(allocation.rows) and (np.diff(starts) >= 0).all())


def _sorted(calibration: Calibration) -> bool:
    """Whether slices follow each other and share the errors out."""
    starts = calibration.starts
    return bool(starts[0] == 0 and starts[-1] == len(calibration.errors) and (np.diff(starts) >= 0).all())


def _checked(model: Any) -> None:
    model._check_parameters()


def _dac_holds(model: Any) -> bool:
    """Whether the average is expanded over the rows that the nodes are."""
    model._check_parameters()
    return not hasattr(model, "dual_coef_") or len(model.dual_coef_) == len(model._problem.points)


def _regressor_holds(model: Any) -> bool:
    """Whether every node has an estimator of the class that was asked for."""
    model._check_parameters()
    model._check_weights_are_taken(None)
    fitted = getattr(model, "estimators_", None)
    return fitted is None or (
        len(fitted) == model.n_nodes_ and {type(node) for node in fitted} == {type(model.estimator)}
    )


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


KERNEL = Record(
    Kernel,
    {
        "name": Kind(str, KERNELS),
        "bandwidth": Maybe(Number(POSITIVE)),
        "degree": Number(0, MAX_DEGREE, whole=True),
        "low": Numbers("d"),
        "high": Numbers("d"),
    },
    holds=_kernel_holds,
)
SLICES = Record(
    Slices,
    {
        "edges": Floats("l+1", finite=False),
        "labels": Ints("N", below="l"),
        "counts": Ints("l"),
        "copies": Ints("l"),
    },
)
ALLOCATION = Record(Allocation, {"rows": Ints("M", below="N"), "starts": Ints("k+1")}, holds=_covers)
PARTITION = Record(
    Partition,
    {
        "slices": SLICES,
        "allocation": ALLOCATION,
        "weights": Maybe(Floats("N")),
        "dealing": Kind(type(None)),  # which machines need while they fit
    },
)
PROBLEM = Record(
    Problem,
    {
        "X": Floats("N d"),
        "y": Floats("N"),
        "partition": PARTITION,
        "kernel": KERNEL,
        "penalties": Floats("k"),
        "single": FLAG,
        "centers": Maybe(Ints("e", below="N")),
    },
)
EXPANSION = Record(Expansion, {"points": Floats("e d"), "coef": Floats("e"), "kernel": KERNEL, "scale": Number(0)})
NODE_FIT = Record(NodeFit, {"rows": Ints("n", below="N"), "coef": Floats("n")}, alone=True)
TUNING = Record(
    Tuning,
    {
        "criterion": TEXT,
        "scoring": TEXT,
        "bandwidths": Floats("B", finite=False),
        "penalties": Floats("P"),
        "values": Floats("B P", finite=False),
        "margins": Floats("B P", finite=False),
        "bandwidth": Maybe(Number()),
        "penalty": Number(),
        "at_edge": Kind(tuple),
        "cost": Maybe(Kind(dict)),
    },
)
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
        "n_steps": Maybe(Number(0, whole=True)),
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

CALIBRATION = Record(
    Calibration,
    {
        "edges": Floats("l+1", finite=False),
        "starts": Ints("l+1"),
        "errors": Floats("n"),
        "weights": Floats("n"),
        "source": Kind(str, ("fresh", "cross-fitted")),
    },
    holds=_sorted,
    alone=True,
)
NAMES: dict[str, Field] = {"feature_names_in_": Texts("d"), "calibration_": Items(CALIBRATION, tuple)}
INTERVALS: dict[str, Field] = {
    "_seed": Number(0, whole=True),
    "_response_edges": Items(Floats("*", finite=False), tuple),
}

ESTIMATORS = {
    "DacKernelRidge": Estimator(
        DacKernelRidge,
        {
            "slices_": SLICES,
            "allocation_": ALLOCATION,
            "n_nodes_": Length("k"),
            "n_oversampled_": Number(0, whole=True),
            "n_distinct_": Length("M"),
            "bandwidth_": Maybe(Number(POSITIVE)),
            "penalty_": NumberOr(Floats("k")),
            "tuning_": TUNING,
            "dual_coef_": Floats("e"),
            "X_fit_": Floats("e d"),
            "intercept_": Number(),
            "n_features_in_": Length("d"),
            "_problem": PROBLEM,
            "_centred": FLAG,
            "_expansion": EXPANSION,
            **INTERVALS,
        },
        optional={**NAMES, "nodes_": Items(NODE_FIT), "center_rows_": Ints("e", below="N")},
        holds=_dac_holds,
    ),
    "DacRegressor": Estimator(
        DacRegressor,
        {
            "slices_": SLICES,
            "allocation_": ALLOCATION,
            "n_nodes_": Length("k"),
            "n_oversampled_": Number(0, whole=True),
            "n_distinct_": Length("M"),
            "estimators_": Items(Node()),
            "n_features_in_": Length("d"),
            "_weighted": FLAG,
            **INTERVALS,
        },
        optional=NAMES,
        holds=_regressor_holds,
    ),
    "AdaptiveKernelRidge": Estimator(
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
            "n_iter_": Maybe(Number(0, whole=True)),
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
        holds=_checked,
    ),
    "SmoothingSpline": spline_layout(INTERVALS, NAMES),
    "TableEncoder": TABLE_ENCODER,
    "Pipeline": Estimator(Pipeline, {}, parameters=("steps",), holds=_check_pipeline),
}
REGRESSORS = {layout.cls for name, layout in ESTIMATORS.items() if name not in ("TableEncoder", "Pipeline")}
