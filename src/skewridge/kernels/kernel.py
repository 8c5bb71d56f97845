"""A kernel, its products with points, and the penalty and bandwidth that go with the data's size and spread.

Every kernel is a profile of a similarity of *prepared* points: features divided by the bandwidth, or scaled
to the training range (sobolev), or as they are (polynomial).

A product x -> k(x, Z) @ coef' takes the fastest loop: inner products by BLAS where features are many; and where the
kernel is narrow, boxes of points that are too far away to matter are skipped. Which loop runs depends on Z and the
kernel only, never on x: rows are evaluated one by one or all together to the same bits, except where BLAS rounds a row
by its place in the tile (the same blocks give the same bits). In single precision points are centred before they are
rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from skewridge import no_collection
from skewridge._permutation import shuffle
from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_choice, check_integer, check_magnitude, check_real

if TYPE_CHECKING:
    from skewridge.execution.chunked import RowData

KERNELS = ("gaussian", "matern12", "matern32", "matern52", "laplacian", "polynomial", "sobolev")
BANDWIDTH_FREE = ("polynomial", "sobolev")
MAX_DEGREE = 100
NEGLIGIBLE = 1e-12  # kernel values below this may be skipped: an error of at most this times the coefficients' 1-norm
LEAST_RANGE = float(np.finfo(np.float64).tiny)  # of a feature that sobolev tells from a constant; 1 / less overflows
MEDIAN_ROWS = 1000  # pairs among so many rows settle the median distance to about 1%
BLAS_FEATURES = 16  # from so many features on inner products are left to BLAS
BLAS_KERNELS = ("gaussian", "matern32", "matern52", "polynomial")  # smooth in the squared distance near 0
MOST_NORM = {"float64": 1e3, "float32": 16.0}  # squared norms beyond which ||x||^2 + ||z||^2 - 2 x.z loses digits
BOX_POINTS = 256
NARROW_KERNELS = ("gaussian", "matern12", "matern32", "matern52", "laplacian")
LARGEST_SHARE = 0.25  # of points within reach of another, for skipping to pay: boxes reach further
SAMPLED = 400  # points that this is estimated from
FEWEST_BOXES = 8
SINGLE_ERROR = 1e-4  # of the response's standard deviation
PROBES = 64  # points where errors of single precision are measured
PROBE_MARGIN = 8.0  # how many times smaller than allowed they must be there
MOST_CANCELLING = 16.0  # how far their bound may exceed what is allowed
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


@cache
def loops() -> ModuleType:
    """The compiled loops, imported on first use since numba takes half a second."""
    with no_collection():
        return import_module("skewridge.kernels._compiled")


@dataclass(frozen=True)
class Product:
    """x -> k(x, Z) @ coef', (n, p), for coefficients (p, m) and prepared points around a center, (d,) or 0.

    Points come feature by feature, (d, m); for BLAS as rows, (m, d), with their squared norms, (m,). Boxes are for
    skipping: box b holds points starts[b] to starts[b + 1] between its corners low[:, b] and high[:, b], and is skipped
    where its similarity is beyond reach.
    """

    kernel: Kernel
    points: FloatArray
    coef: FloatArray
    center: FloatArray | float = 0.0
    norms: FloatArray | None = None
    boxes: tuple[IntArray, FloatArray, FloatArray] | None = None
    reach: float = np.inf

    def __call__(self, X: FloatArray, prepared: bool = False) -> FloatArray:
        """The product at rows X, or at rows that are prepared and around the center already."""
        left = X if prepared else self._left(X)
        out = np.zeros((len(left), len(self.coef)))
        if self.norms is not None:
            loops().matvec_blas(self.kernel, left, self.points, self.coef, self.norms, out)
        elif self.boxes is not None:
            loops().matvec_near(self.kernel, left, self.points, self.coef, *self.boxes, self.reach, out)
        else:
            loops().matvec(self.kernel, left, self.points, self.coef, out)
        return out

    def residual_moments(self, X: FloatArray, weights: FloatArray, targets: FloatArray) -> FloatArray:
        """k(Z, X) w (targets - k(X, Z) @ coef'), (p, m): where weighted squared errors would have coef go, halved.

        Targets are (n, p). Every kernel value is computed once, and a few rows of them are held; none is skipped.
        """
        if self.boxes is not None:
            raise ValueError("a product that skips has no residual moments; make it with tolerance 0")
        if weights.shape != (len(X),) or targets.shape != (len(X), len(self.coef)):
            raise ValueError(f"{len(X)} weights and targets of {len(self.coef)} outputs are needed")
        out, common = np.zeros(self.coef.shape), (self.kernel, self._left(X), self.points, self.coef)
        if self.norms is not None:
            loops().residual_moments_blas(*common, self.norms, weights, targets, out)
        else:
            loops().residual_moments(*common, weights, targets, out)
        return out

    def _left(self, X: FloatArray) -> FloatArray:
        """Rows as the loops take them, on the left."""
        left = self.kernel.prepare(X.astype(np.float64, copy=False))
        check_widths(left.shape[1], self.points.shape[0 if self.norms is None else 1])
        return (left - self.center).astype(self.points.dtype, copy=False)

    def in_single(self, scales: FloatArray) -> Product:
        """The product in float32 if every output then errs by at most 1e-4 of its scale, rho being :func:`rounding`.

        That is sure where rho ||coef||_1 is no more. Errors mostly cancel where coefficients have both signs: up to 16
        times beyond that, it is enough if 2 rho ||coef||_2 is no more, for errors that are independent, and if an
        eighth of the promise is kept at :func:`probes`, for what errors have in common.
        """
        if self.kernel.name not in NARROW_KERNELS or not self.coef.size:
            return self
        rows = (self.points if self.norms is not None else self.points.T).astype(np.float64)
        center = rows.mean(axis=0)
        rows -= center
        rho = rounding(self.kernel, largest_norm(self.kernel, rows), rows.shape[1])
        promise, bound = SINGLE_ERROR * scales, rho * np.abs(self.coef).sum(axis=1)
        independent = 2.0 * rho * np.sqrt(squared_norms(self.coef))
        sure = np.all(bound <= promise)
        if not sure and not np.all((bound <= MOST_CANCELLING * promise) & (independent <= promise)):
            return self
        starts = None if self.boxes is None else self.boxes[0]
        single = arranged(self.kernel, rows, self.coef, self.center + center, starts, self.reach, np.float32)
        if sure:
            return single
        some = probes(self.kernel, rows, self.coef)
        there, here = single(some.astype(np.float32), prepared=True), self(some + center, prepared=True)
        return single if np.all(PROBE_MARGIN * np.abs(there - here).max(axis=0) <= promise) else self


def arranged(
    kernel: Kernel,
    rows: FloatArray,
    coef: FloatArray,
    center: FloatArray | float,
    starts: IntArray | None,
    reach: float,
    dtype: npt.DTypeLike,
) -> Product:
    """The product with everything as the loops take it; rows, (m, d), are in the order of their boxes, if any."""
    rows, coef, boxes = rows.astype(dtype, copy=False), np.ascontiguousarray(coef, dtype=dtype), None
    if starts is not None:
        low, high = (np.ascontiguousarray(f.reduceat(rows, starts[:-1]).T) for f in (np.minimum, np.maximum))
        boxes = starts, low, high
    elif suits_blas(kernel, rows):
        return Product(kernel, np.ascontiguousarray(rows), coef, center, squared_norms(rows))
    return Product(kernel, np.ascontiguousarray(rows.T), coef, center, boxes=boxes, reach=reach)


def rounding(kernel: Kernel, size: float, n_features: int) -> float:
    """The rounding error of float32, eps (4 + sqrt(d) / 4 + R + 2 sqrt(d) R^2 [BLAS]); infinite where it may exceed 1.

    R is the :func:`largest_norm` of prepared and centred rows. With u = eps / 2 a kernel value loses

    - u (||x|| + ||z||) <= eps R times its slope, at most 1, since both points are rounded;
    - 8 u for exp (its polynomial errs by u / 15), what multiplies it, and the dot product with rounded coefficients;
    - sqrt(d) u / 2 for the sum over features: s k'(s) <= 0.4, and d roundings add up like their square root;
    - with ||x||^2 + ||z||^2 - 2 x.z by BLAS, three sums of d products: 4 R^2 in all, of which rounding takes sqrt(d) u.

    Points further out than R lose no more: the kernel decays faster than their rounding grows.
    """
    if kernel.name not in NARROW_KERNELS:
        return np.inf
    root = float(np.sqrt(n_features))
    most = 1.001 * MOST_NORM["float32"]  # norms are rounded as well
    blas = suits_blas(kernel, np.empty((0, n_features))) and size * size <= most
    products = 2.0 * root * size * size if blas else 0.0
    return float(np.finfo(np.float32).eps) * (4.0 + root / 4.0 + size + products)


def largest_norm(kernel: Kernel, rows: FloatArray) -> float:
    """The largest norm of prepared and centred rows, as the kernel measures distances: the 1-norm for the laplacian."""
    norms = np.abs(rows).sum(axis=1) if kernel.name == "laplacian" else np.sqrt(squared_norms(rows))
    return float(norms.max(initial=0.0))


def probes(kernel: Kernel, rows: FloatArray, coef: FloatArray) -> FloatArray:
    """Points near some rows: half of these are spread over all, half have the largest coefficients.

    Each is half a bandwidth away from its row, where kernels are steep; at the row itself both would be rounded alike.
    """
    shares = np.abs(coef) / np.maximum(np.abs(coef).sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    heavy = np.argsort(-shares.max(axis=0), kind="stable")[: PROBES // 2]
    spread = np.linspace(0, len(rows) - 1, PROBES // 2).astype(np.int64)
    some = rows[np.concatenate([heavy, spread])]
    step = 0.5 / (rows.shape[1] if kernel.name == "laplacian" else np.sqrt(rows.shape[1]))
    found: FloatArray = some + np.random.default_rng(0).choice([-step, step], size=some.shape)
    return found


def centred(kernel: Kernel, rows: FloatArray) -> tuple[FloatArray, FloatArray | float]:
    """Prepared rows as BLAS needs them, around their mean, and that mean; as they are where BLAS is not used."""
    if kernel.name == "polynomial" or not len(rows) or not suits_blas(kernel, rows[:0]):
        return rows, 0.0
    center = rows.mean(axis=0)
    return rows - center, center


def check_widths(left: int, right: int) -> None:
    """Refuse points of different numbers of features: the loops do not look."""
    if left != right:
        raise ValueError(f"points of {left} and of {right} features do not go together")


def suits_blas(kernel: Kernel, rows: FloatArray) -> bool:
    """Whether distances by inner products of these centred rows are faster, and exact enough; of no rows, may be."""
    if kernel.name not in BLAS_KERNELS or rows.shape[1] < BLAS_FEATURES:
        return False
    return kernel.name == "polynomial" or bool(squared_norms(rows).max(initial=0.0) <= MOST_NORM[rows.dtype.name])


def squared_norms(rows: FloatArray) -> FloatArray:
    """||x||^2 of every row."""
    norms: FloatArray = np.einsum("ij,ij->i", rows, rows)
    return norms


def skipping_reach(kernel: Kernel, rows: FloatArray, tolerance: float) -> float:
    """The similarity beyond which k <= tolerance, by bisection; infinite where it does not pay to skip such points."""
    few = len(rows) < FEWEST_BOXES * BOX_POINTS
    if few or kernel.name not in NARROW_KERNELS or not tolerance > 0 or suits_blas(kernel, rows):
        return np.inf
    low, reach, value = 0.0, 1e6, np.empty((1, 1))
    for _ in range(100):
        middle = 0.5 * (low + reach)
        loops().rescaled(kernel, value, np.array([[middle]]), 1.0)
        low, reach = (middle, reach) if value[0, 0] > tolerance else (low, middle)
    some = np.ascontiguousarray(rows[:: max(1, len(rows) // SAMPLED)])
    similar = np.empty((len(some), len(some)))
    loops().similarity(kernel, some, np.ascontiguousarray(some.T), similar)
    return reach if np.mean(similar <= reach) <= LARGEST_SHARE else np.inf


def halves(rows: FloatArray, part: IntArray) -> list[IntArray]:
    """Halve some rows at the median of their widest feature until a part holds few."""
    if len(part) <= BOX_POINTS:
        return [part]
    inside = rows[part]
    order = np.argsort(inside[:, np.argmax(np.ptp(inside, axis=0))], kind="stable")
    return halves(rows, part[order[: len(part) // 2]]) + halves(rows, part[order[len(part) // 2 :]])
