"""The members of a blend: a global fit, local fits that follow it, ridge regression, companions.

g      level 1, on centres that the response chose; it sees the whole table
h_j    companions, any other regressors beside level 1
f_k    level 2, one for every local kernel: cells with g and h as coordinates and as trends
b      ridge regression, for lines and for few rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from skewridge._typing import FloatArray
from skewridge.cells.local import LocalFit, LocalSettings, fit_local
from skewridge.cells.partition import guided_cells
from skewridge.centers.cross_fit import CrossFit, cross_fit, cross_fit_folds
from skewridge.centers.rows import CenterSettings
from skewridge.execution.context import current, on_threads, run, using
from skewridge.execution.memory import give_back
from skewridge.execution.passes import predict_rows
from skewridge.execution.progress import stage
from skewridge.features.forms import FeatureForms, learn_forms
from skewridge.features.scaling import Scaling, constant_outputs, moments, prediction_bounds
from skewridge.ridge.learn_scales import N_STEPS, LearnedKernel
from skewridge.ridge.linear import LinearModel, fit_linear
from skewridge.ridge.sample import Sample
from skewridge.two_levels.blend import Members, TwoLevels
from skewridge.two_levels.planning import FEWEST_ROWS, GUIDING_ROWS, is_small

LINEAR_GAIN = 0.01  # of the error, that a smaller penalty of ridge regression must bring
MOST_ERROR = 1.5  # of level 1's squared error, cross-fitted, that a companion may have and be a trend of local fits


class Companion(Protocol):
    """Any regressor, and how copies of it are fitted and predict."""

    @property
    def regressor(self) -> Any: ...  # noqa: D102

    def fit(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> Companion:
        """Fit a copy to rows (n, d), responses (n,) and frequencies (n,)."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Finite predictions of rows, (n,)."""


@dataclass(frozen=True)
class LevelSettings:
    """How the two levels are to be fitted; sizes of cells that are None depend on the number of rows."""

    kernels: tuple[str, ...] = ("matern32", "laplacian")
    n_partitions: int | None = None
    cell_size: int | None = None
    n_steps: int = N_STEPS  # of learning local scales
    centers: CenterSettings = field(default_factory=CenterSettings)
    seed: int = 0
    scoring: str = "mse"
    companions: tuple[Companion, ...] = ()
    fewest_rows: int = FEWEST_ROWS

    def local(self, kernel: str, n_rows: int) -> LocalSettings:
        """The settings of one local fit to so many rows."""
        cell_size, n_partitions = guided_cells(n_rows)
        return LocalSettings(
            kernel=kernel,
            n_partitions=self.n_partitions or n_partitions,
            cell_size=self.cell_size or cell_size,
            seed=self.seed,
            n_steps=self.n_steps,
        )


@dataclass(frozen=True)
class MembersFit:
    """Members, their predictions by fits without the row, (n, M), and, of levels, level 1 and what was learned.

    ``learned`` is that of level 1 and then of every local fit, whose last scales are the trends'; () without levels.
    """

    members: Members
    left_out: FloatArray
    level_one: CrossFit | None = None
    learned: tuple[LearnedKernel, ...] = ()


def has_levels(sample: Sample, settings: LevelSettings) -> bool:
    """True if there are enough distinct rows, and responses that differ, for two levels."""
    return len(sample) >= settings.fewest_rows and not constant_outputs(sample.Y).all()


def companion_values(fitted: Sequence[Companion], X: FloatArray) -> FloatArray:
    """Predictions of some companions side by side, (n, c)."""
    return np.array([own.predict(X) for own in fitted]).reshape(len(fitted), len(X)).T


def fit_companions(sample: Sample, settings: LevelSettings) -> tuple[tuple[Companion, ...], FloatArray]:
    """Fit the companions to all rows, and cross-fit them on two folds as level 1 is: their left-out values, (n, c).

    There are none without levels. They are fitted where a fit is driven from, one after another: they are not ours,
    and may not bear threads.
    """
    X, y, f = sample.Z, sample.Y[:, 0], sample.frequencies
    if not settings.companions or not has_levels(sample, settings):
        return (), np.empty((len(sample), 0))
    folds = cross_fit_folds(X, sample.Y, f, settings.centers, groups=sample.groups, seed=settings.seed)
    left_out = np.empty((len(sample), len(settings.companions)))
    with stage("companions", 0.2):
        for companion, values in zip(settings.companions, left_out.T, strict=True):
            for fold in np.unique(folds):
                rest, own = folds != fold, folds == fold
                values[own] = companion.fit(X[rest], y[rest], f[rest]).predict(X[own])
        return tuple(own.fit(X, y, f) for own in settings.companions), left_out


def fit_members(
    sample: Sample,
    settings: LevelSettings,
    forms: FeatureForms | None = None,
    learned: tuple[LearnedKernel, ...] = (),
) -> MembersFit:
    """Fit every member to rows whose Z are the columns and whose trend are cross-fitted values of companions, (n, c).

    Level 1 comes first, since the local fits follow it. ``forms`` of the columns are taken instead of the rows' own,
    ``learned`` instead of learning.
    """
    X, Y = sample.Z, sample.Y
    if len(sample) < 2:  # all rows are at one x: a line without a slope
        zeros = np.zeros(X.shape[1])
        line = LinearModel(Scaling(zeros, zeros), np.zeros((len(zeros), 1)), Y[0])
        return MembersFit(Members(None, line), Y)
    linear, linear_left_out, _ = fit_linear(
        *(X, Y, sample.frequencies),
        loss_weights=sample.loss_weights,
        least_gain=LINEAR_GAIN,
        groups=sample.groups,
    )
    low, high = prediction_bounds(settings.centers.bounds, Y, np.zeros(1), np.ones(1))
    alone = Members(None, linear, float(low[0]), float(high[0]))
    if not has_levels(sample, settings):
        return MembersFit(alone, alone.bounded(linear_left_out))
    forms = forms or learn_forms(X, sample.frequencies)
    with using(budget=current().budget.of_part), stage("", 0.4):
        level_one, first = _fit_level_one(sample, settings, forms, learned)
    if current().budget.limit is not None:
        give_back()
    mean, spread = moments(Y[:, 0], sample.frequencies)
    companions = alone.bounded(np.empty((len(sample), 0)) if sample.trend is None else sample.trend)
    trend = (np.hstack([first, companions]) - mean) / spread
    error, errors = (sample.loss_weights @ (values - Y) ** 2 for values in (first, companions))
    trend[:, 1:] *= errors <= MOST_ERROR * error  # a coordinate that is mostly noise costs more than its trend is worth
    level_one_learned = level_one.choice.learned
    scales = None if level_one_learned is None else level_one_learned.scales
    if scales is not None and is_small(*X.shape):
        scales = np.sqrt(scales)  # nearer to equal ones where rows are few to learn from
    kernels, local_rows = settings.kernels, replace(sample, Z=predict_rows(forms, X), trend=trend)
    n_inner = max(1, current().n_threads // len(kernels))  # threads that kernels side by side leave over solve cells

    def fit_one(place: int) -> LocalFit:
        own = learned[1 + place] if learned else None
        with on_threads(n_inner):
            return fit_local(local_rows, settings.local(kernels[place], len(sample)), own, scales)

    with on_threads(), stage("local fits"):
        local_fits = list(run(fit_one, range(len(kernels))))
    left_out = np.hstack([first, *(fit.left_out for fit in local_fits), linear_left_out, companions])
    return MembersFit(
        members=replace(
            alone, levels=TwoLevels(level_one.model, forms, tuple(fit.model for fit in local_fits), mean, spread)
        ),
        left_out=alone.bounded(left_out),
        level_one=level_one,
        learned=() if level_one_learned is None else (level_one_learned, *(fit.learned for fit in local_fits)),
    )


def _fit_level_one(
    sample: Sample, settings: LevelSettings, forms: FeatureForms, learned: tuple[LearnedKernel, ...]
) -> tuple[CrossFit, FloatArray]:
    """Level 1, and its values at all rows by fits without them, (n, 1).

    Of very many rows it is fitted to some, for which its few hundred centres are few enough. The others are new rows to
    it: their trend is that of new rows, the mean of the two half fits.
    """
    sampled = sample.groups is None and len(sample) > GUIDING_ROWS
    own = sample.some(slice(GUIDING_ROWS)) if sampled else sample  # rows come in random order
    alike = np.array_equal(own.loss_weights, own.frequencies) or not own.loss_weights.any()  # which may be elsewhere
    fit = cross_fit(
        *(own.Z, own.Y, own.frequencies),
        replace(settings.centers, forms=forms, learned=learned[0] if learned else None, guides=True),
        scores=None if alike else own.loss_weights / own.frequencies,
        scoring=settings.scoring,
        groups=own.groups,
        seed=settings.seed,
    )
    if not sampled:
        return fit, fit.values
    return fit, np.vstack([fit.values, predict_rows(fit.model.predict, sample.Z[GUIDING_ROWS:])])
