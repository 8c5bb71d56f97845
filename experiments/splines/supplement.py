"""The supplement's study of smoothing splines: what tau, the slices and the nodes do to the average at d = 4.

    python experiments/splines/supplement.py [--seeds 20] [--keep runs.jsonl] [--jobs 2]

N = 4,000 rows of one and of two peaks, main effects and all two-way interactions; the penalty by a fixed rule in the
total number of rows, N^(-4/5), as the rate of cubic splines has it, and the terms' shares as they start. Squared errors
against the noise-free truth at 2,000 points, overall and where it is rare, and seconds. Each finding of the supplement
is put as an inequality between means over the seeds and gets a verdict: "holds" if the mean difference is beyond two
standard errors, "no difference" within them, "does not hold" beyond them the other way.
"""

import argparse
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from kept import Kept

from skewridge import DacRegressor, SmoothingSpline
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse

N, D, K = 4_000, 4, 10
N_TEST = 2_000
TAUS = (1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5)
SLICES = (10, "sturges", "scott", "fd")
NODES = (5, 10, 20, 40)
QUARTER = 0.25
CLASSICAL = {"slices": 1, "oversampling": 1.0}


def settings():
    """What is run: every tau, every rule for the slices, every number of nodes with and without oversampling."""
    yield from ({"slices": "scott", "oversampling": tau, "n_nodes": K} for tau in TAUS)
    yield from ({"slices": rule, "oversampling": 1.0, "n_nodes": K} for rule in SLICES if rule != "scott")
    yield from ({"slices": "scott", "oversampling": 1.0, "n_nodes": k} for k in NODES if k != K)
    yield from ({**CLASSICAL, "n_nodes": k} for k in NODES)


def measured(peaks, seed, how, n_jobs):
    """Overall error, error where the truth is rare, and the seconds of a fit."""
    X, y, X_test, truth = make_peaks(N, D, peaks, random_state=seed, return_test=True)
    X_test, truth = X_test[:N_TEST], truth[:N_TEST]
    spline = SmoothingSpline(interactions="all", penalty=N**-0.8, theta="start", random_state=0)
    start = time.perf_counter()
    model = DacRegressor(spline, **how, random_state=seed, n_jobs=n_jobs).fit(X, y)
    seconds = time.perf_counter() - start
    prediction = model.predict(X_test)
    return [float(np.mean((prediction - truth) ** 2)), float(rare_mse(truth, prediction, y_ref=y)), seconds]


def name_of(how):
    return f"slices {how['slices']}, tau {how['oversampling']:.2g}, k {how['n_nodes']}"


def verdict(better, worse):
    """Whether the first is below the second, from errors of the same seeds."""
    difference = np.asarray(worse) - np.asarray(better)
    margin = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
    if abs(difference.mean()) <= margin:
        return "no difference"
    return "holds" if difference.mean() > 0 else "does not hold"


def within(errors, usual, share):
    """Whether errors are within a share of the usual ones, from the same seeds."""
    ratio = np.log(errors) - np.log(usual)
    margin = 2 * ratio.std(ddof=1) / np.sqrt(len(ratio))
    distance = abs(ratio.mean()) - np.log1p(share)
    if abs(distance) <= margin:
        return "undecided"
    return "holds" if distance < 0 else "does not hold"


def findings(errors):
    """Every finding and its verdict; errors are by setting, one a seed."""

    def of(slices="scott", tau=1.0, k=K):
        return errors[name_of({"slices": slices, "oversampling": tau, "n_nodes": k})]

    yield "oversampling beats classical", verdict(of(), of(1))
    for more, fewer in pairwise(TAUS):
        yield f"tau = {more:.2g} beats {fewer:.2g}", verdict(of(tau=more), of(tau=fewer))
    for rule in ("sturges", "scott", "fd"):
        yield f"{rule} beats 10 slices", verdict(of(rule), of(10))
    for rule in ("sturges", "fd"):
        yield f"scott beats {rule}", verdict(of(), of(rule))
    for k in NODES:
        yield f"oversampling beats classical at k = {k}", verdict(of(k=k), of(1, k=k))
    for k in (k for k in NODES if k != K):
        yield f"k = {k} is within a quarter of k = {K}", within(of(k=k), of(), QUARTER)


def costs(seconds):
    """Every finding on time and its verdict."""

    def of(slices="scott", tau=1.0, k=K):
        return seconds[name_of({"slices": slices, "oversampling": tau, "n_nodes": k})]

    yield f"tau = {TAUS[-1]:.2g} takes less time than 1", verdict(of(tau=TAUS[-1]), of())
    for k in NODES:
        yield f"classical takes less time than oversampling at k = {k}", verdict(of(1, k=k), of(k=k))


def tabled(peaks, seeds, n_jobs, kept):
    """Errors and seconds of every setting, (seeds, 3), told as they come."""
    for how in settings():
        name = name_of(how)
        runs = np.array([kept((peaks, name, seed), measured, peaks, seed, how, n_jobs) for seed in range(seeds)])
        overall, rare, seconds = runs.mean(axis=0)
        print(f"{peaks} peaks  {name:34} overall {overall:.3e}  rare {rare:.3e}  {seconds:6.2f} s", flush=True)
        yield name, runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = Kept(options.keep)
    for peaks in (1, 2):
        table = dict(tabled(peaks, options.seeds, options.jobs, kept))
        for column, (region, told) in enumerate((("overall", findings), ("rare", findings), ("seconds", costs))):
            for claim, said in told({name: runs[:, column] for name, runs in table.items()}):
                print(f"{peaks} peaks  {region:8} {claim:54} {said}", flush=True)


if __name__ == "__main__":
    main()
