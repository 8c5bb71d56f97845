"""How time and memory grow with rows, centres, nodes and features, beside the expected slope in log-log.

    python benchmarks/growth.py [--most 1000000] [--plot docs/images/growth.png]

Rows: AdaptiveKernelRidge with all defaults, d = 8, two peaks (tune and fit, 2 threads, each in its own process, peak
resident memory). The others at fixed settings. Limits: 6 GB at a million rows, slope 1.1 in rows from 10^5 to 10^6.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
from table import peak_gigabytes, record

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks

FIXED = {"bandwidth": 0.5, "penalty": 1e-4, "random_state": 0, "n_jobs": 2}


def one_fit(n_rows):
    """Fit with defaults in this process and print seconds and peak memory."""
    X, y = make_peaks(n_rows, 8, 2, random_state=0)
    AdaptiveKernelRidge(random_state=0, n_jobs=2).fit(X[:1000], y[:1000])  # compile
    start = time.perf_counter()
    model = AdaptiveKernelRidge(random_state=0, n_jobs=2).fit(X, y)
    seconds = time.perf_counter() - start
    print(seconds, peak_gigabytes(), model.n_centers_)


def grow_rows(most):
    found = []
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        if n <= most:
            command = [sys.executable, __file__, "--one", str(n)]
            seconds, gigabytes, m = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
            name = f"tune and fit, {n:,} rows, d = 8, defaults ({m} centres)"
            record(name, "", float(seconds), "seconds")
            record(name, "", float(gigabytes), "GB at the peak", 6 if n == 1_000_000 else "")
            found.append((n, float(seconds)))
    return found


def timed(make, X, y):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        make().fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def grow_others():
    """What grows -> (expected slope, [(size, seconds)])."""
    X, y = make_peaks(20_000, 8, 2, random_state=0)
    wide = np.random.default_rng(0).random((20_000, 64))
    DacKernelRidge(10, slices=1, kernel="matern32", **FIXED).fit(X[:1000], y[:1000])  # compile
    AdaptiveKernelRidge(50, 0.5, **FIXED).fit(X[:1000], y[:1000])
    return {
        "centres m": (2, [(m, timed(lambda m=m: AdaptiveKernelRidge(m, 0.5, **FIXED), X, y)) for m in SIZES]),
        "nodes k": (
            -2,
            [(k, timed(lambda k=k: DacKernelRidge(k, slices=1, kernel="matern32", **FIXED), X, y)) for k in NODES],
        ),
        "features d": (
            1,
            [(d, timed(lambda: AdaptiveKernelRidge(200, 0.5, **FIXED), wide[:, :d], y)) for d in (4, 8, 16, 32, 64)],
        ),
    }


SIZES, NODES = (250, 500, 1000, 2000), (10, 20, 40, 80)


def slope(found):
    sizes, seconds = np.log(found).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def draw(curves, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(3.2 * len(curves), 3), layout="constrained")
    for ax, (name, (expected, found)) in zip(axes, curves.items(), strict=True):
        sizes, seconds = np.array(found).T
        ax.loglog(sizes, seconds, "o-", label="measured")
        ax.loglog(sizes, seconds[-1] * (sizes / sizes[-1]) ** expected, "--", color="0.6", label=f"slope {expected}")
        ax.set(xlabel=name, ylabel="seconds")
        ax.set_xticks(sizes, [f"{size:,.0f}" if size < 10_000 else f"{size:.0e}" for size in sizes])
        ax.minorticks_off()
        ax.legend(frameon=False)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--one", type=int)
    parser.add_argument("--plot")
    options = parser.parse_args()
    if options.one:
        one_fit(options.one)
    else:
        report(grow_rows(options.most), options.plot)


def report(rows, plot):
    curves = {"rows N": (1, rows), **grow_others()}
    large = [pair for pair in rows if pair[0] >= 100_000]
    if len(large) > 1:
        record("growth with rows N from 10^5", "", slope(large), "slope", 1.1)
    for name, (expected, found) in curves.items():
        record(f"growth with {name}", "", slope(found), "slope", expected)
    if plot:
        draw(curves, plot)


if __name__ == "__main__":
    main()
