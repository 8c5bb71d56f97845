"""Exact kernel ridge regression in the cells of a few random partitions, and the leave-one-out of their average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_real
from skewridge.cells.model import Cells
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS, random_partitions, rows_of_cells
from skewridge.execution.context import on_threads, run
from skewridge.execution.progress import stage
from skewridge.kernels import BANDWIDTH_FREE, Kernel, check_kernel_name, loops
from skewridge.linalg.cholesky import (
    NotPositiveDefinite,
    add_gram,
    inverse_factor,
    inverse_solve,
    lower_square,
    squared_columns,
)
from skewridge.response.grouping import share_groups
from skewridge.ridge.leave_one_out import errors_by_group
from skewridge.ridge.local import Workspace

SPLITS = (0.42, 0.45, 0.48, 0.52, 0.55, 0.58)  # of a node's rows, on one side of a split
EPS = float(np.finfo(np.float64).eps)
RAISE = 10.0  # what the ridge of a singular cell is multiplied by
MOST_RIDGE = 1e6  # times the largest diagonal: a matrix that is singular even so holds nan or inf


@dataclass(frozen=True)
class CellSettings:
    """How cells are made and solved: G = k + q diag(trend) q' + ridge diag(1 / f); the bandwidth is 1."""

    kernel: str = "laplacian"
    ridge: float = 0.01
    trend: float | FloatArray = 1.0  # or one for every column of q
    seed: int = 0
    n_partitions: int = N_PARTITIONS
    cell_size: int = CELL_SIZE

    def __post_init__(self) -> None:
        check_cell_kernel(self.kernel)
        check_real("ridge", self.ridge, 0, open_low=True)
        for trend in np.ravel(self.trend).tolist():
            check_real("trend", trend, 0)


@dataclass(frozen=True)
class CellSolution:
    """One cell, f(x) = mean + slope' q(x) + sum_i coef_i k(x, z_i), and its leave-one-out values; coef is (n, p)."""

    coef: FloatArray
    mean: FloatArray
    slope: FloatArray
    left_out: FloatArray
    ridge: float


class CellsFit(NamedTuple):
    """A fitted model, its predictions of every row by fits without it, (N, p), and the ridge of every cell, (C,)."""

    model: Cells
    left_out: FloatArray
    ridges: FloatArray


def fit_cells(
    Z: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    q: FloatArray | None = None,
    *,
    settings: CellSettings,
    groups: IntArray | None = None,
) -> CellsFit:
    """Fit every cell, and predict every row by fits without it, or without its group; cells, scales and q are given.

    Parameters
    ----------
    Z : (N, D) array of scaled features of distinct rows in canonical order, at least two
    Y, frequencies : (N, p) and (N,) arrays, responses and how often each row occurs
    q : (N, k) array of cross-fitted first estimates for the trends, or None for no trend
    groups : (N,) array, rows that are left out together; None: every row on its own

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.random.default_rng(0).random((500, 2)) * 3
    >>> Y = np.sin(Z).sum(axis=1, keepdims=True)
    >>> settings = CellSettings("matern32", ridge=1e-4, cell_size=200)
    >>> fit = fit_cells(Z, Y, np.ones(500), settings=settings)
    >>> bool(np.mean((fit.left_out - Y) ** 2) < 1e-3 * Y.var())
    True
    """
    _check_rows(Z, Y, frequencies, q)
    kernel = Kernel(check_cell_kernel(settings.kernel), bandwidth=1.0)
    how = {"seed": settings.seed, "cell_size": settings.cell_size}
    partitions = random_partitions(Z, n_partitions=settings.n_partitions, **how)
    cells = partitions.cells_of(Z)
    rows = rows_of_cells(cells, partitions.n_cells, **how)
    workspace = Workspace()

    def solve(cell: int) -> CellSolution:
        own = rows[cell]
        return solve_cell(
            *(kernel, Z[own], Y[own], frequencies[own], None if q is None else q[own]),
            ridge=settings.ridge,
            trend=settings.trend,
            groups=None if groups is None else groups[own],
            workspace=workspace,
        )

    with on_threads(), stage("cells"):
        solutions = list(run(solve, range(partitions.n_cells)))
    model = Cells(
        kernel=kernel,
        partitions=partitions,
        points=np.ascontiguousarray(Z, dtype=np.float64),
        rows=rows,
        coef=np.ascontiguousarray(np.concatenate([s.coef for s in solutions]).T),
        means=np.array([s.mean for s in solutions]),
        slopes=np.array([s.slope for s in solutions]),
    )
    left_out = _average_left_out(model, solutions, cells, Z, q)
    if groups is not None:  # where no cell knows another group: the mean of all others
        unknown = np.isnan(left_out).any(axis=1)
        for group in np.unique(groups[unknown]):
            own = groups == group
            left_out[own & unknown] = np.average(Y[~own], axis=0, weights=frequencies[~own])
    return CellsFit(model, left_out, np.array([s.ridge for s in solutions]))


def solve_cell(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    q: FloatArray | None = None,
    *,
    ridge: float,
    trend: float | FloatArray = 0.0,
    groups: IntArray | None = None,
    workspace: Workspace | None = None,
) -> CellSolution:
    """Solve G a = y - mean, 1'a = 0, and leave every row, or every group, out once.

    With G^-1 = L'L the mean is 1'G^-1 y / 1'G^-1 1, and P = G^-1 - G^-1 1 1'G^-1 / 1'G^-1 1 has the left-out errors
    a_i / P_ii; of a group B they are P_BB^-1 a_B.
    """
    columns = np.empty((0, len(Z))) if q is None else np.ascontiguousarray(q.T)
    middle = np.array([np.average(column, weights=frequencies) for column in columns])
    centred, trends = columns - middle[:, None], np.broadcast_to(trend, middle.shape)
    inverse, raised = _factorise(kernel, Z, centred.T, trends, ridge / frequencies, workspace or Workspace())
    offset = np.average(Y, axis=0, weights=frequencies)
    right = np.ones((Y.shape[1] + 1, len(Z)))
    right[:-1] = (Y - offset).T
    inverse_solve(inverse, right)
    ones, total = right[-1], right[-1].sum()
    mean = right[:-1].sum(axis=1) / total
    coef = np.ascontiguousarray((right[:-1] - np.outer(mean, ones)).T)
    products = np.array([row @ coef for row in centred])  # row by row: one more of them changes no bit of the others
    slope = trends[:, None] * products.reshape(len(centred), coef.shape[1])
    errors = _left_out_errors(inverse, ones, coef, groups)
    return CellSolution(coef, mean + offset - middle @ slope, slope, Y - errors, ridge * raised)


def fit_bytes(
    n_rows: int,
    n_features: int,
    n_outputs: int = 1,
    *,
    n_threads: int = 1,
    n_partitions: int = N_PARTITIONS,
    cell_size: int = CELL_SIZE,
) -> float:
    """Bytes that a fit holds at its peak beside the rows it was given.

    While trees grow: three copies of the rows. While cells are solved: three arrays of indices and three of
    coefficients for every partition, and for every thread the matrix of a cell and three copies of its rows.

    Examples
    --------
    >>> fit_bytes(15_000, 33) / 1e6
    19.6656
    """
    cell = min(n_rows, cell_size)
    n_partitions = n_partitions if n_rows > cell_size else 1
    solving = 3.0 * n_rows * n_partitions * (1 + n_outputs) + 2.0 * n_rows * n_outputs
    threads = n_threads * cell * (cell + 3.0 * n_features + 6.0 * (n_outputs + 1))
    return 8.0 * (max(3.0 * n_rows * n_features, n_rows * n_features + threads) + solving)


def check_cell_kernel(name: str) -> str:
    """Return the kernel's own name, or raise for one that makes no sense in cells."""
    name = check_kernel_name(name)
    if name in BANDWIDTH_FREE:
        raise ValueError(
            f"kernel must decay with distance for cells; got {name!r}, which has no bandwidth, so "
            "that scales of features do not make it local. Use 'laplacian' or 'matern32'."
        )
    return name


def _average_left_out(
    model: Cells, solutions: list[CellSolution], cells: IntArray, Z: FloatArray, q: FloatArray | None
) -> FloatArray:
    """The mean over partitions of the cells' leave-one-out values, (N, p).

    A row that its cell was not fitted to is predicted by it as any new row. Cells that hold nothing but the row's group
    say nothing; nan where no cell says anything.
    """
    total = np.zeros((len(Z), len(model.coef)))
    fitted, silent = np.zeros(cells.shape, dtype=bool), np.zeros(len(Z), dtype=np.int64)
    for cell, solution in enumerate(solutions):
        own, unknown = model.rows[cell], bool(np.isnan(solution.left_out).any())
        total[own] += 0.0 if unknown else solution.left_out
        silent[own] += unknown
        fitted[own] |= cells[own] == cell
    for column, known in zip(cells.T, fitted.T, strict=True):
        out = np.flatnonzero(~known)
        if len(out):
            total[out] += model.predict_in(column[out, None], Z[out], None if q is None else q[out])[:, 0]
    count = (cells.shape[1] - silent)[:, None]
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _left_out_errors(inverse: FloatArray, ones: FloatArray, coef: FloatArray, groups: IntArray | None) -> FloatArray:
    """Errors of rows, or of groups, left out, (n, p), from G's inverse factor, which is overwritten, and G^-1 1."""
    total = ones.sum()
    if groups is None or not share_groups(groups):
        diagonal = squared_columns(inverse)
        precision = np.maximum(diagonal - ones**2 / total, EPS * diagonal)
        return np.asarray(coef / precision[:, None])
    if np.all(groups == groups[0]):
        return np.full_like(coef, np.nan)
    P = np.empty_like(inverse)
    loops().project_out_mean(lower_square(inverse), ones, float(total), P)
    return errors_by_group(P, coef, groups)


def _factorise(
    kernel: Kernel, Z: FloatArray, q: FloatArray, trends: FloatArray, ridge: FloatArray, workspace: Workspace
) -> tuple[FloatArray, float]:
    """The inverse Cholesky factor of G, and how many times the ridge had to be raised for it to exist."""
    raised = 1.0
    while True:
        matrix = kernel.gram_lower(Z, workspace.square(len(Z)))
        add_gram(matrix, q, trends)
        diagonal = matrix.reshape(-1)[:: len(Z) + 1]
        largest = float(diagonal.max())
        diagonal += raised * ridge
        try:
            inverses = inverse_factor(matrix).diagonal()
            if np.isfinite(inverses).all() and EPS * largest * inverses.max() ** 2 < 1.0:  # regular beyond rounding
                return matrix, raised
        except NotPositiveDefinite:
            pass
        raised *= RAISE
        if not raised * ridge.max() <= MOST_RIDGE * max(largest, 1.0):
            raise np.linalg.LinAlgError(
                f"A cell of {len(Z):,} rows cannot be solved with any ridge: its kernel values are "
                "not finite. Look for nan, inf or huge numbers among the scaled features."
            )


def _check_rows(Z: FloatArray, Y: FloatArray, frequencies: FloatArray, q: FloatArray | None) -> None:
    n, shapes = len(Z), {"Y": Y.shape, "frequencies": frequencies.shape, "q": None if q is None else q.shape}
    if n < 2:
        raise ValueError(f"Cells need at least 2 distinct rows to leave one out; got {n}.")
    fits = Y.shape[:1] == frequencies.shape == (n,) and Y.ndim == 2
    if not fits or (q is not None and (q.ndim != 2 or len(q) != n)):
        raise ValueError(f"Y (n, p), frequencies (n,), q (n, k) must have the {n} rows; got {shapes}.")
