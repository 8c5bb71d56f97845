"""A cheap first estimate of the regression function at every row, by fits that have not seen it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.cross_validation import Candidate, CrossValidator, CVScore, fold_rows
from skewridge.centers.ladder import learning_sample
from skewridge.centers.rows import TrainingRows, training_rows
from skewridge.centers.scales import scale_kernel
from skewridge.centers.settings import CenterSettings
from skewridge.execution.chunked import RowData, prefetch, through
from skewridge.execution.passes import map_rows
from skewridge.features.scaling import Scaling, standard_scaling
from skewridge.kernels import Product
from skewridge.response.slices import check_slice_rule

KERNEL = "matern32"
LADDER = tuple((m, adapt) for m in (50, 100, 200) for adapt in (0.5, 0.8, 0.0))
MOST_ROWS = 20_000  # that a pilot is fitted to


def pilot_of(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    rule: object,
    seed: int,
) -> FloatArray:
    """Return cross-fitted estimates of E[Y | x], (N, p), by adaptive centres and five folds.

    Slicing these instead of y does not favour rows for the noise in them. Folds depend on the rows
    and the seed alone. Features are standardised, one common scale is learned. Where distinct
    rows are too few it is Y itself.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 1))
    >>> truth, noise = np.sin(5 * X), 0.3 * rng.normal(size=(200, 1))
    >>> pilot = pilot_of(X, truth + noise, np.ones(200), "auto", seed=0)
    >>> bool(np.mean((pilot - truth) ** 2) < 0.2 * np.mean(noise**2))
    True
    """
    rows = training_rows(X, Y, weights, slices="auto", fit_intercept=True, seed=seed)
    if not rows.can_choose:
        return within(rule, Y)
    return within(rule, _cross_fitted(rows, standard_scaling(X, weights)))


def within(rule: object, values: FloatArray) -> FloatArray:
    """Keep estimates between edges that were given for the response."""
    checked = "auto" if isinstance(rule, str) else check_slice_rule(rule)
    if not isinstance(checked, np.ndarray):
        return values
    return np.clip(values, checked[0], checked[-1])


def _cross_fitted(rows: TrainingRows, standard: Scaling) -> FloatArray:
    """The best of the ladder, cross-fitted, in the units of y, (N, p)."""
    prefetch(rows.X, rows.candidates.rows[:MOST_ROWS])
    folded = fold_rows(rows, MOST_ROWS)
    settings = CenterSettings(scale_features="standard")
    scaled = scale_kernel(KERNEL, learning_sample(folded), settings, rows.seed, standard)
    folded = replace(folded, X=standard(folded.X))
    validate = CrossValidator(folded, degree=0, penalties=None, fit_intercept=True)
    steps = (Candidate(KERNEL, m, adapt, scaled.bandwidth) for m, adapt in LADDER)
    best = min((validate(step) for step in steps), key=lambda score: score.risk)
    models = _fold_models(validate, best)
    n_outputs = rows.Y.shape[1]

    def estimates(X: FloatArray, folds: IntArray) -> FloatArray:
        out = np.empty((len(X), n_outputs))
        for fold in np.unique(folds):
            product, intercepts = models[fold]
            out[folds == fold] = product(X[folds == fold]) + intercepts
        return out

    folds = rows.candidates.folds[rows.candidates.member]
    found = map_rows(estimates, [through(standard, rows.X), folds], "pilot")
    return np.concatenate(list(found)) * rows.units + rows.means


def _fold_models(validate: CrossValidator, best: CVScore) -> list[tuple[Product, FloatArray]]:
    """For every fold the fit to the others: a product with its centres, and intercepts."""
    kernel = validate.kernel(best.candidate)
    drawn, basis, sums = validate.summed(best.candidate, kernel)
    fits = validate.fold_fits(drawn, basis, sums, np.array([best.penalty]))
    duals = ((basis.dual(beta[0]), intercepts) for beta, intercepts in fits)
    return [(kernel.product(basis.centers, dual), intercepts) for dual, intercepts in duals]
