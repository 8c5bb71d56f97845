"""Level 2: a metric learned on balls, then exact fits in cells; alone, or following a global fit.

Rows come as forms of their columns (:mod:`skewridge.features.forms`), distinct and in canonical order. Trends, the
cross-fitted values of a global fit and of companions, make the cells see beyond their walls: each is one more
coordinate, and a term ``tau_j q_j q_j'`` of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.cells.fit import Cells, check_cell_kernel, fit_cells
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS
from skewridge.features.forms import NEGLIGIBLE, FeatureForms, ScaledForms, learn_forms
from skewridge.features.scaling import constant_outputs, unit_responses
from skewridge.kernels import Kernel
from skewridge.response.candidates import DistinctRows, collapse_rows
from skewridge.response.groups import RowGroups
from skewridge.ridge.diagnostics import SerialDependence, serial_dependence
from skewridge.ridge.learn_scales import N_STEPS, LearnedKernel, learn_scales
from skewridge.ridge.sample import Sample

LEARNING_ROWS = 100_000  # that balls are drawn from at most
N_FOLDS = 5


@dataclass(frozen=True)
class LocalSettings:
    """How one level of cells is to be made; the seed is the key of balls and partitions."""

    kernel: str = "laplacian"
    n_partitions: int = N_PARTITIONS
    cell_size: int = CELL_SIZE
    seed: int = 0
    n_steps: int = N_STEPS  # of learning


@dataclass(frozen=True)
class LocalModel:
    """Cells of responses (y - means) / units, on the forms that matter, (u,); the scales of k trends are the last."""

    used: IntArray
    scales: FloatArray
    cells: Cells
    means: FloatArray
    units: FloatArray

    def column_scale(self, forms: FeatureForms) -> FloatArray:
        """Every column's scale, (d,): root of the sum of squares over its forms; 0 if not used."""
        return forms.keep(self.used).column_scale(self.scales[: len(self.used)])

    def predict(self, forms: FloatArray, trend: FloatArray | None = None) -> FloatArray:
        """Predict one block of rows, (n, p), from all their forms and, if there are any, the trends, (n, k)."""
        Z = _with_trend(forms[:, self.used], trend) * self.scales
        return self.cells.predict(Z, trend) * self.units + self.means


@dataclass(frozen=True)
class LocalFit:
    """A local model, predictions of every row by fits without it, (n, p), and what was learned over all forms."""

    model: LocalModel
    left_out: FloatArray
    learned: LearnedKernel


def fit_local(
    sample: Sample,
    settings: LocalSettings,
    learned: LearnedKernel | None = None,
    initial_scales: FloatArray | None = None,
) -> LocalFit:
    """Learn the metric on balls, drop the forms that it ignores, and fit the cells.

    ``sample.Z``, (n, D), are forms; a trend that is 0 at every row is not looked at, whatever it is at new rows.
    ``learned``, over all forms and trends, is taken instead of learning, which starts half-way to ``initial_scales``,
    (D,), those of the forms in a global fit.

    Examples
    --------
    >>> import numpy as np
    >>> forms, one = np.random.default_rng(0).normal(size=(300, 3)), np.ones(300)
    >>> Y = np.abs(forms[:, :1])  # the other two say nothing
    >>> fit = fit_local(Sample(forms, Y, one, one), LocalSettings("matern32"))
    >>> bool(np.mean((fit.left_out - Y) ** 2) < 0.05 * Y.var())
    True
    """
    unit, means, units = unit_responses(sample.Y, sample.frequencies, centre=True)
    forms, trend, n_forms = sample.Z, sample.trend, sample.Z.shape[1]
    if learned is None:
        rows = replace(sample, Z=_with_trend(forms, trend), Y=unit).some(slice(LEARNING_ROWS))  # in random order
        if not np.any(rows.loss_weights > 0.0):
            rows = replace(rows, loss_weights=rows.frequencies)
        kernel = Kernel(check_cell_kernel(settings.kernel), bandwidth=1.0)
        learned = learn_scales(
            kernel, rows, seed=settings.seed, local=True, initial_scales=initial_scales, n_steps=settings.n_steps
        )
    if trend is not None:
        varies = np.any(trend != 0.0, axis=0)
        scales = learned.scales * np.append(np.ones(n_forms), varies)
        learned = replace(learned, scales=scales, trends=learned.trends * varies)
    used = np.flatnonzero(learned.scales[:n_forms] > NEGLIGIBLE * learned.scales.max(initial=0.0))
    scales = np.append(learned.scales[used], learned.scales[n_forms:])
    cells, left_out, _ = fit_cells(
        settings.kernel,
        replace(sample, Z=_with_trend(forms[:, used], trend) * scales, Y=unit),
        learned,
        seed=settings.seed,
        n_partitions=settings.n_partitions,
        cell_size=settings.cell_size,
    )
    return LocalFit(LocalModel(used, scales, cells, means, units), left_out * units + means, learned)


def _with_trend(forms: FloatArray, trend: FloatArray | None) -> FloatArray:
    return forms if trend is None else np.column_stack([forms, trend])


# Cells alone, from a table to predictions


@dataclass(frozen=True)
class TableFit:
    """A local fit to the rows of a table, or their means, (p,), where nothing else can be fitted.

    ``left_out``, (N, p), are predictions of every row by fits without it or its group; nan for one row alone.
    """

    forms: FeatureForms
    distinct: DistinctRows
    means: FloatArray
    fit: LocalFit | None
    left_out: FloatArray

    def serial_dependence(self, X: FloatArray, kernel: str) -> SerialDependence | None:
        """How far rows near each other in the file tell on each other, from the rows of the fit, (N, d)."""
        if self.fit is None:
            return None
        distinct, learned = self.distinct, self.fit.learned
        return serial_dependence(
            Kernel(kernel, bandwidth=1.0),
            X,
            ScaledForms(self.forms, learned.scales),
            distinct.rows,
            distinct.Y,
            learned.ridge,
            frequencies=distinct.frequencies,
        )


def predict_table(forms: FeatureForms, model: LocalModel | None, means: FloatArray, X: FloatArray) -> FloatArray:
    """Predictions of raw rows, (n, p); the mean where there is no model."""
    return np.repeat(means[None, :], len(X), axis=0) if model is None else model.predict(forms(X))


def fit_table(
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    *,
    settings: LocalSettings,
    scores: FloatArray | None = None,
    groups: RowGroups | None = None,
) -> TableFit:
    """Fit the rows of a table, (N, d), that occur ``weights`` times and whose squared errors count ``scores`` times."""
    distinct = collapse_rows(X, Y, weights, settings.seed, groups=None if groups is None else groups.labels)
    rows, means = X[distinct.rows], np.average(Y, axis=0, weights=weights)
    forms = learn_forms(rows, distinct.frequencies)
    if len(distinct) < 2 or not len(forms) or constant_outputs(distinct.Y).all():
        return TableFit(forms, distinct, means, None, distinct.means_of_others(Y))
    sample = Sample(
        Z=forms(rows),
        Y=distinct.Y,
        frequencies=distinct.frequencies,
        loss_weights=distinct.frequencies if scores is None else distinct.totals(scores),
        groups=distinct.groups if groups is not None and groups.holds_several else None,
    )
    fit = fit_local(sample, settings)
    return TableFit(forms, distinct, means, fit, fit.left_out[distinct.member])


def predict_left_out(
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    groups: RowGroups,
    *,
    settings: LocalSettings,
    scores: FloatArray | None = None,
) -> FloatArray:
    """Predictions of rows by fits, learning included, without their fold of groups, (N, p).

    Rows of an order are predicted by fits to what lies before them; nan where nothing does.
    """
    out = np.full(Y.shape, np.nan)
    for rest, here in groups.folds(Y[:, 0], N_FOLDS, weights):
        found = fit_table(
            X[rest],
            Y[rest],
            weights[rest],
            settings=settings,
            scores=None if scores is None else scores[rest],
            groups=replace(groups, labels=groups.labels[rest]),
        )
        model = None if found.fit is None else found.fit.model
        out[here] = predict_table(found.forms, model, found.means, X[here])
    return out
