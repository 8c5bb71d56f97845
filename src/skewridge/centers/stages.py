"""The work of a fit on centres, announced before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skewridge.centers.cross_validation import CHOOSING
from skewridge.centers.ladder import ladder_steps
from skewridge.centers.planning import USUAL_PENALTY, FitSize, cg_steps, solver_of
from skewridge.centers.rows import FEWEST_ROWS, SAMPLE_ROWS
from skewridge.centers.settings import CenterSettings
from skewridge.execution.job import Job
from skewridge.execution.memory import Budget
from skewridge.execution.passes import BLOCK_ROWS
from skewridge.execution.progress import Stage, speedup
from skewridge.response.sampling import N_FOLDS
from skewridge.ridge.learning import LEARNING, learning_work
from skewridge.ridge.work import FITTING, folds_work, sums_work, values_work

UNION = 1.25  # centres of all folds together, over those of one


@dataclass(frozen=True)
class CenterWork:
    """All that the work of a fit on centres depends on.

    Attributes
    ----------
    size : FitSize of the rows
    n_distinct : int, rows that differ
    settings : CenterSettings
    most : int, centres that the memory holds
    n_threads : int
    scored : bool, True if rows count differently
    budget : Budget
    """

    size: FitSize
    n_distinct: int
    settings: CenterSettings
    most: int
    n_threads: int
    scored: bool
    budget: Budget

    @property
    def n_features(self) -> int:
        """Features that the kernel sees at most: two forms of a column where scales are learned."""
        return self.size.n_features * (2 if self.settings.scale_features == "learn" else 1)

    @property
    def steps(self) -> Sequence[tuple[int, float]]:
        """The ladder, as it will be climbed."""
        n = min(self.n_distinct, SAMPLE_ROWS)
        return ladder_steps(self.settings, n, n - n // N_FOLDS, self.most)

    @property
    def n_centers(self) -> int:
        """Centres of the fit: those given, or the most that are tried."""
        return self.settings.n_centers or max(m for m, _ in self.steps)


def threads_of(job: Job) -> int:
    """Threads of this process, or of the engine."""
    return job.n_threads if job.engine is None else job.engine.n_threads


def center_stages(work: CenterWork) -> list[Stage]:
    """Learning, choosing and fitting; without the last for level 1 of two, of which halves are fitted."""
    blocks = work.size.n_rows / BLOCK_ROWS
    choosing = speedup(max(N_FOLDS, min(blocks, SAMPLE_ROWS / BLOCK_ROWS)), work.n_threads)
    stages = [Stage(LEARNING, _learning_parts(work)), Stage(CHOOSING, _choosing_parts(work), choosing)]
    if work.settings.guides:
        return stages
    return [*stages, Stage(FITTING, _fitting_parts(work), speedup(blocks, work.n_threads))]


def cross_fit_parts(work: CenterWork, n_parts: int) -> list[float]:
    """A fit without every part, and the values of all of them."""
    n, m, d = work.size.n_rows, work.n_centers, work.n_features
    outside = n * (n_parts - 1) / n_parts
    return [sums_work(outside, m, d)] * n_parts + [values_work(n, m, d)]


def _learning_parts(work: CenterWork) -> list[float]:
    settings, n = work.settings, min(work.n_distinct, SAMPLE_ROWS)
    if settings.learned is not None or n < FEWEST_ROWS:
        return []
    own = learning_work(n, work.n_features, n_steps=settings.n_steps)
    return [own for name in settings.kernels if settings.learns(name)]


def _choosing_parts(work: CenterWork) -> list[float]:
    settings, parts = work.settings, list[float]()
    if not settings.cross_validates or work.n_distinct < FEWEST_ROWS:
        return parts
    n = min(work.n_distinct, SAMPLE_ROWS)
    for m, _ in [step for _ in settings.kernels for step in work.steps]:
        rank = min(UNION * m, n)
        parts += [sums_work(n, rank, work.n_features)] * (1 + work.scored)
        parts += [folds_work(N_FOLDS, rank)]
    return parts


def _fitting_parts(work: CenterWork) -> list[float]:
    n, m, d = work.size.n_rows, work.n_centers, work.n_features
    fixed = work.settings.penalty
    penalty = USUAL_PENALTY if isinstance(fixed, str) else float(fixed)
    residuals = values_work(n, m, d)
    if solver_of(work.settings, work.size, m, penalty, work.budget) == "direct":
        return [sums_work(n, m, d), residuals]
    return [values_work(n, m, d)] * round(cg_steps(penalty)) + [residuals]
