"""The members of a blend: a global fit, local fits that it guides, ridge regression, companions.

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

from skewridge._typing import BoolArray, FloatArray, IntArray
from skewridge.cells.local import LocalFit, LocalSettings, fit_local
from skewridge.cells.partition import guided_cell_size, guided_partitions
from skewridge.centers.cross_fit import CrossFit, cross_fit, cross_fit_folds
from skewridge.centers.settings import CenterSettings
from skewridge.execution.context import current, on_threads, run, using
from skewridge.execution.memory import give_back
from skewridge.execution.passes import predict_rows
from skewridge.execution.progress import stage
from skewridge.features.forms import FeatureForms, learn_forms
from skewridge.features.scaling import Scaling, constant_outputs, moments, prediction_bounds
from skewridge.ridge.learn_scales import N_STEPS, LearnedKernel, average_kernel
from skewridge.ridge.linear import LinearModel, fit_linear
from skewridge.two_levels.model import Members, TwoLevels, columns_of
from skewridge.two_levels.planning import FEWEST_ROWS, GUIDING_ROWS, is_small

LINEAR_GAIN = 0.01  # of the error, that a smaller penalty of ridge regression must bring
MOST_ERROR = 1.5  # of level 1's squared error, cross-fitted, that a companion may have and guide the local fits


class FittedCompanion(Protocol):
    """A fitted regressor."""

    @property
    def regressor(self) -> Any:
        """What was fitted."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Finite predictions of rows, (n,)."""


class Companion(Protocol):
    """A regressor that can be fitted, as often as it is asked, to rows that occur `weights` times."""

    @property
    def name(self) -> str:
        """What it is called among the members of the blend."""

    def fit(self, X: FloatArray, y: FloatArray, weights: FloatArray) -> FittedCompanion:
        """Fit a copy of it to rows (n, d), responses (n,) and frequencies (n,)."""


@dataclass(frozen=True)
class Rows:
    """Distinct rows of one response: X (n, d), y (n, 1), frequencies; how much errors count, and groups, or None."""

    X: FloatArray
    y: FloatArray
    frequencies: FloatArray
    scores: FloatArray | None = None
    groups: IntArray | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def loss_weights(self) -> FloatArray:
        """Frequency times score, (n,)."""
        return self.frequencies if self.scores is None else self.frequencies * self.scores

    def some(self, places: IntArray | BoolArray | slice) -> Rows:
        """Rows by their places, or by a mask; those of one group that is left are left out one by one."""
        scores = None if self.scores is None else self.scores[places]
        groups = None if self.groups is None else self.groups[places]
        groups = None if groups is None or np.all(groups == groups[0]) else groups
        return Rows(self.X[places], self.y[places], self.frequencies[places], scores, groups)


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

    @property
    def n_members(self) -> int:
        """Members of the blend: level 1, local kernels, ridge regression, companions."""
        return len(self.kernels) + 2 + len(self.companions)

    def local(self, kernel: str, n_rows: int) -> LocalSettings:
        """The settings of one local fit to so many rows."""
        partitions = self.n_partitions or guided_partitions(n_rows)
        return LocalSettings(kernel, partitions, self.cell_size or guided_cell_size(n_rows), self.seed, self.n_steps)

    def with_steps(self, n_steps: int) -> LevelSettings:
        """The same with so many steps of learning on both levels."""
        return replace(self, n_steps=n_steps, centers=replace(self.centers, n_steps=n_steps))


@dataclass(frozen=True)
class Learned:
    """Scales, ridges and trends of the global fit and of the local ones, whose last scales are the guides'."""

    level_one: LearnedKernel
    locals: tuple[LearnedKernel, ...]


def average_learned(parts: Sequence[Learned]) -> Learned:
    """The geometric means of what was learned on parts of the rows."""
    level_one = average_kernel([part.level_one for part in parts])
    return Learned(level_one, tuple(map(average_kernel, zip(*(part.locals for part in parts), strict=True))))


@dataclass(frozen=True)
class MembersFit:
    """Members, their predictions by fits without the row, (n, 1) each, and, of levels, level 1 and what was learned."""

    members: Members
    honest: list[FloatArray]
    level_one: CrossFit | None = None
    learned: Learned | None = None


@dataclass(frozen=True)
class CompanionFits:
    """Companions fitted to all rows, and what they predict for rows that they have not seen, (n, c)."""

    fitted: tuple[FittedCompanion, ...]
    honest: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """Predictions of new rows, (n, c)."""
        return companion_values(self.fitted, X)


def companion_values(fitted: Sequence[FittedCompanion], X: FloatArray) -> FloatArray:
    """Predictions of some companions side by side, (n, c)."""
    return np.array([own.predict(X) for own in fitted]).reshape(len(fitted), len(X)).T


def has_levels(rows: Rows, settings: LevelSettings) -> bool:
    """True if there are enough distinct rows, and responses that differ, for two levels."""
    return len(rows) >= settings.fewest_rows and not constant_outputs(rows.y).all()


def fit_companions(rows: Rows, settings: LevelSettings) -> CompanionFits:
    """Fit the companions to all rows, and cross-fit them on two folds as level 1 is; none where there are no levels.

    They are fitted where a fit is driven from, one after another: they are not ours, and may not bear threads.
    """
    X, y, f = rows.X, rows.y[:, 0], rows.frequencies
    if not settings.companions or not has_levels(rows, settings):
        return CompanionFits((), np.empty((len(rows), 0)))
    folds = cross_fit_folds(X, rows.y, f, settings.centers, groups=rows.groups, seed=settings.seed)
    honest = np.empty((len(rows), len(settings.companions)))
    with stage("companions", 0.2):
        for companion, values in zip(settings.companions, honest.T, strict=True):
            for fold in np.unique(folds):
                rest, own = folds != fold, folds == fold
                values[own] = companion.fit(X[rest], y[rest], f[rest]).predict(X[own])
        return CompanionFits(tuple(own.fit(X, y, f) for own in settings.companions), honest)


def fit_members(
    rows: Rows,
    settings: LevelSettings,
    beside: FloatArray | None = None,
    *,
    forms: FeatureForms | None = None,
    learned: Learned | None = None,
) -> MembersFit:
    """Fit every member; level 1 first, since the local fits see it.

    ``beside``, (n, c), are cross-fitted values of companions; ``forms`` those of the columns instead of the rows' own;
    ``learned`` is taken instead of learning.
    """
    if len(rows) < 2:  # all rows are at one x: a line without a slope
        zeros = np.zeros(rows.X.shape[1])
        line = LinearModel(Scaling(zeros, zeros), np.zeros((len(zeros), 1)), rows.y[0])
        return MembersFit(Members(None, line), [rows.y])
    own = rows.X, rows.y, rows.frequencies
    linear = fit_linear(*own, scores=rows.scores, least_gain=LINEAR_GAIN, groups=rows.groups)
    low, high = prediction_bounds(settings.centers.bounds, rows.y, np.zeros(1), np.ones(1))
    alone = Members(None, linear.model, float(low[0]), float(high[0]))
    if not has_levels(rows, settings):
        return MembersFit(alone, alone.within([linear.left_out]))
    forms = forms or learn_forms(rows.X, rows.frequencies)
    with using(budget=current().budget.of_part), stage("", 0.4):
        level_one, first = _fit_level_one(rows, settings, forms, learned)
    if current().budget.limit is not None:
        give_back()
    mean, spread = moments(rows.y[:, 0], rows.frequencies)
    beside = alone.bounded(np.empty((len(rows), 0)) if beside is None else beside)
    guide = (np.hstack([first, beside]) - mean) / spread
    error, errors = (rows.loss_weights @ (values - rows.y) ** 2 for values in (first, beside))
    guide[:, 1:] *= errors <= MOST_ERROR * error  # a coordinate that is mostly noise costs more than its trend is worth
    scale = None if level_one.choice.learned is None else level_one.choice.learned.scales
    if scale is not None and is_small(*rows.X.shape):
        scale = np.sqrt(scale)  # nearer to equal ones where rows are few to learn from
    with on_threads(), stage("local fits"):
        locals_ = _fit_locals(rows, predict_rows(forms, rows.X), guide, settings, learned, scale)
    levels = TwoLevels(level_one.model, forms, tuple(fit.model for fit in locals_), mean, spread)
    honest = [first, *(fit.left_out for fit in locals_), linear.left_out, *columns_of(beside)]
    own_learned = level_one.choice.learned
    found = None if own_learned is None else Learned(own_learned, tuple(fit.learned for fit in locals_))
    return MembersFit(replace(alone, levels=levels), alone.within(honest), level_one, found)


def _fit_level_one(
    rows: Rows, settings: LevelSettings, forms: FeatureForms, learned: Learned | None
) -> tuple[CrossFit, FloatArray]:
    """Level 1, and its honest values at all rows, (n, 1).

    Of very many rows it is fitted to a sample, for which its few hundred centres are few enough. The other rows are new
    to it, and are guided as new rows are: by the mean of the two half fits.
    """
    sampled = rows.groups is None and len(rows) > GUIDING_ROWS
    seen = rows.some(slice(GUIDING_ROWS)) if sampled else rows  # rows come in random order
    given = None if learned is None else learned.level_one
    fit = cross_fit(
        *(seen.X, seen.y, seen.frequencies, replace(settings.centers, forms=forms, learned=given, guides=True)),
        scores=seen.scores if np.any(seen.loss_weights > 0.0) else None,  # all that count may be outside the sample
        scoring=settings.scoring,
        groups=seen.groups,
        seed=settings.seed,
    )
    if not sampled:
        return fit, fit.values
    others = rows.X[GUIDING_ROWS:]
    return fit, np.vstack([fit.values, predict_rows(fit.model.predict, others)])


def _fit_locals(
    rows: Rows,
    forms: FloatArray,
    guide: FloatArray,
    settings: LevelSettings,
    learned: Learned | None,
    initial_scales: FloatArray | None,
) -> list[LocalFit]:
    """One local fit for every kernel, side by side; threads that are left over solve cells."""
    kernels = settings.kernels
    n_inner = max(1, current().n_threads // len(kernels))

    def fit(place: int) -> LocalFit:
        with on_threads(n_inner):
            return fit_local(
                *(forms, rows.y, rows.frequencies, guide),
                settings=settings.local(kernels[place], len(rows)),
                weights=rows.loss_weights,
                groups=rows.groups,
                learned=None if learned is None else learned.locals[place],
                initial_scales=initial_scales,
            )

    return list(run(fit, range(len(kernels))))
