"""One method on one data set, in a process of its own: seconds, peak memory, and the prediction.

python worker.py METHOD data.npz prediction.npy
"""

import json
import os
import resource
import sys
import time
import warnings

for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(pool, "2")

import numpy as np  # noqa: E402  the pools must be limited first
from methods import OURS, PEERS  # noqa: E402


def main():
    warnings.simplefilter("ignore")
    name, data, target = sys.argv[1:]
    method = (OURS | PEERS)[name]
    with np.load(data) as file:
        X, y, new = file["X"], file["y"], file["new"]
    if name in OURS:
        method.fit(X[:500], y[:500], {})  # compile, once a machine
    marks = [time.perf_counter()]
    settings = method.tune(X, y)
    marks.append(time.perf_counter())
    model = method.fit(X, y, settings)
    marks.append(time.perf_counter())
    prediction = model.predict(new)
    marks.append(time.perf_counter())
    np.save(target, prediction)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps([*np.diff(marks).tolist(), peak]))


if __name__ == "__main__":
    main()
