"""The members of a blend: a global fit, local fits that it guides, and ridge regression.

g      level 1, on centres that the response chose; it sees the whole table
f_k    level 2, one for every local kernel: cells with g as a coordinate and as a trend
b      ridge regression, for lines and for few rows
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray
from skewridge.cells.learned import LocalFit, LocalModel, LocalSettings, fit_local
from skewridge.centers.cross_fit import cross_fit
from skewridge.centers.global_fit import GlobalFit, fit_global
from skewridge.centers.scales import Transform
from skewridge.centers.settings import CenterSettings
from skewridge.engine.job import Job, run
from skewridge.engine.memory import MACHINE, Budget
from skewridge.features.rank_forms import FeatureForms, learn_forms
from skewridge.features.scaling import Scaling, is_constant, moments, prediction_bounds
from skewridge.kernels import Kernel, Product
from skewridge.ridge.learning import LearnedKernel, average_kernel
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
    """

    kernels: tuple[str, ...] = ("matern32", "laplacian")
    n_partitions: int = LocalSettings.n_partitions
    cell_size: int = LocalSettings.cell_size
    centers: CenterSettings = field(default_factory=CenterSettings)
    seed: int = 0
    scoring: str = "mse"

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
class GlobalModel:
    """g(x) = clip(intercepts + sum_i coef_i k(transform x, centers_i)) * units + means: level 1, as it is saved.

    Attributes
    ----------
    transform : what rows go through first
    centers : (m, D) array of transformed rows
    coef : (p, m) array
    kernel : Kernel
    intercepts, low, high, means, units : (p,) arrays
    """

    transform: Transform
    centers: FloatArray
    coef: FloatArray
    kernel: Kernel
    intercepts: FloatArray
    low: FloatArray
    high: FloatArray
    means: FloatArray
    units: FloatArray

    @cached_property
    def product(self) -> Product:
        """x -> k(x, centers) @ coef', prepared once."""
        return self.kernel.product(self.centers, self.coef)

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict one block of rows, (n, p)."""
        values = self.product(self.transform(X)) + self.intercepts
        return np.clip(values, self.low, self.high) * self.units + self.means

    def __getstate__(self) -> dict[str, object]:
        """Pickle the fields, not the prepared product."""
        return {own.name: getattr(self, own.name) for own in fields(self)}


@dataclass(frozen=True)
class TwoLevels:
    """The global fit and the local fits that see it.

    Attributes
    ----------
    level_one : GlobalModel
    forms : FeatureForms, that local fits see
    locals : tuple of LocalModel
    mean, spread : float, the guide is (g - mean) / spread
    """

    level_one: GlobalModel
    forms: FeatureForms
    locals: tuple[LocalModel, ...]
    mean: float
    spread: float

    def predict(self, X: FloatArray) -> Iterator[FloatArray]:
        """Yield the members' predictions of one block of rows, each (n, 1)."""
        first = self.level_one.predict(X)
        forms, guide = self.forms(X), (first[:, 0] - self.mean) / self.spread
        yield first
        for model in self.locals:
            yield model.predict(forms, guide)


@dataclass(frozen=True)
class Members:
    """All members of a blend; without levels where there are too few rows for them.

    Attributes
    ----------
    levels : TwoLevels or None
    linear : LinearModel
    low, high : float, the bounds of every member's predictions: a line may go anywhere off the rows
    """

    levels: TwoLevels | None
    linear: LinearModel
    low: float = -np.inf
    high: float = np.inf

    def predict(self, X: FloatArray) -> list[FloatArray]:
        """Every member's predictions of one block of rows, (n, 1) each, in the order of the weights."""
        levels = [] if self.levels is None else list(self.levels.predict(X))
        return self.within([*levels, self.linear.predict(X)])

    def within(self, predictions: list[FloatArray]) -> list[FloatArray]:
        """Predictions clipped to the bounds."""
        return [np.clip(own, self.low, self.high) for own in predictions]


@dataclass(frozen=True)
class Learned:
    """Scales, ridges and trends of the global fit and of the local ones, over all forms.

    Attributes
    ----------
    level_one : LearnedKernel
    locals : tuple of LearnedKernel, whose last scale is the guide's
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
    level_one : GlobalFit or None, with its ladder
    learned : Learned or None
    """

    members: Members
    honest: list[FloatArray]
    level_one: GlobalFit | None = None
    learned: Learned | None = None


def fit_members(
    rows: Rows,
    settings: LevelSettings,
    job: Job,
    budget: Budget = MACHINE,
    *,
    forms: FeatureForms | None = None,
    learned: Learned | None = None,
) -> MembersFit:
    """Fit every member to all rows; level 1 first, since the local fits see it.

    Parameters
    ----------
    forms : FeatureForms of the columns; None: those of the rows
    learned : Learned over these forms, instead of learning
    """
    if len(rows) < 2:  # all rows are at one x
        return MembersFit(Members(None, _constant(rows)), [rows.y])
    linear = fit_linear(rows.X, rows.y, rows.frequencies, scores=rows.scores, least_gain=LINEAR_GAIN)
    alone = Members(None, linear.model, *_ends(rows, settings))
    if len(rows) < FEWEST_ROWS or is_constant(rows.y):
        return MembersFit(alone, alone.within([linear.left_out]))
    forms = forms or learn_forms(rows.X, rows.frequencies)
    level_one = _fit_level_one(rows, settings, forms, learned, job, budget)
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
    guide = (honest[:, 0] - mean) / spread
    locals_ = _fit_locals(rows, forms(rows.X), guide, settings, learned, job)
    models = tuple(fit.model for fit in locals_)
    levels = TwoLevels(_as_model(level_one), forms, models, mean, spread)
    left_out = alone.within([honest, *(fit.left_out for fit in locals_), linear.left_out])
    found = None
    if level_one.choice.learned is not None:
        found = Learned(level_one.choice.learned, tuple(fit.learned for fit in locals_))
    return MembersFit(replace(alone, levels=levels), left_out, level_one, found)


def _fit_level_one(
    rows: Rows,
    settings: LevelSettings,
    forms: FeatureForms,
    learned: Learned | None,
    job: Job,
    budget: Budget,
) -> GlobalFit:
    given = None if learned is None else learned.level_one
    return fit_global(
        rows.X,
        rows.y,
        rows.frequencies,
        replace(settings.centers, forms=forms, learned=given),
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


def _fit_locals(
    rows: Rows,
    forms: FloatArray,
    guide: FloatArray,
    settings: LevelSettings,
    learned: Learned | None,
    job: Job,
) -> list[LocalFit]:
    """One local fit for every kernel, side by side; threads that are left over solve cells."""
    inner = replace(job.here, n_jobs=max(1, job.here.n_threads // len(settings.kernels)), verbose=0)

    def fit(place: int) -> LocalFit:
        return fit_local(
            forms,
            rows.y,
            rows.frequencies,
            guide,
            settings=settings.local(settings.kernels[place]),
            weights=rows.loss_weights,
            learned=None if learned is None else learned.locals[place],
            job=inner,
        )

    return list(run(fit, range(len(settings.kernels)), job.here, "local fits"))


def _ends(rows: Rows, settings: LevelSettings) -> tuple[float, float]:
    """What predictions stay between, from the responses of the rows."""
    low, high = prediction_bounds(settings.centers.bounds, rows.y, np.zeros(1), np.ones(1))
    return float(low[0]), float(high[0])


def _constant(rows: Rows) -> LinearModel:
    """The mean, as a line without a slope."""
    zeros = np.zeros(rows.X.shape[1])
    return LinearModel(Scaling(zeros, zeros), np.zeros((len(zeros), 1)), rows.y[0])
