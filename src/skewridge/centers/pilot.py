"""A cheap first estimate of the regression function at every row, by models that have not seen the row."""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.judging import Judge, fold_rows
from skewridge.centers.selection import Space, center_levels, search
from skewridge.engine.chunked import RowData, prefetch, through
from skewridge.engine.job import Job
from skewridge.engine.passes import map_rows
from skewridge.features.scaling import standard_scaling, unit_responses
from skewridge.kernels.heuristics import median_bandwidth
from skewridge.response.sampling import Pool, make_pool
from skewridge.response.slices import check_slice_rule

KERNEL = "matern32"
MOST_CENTERS = 200
MOST_ROWS = 20_000  # that a pilot is fitted to
FEWEST_ROWS = 10  # nothing is chosen by fewer rows


def pilot_of(X: RowData, Y: FloatArray, weights: FloatArray, rule: object, seed: int, job: Job) -> FloatArray:
    """Return cross-fitted estimates of E[Y | x], (N, p): 5 folds, adaptive centres, features standardised.

    Slicing these instead of y does not favour rows for the noise in them. Folds depend on the rows and the seed alone.
    """
    pool = make_pool(X, Y, weights, "auto", seed, job)
    return within(rule, cross_fitted(through(standard_scaling(X, weights, job), X), Y, pool, seed, job))


def within(rule: object, values: FloatArray) -> FloatArray:
    """Keep estimates between edges that were given for the response."""
    checked = "auto" if isinstance(rule, str) else check_slice_rule(rule)
    return np.clip(values, checked[0], checked[-1]) if isinstance(checked, np.ndarray) else values


def cross_fitted(X: RowData, Y: FloatArray, pool: Pool, seed: int, job: Job) -> FloatArray:
    """The estimates at features that are scaled already, with a pool's folds; Y itself where rows are too few."""
    if len(pool) < FEWEST_ROWS:
        return Y
    unit, means, units = unit_responses(Y, np.ones(len(Y)), centre=True)
    prefetch(X, pool.rows[:MOST_ROWS])
    rows = fold_rows(X, unit, None, {"response": pool}, MOST_ROWS)
    judge = Judge(rows, 0, None, True, job)
    levels, bandwidth = center_levels(len(rows), MOST_CENTERS), median_bandwidth(rows.X, KERNEL, seed)
    verdict = search(Space(levels, None, (KERNEL,), {KERNEL: bandwidth}, True, ("response",), eases=False), judge)

    kernel = judge.kernel(verdict.candidate)
    drawn, basis, sums = judge.summed(verdict.candidate, kernel)
    fits = judge.fold_fits(drawn, basis, sums, np.array([verdict.penalty]))
    n_outputs = Y.shape[1]
    models = [(kernel.product(basis.centers, basis.dual(beta[0])), intercepts) for beta, intercepts in fits]

    def estimates(X: FloatArray, folds: IntArray) -> FloatArray:
        out = np.empty((len(X), n_outputs))
        for fold in np.unique(folds):
            product, intercepts = models[fold]
            out[folds == fold] = product(X[folds == fold]) + intercepts
        return out

    found = np.concatenate(list(map_rows(estimates, [X, pool.folds[pool.member]], job, "pilot")))
    return found * units + means
