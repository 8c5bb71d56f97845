"""Fit the cells of a few random partitions, with the exact leave-one-out of their average."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_real
from skewridge.cells.model import Cells
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS, CellRows, random_partitions, rows_of_cells
from skewridge.cells.solve import CellSolution, solve_cell
from skewridge.engine.following import part
from skewridge.engine.job import Job, run
from skewridge.kernels import BANDWIDTH_FREE, Kernel, check_kernel_name
from skewridge.ridge.local import Workspace
from skewridge.ridge.work import cell_work

SOLVING = "cells"
SPLITS = (0.42, 0.45, 0.48, 0.52, 0.55, 0.58)  # of a node's rows, on one side of a split


@dataclass(frozen=True)
class CellSettings:
    """How cells are made and solved.

    Attributes
    ----------
    kernel : str, one that decays with distance; features come scaled, so the bandwidth is 1
    ridge : float, c of G = k + q diag(trend) q' + c diag(1 / f)
    trend : float, or (k,) array with one for every column of q; used where q is given
    seed : int, what the partitions are drawn by
    n_partitions, cell_size : int
    """

    kernel: str = "laplacian"
    ridge: float = 0.01
    trend: float | FloatArray = 1.0
    seed: int = 0
    n_partitions: int = N_PARTITIONS
    cell_size: int = CELL_SIZE

    def __post_init__(self) -> None:
        check_cell_kernel(self.kernel)
        check_real("ridge", self.ridge, 0, open_low=True)
        for trend in np.ravel(self.trend).tolist():
            check_real("trend", trend, 0)


@dataclass(frozen=True)
class CellsFit:
    """A fitted model and what is known about it.

    Attributes
    ----------
    model : Cells
    left_out : (N, p) array, the average over partitions at every row of fits without that row, or
        without its group; cells, scales and q are given
    ridges : (C,) array, the ridge of every cell; above the one asked for where that left the cell
        singular
    """

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
    job: Job | None = None,
) -> CellsFit:
    """Fit exact kernel ridge regression in every cell of a few random partitions of x.

    Parameters
    ----------
    Z : (N, D) array of scaled features of distinct rows in canonical order, at least two
    Y : (N, p) array
    frequencies : (N,) array, how often each row occurs
    q : (N, k) array of cross-fitted first estimates for the trends, or None for no trend
    settings : CellSettings
    groups : (N,) array, rows that are left out together; None: every row on its own
    job : Job, the threads that cells are solved on; the result does not depend on their number

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
    job, kernel = job or Job(), Kernel(check_cell_kernel(settings.kernel), bandwidth=1.0)
    partitions = random_partitions(
        Z, seed=settings.seed, n_partitions=settings.n_partitions, cell_size=settings.cell_size
    )
    cells = partitions.cells_of(Z)
    rows = rows_of_cells(
        cells,
        partitions.n_cells,
        seed=settings.seed,
        cell_size=settings.cell_size,
    )
    solve = _solver(kernel, Z, Y, frequencies, q, groups, rows, settings)
    with part(SOLVING, float(sum(cell_work(n, Z.shape[1]) for n in rows.sizes))):
        solutions = list(run(solve, range(partitions.n_cells), job.here, "cells"))
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
    if groups is not None:
        left_out = _otherwise_mean(left_out, Y, frequencies, groups)
    return CellsFit(model, left_out, np.array([s.ridge for s in solutions]))


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

    While trees grow: three copies of the rows. While cells are solved: three arrays of indices and
    three of coefficients for every partition, and for every thread the matrix of a cell and three
    copies of its rows.

    Examples
    --------
    >>> fit_bytes(15_000, 33) / 1e6
    19.6656
    """
    cell = min(n_rows, cell_size)
    n_partitions = n_partitions if n_rows > cell_size else 1
    growing = 3.0 * n_rows * n_features
    solving = 3.0 * n_rows * n_partitions * (1 + n_outputs) + 2.0 * n_rows * n_outputs
    threads = n_threads * cell * (cell + 3.0 * n_features + 6.0 * (n_outputs + 1))
    return 8.0 * (max(growing, n_rows * n_features + threads) + solving)


def cells_work(
    n_rows: int,
    n_features: int,
    n_partitions: int = N_PARTITIONS,
    cell_size: int = CELL_SIZE,
) -> float:
    """Operations of solving all cells, before they are known: nodes split at the usual quantiles.

    Examples
    --------
    >>> cells_work(1000, 2) == cell_work(1000, 2)
    True
    >>> bool(4 < cells_work(2000, 2) / (2 * cell_work(1000, 2)) < 4.2)
    True
    """
    if n_rows <= cell_size:
        return cell_work(n_rows, n_features)
    nodes, total = {float(n_rows): 1.0}, 0.0
    while nodes:
        below: dict[float, float] = {}
        for node, count in nodes.items():
            for size in (round(node * share, 3) for share in SPLITS):
                each = 2.0 * count / len(SPLITS)
                if size <= cell_size:
                    total += each * cell_work(size, n_features)
                else:
                    below[size] = below.get(size, 0.0) + each
        nodes = below
    return n_partitions * total


def check_cell_kernel(name: str) -> str:
    """Return the kernel's own name, or raise for one that makes no sense in cells."""
    name = check_kernel_name(name)
    if name in BANDWIDTH_FREE:
        raise ValueError(
            f"kernel must decay with distance for cells; got {name!r}, which has no bandwidth, so "
            "that scales of features do not make it local. Use 'laplacian' or 'matern32'."
        )
    return name


def _solver(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    q: FloatArray | None,
    groups: IntArray | None,
    rows: CellRows,
    settings: CellSettings,
) -> Callable[[int], CellSolution]:
    """The task of a thread: the number of a cell -> its solution."""
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

    return solve


def _average_left_out(
    model: Cells,
    solutions: list[CellSolution],
    cells: IntArray,
    Z: FloatArray,
    q: FloatArray | None,
) -> FloatArray:
    """The mean over partitions of the cells' leave-one-out values, (N, p).

    A row that its cell was not fitted to is predicted by it as any new row. Cells that hold nothing
    but the row's group say nothing; nan where no cell says anything.
    """
    total = np.zeros((len(Z), len(model.coef)))
    seen, silent = np.zeros(len(Z), dtype=np.int64), np.zeros(len(Z), dtype=np.int64)
    for cell, solution in enumerate(solutions):
        own, unknown = model.rows[cell], bool(np.isnan(solution.left_out).any())
        total[own] += 0.0 if unknown else solution.left_out
        silent[own] += unknown
        seen[own] += 1
    for column in cells.T if (seen < cells.shape[1]).any() else []:
        out = _not_fitted(model.rows, column)
        total[out] += model.predict_in(column[out, None], Z[out], None if q is None else q[out])[:, 0]
    count = (cells.shape[1] - silent)[:, None]
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _otherwise_mean(left_out: FloatArray, Y: FloatArray, frequencies: FloatArray, groups: IntArray) -> FloatArray:
    """Predictions with the mean of all other groups where no cell knows another group, (N, p)."""
    unknown = np.isnan(left_out).any(axis=1)
    for group in np.unique(groups[unknown]):
        own = groups == group
        left_out[own & unknown] = np.average(Y[~own], axis=0, weights=frequencies[~own])
    return left_out


def _not_fitted(rows: CellRows, cells: IntArray) -> IntArray:
    """The rows that are not among those of their cells in one partition."""
    inside = np.zeros(len(cells), dtype=bool)
    for cell in np.unique(cells):
        inside[rows[int(cell)]] = True
    return np.flatnonzero(~inside)


def _check_rows(
    Z: FloatArray,
    Y: FloatArray,
    frequencies: FloatArray,
    q: FloatArray | None,
) -> None:
    n = len(Z)
    if n < 2:
        raise ValueError(f"Cells need at least 2 distinct rows to leave one out; got {n}.")
    shapes = {
        "Y": Y.shape[:1],
        "frequencies": frequencies.shape,
        "q": (n,) if q is None else q.shape[:1],
    }
    wrong = {name: shape for name, shape in shapes.items() if shape != (n,)}
    if wrong or Y.ndim != 2 or (q is not None and q.ndim != 2):
        got = wrong or {"Y": Y.shape, "q": shapes["q"] if q is None else q.shape}
        raise ValueError(f"Y (n, p), frequencies (n,), q (n, k) must have the {n} rows; got {got}.")
