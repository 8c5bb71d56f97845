"""What first use costs: importing the package, and building the compiled loops once a machine.

python benchmarks/warm_up.py

Import: against importing from scikit-learn, each in new processes. Loops: the first fit and prediction with an empty
cache, and with a full one. Limit: 1.2 times the import.
"""

import os
import subprocess
import sys
import tempfile
import time

from table import record

FIRST_FIT = """
import numpy as np, time
from skewridge import AdaptiveKernelRidge
X = np.random.default_rng(0).random((2000, 3))
for _ in range(2):
    start = time.perf_counter()
    AdaptiveKernelRidge(random_state=0).fit(X, X[:, 0] ** 2).predict(X)
    print(time.perf_counter() - start)
"""


IMPORTS = {
    ("import skewridge", "import sklearn.base"): 1.2,
    ("from skewridge import AdaptiveKernelRidge", "from sklearn.kernel_ridge import KernelRidge"): "",
}


def import_seconds(statement):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def first_fits(cache):
    """The seconds of a process's first and second fit with a cache of compiled loops."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIRST_FIT]
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return [float(line) for line in told.split()]


def main():
    for (own, other), limit in IMPORTS.items():
        pairs = [(import_seconds(own), import_seconds(other)) for _ in range(7)]
        ours, theirs = (min(times) for times in zip(*pairs, strict=True))
        record(own, other, ours / theirs, "of its time", limit)
    with tempfile.TemporaryDirectory() as cache:
        for state in ("first fit on a machine, loops not built", "first fit of a process, loops built"):
            first, second = first_fits(cache)
            record(state, "the next fit", first - second, "seconds more")


if __name__ == "__main__":
    main()
