"""SkewRidge against boosted trees on real tables: errors overall and in the rare region, and stated against real.

    python benchmarks/two_levels.py [--trees PYTHON] [--tables bike_sharing/xy ...] [--splits 5] [--kept runs.jsonl]

At most 15,000 rows are fitted and 10,000 others predicted; one of every four neighbours in y is kept for the test, so
that both parts hold the rare rows. Trees stop early on a tenth of the rows that they are given. PYTHON is one that
has catboost and lightgbm (`make bench-two-levels` uses the peers' environment). One thread each, processor seconds.
Categories become dummies for all. Nothing here was used to choose a setting.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ONE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
os.environ.update(ONE)  # before numpy reads them

import numpy as np
import pandas as pd
from data import FOLDER
from kept import Kept

TABLES = (
    "california_housing/xy",
    "bike_sharing/xy",
    "terrain/xy",
    "gas_turbine/xy",
    "diamonds/xy",
    "melbourne_housing/xy_wide",
    "sgemm_gpu/xy",
    *(f"torgo15/xy_{name}" for name in ("Abalone", "Accel", "availPwr", "bank8FM")),
    *(f"torgo15/xy_{name}" for name in ("cpuSm", "fuelCons", "heat", "maxTorque")),
)
EASY = ("torgo15/xy_heat", "torgo15/xy_maxTorque", "terrain/xy", "sgemm_gpu/xy")  # where trees are far behind
FIT_ROWS, TEST_ROWS = 15_000, 10_000
CLIP = (0.5, 2.0)  # a table's ratio counts for no more


def load(table):
    """X, with dummies, and y."""
    frame = pd.read_csv(FOLDER / f"{table}.csv.gz")
    y = frame.pop(frame.columns[-1]).to_numpy(float)
    return pd.get_dummies(frame, dtype=float).to_numpy(float), y


def split(X, y, seed):
    """One row of every four neighbours in y for the test, the others to fit to."""
    rng, n = np.random.default_rng(1000 + seed), len(y)
    order = np.lexsort((rng.random(n), y))
    group = np.arange(n) // 4
    first = np.lexsort((rng.random(n), group))
    lead = np.r_[True, group[first][1:] != group[first][:-1]]
    tested = np.zeros(n, dtype=bool)
    tested[order[first[lead]]] = True
    test = rng.permutation(np.flatnonzero(tested))[:TEST_ROWS]
    train = rng.permutation(np.flatnonzero(~tested))[:FIT_ROWS]
    return X[train], y[train], X[test], y[test]


def errors(y, prediction, y_train):
    """Squared errors over the variance of y, overall and where y is rare."""
    from skewridge.metrics import rare_mse

    variance = y.var()
    overall = float(np.mean((prediction - y) ** 2) / variance)
    return {"mse": overall, "rare": float(rare_mse(y, prediction, y_ref=y_train) / variance)}


def ours(X, y, X_test, y_test):
    import time
    import warnings

    from skewridge import SkewRidge

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SkewRidge(random_state=0).fit(X[:300], y[:300]).predict(X_test[:9])  # compile
        start = time.process_time()
        model = SkewRidge(random_state=0).fit(X, y)
        fitted = time.process_time()
        prediction = model.predict(X_test)
    stated = model.expected_error_.mse / y.var()
    seconds = {"fit": fitted - start, "predict": time.process_time() - fitted}
    return {**errors(y_test, prediction, y), "stated": stated, **seconds}


TREES = """
import sys, time, numpy as np
import catboost, lightgbm
given = np.load(sys.argv[1]); X, y, T, name = given["X"], given["y"], given["X_test"], sys.argv[2]
order = np.random.default_rng(0).permutation(len(y)); stop, rest = order[: len(y) // 10], order[len(y) // 10 :]
start = time.process_time()
if name == "catboost":
    model = catboost.CatBoostRegressor(iterations=2000, thread_count=1, verbose=0, allow_writing_files=False,
                                       random_seed=0, early_stopping_rounds=50)
    model.fit(X[rest], y[rest], eval_set=(X[stop], y[stop]))
else:
    model = lightgbm.LGBMRegressor(n_estimators=2000, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)
    model.fit(X[rest], y[rest], eval_set=[(X[stop], y[stop])], callbacks=[lightgbm.early_stopping(50, verbose=False)])
seconds = time.process_time() - start
np.savez(sys.argv[3], prediction=model.predict(T), seconds=seconds)
"""


def trees(python, name, X, y, X_test, y_test):
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(given, X=X, y=y, X_test=X_test)
        subprocess.run([python, "-c", TREES, given, name, found], check=True, env=os.environ | ONE)
        answer = np.load(found)
        return {**errors(y_test, answer["prediction"], y), "fit": float(answer["seconds"])}


def measure(options, kept):
    for table in options.tables:
        X, y = load(table)
        for seed in range(options.splits):
            parts = split(X, y, seed)
            for name in options.methods:
                how = (ours, *parts) if name == "skewridge" else (trees, options.trees, name, *parts)
                found = kept((table, seed, name), *how)
                print(json.dumps([table, len(parts[1]), X.shape[1], seed, name, found]), flush=True)


def ratio(kept, table, splits, name, what):
    """Ours over another's, mean errors over splits."""
    mean = [np.mean([kept.known[table, seed, m][what] for seed in range(splits)]) for m in ("skewridge", name)]
    return mean[0] / mean[1]


def summary(options, kept):
    heads = ("mse", "rare", "/cat", "rare", "/lgb", "stated", "s", "/cat")
    print(f"\n{'table':26}", *(f"{head:>7}" for head in heads))
    for table in options.tables:
        runs = [kept.known[table, seed, "skewridge"] for seed in range(options.splits)]
        mse, rare, stated, fit = (np.mean([run[key] for run in runs]) for key in ("mse", "rare", "stated", "fit"))
        against = [ratio(kept, table, options.splits, *pair) for pair in (("catboost", "mse"), ("catboost", "rare"))]
        against.append(ratio(kept, table, options.splits, "lightgbm", "mse"))
        slower = ratio(kept, table, options.splits, "catboost", "fit")
        figures = (mse, rare, *against, stated / mse, fit, slower)
        print(f"{table:26}", *(f"{figure:7.3g}" for figure in figures))
    for label, tables in (("all", options.tables), ("hard", [t for t in options.tables if t not in EASY])):
        for name in ("catboost", "lightgbm"):
            means = []
            for what in ("mse", "rare"):
                clipped = np.clip([ratio(kept, t, options.splits, name, what) for t in tables], *CLIP)
                means.append(np.exp(np.mean(np.log(clipped))))
            print(f"{label:5} over {name:9} geometric mean: overall {means[0]:.3f}, rare {means[1]:.3f}")
    stated = [
        np.mean([kept.known[t, s, "skewridge"]["stated"] for s in range(options.splits)])
        / np.mean([kept.known[t, s, "skewridge"]["mse"] for s in range(options.splits)])
        for t in options.tables
    ]
    mean = np.exp(np.mean(np.log(stated)))
    print(f"stated over real: geometric mean {mean:.3f}, {min(stated):.3f} to {max(stated):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", default=sys.executable, help="a Python with catboost and lightgbm")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", nargs="+", default=["catboost", "lightgbm", "skewridge"])
    parser.add_argument("--kept", type=Path, help="a file of findings, which are not found again")
    options = parser.parse_args()
    kept = Kept(options.kept)
    measure(options, kept)
    if len(options.methods) == 3:
        summary(options, kept)


if __name__ == "__main__":
    main()
