"""Bytes, threads and solvers of a fit on centres, before any work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewridge.centers.choose import comparable_size, most_tried
from skewridge.centers.rows import SAMPLE_ROWS, CenterSettings, TrainingRows
from skewridge.execution.chunked import held_numbers, is_held
from skewridge.execution.context import AHEAD, current
from skewridge.execution.memory import require_on_worker
from skewridge.execution.passes import BLOCK_ROWS, tree_depth
from skewridge.ridge.learn_scales import BATCHES

USUAL_STEPS, USUAL_PENALTY = 60.0, 1e-6  # of conjugate gradients
STEPS_GROWTH = 0.12  # smaller penalties take more steps
VALUE_WORK = 60.0  # operations of matrix products that take as long as one kernel value
TILE_VALUES = 64  # rows of kernel values that conjugate gradients hold a thread
BATCH_MATRICES = 6  # of the rows of one learning step


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


def size_of(rows: TrainingRows) -> FitSize:
    """The size of a fit to some rows."""
    n_rows, d = rows.X.shape
    return FitSize(n_rows, d, held_numbers(rows.X), is_held(rows.X))


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
    return current().budget.holds(fit_bytes("direct", n_centers, size, 1))


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

    def need(n_centers: int) -> float:
        return n_bytes(n_centers, size, settings, 1)

    budget, given = current().budget, settings.n_centers or 0
    what = f"A fit to {size.n_rows:,} rows needs {{need}} at least"
    budget.require(need(1), what, "Raise memory_limit or pass fewer rows.")
    most = budget.largest(need, n_distinct)
    budget.require(need(given), f"{given:,} centres need {{need}}", f"What would fit: n_centers={most}.")
    return most


def affordable_threads(size: FitSize, settings: CenterSettings, most: int) -> int | None:
    """As many of the threads asked for as the memory allows for the most centres that are tried.

    Workers that one block's values, the centres' factor and a few sums do not fit in are refused.
    """
    run, m = current(), settings.n_centers or most_tried(size.n_rows, most)
    if run.engine is not None:
        squares = 0.0 if settings.solver == "cg" else 6.0 * m**2
        what, remedy = f"{m:,} centres need", "lower n_centers, or use solver='cg'"
        require_on_worker(8.0 * (squares + 2 * BLOCK_ROWS * m), run.engine.task_bytes, what, remedy)
    direct = settings.solver != "cg" and holds_direct(m, size)
    planned = replace(settings, solver="direct" if direct else "cg")
    workers = run.budget.threads(lambda n: n_bytes(m, size, planned, n), run.n_threads)
    return run.n_jobs if workers == run.n_threads else workers
