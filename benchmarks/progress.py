"""What progress says is left, against what really was, at every tenth of a fit's time.

    python benchmarks/progress.py [--rows 60000] [--columns 8] [--jobs 2] [--estimators skew]

Choose rows so that a fit takes 10 to 100 s; the target is a factor of two from the first fifth on.
Begins with a small fit, so that nothing is compiled while it measures; --cold does without.
"""

import argparse
import time

import numpy as np

from skewridge import AdaptiveKernelRidge, LocalKernelRidge, SkewRidge
from skewridge.execution import following
from skewridge.execution.progress import Progress

ESTIMATORS = {"skew": SkewRidge, "local": LocalKernelRidge, "adaptive": AdaptiveKernelRidge}
MADE = []


class Recorded(Progress):
    """Remembers what it said, and when."""

    def __init__(self, *parts):
        super().__init__(*parts)
        self.said = []
        MADE.append(self)

    def advance(self, label, operations):
        super().advance(label, operations)
        self.said.append((time.monotonic(), label, self.share, self.left))


def table(n_rows, n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + np.abs(X[:, 2 % n_columns])
    return X, signal + 0.3 * rng.normal(size=n_rows)


def measure(name, X, y, n_jobs):
    """Fit, print stated and real remaining time; return the largest factor from a fifth on."""
    start = time.monotonic()
    ESTIMATORS[name](n_jobs=n_jobs, random_state=0, verbose=1).fit(X, y)
    end, said = time.monotonic(), MADE[-1].said
    print(f"\n{name}, {X.shape[0]:,} x {X.shape[1]}, {n_jobs} threads: {end - start:.1f} s")
    print("time   work   said s   real s  factor  stage")
    factors = []
    for tenth in range(1, 10):
        when = start + tenth / 10 * (end - start)
        before = [state for state in said if state[0] <= when]
        if not before or before[-1][3] is None:
            print(f"{tenth * 10:3d}%   nothing said yet")
            factors += [np.inf] * (tenth >= 2)
            continue
        moment, label, share, left = before[-1]
        left, real = max(0.0, left - (when - moment)), end - when
        factor = max(left / real, real / max(left, 1e-9))
        factors += [factor] * (tenth >= 2)
        print(f"{tenth * 10:3d}%   {share:4.0%} {left:8.1f} {real:8.1f} {factor:7.2f}  {label}")
    return max(factors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    following.Progress = Recorded
    X, y = table(options.rows, options.columns)
    for name in options.estimators:
        if not options.cold:
            ESTIMATORS[name](random_state=0).fit(X[:1500], y[:1500])
        worst = measure(name, X, y, options.jobs)
        print(f"largest factor from the first fifth on: {worst:.2f} (at most 2 wanted)", flush=True)


if __name__ == "__main__":
    main()
