"""Where kernel ridge regression, ours included, does badly: outside the data, on unscaled features, in heavy noise.

    python experiments/limits.py

Prints the tables of docs/limits.md: squared errors against the noise-free truth, over its variance, five seeds.
"""

import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from skewridge import AdaptiveKernelRidge, DacKernelRidge, SkewRidge
from skewridge.datasets import make_peaks, peaks_truth
from skewridge.metrics import rare_mse

SEEDS = range(5)
N_ROWS = 2000


def models(seed):
    return {
        "SkewRidge": SkewRidge(random_state=seed),
        "AdaptiveKernelRidge": AdaptiveKernelRidge(random_state=seed),
        "Algorithm 2": DacKernelRidge(n_nodes=10, random_state=seed),
        "classical": DacKernelRidge(n_nodes=10, slices=1, random_state=seed),
        "boosted trees": HistGradientBoostingRegressor(random_state=seed),
    }


def table(title, columns, errors_of):
    """Print the mean over seeds of what errors_of(model, column, seed) returns."""
    print(f"\n{title}\n| | " + " | ".join(columns) + " |")
    for name in models(0):
        cells = [np.mean([errors_of(models(seed)[name], c, seed) for seed in SEEDS], axis=0) for c in columns]
        print(f"| {name} | " + " | ".join(" / ".join(f"{x:.2g}" for x in np.atleast_1d(cell)) for cell in cells) + " |")


def waves(X):
    return np.sin(6 * X[:, 0]) + 2 * X[:, 0]


def outside(model, column, seed):
    """Fitted on [0, 1]; errors inside, and so far beyond."""
    rng = np.random.default_rng(seed)
    X = rng.random((N_ROWS, 1))
    low, high = {"[0, 1]": (0, 1), "[1, 1.1]": (1, 1.1), "[1, 1.5]": (1, 1.5), "[1, 3]": (1, 3)}[column]
    far = np.linspace(low, high, 500)[:, None]
    fit = model.fit(X, waves(X) + 0.1 * rng.normal(size=N_ROWS)).predict(far)
    return np.mean((fit - waves(far)) ** 2) / np.var(waves(X))


def scaled(model, column, seed):
    """One feature in other units, and features that do not matter."""
    rng = np.random.default_rng(seed)
    X, y = make_peaks(N_ROWS, 2, random_state=seed)
    grid = rng.random((2000, 2))
    truth = peaks_truth(grid)
    if column.startswith("x1000"):
        X, grid = X * [1.0, 1000.0], grid * [1.0, 1000.0]
    if column.endswith("unscaled") and "scale_features" in model.get_params():
        model.set_params(scale_features=None)
    if "noise columns" in column:
        X, grid = np.c_[X, rng.random((N_ROWS, 8))], np.c_[grid, rng.random((2000, 8))]
    fit = model.fit(X, y).predict(grid)
    return np.mean((fit - truth) ** 2) / np.var(truth), rare_mse(truth, fit, y_ref=y) / np.var(truth)


def noisy(model, column, seed):
    """Noise as a share of the signal's standard deviation, or with heavy tails."""
    X, _, grid, truth = make_peaks(N_ROWS, 2, random_state=seed, return_test=True)
    rng = np.random.default_rng(seed)
    sd = np.std(peaks_truth(X))
    share = column.split(",")[0].removesuffix(" sd")
    noise = rng.standard_t(2, N_ROWS) / 3 if share == "t" else float(share) * rng.normal(size=N_ROWS)
    fit = model.fit(X, peaks_truth(X) + sd * noise).predict(grid)
    return np.mean((fit - truth) ** 2) / np.var(truth), rare_mse(truth, fit, y_ref=peaks_truth(X)) / np.var(truth)


def main():
    warnings.simplefilter("ignore")
    table("Outside the data", ["[0, 1]", "[1, 1.1]", "[1, 1.5]", "[1, 3]"], outside)
    table("Scales", ["as they are", "x1000", "x1000, unscaled", "8 noise columns"], scaled)
    table("Noise", ["0.3 sd", "1 sd", "3 sd", "t, 2 degrees"], noisy)


if __name__ == "__main__":
    main()
