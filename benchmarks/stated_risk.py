"""Is the stated risk of SkewRidge honest, and is the blend ever worse than its level 1? Simulations with known truth.

    python benchmarks/stated_risk.py [--seeds 10] [--kept runs.jsonl] [--only signal noise copies]

signal: half of the variance of y is a smooth function, noise is normal or t with 3 degrees of freedom; N = 1,500 and
3,000, d = 2 and 5. noise: features that say nothing. copies: every row four times, against once with weight 4.
Real errors are against the truth of new rows, plus the noise of the rows that were fitted; means over seeds.
"""

import argparse
import json
import os
import warnings
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # before numpy reads them

import numpy as np
from kept import Kept

from skewridge import SkewRidge

SIGNAL = [(n, d, noise) for n in (1500, 3000) for d in (2, 5) for noise in ("normal", "t3")]
NOISE = [(100, 5), (200, 20), (1000, 100), (200, 300)]
TEST_ROWS = 4000


def draw(n, d, noise, rng):
    """Rows, y and the truth, of variance 1 each as far as noise has one."""
    X = rng.normal(size=(n, d))
    truth = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + (X[:, 2] * X[:, 3] if d > 3 else 0.0)
    truth = truth / (1.35 if d > 3 else 1.01)  # about variance 1
    errors = rng.normal(size=n) if noise == "normal" else rng.standard_t(3, n) / np.sqrt(3)
    return X, truth + errors, truth


def fit(X, y, seed, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SkewRidge(random_state=seed).fit(X, y, sample_weight=weights)


def signal(n, d, noise, seed):
    rng = np.random.default_rng([seed, n, d, len(noise)])
    X, y, own = draw(n, d, noise, rng)
    X_new, _, truth = draw(TEST_ROWS, d, noise, rng)
    drawn = float(np.mean((y - own) ** 2))  # the noise as it is: that of t varies from sample to sample
    model = fit(X, y, seed)
    first = model._level_one.predict(X_new)[:, 0]
    excess = [float(np.mean((p - truth) ** 2)) for p in (model.predict(X_new), first)]
    return {"stated": model.expected_error_.mse, "real": excess[0] + drawn, "excess": excess[0], "first": excess[1]}


def noise(n, d, seed):
    rng = np.random.default_rng([seed, n, d])
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    model = fit(X, y, seed)
    prediction = model.predict(rng.normal(size=(TEST_ROWS, d)))
    return {"stated": model.expected_error_.mse, "real": float(np.mean(prediction**2)) + 1.0}


def copies(seed):
    rng = np.random.default_rng(seed)
    X, y, _ = draw(500, 2, "normal", rng)
    X_new, _, truth = draw(TEST_ROWS, 2, "normal", rng)
    copied = fit(np.repeat(X, 4, axis=0), np.repeat(y, 4), seed)
    weighted = fit(X, y, seed, np.full(500, 4.0))
    gap = np.abs(copied.predict(X_new) - weighted.predict(X_new)).max()
    real = float(np.mean((copied.predict(X_new) - truth) ** 2)) + 1.0
    return {"stated": copied.expected_error_.mse, "real": real, "gap": float(gap)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--kept", type=Path, help="a file of findings, which are not found again")
    parser.add_argument("--only", nargs="+", default=["signal", "noise", "copies"])
    options = parser.parse_args()
    kept = Kept(options.kept)
    cases = {"signal": (signal, SIGNAL), "noise": (noise, NOISE), "copies": (copies, [()])}
    for name in options.only:
        work, settings = cases[name]
        for setting in settings:
            runs = [kept((name, *setting, seed), work, *setting, seed) for seed in range(options.seeds)]
            means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            ratio = means["stated"] / means["real"]
            print(json.dumps([name, *setting, {**means, "stated/real": ratio}]), flush=True)


if __name__ == "__main__":
    main()
