"""Prediction with a narrow kernel, with and without skipping what is zero, in one run.

    python benchmarks/narrow_kernel.py [--rows 100000]

Gaussian kernel of bandwidth 0.03 on the unit square, as many new rows as training rows, tolerance 1e-8, 2 threads. The
difference must stay below the tolerance times the 1-norm of the coefficients. Limit: 6 times faster.
"""

import argparse
import time

import numpy as np
from table import record
from timing import seconds

from skewridge.execution.context import run, using
from skewridge.kernels import Kernel

TOLERANCE = 1e-8
BLOCK_ROWS = 1024


def values_of(product, new):
    """The product at all rows, block by block on 2 threads."""
    blocks = [new[start : start + BLOCK_ROWS] for start in range(0, len(new), BLOCK_ROWS)]
    return np.concatenate(list(using(n_jobs=2)(run)(product, blocks)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, new = rng.random((2, options.rows, 2))
    coef = rng.normal(size=(1, options.rows))
    kernel = Kernel("gaussian", bandwidth=0.03)
    kernel.product(X[:5000], coef[:, :5000], TOLERANCE)(new[:10])  # compile
    start = time.perf_counter()
    near = kernel.product(X, coef, TOLERANCE)
    boxing = time.perf_counter() - start
    whole = kernel.product(X, coef, 0.0)
    for product in (near, whole):
        product(new[:10])  # compile
    some, values = seconds(lambda: values_of(near, new))
    every, expected = seconds(lambda: values_of(whole, new), 1)
    gap, bound = np.abs(values - expected).max(), TOLERANCE * np.abs(coef).sum()
    name = f"narrow kernel, {options.rows:,} x {options.rows:,}, skipping"
    record(name, "the same without", every / (some + boxing), limit=6)
    record(f"{name}, difference", "its bound", gap / bound, "of it", 1)


if __name__ == "__main__":
    main()
