"""Memory and work of a fit on two levels, known before it starts; what companions take is theirs to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skewridge.cells.fit import fit_bytes
from skewridge.cells.partition import GUIDED_CELL_SIZE, GUIDED_PARTITIONS, guided_cells
from skewridge.execution.context import current
from skewridge.ridge.learn_scales import BATCHES, N_STEPS, batch_rows

FEWEST_ROWS, FEWEST_OUTSIDE = 13, 10  # for two levels: distinct rows, and those outside an outer fold
GUIDING_ROWS = 200_000  # that level 1 is fitted to at most
N_KERNELS = 2  # of the local fits, by default
N_OUTER_FOLDS = 5
OUTER_STEPS = 60  # of learning in an outer fold: the mean over folds is what counts
SMALL_ROWS, SMALL_ROWS_A_COLUMN = 3000, 50  # below either, learned scales overfit unseen by leave-one-out
MATRICES = 8  # of a batch, while scales are learned
COPIES = 8  # of the rows' forms: both forms, scaled, sorted, and as matrices of blocks


@dataclass(frozen=True)
class LevelSize:
    """All that memory of a fit depends on; partitions and cells that are None are those of so many rows.

    ``n_groups`` are groups of rows that are left out together, 0 where rows have an order; None: every row is one.
    ``outer_folds`` is False for fits that are never repeated by outer folds. Of companions only their values count.
    """

    n_rows: int
    n_columns: int
    n_kernels: int = N_KERNELS
    n_partitions: int | None = None
    cell_size: int | None = None
    outer_folds: bool = True
    n_companions: int = 0
    n_groups: int | None = None

    @property
    def width(self) -> int:
        """Coordinates of the local fits: two forms a column, level 1, and every companion."""
        return 2 * self.n_columns + 1 + self.n_companions

    @property
    def n_fits(self) -> int:
        """Whole fits: one, and those of the outer folds where rows are few."""
        n_groups = self.n_rows if self.n_groups is None else self.n_groups
        return 1 + N_OUTER_FOLDS * (self.outer_folds and is_small(n_groups, self.n_columns))


def is_small(n_groups: int, n_columns: int) -> bool:
    """True if learned scales may overfit so few rows, or groups, unnoticed by leave-one-out."""
    return n_groups < max(SMALL_ROWS, SMALL_ROWS_A_COLUMN * n_columns)


def levels_bytes(size: LevelSize, n_threads: int = 1) -> float:
    """Bytes that a fit holds at its peak, the model that it makes included, its companions not.

    Held are copies of the rows' forms, the model, and for every kernel side by side a fit of cells and the matrices of
    a batch of learning. Outer folds hold this for every one side by side, and the rows outside of every fold.
    """
    partitions, cell_size = size.n_partitions or GUIDED_PARTITIONS, size.cell_size or GUIDED_CELL_SIZE
    model = bytes_per_row(replace(size, n_partitions=partitions))  # never less for more rows, copies or not
    learning = 8.0 * MATRICES * float(min(size.n_rows, max(BATCHES))) ** 2

    def fit(threads: int) -> float:
        side_by_side = min(size.n_kernels, threads)
        cells = fit_bytes(
            size.n_rows,
            size.width,
            n_threads=max(1, threads // side_by_side),
            n_partitions=partitions,
            cell_size=cell_size,
        )
        return 8.0 * COPIES * size.n_rows * size.width + side_by_side * (cells + learning) + size.n_rows * model

    if size.n_fits == 1:
        return fit(n_threads)
    outside = 8.0 * (N_OUTER_FOLDS - 1) * size.n_rows * size.n_columns
    return max(fit(n_threads), min(N_OUTER_FOLDS, n_threads) * fit(1) + outside)


def levels_flops(size: LevelSize) -> float:
    """Floating-point operations: cells, the learning of level 1 and of every local kernel, outer folds."""
    cell_size, n_partitions = guided_cells(size.n_rows)
    cell = float(min(size.n_rows, size.cell_size or cell_size))
    batch = float(min(size.n_rows, batch_rows(size.n_rows, size.width)))
    cells = size.n_kernels * (size.n_partitions or n_partitions) * size.n_rows * cell**2 * 2 / 3
    n_steps = N_STEPS if size.n_fits == 1 else OUTER_STEPS * (size.n_fits - 1)
    return size.n_fits * cells + (size.n_kernels + 1) * n_steps * 2.0 * batch**3


def bytes_per_row(size: LevelSize) -> float:
    """Bytes of a model, and of its file, for every distinct row: features, a number and a coefficient a partition."""
    return size.n_kernels * 8.0 * (size.width + 2 * (size.n_partitions or guided_cells(size.n_rows)[1]))


def require_memory(size: LevelSize) -> None:
    """Refuse a fit that the memory does not hold, with figures, before it starts."""
    n_threads = current().n_threads
    largest = current().budget.largest(lambda n: levels_bytes(replace(size, n_rows=n), n_threads), size.n_rows)
    current().budget.require(
        levels_bytes(size, n_threads),
        f"A fit to {size.n_rows:,} rows and {size.n_columns:,} columns needs {{need}}",
        f"Fit {largest:,} of the rows, take fewer threads, raise memory_limit, or use AdaptiveKernelRidge, which "
        "reads rows in chunks and keeps its centres only.",
    )
