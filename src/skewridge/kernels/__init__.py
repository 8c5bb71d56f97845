"""The one home of k(x, z): grams, cross products, k(X, Z) @ coef and gradients."""

from ._kernel import BANDWIDTH_FREE, KERNELS, MAX_DEGREE, Kernel, check_kernel_name, make_kernel
from ._product import in_precision_of, squared_norms, suits_blas

__all__ = [
    "BANDWIDTH_FREE",
    "KERNELS",
    "MAX_DEGREE",
    "Kernel",
    "check_kernel_name",
    "in_precision_of",
    "make_kernel",
    "squared_norms",
    "suits_blas",
]
