"""The work of a fit on two levels, announced before it starts; companions know their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewridge.cells.learned import local_stages
from skewridge.centers.cross_fit import CROSS_FITTING, N_PARTS
from skewridge.centers.planning import FitSize
from skewridge.centers.stages import CenterWork, center_stages, cross_fit_parts
from skewridge.engine.memory import MACHINE
from skewridge.engine.passes import BLOCK_ROWS
from skewridge.engine.progress import Stage, speedup
from skewridge.levels.members import GUIDING_ROWS, LevelSettings
from skewridge.levels.planning import N_OUTER_FOLDS, OUTER_STEPS
from skewridge.ridge.learning import LEARNING, LEARNING_LOCALLY
from skewridge.ridge.work import values_work

OUTER_FOLDS = "outer folds"


@dataclass(frozen=True)
class LevelWork:
    """All that the work of a fit on two levels depends on.

    Attributes
    ----------
    n_rows, n_columns : int, distinct rows
    settings : LevelSettings
    n_threads : int
    scored : bool, True if rows count differently
    grouped : bool, True if rows are left out by groups or in an order: level 1 then sees all of them
    """

    n_rows: int
    n_columns: int
    settings: LevelSettings
    n_threads: int
    scored: bool
    grouped: bool = False

    @property
    def n_seen(self) -> int:
        """Rows that level 1 is fitted to."""
        return self.n_rows if self.grouped else min(self.n_rows, GUIDING_ROWS)


def level_stages(work: LevelWork, outer: bool) -> list[Stage]:
    """One fit that learns; or those of outer folds, and one that takes what they have learned."""
    if not outer:
        return _fit_stages(work)
    outside = work.n_rows - work.n_rows // N_OUTER_FOLDS
    settings = work.settings.with_steps(OUTER_STEPS)
    fold = _fit_stages(replace(work, n_rows=outside, n_threads=1, settings=settings))
    parts = [operations for stage in fold for operations in stage.parts]
    folds = Stage(OUTER_FOLDS, parts * N_OUTER_FOLDS, speedup(N_OUTER_FOLDS, work.n_threads))
    learned = LEARNING, LEARNING_LOCALLY
    return [folds, *(stage for stage in _fit_stages(work) if stage.label not in learned)]


def _fit_stages(work: LevelWork) -> list[Stage]:
    """Level 1, its cross-fit, and the local fits side by side."""
    centers = _center_work(work)
    crossing = speedup(work.n_rows / BLOCK_ROWS, work.n_threads)
    kernels = work.settings.kernels
    width = 2 * work.n_columns + 1 + len(work.settings.companions)
    beside = speedup(len(kernels), work.n_threads)
    inner = max(1, work.n_threads // len(kernels))
    stages = local_stages(work.n_rows, width, work.settings.local(kernels[0], work.n_rows), inner)
    return [
        *center_stages(centers),
        Stage(CROSS_FITTING, [*cross_fit_parts(centers, N_PARTS), *_others(work, centers)], crossing),
        *(Stage(own.label, [*own.parts] * len(kernels), own.speedup * beside) for own in stages),
    ]


def _others(work: LevelWork, centers: CenterWork) -> list[float]:
    """Level 1's values at rows that it is not fitted to."""
    n_others = work.n_rows - work.n_seen
    return [values_work(n_others, N_PARTS * centers.n_centers, centers.n_features)] if n_others else []


def _center_work(work: LevelWork) -> CenterWork:
    n, d = work.n_seen, work.n_columns
    return CenterWork(
        size=FitSize(n, d, 1, n * d),
        n_distinct=n,
        settings=replace(work.settings.centers, guides=True),
        most=n,
        n_threads=work.n_threads,
        scored=work.scored,
        budget=MACHINE,
    )
