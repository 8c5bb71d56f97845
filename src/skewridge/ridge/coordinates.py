"""How all nodes see rows, so that any of them can be solved on its own rows alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import where_rows_are
from skewridge.execution.passes import map_rows, sum_rows
from skewridge.kernels import SINGLE_ERROR, Kernel, largest_norm, rounding, suits_blas


@dataclass(frozen=True)
class PointLayout:
    """The layout of prepared points: their centre, their precision, and whether inner products are left to BLAS."""

    center: FloatArray | None = None
    dtype: npt.DTypeLike = np.float64
    blas: bool = False

    def points(self, kernel: Kernel, X: FloatArray) -> FloatArray:
        """Rows as the nodes' loop takes them, a new array."""
        rows = kernel.prepare(X)
        if self.center is not None:
            rows -= self.center
        return rows.astype(self.dtype, copy=False)


def make_layout(kernel: Kernel, X: RowData, single: bool, least_penalty: float) -> PointLayout:
    """Look at all rows; single precision where that is asked for and errs by at most 1e-4 of the response.

    A solution errs by about what kernel values lose, over the penalty. Rows that BLAS multiplies, and single ones, are
    centred at their mean.
    """
    with where_rows_are(X):
        return _layout(kernel, X, single, least_penalty)


def _layout(kernel: Kernel, X: RowData, single: bool, least_penalty: float) -> PointLayout:
    may = suits_blas(kernel, np.empty((0, X.shape[1])))
    centred = may and kernel.name != "polynomial"
    center = None
    if centred or single:
        center = sum_rows(lambda rows: kernel.prepare(rows).sum(axis=0), [X], "centre")[0] / len(X)
    serves = False
    if single and center is not None:
        largest = max(map_rows(lambda rows: largest_norm(kernel, kernel.prepare(rows) - center), [X], "norms"))
        serves = rounding(kernel, largest, X.shape[1]) <= SINGLE_ERROR * least_penalty
    given = np.float64 if isinstance(X, Table) else X.dtype
    layout = PointLayout(center if centred or serves else None, np.float32 if serves else given)
    fits = may and all(map_rows(lambda rows: suits_blas(kernel, layout.points(kernel, rows)), [X], "norms"))
    return replace(layout, blas=fits)
