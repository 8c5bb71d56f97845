"""Adaptive against as many random centres on every real data set: paired splits, ratios of test errors.

    python benchmarks/adaptive_real.py [--splits 20] [--rows 10000] [--only melbourne torgo] [--jobs 2]
                                        [--keep splits.jsonl]

80% of the rows (at most --rows) are fitted, at most 10,000 others tested, on standardised features (see
learned_scales.py for learned ones); the random centres' bandwidth and penalty are tuned as the adaptive ones' are. The
rare region is that of the observed response, which favours over-prediction, and, in the last column, of the prediction.
--keep names a file in which splits stay between runs. Limits: geometric mean of the rare ratio 0.97 with its bootstrap
interval over sets and splits below 1; mean overall ratio 1.01, and no set above 1.03.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from data import load, names
from kept import Kept

from skewridge import AdaptiveKernelRidge
from skewridge.metrics import rare_mse, rare_region


def rare_by_prediction(y, fitted, y_train):
    inside = rare_region(fitted, y_train)
    return np.mean((y[inside] - fitted[inside]) ** 2) if inside.any() else np.nan


def split_ratios(X, y, split, most, n_jobs):
    order = np.random.default_rng(split).permutation(len(y))
    n = min(int(0.8 * len(y)), most)
    train, test = order[:n], order[n:][-10_000:]
    start = time.perf_counter()
    settings = {"scale_features": "standard", "random_state": split, "n_jobs": n_jobs}
    adaptive = AdaptiveKernelRidge(**settings).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    random = AdaptiveKernelRidge(adaptive.tuning_.chosen["n_centers"], 0.0, **settings)
    fits = [model.predict(X[test]) for model in (adaptive, random.fit(X[train], y[train]))]
    mse = [np.mean((fit - y[test]) ** 2) for fit in fits]
    rare = [rare_mse(y[test], fit, y_ref=y[train]) for fit in fits]
    predicted = [rare_by_prediction(y[test], fit, y[train]) for fit in fits]
    ratios = (mse[0] / mse[1], rare[0] / rare[1], predicted[0] / predicted[1])
    return [*map(float, ratios), float(adaptive.adapt_), seconds]


def bootstrap(logs, rng, draws=2000):
    """Resample splits within sets, and sets."""
    values = []
    for _ in range(draws):
        sets = [logs[i] for i in rng.integers(len(logs), size=len(logs))]
        values.append(np.mean([np.mean(rng.choice(v, len(v))) for v in sets]))
    return np.exp(np.quantile(values, [0.025, 0.975]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    overall, rare, kept = [], [], Kept(options.keep)
    for name in names():
        if options.only and not any(part in name for part in options.only):
            continue
        X, y = load(name)
        keys = [(name, split, options.rows) for split in range(options.splits)]
        found = np.array([kept(key, split_ratios, X, y, *key[1:], options.jobs) for key in keys])
        finite = found[:, 1][np.isfinite(found[:, 1])]
        overall.append(np.exp(np.mean(np.log(found[:, 0]))))
        rare.append(np.log(finite))
        print(
            f"{name:32} overall {overall[-1]:.3f}  rare {np.exp(rare[-1].mean()):.3f}  rare by prediction "
            f"{np.exp(np.nanmean(np.log(found[:, 2]))):.3f}  adaptive chosen {np.mean(found[:, 3] > 0):.0%}  "
            f"{found[:, 4].mean():.1f} s",
            flush=True,
        )
    low, high = bootstrap(rare, np.random.default_rng(0))
    print(
        f"rare: geometric mean {np.exp(np.mean([r.mean() for r in rare])):.3f}, 95% interval {low:.3f} to {high:.3f}; "
        f"overall: mean {np.mean(overall):.3f}, largest {np.max(overall):.3f}"
    )


if __name__ == "__main__":
    main()
