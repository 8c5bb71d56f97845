"""Exact kernel ridge regression on the rows of nodes, and what every family's estimate is: a sum of kernels at points.

A node of n rows solves (K + n penalty I) beta = y; with weights w, (K + penalty (sum w) W^-1) beta = y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray, PicklesFields
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.context import on_threads
from skewridge.execution.passes import map_rows, sum_rows
from skewridge.kernels import (
    SINGLE_ERROR,
    Kernel,
    Product,
    largest_norm,
    loops,
    rounding,
    squared_norms,
    suits_blas,
)
from skewridge.linalg.cholesky import NOT_FINITE, NotPositiveDefinite, Workspace, cholesky, routine_address
from skewridge.response.allocation import Allocation

BATCH_WORK = 3e8  # operations of one batch of nodes
NODE_OVERHEAD = 100.0  # rows that a node's gram and solve cost as much as


@dataclass(frozen=True)
class Expansion(PicklesFields):
    """f(x) = sum_i coef_i k(x, points_i); the scale is that of the response, and what float32 is measured by."""

    points: FloatArray
    coef: FloatArray
    kernel: Kernel
    scale: float = 0.0

    @cached_property
    def product(self) -> Product:
        """x -> f(x), prepared once."""
        return self.kernel.product(self.points, self.coef[None, :])

    @cached_property
    def single_product(self) -> Product:
        """x -> f(x) in float32 where that is accurate enough."""
        return self.product.in_single(np.array([self.scale]))

    def predict(self, X: FloatArray) -> FloatArray:
        """f at one block of rows, (n, 1); float32 rows are evaluated in float32 where that serves."""
        values = (self.single_product if X.dtype == np.float32 else self.product)(X)
        if not np.isfinite(values).all():
            raise ValueError(
                f"The {self.kernel.name} kernel overflows at some of these points: they lie too far from the training "
                "rows. Rescale the features or use another kernel."
            )
        return values


@dataclass(frozen=True)
class NodeFit:
    """One local estimate: f(x) = sum_i coef_i k(x, x_rows[i])."""

    rows: IntArray
    coef: FloatArray


@dataclass(frozen=True)
class PointLayout:
    """How all nodes see rows, so that any can be solved alone: their centre, precision, and products left to BLAS."""

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
    blas = suits_blas(kernel, np.empty((0, X.shape[1])))
    centred = blas and kernel.name != "polynomial"
    mean, given = np.empty(0), np.float64 if isinstance(X, Table) else X.dtype
    with on_threads(rows=X):
        if centred or single:
            mean = sum_rows(lambda rows: kernel.prepare(rows).sum(axis=0), [X], "centre")[0] / len(X)
        if single:
            largest = max(map_rows(lambda rows: largest_norm(kernel, kernel.prepare(rows) - mean), [X], "norms"))
            single = rounding(kernel, largest, X.shape[1]) <= SINGLE_ERROR * least_penalty
        layout = PointLayout(mean if centred or single else None, np.float32 if single else given)
        if blas:
            blas = all(map_rows(lambda rows: suits_blas(kernel, layout.points(kernel, rows)), [X], "norms"))
    return replace(layout, blas=blas)


@dataclass(frozen=True)
class Nodes:
    """Nodes to be solved on rows that all see in one layout.

    y and weights are (N,), no weights: every row counts once; penalties (k,); names (k,) are what the nodes are called
    where they are some of many, None: by their places.
    """

    kernel: Kernel
    layout: PointLayout
    y: FloatArray
    weights: FloatArray | None
    penalties: FloatArray
    allocation: Allocation
    names: IntArray | None = None

    def some(self, places: IntArray) -> tuple[IntArray, Nodes]:
        """The rows that some nodes need, and these nodes on such rows alone."""
        own = [self.allocation[i] for i in places]
        ids, local = np.unique(np.concatenate(own), return_inverse=True)
        starts = np.cumsum([0, *(len(rows) for rows in own)])
        return ids, replace(
            self,
            y=self.y[ids],
            weights=None if self.weights is None else self.weights[ids],
            penalties=self.penalties[places],
            allocation=Allocation(local.astype(self.allocation.rows.dtype), starts),
            names=places,
        )

    def batches(self) -> list[IntArray]:
        """The nodes, largest first, in batches of some work each: small ones cost no visible overhead."""
        order = np.argsort(-self.allocation.sizes, kind="stable")
        sizes = self.allocation.sizes[order].astype(np.float64)
        work = np.cumsum(sizes**2 * (sizes + NODE_OVERHEAD))
        return np.split(order, np.flatnonzero(np.diff(work // BATCH_WORK)) + 1)


class NodeSolver:
    """Nodes with their rows prepared, (N, d), and coef, (N~,): filled node after node as they are solved."""

    def __init__(self, nodes: Nodes, X: FloatArray) -> None:
        self.nodes = nodes
        self.points = nodes.layout.points(nodes.kernel, X)
        self.norms = squared_norms(self.points) if nodes.layout.blas else np.empty(0, dtype=self.points.dtype)
        self.y = nodes.y.astype(self.points.dtype)
        self.coef = np.empty(len(nodes.allocation.rows), dtype=self.points.dtype)
        self.workspace = Workspace()

    def solve(self, batch: IntArray) -> None:
        """Solve (K + n penalty I) beta = y, or its weighted version, in some nodes: one call without the GIL."""
        nodes, dtype = self.nodes, self.points.dtype
        sizes = nodes.allocation.sizes
        buffer = self.workspace.square(int(sizes[batch].max(initial=0)), dtype).reshape(-1)
        failed, minor = loops().solve_nodes(
            nodes.kernel,
            self.points,
            self.norms,
            self.y,
            np.empty(0) if nodes.weights is None else nodes.weights,
            nodes.penalties,
            nodes.allocation.rows,
            nodes.allocation.starts,
            batch,
            routine_address("potrf", dtype),
            routine_address("potrs", dtype),
            np.array([ord("U")], dtype=np.uint8),  # what LAPACK reads: this letter, and three numbers
            np.zeros(3, dtype=np.int32),
            buffer,
            self.coef,
        )
        if failed >= 0:
            name = failed if nodes.names is None else int(nodes.names[failed])
            raise _unsolvable(name, int(sizes[failed]), float(nodes.penalties[failed]), minor)


def ridge_of(n_rows: int, penalty: float, weights: FloatArray | None = None) -> FloatArray:
    """Return what is added to the diagonal of K: n penalty, or penalty (sum w) / w_i."""
    if weights is None:
        return np.full(n_rows, n_rows * penalty)
    return penalty * weights.sum() / weights


def factorise(
    kernel: Kernel,
    X: FloatArray,
    penalty: float,
    weights: FloatArray | None = None,
    *,
    workspace: Workspace,
    node: int = 0,
) -> FloatArray:
    """Return the Cholesky factor of k(X, X) + diag(ridge), in the thread's workspace and the precision of X."""
    matrix = kernel.gram_lower(X, workspace.square(len(X), X.dtype))
    matrix.reshape(-1)[:: len(X) + 1] += ridge_of(len(X), penalty, weights)
    try:
        factor = cholesky(matrix)
    except NotPositiveDefinite as error:
        raise _unsolvable(node, len(X), penalty, error.minor) from error
    if not np.isfinite(factor.diagonal()).all():
        raise _unsolvable(node, len(X), penalty, NOT_FINITE)
    return factor


def _unsolvable(node: int, n_rows: int, penalty: float, minor: int) -> np.linalg.LinAlgError:
    """The error for a node whose leading minor is not positive, or not finite."""
    if minor == NOT_FINITE:
        why = "the kernel's values overflow. Standardise the features or lower the degree."
    elif minor < 0:
        why = f"LAPACK refuses argument {-minor}, which is a fault of skewridge."
    else:
        why = (
            f"leading minor {minor} of {n_rows} is not positive. Raise the penalty, or lower the bandwidth or the "
            "degree; rows that repeat need a larger penalty than others."
        )
    return np.linalg.LinAlgError(f"Node {node} ({n_rows:,} rows) cannot be solved with penalty {penalty:.3g}: {why}")
