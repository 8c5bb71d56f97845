"""The `tuning_` record of SkewRidge, small enough to read, and its warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skewridge._messages import row_name
from skewridge._typing import FloatArray, IntArray
from skewridge.centers.tuning import CenterTuning
from skewridge.ridge.learn_scales import LearnedKernel
from skewridge.two_levels.fit import BlendedFit

LINEAR, GLOBAL = "linear", "global"


@dataclass(frozen=True)
class LevelTuning:
    """How one response was fitted.

    Attributes
    ----------
    members : names of the blend's members: "global", the local kernels, "linear", companions
    weights : (M,) array, their weights; 0 for levels and companions that too few rows left out
    honest_by : "leave-one-out", or "outer folds" where rows are few; "leave-one-group-out" or "outer folds of groups"
        where groups were given; "later rows" where an order was
    level_one : CenterTuning of the global fit, with its ladder; None where rows are too few
    ridges : (K,) array, c of the local fits
    trends : (K, k) array, tau of every guide in the local fits: level 1, then companions
    scales : (K + 1, d) array, every column's learned scale in the global and the local fits; 0 where
        it is not used; (1, d) of ridge regression where there are no levels
    guide_scales : (K, k) array, the learned scale of every guide as a coordinate
    """

    members: tuple[str, ...]
    weights: FloatArray
    honest_by: str
    level_one: CenterTuning | None
    ridges: FloatArray
    trends: FloatArray
    scales: FloatArray
    guide_scales: FloatArray

    @property
    def unused_columns(self) -> IntArray:
        """Columns that no level sees; without levels, that ridge regression does not see."""
        return np.flatnonzero(~np.any(self.scales > 0.0, axis=0))


def tuning_of(fit: BlendedFit, kernels: tuple[str, ...], companions: tuple[str, ...] = ()) -> LevelTuning:
    """Describe a fit; companions come by name."""
    level_one, learned = fit.fit.level_one, _locally_learned(fit)
    members, shape = (GLOBAL, *kernels, LINEAR, *companions), (len(learned), 1 + len(companions))
    own, weights = fit.model.blend.weights[:, 0], np.zeros(len(members))
    weights[range(len(own)) if len(own) > 1 else [len(kernels) + 1]] = own  # ridge regression alone
    guide_scales = [found.scales[len(found.scales) - shape[1] :] for found in learned]
    return LevelTuning(
        members=members,
        weights=weights,
        honest_by=fit.honest_by,
        level_one=None if level_one is None else level_one.tuning,
        ridges=np.array([found.ridge for found in learned]),
        trends=np.array([found.trends for found in learned]).reshape(shape),
        scales=_scales(fit),
        guide_scales=np.array(guide_scales).reshape(shape),
    )


def _locally_learned(fit: BlendedFit) -> tuple[LearnedKernel, ...]:
    """What the local fits have learned, if there are any."""
    return () if fit.fit.learned is None else fit.fit.learned.locals


def _scales(fit: BlendedFit) -> FloatArray:
    """Every column's scale in every fit: the root of the sum of squares of its forms' scales."""
    levels, level_one = fit.model.members.levels, fit.fit.level_one
    if levels is None or level_one is None:
        return fit.model.members.linear.scaling.scale[None, :]
    own = [model.column_scale(levels.forms) for model in levels.locals]
    return np.array([level_one.model.column_scale, *own])


def concern_of_shift(shift: float) -> str:
    """What a user should know of left-out predictions that a few extreme responses put off."""
    return (
        f"Predictions of rows that were left out are off by {shift:.4g} for most rows, far more than most "
        "responses differ: a few extreme ones decide the fit. If they are wrong, correct them, drop them or give "
        "them a sample_weight of 0; if they are right, a fit to the logarithm of y may serve better."
    )


def concerns(fit: BlendedFit) -> Iterator[str]:
    """Yield what a user should know before trusting a fit."""
    risk = fit.risk
    if risk.dominant_row is not None:
        yield (
            f"Row {row_name(risk.dominant_row)} holds {risk.dominant_share:.0%} of the stated squared error: "
            "the stated risk is decided by that row. If it is wrong, correct it, drop it or give it a "
            "sample_weight of 0; if it is right, read the stated risk as a lower bound of what such rows cost."
        )
    if fit.shift:
        yield concern_of_shift(fit.shift)
    if not fit.model.blend.weights.any() and fit.fit.members.levels is not None:
        yield (
            "No member predicts rows that it has not seen better than the mean of y does, so the mean is what is "
            "predicted. The features hardly explain y, or a few extreme responses hide what they explain."
        )
    if fit.adjacent is not None and fit.adjacent.concern is not None:
        yield fit.adjacent.concern
    unlearned = [found for found in _locally_learned(fit) if not found.learned]
    if unlearned:
        yield (
            "No step of learning could be used, and the features' scales are their starting values: the response "
            "hardly varies among rows that are near each other. Look for a constant or nearly constant response."
        )
