"""A one-dimensional smoothing spline that chooses its penalty against scipy's at that penalty, in one run.

    python benchmarks/spline_against_scipy.py [--rows 100000]

scipy.interpolate.make_smoothing_spline has a knot at every row; ours has the default 130 knots. scipy is given the
penalty that ours chose: when it chooses by itself it takes a hundred times as long on rows this many, and on [0, 1] it
refuses.
Limit: 5 times scipy's time.
"""

import argparse

import numpy as np
from scipy.interpolate import make_smoothing_spline
from table import record
from timing import seconds

from skewridge import SmoothingSpline

LIMIT = 5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    n = parser.parse_args().rows
    x = np.arange(n, dtype=float)
    truth = np.sin(12 * x / n) + np.exp(-(((x / n - 0.7) / 0.03) ** 2))
    y = truth + 0.3 * np.random.default_rng(0).standard_normal(n)
    ours, model = seconds(lambda: SmoothingSpline(random_state=0).fit(x[:, None], y))
    lam = model.penalty_ * n * (1.1 * np.ptp(x)) ** 3
    theirs, spline = seconds(lambda: make_smoothing_spline(x, y, lam=lam))
    name = f"SmoothingSpline.fit, {n:,} rows, {len(model.knots_)} knots"
    record(name, "make_smoothing_spline", ours / theirs, "of its time", LIMIT)
    errors = [np.sqrt(np.mean((fit - truth) ** 2)) for fit in (model.predict(x[:, None]), spline(x))]
    record("its root mean squared error", "make_smoothing_spline", errors[0] / errors[1], "of its error")


if __name__ == "__main__":
    main()
