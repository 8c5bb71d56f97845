"""Values of level 1 at the training rows by fits that have not seen them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.fit import make_system, solve_system
from skewridge.centers.global_fit import GlobalFit, rows_to_fit
from skewridge.centers.model import Predictor
from skewridge.centers.rows import TrainingRows
from skewridge.centers.settings import CenterSettings
from skewridge.engine.blas import one_blas_thread
from skewridge.engine.chunked import RowData, through
from skewridge.engine.following import part, under
from skewridge.engine.job import Job
from skewridge.engine.memory import Budget
from skewridge.engine.passes import map_rows
from skewridge.ridge.work import values_work

CROSS_FITTING = "cross-fitting"
N_PARTS = 2  # more folds leak more: the values of rows in other folds hold a row's own response


@dataclass(frozen=True)
class CrossFit:
    """Values at the training rows by fits that have not seen them, and the mean of these fits.

    Attributes
    ----------
    values : (N, p) array, in units of y
    centers : (m, D) array, the centres of all fits as the kernel sees them
    coef : (p, m) array, of responses in units of their size
    intercepts : (p,) array
    """

    values: FloatArray
    centers: FloatArray
    coef: FloatArray
    intercepts: FloatArray


def cross_fit(
    fit: GlobalFit,
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    groups: IntArray | None = None,
    seed: int,
    budget: Budget,
    job: Job,
) -> CrossFit:
    """Return honest values of a fit at its training rows, and the fits that they come from.

    Distinct rows are dealt to two folds, which share the slices of the response out; rows with
    equal x, and groups, share a fold. A row's value is that of the fit to the other fold, centres drawn there,
    with the scales, number of centres, adaptive share and penalty of the whole fit.

    Parameters
    ----------
    fit : GlobalFit to these rows
    X, Y, weights, settings, groups, seed : as in :func:`~skewridge.centers.global_fit.fit_global`

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.centers.global_fit import fit_global
    >>> X = np.random.default_rng(0).random((200, 1))
    >>> rows = X, np.sin(5 * X), np.ones(200), CenterSettings()
    >>> how = {"seed": 0, "budget": Budget(), "job": Job()}
    >>> values = cross_fit(fit_global(*rows, **how), *rows, **how).values
    >>> bool(np.abs(values - np.sin(5 * X)).max() < 0.05)
    True
    """
    job = job.unkept
    with one_blas_thread():
        rows = rows_to_fit(X, Y, weights, settings, seed=seed, job=job, groups=groups)
        return cross_fit_rows(fit, rows, settings, budget=budget, job=job)


def cross_fit_folds(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    groups: IntArray | None = None,
    seed: int,
    job: Job,
) -> IntArray:
    """Return the fold that :func:`cross_fit` leaves every row out with, (N,)."""
    rows = rows_to_fit(X, Y, weights, settings, seed=seed, job=job.unkept, groups=groups).in_folds(N_PARTS)
    return rows.candidates.folds[rows.candidates.member].astype(np.int64)


def cross_fit_rows(
    fit: GlobalFit,
    rows: TrainingRows,
    settings: CenterSettings,
    *,
    budget: Budget,
    job: Job,
) -> CrossFit:
    """Cross-fit rows whose candidates are known."""
    rows = rows.in_folds(N_PARTS)
    Z = through(fit.transform, rows.X)
    folds = rows.candidates.folds
    with under(CROSS_FITTING):
        parts = [_part(fit, rows, Z, settings, fold=f, budget=budget, job=job) for f in range(N_PARTS)]
    predictors = [_predictor(fit, part) for part in parts]
    n_outputs = rows.Y.shape[1]

    def values(Z: FloatArray, own: npt.NDArray[np.int8]) -> FloatArray:
        out = np.empty((len(Z), n_outputs))
        for fold in np.unique(own):
            out[own == fold] = predictors[fold].predict(Z[own == fold])
        return out

    work = values_work(len(Z), *parts[0][0].shape)
    with part(CROSS_FITTING, work):
        found = list(map_rows(values, [Z, folds[rows.candidates.member]], job, "cross-fit"))
    return CrossFit(
        values=np.concatenate(found) * rows.units + rows.means,
        centers=np.vstack([centers for centers, _, _ in parts]),
        coef=np.hstack([coef for _, coef, _ in parts]) / N_PARTS,
        intercepts=np.mean([intercepts for _, _, intercepts in parts], axis=0),
    )


def _predictor(fit: GlobalFit, part: tuple[FloatArray, FloatArray, FloatArray]) -> Predictor:
    centers, coef, intercepts = part
    product = fit.model.basis.kernel.product(centers, coef)
    return Predictor(product, intercepts, fit.model.low, fit.model.high)


def _part(
    fit: GlobalFit,
    rows: TrainingRows,
    Z: RowData,
    settings: CenterSettings,
    *,
    fold: int,
    budget: Budget,
    job: Job,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centres, coefficients and intercepts of the fit to the rows outside a fold; to all where there are none."""
    model, candidate = fit.model, fit.choice.candidate
    outside = fold if np.any(rows.candidates.folds != fold) else -1
    system = make_system(
        rows,
        Z,
        model.basis.kernel,
        candidate,
        fit.choice.penalty,
        fit_intercept=settings.fit_intercept,
        fold=outside,
    )
    solved = solve_system(system, settings, budget, job)
    return system.basis.centers, system.basis.dual(solved.beta), system.intercepts
