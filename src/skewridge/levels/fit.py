"""Fit two levels and blend them, with an honest statement of the blend's error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.engine.following import announce
from skewridge.engine.job import Job
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.scaling import prediction_bounds
from skewridge.levels.blend import Blend, StatedRisk, fit_blend, stated_risk
from skewridge.levels.companions import FittedCompanion
from skewridge.levels.members import LevelSettings, MembersFit, Rows, fit_beside, fit_members, has_levels
from skewridge.levels.model import Members
from skewridge.levels.outer_folds import deal_rows, fit_outer
from skewridge.levels.planning import is_small
from skewridge.levels.stages import LevelWork, level_stages
from skewridge.ridge.distinct import collapse_rows


@dataclass(frozen=True)
class BlendedModel:
    """Members and their weights: what predicts, what is saved, and nothing else."""

    members: Members
    blend: Blend

    def predict(self, X: FloatArray, beside: FloatArray | None = None) -> FloatArray:
        """Predict one block of rows, (n, 1); beside, (n, c), are the companions' predictions."""
        return self.blend.predict(self.members.predict(X, beside))


@dataclass(frozen=True)
class BlendedFit:
    """A fitted blend of one response and what is known about it.

    Attributes
    ----------
    model : BlendedModel
    left_out : (N,) array, honest predictions of the rows: by fits without the row, or without its outer fold
    risk : StatedRisk, from them
    outer : bool, True if weights and left-out predictions come from outer folds around the whole fit
    fit : MembersFit
    distinct : (n,) array, where among the rows each distinct x is first found
    companions : fitted to all rows; none where there are no levels
    """

    model: BlendedModel
    left_out: FloatArray
    risk: StatedRisk
    outer: bool
    fit: MembersFit
    distinct: IntArray
    companions: tuple[FittedCompanion, ...] = ()


def fit_blended(
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    *,
    settings: LevelSettings,
    scores: FloatArray | None = None,
    budget: Budget = MACHINE,
    job: Job | None = None,
) -> BlendedFit:
    """Fit the two levels and the weights that blend them.

    Rows with equal x are collapsed first. Weights are fitted to honest predictions: left-out ones,
    or, where rows are few (below 3,000, or 50 a column), those of five outer folds around the whole
    fit, learning included; the whole fit then takes the mean of what the folds have learned.

    Parameters
    ----------
    X : (N, d) array
    y : (N,) array
    weights : (N,) array, how often every row occurs, all positive
    settings : LevelSettings
    scores : (N,) array, how much a row's squared error counts; None: all alike
    """
    job = job or Job()
    distinct = collapse_rows(X, y[:, None], weights, settings.seed)
    counted = None if scores is None else distinct.totals(scores) / distinct.frequencies
    rows = Rows(X[distinct.rows], distinct.Y, distinct.frequencies, counted)
    small, levels = is_small(len(rows), X.shape[1]), has_levels(rows, settings)
    if levels:
        work = LevelWork(len(rows), X.shape[1], settings, job.here.n_threads, scores is not None)
        announce(lambda: level_stages(work, outer=small))
    beside = fit_beside(rows, settings, job)
    outer = None
    if small and levels:
        outer = fit_outer(rows, y, deal_rows(X, y, distinct), settings, job, budget)
    learned = None if outer is None else outer.learned
    fit = fit_members(rows, settings, job, budget, beside.honest, learned=learned)
    if outer is None:
        blend, left_out = fit_blend(fit.honest, rows.y, rows.loss_weights)
        predictions = left_out[distinct.member, 0]
    else:
        blend, predictions = outer.blend(rows, y)
    low, high = prediction_bounds(settings.centers.bounds, y[:, None], np.zeros(1), np.ones(1))
    predictions = np.clip(predictions, low, high)
    return BlendedFit(
        model=BlendedModel(fit.members, blend),
        left_out=predictions,
        risk=stated_risk(y, predictions, weights, member=distinct.member),
        outer=outer is not None,
        fit=fit,
        distinct=distinct.rows,
        companions=beside.fitted,
    )
