"""x -> k(x, Z) @ coef' for many x: what depends on Z alone is prepared once, and the fastest loop is chosen.

Inner products by BLAS where features are many; and where the kernel is narrow, boxes of points that are too far away to
matter are skipped. Which loop runs depends on Z and the kernel only, never on x: rows are evaluated one by one or all
together to the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._kernel import FloatArray, IntArray, Kernel

BLAS_FEATURES = 16  # from so many features on inner products are left to BLAS
BLAS_KERNELS = ("gaussian", "matern32", "matern52", "polynomial")  # smooth in the squared distance near 0
MOST_NORM = {"float64": 1e3, "float32": 16.0}  # squared norms beyond which ||x||^2 + ||z||^2 - 2 x.z loses digits
BOX_POINTS = 256
NARROW_KERNELS = ("gaussian", "matern12", "matern32", "matern52", "laplacian")
LARGEST_SHARE = 0.5  # of boxes within reach, for skipping to pay
FEWEST_BOXES = 8
SINGLE_ERROR = 1e-4  # of the response's standard deviation


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
    center : (d,) array or 0, what BLAS has subtracted from both sides
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
        """The product at rows X, in the precision of Z."""
        out = np.empty((len(X), len(self.coef)))
        left = self.kernel.prepare(X.astype(self.points.dtype, copy=False))
        check_widths(left.shape[1], self.points.shape[0 if self.norms is None else 1])
        loops, code = self.kernel.loops()
        if self.norms is not None:
            left = left - self.center if self.kernel.name != "polynomial" else left
            own = squared_norms(left)
            loops.matvec_blas(code, self.kernel.degree, left, self.points, self.coef, own, self.norms, out)
        elif self.boxes is not None:
            b = self.boxes
            loops.matvec_near(
                *(code, self.kernel.degree, left, self.points, self.coef, b.starts, b.low, b.high, self.reach, out)
            )
        else:
            loops.matvec(code, self.kernel.degree, left, self.points, self.coef, out)
        return out


def in_precision_of(X: FloatArray, points: FloatArray, coef: FloatArray, scale: float) -> FloatArray:
    """Return the points in float32 if X is and k(X, points) @ coef' then errs by at most 1e-4 of a scale.

    Coefficients that cancel need float64.
    """
    error = float(np.abs(coef).sum(axis=-1).max()) * float(np.finfo(np.float32).eps) / 2
    return points.astype(X.dtype, copy=False) if error <= SINGLE_ERROR * scale else points


def make_product(kernel: Kernel, Z: FloatArray, coef: FloatArray, tolerance: float) -> Product:
    """Prepare the product; kernel values below the tolerance may be taken for 0."""
    rows = kernel.prepare(Z)
    coef = np.ascontiguousarray(coef, dtype=rows.dtype)
    if suits_blas(kernel, rows):
        center = rows.mean(axis=0) if kernel.name != "polynomial" else 0.0
        rows = np.ascontiguousarray(rows - center)
        return Product(kernel, rows, coef, center, squared_norms(rows))
    reach = largest_similarity(kernel, tolerance)
    boxes = make_boxes(rows) if np.isfinite(reach) and len(rows) >= FEWEST_BOXES * BOX_POINTS else None
    if boxes is not None and _share_within(kernel, rows, boxes, reach) <= LARGEST_SHARE:
        points = np.ascontiguousarray(rows[boxes.order].T)
        return Product(kernel, points, np.ascontiguousarray(coef[:, boxes.order]), boxes=boxes, reach=reach)
    return Product(kernel, np.ascontiguousarray(rows.T), coef)


def check_widths(left: int, right: int) -> None:
    """Refuse points of different numbers of features: the loops do not look."""
    if left != right:
        raise ValueError(f"points of {left} and of {right} features do not go together")


def suits_blas(kernel: Kernel, rows: FloatArray) -> bool:
    """Whether distances by inner products are faster, and exact enough."""
    if kernel.name not in BLAS_KERNELS or rows.shape[1] < BLAS_FEATURES:
        return False
    if kernel.name == "polynomial":
        return True
    return bool(squared_norms(rows - rows.mean(axis=0)).max() <= MOST_NORM[rows.dtype.name])


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
    starts = np.cumsum([0, *(len(part) for part in parts)])
    low, high = (np.array([f(rows[part], axis=0) for part in parts]).T for f in (np.min, np.max))
    return Boxes(np.concatenate(parts), starts, np.ascontiguousarray(low), np.ascontiguousarray(high))


def _halves(rows: FloatArray, part: IntArray) -> Iterator[IntArray]:
    if len(part) <= BOX_POINTS:
        yield part
        return
    inside = rows[part]
    values = inside[:, np.argmax(np.ptp(inside, axis=0))]
    order = np.argsort(values, kind="stable")
    yield from _halves(rows, part[order[: len(part) // 2]])
    yield from _halves(rows, part[order[len(part) // 2 :]])


def _share_within(kernel: Kernel, rows: FloatArray, boxes: Boxes, reach: float) -> float:
    """The share of boxes within reach of a point, on average over some of the points."""
    some = rows[:: max(1, len(rows) // 64)][:, None, :]
    gap = np.maximum(np.maximum(boxes.low.T - some, some - boxes.high.T), 0.0)
    nearest = (gap if kernel.name == "laplacian" else gap * gap).sum(axis=2)
    return float(np.mean(nearest <= reach))
