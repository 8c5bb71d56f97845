"""Fit two levels and blend them, with an honest statement of the blend's error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.engine.job import Job, run
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.scaling import prediction_bounds
from skewridge.levels.blend import Blend, StatedRisk, fit_blend, stated_risk
from skewridge.levels.companions import FittedCompanion
from skewridge.levels.members import LevelSettings, MembersFit, Rows, fit_beside, fit_members
from skewridge.levels.model import Members
from skewridge.levels.planning import N_OUTER_FOLDS, is_small
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
    beside = fit_beside(rows, settings, job)
    fit = fit_members(rows, settings, job, budget, beside.honest)
    outer = is_small(len(rows), X.shape[1]) and fit.members.levels is not None
    honest = outer_predictions(rows, settings, job, budget) if outer else fit.honest
    blend, left_out = fit_blend(honest, rows.y, rows.loss_weights)
    low, high = prediction_bounds(settings.centers.bounds, y[:, None], np.zeros(1), np.ones(1))
    predictions = np.clip(left_out[distinct.member, 0], low, high)
    risk = stated_risk(y, predictions, weights, member=distinct.member)
    model = BlendedModel(fit.members, blend)
    return BlendedFit(model, predictions, risk, outer, fit, distinct.rows, beside.fitted)


def outer_predictions(rows: Rows, settings: LevelSettings, job: Job, budget: Budget = MACHINE) -> list[FloatArray]:
    """Every member's predictions of every row by a whole fit without its fold, (n, 1) each."""
    folds = outer_folds(rows)
    inner = replace(job.here, n_jobs=1, verbose=0)
    beside = _companions_by_fold(rows, folds, settings, inner)

    def predict(fold: int) -> list[FloatArray]:
        rest = rows.some(folds != fold)
        seen, new = beside[fold]
        members = fit_members(rest, settings, inner, budget, seen).members
        found = members.predict(rows.X[folds == fold], new)
        missing = settings.n_members - len(found)
        return [found[-1]] * missing + found  # a constant rest has no levels

    parts = list(run(predict, range(int(folds.max()) + 1), job.here, "outer folds"))
    honest = []
    for member in range(len(parts[0])):
        values = np.empty((len(rows), 1))
        for fold, found in enumerate(parts):
            values[folds == fold] = found[member]
        honest.append(values)
    return honest


def _companions_by_fold(
    rows: Rows, folds: IntArray, settings: LevelSettings, job: Job
) -> list[tuple[FloatArray, FloatArray]]:
    """For every fold the companions fitted without it: cross-fitted values there, and predictions of the fold."""
    found = []
    for fold in range(int(folds.max()) + 1):
        fits = fit_beside(rows.some(folds != fold), settings, job)
        found.append((fits.honest, fits.predict(rows.X[folds == fold])))
    return found


def outer_folds(rows: Rows) -> IntArray:
    """Five folds of distinct rows that share out the response evenly, (n,)."""
    folds = np.empty(len(rows), dtype=np.int64)
    order = np.argsort(rows.y[:, 0], kind="stable")
    folds[order] = np.arange(len(rows)) % N_OUTER_FOLDS
    return folds
