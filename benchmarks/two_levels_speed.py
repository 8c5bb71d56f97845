"""Two levels against the LAPACK and BLAS calls that they contain, one thread against two, and predictions.

    python benchmarks/two_levels_speed.py

One thread unless said. The bare calls of a step of learning (400 rows, 32 features): dpotrf, dpotri and dsyrk; of a
cell of 1,000 rows: dpotrf, dtrtri and its kernel values. Limits: 1.6 and 1.4 times their time; 0.3 s for 10,000 rows
and 1 ms for one, by a model of 15,000 x 16; two threads in 0.65 of the time of one.
"""

import time
import warnings

import numpy as np
from table import record
from timing import seconds as timed

from skewridge import SkewRidge
from skewridge.cells.fit import solve_cell
from skewridge.execution.blas import one_blas_thread
from skewridge.kernels import Kernel
from skewridge.linalg.cholesky import Workspace, cholesky, lapack
from skewridge.ridge.learn_scales import LearnedKernel
from skewridge.ridge.leave_one_out import leave_one_out
from skewridge.ridge.sample import Sample

KERNEL = Kernel("matern32", bandwidth=1.0)


def step():
    """A step of learning over its bare calls."""
    rng = np.random.default_rng(0)
    Z, Y, Q = rng.normal(size=(400, 32)) / 6.0, rng.normal(size=(400, 1)), rng.normal(size=(400, 1))
    G = KERNEL.gram(Z) + 0.01 * np.eye(400)

    def bare():
        factor = cholesky(G.copy())
        lapack("potri", factor, b"U", len(factor), factor, len(factor))
        return factor.T @ factor

    ours, _ = timed(lambda: leave_one_out(KERNEL, Z, Y, 0.01, trend=1.0, Q=Q), 15)
    ratio = ours / timed(bare, 15)[0]
    record("a step of learning, 400 rows, 32 features", "its bare LAPACK and BLAS calls", ratio, "times", 1.6)


def cell():
    """A cell over its bare calls."""
    rng = np.random.default_rng(0)
    Z, Y, q = rng.normal(size=(1000, 16)) / 4.0, rng.normal(size=(1000, 1)), rng.normal(size=(1000, 1))
    room, workspace, f = np.empty((1000, 1000)), Workspace(), np.ones(1000)

    def bare():
        KERNEL.gram_lower(Z, room)
        room.reshape(-1)[::1001] += 0.01
        cholesky(room)
        lapack("trtri", room, b"U", b"N", len(room), room, len(room))

    sample, learned = Sample(Z, Y, f, f, trend=q), LearnedKernel(np.ones(16), 0.01, np.ones(1), np.empty(0))
    ours, _ = timed(lambda: solve_cell(KERNEL, sample, learned, workspace), 15)
    ratio = ours / timed(bare, 15)[0]
    record("a cell of 1,000 rows, 16 features", "dpotrf, dtrtri and kernel values", ratio, "times", 1.4)


def table(n_rows, n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    return X, np.exp(X[:, 0]) + np.sin(2 * X[:, 1]) * X[:, 2] + 0.3 * rng.normal(size=n_rows)


def fits_and_predictions():
    X, y = table(25_000, 16)
    seconds = {}
    for n_jobs in (1, 2):
        start = time.perf_counter()
        model = SkewRidge(random_state=0, n_jobs=n_jobs).fit(X[:15_000], y[:15_000])
        seconds[n_jobs] = time.perf_counter() - start
    record("SkewRidge, 15,000 x 16, two threads", "one thread", seconds[2] / seconds[1], "times", 0.65)
    model.set_params(n_jobs=1)
    record("prediction of 10,000 rows", "", timed(lambda: model.predict(X[15_000:]), 5)[0], "seconds", 0.3)
    took = []
    for row in X[15_000:15_500]:
        start = time.perf_counter()
        model.predict(row[None, :])
        took.append(time.perf_counter() - start)
    record("prediction of one row, median", "", 1e3 * float(np.median(took)), "ms", 1.0)


def main():
    warnings.simplefilter("ignore")
    X, y = table(1000, 4)
    SkewRidge(random_state=0).fit(X, y).predict(X)  # compile
    with one_blas_thread():
        step()
        cell()
    fits_and_predictions()


if __name__ == "__main__":
    main()
