"""The members of a blend: a global fit, local fits that it guides, ridge regression, companions.

g      level 1, on centres that the response chose; it sees the whole table
h_j    companions, any other regressors beside level 1
f_k    level 2, one for every local kernel: cells with g and h as coordinates and as trends
b      ridge regression, for lines and for few rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skewridge._typing import BoolArray, FloatArray
from skewridge.cells.learned import LocalFit, LocalSettings, fit_local
from skewridge.cells.partition import guided_cell_size, guided_partitions
from skewridge.centers.cross_fit import CROSS_FITTING, CrossFit, cross_fit, cross_fit_folds
from skewridge.centers.settings import CenterSettings
from skewridge.engine.following import aside, part
from skewridge.engine.heap import give_back
from skewridge.engine.job import Job, run
from skewridge.engine.memory import MACHINE, Budget
from skewridge.engine.passes import predict_rows
from skewridge.features.rank_forms import FeatureForms, learn_forms
from skewridge.features.scaling import Scaling, is_constant, moments, prediction_bounds
from skewridge.levels.companions import Companion, CompanionFits, fit_companions, no_companions
from skewridge.levels.model import Members, TwoLevels, columns_of
from skewridge.levels.planning import is_small
from skewridge.levels.rows import Rows
from skewridge.ridge.learned_kernel import LearnedKernel, average_kernel
from skewridge.ridge.learning import N_STEPS
from skewridge.ridge.linear import LinearModel, fit_linear
from skewridge.ridge.work import values_work

LINEAR_GAIN = 0.01  # of the error, that a smaller penalty of ridge regression must bring
MOST_ERROR = 1.5  # of level 1's squared error, cross-fitted, that a companion may have and guide the local fits
GUIDING_ROWS = 200_000  # that level 1 is fitted to at most
FEWEST_ROWS, FEWEST_OUTSIDE = 13, 10  # for two levels: distinct rows, and those outside an outer fold


@dataclass(frozen=True)
class LevelSettings:
    """How the two levels are to be fitted.

    Attributes
    ----------
    kernels : names of the local kernels, each a member of its own
    n_partitions : int, of the local fits; None: 3, and 2 where rows are many
    cell_size : int, of the local fits; None: 1,000, and fewer where rows are many
    n_steps : int, of learning local scales; those of level 1 are the centres' settings
    centers : CenterSettings, of the global fit
    seed : int, the key of every draw
    scoring : str, the name of what the rows' scores aim at
    companions : regressors beside level 1
    fewest_rows : int, distinct ones; fewer are fitted by ridge regression alone
    """

    kernels: tuple[str, ...] = ("matern32", "laplacian")
    n_partitions: int | None = None
    cell_size: int | None = None
    n_steps: int = N_STEPS
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
        return LocalSettings(
            kernel=kernel,
            n_partitions=self.n_partitions or guided_partitions(n_rows),
            cell_size=self.cell_size or guided_cell_size(n_rows),
            seed=self.seed,
            n_steps=self.n_steps,
        )

    def with_steps(self, n_steps: int) -> LevelSettings:
        """The same with so many steps of learning on both levels."""
        return replace(self, n_steps=n_steps, centers=replace(self.centers, n_steps=n_steps))


@dataclass(frozen=True)
class Learned:
    """Scales, ridges and trends of the global fit and of the local ones, over all forms.

    Attributes
    ----------
    level_one : LearnedKernel
    locals : tuple of LearnedKernel, whose last scales are the guides'
    """

    level_one: LearnedKernel
    locals: tuple[LearnedKernel, ...]


def average_learned(parts: Sequence[Learned]) -> Learned:
    """The geometric means of what was learned on parts of the rows."""
    together = zip(*(part.locals for part in parts), strict=True)
    return Learned(
        level_one=average_kernel([part.level_one for part in parts]),
        locals=tuple(average_kernel(own) for own in together),
    )


@dataclass(frozen=True)
class MembersFit:
    """Members and what is known about them.

    Attributes
    ----------
    members : Members
    honest : list of (n, 1) arrays: every member's predictions by fits without the row
    level_one : CrossFit or None, with its ladder
    learned : Learned; None where there are no levels
    """

    members: Members
    honest: list[FloatArray]
    level_one: CrossFit | None = None
    learned: Learned | None = None


def has_levels(rows: Rows, settings: LevelSettings) -> bool:
    """True if there are enough distinct rows, and responses that differ, for two levels."""
    return len(rows) >= settings.fewest_rows and not is_constant(rows.y)


def fit_beside(rows: Rows, settings: LevelSettings, job: Job) -> CompanionFits:
    """Fit the companions, cross-fitted on two folds as level 1 is; none where there will be no levels."""
    if not settings.companions or not has_levels(rows, settings):
        return no_companions(len(rows))
    own = rows.X, rows.y, rows.frequencies
    folds = cross_fit_folds(*own, settings.centers, groups=rows.groups, seed=settings.seed, job=job)
    with aside("companions"):
        return fit_companions(settings.companions, rows.X, rows.y[:, 0], rows.frequencies, folds)


def fit_members(
    rows: Rows,
    settings: LevelSettings,
    job: Job,
    budget: Budget = MACHINE,
    beside: FloatArray | None = None,
    *,
    forms: FeatureForms | None = None,
    learned: Learned | None = None,
) -> MembersFit:
    """Fit every member; level 1 first, since the local fits see it.

    Parameters
    ----------
    beside : (n, c) array of cross-fitted values of companions; None where there are none
    forms : FeatureForms of the columns; None: those of the rows
    learned : Learned over these forms, instead of learning
    """
    if len(rows) < 2:  # all rows are at one x
        return MembersFit(Members(None, _constant(rows)), [rows.y])
    own = rows.X, rows.y, rows.frequencies
    linear = fit_linear(*own, scores=rows.scores, least_gain=LINEAR_GAIN, groups=rows.groups)
    alone = Members(None, linear.model, *_ends(rows, settings))
    if not has_levels(rows, settings):
        return MembersFit(alone, alone.within([linear.left_out]))
    forms = forms or learn_forms(rows.X, rows.frequencies)
    level_one, first = _fit_level_one(rows, settings, forms, learned, job, budget.of_part)
    if budget.limit is not None:
        give_back()
    mean, spread = moments(rows.y[:, 0], rows.frequencies)
    beside = alone.bounded(np.empty((len(rows), 0)) if beside is None else beside)
    guide = (np.hstack([first, beside]) - mean) / spread
    guide[:, 1:] *= _worth_hearing(first, beside, rows)
    locals_ = _fit_locals(
        rows, predict_rows(forms, rows.X, job.here), guide, settings, learned, level_one.choice.learned, job
    )
    models = tuple(fit.model for fit in locals_)
    levels = TwoLevels(level_one.model, forms, models, mean, spread)
    others = [*(fit.left_out for fit in locals_), linear.left_out, *columns_of(beside)]
    left_out = alone.within([first, *others])
    return MembersFit(replace(alone, levels=levels), left_out, level_one, _learned(level_one, locals_))


def _learned(level_one: CrossFit, locals_: Sequence[LocalFit]) -> Learned | None:
    own = level_one.choice.learned
    return None if own is None else Learned(own, tuple(fit.learned for fit in locals_))


def _fit_level_one(
    rows: Rows,
    settings: LevelSettings,
    forms: FeatureForms,
    learned: Learned | None,
    job: Job,
    budget: Budget,
) -> tuple[CrossFit, FloatArray]:
    """Level 1, and its honest values at all rows, (n, 1).

    Of very many rows it is fitted to a sample, for which its few hundred centres are few enough. The other rows are new
    to it, and are guided as new rows are: by the mean of the two half fits.
    """
    sampled = rows.groups is None and len(rows) > GUIDING_ROWS
    seen = rows.some(np.arange(GUIDING_ROWS)) if sampled else rows  # rows come in random order
    given = None if learned is None else learned.level_one
    scores = seen.scores if np.any(seen.loss_weights > 0.0) else None  # all that count may be outside the sample
    fit = cross_fit(
        seen.X,
        seen.y,
        seen.frequencies,
        replace(settings.centers, forms=forms, learned=given, guides=True),
        scores=scores,
        scoring=settings.scoring,
        groups=seen.groups,
        seed=settings.seed,
        budget=budget,
        job=job,
    )
    if not sampled:
        return fit, fit.values
    others = rows.X[GUIDING_ROWS:]
    with part(CROSS_FITTING, values_work(len(others), *fit.model.centers.shape)):
        values = predict_rows(fit.model.predict, others, job)
    return fit, np.vstack([fit.values, values])


def _fit_locals(
    rows: Rows,
    forms: FloatArray,
    guide: FloatArray,
    settings: LevelSettings,
    learned: Learned | None,
    level_one: LearnedKernel | None,
    job: Job,
) -> list[LocalFit]:
    """One local fit for every kernel, side by side; threads that are left over solve cells."""
    hint = None if level_one is None else _hint(level_one.scales, rows)
    inner = replace(job.here, n_jobs=max(1, job.here.n_threads // len(settings.kernels)), verbose=0)

    def fit(place: int) -> LocalFit:
        return fit_local(
            forms,
            rows.y,
            rows.frequencies,
            guide,
            settings=settings.local(settings.kernels[place], len(rows)),
            weights=rows.loss_weights,
            groups=rows.groups,
            learned=None if learned is None else learned.locals[place],
            hint=hint,
            job=inner,
        )

    return list(run(fit, range(len(settings.kernels)), job.here, "local fits"))


def _worth_hearing(first: FloatArray, beside: FloatArray, rows: Rows) -> BoolArray:
    """Which companions guide the local fits, (c,): those whose error is not far above that of level 1.

    A coordinate that is mostly noise costs local fits more than a trend of its own is worth; the blend, which
    costs nothing, knows every companion.
    """
    own, others = (rows.loss_weights @ (values - rows.y) ** 2 for values in (first, beside))
    return np.asarray(others <= MOST_ERROR * own)


def _hint(scales: FloatArray, rows: Rows) -> FloatArray:
    """Level 1's scales as local learning starts from them; nearer to equal ones where rows are few to learn from."""
    return np.sqrt(scales) if is_small(len(rows), rows.X.shape[1]) else scales


def _ends(rows: Rows, settings: LevelSettings) -> tuple[float, float]:
    """What predictions stay between, from the responses of the rows."""
    low, high = prediction_bounds(settings.centers.bounds, rows.y, np.zeros(1), np.ones(1))
    return float(low[0]), float(high[0])


def _constant(rows: Rows) -> LinearModel:
    """The mean, as a line without a slope."""
    zeros = np.zeros(rows.X.shape[1])
    return LinearModel(Scaling(zeros, zeros), np.zeros((len(zeros), 1)), rows.y[0])
