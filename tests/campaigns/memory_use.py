"""Measure what a process holds: ``python -m tests.campaigns.memory_use TASK [ARGUMENTS]``, one JSON object on stdout.

predict N and fit N: growth in bytes over N predictions of one row or N small fits, after as many to warm up.
peak ESTIMATOR ROWS COLUMNS LIMIT: bytes a fit held at once, and whether it was refused.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

from skewridge import AdaptiveKernelRidge, DacKernelRidge, LocalKernelRidge, SkewRidge, SmoothingSpline
from skewridge.datasets import make_peaks

ESTIMATORS = {"adaptive": AdaptiveKernelRidge, "skew": SkewRidge, "local": LocalKernelRidge}


def held(field="VmRSS"):
    """Bytes of this process in memory now, or at most since the last reset (VmHWM)."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return 1024 * int(line.split()[1])


def small_models():
    given = {"bandwidth": 0.5, "penalty": 1e-3, "random_state": 0}
    few = [DacKernelRidge(3, **given), AdaptiveKernelRidge(30, 0.5, **given), SmoothingSpline(random_state=0)]
    return [*few, LocalKernelRidge(random_state=0)]


def growth(task, n, warm_up):
    """What n runs of a task leave behind after a warm-up: the last quarter's least over the first quarter's."""
    for i in range(warm_up):
        task(i)
    seen = []
    for i in range(n):
        task(i)
        seen.append(held())
    quarter = max(1, n // 4)
    return min(seen[-quarter:]) - min(seen[:quarter])


def growth_of_predictions(n):
    X, y = make_peaks(300, 2, random_state=0)
    models = [model.fit(X, y) for model in (*small_models(), SkewRidge("laplacian", random_state=0))]
    return growth(lambda i: models[i % len(models)].predict(X[i % 300][None]), n, warm_up=n // 10)


def growth_of_fits(n):
    X, y = make_peaks(300, 2, random_state=0)
    models = small_models()
    return growth(lambda i: models[i % len(models)].fit(X, y).predict(X), n, warm_up=max(8, n // 5))


def peak_of_fit(name, n, d, limit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.exp(X[:, 0]) + 0.1 * rng.normal(size=n)
    ESTIMATORS[name](random_state=0).fit(X[:60], y[:60])  # compile
    model = ESTIMATORS[name](memory_limit=limit, random_state=0)
    before = held()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is forgotten
    try:
        model.fit(X, y)
    except MemoryError:
        return {"refused": True, "bytes": held("VmHWM") - before}
    return {"refused": False, "bytes": held("VmHWM") - before}


def main(task, *arguments):
    warnings.simplefilter("ignore")
    if task == "peak":
        name, n, d, limit = arguments
        return peak_of_fit(name, int(n), int(d), limit)
    return {"bytes": {"predict": growth_of_predictions, "fit": growth_of_fits}[task](int(arguments[0]))}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
