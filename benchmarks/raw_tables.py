"""Raw tables without a flag, against CatBoost with its own handling of categories.

    python benchmarks/raw_tables.py skewridge
    python benchmarks/raw_tables.py catboost        # any environment with catboost and pandas

The same rows for both: a random split, 15,000 rows at most to fit and 10,000 at most to judge. CatBoost gets texts as
categories with an empty text for gaps, and dates as year, month, weekday, hour and days. `--levels 2000` adds a
column of as many random levels, which no error should notice.
"""

import argparse
import json
import time
import warnings

import numpy as np
import pandas as pd
from data import FOLDER

TABLES = {
    "melbourne": ("melbourne_housing/Melbourne_housing_FULL.csv.gz", "Price"),
    "diamonds": ("diamonds/raw.csv.gz", "price"),
    "flights": ("flights/raw.csv.gz", "dep_delay"),
}
DATES = {"Date": {"dayfirst": True}, "time_hour": {}}


def load(name):
    file, target = TABLES[name]
    frame = pd.read_csv(FOLDER / file)
    frame = frame[frame[target].notna()].reset_index(drop=True)
    return frame.drop(columns=target), frame[target].to_numpy(dtype=float)


def split(n, seed, most, held):
    order = np.random.default_rng(seed).permutation(n)
    n_held = min(held, n // 3)
    return order[n_held : n_held + most], order[:n_held]


def catboost(X, y, new, seed):
    from catboost import CatBoostRegressor

    X, new = (_for_catboost(frame) for frame in (X, new))
    texts = [name for name in X if X[name].dtype == object]
    model = CatBoostRegressor(random_seed=seed, verbose=0, cat_features=texts).fit(X, y)
    return model.predict(new), {}


def _for_catboost(frame):
    out = frame.copy()
    for name in set(DATES) & set(frame):
        times = pd.to_datetime(out.pop(name), **DATES[name], utc=True)
        out[f"{name} days"] = (times - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)
        for part in ("year", "month", "weekday", "hour"):
            out[f"{name} {part}"] = getattr(times.dt, part)
    texts = [name for name in out if not pd.api.types.is_numeric_dtype(out[name])]
    return out.assign(**{name: out[name].fillna("").astype(str).astype(object) for name in texts})


def skewridge(X, y, new, seed, **options):
    from sklearn.pipeline import make_pipeline

    from skewridge import SkewRidge, TableEncoder

    model = make_pipeline(TableEncoder(**options), SkewRidge(random_state=seed, n_jobs=-1)).fit(X, y)
    return model.predict(new), {
        "stated": float(np.sqrt(model[-1].expected_error_.mse)),
        "features": model[-1].n_features_in_,
    }


def errors(y, found, reference):
    worst = reference >= np.quantile(reference, 0.98)
    rare = y >= reference[worst].min()
    return {
        "rmse": float(np.sqrt(np.mean((found - y) ** 2))),
        "rare_rmse": float(np.sqrt(np.mean((found - y)[rare] ** 2))),
        "mae": float(np.mean(np.abs(found - y))),
        "least": float(found.min()),
        "sd": float(np.std(y)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("method", choices=["skewridge", "catboost"])
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--held", type=int, default=10_000)
    parser.add_argument("--levels", type=int, default=0)
    parser.add_argument("--option", nargs="*", default=[], metavar="NAME=JSON", help="of the encoder")
    given = parser.parse_args()
    options = {name: json.loads(value) for name, value in (text.split("=", 1) for text in given.option)}
    for name in given.tables:
        X, y = load(name)
        for seed in given.seeds:
            if given.levels:
                codes = np.random.default_rng(1000 + seed).integers(given.levels, size=len(X))
                X = X.assign(random=[f"level {code}" for code in codes])
            fit, held = split(len(X), seed, given.rows, given.held)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                method = {"skewridge": skewridge, "catboost": catboost}[given.method]
                found, more = method(X.iloc[fit], y[fit], X.iloc[held], seed, **options)
            line = {"method": given.method, "table": name, "seed": seed, "rows": len(fit), **options}
            line |= {"cpu_seconds": time.process_time() - start, **errors(y[held], found, y[fit]), **more}
            rounded = {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in line.items()}
            print(json.dumps(rounded), flush=True)


if __name__ == "__main__":
    main()
