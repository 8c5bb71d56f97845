"""x -> k(x, Z) @ coef' for many x: what depends on Z alone is prepared once, and the fastest loop is chosen.

Inner products by BLAS where features are many; and where the kernel is narrow, boxes of points that are too far away to
matter are skipped. Which loop runs depends on Z and the kernel only, never on x: rows are evaluated one by one or all
together to the same bits, except where BLAS rounds a row by its place in the tile (the same blocks give the same bits).
In single precision points are centred before they are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from skewridge._typing import FloatArray, IntArray
    from skewridge.kernels.kernel import Kernel

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


@dataclass(frozen=True)
class Boxes:
    """Right points in the order of their boxes: box b holds points starts[b] to starts[b + 1].

    Its corners are low[:, b] and high[:, b].
    """

    order: IntArray
    starts: IntArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Product:
    """x -> k(x, Z) @ coef', (n, p).

    Attributes
    ----------
    kernel : Kernel
    points : prepared right points, (d, m); (m, d) for BLAS
    coef : (p, m) array
    center : (d,) array or 0, what is subtracted from prepared points on both sides
    norms : (m,) array of squared norms, for BLAS only
    boxes, reach : for skipping only; boxes whose similarity is beyond reach are skipped
    """

    kernel: Kernel
    points: FloatArray
    coef: FloatArray
    center: FloatArray | float = 0.0
    norms: FloatArray | None = None
    boxes: Boxes | None = None
    reach: float = np.inf

    def __call__(self, X: FloatArray) -> FloatArray:
        """The product at rows X."""
        return self._at(self._left(X))

    def _at(self, left: FloatArray) -> FloatArray:
        """The product at rows as the loops take them."""
        out = np.empty((len(left), len(self.coef)))
        loops, code = self.kernel.loops()
        if self.norms is not None:
            loops.matvec_blas(code, self.kernel.degree, left, self.points, self.coef, self.norms, out)
        elif self.boxes is not None:
            b = self.boxes
            loops.matvec_near(
                *(code, self.kernel.degree, left, self.points, self.coef, b.starts, b.low, b.high, self.reach, out)
            )
        else:
            loops.matvec(code, self.kernel.degree, left, self.points, self.coef, out)
        return out

    def residual_moments(self, X: FloatArray, weights: FloatArray, targets: FloatArray) -> FloatArray:
        """k(Z, X) w (targets - k(X, Z) @ coef'), (p, m): where weighted squared errors would have coef go, halved.

        Targets are (n, p). Every kernel value is computed once, and a few rows of them are held; none is skipped.
        """
        if self.boxes is not None:
            raise ValueError("a product that skips has no residual moments; make it with tolerance 0")
        if weights.shape != (len(X),) or targets.shape != (len(X), len(self.coef)):
            raise ValueError(f"{len(X)} weights and targets of {len(self.coef)} outputs are needed")
        out, left = np.zeros(self.coef.shape), self._left(X)
        loops, code = self.kernel.loops()
        if self.norms is not None:
            loops.residual_moments_blas(
                *(code, self.kernel.degree, left, self.points, self.coef, self.norms, weights, targets, out)
            )
        else:
            loops.residual_moments(code, self.kernel.degree, left, self.points, self.coef, weights, targets, out)
        return out

    def _left(self, X: FloatArray) -> FloatArray:
        """Rows as the loops take them, on the left."""
        left = self.kernel.prepare(X.astype(np.float64, copy=False))
        check_widths(left.shape[1], self.points.shape[0 if self.norms is None else 1])
        left = left if isinstance(self.center, float) else left - self.center
        return left.astype(self.points.dtype, copy=False)

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
        single = _arranged(self.kernel, rows, self.coef, self.center + center, self.boxes, self.reach, np.float32)
        if sure:
            return single
        some = probes(self.kernel, rows, self.coef)
        found = np.abs(single._at(some.astype(np.float32)) - self._at(some + center)).max(axis=0)
        return single if np.all(PROBE_MARGIN * found <= promise) else self


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
    blas = _may_use_blas(kernel, n_features) and size * size <= most
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


def make_product(kernel: Kernel, Z: FloatArray, coef: FloatArray, tolerance: float) -> Product:
    """Prepare the product; kernel values below the tolerance may be taken for 0."""
    rows, center = centred(kernel, kernel.prepare(Z.astype(np.float64, copy=False)))
    reach, boxes = np.inf, None
    if len(rows) >= FEWEST_BOXES * BOX_POINTS and not suits_blas(kernel, rows):
        reach = largest_similarity(kernel, tolerance)
    if np.isfinite(reach):
        boxes = make_boxes(rows) if _share_near(kernel, rows, reach) <= LARGEST_SHARE else None
    if boxes is not None:
        rows, coef = rows[boxes.order], coef[:, boxes.order]
    return _arranged(kernel, rows, coef, center, boxes, reach, np.float64)


def _arranged(
    kernel: Kernel,
    rows: FloatArray,
    coef: FloatArray,
    center: FloatArray | float,
    boxes: Boxes | None,
    reach: float,
    dtype: npt.DTypeLike,
) -> Product:
    """The product with everything as the loops take it; rows are in the order of their boxes."""
    rows, coef = rows.astype(dtype, copy=False), np.ascontiguousarray(coef, dtype=dtype)
    if boxes is None and suits_blas(kernel, rows):
        return Product(kernel, np.ascontiguousarray(rows), coef, center, squared_norms(rows))
    if boxes is not None:
        boxes = boxes_of(rows, boxes)
    return Product(kernel, np.ascontiguousarray(rows.T), coef, center, boxes=boxes, reach=reach)


def centred(kernel: Kernel, rows: FloatArray) -> tuple[FloatArray, FloatArray | float]:
    """Prepared rows as BLAS needs them, around their mean, and that mean; as they are where BLAS is not used."""
    if not _may_use_blas(kernel, rows.shape[1]) or kernel.name == "polynomial" or not len(rows):
        return rows, 0.0
    center = rows.mean(axis=0)
    return rows - center, center


def check_widths(left: int, right: int) -> None:
    """Refuse points of different numbers of features: the loops do not look."""
    if left != right:
        raise ValueError(f"points of {left} and of {right} features do not go together")


def suits_blas(kernel: Kernel, rows: FloatArray) -> bool:
    """Whether distances by inner products of these centred rows are faster, and exact enough."""
    if not _may_use_blas(kernel, rows.shape[1]):
        return False
    return kernel.name == "polynomial" or bool(squared_norms(rows).max(initial=0.0) <= MOST_NORM[rows.dtype.name])


def _may_use_blas(kernel: Kernel, n_features: int) -> bool:
    return kernel.name in BLAS_KERNELS and n_features >= BLAS_FEATURES


def squared_norms(rows: FloatArray) -> FloatArray:
    """||x||^2 of every row."""
    norms: FloatArray = np.einsum("ij,ij->i", rows, rows)
    return norms


def largest_similarity(kernel: Kernel, tolerance: float) -> float:
    """The similarity beyond which k <= tolerance, by bisection; infinite for a kernel that does not decay."""
    if kernel.name not in NARROW_KERNELS or not tolerance > 0:
        return np.inf
    loops, code = kernel.loops()
    low, high, value = 0.0, 1e6, np.empty((1, 1))
    for _ in range(100):
        middle = 0.5 * (low + high)
        loops.rescaled(code, kernel.degree, np.array([[middle]]), 1.0, value)
        low, high = (middle, high) if value[0, 0] > tolerance else (low, middle)
    return high


def make_boxes(rows: FloatArray) -> Boxes:
    """Halve the points at the median of their widest feature until a box holds few."""
    parts = list(_halves(rows, np.arange(len(rows))))
    starts, empty = np.cumsum([0, *(len(part) for part in parts)]), np.empty((0, 0))
    return Boxes(np.concatenate(parts), starts, empty, empty)


def boxes_of(rows: FloatArray, boxes: Boxes) -> Boxes:
    """The boxes with the corners of their rows, which come in the boxes' order."""
    low, high = (np.ascontiguousarray(f.reduceat(rows, boxes.starts[:-1]).T) for f in (np.minimum, np.maximum))
    return replace(boxes, low=low, high=high)


def _halves(rows: FloatArray, part: IntArray) -> Iterator[IntArray]:
    if len(part) <= BOX_POINTS:
        yield part
        return
    inside = rows[part]
    values = inside[:, np.argmax(np.ptp(inside, axis=0))]
    order = np.argsort(values, kind="stable")
    yield from _halves(rows, part[order[: len(part) // 2]])
    yield from _halves(rows, part[order[len(part) // 2 :]])


def _share_near(kernel: Kernel, rows: FloatArray, reach: float) -> float:
    """The share of points within reach of another, on average over some of them."""
    some = np.ascontiguousarray(rows[:: max(1, len(rows) // SAMPLED)])
    loops, code = kernel.loops()
    similar = np.empty((len(some), len(some)))
    loops.similarity(code, kernel.degree, some, np.ascontiguousarray(some.T), similar)
    return float(np.mean(similar <= reach))
