"""The low-rank model of level 1: what is kept of a fit, and how it predicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray, IntArray, PicklesFields
from skewridge.centers.scales import Transform, column_scale
from skewridge.kernels import Kernel, Product
from skewridge.linalg.cholesky import lower_solve
from skewridge.ridge.low_rank import Basis


@dataclass(frozen=True)
class Predictor:
    """x -> clip(k(x, C) a + intercepts): all of a low-rank model that a worker needs to predict."""

    product: Product
    intercepts: FloatArray
    low: FloatArray
    high: FloatArray

    def predict(self, X: FloatArray) -> FloatArray:
        """The estimate at one block of scaled rows, (n, p)."""
        return np.clip(self.product(X) + self.intercepts, self.low, self.high)

    @property
    def row_work(self) -> float:
        """Operations a row."""
        return 60.0 * self.product.coef.size


@dataclass(frozen=True)
class LowRankModel:
    """f(x) = F(x) beta + intercept.

    Attributes
    ----------
    basis : Basis
    rows : (r,) array, the centres' places among the rows
    beta : (p, r) array
    intercepts : (p,) array
    factor : (r, r) array, the Cholesky factor of F'F + N penalty, or of the centres' estimate of it
    noise : (p,) array, the estimated standard deviation of the noise
    spread : (p,) array, the standard deviation of the responses
    n_rows : the sum of the weights
    low, high : (p,) arrays, what predictions stay between
    dominant, pulls : rows that dominate the fit, and by how many typical residuals they move it
    n_steps, precision : of conjugate gradients; None where there were none
    """

    basis: Basis
    rows: IntArray
    beta: FloatArray
    intercepts: FloatArray
    factor: FloatArray
    noise: FloatArray
    spread: FloatArray
    n_rows: float
    low: FloatArray
    high: FloatArray
    dominant: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    pulls: FloatArray = field(default_factory=lambda: np.empty(0))
    n_steps: int | None = None
    precision: float = 0.0

    @cached_property
    def dual(self) -> FloatArray:
        """The coefficients of k(x, C), (p, r)."""
        return self.basis.dual(self.beta)

    def predictor(self, single: bool = False) -> Predictor:
        """The estimate at blocks of scaled features, in single precision where that serves."""
        product = self.basis.kernel.product(self.basis.centers, self.dual)
        product = product.in_single(self.spread) if single else product
        return Predictor(product, self.intercepts, self.low, self.high)

    def std(self, X: FloatArray) -> FloatArray:
        """Posterior deviation of f at a block of rows, (n, p): noise^2 (F'(F'F + c)^-1 F + 1/N)."""
        h = np.sum(lower_solve(self.factor, self.basis.features(X)) ** 2, axis=1)
        return np.sqrt(h + 1.0 / self.n_rows)[:, None] * self.noise


@dataclass(frozen=True)
class GlobalModel(PicklesFields):
    """g(x) = clip(intercepts + sum_i coef_i k(transform x, centers_i)) * units + means: level 1 of two, as it is saved.

    The mean of the two fits that gave the training rows their cross-fitted values.

    Attributes
    ----------
    transform : what rows go through first
    centers : (m, D) array of transformed rows
    coef : (p, m) array
    kernel : Kernel
    intercepts, low, high, means, units : (p,) arrays
    """

    transform: Transform
    centers: FloatArray
    coef: FloatArray
    kernel: Kernel
    intercepts: FloatArray
    low: FloatArray
    high: FloatArray
    means: FloatArray
    units: FloatArray

    @cached_property
    def product(self) -> Product:
        """x -> k(x, centers) @ coef', prepared once."""
        return self.kernel.product(self.centers, self.coef)

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict one block of rows, (n, p)."""
        return self.predict_transformed(self.transform(X))

    def predict_transformed(self, Z: FloatArray) -> FloatArray:
        """Predict one block of rows that went through the transform, (n, p)."""
        return np.clip(self.product(Z) + self.intercepts, self.low, self.high) * self.units + self.means

    @property
    def column_scale(self) -> FloatArray:
        """Every column's scale, (d,): the root of the sum of squares over its forms."""
        return column_scale(self.transform)
