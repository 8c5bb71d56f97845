"""The layouts of DacKernelRidge and DacRegressor in files.

Letters of lengths: N rows, d features, l slices, k nodes, M rows of all nodes together (the paper's N~), e terms of the
nodes' average, B bandwidths, P penalties.
"""

from __future__ import annotations

from typing import Any

from skewridge.estimators.dac import DacKernelRidge
from skewridge.estimators.dac_regressor import DacRegressor
from skewridge.nodes.fit import Problem
from skewridge.nodes.partition import Partition
from skewridge.nodes.sample_weights import check_weights_are_taken
from skewridge.nodes.tuning import Tuning
from skewridge.persist._compound import Items, Maybe, NumberOr, Record
from skewridge.persist._errors import NAMES, errors_hold
from skewridge.persist._estimator import Estimator
from skewridge.persist._layouts import Field, Floats, Ints, Kind, Length, Number
from skewridge.persist._regressors import BOUNDS, FLAG, INTERVALS, KERNEL, POSITIVE, TEXT, WHOLE, cuts
from skewridge.response.allocation import Allocation
from skewridge.response.slices import Slices
from skewridge.ridge.expansion import Expansion
from skewridge.ridge.local import NodeFit


def _dac_holds(model: Any) -> bool:
    """Whether the average is expanded over the rows that the nodes are, and can be fitted again to some of them."""
    model._check_parameters()
    model._twin()._settings.check()
    if not hasattr(model, "dual_coef_"):
        return True
    return len(model.dual_coef_) == len(model._problem.points) and errors_hold(model)


def _regressor_holds(model: Any) -> bool:
    """Whether every node has an estimator of the class that was asked for."""
    model._check_parameters()
    check_weights_are_taken(model.estimator, model.focus, None)
    fitted = getattr(model, "estimators_", None)
    if fitted is None:
        return True
    own = len(fitted) == model.n_nodes_ and {type(node) for node in fitted} == {type(model.estimator)}
    return own and errors_hold(model)


SLICES = Record(
    Slices,
    {
        "edges": Floats("l+1", finite=False),
        "labels": Ints("N", below="l"),
        "counts": Ints("l"),
        "copies": Ints("l"),
    },
)
ALLOCATION = Record(
    Allocation,
    {"rows": Ints("M", below="N"), "starts": Ints("k+1")},
    holds=lambda allocation: cuts(allocation.starts, len(allocation.rows)),
)
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
DEALT: dict[str, Field] = {
    "slices_": SLICES,
    "allocation_": ALLOCATION,
    "n_nodes_": Length("k"),
    "n_oversampled_": WHOLE,
    "n_distinct_": Length("M"),
}
DAC_KERNEL_RIDGE = Estimator(
    DacKernelRidge,
    {
        **DEALT,
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
    optional={
        **NAMES,
        **BOUNDS,
        "nodes_": Items(NODE_FIT),
        "center_rows_": Ints("e", below="N"),
        "_fitted_with": Kind(dict),
    },
    holds=_dac_holds,
)


def dac_regressor(node: Field) -> Estimator:
    """The layout of a DacRegressor whose nodes are such fields."""
    return Estimator(
        DacRegressor,
        {
            **DEALT,
            "estimators_": Items(node),
            "n_features_in_": Length("d"),
            "_weighted": FLAG,
            **INTERVALS,
        },
        optional={**NAMES, **BOUNDS},
        holds=_regressor_holds,
    )
