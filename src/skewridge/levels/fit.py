"""Fit two levels and blend them, with an honest statement of the blend's error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.engine.job import Job
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.scaling import prediction_bounds
from skewridge.levels.blend import Blend, StatedRisk, fit_blend, stated_risk
from skewridge.levels.members import LevelSettings, Members, MembersFit, Rows, fit_members
from skewridge.levels.outer_folds import deal_rows, fit_outer
from skewridge.levels.planning import is_small
from skewridge.ridge.distinct import DistinctRows, collapse_rows


@dataclass(frozen=True)
class BlendedModel:
    """Members and their weights: what predicts, what is saved, and nothing else."""

    members: Members
    blend: Blend

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict one block of rows, (n, 1)."""
        return self.blend.predict(self.members.predict(X))


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
    """

    model: BlendedModel
    left_out: FloatArray
    risk: StatedRisk
    outer: bool
    fit: MembersFit
    distinct: IntArray


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
    fit, learning included.

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
    if is_small(len(rows), X.shape[1]):
        return _fit_small(rows, X, y, distinct, settings, job, budget)
    fit = fit_members(rows, settings, job, budget)
    blend, left_out = fit_blend(fit.honest, rows.y, rows.loss_weights)
    return _as_fit(fit, blend, left_out[distinct.member, 0], y, distinct, settings, outer=False)


def _fit_small(
    rows: Rows,
    X: FloatArray,
    y: FloatArray,
    distinct: DistinctRows,
    settings: LevelSettings,
    job: Job,
    budget: Budget,
) -> BlendedFit:
    """Fit with outer folds: they say how members predict, and the whole fit takes the mean of what they learned."""
    deal = deal_rows(X, y, distinct)
    outer = fit_outer(rows, y, deal, settings, job, budget)
    fit = fit_members(rows, settings, job, budget, learned=outer.learned)
    if fit.members.levels is None:
        blend, left_out = fit_blend(fit.honest, rows.y, rows.loss_weights)
        return _as_fit(fit, blend, left_out[distinct.member, 0], y, distinct, settings, outer=False)
    held = deal.held
    places = np.nonzero(held)[0]
    scores = 1.0 if rows.scores is None else rows.scores[places]
    means = rows.y[places] if deal.together else deal.means(y, held)
    blend, left_out = fit_blend(outer.honest(held), means, held[held > 0.0] * scores)
    return _as_fit(fit, blend, deal.by_row(left_out[:, 0], held), y, distinct, settings, outer=True)


def _as_fit(
    fit: MembersFit,
    blend: Blend,
    left_out: FloatArray,
    y: FloatArray,
    distinct: DistinctRows,
    settings: LevelSettings,
    *,
    outer: bool,
) -> BlendedFit:
    """Bound the left-out predictions, (N,), and state their risk."""
    low, high = prediction_bounds(settings.centers.bounds, y[:, None], np.zeros(1), np.ones(1))
    predictions = np.clip(left_out, low, high)
    return BlendedFit(
        model=BlendedModel(fit.members, blend),
        left_out=predictions,
        risk=stated_risk(y, predictions, distinct.weights, member=distinct.member),
        outer=outer,
        fit=fit,
        distinct=distinct.rows,
    )
