"""The one home of k(x, z): grams, cross products, k(X, Z) @ coef and gradients."""

from skewridge.kernels.kernel import (
    BANDWIDTH_FREE,
    KERNELS,
    MAX_DEGREE,
    MEDIAN_ROWS,
    Kernel,
    check_kernel_name,
    make_kernel,
    median_bandwidth,
    penalty_rule,
)
from skewridge.kernels.product import (
    SINGLE_ERROR,
    Product,
    check_widths,
    largest_norm,
    loops,
    rounding,
    squared_norms,
    suits_blas,
)

__all__ = [
    "BANDWIDTH_FREE",
    "KERNELS",
    "MAX_DEGREE",
    "MEDIAN_ROWS",
    "SINGLE_ERROR",
    "Kernel",
    "Product",
    "check_kernel_name",
    "check_widths",
    "largest_norm",
    "loops",
    "make_kernel",
    "median_bandwidth",
    "penalty_rule",
    "rounding",
    "squared_norms",
    "suits_blas",
]
