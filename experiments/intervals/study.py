"""Do intervals hold what they promise? Coverage at 0.9, overall and in every slice of the prediction.

    python experiments/intervals/study.py [--seeds 20] [--rows 2000] [--only NAME] [--report]

Three functions and two real sets; AdaptiveKernelRidge() and DacKernelRidge(n_nodes=10); intervals calibrated
on the rows of the fit ("cross-fitted") and, for the first, on a fifth of the rows held back from it ("fresh").
Real sets are split anew for every seed. Writes coverage.csv beside this file, one line for every set, estimator,
calibration, seed and group of test rows:

overall           all test rows
slice 0, 1, ...   rows whose prediction lies in a slice of the calibration with at least 50 rows, from the highest down
rare y            rows whose observed response is rare (nothing is promised there)
rare prediction   rows whose prediction is rare

and prints their coverage over all seeds.
"""

import argparse
import csv
import sys
from collections import Counter
from functools import cache, partial
from pathlib import Path

import numpy as np

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_region
from skewridge.response.slices import slice_labels

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

RESULTS = Path(__file__).with_name("coverage.csv")
COVERAGE, N_TEST = 0.9, 5000
FIELDS = ("set", "estimator", "calibration", "seed", "group", "calibration rows", "test rows", "covered", "width")


def two_peaks(n, seed):
    return make_peaks(n, 2, random_state=seed)


def one_peak(n, seed):
    return make_peaks(n, 4, peaks=1, random_state=seed)


def growing_noise(n, seed):
    """exp(f(x) + 0.3 e): skewed, with noise in proportion to the mean."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, np.exp(2 * np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n))


@cache
def loaded(name):
    from data import load

    return load(name)


def real(name):
    def rows(n, seed):
        X, y = loaded(name)
        picked = np.random.default_rng(seed).permutation(len(y))[:n]
        return X[picked], y[picked]

    return rows


SETS = {
    "two peaks, d=2": two_peaks,
    "one peak, d=4": one_peak,
    "growing noise, d=3": growing_noise,
    "Melbourne housing": real("melbourne_housing/xy"),
    "gas turbine": real("gas_turbine/xy"),
}
ESTIMATORS = {"adaptive": AdaptiveKernelRidge, "dac": partial(DacKernelRidge, n_nodes=10)}
CALIBRATIONS = {
    "adaptive": ("cross-fitted", "fresh"),
    "dac": ("cross-fitted",),
}


def measure(make, estimator, calibration, seed, n_rows, n_test=N_TEST):
    """Yield (group, calibration rows, test rows, covered, median width) of one split."""
    X, y = make(n_rows + n_test, seed)
    share = len(y) - min(n_test, len(y) // 2)
    X, X_test, y, y_test = X[:share], X[share:], y[:share], y[share:]
    model = estimator(random_state=seed)
    if calibration == "fresh":
        held = len(y) // 5
        model.fit(X[held:], y[held:]).calibrate(X[:held], y[:held])
    else:
        model.fit(X, y).calibrate()
    low, high = model.predict_interval(X_test, COVERAGE)
    prediction, bands = model.predict(X_test), model.calibration_.bands(COVERAGE)
    inside, label = (y_test >= low) & (y_test <= high), slice_labels(prediction, bands.edges)
    groups = {"overall": (np.ones(len(label), dtype=bool), model.calibration_.n_rows)}
    for j, rows in enumerate(bands.n_rows[::-1]):
        groups[f"slice {j}"] = label == len(bands.n_rows) - 1 - j, rows
    groups["rare y"] = rare_region(y_test, y), np.nan
    groups["rare prediction"] = rare_region(prediction, y), np.nan
    for name, (mask, rows) in groups.items():
        width = float(np.median((high - low)[mask])) if mask.any() else np.nan
        yield name, rows, int(mask.sum()), int(inside[mask].sum()), width


def run(names, seeds, n_rows):
    for name in names:
        for kind, estimator in ESTIMATORS.items():
            for calibration in CALIBRATIONS[kind]:
                for seed in range(seeds):
                    for record in measure(SETS[name], estimator, calibration, seed, n_rows):
                        yield name, kind, calibration, seed, *record


def usual_slices(records):
    """Slices with at least 50 calibration rows that at least half of the seeds have."""
    held = Counter(r[4] for r in records if r[4].startswith("slice") and float(r[5]) >= 50)
    return [name for name, times in held.items() if 2 * times >= len({r[3] for r in records})]


def pooled(records, group):
    """Coverage over all seeds."""
    mine = [r for r in records if r[4] == group]
    return sum(int(r[7]) for r in mine) / max(1, sum(int(r[6]) for r in mine))


def report(records):
    print(f"{'':46}{'overall':>9}{'least slice':>13}{'rare y':>9}{'rare prediction':>17}{'median width':>14}")
    for key in dict.fromkeys(tuple(r[:3]) for r in records):
        mine = [r for r in records if tuple(r[:3]) == key]
        found = {name: pooled(mine, name) for name in usual_slices(mine)}
        least = min(found, key=found.get)
        overall, rare_y, rare_prediction = (pooled(mine, g) for g in ("overall", "rare y", "rare prediction"))
        width = np.mean([float(r[8]) for r in mine if r[4] == "overall"])
        print(
            f"{', '.join(key):46}{overall:9.3f}{found[least]:8.3f}{f'({least[6:]})':>5}"
            f"{rare_y:9.3f}{rare_prediction:17.3f}{width:14.4g}"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--report", action="store_true", help="print the table of what was measured before")
    options = parser.parse_args()
    if not options.report:
        names = [options.only] if options.only else list(SETS)
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(FIELDS)
            for record in run(names, options.seeds, options.rows):
                writer.writerow(record)
                file.flush()
    with RESULTS.open(newline="") as file:
        report(list(csv.reader(file))[1:])


if __name__ == "__main__":
    main()
