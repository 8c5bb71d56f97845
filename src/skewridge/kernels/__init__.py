"""The one home of k(x, z): grams, cross products, k(X, Z) @ coef and gradients."""

from ._kernel import BANDWIDTH_FREE, KERNELS, MAX_DEGREE, Kernel, check_kernel_name, make_kernel

__all__ = ["BANDWIDTH_FREE", "KERNELS", "MAX_DEGREE", "Kernel", "check_kernel_name", "make_kernel"]
