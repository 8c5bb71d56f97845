"""Memory of a fit on two levels, known before it starts."""

from __future__ import annotations

from skewridge.cells.fit import fit_bytes
from skewridge.cells.model import saved_bytes_per_row
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS
from skewridge.engine.job import Job
from skewridge.engine.memory import Budget
from skewridge.ridge.learning import BATCH_SIZE, N_STEPS

N_KERNELS = 2  # of the local fits, by default
MATRICES = 8  # of a batch, while scales are learned
COPIES = 8  # of the rows' forms: both forms, scaled, sorted, and as matrices of blocks


def levels_bytes(n_rows: int, n_columns: int, n_kernels: int, n_threads: int = 1) -> float:
    """Bytes that a fit holds at its peak, the model that it makes included."""
    width = 2 * n_columns + 1
    copies = 8.0 * COPIES * n_rows * width
    side_by_side = min(n_kernels, n_threads)
    cells = fit_bytes(n_rows, width, n_threads=max(1, n_threads // side_by_side))
    learning = 8.0 * MATRICES * float(min(n_rows, BATCH_SIZE)) ** 2
    return copies + side_by_side * (cells + learning) + n_rows * bytes_per_row(n_columns, n_kernels)


def levels_flops(n_rows: int, n_kernels: int) -> float:
    """Floating-point operations of a fit: its cells, and the learning of level 1 and of every local kernel."""
    cells = n_kernels * N_PARTITIONS * n_rows * float(min(n_rows, CELL_SIZE)) ** 2 * 2 / 3
    return cells + (n_kernels + 1) * N_STEPS * 2.0 * float(min(n_rows, BATCH_SIZE)) ** 3


def bytes_per_row(n_columns: int, n_kernels: int) -> float:
    """Bytes of a model, and of its file, for every distinct training row."""
    return n_kernels * saved_bytes_per_row(2 * n_columns + 1)


def require_memory(n_rows: int, n_columns: int, n_kernels: int, budget: Budget, job: Job) -> None:
    """Refuse a fit that the memory does not hold, with figures, before it starts."""
    need = levels_bytes(n_rows, n_columns, n_kernels, job.here.n_threads)
    largest = budget.largest(lambda n: levels_bytes(n, n_columns, n_kernels, job.here.n_threads), n_rows)
    budget.require(
        need,
        f"Two levels of {n_rows:,} rows and {n_columns:,} columns need {{need}}",
        f"Fit {largest:,} of the rows, raise memory_limit, or use AdaptiveKernelRidge, which keeps its centres only.",
    )
