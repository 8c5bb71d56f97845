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
from table import record

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
    for name, (N, d, k, slices) in CASES.items():
        X, y = make_peaks(N, d, random_state=0)
        memory = [megabytes(N, d, k, slices, settings) for settings in (GIVEN, {})]
        for n_jobs in (1, 2):
            shared = {"n_nodes": k, "slices": slices, "random_state": 0, "n_jobs": n_jobs}
            given, tuned = DacKernelRidge(**shared, **GIVEN), DacKernelRidge(**shared)
            size = given.fit(X, y).n_distinct_ / k
            tuned.fit(X, y)
            times = [(seconds(given, X, y), seconds(tuned, X, y)) for _ in range(REPEATS)]
            ratio = np.median([(tuned - given) / given for given, tuned in times])  # of pairs run one after the other
            record(f"choosing bandwidth and penalty, {name}, {n_jobs} threads", "one fit", ratio, "of its time")
        record(f"memory of choosing, {name}", "one fit", memory[1] / memory[0], "of its peak")
        record(f"memory of choosing, {name}", "one node's matrix", memory[1] / (8 * size**2 / 2**20), "of it")


if __name__ == "__main__":
    main()
