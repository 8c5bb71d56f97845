"""Level 1 from raw rows to predictions in units of y: learn scales, choose, fit, and see what every column is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from skewridge._messages import row_name
from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge.centers.choose import CenterTuning, Choice, choose_for, describe
from skewridge.centers.fit import (
    N_PARTS,
    GlobalModel,
    LowRankModel,
    as_predictor,
    find_dominating,
    fit_centers,
    fit_halves,
    left_out_values,
    noise_level,
)
from skewridge.centers.rows import CenterSettings, TrainingRows, training_rows
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData, through
from skewridge.execution.context import on_threads, run, using
from skewridge.execution.passes import predict_rows
from skewridge.execution.progress import stage
from skewridge.features.forms import ScaledForms
from skewridge.features.scaling import range_rows, variances
from skewridge.kernels import Kernel, make_kernel
from skewridge.metrics import rare_region
from skewridge.ridge.cg import is_solved
from skewridge.ridge.diagnostics import SerialDependence, serial_dependence

SLOPE_ROWS = 4_000  # that slopes are averaged over
SHUFFLED_ROWS = 1_000  # distinct ones, that are fitted by halves and predicted, for importances
MOST_REPEATS = 5  # shuffles of a column, where rows are fewer
FEWEST_SHUFFLED = 4  # of which a half can be fitted


@dataclass(frozen=True)
class GlobalFit:
    """A fitted level 1; see :func:`fit_global`.

    model is the fit as it predicts, low_rank the same in units of the responses' size; noise in these; importances
    (2, d), of all rows and of rare ones, None for fits to other rows; slopes (d,), mean squared ones along every
    column's forms, over their sum; adjacent None where groups are known or nothing was learned.
    """

    choice: Choice
    tuning: CenterTuning
    model: GlobalModel
    low_rank: LowRankModel
    noise: float
    importances: FloatArray | None = None
    slopes: FloatArray | None = None
    adjacent: SerialDependence | None = None


def fit_global(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    scores: FloatArray | None = None,
    scoring: str = "mse",
    groups: IntArray | None = None,
    seed: int,
) -> GlobalFit:
    """Learn scales, choose centres and penalty, and fit to all rows.

    Raw rows X (N, d), Y (N, 1) and positive frequencies, (N,); scores, (N,), say how much every row's squared error
    counts, None: all alike, and scoring is their name; rows of one label of groups, (N,), are left out and share folds
    together, None: every row on its own.

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(300, 2, random_state=0)
    >>> fit = fit_global(X, y[:, None], np.ones(300), CenterSettings(), seed=0)
    >>> bool(np.mean((fit.model.predict(X)[:, 0] - y) ** 2) < 0.1 * y.var())
    True
    """
    with one_blas_thread():
        rows = training_rows(X, Y, weights, settings, seed=seed, scores=scores, groups=groups)
        choice, settings, n_threads = choose_for(rows, settings)
        with using(n_jobs=n_threads):
            with stage("fitting centres", 0.2):
                fit = fit_choice(rows, choice, settings, scoring=scoring)
            importances = left_out_importances(rows, fit.model.kernel, choice, settings)
            fit = replace(fit, importances=importances, slopes=column_slopes(rows, fit))
        if groups is not None or choice.learned is None:
            return fit
        own, ridge = rows.candidates, choice.learned.ridge
        means = own.means(rows.Y, rows.weights)
        kernel = fit.model.kernel
        adjacent = serial_dependence(kernel, X, choice.transform, own.rows, means, ridge, frequencies=own.weights)
        return replace(fit, adjacent=adjacent)


def fit_again(
    X: RowData, Y: FloatArray, weights: FloatArray, settings: CenterSettings, choice: Choice, *, seed: int
) -> GlobalFit:
    """Fit other rows as was chosen before: centres are drawn from them, nothing is learned."""
    with one_blas_thread():
        return fit_choice(training_rows(X, Y, weights, settings, seed=seed), choice, settings)


def fit_choice(rows: TrainingRows, choice: Choice, settings: CenterSettings, *, scoring: str = "mse") -> GlobalFit:
    """Fit what was chosen to all rows, and look for rows that dominate."""
    Z, candidate = through(choice.transform, rows.X), choice.candidate
    kernel = make_kernel(candidate.kernel, range_rows(candidate.kernel, Z), candidate.bandwidth, settings.degree)
    found = fit_centers(rows, Z, kernel, choice, settings)
    model = as_predictor(found.basis, found.beta, found.intercepts, rows, choice.transform)
    fitted = predict_rows(model.product, Z, "residuals", model.row_work)
    residual, ridge = rows.Y - found.intercepts - fitted, choice.penalty * found.n_rows
    dominant, influence = find_dominating(found, rows, Z, residual, ridge, settings.fit_intercept)
    tuning = describe(choice, len(found.rows), rows, scoring)
    return GlobalFit(
        choice=choice,
        tuning=replace(tuning, dominant=dominant, influence=influence),
        model=model,
        low_rank=found,
        noise=noise_level(found, rows, residual, ridge, settings.fit_intercept),
    )


def left_out_importances(rows: TrainingRows, kernel: Kernel, choice: Choice, settings: CenterSettings) -> FloatArray:
    """Every column's share of what shuffling its values loses, of all rows and of rare ones, (2, d).

    Halves of a sample of the rows predict each other: slopes are no substitute, since a fit that follows noise is steep
    along columns that are worth nothing. Scales, number of centres, adaptive share and penalty are those of the whole
    fit. Shares sum to 1, or are 0 where nothing is lost.
    """
    some, d = rows.candidates.first(SHUFFLED_ROWS), rows.X.shape[1]
    n, places = len(some), np.arange(len(some))
    if n < FEWEST_SHUFFLED:
        return np.zeros((2, d))
    X, Y = np.asarray(rows.X[some.rows]), rows.candidates.means(rows.Y, rows.weights)[:n]
    own = replace(some, rows=places, member=places).in_folds(N_PARTS)
    sample = replace(rows, X=X, Y=Y, weights=some.weights, scores=None, candidates=own)
    sample = replace(sample, means=np.zeros(1), units=np.ones(1))  # errors stay in units of the responses' size
    repeats = min(MOST_REPEATS, max(1, SHUFFLED_ROWS // n))
    with on_threads(), stage("importances"):
        halves = fit_halves(sample, choice.transform(X), kernel, choice, replace(settings, solver="direct"))

        def squared_errors(X: FloatArray) -> FloatArray:
            return (left_out_values(halves, choice.transform(X), own.folds) - Y) ** 2

        before = squared_errors(X)

        def lost(column: int) -> FloatArray:
            shuffled, total = X.copy(), np.zeros(Y.shape)
            for repeat in range(repeats):
                shuffled[:, column] = X[shuffle(places, n, rows.seed, column * MOST_REPEATS + repeat), column]
                total += squared_errors(shuffled)
            return total / repeats - before

        losses = np.array(list(run(lost, range(d), "importances", d))) / variances(rows.Y, rows.weights)
    rare = rare_region(Y[:, 0], rows.Y[:, 0], weights=rows.weights)
    shares = np.zeros((2, d))
    for share, counted in zip(shares, (some.weights, some.weights * rare), strict=True):
        totals = np.maximum(np.einsum("dnp,np->d", losses, counted[:, None]), 0.0)  # below 0 is chance
        share[:] = totals / (totals.sum() or 1.0)
    return shares


def column_slopes(rows: TrainingRows, fit: GlobalFit) -> FloatArray:
    """Mean squared slopes along the forms, or the scaled columns, over their sum, (d,)."""
    some, transform, model = rows.candidates.first(SLOPE_ROWS), fit.model.transform, fit.model
    Z = transform(np.asarray(rows.X[some.rows]))
    dual = model.coef / fit.low_rank.spread[:, None]
    slopes = mean_squared_slopes(model.kernel, model.centers, dual, Z, some.weights)
    if isinstance(transform, ScaledForms):
        forms = transform.forms
        slopes = np.bincount(forms.columns, slopes * transform.scales**2, forms.n_columns).astype(np.float64)
    return np.asarray(slopes / (slopes.sum() or 1.0))


def mean_squared_slopes(
    kernel: Kernel, centers: FloatArray, dual: FloatArray, Z: FloatArray, weights: FloatArray
) -> FloatArray:
    """Mean squared slopes of f = k(z, C) a, a (1, m), along the features that the kernel sees, (D,).

    Along a feature of two values the slope is the difference between the predictions at both over their distance: a
    kernel much narrower than that is flat at either.
    """
    found = np.average(kernel.gradient(Z, centers, dual[0]) ** 2, axis=0, weights=weights)
    low, high = Z.min(axis=0), Z.max(axis=0)
    binary = np.flatnonzero(np.all((Z == low) | (Z == high), axis=0) & (high > low))
    product = kernel.product(centers, dual)
    f = product(Z) if len(binary) else np.empty(0)
    for feature in binary:
        other = Z.copy()
        other[:, feature] = np.where(Z[:, feature] == low[feature], high[feature], low[feature])
        slopes = (product(other) - f) / (high[feature] - low[feature])
        found[feature] = np.average(slopes**2, axis=0, weights=weights)[0]
    return np.asarray(found)


def warnings_of(fit: GlobalFit, tuning: CenterTuning) -> Iterator[str]:
    """Yield warnings about a fit: nothing learned, an edge, a solver that gave up, rows that dominate."""
    if fit.choice.unlearned:
        yield (
            "No step of learning the features' scales could be used, so that all have the starting "
            "value, 1 / median distance: kernel matrices were singular or not finite. Look for "
            "columns of extreme values, or take scale_features='standard' with a bandwidth."
        )
    if "penalty" in tuning.at_edge:
        yield (
            f"The chosen penalty ({tuning.penalty:.3g}) is the largest that was tried: the "
            "features hardly explain y. See tuning_; pass a penalty to go beyond."
        )
    n_steps, precision = fit.low_rank.n_steps, fit.low_rank.precision
    if n_steps is not None and not is_solved(n_steps, precision):
        yield (
            f"Conjugate gradients ended after {n_steps} steps with {precision:.1e} of "
            "the first error left, and predictions may be off by much more. Very unequal weights "
            "or a tiny penalty may be why. Take solver='direct', or raise the penalty."
        )
    if len(tuning.dominant):
        rows = [row_name(row) for row in tuning.dominant]
        yield (
            f"Rows {', '.join(rows)} dominate the fit: row {rows[0]} alone moves the fitted values "
            f"by {tuning.influence[0]:.3g} typical residuals in all. Squared errors follow such rows "
            "wherever the centres are. If they are wrong, correct them, drop them or give them a "
            "sample_weight of 0; if they are right, a transformed response (log, asinh) may serve "
            "better."
        )
