"""How much every column matters: what rows that were not fitted lose when its values are shuffled.

Slopes are no substitute: a fit that follows noise is steep along columns that are worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.centers.cross_validation import Candidate
from skewridge.centers.fit import make_system, solve_system
from skewridge.centers.model import LowRankModel, Predictor
from skewridge.centers.rows import TrainingRows
from skewridge.centers.scales import Transform
from skewridge.centers.settings import CenterSettings
from skewridge.execution.context import on_threads, run
from skewridge.execution.progress import stage
from skewridge.features.scaling import variances
from skewridge.metrics import rare_region

MOST_ROWS = 1_000  # distinct ones, that are fitted by halves and predicted
MOST_REPEATS = 5  # shuffles of a column, where rows are fewer
N_HALVES = 2
FEWEST_ROWS = 4  # of which a half can be fitted


@dataclass(frozen=True)
class Importances:
    """Every column's share of what shuffling loses, each (d,) with sum 1, or 0 where nothing is lost.

    Attributes
    ----------
    overall : of the mean squared error
    rare : of that of rows whose response is rare
    """

    overall: FloatArray
    rare: FloatArray


@dataclass(frozen=True)
class _LeftOutRows:
    """A sample of rows, each predicted by the fit to the half without it."""

    X: FloatArray
    Y: FloatArray
    half: IntArray
    transform: Transform
    predictors: tuple[Predictor, ...]

    def squared_errors(self, X: FloatArray) -> FloatArray:
        """The squared errors at other values of the rows' columns, (n, p)."""
        Z, found = self.transform(X), np.empty(self.Y.shape)
        for half, predictor in enumerate(self.predictors):
            own = self.half == half
            found[own] = predictor.predict(Z[own])
        return (found - self.Y) ** 2


def left_out_importances(
    rows: TrainingRows,
    model: LowRankModel,
    transform: Transform,
    candidate: Candidate,
    penalty: float,
    settings: CenterSettings,
) -> Importances:
    """Shuffle one column after the other where halves of a sample of the rows predict each other.

    Scales, number of centres, adaptive share and penalty are those of the whole fit.
    """
    d = rows.X.shape[1]
    sample = _sample(rows)
    if len(sample.candidates) < FEWEST_ROWS:
        return Importances(np.zeros(d), np.zeros(d))
    with on_threads(), stage("importances"):
        left_out = _fit_halves(sample, model, transform, candidate, penalty, settings)
        before = left_out.squared_errors(left_out.X)

        def lost(column: int) -> FloatArray:
            return _shuffled(left_out, column, rows.seed) - before

        losses = np.array(list(run(lost, range(d), "importances", d)))
    return _shares(losses / variances(rows.Y, rows.weights), sample.weights, _rare(rows, sample))


def _sample(rows: TrainingRows) -> TrainingRows:
    """The first distinct rows in their canonical order, with mean responses, in two halves."""
    some = rows.candidates.first(MOST_ROWS)
    places = np.arange(len(some))
    return replace(
        rows,
        X=np.asarray(rows.X[some.rows]),
        Y=rows.candidates.means(rows.Y, rows.weights)[: len(some)],
        weights=some.weights,
        scores=None,
        candidates=replace(some, rows=places, member=places).in_folds(N_HALVES),
    )


def _fit_halves(
    sample: TrainingRows,
    model: LowRankModel,
    transform: Transform,
    candidate: Candidate,
    penalty: float,
    settings: CenterSettings,
) -> _LeftOutRows:
    Z, kernel, predictors = transform(np.asarray(sample.X)), model.basis.kernel, list[Predictor]()
    direct = replace(settings, solver="direct")
    for half in range(N_HALVES):
        intercept = settings.fit_intercept
        system = make_system(sample, Z, kernel, candidate, penalty, fit_intercept=intercept, fold=half)
        solved = solve_system(system, direct)
        product = kernel.product(system.basis.centers, system.basis.dual(solved.beta))
        predictors.append(Predictor(product, system.intercepts, model.low, model.high))
    return _LeftOutRows(
        X=np.asarray(sample.X),
        Y=sample.Y,
        half=sample.candidates.folds.astype(np.int64),
        transform=transform,
        predictors=tuple(predictors),
    )


def _shuffled(rows: _LeftOutRows, column: int, seed: int) -> FloatArray:
    """Mean squared errors over a few shuffles of a column, (n, p)."""
    n, X = len(rows.X), rows.X.copy()
    repeats = min(MOST_REPEATS, max(1, MOST_ROWS // n))
    total = np.zeros(rows.Y.shape)
    for repeat in range(repeats):
        X[:, column] = rows.X[shuffle(np.arange(n), n, seed, column * MOST_REPEATS + repeat), column]
        total += rows.squared_errors(X)
    return total / repeats


def _rare(rows: TrainingRows, sample: TrainingRows) -> BoolArray:
    """Which responses of the sample are rare among all, (n, p)."""
    pairs = zip(sample.Y.T, rows.Y.T, strict=True)
    return np.column_stack([rare_region(own, y, weights=rows.weights) for own, y in pairs])


def _shares(losses: FloatArray, weights: FloatArray, rare: BoolArray) -> Importances:
    """Losses of every column, row and output, (d, n, p), as shares."""
    counted = weights[:, None] * np.ones(rare.shape)
    return Importances(_share(losses, counted), _share(losses, counted * rare))


def _share(losses: FloatArray, counted: FloatArray) -> FloatArray:
    totals = np.maximum(np.einsum("dnp,np->d", losses, counted), 0.0)  # below 0 is chance
    return np.asarray(totals / (totals.sum() or 1.0))
