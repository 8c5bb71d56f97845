"""Fit two levels and blend them; predictions by fits without the row say how large the blend's error is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skewridge._typing import FloatArray
from skewridge.execution.progress import stage
from skewridge.features.scaling import prediction_bounds
from skewridge.response.candidates import collapse_rows
from skewridge.response.groups import RowGroups
from skewridge.ridge.diagnostics import serial_dependence
from skewridge.ridge.sample import Sample
from skewridge.two_levels.blend import BlendedModel, fit_blend, leave_own_out
from skewridge.two_levels.expected_error import expected_error
from skewridge.two_levels.members import LevelSettings, fit_companions, fit_members, has_levels
from skewridge.two_levels.outer_folds import assign_folds, blend_outer, fit_outer
from skewridge.two_levels.results import BlendedFit, shift_of


def fit_blended(
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    *,
    settings: LevelSettings,
    scores: FloatArray | None = None,
    groups: RowGroups | None = None,
) -> BlendedFit:
    """Fit the two levels to rows (N, d) that occur ``weights`` times, and the weights that blend them.

    Rows with equal x are one row of their mean. Where rows, or their groups, are few (below 3,000, or 50 a column), or
    have an order, five outer folds go around the whole fit, learning included, which then takes the mean of what the
    folds have learned. Blend weights are fitted to predictions by fits without the row. ``scores``, (N,), say how much
    a row's squared error counts.
    """
    labels = None if groups is None else groups.labels
    distinct = collapse_rows(X, y[:, None], weights, settings.seed, groups=labels)
    f = distinct.frequencies
    loss_weights = f if scores is None else f * (distinct.totals(scores) / f)
    sample = Sample(X[distinct.rows], distinct.Y, f, loss_weights, distinct.groups)

    ordered = groups is not None and groups.first_ahead is not None
    folds = assign_folds(X, y, distinct, groups) if ordered or has_levels(sample, settings) else None
    companions, values = fit_companions(sample, settings)
    sample = replace(sample, trend=values)
    outer, learned = (None, ()) if folds is None else fit_outer(sample, y, folds, settings)
    with stage(""):
        fit = fit_members(sample, settings, learned=learned)
    if folds is None or outer is None:
        blend_weights, intercept, blended = fit_blend(fit.left_out, distinct.Y[:, 0], loss_weights)
        level = blended[distinct.member]
        left_out = leave_own_out(blended, distinct.Y[:, 0], loss_weights)[distinct.member]
        if len(sample) < 2:
            left_out = distinct.means_of_others(y[:, None])[:, 0]
    else:
        blend_weights, intercept, level, left_out = blend_outer(outer, sample, y, folds)

    low, high = prediction_bounds(settings.centers.bounds, y[:, None], np.zeros(1), np.ones(1))
    left_out, level = np.clip(left_out, low, high), np.clip(level, low, high)
    first, adjacent = fit.level_one, None
    if groups is None and first is not None and first.choice.learned is not None:
        kernel, transform, ridge = first.model.kernel, first.choice.transform, first.choice.learned.ridge
        adjacent = serial_dependence(kernel, X, transform, distinct.rows, distinct.Y, ridge, frequencies=f)
    left_out_by = "leave-one-out" if folds is None else "outer folds"
    if groups is not None:
        left_out_by = "leave-one-group-out" if folds is None else "outer folds of groups"
    return BlendedFit(
        model=BlendedModel(fit.members, blend_weights, intercept),
        left_out=left_out,
        level=level,
        risk=expected_error(y, left_out, weights, member=distinct.member, together=distinct.draws),
        left_out_by="later rows" if ordered else left_out_by,
        fit=fit,
        companions=companions,
        adjacent=adjacent,
        shift=0.0 if scores is not None else shift_of(left_out, y, weights),
    )
