"""SkewRidge alone, boosted trees alone, both together, and together over the better of the two.

    python benchmarks/companions.py [--trees sklearn | lightgbm | catboost]
                                    [--tables bike_sharing/xy ...] [--rows 6000] [--splits 2]

Splits are those of two_levels.py; trees are as they come, on one thread. LightGBM and CatBoost must
be importable beside skewridge: the peers' environment with PYTHONPATH=src will do. Asked of
companions: on no table more than 1.02 of the better of the two alone, mean errors over splits.
"""

import argparse
import time
import warnings

import two_levels  # first, since it limits threads before numpy is imported

TABLES = ("melbourne_housing/xy_wide", "bike_sharing/xy", "gas_turbine/xy", "california_housing/xy")
METHODS = ("alone", "trees", "both")
WORST = 1.02  # of the better of the two alone


def sklearn():
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0)


def lightgbm():
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)


def catboost():
    from catboost import CatBoostRegressor

    return CatBoostRegressor(thread_count=1, verbose=0, allow_writing_files=False, random_seed=0)


TREES = {make.__name__: make for make in (sklearn, lightgbm, catboost)}


def methods(make):
    from skewridge import SkewRidge

    return {
        "alone": SkewRidge(random_state=0, n_jobs=1),
        "trees": make(),
        "both": SkewRidge(companions=[make()], random_state=0, n_jobs=1),
    }


def measure(table, seed, rows, make):
    """Errors and processor seconds of a fit, and the trees' weight in the blend."""
    two_levels.FIT_ROWS, found = rows, {}
    X, y, X_test, y_test = two_levels.split(*two_levels.load(table), seed)
    methods(make)["alone"].fit(X[:300], y[:300])  # compile
    for name, model in methods(make).items():
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        found[name] = {**two_levels.errors(y_test, model.predict(X_test), y), "fit": seconds}
    return {**found, "weight": float([*model.blend_weights_.values()][-1])}


def over_better(runs, what):
    """The mean error of both over the better of the two alone."""
    alone, trees, both = (sum(run[name][what] for run in runs) for name in METHODS)
    return both / min(alone, trees)


def line(table, split, runs):
    """Means over some splits of a table."""
    errors, seconds = (
        [sum(run[name][what] for run in runs) / len(runs) for name in METHODS]
        for what in ("mse", "fit")  # seconds of the processor
    )
    weight = sum(run["weight"] for run in runs) / len(runs)
    ratios = over_better(runs, "mse"), over_better(runs, "rare"), weight
    columns = ((9.4, errors), (8.3, ratios), (6.1, (seconds[0], seconds[2])))
    figures = "".join(f"{own:{width}f}" for width, some in columns for own in some)
    return f"{table:28}{split:>6}{figures}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", choices=TREES, default="sklearn")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = "".join(f"{head:>9}" for head in METHODS)
    print(f"{'table':28}{'split':>6}{heads}{'/better':>8}{'rare':>8}{'weight':>8}{'s':>12}")
    worst = {}
    for table in options.tables:
        runs = []
        for seed in range(options.splits):
            runs.append(measure(table, seed, options.rows, TREES[options.trees]))
            print(line(table, seed, runs[-1:]), flush=True)
        print(line(table, "mean", runs), flush=True)
        worst[table] = over_better(runs, "mse")
    beyond = [table for table, ratio in worst.items() if ratio > WORST]
    above = ", ".join(beyond) or "none"
    print(f"over the better: at most {max(worst.values()):.3f}; above {WORST}: {above}")


if __name__ == "__main__":
    main()
