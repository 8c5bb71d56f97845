"""Fit two levels and blend them, with an honest statement of the blend's error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.centers.global_fit import neighbours_in_file
from skewridge.engine.following import announce
from skewridge.engine.job import Job
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.scaling import prediction_bounds, shared_shift
from skewridge.levels.blend import Blend, fit_blend, leave_own_out
from skewridge.levels.companions import FittedCompanion
from skewridge.levels.dealing import Deal, deal_rows, deal_whole_groups
from skewridge.levels.members import LevelSettings, MembersFit, fit_beside, fit_members, has_levels
from skewridge.levels.model import Members
from skewridge.levels.outer_folds import fit_outer
from skewridge.levels.planning import is_small
from skewridge.levels.risk import StatedRisk, stated_risk
from skewridge.levels.rows import Rows
from skewridge.levels.stages import LevelWork, level_stages
from skewridge.response.grouping import RowGroups
from skewridge.ridge.adjacency import Adjacency
from skewridge.ridge.distinct import DistinctRows, collapse_rows


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
    left_out : (N,) array, honest predictions of the rows: by fits without the row or its group, or without its
        outer fold; nan where rows have an order and this one has no past
    level : (N,) array, the same with the intercept of all rows, which new rows have, too; of a blend that is next to
        the mean, the intercept of the other rows would tell a row its own response
    risk : StatedRisk, from them
    honest_by : how they were left out, in words
    fit : MembersFit
    companions : fitted to all rows; none where there are no levels
    adjacent : Adjacency of rows in the file; None where groups or an order are known, or there are no levels
    shift : float, by which a few extreme responses put all honest predictions off; 0 where they do not
    """

    model: BlendedModel
    left_out: FloatArray
    level: FloatArray
    risk: StatedRisk
    honest_by: str
    fit: MembersFit
    companions: tuple[FittedCompanion, ...] = ()
    adjacent: Adjacency | None = None
    shift: float = 0.0


def fit_blended(
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    *,
    settings: LevelSettings,
    scores: FloatArray | None = None,
    groups: RowGroups | None = None,
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
    groups : RowGroups, rows that are left out together, or blocks of an order; None: every row on its own
    """
    job = job or Job()
    labels = None if groups is None else groups.labels
    distinct = collapse_rows(X, y[:, None], weights, settings.seed, groups=labels)
    counted = None if scores is None else distinct.totals(scores) / distinct.frequencies
    rows = Rows(X[distinct.rows], distinct.Y, distinct.frequencies, counted, distinct.groups)
    deal, levels = _deal(X, y, distinct, groups), has_levels(rows, settings)
    if levels:
        how = {"scored": scores is not None, "grouped": groups is not None}
        work = LevelWork(len(rows), X.shape[1], settings, job.here.n_threads, **how)
        announce(lambda: level_stages(work, outer=deal is not None))
    beside = fit_beside(rows, settings, job)
    outer = None
    if deal is not None and (levels or deal.blocks is not None):
        outer = fit_outer(rows, y, deal, settings, job, budget)
    learned = None if outer is None else outer.learned
    fit = fit_members(rows, settings, job, budget, beside.honest, learned=learned)
    if outer is None:
        blend, values = fit_blend(fit.honest, rows.y, rows.loss_weights)
        level = values[distinct.member, 0]
        values = leave_own_out(values, rows.y, rows.loss_weights)[distinct.member]
        predictions = (values if len(rows) > 1 else distinct.means_of_others(y[:, None]))[:, 0]
    else:
        blend, predictions, level = outer.blend(rows, y)
    low, high = prediction_bounds(settings.centers.bounds, y[:, None], np.zeros(1), np.ones(1))
    predictions, level = (np.clip(values, low, high) for values in (predictions, level))
    return BlendedFit(
        model=BlendedModel(fit.members, blend),
        left_out=predictions,
        level=level,
        risk=stated_risk(y, predictions, weights, member=distinct.member, draws=distinct.draws),
        honest_by=_honest_by(groups, outer is not None),
        fit=fit,
        companions=beside.fitted,
        adjacent=_adjacent(fit, X, distinct) if groups is None else None,
        shift=0.0 if scores is not None else shift_of(predictions, y, weights),
    )


def shift_of(predictions: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """By how much a few extreme responses put off predictions, where these are known; 0 where they do not."""
    known = ~np.isnan(predictions)
    own = y[known]
    return shared_shift(predictions[known] - own, own, weights[known]) if known.any() else 0.0


def _deal(X: FloatArray, y: FloatArray, distinct: DistinctRows, groups: RowGroups | None) -> Deal | None:
    """Outer folds where draws are few, or rows have an order; None where leaving out is enough."""
    ordered = groups is not None and groups.first_ahead is not None
    n_draws = len(distinct) if distinct.groups is None else len(np.unique(distinct.groups))
    if not ordered and not is_small(n_draws, X.shape[1]):
        return None
    return deal_rows(X, y, distinct) if groups is None else deal_whole_groups(distinct, groups)


def _adjacent(fit: MembersFit, X: FloatArray, distinct: DistinctRows) -> Adjacency | None:
    first = fit.level_one
    if first is None:
        return None
    return neighbours_in_file(first.choice, first.model.kernel, X, distinct.rows, distinct.Y, distinct.frequencies)


def _honest_by(groups: RowGroups | None, outer: bool) -> str:
    """How rows were left out, in words."""
    if groups is None:
        return "outer folds" if outer else "leave-one-out"
    if groups.first_ahead is not None:
        return "later rows"
    return "outer folds of groups" if outer else "leave-one-group-out"
