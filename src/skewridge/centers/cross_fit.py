"""Level 1 of two levels: two fits, each to one half of the rows, and their values at the other half."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.fit import make_system, solve_system
from skewridge.centers.global_fit import choose_for, rows_to_fit
from skewridge.centers.ladder import Choice
from skewridge.centers.model import GlobalModel, Predictor
from skewridge.centers.rows import SAMPLE_ROWS, TrainingRows
from skewridge.centers.settings import CenterSettings
from skewridge.centers.tuning import CenterTuning, describe
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData, through
from skewridge.execution.context import using
from skewridge.execution.passes import map_rows
from skewridge.execution.progress import stage
from skewridge.features.scaling import prediction_bounds, range_rows
from skewridge.kernels import Kernel, make_kernel

N_PARTS = 2  # more folds leak more: the values of rows in other folds hold a row's own response


@dataclass(frozen=True)
class CrossFit:
    """The mean of two half fits, and at every training row the value of the one that has not seen it.

    There is no fit to all rows: it would be nearer to the responses of rare rows than these values
    are, and what local fits have learned of the values would not hold for it.

    Attributes
    ----------
    choice : Choice, the candidate, its penalty and the scores that led to it
    tuning : CenterTuning, the same for people
    model : GlobalModel, with the centres of both fits
    values : (N, p) array, in units of y
    """

    choice: Choice
    tuning: CenterTuning
    model: GlobalModel
    values: FloatArray


def cross_fit(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    scores: FloatArray | None = None,
    scoring: str = "mse",
    groups: IntArray | None = None,
    seed: int,
) -> CrossFit:
    """Learn scales, choose centres and penalty, and fit to either half of the rows.

    Distinct rows are dealt to two folds, which share the slices of the response out; rows with
    equal x, and groups, share a fold. A row's value is that of the fit to the other fold, centres drawn there,
    with the scales, number of centres, adaptive share and penalty that all rows chose.

    Parameters
    ----------
    X, Y, weights, settings, scores, scoring, groups, seed : as in
        :func:`~skewridge.centers.global_fit.fit_global`

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((200, 1))
    >>> found = cross_fit(X, np.sin(5 * X), np.ones(200), CenterSettings(guides=True), seed=0)
    >>> bool(np.abs(found.values - np.sin(5 * X)).max() < 0.1)
    True
    """
    with one_blas_thread():
        rows = rows_to_fit(X, Y, weights, settings, seed=seed, scores=scores, groups=groups)
        choice, settings, n_threads = choose_for(rows, settings)
        with using(n_jobs=n_threads), stage("cross-fitting"):
            return cross_fit_rows(rows, choice, settings, scoring=scoring)


def cross_fit_folds(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    groups: IntArray | None = None,
    seed: int,
) -> IntArray:
    """Return the fold that :func:`cross_fit` leaves every row out with, (N,)."""
    rows = rows_to_fit(X, Y, weights, settings, seed=seed, groups=groups).in_folds(N_PARTS)
    return rows.candidates.folds[rows.candidates.member].astype(np.int64)


def cross_fit_rows(
    rows: TrainingRows,
    choice: Choice,
    settings: CenterSettings,
    *,
    scoring: str = "mse",
) -> CrossFit:
    """Cross-fit rows as was chosen."""
    rows, Z = rows.in_folds(N_PARTS), through(choice.transform, rows.X)
    name = choice.candidate.kernel
    kernel = make_kernel(name, range_rows(name, Z), choice.candidate.bandwidth, settings.degree)
    low, high = prediction_bounds(settings.bounds, rows.Y, rows.means, rows.units)
    parts = [_part(rows, Z, kernel, choice, settings, fold=f) for f in range(N_PARTS)]
    predictors = [Predictor(kernel.product(own, coef), mean, low, high) for own, coef, mean in parts]
    centers = np.vstack([own for own, _, _ in parts])
    values = _values(rows, Z, predictors)
    n_sample = min(len(rows.candidates), SAMPLE_ROWS)
    return CrossFit(
        choice=choice,
        tuning=describe(choice, len(centers) // N_PARTS, rows.units, n_sample, scoring),
        model=GlobalModel(
            transform=choice.transform,
            centers=centers,
            coef=np.hstack([coef for _, coef, _ in parts]) / N_PARTS,
            kernel=kernel,
            intercepts=np.mean([intercepts for _, _, intercepts in parts], axis=0),
            low=low,
            high=high,
            means=rows.means,
            units=rows.units,
        ),
        values=values * rows.units + rows.means,
    )


def _values(rows: TrainingRows, Z: RowData, predictors: list[Predictor]) -> FloatArray:
    """Every row's value by the fit that has not seen it, (N, p)."""
    n_outputs, folds = rows.Y.shape[1], rows.candidates.folds[rows.candidates.member]

    def values(Z: FloatArray, own: npt.NDArray[np.int8]) -> FloatArray:
        out = np.empty((len(Z), n_outputs))
        for fold in np.unique(own):
            out[own == fold] = predictors[fold].predict(Z[own == fold])
        return out

    return np.concatenate(list(map_rows(values, [Z, folds], "cross-fit")))


def _part(
    rows: TrainingRows,
    Z: RowData,
    kernel: Kernel,
    choice: Choice,
    settings: CenterSettings,
    *,
    fold: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centres, coefficients and intercepts of the fit to the rows outside a fold; to all where there are none."""
    outside = fold if np.any(rows.candidates.folds != fold) else -1
    intercept = settings.fit_intercept
    system = make_system(rows, Z, kernel, choice.candidate, choice.penalty, fit_intercept=intercept, fold=outside)
    solved = solve_system(system, settings)
    return system.basis.centers, system.basis.dual(solved.beta), system.intercepts
