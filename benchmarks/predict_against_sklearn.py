"""Prediction from the same coefficients against scikit-learn's KernelRidge, on the same threads, in one run.

    python benchmarks/predict_against_sklearn.py [--rows 20000] [--features 3]

Gaussian kernel, as many new rows as training rows, 2 threads. Agreement is the largest difference over the 1-norm of
the coefficients (float64) and over the standard deviation of y (float32), from scikit-learn in float64. Limits, against
scikit-learn in float64: 8 times faster in float64 with agreement 1e-12, 20 times in float32 with 1e-4.
"""

import argparse

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from table import record
from timing import seconds

from skewridge.execution.context import using
from skewridge.execution.passes import predict_rows
from skewridge.kernels import Kernel
from skewridge.ridge.exact import Expansion

BANDWIDTH = 0.5


def peer(X, coef):
    model = KernelRidge(kernel="rbf", gamma=BANDWIDTH**-2)
    model.X_fit_, model.dual_coef_ = X, coef
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, new = rng.random((2, options.rows, options.features))
    coef = rng.normal(size=options.rows)
    theirs, expected = seconds(lambda: peer(X, coef).predict(new))
    case = f"prediction, {options.rows:,} x {options.rows:,}, d = {options.features}"
    for dtype, limit, agreement in ((np.float64, 8, 1e-12), (np.float32, 20, 1e-4)):
        model = Expansion(X, coef, Kernel("gaussian", bandwidth=BANDWIDTH), scale=expected.std())
        points = new.astype(dtype)
        using(n_jobs=2)(predict_rows)(model.predict, points[:2000])  # compile
        ours, fitted = seconds(lambda model=model, points=points: using(n_jobs=2)(predict_rows)(model.predict, points))
        gap = np.abs(fitted - expected).max()
        scale = np.abs(coef).sum() if dtype is np.float64 else expected.std()
        name = f"{case}, {np.dtype(dtype).name}"
        record(name, "KernelRidge.predict", theirs / ours, limit=limit)
        record(f"{name}, difference", "KernelRidge.predict", gap / scale, "of the scale", agreement)
    single = [values.astype(np.float32) for values in (X, coef, new)]
    theirs, _ = seconds(lambda: peer(*single[:2]).predict(single[2]))
    record(name, "KernelRidge.predict in float32", theirs / ours)


if __name__ == "__main__":
    main()
