"""The estimate of every family: a sum of kernels at points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skewridge._typing import FloatArray, PicklesFields
from skewridge.kernels import Kernel, Product


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
