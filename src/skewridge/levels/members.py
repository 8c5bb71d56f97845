"""The members of a blend: a global fit, local fits that it guides, ridge regression, companions.

g      level 1, on centres that the response chose; it sees the whole table
h_j    companions, any other regressors beside level 1
f_k    level 2, one for every local kernel: cells with g and h as coordinates and as trends
b      ridge regression, for lines and for few rows
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from skewridge._typing import FloatArray
from skewridge.cells.learned import LocalFit, LocalSettings, fit_local
from skewridge.centers.cross_fit import cross_fit, cross_fit_folds
from skewridge.centers.global_fit import GlobalFit, fit_global
from skewridge.centers.settings import CenterSettings
from skewridge.engine.job import Job, run
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.rank_forms import learn_forms
from skewridge.features.scaling import Scaling, is_constant, moments, prediction_bounds
from skewridge.levels.companions import Companion, CompanionFits, fit_companions, no_companions
from skewridge.levels.model import GlobalModel, Members, TwoLevels, columns_of
from skewridge.ridge.learning import LearnedKernel
from skewridge.ridge.linear import LinearModel, fit_linear

LINEAR_GAIN = 0.01  # of the error, that a smaller penalty of ridge regression must bring
FEWEST_ROWS = 10  # distinct ones; fewer are fitted by ridge regression alone


@dataclass(frozen=True)
class LevelSettings:
    """How the two levels are to be fitted.

    Attributes
    ----------
    kernels : names of the local kernels, each a member of its own
    n_partitions, cell_size : int, of the local fits
    centers : CenterSettings, of the global fit
    seed : int, the key of every draw
    scoring : str, the name of what the rows' scores aim at
    companions : regressors beside level 1
    """

    kernels: tuple[str, ...] = ("matern32", "laplacian")
    n_partitions: int = LocalSettings.n_partitions
    cell_size: int = LocalSettings.cell_size
    centers: CenterSettings = field(default_factory=CenterSettings)
    seed: int = 0
    scoring: str = "mse"
    companions: tuple[Companion, ...] = ()

    @property
    def n_members(self) -> int:
        """Members of the blend: level 1, local kernels, ridge regression, companions."""
        return len(self.kernels) + 2 + len(self.companions)

    def local(self, kernel: str) -> LocalSettings:
        """The settings of one local fit."""
        return LocalSettings(kernel, self.n_partitions, self.cell_size, self.seed)


@dataclass(frozen=True)
class Rows:
    """Distinct rows of one response.

    Attributes
    ----------
    X : (n, d) array
    y : (n, 1) array, mean responses
    frequencies : (n,) array
    scores : (n,) array, how much a row's squared error counts; None where all count alike
    """

    X: FloatArray
    y: FloatArray
    frequencies: FloatArray
    scores: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def loss_weights(self) -> FloatArray:
        """Frequency times score, (n,)."""
        return self.frequencies if self.scores is None else self.frequencies * self.scores

    def some(self, places: FloatArray) -> Rows:
        """Rows by their places, or by a mask."""
        scores = None if self.scores is None else self.scores[places]
        return replace(
            self,
            X=self.X[places],
            y=self.y[places],
            frequencies=self.frequencies[places],
            scores=scores,
        )


@dataclass(frozen=True)
class MembersFit:
    """Members and what is known about them.

    Attributes
    ----------
    members : Members
    honest : list of (n, 1) arrays: every member's predictions by fits without the row
    level_one : GlobalFit or None, with its ladder
    learned : the local fits' scales, ridges and trends
    """

    members: Members
    honest: list[FloatArray]
    level_one: GlobalFit | None = None
    learned: tuple[LearnedKernel, ...] = ()


def has_levels(rows: Rows) -> bool:
    """True if there are enough distinct rows, and responses that differ, for two levels."""
    return len(rows) >= FEWEST_ROWS and not is_constant(rows.y)


def fit_beside(rows: Rows, settings: LevelSettings, job: Job) -> CompanionFits:
    """Fit the companions, cross-fitted on level 1's folds; none where there will be no levels."""
    if not settings.companions or not has_levels(rows):
        return no_companions(len(rows))
    folds = cross_fit_folds(rows.X, rows.y, rows.frequencies, settings.centers, seed=settings.seed, job=job)
    return fit_companions(settings.companions, rows.X, rows.y[:, 0], rows.frequencies, folds)


def fit_members(
    rows: Rows,
    settings: LevelSettings,
    job: Job,
    budget: Budget = MACHINE,
    beside: FloatArray | None = None,
) -> MembersFit:
    """Fit every member to all rows; level 1 first, since the local fits see it.

    ``beside``, (n, c), are cross-fitted values of companions; None where there are none.
    """
    if len(rows) < 2:  # all rows are at one x
        return MembersFit(Members(None, _constant(rows)), [rows.y])
    linear = fit_linear(rows.X, rows.y, rows.frequencies, scores=rows.scores, least_gain=LINEAR_GAIN)
    alone = Members(None, linear.model, *_ends(rows, settings))
    if not has_levels(rows):
        return MembersFit(alone, alone.within([linear.left_out]))
    level_one = _fit_level_one(rows, settings, job, budget)
    honest = cross_fit(
        level_one,
        rows.X,
        rows.y,
        rows.frequencies,
        settings.centers,
        seed=settings.seed,
        budget=budget,
        job=job,
    )
    mean, spread = moments(rows.y[:, 0], rows.frequencies)
    forms = learn_forms(rows.X, rows.frequencies)
    beside = alone.bounded(np.empty((len(rows), 0)) if beside is None else beside)
    guide = (np.hstack([honest, beside]) - mean) / spread
    locals_ = _fit_locals(rows, forms(rows.X), guide, settings, job)
    models = tuple(fit.model for fit in locals_)
    levels = TwoLevels(_as_model(level_one), forms, models, mean, spread)
    others = [*(fit.left_out for fit in locals_), linear.left_out, *columns_of(beside)]
    left_out = alone.within([honest, *others])
    learned = tuple(fit.learned for fit in locals_)
    return MembersFit(replace(alone, levels=levels), left_out, level_one, learned)


def _fit_level_one(rows: Rows, settings: LevelSettings, job: Job, budget: Budget) -> GlobalFit:
    return fit_global(
        rows.X,
        rows.y,
        rows.frequencies,
        settings.centers,
        scores=rows.scores,
        scoring=settings.scoring,
        seed=settings.seed,
        budget=budget,
        job=job,
    )


def _as_model(fit: GlobalFit) -> GlobalModel:
    model = fit.model
    return GlobalModel(
        transform=fit.transform,
        centers=model.basis.centers,
        coef=model.dual,
        kernel=model.basis.kernel,
        intercepts=model.intercepts,
        low=model.low,
        high=model.high,
        means=fit.means,
        units=fit.units,
    )


def _fit_locals(rows: Rows, forms: FloatArray, guide: FloatArray, settings: LevelSettings, job: Job) -> list[LocalFit]:
    """One local fit for every kernel, side by side; threads that are left over solve cells."""
    inner = replace(job.here, n_jobs=max(1, job.here.n_threads // len(settings.kernels)), verbose=0)

    def fit(kernel: str) -> LocalFit:
        return fit_local(
            forms,
            rows.y,
            rows.frequencies,
            guide,
            settings=settings.local(kernel),
            weights=rows.loss_weights,
            job=inner,
        )

    return list(run(fit, settings.kernels, job.here, "local fits"))


def _ends(rows: Rows, settings: LevelSettings) -> tuple[float, float]:
    """What predictions stay between, from the responses of the rows."""
    low, high = prediction_bounds(settings.centers.bounds, rows.y, np.zeros(1), np.ones(1))
    return float(low[0]), float(high[0])


def _constant(rows: Rows) -> LinearModel:
    """The mean, as a line without a slope."""
    zeros = np.zeros(rows.X.shape[1])
    return LinearModel(Scaling(zeros, zeros), np.zeros((len(zeros), 1)), rows.y[0])
