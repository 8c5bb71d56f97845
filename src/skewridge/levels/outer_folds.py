"""Outer folds around the whole fit, learning included: honest predictions where draws are few."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.engine.following import under
from skewridge.engine.job import Job, run
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.rank_forms import learn_forms
from skewridge.levels.blend import Blend, fit_blend, leave_own_out
from skewridge.levels.dealing import Deal
from skewridge.levels.members import (
    FEWEST_OUTSIDE,
    Learned,
    LevelSettings,
    average_learned,
    fit_beside,
    fit_members,
    has_levels,
)
from skewridge.levels.planning import OUTER_STEPS
from skewridge.levels.rows import Rows
from skewridge.levels.stages import OUTER_FOLDS


@dataclass(frozen=True)
class OuterFits:
    """What whole fits without each fold say.

    Attributes
    ----------
    deal : Deal
    predictions : (n, F, M) array, of distinct rows by every member of every fold's fit; NaN where
        the fold does not hold the row out
    learned : Learned, the mean over folds; None where no fold had levels
    """

    deal: Deal
    predictions: FloatArray
    learned: Learned | None

    def honest(self) -> list[FloatArray]:
        """Every member's predictions of what folds hold out, (k, 1) each, distinct row after distinct row."""
        held = self.deal.held > 0.0
        return [own[held][:, None] for own in np.moveaxis(self.predictions, 2, 0)]

    def blend(self, rows: Rows, y: FloatArray) -> tuple[Blend, FloatArray, FloatArray]:
        """The weights of the members, and the blend's predictions of every row, (N,): without the row, and as it is.

        Groups, and blocks of an order, may be so few that weights fit them: theirs are fitted to other folds.
        """
        held = self.deal.held
        places, folds = np.nonzero(held)
        means = rows.y[places] if self.deal.together else self.deal.means(y, held)
        scores = 1.0 if rows.scores is None else rows.scores[places]
        honest, weights = self.honest(), held[held > 0.0] * scores
        found, values = fit_blend(honest, means, weights)
        if self.deal.whole_groups:
            without = _cross_blended(honest, means, weights, folds)
        else:
            without = leave_own_out(values, means, weights)
        by_row = [self.deal.by_row(own[:, 0], held) for own in (without, values)]
        return found, by_row[0], by_row[1]


def _cross_blended(honest: list[FloatArray], means: FloatArray, weights: FloatArray, folds: IntArray) -> FloatArray:
    """Predictions of every fold with the weights of the others, (k, 1); members' means where no other row counts."""
    values = np.mean(honest, axis=0)
    for fold in np.unique(folds):
        own, rest = folds == fold, folds != fold
        if weights[rest].any():
            blend, _ = fit_blend([member[rest] for member in honest], means[rest], weights[rest])
            values[own] = blend.predict([member[own] for member in honest])
    return values


def fit_outer(
    rows: Rows,
    y: FloatArray,
    deal: Deal,
    settings: LevelSettings,
    job: Job,
    budget: Budget = MACHINE,
) -> OuterFits:
    """Fit all members to the rows outside every fold.

    Forms of columns, which know no response, are those of all rows, flat beyond the rows outside
    the fold: scales are then learned of the same forms in every fold.

    Parameters
    ----------
    rows : Rows, distinct
    y : (N,) array, the responses of all rows
    deal : Deal
    """
    inner, forms = replace(job.here, n_jobs=1, verbose=0), learn_forms(rows.X, rows.frequencies)
    levels, held = has_levels(rows, settings), deal.held
    settings = replace(settings, fewest_rows=FEWEST_OUTSIDE).with_steps(OUTER_STEPS) if levels else settings
    n_members = settings.n_members if levels else 1
    outside = [deal.outside(rows, y, held, fold) for fold in range(deal.n_folds)]
    beside = [fit_beside(rest, settings, inner) for rest in outside]  # here: they may not bear threads
    new = [fits.predict(rows.X[held[:, fold] > 0.0]) for fold, fits in enumerate(beside)]

    def fit(fold: int) -> tuple[FloatArray, Learned | None]:
        own = held[:, fold] > 0.0
        rest = outside[fold]
        seen = forms.within(rest.X)
        with under(OUTER_FOLDS):
            found = fit_members(rest, settings, inner, budget, beside[fold].honest, forms=seen)
        members = found.members.predict(rows.X[own], new[fold])
        missing = n_members - len(members)
        out = np.full((len(rows), n_members), np.nan)
        out[own] = np.hstack([members[-1]] * missing + members)  # a constant rest has no levels
        return out, found.learned

    fits = list(run(fit, range(len(outside)), job.here, "outer folds"))
    learned = [found for _, found in fits if found is not None]
    return OuterFits(
        deal=deal,
        predictions=np.stack([predictions for predictions, _ in fits], axis=1),
        learned=average_learned(learned) if learned else None,
    )
