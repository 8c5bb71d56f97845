"""What a fit on two levels leaves behind: the blend, how it was tuned, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._messages import row_name
from skewridge._typing import FloatArray
from skewridge.centers.choose import CenterTuning
from skewridge.features.scaling import common_error
from skewridge.ridge.diagnostics import SerialDependence
from skewridge.two_levels.blend import BlendedModel
from skewridge.two_levels.expected_error import ExpectedError
from skewridge.two_levels.members import Companion, MembersFit

LINEAR, GLOBAL = "linear", "global"


@dataclass(frozen=True)
class BlendedFit:
    """A fitted blend of one response and what is known about it.

    ``left_out``, (N,), are predictions by fits without the row or its group, or its outer fold; nan where rows have an
    order and this one has no past. ``level`` is the same with the intercept of all rows, which new rows have, too: of a
    blend that is next to the mean, the intercept of the other rows would tell a row its own response. ``shift`` is by
    how much a few extreme responses put all of them off; ``adjacent`` is None where it is not known.
    """

    model: BlendedModel
    left_out: FloatArray
    level: FloatArray
    risk: ExpectedError
    left_out_by: str
    fit: MembersFit
    companions: tuple[Companion, ...]
    adjacent: SerialDependence | None
    shift: float


def shift_of(predictions: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """By how much a few extreme responses put off predictions, where these are known; 0 where they do not."""
    known = ~np.isnan(predictions)
    own = y[known]
    return common_error(predictions[known] - own, own, weights[known]) if known.any() else 0.0


@dataclass(frozen=True)
class LevelTuning:
    """How one response was fitted.

    Attributes
    ----------
    members : names of the blend's members: "global", the local kernels, "linear", companions
    weights : (M,) array, their weights; 0 for levels and companions that too few rows left out
    left_out_by : "leave-one-out", or "outer folds" where rows are few; "leave-one-group-out" or "outer folds of groups"
        where groups were given; "later rows" where an order was
    level_one : CenterTuning of the global fit, with its ladder; None where rows are too few
    ridges : (K,) array, c of the local fits
    trends : (K, k) array, tau of every trend of the local fits: level 1, then companions
    scales : (K + 1, d) array, every column's learned scale in the global and the local fits; 0 where
        it is not used; (1, d) of ridge regression where there are no levels
    guide_scales : (K, k) array, the learned scale of every trend as a coordinate
    """

    members: tuple[str, ...]
    weights: FloatArray
    left_out_by: str
    level_one: CenterTuning | None
    ridges: FloatArray
    trends: FloatArray
    scales: FloatArray
    guide_scales: FloatArray


def tuning_of(fit: BlendedFit, kernels: tuple[str, ...], companions: tuple[str, ...] = ()) -> LevelTuning:
    """Describe a fit; companions come by name."""
    level_one, learned, levels = fit.fit.level_one, fit.fit.learned[1:], fit.model.members.levels
    names, n_trends = (GLOBAL, *kernels, LINEAR, *companions), 1 + len(companions)
    weights = np.zeros(len(names))
    if levels is None or level_one is None:
        weights[names.index(LINEAR)] = fit.model.weights[0]
        scales = fit.model.members.linear.scaling.scale[None, :]
    else:
        weights[:] = fit.model.weights
        scales = np.array([level_one.model.column_scale, *(own.column_scale(levels.forms) for own in levels.locals)])
    return LevelTuning(
        members=names,
        weights=weights,
        left_out_by=fit.left_out_by,
        level_one=None if level_one is None else level_one.tuning,
        ridges=np.array([own.ridge for own in learned]),
        trends=np.array([own.trends for own in learned]).reshape(-1, n_trends),
        scales=scales,
        guide_scales=np.array([own.scales[-n_trends:] for own in learned]).reshape(-1, n_trends),
    )


def warning_of_shift(shift: float) -> str:
    """What a user should know of left-out predictions that a few extreme responses put off."""
    return (
        f"Predictions of rows that were left out are off by {shift:.4g} for most rows, far more than most "
        "responses differ: a few extreme ones decide the fit. If they are wrong, correct them, drop them or give "
        "them a sample_weight of 0; if they are right, a fit to the logarithm of y may serve better."
    )


def warnings_of(fit: BlendedFit) -> Iterator[str]:
    """Yield what a user should know before trusting a fit."""
    risk = fit.risk
    if risk.dominant_row is not None:
        yield (
            f"Row {row_name(risk.dominant_row)} holds {risk.dominant_share:.0%} of the stated squared error: "
            "the stated risk is decided by that row. If it is wrong, correct it, drop it or give it a "
            "sample_weight of 0; if it is right, read the stated risk as a lower bound of what such rows cost."
        )
    if fit.shift:
        yield warning_of_shift(fit.shift)
    if not fit.model.weights.any() and fit.model.members.levels is not None:
        yield (
            "No member predicts rows that it has not seen better than the mean of y does, so the mean is what is "
            "predicted. The features hardly explain y, or a few extreme responses hide what they explain."
        )
    if fit.adjacent is not None and fit.adjacent.warning is not None:
        yield fit.adjacent.warning
    if not all(found.learned for found in fit.fit.learned[1:]):
        yield (
            "No step of learning could be used, and the features' scales are their starting values: the response "
            "hardly varies among rows that are near each other. Look for a constant or nearly constant response."
        )
