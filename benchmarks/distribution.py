"""SkewRidge's whole distribution against quantiles of boosted trees, conformalised, on real tables.

    python benchmarks/distribution.py [--trees PYTHON] [--tables bike_sharing/xy ...] [--splits 5]
                                      [--methods catboost lightgbm skewridge] [--kept runs.jsonl]
                                      [--arrays FOLDER] [--most-trees 600 300]

Tables and splits are those of two_levels.py. Trees predict the levels 0.01, ..., 0.99, stop early
on a tenth of the rows that they are given, and every level is then moved by the conformal quantile
of y - q on that tenth. PYTHON is one that has catboost and lightgbm. One thread each, processor
seconds. --arrays keeps the quantiles that were predicted, one file a table, split and method.

--most-trees bounds trees, for time; the last lines name tables where that is felt. With 300 of
LightGBM its loss was 45% above that with 2,000 on sgemm_gpu, 2% on bike_sharing, 1% on
california_housing (five levels, one split); CatBoost's rate of 0.15 cost 2% against 0.05 on the latter.
Give both 2000, and another --kept file, before anything is claimed.

CRPS is the mean of twice the pinball loss over these levels, in units of sd(y); the upper one is
that of max(y, t), with t the 95% quantile of the fitted y. Exceedance is that of its 98% quantile,
or of the largest value below it where it is a cap, which nothing exceeds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import two_levels  # first, since it limits threads before numpy is imported

# isort: split
import numpy as np
from kept import Kept

from skewridge.metrics import crps, upper_crps

TABLES = (
    "california_housing/xy",
    "bike_sharing/xy",
    "gas_turbine/xy",
    "diamonds/xy",
    "melbourne_housing/xy_wide",
    "sgemm_gpu/xy",
    "torgo15/xy_Abalone",
)
METHODS = ("catboost", "lightgbm", "skewridge")
LEVELS = np.arange(1, 100) / 100
LOW, HIGH = 4, 94  # places of 0.05 and 0.95, the ends of the 90% interval
EXTREME = (0.99, 0.999)
UPPER, FAR = 0.95, 0.98  # of the fitted y: where the upper CRPS begins, and what may be exceeded
SMALLEST = 0.1  # of the rows: a smaller fifth, which ties leave, does not count
REACHED = 0.9  # of the most trees, on average over levels and splits: the bound was felt
ACROSS, BY_FIFTH = (0.88, 0.92), (0.85, 0.95)  # coverage that is asked for


def far_level(y):
    """The 98% quantile of the fitted y; where that is a cap, which none exceeds, the largest below it."""
    level = np.quantile(y, FAR)
    return float(y[y < level].max() if level == y.max() else level)


def fifths(column):
    """Which fifth of a column every row is in; equal values share one."""
    edges = np.unique(np.quantile(column, (0.2, 0.4, 0.6, 0.8)))
    return np.searchsorted(edges, column)


def coverage(X, y, quantiles):
    """The share of rows in the 90% interval, and [column, fifth, rows, covered] for every fifth."""
    inside = (y >= quantiles[:, LOW]) & (y <= quantiles[:, HIGH])
    groups = []
    for j, column in enumerate(X.T):
        label = fifths(column)
        rows, covered = np.bincount(label), np.bincount(label, inside)
        large = np.flatnonzero(rows >= SMALLEST * len(y))
        groups += [[j, int(k), int(rows[k]), int(covered[k])] for k in large]
    return float(inside.mean()), groups


def figures(parts, quantiles, extreme=None, exceedance=None):
    """What every method is judged by; trees state the far exceedance by the levels above it."""
    _, y_fit, X, y = parts
    upper, far = float(np.quantile(y_fit, UPPER)), far_level(y_fit)
    overall, groups = coverage(X, y, quantiles)
    extreme = quantiles[:, -1:] if extreme is None else extreme
    exceedance = (quantiles > far).mean(axis=1) if exceedance is None else exceedance
    return {
        "crps": crps(y, quantiles, LEVELS) / y.std(),
        "upper": upper_crps(y, quantiles, LEVELS, threshold=upper) / y.std(),
        "coverage": overall,
        "fifths": groups,
        "rows": len(y),
        "above": [int(np.sum(y > q)) for q in extreme.T],
        "stated": float(exceedance.sum()),
        "counted": int(np.sum(y > far)),
    }


def ours(parts, arrays):
    """Fit and calibrate: the first quantiles asked for bring whatever calibration a fit leaves."""
    from skewridge import SkewRidge

    X, y, X_test, _ = parts
    far = far_level(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SkewRidge(random_state=0, n_jobs=1).fit(X[:500], y[:500]).predict_quantiles(X_test[:9], [0.5])
        clock = [time.process_time()]
        model = SkewRidge(random_state=0, n_jobs=1).fit(X, y)
        clock.append(time.process_time())
        model.predict_quantiles(X_test[:1], [0.5])
        clock.append(time.process_time())
        quantiles = model.predict_quantiles(X_test, LEVELS)
        clock.append(time.process_time())
        extreme = model.predict_quantiles(X_test, EXTREME)
        exceedance = model.predict_exceedance(X_test, far)
    keep(arrays, quantiles=quantiles, extreme=extreme, exceedance=exceedance)
    seconds = dict(zip(("fit", "calibrate", "predict"), np.diff(clock).tolist(), strict=True))
    return {**figures(parts, quantiles, extreme, exceedance), **seconds}


# CatBoost takes 0.2 s a tree of 99 levels and 15,000 rows: 64 borders and a rate of 0.15 make its fit
# shorter (after 30 trees 64 borders were no worse than 254); small tables have the time for 0.05.
TREES = """
import sys, time, numpy as np
import catboost, lightgbm
given = np.load(sys.argv[1]); X, y, T, name = given["X"], given["y"], given["X_test"], sys.argv[2]
levels, most = given["levels"], int(sys.argv[4])
order = np.random.default_rng(0).permutation(len(y)); many = len(y) // 10
stop, rest = order[:many], order[many:]
start = time.process_time()
if name == "catboost":
    loss = "MultiQuantile:alpha=" + ",".join(f"{level:g}" for level in levels)
    model = catboost.CatBoostRegressor(
        loss_function=loss, iterations=most, learning_rate=0.15 if len(y) > 5000 else 0.05,
        border_count=64, thread_count=1,
        verbose=0, allow_writing_files=False, random_seed=0, early_stopping_rounds=30)
    model.fit(X[rest], y[rest], eval_set=(X[stop], y[stop]))
    trees = model.tree_count_
    predict = model.predict
else:
    models = []
    for level in levels:
        models.append(lightgbm.LGBMRegressor(objective="quantile", alpha=level, n_estimators=most,
                                             n_jobs=1, verbose=-1, random_state=0))
        models[-1].fit(X[rest], y[rest], eval_set=[(X[stop], y[stop])],
                       callbacks=[lightgbm.early_stopping(30, verbose=False)])
    trees = float(np.mean([model.best_iteration_ for model in models]))
    predict = lambda rows: np.column_stack([model.predict(rows) for model in models])
fitted = time.process_time()
error = np.sort(y[stop, None] - predict(X[stop]), axis=0)
place = np.minimum(np.ceil((many + 1) * levels - 1e-9).astype(int), many) - 1
shift = error[place, np.arange(len(levels))]
calibrated = time.process_time()
quantiles = np.sort(predict(T) + shift, axis=1)
seconds = np.diff([start, fitted, calibrated, time.process_time()])
np.savez(sys.argv[3], quantiles=quantiles, seconds=seconds, trees=trees)
"""


def trees(python, name, most, parts, arrays):
    X, y, X_test, _ = parts
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(given, X=X, y=y, X_test=X_test, levels=LEVELS)
        command = [python, "-W", "ignore", "-c", TREES, given, name, found, str(most)]
        subprocess.run(command, check=True, env=os.environ | two_levels.ONE)
        answer = np.load(found)
        quantiles, seconds, many = answer["quantiles"], answer["seconds"], float(answer["trees"])
    keep(arrays, quantiles=quantiles)
    named = dict(zip(("fit", "calibrate", "predict"), seconds.tolist(), strict=True))
    return {**figures(parts, quantiles), **named, "trees": many}


def keep(path, **arrays):
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **{name: np.float32(found) for name, found in arrays.items()})


def measure(options, kept):
    for seed in range(options.splits):
        for table in options.tables:
            X, y = two_levels.load(table)
            parts = two_levels.split(X, y, seed)
            for name in options.methods:
                file = f"{table.replace('/', '-')}-{seed}-{name}.npz"
                arrays = options.arrays and options.arrays / file
                first = (ours,) if name == "skewridge" else (trees, options.trees, name, options.most_trees.get(name))
                found = kept((table, seed, name), *first, parts, arrays)
                told = {key: value for key, value in found.items() if key != "fifths"}
                print(json.dumps([table, len(parts[1]), X.shape[1], seed, name, told]), flush=True)


def bounded(options, kept):
    """Name the tables where trees had no more to grow, or nearly: there the comparison may favour us."""
    for name in (name for name in options.methods if name != "skewridge"):
        most = options.most_trees[name]
        full = [t for t in options.tables if mean(runs_of(options, kept, t, name), "trees") > REACHED * most]
        print(f"{name}: at or near its bound of {most} trees on {', '.join(full) or 'no table'}")


def runs_of(options, kept, table, name):
    return [kept.known[table, seed, name] for seed in range(options.splits)]


def mean(runs, what):
    return float(np.mean([run[what] for run in runs]))


def worst_fifths(runs):
    """The least and the largest coverage of a fifth of a column, over all splits together."""
    rows, covered = {}, {}
    for run in runs:
        for j, k, many, inside in run["fifths"]:
            rows[j, k] = rows.get((j, k), 0) + many
            covered[j, k] = covered.get((j, k), 0) + inside
    shares = [covered[group] / rows[group] for group in rows]
    return min(shares), max(shares)


def lines(options, kept):
    heads = ("crps", "upper", "cover", "least", "most", ">0.99", ">0.999", "sum/n", "fit", "calib")
    print(f"\n{'table':26}{'method':11}", *(f"{head:>7}" for head in heads))
    for table in options.tables:
        for name in options.methods:
            runs = runs_of(options, kept, table, name)
            rows = sum(run["rows"] for run in runs)
            above = np.sum([run["above"] for run in runs], axis=0) / rows
            above = (*above, np.nan)[:2]
            sums = sum(run["stated"] for run in runs) / sum(run["counted"] for run in runs)
            ends = (mean(runs, "coverage"), *worst_fifths(runs))
            told = (mean(runs, "crps"), mean(runs, "upper"), *ends, *above, sums)
            told += (mean(runs, "fit"), mean(runs, "calibrate"))
            print(f"{table:26}{name:11}", *(f"{figure:7.3g}" for figure in told))


def ratios(options, kept, name, what):
    """Ours over another's, a table each."""
    pair = ("skewridge", name)
    errors = [[mean(runs_of(options, kept, t, m), what) for m in pair] for t in options.tables]
    return [own / other for own, other in errors]


def against(options, kept):
    for name in options.methods[:-1]:
        for what in ("crps", "upper"):
            found = ratios(options, kept, name, what)
            told = " ".join(f"{ratio:.3f}" for ratio in found)
            middle = np.exp(np.mean(np.log(found)))
            print(f"over {name:9} {what:5}: geometric mean {middle:.3f} (at most 0.95); {told}")
    others = [ratios(options, kept, name, "upper") for name in options.methods[:-1]]
    best = sum(max(found) < 1 for found in zip(*others, strict=True))
    print(f"best upper tail: {best} of {len(options.tables)} tables")


def own_calibration(options, kept):
    """What is asked of our distribution: coverage, extreme quantiles, exceedance, time."""
    of = {table: runs_of(options, kept, table, "skewridge") for table in options.tables}
    runs = [run for some in of.values() for run in some]
    across = [mean(some, "coverage") for some in of.values()]
    ends = np.array([worst_fifths(some) for some in of.values()])
    print(f"coverage: {min(across):.3f} to {max(across):.3f} (asked {ACROSS})")
    print(f"by fifth: {ends.min():.3f} to {ends.max():.3f} (asked {BY_FIFTH})")
    shares = np.sum([run["above"] for run in runs], axis=0) / sum(run["rows"] for run in runs)
    print(f"above 0.99: {shares[0]:.4f} (0.008 to 0.012); above 0.999: {shares[1]:.5f} (0.0005 to 0.002)")
    sums = [sum(r["stated"] for r in some) / sum(r["counted"] for r in some) for some in of.values()]
    print(f"stated over counted exceedance: {min(sums):.3f} to {max(sums):.3f} (0.85 to 1.15)")
    shares = [mean(some, "calibrate") / mean(some, "fit") for some in of.values()]
    print(f"calibration over fit: at most {max(shares):.3f} (0.25)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", default=sys.executable, help="a Python with catboost and lightgbm")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--kept", type=Path, help="a file of findings, which are not found again")
    parser.add_argument("--arrays", type=Path, help="a folder for the quantiles that were predicted")
    parser.add_argument("--most-trees", type=int, nargs=2, default=(600, 300), help="CatBoost's, LightGBM's")
    options = parser.parse_args()
    options.most_trees = dict(zip(METHODS[:2], options.most_trees, strict=True))
    options.methods = sorted(options.methods, key=METHODS.index)
    kept = Kept(options.kept)
    measure(options, kept)
    lines(options, kept)
    if len(options.methods) > 1 and "skewridge" in options.methods:
        against(options, kept)
    if "skewridge" in options.methods:
        own_calibration(options, kept)
    bounded(options, kept)


if __name__ == "__main__":
    main()
