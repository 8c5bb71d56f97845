"""Kernel ridge regression on a node's own rows, weighted or not.

A node of n rows solves (K + n penalty I) beta = y; with weights w, (K + penalty (sum w) W^-1) beta = y.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skewridge._typing import FloatArray, IntArray
from skewridge.kernels import Kernel, loops, squared_norms
from skewridge.linalg.cholesky import NOT_FINITE, NotPositiveDefinite, cholesky, routine_address
from skewridge.response.allocation import Allocation
from skewridge.ridge.coordinates import PointLayout, make_layout

BATCH_WORK = 3e8  # operations of one batch of nodes
NODE_OVERHEAD = 100.0  # rows that a node's gram and solve cost as much as


@dataclass(frozen=True)
class NodeFit:
    """One local estimate: f(x) = sum_i coef_i k(x, x_rows[i])."""

    rows: IntArray
    coef: FloatArray


class Workspace(threading.local):
    """One square matrix for each thread, used again by every node that fits in it."""

    def __init__(self) -> None:
        self._buffer = np.empty(0)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """A process that it is sent to begins with an empty one."""
        return Workspace, ()

    def square(self, n: int, dtype: npt.DTypeLike = np.float64) -> FloatArray:
        """Return an uninitialised (n, n) matrix, valid until the next call in this thread."""
        if self._buffer.size < n * n:
            self._buffer = np.empty(0)  # the old one goes before the new one comes: never both
            self._buffer = np.empty(n * n)
        return self._buffer.view(dtype)[: n * n].reshape(n, n)


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
        raise unsolvable(node, len(X), penalty, error.minor) from error
    if not np.isfinite(factor.diagonal()).all():
        raise unsolvable(node, len(X), penalty, NOT_FINITE)
    return factor


def unsolvable(node: int, n_rows: int, penalty: float, minor: int) -> np.linalg.LinAlgError:
    """The error for a node whose leading minor is not positive, or not finite."""
    where = f"Node {node} ({n_rows:,} rows) cannot be solved with penalty {penalty:.3g}"
    if minor == NOT_FINITE:
        return np.linalg.LinAlgError(
            f"{where}: the kernel's values overflow. Standardise the features or lower the degree."
        )
    if minor < 0:
        return np.linalg.LinAlgError(f"{where}: LAPACK refuses argument {-minor}, which is a fault of skewridge.")
    return np.linalg.LinAlgError(
        f"{where}: leading minor {minor} of {n_rows} is not positive. Raise the penalty, or lower the bandwidth or the "
        "degree; rows that repeat need a larger penalty than others."
    )


@dataclass(frozen=True)
class Nodes:
    """All nodes' systems, ready for the compiled loop.

    Attributes
    ----------
    kernel : Kernel
    points, norms : prepared rows, (N, d), and their squared norms where inner products are left to BLAS, else empty
    y, weights : (N,) arrays, y in the precision of the points; no weights: empty
    penalties : (k,) array
    allocation : Allocation, the nodes' rows
    coef : (N~,) array, filled as nodes are solved: node i's coefficients from allocation.starts[i] on
    names : (k,) array, what the nodes are called where they are some of many; None: by their places
    """

    kernel: Kernel
    points: FloatArray
    norms: FloatArray
    y: FloatArray
    weights: FloatArray
    penalties: FloatArray
    allocation: Allocation
    coef: FloatArray
    names: IntArray | None = None

    def solve(self, nodes: IntArray, workspace: Workspace) -> None:
        """Solve (K + n penalty I) beta = y, or its weighted version, in some nodes: one call without the GIL."""
        sizes, dtype = self.allocation.sizes, self.points.dtype
        potrf, potrs = (routine_address(name, dtype) for name in ("potrf", "potrs"))
        buffer = workspace.square(int(sizes[nodes].max(initial=0)), dtype).reshape(-1)
        upper, integers = np.array([ord("U")], dtype=np.uint8), np.zeros(3, dtype=np.int32)  # what LAPACK reads
        failed, minor = loops().solve_nodes(
            *(self.kernel, self.points, self.norms, self.y, self.weights, self.penalties),
            *(self.allocation.rows, self.allocation.starts, nodes, potrf, potrs, upper, integers, buffer, self.coef),
        )
        if failed >= 0:
            name = failed if self.names is None else int(self.names[failed])
            raise unsolvable(name, int(sizes[failed]), float(self.penalties[failed]), minor)

    def batches(self) -> list[IntArray]:
        """The nodes, largest first, in batches of some work each: small ones cost no visible overhead."""
        order = np.argsort(-self.allocation.sizes, kind="stable")
        sizes = self.allocation.sizes[order].astype(np.float64)
        work = np.cumsum(sizes**2 * (sizes + NODE_OVERHEAD))
        return np.split(order, np.flatnonzero(np.diff(work // BATCH_WORK)) + 1)


def make_nodes(
    kernel: Kernel,
    X: FloatArray,
    y: FloatArray,
    weights: FloatArray | None,
    penalties: FloatArray,
    allocation: Allocation,
    layout: PointLayout | None = None,
    names: IntArray | None = None,
) -> Nodes:
    """Prepare the nodes; rows are seen in a layout that is made of these rows where none is given."""
    layout = make_layout(kernel, X, False, 0.0) if layout is None else layout
    points = layout.points(kernel, X)
    norms = squared_norms(points) if layout.blas else np.empty(0, dtype=points.dtype)
    weights = np.empty(0) if weights is None else weights
    coef = np.empty(len(allocation.rows), dtype=points.dtype)
    return Nodes(kernel, points, norms, y.astype(points.dtype), weights, penalties, allocation, coef, names)


def solve_node(
    kernel: Kernel, X: FloatArray, y: FloatArray, penalty: float, weights: FloatArray | None = None
) -> FloatArray:
    """Return beta with (K + n penalty I) beta = y, or its weighted version; solved in the precision of X.

    Examples
    --------
    >>> import numpy as np
    >>> beta = solve_node(Kernel("gaussian", bandwidth=1.0), np.array([[0.0]]), np.array([3.0]), penalty=0.5)
    >>> beta  # 3 / (1 + 1 * 0.5)
    array([2.])
    """
    one = Allocation(np.arange(len(X)), np.array([0, len(X)]))
    nodes = make_nodes(kernel, X, y, weights, np.array([penalty]), one)
    nodes.solve(np.array([0]), Workspace())
    return nodes.coef.astype(np.float64)
