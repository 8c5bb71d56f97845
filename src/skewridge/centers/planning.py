"""Bytes, threads and solvers of a fit on centres, before any work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewridge.centers.ladder import most_tried, spoken_for
from skewridge.centers.rows import SAMPLE_ROWS, TrainingRows
from skewridge.centers.settings import CenterSettings
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
    """The size of a fit: N rows, d columns, p outputs, and the numbers that rows take in memory.

    Where rows are in memory their forms, at most two a column, are as well.
    """

    n_rows: int
    n_features: int
    n_outputs: int
    held: int
    in_memory: bool = True

    @property
    def row_numbers(self) -> float:
        """Numbers held for rows: copies, forms, the sample and its forms, and a few a row."""
        copies = 5 if self.in_memory else 3
        sample = 4 * self.n_features * min(self.n_rows, SAMPLE_ROWS)
        return copies * self.held + sample + 8 * self.n_rows


def size_of(rows: TrainingRows) -> FitSize:
    """The size of a fit to some rows."""
    n_rows, n_features = rows.X.shape
    return FitSize(n_rows, n_features, rows.Y.shape[1], held_numbers(rows.X), is_held(rows.X))


def solver_of(
    settings: CenterSettings,
    size: FitSize,
    n_centers: int,
    penalty: float,
) -> str:
    """The solver that was given, or the faster one; "cg" where "direct" needs too much memory."""
    if settings.solver != "auto":
        return settings.solver
    n, d = size.n_rows, size.n_features
    steps = cg_steps(penalty)
    direct = n * n_centers * (2.0 * n_centers + VALUE_WORK + 2 * d)
    cg = steps * n * n_centers * (VALUE_WORK + 2 * d) + 2.0 * n_centers**3
    return "direct" if holds_direct(n_centers, size) and direct <= cg else "cg"


def cg_steps(penalty: float) -> float:
    """The steps that conjugate gradients usually take."""
    return USUAL_STEPS * (USUAL_PENALTY / penalty) ** STEPS_GROWTH


def holds_direct(n_centers: int, size: FitSize) -> bool:
    """True if "direct" has the memory it needs, on one thread: n_jobs must not change results."""
    return current().budget.holds(fit_bytes("direct", n_centers, size, 1))


def fit_bytes(solver: str, n_centers: int, size: FitSize, workers: int) -> float:
    """Peak bytes of a fit with so many centres on so many threads."""
    if solver == "direct":
        squares = 7 + tree_depth(size.n_rows) + AHEAD * workers
        held = float(squares) * n_centers**2 + workers * 2 * BLOCK_ROWS * n_centers
    else:
        tiles = TILE_VALUES + AHEAD * size.n_outputs
        held = 3.2 * n_centers**2 + workers * tiles * n_centers
    return 8.0 * (held + size.row_numbers)


def n_bytes(n_centers: int, size: FitSize, settings: CenterSettings, workers: int) -> float:
    """Peak bytes of choosing and fitting with so many centres, by the solver that needs less."""
    solvers = ("direct", "cg") if settings.solver == "auto" else (settings.solver,)
    fitting = min(fit_bytes(solver, n_centers, size, workers) for solver in solvers)
    return max(_choosing_bytes(n_centers, size, settings, workers), fitting)


def _choosing_bytes(n_centers: int, size: FitSize, settings: CenterSettings, workers: int) -> float:
    n_sample = min(size.n_rows, SAMPLE_ROWS)
    rank = 1.25 * spoken_for(n_sample, n_centers) if settings.cross_validates else 0.0
    squares = (9 + AHEAD * workers) * rank**2 + workers * 2 * BLOCK_ROWS * rank
    batch = BATCH_MATRICES * min(n_sample, max(BATCHES)) ** 2 if settings.chooses else 0
    return 8.0 * (max(squares, batch) + size.row_numbers)


def most_centers(n_distinct: int, size: FitSize, settings: CenterSettings) -> int:
    """The most centres that the memory holds on one thread: n_jobs must not change results."""

    def need(n_centers: int) -> float:
        return n_bytes(n_centers, size, settings, 1)

    what = f"A fit to {size.n_rows:,} rows needs {{need}} at least"
    current().budget.require(need(1), what, "Raise memory_limit or pass fewer rows.")
    most = current().budget.largest(need, n_distinct)
    given = settings.n_centers or 0
    what = f"{given:,} centres need {{need}}"
    current().budget.require(need(given), what, f"What would fit: n_centers={most}.")
    return most


def affordable_threads(size: FitSize, settings: CenterSettings, most: int) -> int | None:
    """As many of the threads asked for as the memory allows for the most centres that are tried."""
    m = settings.n_centers or most_tried(size.n_rows, most)
    _check_workers(m, settings)
    direct = settings.solver != "cg" and holds_direct(m, size)
    planned = replace(settings, solver="direct" if direct else "cg")
    workers = current().budget.threads(lambda n: n_bytes(m, size, planned, n), current().n_threads)
    return current().n_jobs if workers == current().n_threads else workers


def _check_workers(n_centers: int, settings: CenterSettings) -> None:
    """Refuse workers that one block's values, the centres' factor and a few sums do not fit in."""
    squares = 0.0 if settings.solver == "cg" else 6.0 * n_centers**2
    needed = 8.0 * (squares + 2 * BLOCK_ROWS * n_centers)
    engine = current().engine
    if engine is not None:
        what = f"{n_centers:,} centres need"
        remedy = "lower n_centers, or use solver='cg'"
        require_on_worker(needed, engine.task_bytes, what, remedy)
