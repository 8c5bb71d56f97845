"""Error and time against the number of centres, by either solver, with standard and learned scales, beside trees.

    python benchmarks/many_centers.py [--set sgemm_gpu/xy] [--centers 300 1000 3000 10000] [--solver cg]
    python benchmarks/many_centers.py --agreement      conjugate gradients against direct at m = 2,000 on three sets
    python benchmarks/many_centers.py --large          10,000 centres, 200,000 rows, settings given: time, memory

A random tenth of the rows is tested, the others fitted; scales, bandwidth and penalty are chosen on fitted rows alone.
Seconds are the processor's on one thread, so that they can be compared on a machine that does other things as well.
Limits: on SGEMM an error of 0.004 of the variance within 15 minutes; conjugate gradients equal to direct to 1e-6 of
sd(y), and with 10,000 centres and 200,000 rows within 4 GB.
"""

import argparse
import time
import warnings

import numpy as np
from data import load
from learned_scales import theirs
from table import peak_gigabytes

from skewridge import AdaptiveKernelRidge
from skewridge.metrics import rare_mse

SETS = ("diamonds/xy", "sgemm_gpu/xy", "gas_turbine/xy")


def timed(settings, X, y, new):
    """The model, its prediction, and the processor's seconds for either."""
    start = time.process_time()
    model = AdaptiveKernelRidge(random_state=0, **settings).fit(X, y)
    middle = time.process_time()
    return model, model.predict(new), middle - start, time.process_time() - middle


def curve(name, centers, scales, solver, peers):
    X, y = load(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [int(0.9 * len(y))])
    variance = y[test].var()

    def tell(label, fit, fitting, predicting, more=""):
        errors = np.mean((fit - y[test]) ** 2) / variance, rare_mse(y[test], fit, y_ref=y[train]) / variance
        print(
            f"{label:38} overall {errors[0]:.5f}  rare {errors[1]:.5f}  {fitting:7.1f} s  {predicting:.1f} s  {more}",
            flush=True,
        )

    for m in centers:
        for scale in scales:
            model, fit, *seconds = timed(
                {"n_centers": m, "scale_features": scale, "solver": solver}, X[train], y[train], X[test]
            )
            peak = peak_gigabytes()
            tell(f"{m} centres, {scale}, {model.solver_}", fit, *seconds, f"steps {model.n_iter_}, peak {peak:.2f} GB")
    for method in peers:
        fit, seconds = theirs(method, X[train], y[train], X[test])
        tell(method, fit, seconds, 0.0)


def agreement():
    for name in SETS:
        X, y = load(name)
        rows = np.random.default_rng(0).permutation(len(y))[:20_000]
        X, y = X[rows], y[rows]
        given = {"n_centers": 2000, "adapt": 0.5, "bandwidth": "median", "penalty": 1e-6, "scale_features": "standard"}
        (_, direct, one, _), (model, found, two, _) = (timed(given | {"solver": s}, X, y, X) for s in ("direct", "cg"))
        gap = np.abs(found - direct).max() / y.std()
        print(
            f"{name:24} difference {gap:.1e} sd(y), {model.n_iter_} steps; direct {one:.1f} s, cg {two:.1f} s",
            flush=True,
        )


def large(n_rows=200_000, n_centers=10_000, fewer=2_500):
    """Conjugate gradients with many centres, and what direct would take: its time with fewer, by the square."""
    X, y = load("sgemm_gpu/xy")
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X[rows], y[rows]
    given = {"adapt": 0.5, "bandwidth": "median", "penalty": 1e-7, "scale_features": "standard"}
    timed(given | {"n_centers": 50, "solver": "cg"}, X[:1000], y[:1000], X[:10])  # compile
    model, _, cg, _ = timed(given | {"n_centers": n_centers, "solver": "cg"}, X, y, X[:10])
    peak = peak_gigabytes()
    direct = timed(given | {"n_centers": fewer, "solver": "direct"}, X, y, X[:10])[2] * (n_centers / fewer) ** 2
    print(f"cg {cg:.0f} s, {model.n_iter_} steps, peak {peak:.2f} GB; direct would take {direct:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", default="sgemm_gpu/xy")
    parser.add_argument("--centers", type=int, nargs="*", default=[300, 1000, 3000, 10_000])
    parser.add_argument("--scales", nargs="*", default=["standard", "learn"])
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--peers", nargs="*", default=["LightGBM", "CatBoost"])
    parser.add_argument("--agreement", action="store_true")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.agreement:
        agreement()
    elif options.large:
        large()
    else:
        curve(options.set, options.centers, options.scales, options.solver, options.peers)


if __name__ == "__main__":
    main()
