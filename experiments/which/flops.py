"""Error against floating-point operations: every estimator of the docs page "Which estimator?".

    python experiments/which/flops.py [--seeds 3]

Two peaks of the paper, d = 2, N = 10,000, matern32, bandwidth and penalty chosen by each estimator's own criterion
(exact kernel ridge regression takes those of 2,000 random centres). Operations are those of the fit with its settings
known: n^3/3 a node, or 2 N m^2. Writes docs/images/which_flops.png and prints the table.
"""

import argparse
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "which_flops.png"
N = 10_000


def divided(**settings):
    return lambda X, y, seed: DacKernelRidge(kernel="matern32", random_state=seed, n_jobs=2, **settings).fit(X, y)


def centred(**settings):
    return lambda X, y, seed: AdaptiveKernelRidge(random_state=seed, n_jobs=2, **settings).fit(X, y)


def exact(X, y, seed):
    known = AdaptiveKernelRidge(2000, 0.0, scale_features=None, random_state=seed, n_jobs=2).fit(X, y)
    return divided(n_nodes=1, bandwidth=known.bandwidth_, penalty=known.penalty_)(X, y, seed)


WAYS = {
    **{f"Algorithm 1, k={k}": ("o", "#4477AA", divided(n_nodes=k, slices=1)) for k in (100, 50, 20, 8)},
    "Algorithm 2, as published": ("s", "#CC3311", divided(n_nodes=100)),
    "Algorithm 2, focus 0.5": ("s", "#EE7733", divided(n_nodes=100, focus=0.5)),
    "Algorithm 2, focus 0": ("s", "#EECC66", divided(n_nodes=100, focus=0.0)),
    "Algorithm 2, pilot": ("D", "#CC3311", divided(n_nodes=100, slice_on="pilot")),
    "Algorithm 2, pilot, focus 0.5": ("D", "#EE7733", divided(n_nodes=100, slice_on="pilot", focus=0.5)),
    **{f"random centres, m={m}": ("^", "#BBBBBB", centred(n_centers=m, adapt=0.0)) for m in (100, 400, 1600)},
    "adaptive centres": ("*", "#228833", centred()),
    "exact": ("x", "black", exact),
}


def flops(model):
    if isinstance(model, AdaptiveKernelRidge):
        return 2.0 * N * model.n_centers_**2
    return float(sum(len(rows) ** 3 for rows in model.allocation_)) / 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharex=True)
    print("| | flops of a fit | MSE | rare-region MSE |\n|---|---|---|---|")
    for name, (marker, colour, fit) in WAYS.items():
        found = []
        for seed in range(options.seeds):
            X, y, X_test, truth = make_peaks(N, 2, random_state=seed, return_test=True)
            model = fit(X, y, seed)
            fitted = model.predict(X_test)
            found.append((flops(model), np.mean((fitted - truth) ** 2), rare_mse(truth, fitted, y_ref=y)))
        cost, mse, rare = np.mean(found, axis=0)
        print(f"| {name} | {cost:.1e} | {mse:.2e} | {rare:.2e} |", flush=True)
        for ax, value in zip(axes, (mse, rare), strict=True):
            ax.loglog(cost, value, marker, color=colour, markersize=11 if marker == "*" else 7, label=name)
    for ax, title in zip(axes, ("overall", "rare region"), strict=True):
        ax.set(xlabel="floating-point operations of a fit", ylabel="squared error against the truth", title=title)
    axes[1].legend(fontsize=7, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
