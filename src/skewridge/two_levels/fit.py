"""Fit two levels and blend them, with an honest statement of the blend's error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.global_fit import neighbours_in_file
from skewridge.execution.context import on_threads, run
from skewridge.execution.progress import stage
from skewridge.features.forms import learn_forms
from skewridge.features.scaling import common_error, prediction_bounds
from skewridge.response.grouping import RowGroups
from skewridge.ridge.adjacency import Adjacency
from skewridge.ridge.distinct import DistinctRows, collapse_rows
from skewridge.two_levels.blend import Blend, fit_blend, leave_own_out
from skewridge.two_levels.dealing import Deal, deal_rows, deal_whole_groups
from skewridge.two_levels.members import (
    FittedCompanion,
    Learned,
    LevelSettings,
    MembersFit,
    Rows,
    average_learned,
    fit_companions,
    fit_members,
    has_levels,
)
from skewridge.two_levels.model import BlendedModel
from skewridge.two_levels.planning import FEWEST_OUTSIDE, OUTER_STEPS, is_small
from skewridge.two_levels.risk import StatedRisk, stated_risk


@dataclass(frozen=True)
class BlendedFit:
    """A fitted blend of one response and what is known about it.

    ``left_out``, (N,), are honest predictions: by fits without the row or its group, or its outer fold; nan where rows
    have an order and this one has no past. ``level`` is the same with the intercept of all rows, which new rows have,
    too: of a blend that is next to the mean, the intercept of the other rows would tell a row its own response.
    ``shift`` is by how much a few extreme responses put all of them off; ``adjacent`` is None where it is not known.
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
) -> BlendedFit:
    """Fit the two levels and the weights that blend them.

    Rows with equal x are collapsed first. Weights are fitted to honest predictions: left-out ones, or, where rows are
    few (below 3,000, or 50 a column), those of five outer folds around the whole fit, learning included; the whole fit
    then takes the mean of what the folds have learned.

    Parameters
    ----------
    X, y : (N, d) and (N,) arrays
    weights : (N,) array, how often every row occurs, all positive
    scores : (N,) array, how much a row's squared error counts; None: all alike
    groups : RowGroups, rows that are left out together, or blocks of an order; None: every row on its own
    """
    labels = None if groups is None else groups.labels
    distinct = collapse_rows(X, y[:, None], weights, settings.seed, groups=labels)
    counted = None if scores is None else distinct.totals(scores) / distinct.frequencies
    rows = Rows(X[distinct.rows], distinct.Y, distinct.frequencies, counted, distinct.groups)
    deal, levels = _deal(X, y, distinct, groups), has_levels(rows, settings)
    beside, outer = fit_companions(rows, settings), None
    if deal is not None and (levels or deal.blocks is not None):
        outer = fit_outer(rows, y, deal, settings)
    with stage(""):
        fit = fit_members(rows, settings, beside.honest, learned=None if outer is None else outer.learned)
    if outer is None:
        blend, values = fit_blend(fit.honest, rows.y, rows.loss_weights)
        level = values[distinct.member, 0]
        values = leave_own_out(values, rows.y, rows.loss_weights)[distinct.member]
        left_out = (values if len(rows) > 1 else distinct.means_of_others(y[:, None]))[:, 0]
    else:
        blend, left_out, level = outer.blend(rows, y)
    low, high = prediction_bounds(settings.centers.bounds, y[:, None], np.zeros(1), np.ones(1))
    left_out, level = (np.clip(values, low, high) for values in (left_out, level))
    first, adjacent = fit.level_one, None
    if groups is None and first is not None:
        places = distinct.rows, distinct.Y, distinct.frequencies
        adjacent = neighbours_in_file(first.choice, first.model.kernel, X, *places)
    return BlendedFit(
        model=BlendedModel(fit.members, blend),
        left_out=left_out,
        level=level,
        risk=stated_risk(y, left_out, weights, member=distinct.member, draws=distinct.draws),
        honest_by=_honest_by(groups, outer is not None),
        fit=fit,
        companions=beside.fitted,
        adjacent=adjacent,
        shift=0.0 if scores is not None else shift_of(left_out, y, weights),
    )


def shift_of(predictions: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """By how much a few extreme responses put off predictions, where these are known; 0 where they do not."""
    known = ~np.isnan(predictions)
    own = y[known]
    return common_error(predictions[known] - own, own, weights[known]) if known.any() else 0.0


def _deal(X: FloatArray, y: FloatArray, distinct: DistinctRows, groups: RowGroups | None) -> Deal | None:
    """Outer folds where draws are few, or rows have an order; None where leaving out is enough."""
    ordered = groups is not None and groups.first_ahead is not None
    n_draws = len(distinct) if distinct.groups is None else len(np.unique(distinct.groups))
    if not ordered and not is_small(n_draws, X.shape[1]):
        return None
    return deal_rows(X, y, distinct) if groups is None else deal_whole_groups(distinct, groups)


def _honest_by(groups: RowGroups | None, outer: bool) -> str:
    """How rows were left out, in words."""
    if groups is None:
        return "outer folds" if outer else "leave-one-out"
    if groups.first_ahead is not None:
        return "later rows"
    return "outer folds of groups" if outer else "leave-one-group-out"


# Outer folds around the whole fit


@dataclass(frozen=True)
class OuterFits:
    """What whole fits without each fold predict of what folds hold out, (k, 1) every member, and what they learned.

    The k pairs of a distinct row and a fold come row after row; ``held``, (n, F), are their weights.
    """

    deal: Deal
    held: FloatArray
    honest: list[FloatArray]
    learned: Learned | None

    def blend(self, rows: Rows, y: FloatArray) -> tuple[Blend, FloatArray, FloatArray]:
        """The weights of the members, and the blend's predictions of every row, (N,): without the row, and as it is.

        Groups, and blocks of an order, may be so few that weights fit them: theirs are fitted to other folds.
        """
        places, folds = np.nonzero(self.held)
        means = rows.y[places] if self.deal.together else self.deal.means(y, self.held)
        scores = 1.0 if rows.scores is None else rows.scores[places]
        weights = self.held[self.held > 0.0] * scores
        found, values = fit_blend(self.honest, means, weights)
        if self.deal.whole_groups:
            without = self._cross_blended(means, weights, folds)
        else:
            without = leave_own_out(values, means, weights)
        left_out, level = (self.deal.by_row(own[:, 0], self.held) for own in (without, values))
        return found, left_out, level

    def _cross_blended(self, means: FloatArray, weights: FloatArray, folds: IntArray) -> FloatArray:
        """Predictions of folds with the weights of the others, (k, 1); members' means where no other row counts."""
        values = np.mean(self.honest, axis=0)
        for fold in np.unique(folds):
            own, rest = folds == fold, folds != fold
            if weights[rest].any():
                blend, _ = fit_blend([member[rest] for member in self.honest], means[rest], weights[rest])
                values[own] = blend.predict([member[own] for member in self.honest])
        return values


def fit_outer(rows: Rows, y: FloatArray, deal: Deal, settings: LevelSettings) -> OuterFits:
    """Fit all members to the rows outside every fold; y, (N,), are the responses of all rows.

    Forms of columns, which know no response, are those of all rows, flat beyond the rows outside the fold: scales are
    then learned of the same forms in every fold.
    """
    forms = learn_forms(rows.X, rows.frequencies)
    levels, held = has_levels(rows, settings), deal.held
    if levels:
        settings = replace(settings, fewest_rows=FEWEST_OUTSIDE).with_steps(OUTER_STEPS)
    n_members = settings.n_members if levels else 1
    outside = [deal.outside(rows, y, held, fold) for fold in range(deal.n_folds)]
    with on_threads(1):
        beside = [fit_companions(rest, settings) for rest in outside]  # here: they may not bear threads
    new = [fits.predict(rows.X[held[:, fold] > 0.0]) for fold, fits in enumerate(beside)]

    def fit(fold: int) -> tuple[FloatArray, Learned | None]:
        own, rest = held[:, fold] > 0.0, outside[fold]
        with on_threads(1):
            found = fit_members(rest, settings, beside[fold].honest, forms=forms.within(rest.X))
        members = found.members.predict(rows.X[own], new[fold])
        missing = n_members - len(members)
        return np.hstack([members[-1]] * missing + members), found.learned  # a constant rest has no levels

    with on_threads(), stage("outer folds", 0.8):
        fits = list(run(fit, range(len(outside))))
    predictions = np.empty((*held.shape, n_members))
    for fold, (members, _) in enumerate(fits):
        predictions[held[:, fold] > 0.0, fold] = members
    learned = [found for _, found in fits if found is not None]
    honest = list(np.moveaxis(predictions[held > 0.0][:, :, None], 1, 0))
    return OuterFits(deal, held, honest, average_learned(learned) if learned else None)
