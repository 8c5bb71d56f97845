"""The one home of k(x, z): grams, cross products, k(X, Z) @ coef and gradients."""

from skewridge.kernels.kernel import BANDWIDTH_FREE, KERNELS, MAX_DEGREE, Kernel, check_kernel_name, make_kernel
from skewridge.kernels.product import SINGLE_ERROR, Product, centred, largest_norm, rounding, squared_norms, suits_blas

__all__ = [
    "BANDWIDTH_FREE",
    "KERNELS",
    "MAX_DEGREE",
    "SINGLE_ERROR",
    "Kernel",
    "Product",
    "centred",
    "check_kernel_name",
    "largest_norm",
    "make_kernel",
    "rounding",
    "squared_norms",
    "suits_blas",
]
