"""The fitted cells: what predicts, what is saved, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.cells.partition import LEAF, N_PARTITIONS, CellRows, Partitions
from skewridge.kernels import BANDWIDTH_FREE, KERNELS, Kernel
from skewridge.kernels.product import check_widths

_INTEGERS = ("roots", "feature", "child", "order", "starts")
_REALS = ("cut", "points", "coef", "means", "slopes")


@dataclass(frozen=True)
class Cells:
    """f(x) = mean over partitions of [mean_c + slope_c' q(x) + sum_i coef_i k(x, z_i)].

    c is the cell of x in a partition, and i runs over its rows. Features come scaled, so the
    kernel's bandwidth is 1.

    Attributes
    ----------
    kernel : Kernel
    partitions : Partitions
    points : (N, D) array of scaled training rows, each stored once
    rows : CellRows, the rows of every cell, M in all
    coef : (p, M) array, in the order of the cells' rows
    means : (C, p) array, one row a cell
    slopes : (C, k, p) array, for every column of q; k is 0 for a model without a trend
    """

    kernel: Kernel
    partitions: Partitions
    points: FloatArray
    rows: CellRows
    coef: FloatArray
    means: FloatArray
    slopes: FloatArray

    @property
    def n_guides(self) -> int:
        """Columns of q that predictions need; 0 for a model without a trend."""
        return self.slopes.shape[1]

    def predict(self, Z: FloatArray, q: FloatArray | None = None) -> FloatArray:
        """Predict one block of scaled rows Z, (n, D); q, (n, k), is needed if there is a trend.

        Returns (n, p).
        """
        check_widths(Z.shape[1], self.points.shape[1])
        self._check_trend(Z, q)
        cells = self.partitions.cells_of(Z)
        values = self.predict_in(cells, Z, q)
        total = np.zeros((len(Z), len(self.coef)))
        for t in range(cells.shape[1]):
            total += values[:, t]
        return total / cells.shape[1]

    def predict_in(self, cells: IntArray, Z: FloatArray, q: FloatArray | None = None) -> FloatArray:
        """The estimates of some given cells a row, cells (n, T): (n, T, p)."""
        own, T = cells.ravel(), cells.shape[1]
        out = self._of_one_cell(Z) if self.partitions.n_cells == 1 else self._of_own_cells(cells, Z)
        out += self.means[own]
        if q is not None:
            for j, column in enumerate(q.T):
                out += self.slopes[own, j] * np.repeat(column, T)[:, None]
        return out.reshape(*cells.shape, len(self.coef))

    def _of_one_cell(self, Z: FloatArray) -> FloatArray:
        """What all points of the only cell add to every row, (n, p)."""
        right, out = np.ascontiguousarray(self.points[self.rows.order].T), np.empty((len(Z), len(self.coef)))
        loops, code = self.kernel.loops()
        left = np.ascontiguousarray(Z, dtype=np.float64)
        loops.matvec(code, self.kernel.degree, left, right, self.coef, out)
        return out

    def _of_own_cells(self, cells: IntArray, Z: FloatArray) -> FloatArray:
        """What the points of some given cells a row, (n, T), add to the rows, (n T, p)."""
        own, T = cells.ravel(), cells.shape[1]
        order = np.argsort(own, kind="stable")
        left = np.ascontiguousarray(Z[order // T], dtype=np.float64)
        found, out = np.empty((2, len(own), len(self.coef)))
        loops, code = self.kernel.loops()
        loops.matvec_cells(
            *(code, self.kernel.degree, left, own[order], self.points),
            *(self.rows.order, self.rows.starts, self.coef, found),
        )
        out[order] = found
        return out

    def to_arrays(self) -> dict[str, FloatArray | IntArray | str]:
        """Return what is saved: plain arrays and the kernel's name."""
        tree, rows = self.partitions, self.rows
        integers = (tree.roots, tree.feature, tree.child, rows.order, rows.starts)
        reals = (tree.cut, self.points, self.coef, self.means, self.slopes)
        return {
            "kernel": self.kernel.name,
            **dict(zip(_INTEGERS, integers, strict=True)),
            **dict(zip(_REALS, reals, strict=True)),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray | IntArray | str]) -> Cells:
        """Rebuild a model; raises ValueError where lengths or indices do not fit together."""
        roots, feature, child, order, starts = (_as(np.int64, arrays[name]) for name in _INTEGERS)
        cut, points, coef, means, slopes = (_as(np.float64, arrays[name]) for name in _REALS)
        tree, rows = Partitions(roots, feature, cut, child), CellRows(order, starts)
        if points.ndim != 2 or str(arrays["kernel"]) not in KERNELS or str(arrays["kernel"]) in BANDWIDTH_FREE:
            _refuse("rows are no matrix, or the kernel does not decay with distance")
        kernel = Kernel(str(arrays["kernel"]), bandwidth=1.0)
        model = cls(kernel, tree, points, rows, coef=coef, means=means, slopes=slopes)
        _check_tree(tree, points.shape[1] if points.ndim == 2 else 0)
        _check_cells(model)
        return model

    def _check_trend(self, Z: FloatArray, q: FloatArray | None) -> None:
        expected = (len(Z), self.n_guides)
        if (q is None) != (self.n_guides == 0) or (q is not None and q.shape != expected):
            wanted = f"q of shape {expected}" if self.n_guides else "no q: these cells have no trend"
            got = "None" if q is None else f"shape {q.shape}"
            raise ValueError(f"predict needs {wanted}; got {got}.")


def saved_bytes_per_row(
    n_features: int,
    n_outputs: int = 1,
    n_partitions: int = N_PARTITIONS,
) -> float:
    """Bytes that a saved model has for every distinct row.

    These are its features and, for every partition, an index and the coefficients.

    Examples
    --------
    >>> saved_bytes_per_row(33)
    328.0
    """
    return 8.0 * (n_features + n_partitions * (1 + n_outputs))


def _as(dtype: Any, values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=dtype)


def _refuse(what: str) -> None:
    raise ValueError(f"These arrays are no cells: {what}. The model is damaged; fit it again.")


def _check_tree(tree: Partitions, n_features: int) -> None:
    """Every node has its arrays, children come after their parents, and leaves number the cells."""
    n = len(tree.feature)
    if not (tree.feature.shape == tree.cut.shape == tree.child.shape == (n,) and n > 0 and tree.roots.ndim == 1):
        _refuse("the trees' arrays differ in length")
    if not (tree.roots.size and tree.roots.min() >= 0 and tree.roots.max() < n):
        _refuse(f"a root is none of {n} nodes")
    inner = np.flatnonzero(tree.feature != LEAF)
    split = tree.feature[inner]
    if inner.size and not (split.min() >= 0 and split.max() < n_features):
        _refuse(f"a split is on none of {n_features} features")
    if not ((tree.child[inner] > inner).all() and (tree.child[inner] + 1 < n).all()):
        _refuse("a child does not come after its parent")
    if not np.array_equal(np.sort(tree.child[tree.feature == LEAF]), np.arange(tree.n_cells)):
        _refuse("leaves do not number the cells")


def _check_cells(model: Cells) -> None:
    """Every cell has rows, a mean and, if any has, slopes; every row has coefficients."""
    order, starts, n_cells = model.rows.order, model.rows.starts, model.partitions.n_cells
    ends = starts.shape == (n_cells + 1,) and starts[0] == 0 and starts[-1] == len(order)
    if not ends or (np.diff(starts) < 1).any():
        _refuse(f"{len(order)} rows are not shared out to {n_cells} cells")
    if order.min() < 0 or order.max() >= len(model.points):
        _refuse(f"a cell has a row that is none of {len(model.points)}")
    if model.coef.ndim != 2 or model.coef.shape[1] != len(order):
        _refuse(f"{len(order)} rows have coefficients of shape {model.coef.shape}")
    p = len(model.coef)
    slopes = model.slopes.ndim == 3 and model.slopes.shape[::2] == (n_cells, p)
    if model.means.shape != (n_cells, p) or not slopes:
        shapes = f"means of shape {model.means.shape}, slopes of shape {model.slopes.shape}"
        _refuse(f"{n_cells} cells have {shapes}")
