"""A kernel, its products with points, and the penalty and bandwidth that go with the data's size and spread.

Every kernel is a profile of a similarity of *prepared* points: features divided by the bandwidth, or scaled
to the training range (sobolev), or as they are (polynomial).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skewridge._permutation import shuffle
from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_integer, check_magnitude, check_real
from skewridge.kernels.product import (
    Product,
    arranged,
    centred,
    check_widths,
    halves,
    loops,
    skipping_reach,
    squared_norms,
    suits_blas,
)

if TYPE_CHECKING:
    from skewridge.execution.chunked import RowData

KERNELS = ("gaussian", "matern12", "matern32", "matern52", "laplacian", "polynomial", "sobolev")
BANDWIDTH_FREE = ("polynomial", "sobolev")
MAX_DEGREE = 100
NEGLIGIBLE = 1e-12  # kernel values below this may be skipped: an error of at most this times the coefficients' 1-norm
LEAST_RANGE = float(np.finfo(np.float64).tiny)  # of a feature that sobolev tells from a constant; 1 / less overflows
MEDIAN_ROWS = 1000  # pairs among so many rows settle the median distance to about 1%
_ALIASES = {"rbf": "gaussian", "poly": "polynomial"}
_MATERN_SMOOTHNESS = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


@dataclass(frozen=True)
class Kernel:
    """k(x, z) with its parameters; build one with :func:`make_kernel`.

    With r = ||x - z|| / b: gaussian exp(-r^2); matern12 exp(-r); matern32 (1 + s) exp(-s), s = sqrt(3) r;
    matern52 (1 + s + s^2/3) exp(-s), s = sqrt(5) r; laplacian exp(-||x - z||_1 / b);
    polynomial (1 + x.z)^degree; sobolev prod_f (1 + min(x_f, z_f)) on features scaled to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> kernel = Kernel("gaussian", bandwidth=2.0)
    >>> kernel.cross(np.array([[0.0]]), np.array([[2.0]])).round(12) == np.exp(-1).round(12)
    array([[ True]])
    """

    name: str
    bandwidth: float | None = None
    degree: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def prepare(self, X: FloatArray) -> FloatArray:
        """Return the points as the loops take them, (n, d): a new array, scaled, and clipped for sobolev."""
        X = X.astype(np.float32 if X.dtype == np.float32 else np.float64, copy=False)
        if self.bandwidth is not None:
            scaled = np.empty(X.shape, dtype=X.dtype)
            with np.errstate(over="ignore"):  # what overflows is refused by name; float32 has no bandwidth below 1e-45
                np.divide(X, self.bandwidth, out=scaled, dtype=np.float64, casting="same_kind")
            check_magnitude("X / bandwidth", scaled)
            return scaled
        if self.name == "sobolev":
            scaled = (X - np.array(self.low)) * self._inverse_range()
            return np.ascontiguousarray(np.clip(scaled, 0.0, 1.0), dtype=X.dtype)
        return np.array(X, order="C")

    def gram(self, X: FloatArray) -> FloatArray:
        """k(X, X), (n, n), symmetric to the last bit."""
        lower = np.tril(self.gram_lower(X))
        return lower + np.tril(lower, -1).T

    def diagonal(self, X: FloatArray) -> FloatArray:
        """k(x, x) of every row, (n,)."""
        if self.name not in BANDWIDTH_FREE:
            return np.ones(len(X))
        points = self.prepare(X)
        if self.name == "sobolev":
            return np.prod(1.0 + points, axis=1)
        return (1.0 + np.sum(points * points, axis=1)) ** self.degree

    def gram_lower(self, X: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """k(X, X) into the lower triangle of out, which a factorisation needs no more than; the rest may be lost."""
        left, _ = centred(self, self.prepare(X))
        out = np.empty((len(X), len(X)), dtype=left.dtype) if out is None else out
        if suits_blas(self, left):
            loops().cross_blas(self, left, left, squared_norms(left), True, out)
        else:
            loops().cross(self, left, np.ascontiguousarray(left.T), True, out)
        return out

    def cross(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """k(X, Z), (n, m), in the precision of Z."""
        right = self.prepare(Z)
        left = self.prepare(X.astype(right.dtype, copy=False))
        check_widths(left.shape[1], right.shape[1])
        out, (rows, center) = np.empty((len(X), len(Z)), dtype=right.dtype), centred(self, right)
        if suits_blas(self, rows):
            loops().cross_blas(self, left - center, rows, squared_norms(rows), False, out)
        else:
            loops().cross(self, left, np.ascontiguousarray(right.T), False, out)
        return out

    def rescaling(self, bandwidth: float | None) -> float:
        """What this kernel's similarities are multiplied by at another bandwidth: distances serve every one."""
        ratio = 1.0 if bandwidth is None or self.bandwidth is None else self.bandwidth / bandwidth
        return ratio if self.name == "laplacian" else ratio * ratio

    def product(self, Z: FloatArray, coef: FloatArray, tolerance: float = NEGLIGIBLE) -> Product:
        """Return x -> k(x, Z) @ coef' for coefficients (p, m); see :class:`Product`.

        Kernel values below the tolerance may be taken for 0: an error of at most tolerance * ||coef||_1.
        """
        rows, center = centred(self, self.prepare(Z.astype(np.float64, copy=False)))
        starts, reach = None, skipping_reach(self, rows, tolerance)
        if np.isfinite(reach):
            parts = halves(rows, np.arange(len(rows)))
            starts, order = np.cumsum([0, *map(len, parts)]), np.concatenate(parts)
            rows, coef = rows[order], coef[:, order]
        return arranged(self, rows, coef, center, starts, reach, np.float64)

    def matvec(self, X: FloatArray, Z: FloatArray, coef: FloatArray) -> FloatArray:
        """k(X, Z) @ coef, (n,), holding one tile of k(X, Z) at a time; k(Z, X) @ v is the transposed product."""
        return self.product(Z, coef[None, :])(X)[:, 0]

    def gradient(self, X: FloatArray, Z: FloatArray, coef: FloatArray) -> FloatArray:
        """d/dx of k(x, Z) @ coef at every x, (n, d).

        Where the kernel has a kink (matern12 and laplacian at x = z, sobolev where features meet) the value
        is half-way between the one-sided derivatives.
        """
        left, right, out = self.prepare(X), np.ascontiguousarray(self.prepare(Z).T), np.zeros(X.shape)
        check_widths(left.shape[1], right.shape[0])
        loops().gradient(self, left, right, coef, out)
        if self.name != "sobolev":
            return out if self.bandwidth is None else out * (1.0 / self.bandwidth)
        inside = (X >= np.array(self.low)) & (X <= np.array(self.high))
        return out * np.where(inside, self._inverse_range(), 0.0)

    def scale_gradient(
        self, X: FloatArray, similar: FloatArray, curvature: FloatArray, V: FloatArray, A: FloatArray
    ) -> FloatArray:
        """sum_ij W_ij dk(s x_i, s x_j) / dlog s_f of every feature f at s = 1, (d,).

        W = curvature - (V A' + A V') / 2 with a symmetric curvature, (n, n), and V and A, (n, p), is
        never formed. ``similar`` has the rows' similarities above its diagonal.
        """
        if self.name in BANDWIDTH_FREE:
            names = ", ".join(name for name in KERNELS if name not in BANDWIDTH_FREE)
            raise ValueError(f"the {self.name} kernel has no scales to learn; use one of {names}")
        left, out = self.prepare(X), np.zeros(X.shape[1])
        right, v, a = (np.ascontiguousarray(own.T) for own in (left, V, A))
        loops().scale_gradient(self, left, right, similar, curvature, v, a, out)
        return out

    def _inverse_range(self) -> FloatArray:
        """1 / (high - low), and 0 for a feature whose range is 0 or as good as: its factor is then 1."""
        span = np.array(self.high) - np.array(self.low)
        return np.divide(1.0, span, out=np.zeros_like(span), where=span >= LEAST_RANGE)


def make_kernel(name: str, X: FloatArray, bandwidth: float | None = None, degree: int = 3) -> Kernel:
    """Return the kernel with these parameters; sobolev takes its range from the training rows X."""
    name = check_kernel_name(name)
    if name == "polynomial":
        return Kernel(name, degree=check_integer("degree", degree, 1, MAX_DEGREE))
    if name == "sobolev":
        return Kernel(name, low=tuple(X.min(axis=0).tolist()), high=tuple(X.max(axis=0).tolist()))
    return Kernel(name, bandwidth=check_real("bandwidth", bandwidth, 0, open_low=True))


def check_kernel_name(name: Any) -> str:
    """Return the kernel's own name; "rbf" and "poly" are aliases."""
    name = _ALIASES.get(name, name) if isinstance(name, str) else name
    return check_choice("kernel", name, KERNELS)


def penalty_rule(kernel: str, n_rows: float, n_features: int) -> float:
    """Return the penalty of the rate-optimal order in the TOTAL number of rows N (Zhang, Duchi & Wainwright 2015).

    1/N for gaussian (exponential eigendecay) and polynomial (finite rank); N^(-2v/(2v+1)) for eigenvalues
    that decay as j^(-2v): v = 1 for sobolev and laplacian, v = 1/2 + s/d for a Matern kernel of smoothness s in
    d features.

    Examples
    --------
    >>> penalty_rule("gaussian", 1000, 2)
    0.001
    >>> round(penalty_rule("sobolev", 1000, 1), 12)  # N^(-2/3)
    0.01
    """
    if kernel in ("gaussian", "polynomial"):
        return 1.0 / n_rows
    decay = 0.5 + _MATERN_SMOOTHNESS[kernel] / n_features if kernel in _MATERN_SMOOTHNESS else 1.0
    return float(n_rows ** (-2 * decay / (2 * decay + 1)))


def median_bandwidth(X: RowData, kernel: str, seed: int) -> float:
    """Return the median distance between rows (L1 for laplacian), from a keyed sample of at most 1,000 rows.

    Where more than half of the pairs coincide it is the mean of the others; where all do, 1.
    """
    from scipy.spatial.distance import pdist

    rows = X[np.flatnonzero(shuffle(np.arange(len(X)), len(X), seed, stream=0) < MEDIAN_ROWS)]
    unit = float(np.abs(rows).max(initial=0.0)) or 1.0  # squares of tiny features must not vanish
    distances = pdist(rows / unit, "cityblock" if kernel == "laplacian" else "euclidean")
    if distances.size == 0 or distances.max() == 0:
        return 1.0
    mean = float(distances.sum() / np.count_nonzero(distances))
    return (float(np.median(distances, overwrite_input=True)) or mean) * unit
