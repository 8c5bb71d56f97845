"""Rows in groups and in an order: what SkewRidge states, and its error on rows of new groups, or on those that follow.

    python benchmarks/dependent_rows.py [--seeds 24]

grouped: 40 groups of 8 rows near each other, each with an effect of its own, and 1,000 new groups. walk: a random walk
along time. sequence: two features and time, with errors of autocorrelation 0.98. drift: features and errors that drift
with 0.95, without time. Of the last three 300 rows are fitted and the next 30 predicted. Means over seeds.
"""

import argparse
import json
import warnings

import numpy as np

from skewridge import SkewRidge

ROWS, AHEAD = 300, 30


def autoregression(shape, memory, size, rng):
    out, steps = np.zeros(shape), rng.normal(size=shape)
    for i in range(1, len(out)):
        out[i] = memory * out[i - 1] + size * steps[i]
    return out


def walk(n, rng):
    return np.arange(float(n))[:, None], np.cumsum(rng.normal(size=n)) / 10


def sequence(n, rng):
    Z = rng.normal(size=(n, 2))
    errors = autoregression(n, 0.98, 0.2, rng)
    return np.c_[Z, np.arange(float(n))], np.sin(2 * Z[:, 0]) + 0.5 * Z[:, 1] ** 2 + errors


def drift(n, rng):
    X = autoregression((n, 3), 0.95, 0.3, rng)
    return X, np.sin(X[:, 0]) + X[:, 1] + autoregression(n, 0.95, 0.3, rng)


def grouped(n_groups, size, rng):
    places, effects, group = rng.normal(size=(n_groups, 3)), rng.normal(size=n_groups), np.arange(n_groups).repeat(size)
    X = places[group] + 0.05 * rng.normal(size=(len(group), 3))
    return X, np.sin(X[:, 0]) + 1.5 * effects[group] + 0.1 * rng.normal(size=len(group)), group


def measured(X, y, X_new, y_new, seed, **how):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = SkewRidge(random_state=seed).fit(X, y, **how)
    low, high = model.predict_interval(X_new)
    return {
        "stated": model.expected_error_.mse,
        "real": float(np.mean((model.predict(X_new) - y_new) ** 2)),
        "coverage": float(np.mean((low <= y_new) & (y_new <= high))),
        "warned": float(any("each other in the file" in str(warning.message) for warning in told)),
    }


def runs(seed):
    rng = np.random.default_rng([seed, 7])
    order = np.arange(ROWS)
    for make in (walk, sequence, drift):
        X, y = make(ROWS + AHEAD, rng)
        parts = X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]
        for how in ({}, {"order": order}, {"groups": order // AHEAD}):
            yield (make.__name__, *how), measured(*parts, seed, **how)
    X, y, group = grouped(40, 8, rng)
    X_new, y_new, _ = grouped(1000, 3, rng)
    for how in ({}, {"groups": group}):
        yield ("grouped", *how), measured(X, y, X_new, y_new, seed, **how)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=24)
    found = {}
    for seed in range(parser.parse_args().seeds):
        for case, run in runs(seed):
            found.setdefault(case, []).append(run)
    for case, own in found.items():
        means = {key: float(np.mean([run[key] for run in own])) for key in own[0]}
        print(json.dumps([*case, {**means, "stated/real": means["stated"] / means["real"]}]))


if __name__ == "__main__":
    main()
