"""The choice before a fit: scales and bandwidth by leave-one-out, then centres, adaptive share and penalty by folds.

Scales are learned first, on the sample of rows that a few numbers of centres and adaptive shares are then
cross-validated on, along the penalties; the least risk wins. CenterTuning describes what was tried. How many centres
the memory holds, on how many threads and by which solver, is known before any work. Which rows become centres,
``CandidateRows.draw`` of ``response/candidates.py`` draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.centers.cross_validation import Candidate, CrossValidator, CVScore, cross_validator, cv_work
from skewridge.centers.rows import FEWEST_ROWS, SAMPLE_ROWS, CenterSettings, TrainingRows
from skewridge.execution.chunked import Table, held_numbers, prefetch
from skewridge.execution.context import AHEAD, current, using
from skewridge.execution.memory import require_on_worker
from skewridge.execution.passes import BLOCK_ROWS, tree_depth
from skewridge.execution.progress import stage
from skewridge.features.forms import ScaledForms, learn_forms, scale_forms
from skewridge.features.scaling import Scaling, standard_scaling
from skewridge.kernels import BANDWIDTH_FREE, MEDIAN_ROWS, Kernel, median_bandwidth, penalty_rule
from skewridge.ridge.learn_scales import BATCHES, LearnedKernel, learn_scales
from skewridge.ridge.sample import Sample

CANDIDATES = ((150, 0.8), (300, 0.8), (300, 0.5), (600, 0.5), (600, 0.0))  # (centres, adapt)
GUIDE_CANDIDATES = (  # for a fit that others correct
    (300, 0.5),  # of so few rows that even 300 are too many, as many as there may be are the only candidate
    (600, 0.5),  # if better, the others are not tried
    (300, 0.8),
    (150, 0.8),
)
FEWEST_GUIDING = 150  # centres that are tried for it, however few the rows; else half as many as rows at most
SHARES = (0.8, 0.5, 0.0)  # adaptive shares that are tried where centres are given
MOST_GIVEN_WORK = 4e11  # operations of one candidate; more centres are chosen for by fewer
FEWEST_COMPARABLE = 400  # centres by which the choices for more are made at least
MOST_TRIED = max(m for m, _ in CANDIDATES)
FALLBACK = 50, 0.0  # centres and adapt where nothing can be chosen by
USUAL_STEPS, USUAL_PENALTY = 60.0, 1e-6  # of conjugate gradients
STEPS_GROWTH = 0.12  # smaller penalties take more steps
VALUE_WORK = 60.0  # operations of matrix products that take as long as one kernel value
TILE_VALUES = 64  # rows of kernel values that conjugate gradients hold a thread
BATCH_MATRICES = 6  # of the rows of one learning step

Transform = Scaling | ScaledForms


@dataclass(frozen=True)
class Choice:
    """The candidate to fit, its penalty, what rows go through before its kernel, and the scores that led to it.

    criterion is "cv"; "given" where folds had nothing to choose; "none" where rows were too few. Risks are shares of
    variance; unlearned says that learning had no usable step; learned are scales over all forms, or None.
    """

    candidate: Candidate
    penalty: float
    transform: Transform
    criterion: str
    scores: tuple[CVScore, ...] = ()
    best: CVScore | None = None
    variance: float = 1.0
    unlearned: bool = False
    learned: LearnedKernel | None = None


def choose_for(rows: TrainingRows, settings: CenterSettings) -> tuple[Choice, CenterSettings, int | None]:
    """Learn scales and choose; return settings and threads as so many rows and the memory allow, too.

    Threads are as many of those asked for as the memory allows for the most centres that are tried. Workers that one
    block's values, the centres' factor and a few sums do not fit in are refused.
    """
    (n_rows, d), n_distinct = rows.X.shape, len(rows.candidates)
    size = FitSize(n_rows, d, held_numbers(rows.X), not isinstance(rows.X, Table))
    if settings.n_centers is not None:
        settings = replace(settings, n_centers=min(settings.n_centers, n_distinct))
    most, context = most_centers(n_distinct, size, settings), current()
    m = settings.n_centers or min(MOST_TRIED, n_rows, most)
    if context.engine is not None:
        squares = 0.0 if settings.solver == "cg" else 6.0 * m**2
        what, remedy = f"{m:,} centres need", "lower n_centers, or use solver='cg'"
        require_on_worker(8.0 * (squares + 2 * BLOCK_ROWS * m), context.engine.task_bytes, what, remedy)
    direct = settings.solver != "cg" and holds_direct(m, size)
    planned = replace(settings, solver="direct" if direct else "cg")
    workers = max(1, context.budget.largest(lambda n: n_bytes(m, size, planned, n), context.n_threads))
    n_threads = context.n_jobs if workers == context.n_threads else workers
    with using(n_jobs=n_threads):
        return context.value("choice", lambda: choose(rows, settings, most)), settings, n_threads


def choose(rows: TrainingRows, settings: CenterSettings, most: int) -> Choice:
    """Learn scales and choose centres, so many at most, adaptive share, penalty and kernel."""
    prefetch(rows.X, rows.candidates.rows[:SAMPLE_ROWS])
    validator = cross_validator(rows, SAMPLE_ROWS, settings)
    sample, choices = validator.sample, list[tuple[CVScore, Choice]]()
    as_they_are, d = settings.scale_features is None, rows.X.shape[1]
    standard = Scaling(
        np.zeros(d), np.full(d, float(as_they_are))
    )  # where forms are learned: of constant columns alone
    if settings.scale_features == "standard" or (not as_they_are and set(settings.kernels) & set(BANDWIDTH_FREE)):
        standard = standard_scaling(rows.X, rows.weights)
    for name in settings.kernels:
        transform, bandwidth, learned = scale_kernel(name, sample, settings, rows.seed, standard)
        m, adapt = settings.n_centers or min(most, FALLBACK[0]), settings.adapt or FALLBACK[1]
        features = "learned" if isinstance(transform, ScaledForms) else "standard"
        rule = penalty_rule(name, float(rows.weights.sum()), rows.X.shape[1])
        choice = Choice(
            candidate=Candidate(name, m, adapt, bandwidth, features),
            penalty=rule if isinstance(settings.penalty, str) else float(settings.penalty),
            transform=transform,
            criterion="none" if settings.cross_validates else "given",
            variance=validator.variance,
            unlearned=rows.can_choose and learned is not None and len(learned.losses) > 0 and not learned.learned,
            learned=learned,
        )
        if not (rows.can_choose and settings.cross_validates):
            return choice
        penalties = None if settings.penalty == "auto" else np.array([choice.penalty])
        scaled = replace(validator, X=transform(validator.X), penalties=penalties)
        choices += [(score, choice) for score in _evaluate(scaled, choice.candidate, settings, most)]
    best, choice = min(choices, key=lambda pair: pair[0].risk)
    return replace(
        choice,
        candidate=replace(best.candidate, n_centers=settings.n_centers or best.candidate.n_centers),
        penalty=best.penalty,
        criterion="cv",
        scores=tuple(score for score, _ in choices),
        best=best,
    )


def scale_kernel(
    name: str, sample: Sample, settings: CenterSettings, seed: int, standard: Scaling
) -> tuple[Transform, float | None, LearnedKernel | None]:
    """What rows go through before a kernel, its bandwidth in units of that, and what was learned; both may be None.

    With ``scale_features="learn"`` every column enters in its forms, whose scales are learned. Otherwise rows go
    through ``standard``, and one common scale is learned: the bandwidth. Scales are 1 / median distance where rows are
    too few to learn from.
    """
    if name in BANDWIDTH_FREE:
        return standard, None, None
    n_steps = settings.n_steps if len(sample) >= FEWEST_ROWS else 0
    learn = partial(learn_scales, Kernel(name, bandwidth=1.0), seed=seed, n_steps=n_steps)
    transform: Transform = standard
    bandwidth, found, forms = settings.bandwidth, None, None
    if settings.scale_features == "learn":
        forms = settings.forms or learn_forms(sample.Z, sample.frequencies)
    if forms:
        found = settings.learned or learn(replace(sample, Z=forms(sample.Z)))
        transform, learned_bandwidth = scale_forms(forms, found.scales)
        bandwidth = learned_bandwidth if bandwidth == "auto" else bandwidth
    elif bandwidth == "auto":
        found = learn(replace(sample, Z=standard(sample.Z)), common_scale=True)
        bandwidth = 1.0 / found.scales[0]
    if bandwidth == "median":
        bandwidth = median_bandwidth(transform(sample.Z[:MEDIAN_ROWS]), name, seed)
    return transform, float(bandwidth), found


def _evaluate(
    validator: CrossValidator, candidate: Candidate, settings: CenterSettings, most: int
) -> tuple[CVScore, ...]:
    """The scores of the candidates that are tried with a kernel, whose own is given."""
    n_rows = len(validator.X)
    outside = n_rows - int(np.bincount(validator.candidates.folds).max())
    steps, scores = candidates_to_try(settings, n_rows, outside, most), list[CVScore]()
    for m, adapt in steps:
        if settings.guides and len(scores) > 1:
            before, last = scores[-2:]
            if last.candidate.n_centers > before.candidate.n_centers and last.risk < before.risk:
                break
        with stage("choosing centres", 0.4 / len(steps)):
            scores.append(validator(replace(candidate, n_centers=m, adapt=adapt)))
    return tuple(scores)


def candidates_to_try(
    settings: CenterSettings, n_rows: int, n_outside: int, most: int
) -> tuple[tuple[int, float], ...]:
    """Return the numbers of centres and the adaptive shares to try on so many rows, ``n_outside`` a fold.

    No more centres than ``most``; of candidates that draw all rows outside a fold, only one.

    Examples
    --------
    >>> candidates_to_try(CenterSettings(), 10_000, 8_000, most=10_000)
    ((150, 0.8), (300, 0.8), (300, 0.5), (600, 0.5), (600, 0.0))
    >>> candidates_to_try(CenterSettings(), 200, 160, most=200)
    ((150, 0.8), (200, 0.8))
    >>> candidates_to_try(CenterSettings(n_centers=50), 10_000, 8_000, most=10_000)
    ((50, 0.8), (50, 0.5), (50, 0.0))
    """
    steps = list(CANDIDATES)
    if settings.guides:
        most = min(most, max(FEWEST_GUIDING, n_outside // 2))
        steps = list(GUIDE_CANDIDATES[:1] if most < GUIDE_CANDIDATES[0][0] else GUIDE_CANDIDATES)
    if settings.n_centers:
        steps = [(comparable_size(n_rows, settings.n_centers), share) for share in SHARES]
    if settings.adapt is not None:
        steps = [(m, settings.adapt) for m in dict.fromkeys(m for m, _ in steps)]
    found: dict[tuple[int, float | None], tuple[int, float]] = {}
    for m, share in steps:
        drawn = min(m, most, n_outside)
        found.setdefault((drawn, share if drawn < n_outside else None), (min(m, most), share))
    return tuple(found.values())


def comparable_size(n_rows: int, n_centers: int) -> int:
    """The number of centres that choices for so many are made by: as many, if affordable."""
    if cv_work(n_rows, 1.25 * n_centers) <= MOST_GIVEN_WORK:
        return n_centers
    most = FEWEST_COMPARABLE
    while 2 * most < n_centers and cv_work(n_rows, 2.5 * most) <= MOST_GIVEN_WORK:
        most *= 2
    return most


@dataclass(frozen=True)
class CenterTuning:
    """How centres, bandwidth and penalty were chosen.

    Attributes
    ----------
    criterion : "cv", with centres drawn inside the folds; "given" where folds had nothing to
        choose, "none" where fewer than 10 distinct rows or a constant y left nothing to choose by
    scoring : what learning and choosing aimed at
    chosen : a dict with kernel, n_centers, adapt, bandwidth, features ("standard", also where they
        are taken as they are, or "learned"), penalty and risk; the risk is the squared error of
        rows outside the fit over the variance of y
    penalty : the chosen penalty
    dominant, influence : rows that dominate the fit, the culprit first, and by how many typical
        residuals each moves the fitted values in all; not looked for where local fits correct it
    tried : a list of dicts like ``chosen``, in the order tried
    penalties, values, margins : (P,) arrays, the chosen candidate's risk along the penalties and
        its standard error between folds
    at_edge : ("penalty",) where the largest penalty was chosen, else ()
    n_fits : what choosing cost, in fits with the chosen number of centres to its rows
    cost : in mean squared error, of another scoring; see :class:`~skewridge.nodes.tuning.Tuning`
    """

    criterion: str
    scoring: str
    chosen: dict[str, Any]
    penalty: float
    dominant: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    influence: FloatArray = field(default_factory=lambda: np.empty(0))
    tried: list[dict[str, Any]] = field(default_factory=list)
    penalties: FloatArray = field(default_factory=lambda: np.empty(0))
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    margins: FloatArray = field(default_factory=lambda: np.empty(0))
    at_edge: tuple[str, ...] = ()
    n_fits: float = 0.0
    cost: dict[str, float] | None = None


def describe(choice: Choice, n_centers: int, rows: TrainingRows, scoring: str) -> CenterTuning:
    """Return what was tried and chosen, in the units of y, for rows of which so many became centres."""
    chosen = {**vars(choice.candidate), "penalty": choice.penalty}
    tuning, best = CenterTuning(choice.criterion, scoring, chosen, choice.penalty), choice.best
    if best is None:
        return tuning
    plain, cost = float(best.plain.mean(axis=0)[best.place]), None
    if scoring != "mse":  # the price against the best of all candidates, and the bias
        least = min(float(score.plain.mean(axis=0).min()) for score in choice.scores)
        scale = float(choice.variance * rows.units[0] ** 2)
        bias = float(best.biases.mean(axis=0)[best.place]) * float(np.sqrt(scale))
        cost = {"mse": plain * scale, "best_mse": least * scale, "ratio": plain / least, "bias": bias}
    one_fit = cv_work(min(len(rows.candidates), SAMPLE_ROWS), n_centers, n_folds=0)
    tried = ({**vars(score.candidate), "penalty": score.penalty, "risk": score.risk} for score in choice.scores)
    return replace(
        tuning,
        chosen={**chosen, "risk": best.risk},
        tried=list(tried),
        penalties=best.penalties,
        values=best.risks,
        margins=best.errors.std(axis=0, ddof=1) / np.sqrt(len(best.errors)),
        at_edge=("penalty",) if 0 < best.place == len(best.risks) - 1 else (),
        n_fits=sum(score.work for score in choice.scores) / one_fit,
        cost=cost,
    )


# Bytes and solvers of a fit on centres, before any work


@dataclass(frozen=True)
class FitSize:
    """N rows of d columns, the numbers that they take in memory, and whether all are: then their forms are as well."""

    n_rows: int
    n_features: int
    held: int
    in_memory: bool = True

    @property
    def row_numbers(self) -> float:
        """Numbers held for rows: copies, forms (two a column), the sample and its forms, and a few a row."""
        copies = 5 if self.in_memory else 3
        sample = 4 * self.n_features * min(self.n_rows, SAMPLE_ROWS)
        return copies * self.held + sample + 8 * self.n_rows


def solver_of(settings: CenterSettings, size: FitSize, n_centers: int, penalty: float) -> str:
    """The solver that was given, or the faster one; "cg" where "direct" needs too much memory."""
    if settings.solver != "auto":
        return settings.solver
    n, d = size.n_rows, size.n_features
    steps = USUAL_STEPS * (USUAL_PENALTY / penalty) ** STEPS_GROWTH
    direct = n * n_centers * (2.0 * n_centers + VALUE_WORK + 2 * d)
    cg = steps * n * n_centers * (VALUE_WORK + 2 * d) + 2.0 * n_centers**3
    return "direct" if holds_direct(n_centers, size) and direct <= cg else "cg"


def holds_direct(n_centers: int, size: FitSize) -> bool:
    """True if "direct" has the memory it needs, on one thread: n_jobs must not change results."""
    return fit_bytes("direct", n_centers, size, 1) <= current().budget.allowed


def fit_bytes(solver: str, n_centers: int, size: FitSize, workers: int) -> float:
    """Peak bytes of a fit with so many centres on so many threads."""
    if solver == "direct":
        squares = 7 + tree_depth(size.n_rows) + AHEAD * workers
        held = float(squares) * n_centers**2 + workers * 2 * BLOCK_ROWS * n_centers
    else:
        held = 3.2 * n_centers**2 + workers * (TILE_VALUES + AHEAD) * n_centers
    return 8.0 * (held + size.row_numbers)


def n_bytes(n_centers: int, size: FitSize, settings: CenterSettings, workers: int) -> float:
    """Peak bytes of choosing and fitting with so many centres, by the solver that needs less."""
    n_sample = min(size.n_rows, SAMPLE_ROWS)
    rank = 1.25 * comparable_size(n_sample, n_centers) if settings.cross_validates else 0.0
    squares = (9 + AHEAD * workers) * rank**2 + workers * 2 * BLOCK_ROWS * rank
    batch = BATCH_MATRICES * min(n_sample, max(BATCHES)) ** 2 if settings.chooses else 0
    choosing = 8.0 * (max(squares, batch) + size.row_numbers)
    solvers = ("direct", "cg") if settings.solver == "auto" else (settings.solver,)
    return max(choosing, min(fit_bytes(solver, n_centers, size, workers) for solver in solvers))


def most_centers(n_distinct: int, size: FitSize, settings: CenterSettings) -> int:
    """The most centres that the memory holds on one thread: n_jobs must not change results."""
    need = partial(n_bytes, size=size, settings=settings, workers=1)
    budget, given = current().budget, settings.n_centers or 0
    what = f"A fit to {size.n_rows:,} rows needs {{need}} at least"
    budget.require(need(1), what, "Raise memory_limit or pass fewer rows.")
    most = budget.largest(need, n_distinct)
    budget.require(need(given), f"{given:,} centres need {{need}}", f"What would fit: n_centers={most}.")
    return most
