"""A million rows on a Dask cluster of this machine: two workers against one, and against the fit from arrays.

    python benchmarks/cluster.py [--rows 1000000] [--repeats 2] [--only Adaptive]

Two peaks, d = 6, in ten Parquet files; workers are processes of one thread, warmed up by a small fit. Limits: two
workers take 0.65 of the time of one, and the engine 1.3 of the time of arrays in memory on as many threads.
"""

import argparse
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster
from out_of_core import FEATURES, write
from sklearn.base import clone
from table import record
from timing import seconds

from skewridge import AdaptiveKernelRidge, DacKernelRidge, fit_source, use_engine
from skewridge.execution.passes import map_rows, sum_rows
from skewridge.io.sources import open_source
from skewridge.kernels import make_kernel
from skewridge.ridge.low_rank import make_basis, sum_features

ESTIMATORS = {
    "AdaptiveKernelRidge, defaults": AdaptiveKernelRidge(random_state=0),
    "AdaptiveKernelRidge, 1,000 centres, settings given": AdaptiveKernelRidge(
        1000, 0.5, bandwidth=0.5, penalty=1e-6, scale_features="standard", random_state=0
    ),
    "DacKernelRidge, oversampling 0.1": DacKernelRidge(oversampling=0.1, random_state=0),
}
SMALL = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}
WARMING = (AdaptiveKernelRidge(20, 0.5, **SMALL), DacKernelRidge(4, **SMALL), AdaptiveKernelRidge(random_state=0))


@contextmanager
def workers(n):
    """A cluster of n processes, each with the compiled loops at hand."""
    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": None, "threads_per_worker": 1}
    with LocalCluster(n_workers=n, **options) as cluster, Client(cluster) as client:
        X = np.random.default_rng(0).random((8192 * n, FEATURES))
        for _ in range(2 * n):
            client.run(warm)
        with use_engine("dask"):
            WARMING[0].fit(X, X[:, 0])
        yield client


def warm():
    X = np.random.default_rng(0).random((2000, FEATURES))
    for estimator in WARMING:
        clone(estimator).fit(X, X[:, 0] ** 2).predict(X)


def measure(folder, n_rows, repeats, only):
    X, y = open_source(folder, "y")
    X = X.load()
    for name, estimator in ESTIMATORS.items():
        if not name.startswith(only):
            continue
        what = f"{name}: {n_rows:,} rows, d = {FEATURES}"
        times = {}
        for n in (1, 2):
            own = clone(estimator).set_params(n_jobs=n)
            times["arrays", n], model = seconds(lambda own=own: clone(own).fit(X, y), repeats)
            with use_engine("threads"):
                times["files", n], _ = seconds(lambda own=own: fit_source(clone(own), folder, target="y"), repeats)
            with workers(n):
                times["dask", n], there = seconds(lambda own=own: fit_source(clone(own), folder, target="y"), repeats)
            assert np.array_equal(model.dual_coef_, there.dual_coef_)
            record(what, f"arrays, {n} threads", times["arrays", n], "seconds")
            record(what, f"files, {n} threads", times["files", n], "seconds")
            record(what, f"Dask, {n} workers", times["dask", n], "seconds")
            record(what, f"Dask, {n} workers, over arrays", times["dask", n] / times["arrays", n], "times", 1.3)
        record(what, "two workers over one", times["dask", 2] / times["dask", 1], "times", 0.65)


def task_costs(folder):
    """What the estimate for a billion rows is made of."""
    X, _ = open_source(folder, "y")
    passed, _ = seconds(lambda: [None for _ in map_rows(len, [X])], repeats=1)  # then rows are near
    record("reading rows from Parquet, one thread", "", len(X) / passed / 1e6, "million rows/s")
    summed, _ = seconds(lambda: sum_rows(lambda rows: rows.sum(axis=0), [X]))
    record("a pass of means", "", len(X) / summed / 1e6, "million rows/s")
    some = np.sort(np.random.default_rng(0).permutation(len(X))[:50_000])
    gathered, _ = seconds(lambda: X[some])
    record("gathering 50,000 rows", "", gathered, "seconds")
    rows = X.load()[:20_480]
    y, kernel = rows[:, :1], make_kernel("gaussian", rows, 0.5)
    for m in (300, 1000, 3000):
        basis = make_basis(kernel, rows[:m])
        summed, _ = seconds(lambda basis=basis: sum_features(basis, rows, y, y[:, 0], penalty=1.0))
        record(f"sums of {m:,} centres, one thread", "", summed / len(rows) * 1e6, "microseconds/row")
    nodes = DacKernelRidge(20, slices=1, bandwidth=0.5, penalty=1e-3, n_jobs=1)
    solved, _ = seconds(lambda: clone(nodes).fit(rows[:20_000], y[:20_000, 0]))
    record("a node of 1,000 rows, one thread", "", solved / 20 * 1e3, "milliseconds")
    with workers(2) as client:
        tasks, _ = seconds(lambda: client.gather(client.map(abs, range(2000), pure=False)))
        record("an empty task of Dask", "", tasks / 2000 * 1e3, "milliseconds")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", default="", help="how the names of the estimators begin")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.rows)
        task_costs(folder)
        measure(folder, options.rows, options.repeats, options.only)


if __name__ == "__main__":
    main()
