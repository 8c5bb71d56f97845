"""What choosing bandwidth and penalty costs: seconds and peak memory against a fit with given ones, in one run.

    python benchmarks/tuning_cost.py

k = 100 nodes of about 500 rows, disjoint (Algorithm 1, N = 50,000) and sharing rows (Algorithm 2, N = 10,000), and
nodes of 1,500 rows. Memory is the peak of what a fit allocates in a process of its own (tracemalloc): the peak RSS of
such small fits drowns in what importing and compiling took before.
"""

import subprocess
import sys
import time
import warnings

import numpy as np

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks

CASES = {"Algorithm 1": (50_000, 3, 100, 1), "Algorithm 2": (10_000, 2, 100, "scott"), "n = 1,500": (30_000, 3, 20, 1)}
GIVEN = {"bandwidth": 0.1, "penalty": 1e-4}
REPEATS = 9

MEMORY = """
import sys, tracemalloc, warnings
warnings.simplefilter("ignore")
from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
N, d, k, slices, settings = eval(sys.argv[1])
DacKernelRidge(n_nodes=3).fit(*make_peaks(300, d, random_state=0))  # compile
X, y = make_peaks(N, d, random_state=0)
tracemalloc.start()
DacKernelRidge(n_nodes=k, slices=slices, random_state=0, n_jobs=1, **settings).fit(X, y)
print(tracemalloc.get_traced_memory()[1] / 2**20)
"""


def seconds(model, X, y):
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def megabytes(*case):
    return float(subprocess.run([sys.executable, "-c", MEMORY, repr(case)], capture_output=True, check=True).stdout)


def main():
    warnings.simplefilter("ignore")
    print(
        f"{'':>12}{'threads':>9}{'fit s':>8}{'tuned s':>9}{'tuning/fit':>12}{'fit MB':>9}{'tuned MB':>10}{'node MB':>9}"
    )
    for name, (N, d, k, slices) in CASES.items():
        X, y = make_peaks(N, d, random_state=0)
        memory = [megabytes(N, d, k, slices, settings) for settings in (GIVEN, {})]
        for n_jobs in (1, 2):
            shared = {"n_nodes": k, "slices": slices, "random_state": 0, "n_jobs": n_jobs}
            given, tuned = DacKernelRidge(**shared, **GIVEN), DacKernelRidge(**shared)
            size = given.fit(X, y).n_distinct_ / k
            tuned.fit(X, y)
            times = [(seconds(given, X, y), seconds(tuned, X, y)) for _ in range(REPEATS)]
            fit, whole = np.median(times, axis=0)
            ratio = np.median([(tuned - given) / given for given, tuned in times])  # of pairs run one after the other
            print(
                f"{name:>12}{n_jobs:9}{fit:8.2f}{whole:9.2f}{ratio:12.1f}"
                f"{memory[0]:9.1f}{memory[1]:10.1f}{8 * size**2 / 2**20:9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
