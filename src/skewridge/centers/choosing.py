"""What is to be chosen before a low-rank model is fitted: centres, bandwidth, penalty, feature scales, solver.

pools (what is sliced, folds) -> candidates judged -> the best, with standard or with learned features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skewridge._typing import FloatArray
from skewridge.centers.features import MOST_ROWS as LEARNING_ROWS
from skewridge.centers.features import Round, can_learn, learn_scales
from skewridge.centers.judging import Candidate, FoldedRows, Judge, Verdict, fold_rows
from skewridge.centers.pilot import FEWEST_ROWS, cross_fitted, within
from skewridge.centers.selection import FEWEST_CENTERS, Space, center_levels, climb, given_levels, search
from skewridge.engine.chunked import RowData, held_numbers, prefetch
from skewridge.engine.job import AHEAD, Job
from skewridge.engine.memory import Budget, require_on_worker
from skewridge.engine.passes import BLOCK_ROWS, tree_depth
from skewridge.kernels import BANDWIDTH_FREE
from skewridge.kernels.heuristics import MEDIAN_ROWS, median_bandwidth, penalty_rule
from skewridge.response.sampling import Pool, make_pool

LEARNING_MARGIN = 2.0  # standard errors by which learned scales must beat standard ones: they have seen the rows
USUAL_STEPS, USUAL_PENALTY, STEPS_GROWTH = 60.0, 1e-6, 0.12  # of conjugate gradients; smaller penalties take more
VALUE_WORK = 60.0  # operations of matrix products that take as long as one kernel value, its distance apart
TILE_VALUES = 64  # rows of kernel values that conjugate gradients hold a thread
SEARCH_ROWS = 50_000  # choices are made on so many rows at most


@dataclass(frozen=True)
class Wish:
    """What the user asked for; None is to be chosen."""

    n_centers: int | None
    adapt: float | None
    slices: object
    slice_on: str
    kernels: tuple[str, ...]
    bandwidth: float | str
    degree: int
    penalty: float | str
    fit_intercept: bool
    learns: bool = False
    solver: str = "auto"

    @property
    def chooses_bandwidth(self) -> bool:
        """Whether the bandwidth is to be searched."""
        return self.bandwidth == "auto"

    @property
    def chooses(self) -> bool:
        """Whether anything is to be chosen by the criterion."""
        given = self.n_centers is not None and self.adapt is not None and len(self.kernels) == 1
        fixed_bandwidth = not self.chooses_bandwidth or self.kernels[0] in BANDWIDTH_FREE
        fixed = given and fixed_bandwidth and self.penalty != "auto" and self.slice_on != "auto"
        return self.learns or not fixed

    def within(self, n_distinct: int) -> Wish:
        """The same with no more centres than there are distinct rows."""
        return self if self.n_centers is None else replace(self, n_centers=min(self.n_centers, n_distinct))


@dataclass(frozen=True)
class Rows:
    """The rows to fit.

    Scaled features and responses, (N, d) and (N, p); frequencies; features and responses as observed; how much squared
    errors count (None: all alike); the seed.
    """

    X: RowData
    Y: FloatArray
    weights: FloatArray
    observed_X: RowData
    observed_Y: FloatArray
    scores: FloatArray | None
    seed: int


@dataclass(frozen=True)
class Searched:
    """What a choice was made on, every verdict with whether its features were "standard" or "learned", and its cost."""

    rows: FoldedRows
    verdicts: tuple[tuple[str, Verdict], ...]
    flops: float


@dataclass(frozen=True)
class Chosen:
    """The candidate to fit, its penalty, whether it was to be chosen, and the verdicts that led to it, if any.

    ``multipliers`` of the features, (d,), are None where none were learned.
    """

    candidate: Candidate
    penalty: float
    wanted: bool
    verdict: Verdict | None = None
    searched: Searched | None = None
    multipliers: FloatArray | None = None


@dataclass(frozen=True)
class Searching:
    """A judge, the verdict that its search ended with, and the multipliers of the features that it was made with."""

    judge: Judge
    verdict: Verdict
    multipliers: FloatArray | None = None


def make_pools(rows: Rows, wish: Wish, job: Job) -> dict[str, Pool]:
    """What is sliced -> pool; a pilot estimate is made where it is asked for."""
    pool = make_pool(rows.observed_X, rows.observed_Y, rows.weights, wish.slices, rows.seed, job)
    if wish.slice_on == "response" or wish.adapt == 0:
        return {"response": pool}
    estimates = within(wish.slices, cross_fitted(rows.X, rows.observed_Y, pool, rows.seed, job))
    pilot = pool.sliced(estimates, wish.slices)
    return {"pilot": pilot} if wish.slice_on == "pilot" else {"response": pool, "pilot": pilot}


def choose(rows: Rows, pools: dict[str, Pool], wish: Wish, most: int, job: Job) -> Chosen:
    """Choose what is to be chosen, by cross-validation with centres drawn inside the folds."""
    pool = next(iter(pools.values()))
    if not wish.chooses or len(pool) < FEWEST_ROWS or not np.ptp(rows.Y, axis=0).any():
        return _without_choice(rows, pools, wish, most)
    prefetch(rows.X, pool.rows[:SEARCH_ROWS])
    folded = fold_rows(rows.X, rows.Y, rows.scores, pools, SEARCH_ROWS)
    given = None if wish.penalty == "auto" else {name: _penalty(wish, rows, name) for name in wish.kernels}
    judge = Judge(folded, wish.degree, given, wish.fit_intercept, job)
    standard = Searching(judge, search(_space(rows, pools, wish, len(folded), most), judge))
    learns = wish.learns and can_learn(wish.kernels, rows.X.shape[1])
    return _chosen(wish, standard, *(_learned(rows, pools, wish, most, standard) if learns else (None, ())))


def _learned(
    rows: Rows, pools: dict[str, Pool], wish: Wish, most: int, standard: Searching
) -> tuple[Searching | None, tuple[Judge, ...]]:
    """The search with learned scales, if they better the candidate that is best without, and all judges asked."""
    few = standard.judge.on(fold_rows(rows.X, rows.Y, rows.scores, pools, LEARNING_ROWS))
    rounds = learn_scales(few, standard.verdict.candidate, rows.seed)
    sides = [_as_learned(rows, pools, wish, most, standard, found) for found in rounds.values()]
    judges = few, *(side.judge for side, _ in sides)
    better = [(side, space) for side, space in sides if side.verdict.beats(standard.verdict, LEARNING_MARGIN)]
    if not better:
        return None, judges
    side, space = min(better, key=lambda pair: pair[0].verdict.risk)
    verdict = min(search(space, side.judge), side.verdict, key=lambda verdict: verdict.risk)
    return replace(side, verdict=verdict), judges


def _as_learned(
    rows: Rows, pools: dict[str, Pool], wish: Wish, most: int, standard: Searching, found: Round
) -> tuple[Searching, Space]:
    """The best candidate of the standard features with learned ones, bandwidth apart, and what else may be chosen."""
    X, multipliers = standard.judge.rows.X, found.multipliers
    if not isinstance(wish.bandwidth, str) and found.candidate.bandwidth is not None:
        multipliers = multipliers * (wish.bandwidth / found.candidate.bandwidth)  # what was tried is what is used
    judge = standard.judge.on(replace(standard.judge.rows, X=X * multipliers))
    space = _space(rows, pools, wish, len(X), most, multipliers)
    candidate = replace(standard.verdict.candidate, bandwidth=space.bandwidths[found.candidate.kernel])
    return Searching(judge, climb(space, judge, judge(candidate)), multipliers), space


def _chosen(wish: Wish, standard: Searching, learned: Searching | None, judges: tuple[Judge, ...]) -> Chosen:
    """Learned scales must earn their place as adaptive centres must."""
    tried = [("standard", verdict) for verdict in standard.judge.verdicts.values()]
    tried += [("learned", verdict) for judge in judges for verdict in judge.verdicts.values()]
    flops = standard.judge.flops + sum(judge.flops for judge in judges)
    searched = Searched(standard.judge.rows, tuple(tried), flops)
    best = learned if learned is not None and learned.verdict.beats(standard.verdict, LEARNING_MARGIN) else standard
    verdict = best.verdict
    candidate = replace(verdict.candidate, n_centers=wish.n_centers or verdict.candidate.n_centers)
    return Chosen(candidate, verdict.penalty, True, verdict, searched, best.multipliers)


def _space(
    rows: Rows,
    pools: dict[str, Pool],
    wish: Wish,
    n_searched: int,
    most: int,
    multipliers: FloatArray | float = 1.0,
) -> Space:
    levels = center_levels(n_searched, most) if wish.n_centers is None else given_levels(n_searched, wish.n_centers)
    bandwidths = {name: _bandwidth(wish, rows, next(iter(pools.values())), name, multipliers) for name in wish.kernels}
    return Space(
        levels, wish.adapt, wish.kernels, bandwidths, wish.chooses_bandwidth, tuple(pools), rows.scores is None
    )


def _without_choice(rows: Rows, pools: dict[str, Pool], wish: Wish, most: int) -> Chosen:
    name = wish.kernels[0]
    bandwidth = _bandwidth(wish, rows, next(iter(pools.values())), name)
    m = min(most, FEWEST_CENTERS) if wish.n_centers is None else wish.n_centers
    candidate = Candidate(name, m, wish.adapt or 0.0, bandwidth, next(iter(pools)))
    return Chosen(candidate, _penalty(wish, rows, name), wish.chooses)


def _bandwidth(wish: Wish, rows: Rows, pool: Pool, kernel: str, multipliers: FloatArray | float = 1.0) -> float | None:
    if kernel in BANDWIDTH_FREE:
        return None
    if not isinstance(wish.bandwidth, str):
        return wish.bandwidth
    return median_bandwidth(rows.X[pool.rows[:MEDIAN_ROWS]] * multipliers, kernel, rows.seed)


def _penalty(wish: Wish, rows: Rows, kernel: str) -> float:
    if not isinstance(wish.penalty, str):
        return wish.penalty
    return penalty_rule(kernel, float(rows.weights.sum()), rows.X.shape[1])


def solver_of(wish: Wish, rows: Rows, n_centers: int, penalty: float, budget: Budget) -> str:
    """The solver that was given, or the one that should be faster; "cg" where "direct" needs too much memory."""
    if wish.solver != "auto":
        return wish.solver
    n, d = rows.X.shape
    steps = USUAL_STEPS * (USUAL_PENALTY / penalty) ** STEPS_GROWTH
    direct = n * n_centers * (2.0 * n_centers + VALUE_WORK + 2 * d)
    cg = steps * n * n_centers * (VALUE_WORK + 2 * d) + 2.0 * n_centers**3
    return "direct" if holds_direct(n_centers, rows, budget) and direct <= cg else "cg"


def holds_direct(n_centers: int, rows: Rows, budget: Budget) -> bool:
    """Whether "direct" has the memory it needs, on one thread: results must not depend on n_jobs."""
    return budget.holds(fit_bytes("direct", n_centers, rows, 1))


def fit_bytes(solver: str, n_centers: int, rows: Rows, workers: int) -> float:
    """What a fit with so many centres holds at once, on so many threads."""
    if solver == "direct":
        held = (7 + tree_depth(len(rows.X)) + AHEAD * workers) * n_centers**2 + workers * 2 * BLOCK_ROWS * n_centers
    else:
        held = 3.2 * n_centers**2 + workers * (TILE_VALUES + AHEAD * rows.Y.shape[1]) * n_centers
    return 8.0 * (held + 3 * held_numbers(rows.X) + 8 * len(rows.X))


def n_bytes(n_centers: int, rows: Rows, wish: Wish, workers: int) -> float:
    """What choosing and fitting with so many centres holds at once, by the solver that holds less if any will do."""
    judged = 1.25 * max(given_levels(min(len(rows.X), SEARCH_ROWS), n_centers)) if wish.chooses else 0.0
    squares = (9 + AHEAD * workers) * judged**2 + workers * 2 * BLOCK_ROWS * judged
    choosing = 8.0 * (squares + 3 * held_numbers(rows.X) + 8 * len(rows.X))
    solvers = ("direct", "cg") if wish.solver == "auto" else (wish.solver,)
    return max(choosing, min(fit_bytes(solver, n_centers, rows, workers) for solver in solvers))


def most_centers(n_distinct: int, rows: Rows, wish: Wish, budget: Budget) -> int:
    """The most centres that the memory holds on one thread, by bisection: results must not depend on n_jobs."""

    def need(n_centers: int) -> float:
        return n_bytes(n_centers, rows, wish, 1)

    what = f"A fit to {len(rows.X):,} rows needs {{need}} at least"
    budget.require(need(1), what, "Raise memory_limit or pass fewer rows.")
    most = budget.largest(need, n_distinct)
    given = wish.n_centers or 0
    budget.require(need(given), f"{given:,} centres need {{need}}", f"What would fit: n_centers={most}.")
    return most


def affordable(job: Job, rows: Rows, wish: Wish, budget: Budget, most: int) -> Job:
    """The same job on as many threads as the memory holds for the centres given, or for the most that are tried."""
    m = wish.n_centers or max(center_levels(min(len(rows.X), SEARCH_ROWS), most))
    _check_workers(m, wish, job)
    direct = wish.solver != "cg" and holds_direct(m, rows, budget)
    planned = replace(wish, solver="direct" if direct else "cg")
    workers = budget.threads(lambda n: n_bytes(m, rows, planned, n), job.n_threads)
    return job if workers == job.n_threads else replace(job, n_jobs=workers)


def _check_workers(n_centers: int, wish: Wish, job: Job) -> None:
    """Refuse workers that one block's values, the centres' factor and a few sums do not fit in."""
    squares = 0.0 if wish.solver == "cg" else 6.0 * n_centers**2
    needed = 8.0 * (squares + 2 * BLOCK_ROWS * n_centers)
    if job.engine is not None:
        remedy = "lower n_centers, or use solver='cg'"
        require_on_worker(needed, job.engine.task_bytes, f"{n_centers:,} centres need", remedy)
