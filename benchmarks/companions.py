"""SkewRidge with and without boosted trees as a companion: errors, overall and where y is rare, and the trees' weight.

    python benchmarks/companions.py [--tables bike_sharing/xy ...] [--rows 6000] [--splits 2]

Splits are those of two_levels.py; the trees are scikit-learn's, as they come. One thread.
"""

import argparse
import time
import warnings

import two_levels  # first, since it limits threads before numpy is imported

TABLES = ("melbourne_housing/xy_wide", "bike_sharing/xy", "gas_turbine/xy", "california_housing/xy")


def methods():
    from sklearn.ensemble import HistGradientBoostingRegressor

    from skewridge import SkewRidge

    trees = HistGradientBoostingRegressor(random_state=0)
    with_trees = SkewRidge(companions=[trees], random_state=0, n_jobs=1)
    return {"trees": trees, "alone": SkewRidge(random_state=0, n_jobs=1), "with trees": with_trees}


def measure(table, seed, rows):
    """Errors, processor seconds of a fit and, with trees, their weight in the blend."""
    two_levels.FIT_ROWS, found = rows, {}
    X, y, X_test, y_test = two_levels.split(*two_levels.load(table), seed)
    for name, model in methods().items():
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        found[name] = {**two_levels.errors(y_test, model.predict(X_test), y), "fit": seconds}
    return found, float(model.weights_[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'table':28}{'split':>6}{'trees':>9}{'alone':>9}{'with':>9}{'ratio':>8}{'rare':>8}{'weight':>8}{'s':>12}")
    for table in options.tables:
        for seed in range(options.splits):
            found, weight = measure(table, seed, options.rows)
            trees, alone, both = found.values()
            errors = "".join(f"{one['mse']:9.4f}" for one in (trees, alone, both))
            ratios = f"{both['mse'] / alone['mse']:8.3f}{both['rare'] / alone['rare']:8.3f}"
            print(f"{table:28}{seed:6}{errors}{ratios}{weight:8.2f}{alone['fit']:6.1f}{both['fit']:6.1f}", flush=True)


if __name__ == "__main__":
    main()
