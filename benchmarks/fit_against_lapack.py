"""A whole fit against the bare LAPACK factorisations of its nodes, on the same threads, in one run.

    python benchmarks/fit_against_lapack.py

Bare: k in-place dpotrf calls on matrices of the nodes' sizes in a compiled loop without the GIL, in four shares a
thread. Limits: 1.25 times the bare time for nodes of 1,000 rows, 2.5 for nodes of 100; two threads gain at least 0.95
of what they gain the bare calls.
"""

import ctypes
import time

import numpy as np
from numba import njit
from numba.extending import get_cython_function_address
from table import record

from skewridge import DacKernelRidge
from skewridge.execution.context import run, using

REPEATS = 7
LIMITS = {1000: 1.25, 100: 2.5}
SHARES = 4  # of the bare calls a thread
UPPER, INFO = np.array([ord("U")], dtype=np.uint8), np.zeros(1, dtype=np.int32)

dpotrf = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(
    get_cython_function_address("scipy.linalg.cython_lapack", "dpotrf")
)


def positive_matrix(n):
    rng = np.random.default_rng(0)
    A = rng.random((n, n)) / n
    return A + A.T + 2 * np.eye(n)


@njit(nogil=True)
def factorise(stack, order, upper, info):
    """Factorise every matrix of a stack in its place."""
    for i in range(len(stack)):
        dpotrf(upper.ctypes, order.ctypes, stack[i].ctypes, order.ctypes, info.ctypes)
    return info[0]


def bare_seconds(k, n, n_jobs):
    order, stack = np.array([n], dtype=np.int32), np.repeat(positive_matrix(n)[None], k, axis=0)
    shares = np.array_split(stack, SHARES * n_jobs)
    factorise(stack[:0], order, UPPER, INFO)  # compile
    start = time.perf_counter()
    told = list(using(n_jobs=n_jobs)(run)(lambda share: factorise(share, order, UPPER, INFO.copy()), shares))
    seconds = time.perf_counter() - start
    assert not any(told)
    return seconds


def fit_seconds(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def both_seconds(k, kernel, n_jobs, X, y):
    """The least seconds of the bare calls and of the fit, taken in turns so that both see the same machine."""
    model = DacKernelRidge(
        n_nodes=k, slices=1, kernel=kernel, bandwidth=0.5, penalty=1e-3, n_jobs=n_jobs, random_state=0
    )
    sizes = model.fit(X, y).allocation_.sizes
    assert sizes.min() == sizes.max()
    pairs = [(bare_seconds(k, int(sizes[0]), n_jobs), fit_seconds(model, X, y)) for _ in range(REPEATS)]
    return np.min(pairs, axis=0)


def main():
    rng = np.random.default_rng(0)
    for k, n in ((20, 1000), (100, 500), (1000, 100)):
        X, y = rng.random((k * n, 3)), rng.normal(size=k * n)
        for kernel in ("gaussian", "matern32"):
            times = {n_jobs: both_seconds(k, kernel, n_jobs, X, y) for n_jobs in (1, 2)}
            for n_jobs, (bare, fit) in times.items():
                name = f"DacKernelRidge.fit, {k} nodes of {n:,}, {kernel}, {n_jobs} threads"
                record(name, "bare dpotrf", fit / bare, "of its time", LIMITS.get(n, ""))
            gains = [one / two for one, two in zip(*times.values(), strict=True)]
            record(
                f"gain of two threads, nodes of {n:,}, {kernel}",
                "bare dpotrf's gain",
                gains[1] / gains[0],
                "of it",
                0.95,
            )


if __name__ == "__main__":
    main()
