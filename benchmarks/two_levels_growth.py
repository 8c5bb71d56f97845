"""How SkewRidge grows with rows: seconds and peak memory on two threads, beside CatBoost on the same rows.

    python benchmarks/two_levels_growth.py [--trees PYTHON] [--rows 10000 100000 1000000]

Two peaks, 8 features, defaults, every fit in a process of its own. PYTHON is one that has catboost. Limits at a million
rows: 6 GB, twice CatBoost's time (early stopping on a tenth of the rows); slope of log time in log rows 1.1.
"""

import argparse
import subprocess
import sys

import numpy as np
from table import peak_gigabytes, record

TREES = """
import sys, time, numpy as np
from catboost import CatBoostRegressor
rows = np.load(sys.argv[1]); X, y = rows[:, :-1], rows[:, -1]; n = len(y) // 10
model = CatBoostRegressor(iterations=2000, thread_count=2, verbose=0, allow_writing_files=False, random_seed=0,
                          early_stopping_rounds=50)
start = time.perf_counter()
model.fit(X[n:], y[n:], eval_set=(X[:n], y[:n]))
print(time.perf_counter() - start)
"""


def rows_of(n_rows):
    from skewridge.datasets import make_peaks

    return make_peaks(n_rows, 8, 2, random_state=0)


def one_fit(n_rows):
    """Fit in this process and print seconds and peak memory."""
    import time

    from skewridge import SkewRidge

    X, y = rows_of(n_rows)
    SkewRidge(random_state=0, n_jobs=2).fit(X[:1000], y[:1000])  # compile
    start = time.perf_counter()
    SkewRidge(random_state=0, n_jobs=2).fit(X, y)
    print(time.perf_counter() - start, peak_gigabytes())


def answered(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=True, text=True)
    return [float(word) for word in done.stdout.split()]


def trees(python, n_rows):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.npy")
        np.save(file, np.column_stack(rows_of(n_rows)))
        return answered(python, "-c", TREES, file)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", help="a Python with catboost")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--one", type=int)
    options = parser.parse_args()
    if options.one:
        one_fit(options.one)
        return
    found = []
    for n in options.rows:
        name, last = f"SkewRidge, {n:,} x 8, defaults, two threads", n == 1_000_000
        seconds, gigabytes = answered(sys.executable, __file__, "--one", n)
        record(name, "", seconds, "seconds")
        record(name, "", gigabytes, "GB at the peak", 6 if last else "")
        if options.trees:
            record(name, "CatBoost", seconds / trees(options.trees, n), "times", 2 if last else "")
        found.append((np.log(n), np.log(seconds)))
    if len(found) > 1:
        record("slope of log time in log rows", "", float(np.polyfit(*zip(*found, strict=True), 1)[0]), "", 1.1)


if __name__ == "__main__":
    main()
