"""The layouts of SkewRidge and LocalKernelRidge in files, which hold every distinct training row.

Letters of lengths: d columns, u forms in use, m centres, p outputs, M members, b local kernels, g guides, N rows given,
R rows fitted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from skewridge.cells.learned import LocalModel
from skewridge.cells.model import Cells
from skewridge.estimators.local import LocalKernelRidge
from skewridge.estimators.skew_ridge import SkewRidge
from skewridge.levels.blend import Blend
from skewridge.levels.fit import BlendedModel
from skewridge.levels.model import Members, TwoLevels
from skewridge.levels.risk import StatedRisk
from skewridge.levels.tuning import LevelTuning
from skewridge.persist._adaptive import CENTER_TUNING
from skewridge.persist._compound import Items, Maybe, OneOrTuple, Packed, Record
from skewridge.persist._errors import NAMES, errors_hold
from skewridge.persist._estimator import Estimator
from skewridge.persist._forms import END, FORMS, GLOBAL, width_of
from skewridge.persist._layouts import Field, Floats, Ints, Kind, Length, Number
from skewridge.persist._regressors import FLAG, INTERVALS, POSITIVE, WHOLE
from skewridge.ridge.linear import LinearModel


def _local_holds(model: LocalModel) -> bool:
    """Whether every coordinate of the cells has a scale: the forms that are used, and the guides."""
    n_guides, width = model.cells.n_guides, model.cells.points.shape[1]
    wide = len(model.used) + n_guides == len(model.scales) == width
    return wide and model.used.min(initial=0) >= 0 and len(model.cells.coef) == len(model.means)


def _levels_hold(levels: TwoLevels) -> bool:
    """Whether level 1 takes the rows that local fits take, and these know forms and guides."""
    own = [levels.level_one.transform, levels.forms]
    widths = {width_of(transform) for transform in own}
    known = all(model.used.max(initial=-1) < len(levels.forms) for model in levels.locals)
    n_guides = {model.cells.n_guides for model in levels.locals}
    return len(widths) == len(n_guides) == 1 and known and min(n_guides) > 0


def _members_hold(model: BlendedModel) -> bool:
    """Whether every member has a weight, and all take rows of the same width."""
    levels, linear = model.members.levels, model.members.linear
    n_members = 1 if levels is None else 1 + len(levels.locals) + levels.n_guides
    outputs = {model.blend.weights.shape[1], len(linear.intercept)}
    if levels is not None:
        outputs |= {len(levels.level_one.means), *(len(local.means) for local in levels.locals)}
    width = len(linear.scaling.scale)
    known = levels is None or levels.forms.n_columns == width
    return outputs == {1} and len(model.blend.weights) == n_members and known


def _skew_ridge_holds(model: Any) -> bool:
    """Whether parameters are valid, and every output has a model of the table's columns."""
    model._check_parameters()
    if not hasattr(model, "_models"):
        return True
    widths = {len(own.members.linear.scaling.scale) for own in model._models}
    fits = widths == {model.n_features_in_} and _companions_hold(model)
    return fits and _honest_holds(model, len(model._models))


def _companions_hold(model: Any) -> bool:
    """Whether every output has the companions that its local fits and its blend know of."""
    fitted = (model.companions_,) if model._single else model.companions_
    if type(fitted) is not tuple or len(fitted) != len(model._models):
        return False
    levels = [own.members.levels for own in model._models]
    wanted = [0 if two is None else two.n_guides - 1 for two in levels]
    return [len(own) for own in fitted] == wanted


def _local_ridge_holds(model: Any) -> bool:
    """Whether parameters are valid, and cells know the forms of the table's columns."""
    model._check_parameters()
    if not hasattr(model, "_forms"):
        return True
    own, outputs = model._model, len(model._means)
    if own is not None and (own.used.max(initial=-1) >= len(model._forms) or len(own.means) != outputs):
        return False
    return model._forms.n_columns == model.n_features_in_ and _honest_holds(model, outputs)


def _honest_holds(model: Any, n_outputs: int) -> bool:
    """Whether left-out predictions, bounds and slices of the response are there for every output."""
    if [part.ndim for part in model._honest] != [2, 2, 1] or model._honest[0].shape != model._honest[1].shape:
        return False
    ends = model._ends is None or (len(model._ends) == 2 and all(len(end) == n_outputs for end in model._ends))
    several = n_outputs == 1 or not model._single
    slices = len(model._response_edges) == n_outputs
    whole = ends and several and slices and model._honest[0].shape[1] == n_outputs
    return bool(whole and errors_hold(model))


def _calibrated(model: Any) -> None:
    """Learn the noise before the rows are left behind: a file holds what distributions need."""
    if hasattr(model, "_honest") and not hasattr(model, "calibration_"):
        model.calibrate()


LOCAL = Record(
    LocalModel,
    {
        "used": Ints("u"),
        "scales": Floats("*"),
        "cells": Packed(Cells),
        "means": Floats("p"),
        "units": Floats("p"),
    },
    holds=_local_holds,
    alone=True,
)
LEVELS = Record(
    TwoLevels,
    {
        "level_one": GLOBAL,
        "forms": FORMS,
        "locals": Items(LOCAL, tuple),
        "mean": Number(),
        "spread": Number(POSITIVE),
    },
    holds=_levels_hold,
    alone=True,
)
MEMBERS = Record(
    Members,
    {"levels": Maybe(LEVELS), "linear": Packed(LinearModel), "low": END, "high": END},
)
BLENDED = Record(BlendedModel, {"members": MEMBERS, "blend": Packed(Blend)}, holds=_members_hold, alone=True)
RISK = Record(
    StatedRisk,
    {
        "mse": Number(loose=True),
        "mse_error": Number(loose=True),
        "rare_mse": Number(loose=True),
        "rare_error": Number(loose=True),
        "dominant_row": Maybe(WHOLE),
        "dominant_share": Number(0, 1),
    },
)
LEVEL_TUNING = Record(
    LevelTuning,
    {
        "members": Kind(tuple),
        "weights": Floats("M"),
        "honest_by": Kind(str),
        "level_one": Maybe(CENTER_TUNING),
        "ridges": Floats("b"),
        "trends": Floats("b g"),
        "scales": Floats("* d"),
        "guide_scales": Floats("b g"),
    },
    alone=True,
)
HONEST: dict[str, Field] = {
    "risk_": OneOrTuple(RISK),
    "loo_prediction_": Floats("N", "N p", finite=False),  # nan where a row has no past
    "dropped_features_": Kind(list),
    "n_features_in_": Length("d"),
    "_single": FLAG,
    "_ends": Maybe(Items(Floats("p", finite=False), tuple)),
    "_honest": Items(Floats("R", "R p"), tuple),
    **INTERVALS,
}


def skew_ridge(companion: Field, own: Collection[type]) -> Estimator:
    """The layout of a SkewRidge whose fitted companions are such fields, of classes of our own."""
    return Estimator(
        SkewRidge,
        {
            **HONEST,
            "weights_": Floats("M", "M p"),
            "feature_scale_": Floats("d", "d p"),
            "companions_": OneOrTuple(Items(companion)),
            "tuning_": OneOrTuple(LEVEL_TUNING),
            "_models": Items(BLENDED, tuple),
        },
        optional=NAMES,
        holds=_skew_ridge_holds,
        prepare=_calibrated,
        forgotten=("_seen",),
        refusal=lambda model: _foreign_companion(model, own),
    )


def _foreign_companion(model: Any, own: Collection[type]) -> str | None:
    """Why a companion keeps a model from being saved, if one does."""
    foreign = [c for c in model.companions or () if type(c) not in own]
    if not foreign:
        return None
    return (
        f"its companion {type(foreign[0]).__name__} is no estimator of skewridge's own, and model files hold data "
        "and never code. Save it with pickle or joblib, or fit a SkewRidge without companions to a table that has "
        "the cross-fitted predictions of this one as a column"
    )


LOCAL_KERNEL_RIDGE = Estimator(
    LocalKernelRidge,
    {
        **HONEST,
        "feature_scale_": Floats("d"),
        "ridge_": Number(0),
        "n_cells_": WHOLE,
        "_forms": FORMS,
        "_model": Maybe(LOCAL),
        "_means": Floats("p"),
    },
    optional=NAMES,
    holds=_local_ridge_holds,
    prepare=_calibrated,
    forgotten=("_seen",),
)
