"""From how many features on inner products are better left to BLAS.

python benchmarks/many_features.py

Gaussian kernel, 10,000 x 4,000, one thread: distances by loops over the time with distances by BLAS.
"""

from unittest.mock import patch

import numpy as np
from table import record
from timing import seconds

from skewridge.kernels import Kernel
from skewridge.kernels import kernel as kernel_module


def seconds_from(n_features, X, Z, coef):
    """The seconds of a product when BLAS is used from so many features on."""
    with patch.object(kernel_module, "BLAS_FEATURES", n_features):
        product = Kernel("gaussian", bandwidth=float(np.sqrt(X.shape[1]))).product(Z, coef)
    product(X[:100])  # compile
    return seconds(lambda: product(X), 5)[0]


def main():
    rng = np.random.default_rng(0)
    coef = rng.normal(size=(1, 4000))
    for d in (4, 8, 12, 16, 24, 32, 64):
        X, Z = rng.random((10_000, d)), rng.random((4000, d))
        record(
            f"BLAS distances, d = {d}", "compiled loops", seconds_from(10**6, X, Z, coef) / seconds_from(1, X, Z, coef)
        )


if __name__ == "__main__":
    main()
