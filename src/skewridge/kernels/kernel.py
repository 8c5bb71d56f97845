"""A kernel and its products with points.

Every kernel is a profile of a similarity of *prepared* points: features divided by the bandwidth, or scaled
to the training range (sobolev), or as they are (polynomial).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from skewridge._garbage import no_collection
from skewridge._typing import FloatArray
from skewridge._validation import check_choice, check_integer, check_magnitude, check_real, compiles
from skewridge.kernels.product import Product, centred, check_widths, make_product, squared_norms, suits_blas

KERNELS = ("gaussian", "matern12", "matern32", "matern52", "laplacian", "polynomial", "sobolev")
BANDWIDTH_FREE = ("polynomial", "sobolev")
MAX_DEGREE = 100
NEGLIGIBLE = 1e-12  # kernel values below this may be skipped: an error of at most this times the coefficients' 1-norm
LEAST_RANGE = float(np.finfo(np.float64).tiny)  # of a feature that sobolev tells from a constant; 1 / less overflows
_ALIASES = {"rbf": "gaussian", "poly": "polynomial"}


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
        X = X.astype(_precision(X), copy=False)
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

    def prepare_right(self, Z: FloatArray) -> FloatArray:
        """Return the points of the right-hand side, feature by feature, (d, m)."""
        return np.ascontiguousarray(self.prepare(Z).T)

    def gram(self, X: FloatArray) -> FloatArray:
        """k(X, X), (n, n), symmetric to the last bit."""
        lower = np.tril(self.gram_lower(X, np.empty((len(X), len(X)), dtype=_precision(X))))
        return lower + np.tril(lower, -1).T

    def diagonal(self, X: FloatArray) -> FloatArray:
        """k(x, x) of every row, (n,)."""
        if self.name == "polynomial":
            X = X.astype(_precision(X), copy=False)
            return (1.0 + np.sum(X * X, axis=1)) ** self.degree
        return np.prod(1.0 + self.prepare(X), axis=1) if self.name == "sobolev" else np.ones(len(X))

    def gram_lower(self, X: FloatArray, out: FloatArray) -> FloatArray:
        """k(X, X) into the lower triangle of out, which a factorisation needs no more than; the rest may be lost."""
        left, _ = centred(self, self.prepare(X))
        if suits_blas(self, left):
            return self._cross_blas(left, left, out, lower=True)
        self._loop("gram_lower")(left, np.ascontiguousarray(left.T), out)
        return out

    def cross(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """k(X, Z), (n, m), in the precision of Z."""
        prepared = self.prepare(Z)
        rows, center = centred(self, prepared)
        if suits_blas(self, rows):
            left = self.prepare(X.astype(rows.dtype, copy=False))
            check_widths(left.shape[1], rows.shape[1])
            return self._cross_blas(left - center, rows, np.empty((len(X), len(rows)), dtype=rows.dtype))
        return self.cross_prepared(X, np.ascontiguousarray(prepared.T))

    def cross_prepared(self, X: FloatArray, right: FloatArray) -> FloatArray:
        """k(X, Z) with right = prepare_right(Z), for callers that go through X block by block."""
        out = np.empty((len(X), right.shape[1]), dtype=right.dtype)
        self._loop("cross")(self.prepare(X.astype(right.dtype, copy=False)), right, out)
        return out

    def _cross_blas(self, left: FloatArray, rows: FloatArray, out: FloatArray, lower: bool = False) -> FloatArray:
        loops, code = self.loops()
        loops.cross_blas(code, self.degree, left, rows, squared_norms(rows), lower, out)
        return out

    def similarity_upper(self, X: FloatArray, out: FloatArray) -> FloatArray:
        """The similarities that :meth:`rescaled_below` takes: above the diagonal of out, and the diagonal, (n,)."""
        left, diagonal = self.prepare(X), np.empty(len(X))
        self._loop("similarity_upper")(left, np.ascontiguousarray(left.T), out, diagonal)
        return diagonal

    def similarity_prepared(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The similarities that :meth:`rescaled` takes, (n, m): left = prepare(X), right = prepare_right(Z)."""
        out = np.empty((len(left), right.shape[1]))
        self._loop("similarity")(left, right, out)
        return out

    def rescaled(self, similarities: FloatArray, bandwidth: float | None, out: FloatArray) -> FloatArray:
        """k at another bandwidth from this kernel's similarities: distances serve every bandwidth."""
        loops, code = self.loops()
        loops.rescaled(code, self.degree, similarities, self._factor(bandwidth), out)
        return out

    def rescaled_below(self, square: FloatArray, diagonal: FloatArray, bandwidth: float | None) -> FloatArray:
        """k(X, X) at another bandwidth into the lower triangle of a matrix whose upper one keeps the similarities."""
        loops, code = self.loops()
        loops.rescaled_below(code, self.degree, square, diagonal, self._factor(bandwidth))
        return square

    def _factor(self, bandwidth: float | None) -> float:
        """The factor of similarities at another bandwidth."""
        ratio = 1.0 if bandwidth is None or self.bandwidth is None else self.bandwidth / bandwidth
        return ratio if self.name == "laplacian" else ratio * ratio

    def product(self, Z: FloatArray, coef: FloatArray, tolerance: float = NEGLIGIBLE) -> Product:
        """Return x -> k(x, Z) @ coef' for coefficients (p, m); see :class:`Product`.

        Kernel values below the tolerance may be taken for 0: an error of at most tolerance * ||coef||_1.
        """
        return make_product(self, Z, coef, tolerance)

    def matvec(self, X: FloatArray, Z: FloatArray, coef: FloatArray) -> FloatArray:
        """k(X, Z) @ coef, (n,), holding one tile of k(X, Z) at a time; k(Z, X) @ v is the transposed product."""
        return self.product(Z, coef[None, :])(X)[:, 0]

    def gradient(self, X: FloatArray, Z: FloatArray, coef: FloatArray) -> FloatArray:
        """d/dx of k(x, Z) @ coef at every x, (n, d).

        Where the kernel has a kink (matern12 and laplacian at x = z, sobolev where features meet) the value
        is half-way between the one-sided derivatives.
        """
        out = np.empty(X.shape)
        self._loop("gradient")(self.prepare(X), self.prepare_right(Z), coef, out)
        return out * self._stretch(X)

    def scale_gradient(
        self, X: FloatArray, similar: FloatArray, curvature: FloatArray, V: FloatArray, A: FloatArray
    ) -> FloatArray:
        """sum_ij W_ij dk(s x_i, s x_j) / dlog s_f of every feature f at s = 1, (d,).

        W = curvature - (V A' + A V') / 2 with a symmetric curvature, (n, n), and V and A, (n, p), is
        never formed. ``similar`` has the rows' similarities above its diagonal, see
        :meth:`similarity_upper`.
        """
        if self.name in BANDWIDTH_FREE:
            names = ", ".join(name for name in KERNELS if name not in BANDWIDTH_FREE)
            raise ValueError(f"the {self.name} kernel has no scales to learn; use one of {names}")
        left, out = self.prepare(X), np.empty(X.shape[1])
        columns = (np.ascontiguousarray(own.T) for own in (left, V, A))
        self._loop("scale_gradient")(left, next(columns), similar, curvature, *columns, out)
        return out

    def _stretch(self, X: FloatArray) -> FloatArray | float:
        """d prepared / d x: the chain rule of :meth:`prepare`."""
        if self.bandwidth is not None:
            return 1.0 / self.bandwidth
        if self.name == "sobolev":
            inside = (X >= np.array(self.low)) & (X <= np.array(self.high))
            return np.where(inside, self._inverse_range(), 0.0)
        return 1.0

    def _inverse_range(self) -> FloatArray:
        """1 / (high - low), and 0 for a feature whose range is 0 or as good as: its factor is then 1."""
        span = np.array(self.high) - np.array(self.low)
        return np.divide(1.0, span, out=np.zeros_like(span), where=span >= LEAST_RANGE)

    def loops(self) -> tuple[Any, int]:
        """The module of loops, and what they call this kernel."""
        return loops_module(), KERNELS.index(self.name)

    def _loop(self, name: str) -> Any:
        loops, code = self.loops()

        def call(left: FloatArray, right: FloatArray, *others: Any) -> None:
            check_widths(left.shape[1], right.shape[0])
            getattr(loops, name)(code, self.degree, left, right, *others)

        return call


def _precision(X: FloatArray) -> type[np.floating[Any]]:
    """The dtype of prepared points: float32 stays, all else becomes float64."""
    return np.float32 if X.dtype == np.float32 else np.float64


@cache
def loops_module() -> ModuleType:
    """The compiled loops, imported on first use since numba takes half a second; without numba the plain ones."""
    with no_collection():
        return import_module(f"{__package__}.{'_compiled' if compiles() else '_numpy'}")


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
