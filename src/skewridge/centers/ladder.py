"""The choice before a fit: a short ladder of centres and adaptive shares, and the penalty.

Scales are learned first (:mod:`~skewridge.centers.scales`), on the same sample of rows; then every
step of the ladder is cross-validated along the penalties, and the least risk wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray
from skewridge.centers.cross_validation import (
    Candidate,
    CrossValidator,
    CVScore,
    FoldedRows,
    cv_work,
    fold_rows,
)
from skewridge.centers.rows import SAMPLE_ROWS, TrainingRows
from skewridge.centers.scales import ScaledKernel, Transform, scale_kernel
from skewridge.centers.settings import CenterSettings
from skewridge.execution.chunked import prefetch
from skewridge.execution.progress import stage
from skewridge.features.scaling import Scaling, standard_scaling
from skewridge.kernels import BANDWIDTH_FREE, penalty_rule
from skewridge.ridge.learn_scales import LearnedKernel
from skewridge.ridge.sample import Sample

LADDER = ((150, 0.8), (300, 0.8), (300, 0.5), (600, 0.5), (600, 0.0))  # (centres, adapt)
GUIDES_LADDER = (
    (300, 0.5),  # of so few rows that even 300 are too many, as many as there may be are the only rung
    (600, 0.5),  # if better, the others are not tried
    (300, 0.8),
    (150, 0.8),
)  # for a fit that others correct
FEWEST_GUIDING = 150  # centres that are tried for it, however few the rows; else half as many as rows at most
SHARES = (0.8, 0.5, 0.0)  # adaptive shares that are tried where centres are given
MOST_GIVEN_WORK = 4e11  # operations of one candidate; more centres are chosen for by fewer
FEWEST_SPOKEN_FOR = 400  # centres by which the choices for more are made at least
FALLBACK = 50, 0.0  # centres and adapt where nothing can be chosen by


@dataclass(frozen=True)
class Choice:
    """The candidate to fit, its penalty, what rows go through, and the scores that led to it.

    Attributes
    ----------
    candidate : Candidate
    penalty : float
    transform : Scaling or ScaledForms
    features : "learned" or "standard"
    criterion : "cv"; "given" where folds had nothing to choose; "none" where rows were too few
    scores : the scores of all candidates, by how features were scaled; none if not "cv"
    best : CVScore of the choice, or None
    scale : (p,) array, the variances that risks are shares of
    unlearned : True if learning had no usable step
    learned : LearnedKernel over all forms, or None
    """

    candidate: Candidate
    penalty: float
    transform: Transform
    features: str
    criterion: str
    scores: tuple[tuple[str, CVScore], ...] = ()
    best: CVScore | None = None
    scale: FloatArray | None = None
    unlearned: bool = False
    learned: LearnedKernel | None = None


def ladder(
    n_centers: int | None,
    adapt: float | None,
    most: int,
    n_outside: int,
    rungs: Sequence[tuple[int, float]] = LADDER,
) -> tuple[tuple[int, float], ...]:
    """Return the numbers of centres and the adaptive shares to try.

    No more centres than ``most``; of candidates that draw all rows outside a fold, which are
    ``n_outside``, only one.

    Examples
    --------
    >>> ladder(None, None, most=10_000, n_outside=8_000)
    ((150, 0.8), (300, 0.8), (300, 0.5), (600, 0.5), (600, 0.0))
    >>> ladder(None, None, most=200, n_outside=160)
    ((150, 0.8), (200, 0.8))
    >>> ladder(50, None, most=10_000, n_outside=8_000)
    ((50, 0.8), (50, 0.5), (50, 0.0))
    """
    steps = list(rungs)
    if n_centers is not None:
        steps = [(n_centers, share) for share in SHARES]
    if adapt is not None:
        steps = [(m, adapt) for m in dict.fromkeys(m for m, _ in steps)]
    found: dict[tuple[int, float | None], tuple[int, float]] = {}
    for m, share in steps:
        drawn = min(m, most, n_outside)
        way = drawn, share if drawn < n_outside else None
        found.setdefault(way, (min(m, most), share))
    return tuple(found.values())


def ladder_steps(
    settings: CenterSettings,
    n_rows: int,
    n_outside: int,
    most: int,
) -> tuple[tuple[int, float], ...]:
    """The ladder of some settings, on so many rows, of which so many are outside a fold."""
    given = settings.n_centers and spoken_for(n_rows, settings.n_centers)
    if not settings.guides:
        return ladder(given, settings.adapt, most, n_outside)
    most = min(most, max(FEWEST_GUIDING, n_outside // 2))
    few = most < GUIDES_LADDER[0][0]
    return ladder(given, settings.adapt, most, n_outside, GUIDES_LADDER[:1] if few else GUIDES_LADDER)


def spoken_for(n_rows: int, n_centers: int) -> int:
    """The number of centres that choices for so many are made by: as many, if affordable."""
    if cv_work(n_rows, 1.25 * n_centers) <= MOST_GIVEN_WORK:
        return n_centers
    most = FEWEST_SPOKEN_FOR
    while 2 * most < n_centers and cv_work(n_rows, 2.5 * most) <= MOST_GIVEN_WORK:
        most *= 2
    return most


def most_tried(n_rows: int, most: int) -> int:
    """The most centres that the ladder tries, of those that the memory holds."""
    return min(max(m for m, _ in LADDER), n_rows, most)


def choose(rows: TrainingRows, settings: CenterSettings, most: int) -> Choice:
    """Learn scales and choose centres, adaptive share, penalty and kernel."""
    prefetch(rows.X, rows.candidates.rows[:SAMPLE_ROWS])
    folded = fold_rows(rows, SAMPLE_ROWS)
    sample, standard = learning_sample(folded), _standard(rows, settings)
    kernels = [scale_kernel(name, sample, settings, rows.seed, standard) for name in settings.kernels]
    if not (rows.can_choose and settings.cross_validates):
        return _without_folds(rows, settings, kernels[0], most)
    scores = []
    for kernel in kernels:
        found = _climb(kernel, rows, folded, settings, most=most)
        scores += [(kernel, score) for score in found]
    kernel, best = min(scores, key=lambda pair: pair[1].risk)
    return Choice(
        candidate=replace(best.candidate, n_centers=settings.n_centers or best.candidate.n_centers),
        penalty=best.penalty,
        transform=kernel.transform,
        features=kernel.features,
        criterion="cv",
        scores=tuple((kernel.features, score) for kernel, score in scores),
        best=best,
        scale=folded.scale,
        unlearned=kernel.failed,
        learned=kernel.learned,
    )


def _climb(
    kernel: ScaledKernel,
    rows: TrainingRows,
    folded: FoldedRows,
    settings: CenterSettings,
    *,
    most: int,
) -> list[CVScore]:
    """The scores of the ladder's candidates with a kernel."""
    penalties = None
    if settings.penalty != "auto":
        penalties = np.array([_penalty(settings, rows, kernel.name)])
    scaled = replace(folded, X=kernel.transform(folded.X))
    validate = CrossValidator(scaled, settings.degree, penalties, settings.fit_intercept)
    outside = len(folded) - int(np.bincount(folded.candidates.folds).max())
    scores, steps = list[CVScore](), ladder_steps(settings, len(folded), outside, most)
    for m, adapt in steps:
        if settings.guides and _more_helps(scores):
            break
        with stage("choosing centres", 0.4 / len(steps)):
            scores.append(validate(Candidate(kernel.name, m, adapt, kernel.bandwidth)))
    return scores


def _more_helps(scores: Sequence[CVScore]) -> bool:
    """True if the last of the scores is better than the one before, which has fewer centres."""
    if len(scores) < 2 or scores[-1].candidate.n_centers <= scores[-2].candidate.n_centers:
        return False
    return scores[-1].risk < scores[-2].risk


def _without_folds(
    rows: TrainingRows,
    settings: CenterSettings,
    kernel: ScaledKernel,
    most: int,
) -> Choice:
    """The settings that were given, and plain ones for those that were not."""
    m, adapt = settings.n_centers or min(most, FALLBACK[0]), settings.adapt or FALLBACK[1]
    return Choice(
        candidate=Candidate(kernel.name, m, adapt, kernel.bandwidth),
        penalty=_penalty(settings, rows, kernel.name),
        transform=kernel.transform,
        features=kernel.features,
        criterion="none" if settings.cross_validates else "given",
        unlearned=kernel.failed and rows.can_choose,
        learned=kernel.learned,
    )


def learning_sample(folded: FoldedRows) -> Sample:
    """The rows of the folds in their canonical order."""
    places, counted = folded.places, folded.scored or folded.plain
    return Sample(
        Z=folded.X[places],
        Y=folded.plain.Y[places],
        frequencies=folded.plain.weights[places],
        loss_weights=counted.weights[places],
        groups=folded.candidates.groups,
    )


def _standard(rows: TrainingRows, settings: CenterSettings) -> Scaling:
    """The transform of rows where scales of forms are not learned; for no kernel: nothing passes."""
    d = rows.X.shape[1]
    if settings.scale_features is None:
        return Scaling(np.zeros(d), np.ones(d))
    if settings.scale_features == "learn" and not set(settings.kernels) & set(BANDWIDTH_FREE):
        return Scaling(np.zeros(d), np.zeros(d))  # seen only where all columns are constant
    return standard_scaling(rows.X, rows.weights)


def _penalty(settings: CenterSettings, rows: TrainingRows, kernel: str) -> float:
    """The penalty that was given, or the rule's."""
    if not isinstance(settings.penalty, str):
        return float(settings.penalty)
    return penalty_rule(kernel, float(rows.weights.sum()), rows.X.shape[1])
