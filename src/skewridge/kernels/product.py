"""x -> k(x, Z) @ coef' for many x: what depends on Z alone is prepared once, and the fastest loop is chosen.

Inner products by BLAS where features are many; and where the kernel is narrow, boxes of points that are too far away to
matter are skipped. Which loop runs depends on Z and the kernel only, never on x: rows are evaluated one by one or all
together to the same bits, except where BLAS rounds a row by its place in the tile (the same blocks give the same bits).
In single precision points are centred before they are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from skewridge import no_collection

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
