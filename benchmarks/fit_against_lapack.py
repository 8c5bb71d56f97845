"""A whole fit against the bare LAPACK factorisations of its nodes, on the same threads, in one run.

    python benchmarks/fit_against_lapack.py

Bare: k in-place dpotrf calls on matrices of the nodes' sizes, threaded in the same way.
"""

import platform
import time

import numpy as np

from skewridge import DacKernelRidge
from skewridge.engine import Job, run
from skewridge.lapack import cholesky

REPEATS = 7


def positive_matrix(n):
    rng = np.random.default_rng(0)
    A = rng.random((n, n)) / n
    return A + A.T + 2 * np.eye(n)


def bare_seconds(sizes, n_jobs):
    source = {n: positive_matrix(n) for n in set(sizes)}
    work = [source[n].copy() for n in sizes]
    start = time.perf_counter()
    for _ in run(cholesky, work, Job(n_jobs)):
        pass
    return time.perf_counter() - start


def fit_seconds(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def main():
    print(f"{platform.processor() or platform.machine()}, numpy {np.__version__}, best of {REPEATS}\n")
    print(f"{'kernel':>10}{'k':>6}{'n':>6}{'threads':>9}{'bare s':>9}{'fit s':>9}{'ratio':>7}")
    rng = np.random.default_rng(0)
    for k, n in ((20, 1000), (100, 500), (1000, 100)):
        X, y = rng.random((k * n, 3)), rng.normal(size=k * n)
        for kernel in ("gaussian", "matern32"):
            for n_jobs in (1, 2):
                model = DacKernelRidge(
                    n_nodes=k, slices=1, kernel=kernel, bandwidth=0.5, penalty=1e-3, n_jobs=n_jobs, random_state=0
                )
                sizes = model.fit(X, y).allocation_.sizes.tolist()
                bare, fit = [], []
                for _ in range(REPEATS):  # alternate, so that both see the same machine
                    bare.append(bare_seconds(sizes, n_jobs))
                    fit.append(fit_seconds(model, X, y))
                ratio = min(fit) / min(bare)
                print(f"{kernel:>10}{k:6}{n:6}{n_jobs:9}{min(bare):9.3f}{min(fit):9.3f}{ratio:7.2f}")


if __name__ == "__main__":
    main()
