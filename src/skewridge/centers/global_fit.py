"""Level 1 from raw rows to predictions in units of y: learn scales, choose, fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.fit import fit_model
from skewridge.centers.importances import Importances, left_out_importances
from skewridge.centers.ladder import Choice, choose
from skewridge.centers.model import LowRankModel, Predictor
from skewridge.centers.planning import affordable_threads, most_centers, size_of
from skewridge.centers.rows import SAMPLE_ROWS, TrainingRows, training_rows
from skewridge.centers.scales import Transform, column_scale
from skewridge.centers.settings import CenterSettings
from skewridge.centers.slopes import SLOPE_ROWS, mean_squared_slopes
from skewridge.centers.tuning import CenterTuning, describe
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData, through
from skewridge.execution.context import current, using
from skewridge.execution.progress import stage
from skewridge.features.forms import ScaledForms
from skewridge.kernels import Kernel
from skewridge.ridge.diagnostics import SerialDependence, neighbour_blocks, serial_dependence


@dataclass(frozen=True)
class GlobalPredictor:
    """Raw rows -> the estimate in units of y: all that a worker needs to predict."""

    transform: Transform
    predictor: Predictor
    means: FloatArray
    units: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """The estimate at one block of rows, (n, p)."""
        return self.predictor.predict(self.transform(X)) * self.units + self.means

    @property
    def row_work(self) -> float:
        """Operations a row."""
        return self.predictor.row_work


@dataclass(frozen=True)
class GlobalFit:
    """A fitted level 1; see :func:`fit_global`.

    Attributes
    ----------
    transform : Scaling or ScaledForms, what rows go through first
    model : LowRankModel of the transformed rows and of responses in units of their size
    choice : Choice, the candidate, its penalty and the scores that led to it
    tuning : CenterTuning, the same for people
    means, units : (p,) arrays, y = model * units + means
    column_scale : (d,) array, every column's scale: the root of the sum of squares over its forms
    importances : Importances of the columns; None for fits to other rows
    slopes : (d,) array, mean squared slopes along every column's forms, over their sum; or None
    adjacent : SerialDependence of rows in the file; None where groups are known or nothing was learned
    """

    transform: Transform
    model: LowRankModel
    choice: Choice
    tuning: CenterTuning
    means: FloatArray
    units: FloatArray
    column_scale: FloatArray
    importances: Importances | None = None
    slopes: FloatArray | None = None
    adjacent: SerialDependence | None = None

    def predictor(self, single: bool = False) -> GlobalPredictor:
        """The predictor, in single precision where that is asked for and serves."""
        return GlobalPredictor(self.transform, self.model.predictor(single), self.means, self.units)

    def predict(self, X: FloatArray) -> FloatArray:
        """The estimate at one block of raw rows in units of y, (n, p)."""
        return self.predictor().predict(X)


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

    Parameters
    ----------
    X : (N, d) rows, raw
    Y : (N, p) array
    weights : (N,) array of positive frequencies
    settings : CenterSettings
    scores : (N,) array, how much every row's squared error counts; None: all alike
    scoring : str, the scores' name
    groups : (N,) array of labels, rows that are left out and share folds together; None: every row on its own
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(300, 2, random_state=0)
    >>> fit = fit_global(X, y[:, None], np.ones(300), CenterSettings(), seed=0)
    >>> bool(np.mean((fit.predict(X)[:, 0] - y) ** 2) < 0.1 * y.var())
    True
    """
    with one_blas_thread():
        rows = rows_to_fit(X, Y, weights, settings, seed=seed, scores=scores, groups=groups)
        choice, settings, n_threads = choose_for(rows, settings)
        with using(n_jobs=n_threads):
            with stage("fitting centres", 0.2):
                fit = fit_choice(rows, choice, settings, scoring=scoring)
            fit = _with_importances(fit, rows, settings)
        return fit if groups is not None else _with_adjacency(fit, rows)


def choose_for(rows: TrainingRows, settings: CenterSettings) -> tuple[Choice, CenterSettings, int | None]:
    """Learn scales and choose; return settings and threads as so many rows and the memory allow, too."""
    size = size_of(rows)
    settings = settings.within(len(rows.candidates))
    most = most_centers(len(rows.candidates), size, settings)
    n_threads = affordable_threads(size, settings, most)
    with using(n_jobs=n_threads):
        return current().value("choice", lambda: choose(rows, settings, most)), settings, n_threads


def neighbours_in_file(
    choice: Choice, kernel: Kernel, X: RowData, places: IntArray, Y: FloatArray, frequencies: FloatArray
) -> SerialDependence | None:
    """How far rows near each other in the file X tell on each other; None where no kernel was learned.

    Places of distinct rows, their responses, (n, p), and frequencies, (n,).
    """
    found, learned = neighbour_blocks(places), choice.learned
    if found is None or learned is None:
        return None
    own, blocks = found
    Z = choice.transform(np.asarray(X[places[own]]))
    return serial_dependence(kernel, Z, Y[own], learned.ridge, frequencies=frequencies[own], blocks=blocks)


def _with_adjacency(fit: GlobalFit, rows: TrainingRows) -> GlobalFit:
    """The fit with what rows that stand near each other in the file tell on each other."""
    own, kernel = rows.candidates, fit.model.basis.kernel
    means = own.means(rows.Y, rows.weights)
    return replace(fit, adjacent=neighbours_in_file(fit.choice, kernel, rows.X, own.rows, means, own.weights))


def fit_again(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    choice: Choice,
    *,
    seed: int,
) -> GlobalFit:
    """Fit other rows as was chosen before: centres are drawn from them, nothing is learned."""
    with one_blas_thread():
        rows = rows_to_fit(X, Y, weights, settings, seed=seed)
        return fit_choice(rows, choice, settings)


def rows_to_fit(
    X: RowData,
    Y: FloatArray,
    weights: FloatArray,
    settings: CenterSettings,
    *,
    seed: int,
    scores: FloatArray | None = None,
    groups: IntArray | None = None,
) -> TrainingRows:
    """Rows with candidates and units as the settings want them."""
    return training_rows(
        X,
        Y,
        weights,
        slices=settings.slices,
        fit_intercept=settings.fit_intercept,
        scores=scores,
        groups=groups,
        seed=seed,
    )


def fit_choice(
    rows: TrainingRows,
    choice: Choice,
    settings: CenterSettings,
    *,
    scoring: str = "mse",
) -> GlobalFit:
    """Fit what was chosen to all rows."""
    transform = choice.transform
    Z = through(transform, rows.X)
    model = fit_model(rows, Z, choice.candidate, choice.penalty, settings)
    n_sample = min(len(rows.candidates), SAMPLE_ROWS)
    tuning = describe(choice, len(model.rows), rows.units, n_sample, scoring)
    return GlobalFit(
        transform=transform,
        model=model,
        choice=choice,
        tuning=replace(tuning, dominant=model.dominant, pulls=model.pulls),
        means=rows.means,
        units=rows.units,
        column_scale=column_scale(transform),
    )


def _with_importances(
    fit: GlobalFit,
    rows: TrainingRows,
    settings: CenterSettings,
) -> GlobalFit:
    """The fit with what is told of its columns: importances and slopes."""
    model, choice = fit.model, fit.choice
    chosen = fit.transform, choice.candidate, choice.penalty
    return replace(
        fit,
        importances=left_out_importances(rows, model, *chosen, settings),
        slopes=_slopes(rows, model, fit.transform),
    )


def _slopes(rows: TrainingRows, model: LowRankModel, transform: Transform) -> FloatArray:
    """Mean squared slopes along the forms, or the scaled columns, over their sum, (d,)."""
    some = rows.candidates.first(SLOPE_ROWS)
    kernel, centers = model.basis.kernel, model.basis.centers
    dual = model.dual / model.spread[:, None]
    Z = transform(np.asarray(rows.X[some.rows]))
    slopes = mean_squared_slopes(kernel, centers, dual, Z, some.weights)
    if isinstance(transform, ScaledForms):
        slopes = transform.forms.by_column(slopes * transform.scales**2)
    return np.asarray(slopes / (slopes.sum() or 1.0))
