"""The first fit of a process: 800 rows of SkewRidge with nothing compiled, and with all that it needs compiled.

    python benchmarks/first_fit.py

Each case runs in a new process, one thread, from its start to the end of the first fit, imports included. Seconds are
processor time, and beside them stands the ratio to the next fit of the same process, which a busy machine leaves as it
is. Limits, on an idle machine: 5 s with nothing compiled, 2.5 s compiled.
"""

import os
import subprocess
import sys
import tempfile

from table import record

FIRST_FIT = """
import time, warnings
import numpy as np
from skewridge import SkewRidge
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(800, 6))
y = np.exp(X[:, 0]) + np.sin(2 * X[:, 1]) * X[:, 2] + 0.3 * rng.normal(size=800)
SkewRidge(random_state=0, n_jobs=1).fit(X, y)
first = time.process_time()
SkewRidge(random_state=0, n_jobs=1).fit(X, y)
print(first, time.process_time() - first)
"""


def seconds(cache):
    """Processor seconds of a new process up to the end of its first fit, and those of its second fit."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FIRST_FIT]
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    first, second = map(float, told.split())
    return first, second


def main():
    with tempfile.TemporaryDirectory() as cache:
        for state, limit in (("nothing compiled", 5.0), ("compiled", 2.5)):
            first, second = seconds(cache)
            record(f"first fit of 800 rows, {state}", "", first, "seconds", limit)
            record(f"first fit of 800 rows, {state}", "the next fit", first / second, "times")


if __name__ == "__main__":
    main()
