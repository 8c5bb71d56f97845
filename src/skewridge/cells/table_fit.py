"""Cells alone, from a table to predictions: forms of its columns, distinct rows, a local fit, or the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.cells.learned import LocalFit, LocalModel, LocalSettings, fit_local
from skewridge.engine.job import Job
from skewridge.features.rank_forms import FeatureForms, learn_forms
from skewridge.features.scaling import is_constant
from skewridge.kernels import Kernel
from skewridge.response.grouping import RowGroups
from skewridge.ridge.adjacency import Adjacency, adjacency, draw_runs
from skewridge.ridge.distinct import DistinctRows, collapse_rows

N_FOLDS = 5


@dataclass(frozen=True)
class TableFit:
    """A local fit to the rows of a table.

    Attributes
    ----------
    forms : FeatureForms of the columns
    distinct : DistinctRows
    means : (p,) array, the mean responses
    fit : LocalFit; None where nothing but the mean can be fitted
    left_out : (N, p) array, predictions of every row by fits without it or its group, given scales and cells; nan for
        one row alone
    """

    forms: FeatureForms
    distinct: DistinctRows
    means: FloatArray
    fit: LocalFit | None
    left_out: FloatArray

    def adjacency(self, X: FloatArray, kernel: str) -> Adjacency | None:
        """How far rows near each other in the file tell on each other, from the rows of the fit, (N, d)."""
        runs, distinct = draw_runs(self.distinct.rows), self.distinct
        if runs is None or self.fit is None:
            return None
        Z, own = self.forms(X[distinct.rows[runs.rows]]) * self.fit.learned.scales, runs.rows
        return adjacency(
            Kernel(kernel, bandwidth=1.0),
            Z,
            distinct.Y[own],
            self.fit.learned.ridge,
            frequencies=distinct.frequencies[own],
            runs=runs.labels,
        )

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict one block of rows, (n, p)."""
        return predict_table(self.forms, None if self.fit is None else self.fit.model, self.means, X)


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
    job: Job | None = None,
) -> TableFit:
    """Learn scales and ridge on balls, cut x into cells, solve every cell.

    Parameters
    ----------
    X : (N, d) array
    Y : (N, p) array
    weights : (N,) array, how often every row occurs, all positive
    settings : LocalSettings
    scores : (N,) array, how much a row's squared error counts; None: all alike
    groups : RowGroups, rows that are left out together; None: every row on its own
    """
    labels = None if groups is None else groups.labels
    distinct = collapse_rows(X, Y, weights, settings.seed, groups=labels)
    rows, means = X[distinct.rows], np.average(Y, axis=0, weights=weights)
    forms = learn_forms(rows, distinct.frequencies)
    if len(distinct) < 2 or not len(forms) or is_constant(distinct.Y):
        return TableFit(forms, distinct, means, None, distinct.means_of_others(Y))
    fit = fit_local(
        forms(rows),
        distinct.Y,
        distinct.frequencies,
        settings=settings,
        weights=None if scores is None else distinct.totals(scores),
        groups=distinct.groups if groups is not None and groups.holds_several else None,
        job=job,
    )
    return TableFit(forms, distinct, means, fit, fit.left_out[distinct.member])


def predict_left_out(
    X: FloatArray,
    Y: FloatArray,
    weights: FloatArray,
    groups: RowGroups,
    *,
    settings: LocalSettings,
    scores: FloatArray | None = None,
    job: Job | None = None,
) -> FloatArray:
    """Predictions of rows by fits, learning included, without their fold of groups, (N, p).

    Rows of an order are predicted by fits to what lies before them; nan where nothing does.
    """
    out = np.full(Y.shape, np.nan)
    for rest, here in groups.folds(Y[:, 0], N_FOLDS, weights):
        fit = fit_table(
            X[rest],
            Y[rest],
            weights[rest],
            settings=settings,
            scores=None if scores is None else scores[rest],
            groups=groups.some(rest),
            job=job,
        )
        out[here] = fit.predict(X[here])
    return out
