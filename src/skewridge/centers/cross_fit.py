"""Values at every row by fits that have not seen it: level 1 of two levels, and a first estimate for slicing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.choose import CenterTuning, Choice, choose_for, describe, scale_kernel
from skewridge.centers.cross_validation import Candidate, cross_validator
from skewridge.centers.fit import N_PARTS, GlobalModel, as_predictor, fit_halves, left_out_values
from skewridge.centers.rows import CenterSettings, TrainingRows, training_rows
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData, prefetch, through
from skewridge.execution.context import using
from skewridge.execution.passes import map_rows
from skewridge.execution.progress import stage
from skewridge.features.scaling import range_rows, standard_scaling
from skewridge.kernels import make_kernel
from skewridge.response.slices import check_slice_rule

FIRST_KERNEL, FIRST_ROWS = "matern32", 20_000  # of first estimates, and rows that they are fitted to
FIRST_CANDIDATES = tuple((m, adapt) for m in (50, 100, 200) for adapt in (0.5, 0.8, 0.0))


@dataclass(frozen=True)
class CrossFit:
    """The mean of two half fits, and values (N, 1), at every training row that of the one that has not seen it.

    There is no fit to all rows: it would be nearer to the responses of rare rows than these values
    are, and what local fits have learned of the values would not hold for it.
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
    """Learn scales, choose centres and penalty, and fit to either half of the rows; arguments as in ``fit_global``.

    Distinct rows are assigned to two folds, which share the slices of the response out; rows with equal x, and groups,
    share a fold. A row's value is that of the fit to the other fold, centres drawn there, with the scales, number of
    centres, adaptive share and penalty that all rows chose.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((200, 1))
    >>> found = cross_fit(X, np.sin(5 * X), np.ones(200), CenterSettings(guides=True), seed=0)
    >>> bool(np.abs(found.values - np.sin(5 * X)).max() < 0.1)
    True
    """
    with one_blas_thread():
        rows = training_rows(X, Y, weights, settings, seed=seed, scores=scores, groups=groups)
        choice, settings, n_threads = choose_for(rows, settings)
        rows, Z = replace(rows, candidates=rows.candidates.in_folds(N_PARTS)), through(choice.transform, rows.X)
        with using(n_jobs=n_threads), stage("cross-fitting"):
            span, own = range_rows(choice.candidate.kernel, Z), choice.candidate
            kernel = make_kernel(own.kernel, span, own.bandwidth, settings.degree)
            halves = fit_halves(rows, Z, kernel, choice, settings)
            folds = rows.candidates.folds[rows.candidates.member]
            values = np.concatenate(list(map_rows(partial(left_out_values, halves), [Z, folds], "cross-fit")))
    model = replace(
        halves[0],
        centers=np.vstack([half.centers for half in halves]),
        coef=np.hstack([half.coef for half in halves]) / N_PARTS,
        intercepts=np.mean([half.intercepts for half in halves], axis=0),
    )
    return CrossFit(choice, describe(choice, len(model.centers) // N_PARTS, rows, scoring), model, values)


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
    candidates = training_rows(X, Y, weights, settings, seed=seed, groups=groups).candidates.in_folds(N_PARTS)
    return candidates.folds[candidates.member].astype(np.int64)


def first_estimate(X: RowData, Y: FloatArray, weights: FloatArray, rule: object, seed: int) -> FloatArray:
    """Return cross-fitted estimates of E[Y | x], (N, 1), by adaptive centres and five folds.

    Slicing these instead of y does not favour rows for the noise in them. Folds depend on the rows and the seed alone.
    Features are standardised, one common scale is learned. Where distinct rows are too few it is Y itself. Estimates
    stay between edges that are given for the response.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 1))
    >>> truth, noise = np.sin(5 * X), 0.3 * rng.normal(size=(200, 1))
    >>> estimate = first_estimate(X, truth + noise, np.ones(200), "auto", seed=0)
    >>> bool(np.mean((estimate - truth) ** 2) < 0.2 * np.mean(noise**2))
    True
    """
    settings = CenterSettings(scale_features="standard", bounds=None)
    rows = training_rows(X, Y, weights, settings, seed=seed)
    values = _first_values(rows, settings) if rows.can_choose else Y
    edges = None if isinstance(rule, str) else check_slice_rule(rule)
    return np.clip(values, edges[0], edges[-1]) if isinstance(edges, np.ndarray) else values


def _first_values(rows: TrainingRows, settings: CenterSettings) -> FloatArray:
    """The best of the candidates, cross-fitted, in the units of y, (N, 1)."""
    standard = standard_scaling(rows.X, rows.weights)
    prefetch(rows.X, rows.candidates.rows[:FIRST_ROWS])
    validate = cross_validator(rows, FIRST_ROWS, settings)
    _, bandwidth, _ = scale_kernel(FIRST_KERNEL, validate.sample, settings, rows.seed, standard)
    validate = replace(validate, X=standard(validate.X))
    candidates = (Candidate(FIRST_KERNEL, m, adapt, bandwidth) for m, adapt in FIRST_CANDIDATES)
    best = min(map(validate, candidates), key=lambda score: score.risk)
    kernel = make_kernel(FIRST_KERNEL, validate.X, bandwidth, settings.degree)
    drawn, basis, sums, _ = validate.summed(best.candidate, kernel)
    models = [
        as_predictor(basis, beta[0], intercepts, rows, standard)
        for beta, intercepts in validate.fold_fits(drawn, basis, sums, np.array([best.penalty]))
    ]
    Z, folds = through(standard, rows.X), rows.candidates.folds[rows.candidates.member]
    return np.concatenate(list(map_rows(partial(left_out_values, models), [Z, folds], "pilot")))
