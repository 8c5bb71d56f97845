"""Exact kernel ridge regression in cells of a few random partitions: the model, its fit, its left-out predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.cells.partition import CELL_SIZE, N_PARTITIONS, CellRows, Partitions, random_partitions, rows_of_cells
from skewridge.execution.context import on_threads, run
from skewridge.execution.progress import stage
from skewridge.kernels import BANDWIDTH_FREE, Kernel, check_kernel_name, check_widths, loops
from skewridge.linalg.cholesky import (
    NotPositiveDefinite,
    Workspace,
    add_gram,
    inverse_factor,
    inverse_solve,
    lower_square,
    squared_columns,
)
from skewridge.response.groups import share_groups
from skewridge.ridge.learn_scales import LearnedKernel
from skewridge.ridge.leave_one_out import errors_by_group
from skewridge.ridge.sample import Sample

EPS = float(np.finfo(np.float64).eps)
RAISE = 10.0  # what the ridge of a singular cell is multiplied by
MOST_RIDGE = 1e6  # times the largest diagonal: a matrix that is singular even so holds nan or inf


@dataclass(frozen=True)
class Cells:
    """f(x) = mean over partitions of [mean_c + slope_c' q(x) + sum_i coef_i k(x, z_i)], c the cell of x.

    ``points``, (N, D), are the scaled rows, those of the cells in ``rows``; ``coef``, (p, R), are theirs in that order,
    ``means``, (C, p), and ``slopes``, (C, k, p), of k trends, those of the C cells.
    """

    kernel: Kernel
    partitions: Partitions
    points: FloatArray
    rows: CellRows
    coef: FloatArray
    means: FloatArray
    slopes: FloatArray

    def predict(self, Z: FloatArray, q: FloatArray | None = None) -> FloatArray:
        """Predict one block of scaled rows Z, (n, D); q, (n, k), is needed if there is a trend."""
        check_widths(Z.shape[1], self.points.shape[1])
        shape, needed = (len(Z), 0) if q is None else q.shape, (len(Z), self.slopes.shape[1])
        if shape != needed:
            raise ValueError(f"predict needs q of shape {needed}; got {shape}.")
        cells = self.partitions.cells_of(Z)
        values = self.predict_in(cells, Z, q)
        total = np.zeros((len(Z), len(self.coef)))
        for t in range(cells.shape[1]):
            total += values[:, t]
        return total / cells.shape[1]

    def predict_in(self, cells: IntArray, Z: FloatArray, q: FloatArray | None = None) -> FloatArray:
        """The estimates of some given cells a row, cells (n, T): (n, T, p)."""
        own, T = cells.ravel(), cells.shape[1]
        out = np.zeros((len(own), len(self.coef)))
        if self.partitions.n_cells == 1:
            left, right = np.ascontiguousarray(Z, dtype=np.float64), self.points[self.rows.order].T
            loops().matvec(self.kernel, left, np.ascontiguousarray(right), self.coef, out)
        else:  # sorted by cell
            order, found = np.argsort(own, kind="stable"), np.zeros_like(out)
            left, rows = np.ascontiguousarray(Z[order // T], dtype=np.float64), (self.rows.order, self.rows.starts)
            loops().matvec_cells(self.kernel, left, own[order], self.points, *rows, self.coef, found)
            out[order] = found
        out += self.means[own]
        for j, column in enumerate(() if q is None else q.T):
            out += self.slopes[own, j] * np.repeat(column, T)[:, None]
        return out.reshape(*cells.shape, len(self.coef))


def fit_cells(
    kernel: str,
    sample: Sample,
    learned: LearnedKernel,
    *,
    seed: int,
    n_partitions: int = N_PARTITIONS,
    cell_size: int = CELL_SIZE,
) -> tuple[Cells, FloatArray, FloatArray]:
    """Fit every cell: the model, predictions of every row by fits without it, (N, p), and every cell's ridge, (C,).

    Rows of the sample, at least two, have been scaled already; what was learned says the ridge and the weight of every
    trend. Rows of a group are left out together.

    Examples
    --------
    >>> import numpy as np
    >>> Z, one = np.random.default_rng(0).random((500, 2)) * 3, np.ones(500)
    >>> Y = np.sin(Z).sum(axis=1, keepdims=True)
    >>> learned = LearnedKernel(np.ones(2), ridge=1e-4, trends=np.empty(0), losses=np.empty(0))
    >>> _, left_out, _ = fit_cells("matern32", Sample(Z, Y, one, one), learned, seed=0, cell_size=200)
    >>> bool(np.mean((left_out - Y) ** 2) < 1e-3 * Y.var())
    True
    """
    Z, Y, groups = sample.Z, sample.Y, sample.groups
    decaying = Kernel(check_cell_kernel(kernel), bandwidth=1.0)
    partitions = random_partitions(Z, seed=seed, n_partitions=n_partitions, cell_size=cell_size)
    cells = partitions.cells_of(Z)
    rows = rows_of_cells(cells, partitions.n_cells, seed=seed, cell_size=cell_size)
    workspace = Workspace()
    with on_threads(), stage("cells"):
        cells_in_order = range(partitions.n_cells)
        solved = run(lambda cell: solve_cell(decaying, sample.some(rows[cell]), learned, workspace), cells_in_order)
        coefs, means, slopes, by_cell, ridges = zip(*solved, strict=True)
    model = Cells(
        kernel=decaying,
        partitions=partitions,
        points=np.ascontiguousarray(Z, dtype=np.float64),
        rows=rows,
        coef=np.ascontiguousarray(np.concatenate(coefs).T),
        means=np.array(means),
        slopes=np.array(slopes),
    )
    left_out = _average_left_out(model, by_cell, cells, sample)
    if groups is not None:  # where no cell knows another group: the mean of all others
        unknown = np.isnan(left_out).any(axis=1)
        for group in np.unique(groups[unknown]):
            own = groups == group
            left_out[own & unknown] = np.average(Y[~own], axis=0, weights=sample.frequencies[~own])
    return model, left_out, np.array(ridges)


def solve_cell(
    kernel: Kernel, sample: Sample, learned: LearnedKernel, workspace: Workspace
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Coefficients (n, p), mean (p,) and slopes (k, p) of a cell, left-out predictions (n, p), and the ridge it took.

    With G = k + Q diag(trends) Q' + ridge diag(1 / f) and G^-1 = L'L it solves G a = y - mean, 1'a = 0: the mean is
    1'G^-1 y / 1'G^-1 1. P = G^-1 - G^-1 1 1'G^-1 / 1'G^-1 1 has the left-out errors a_i / P_ii; of a group B they are
    P_BB^-1 a_B.
    """
    Y, frequencies, groups = sample.Y, sample.frequencies, sample.groups
    columns = np.empty((0, len(Y))) if sample.trend is None else np.ascontiguousarray(sample.trend.T)
    middle = np.array([np.average(column, weights=frequencies) for column in columns])
    centred = columns - middle[:, None]
    inverse, ridge = _factorise(kernel, sample, centred.T, learned, workspace)
    offset = np.average(Y, axis=0, weights=frequencies)
    right = np.ones((Y.shape[1] + 1, len(Y)))
    right[:-1] = (Y - offset).T
    inverse_solve(inverse, right)
    ones, total = right[-1], right[-1].sum()
    mean = right[:-1].sum(axis=1) / total
    coef = np.ascontiguousarray((right[:-1] - np.outer(mean, ones)).T)
    products = np.array([row @ coef for row in centred])  # row by row: one more of them changes no bit of the others
    slope = learned.trends[:, None] * products.reshape(len(centred), coef.shape[1])
    if groups is None or not share_groups(groups):
        diagonal = squared_columns(inverse)
        errors = coef / np.maximum(diagonal - ones**2 / total, EPS * diagonal)[:, None]
    else:
        P = np.empty_like(inverse)
        loops().project_out_mean(lower_square(inverse), ones, float(total), P)
        errors = errors_by_group(P, coef, groups)
    return coef, mean + offset - middle @ slope, slope, Y - errors, np.asarray(ridge)


def fit_bytes(
    n_rows: int,
    n_features: int,
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
    solving = n_rows * (6.0 * n_partitions + 2.0)
    threads = n_threads * cell * (cell + 3.0 * n_features + 12.0)
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


def _average_left_out(model: Cells, by_cell: Sequence[FloatArray], cells: IntArray, sample: Sample) -> FloatArray:
    """The mean over partitions of the cells' left-out predictions, (N, p), from those of every cell.

    A row that its cell was not fitted to is predicted by it as any new row. A cell of one group knows nothing without
    it; nan where none of a row's cells knows another.
    """
    Z, trend = sample.Z, sample.trend
    total = np.zeros_like(sample.Y)
    fitted, unknown = np.zeros(cells.shape, dtype=bool), np.zeros(len(Z), dtype=np.int64)
    for cell, left_out in enumerate(by_cell):
        own = model.rows[cell]
        known = sample.groups is None or bool(np.ptp(sample.groups[own]))
        total[own] += left_out if known else 0.0
        unknown[own] += not known
        fitted[own] |= cells[own] == cell
    for column, inside in zip(cells.T, fitted.T, strict=True):
        out = np.flatnonzero(~inside)
        if len(out):
            total[out] += model.predict_in(column[out, None], Z[out], None if trend is None else trend[out])[:, 0]
    count = (cells.shape[1] - unknown)[:, None]
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _factorise(
    kernel: Kernel, sample: Sample, centred: FloatArray, learned: LearnedKernel, workspace: Workspace
) -> tuple[FloatArray, float]:
    """The inverse Cholesky factor of G, and the ridge, raised until it exists."""
    n, raised = len(sample), 1.0
    ridge = learned.ridge / sample.frequencies
    while True:
        matrix = kernel.gram_lower(sample.Z, workspace.square(n))
        add_gram(matrix, centred, learned.trends)
        diagonal = matrix.reshape(-1)[:: n + 1]
        largest = float(diagonal.max())
        diagonal += raised * ridge
        try:
            inverses = inverse_factor(matrix).diagonal()
            if np.isfinite(inverses).all() and EPS * largest * inverses.max() ** 2 < 1.0:  # regular beyond rounding
                return matrix, learned.ridge * raised
        except NotPositiveDefinite:
            pass
        raised *= RAISE
        if not raised * ridge.max() <= MOST_RIDGE * max(largest, 1.0):
            raise np.linalg.LinAlgError(
                f"A cell of {n:,} rows cannot be solved with any ridge: its kernel values are "
                "not finite. Look for nan, inf or huge numbers among the scaled features."
            )
