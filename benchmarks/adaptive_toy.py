"""Adaptive centres against rivals on the authors' two-peak function: squared error against the truth, x1e-3.

    python benchmarks/adaptive_toy.py [--seeds 5] [--sizes 2000 10000 50000]

Both peaks of weight 1, d = 2, noise 0.02, 4,096 Sobol points; in brackets the rarest 2% of the response. Everything
with its defaults: the number of random centres is that of the adaptive ones, exact kernel ridge regression has as much
memory as one node needs, and Algorithms 1 and 2 choose their own number of nodes. Limits: N = 2,000 0.12 (3.0),
N = 10,000 0.030 (1.0), N = 50,000 0.010 (0.25).
"""

import argparse
import time
import warnings

import numpy as np
from scipy.stats import qmc

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks, peaks_truth
from skewridge.metrics import rare_mse

POINTS = qmc.Sobol(2, scramble=False).random_base2(12)
TRUTH = peaks_truth(POINTS, 2, (1, 1))
LIMITS = {2000: (0.12, 3.0), 10_000: (0.030, 1.0), 50_000: (0.010, 0.25)}


def rivals(N, m, seed):
    shared = {"random_state": seed, "n_jobs": 2}
    yield "random centres", AdaptiveKernelRidge(n_centers=m, adapt=0, **shared)
    if N <= 2000:
        yield "exact, matern32", DacKernelRidge(n_nodes=1, kernel="matern32", **shared)
    if N <= 10_000:
        yield "Algorithm 1, k=20", DacKernelRidge(n_nodes=20, slices=1, kernel="matern32", **shared)
        yield "Algorithm 2, k=100", DacKernelRidge(n_nodes=100, kernel="matern32", **shared)


def errors(model, X, y):
    start = time.perf_counter()
    fitted = model.fit(X, y).predict(POINTS)
    seconds = time.perf_counter() - start
    return 1e3 * np.mean((fitted - TRUTH) ** 2), 1e3 * rare_mse(TRUTH, fitted, y_ref=y), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(LIMITS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for N in options.sizes:
        rows = {}
        for seed in range(options.seeds):
            X, y = make_peaks(N, 2, 2, weights=(1, 1), noise=0.02, random_state=seed)
            model = AdaptiveKernelRidge(random_state=seed, n_jobs=2)
            rows.setdefault("adaptive centres", []).append(errors(model, X, y))
            for name, rival in rivals(N, model.n_centers_, seed):
                rows.setdefault(name, []).append(errors(rival, X, y))
        for name, values in rows.items():
            mse, rare, seconds = np.mean(values, axis=0)
            limit = "limit {:g} ({:g})".format(*LIMITS[N]) if name == "adaptive centres" and N in LIMITS else ""
            print(f"N={N:<7,} {name:<20} {mse:8.4f} ({rare:.3f}) {seconds:7.2f} s  {limit}", flush=True)


if __name__ == "__main__":
    main()
