"""Regret of every criterion: its error over the least error that any bandwidth and penalty could have had.

    python experiments/tuning/study.py [--seeds 20] [--out results.csv] [--part 0/2] [--refit earlier.csv]

Both peak functions, d = 1, 2, 4, 6, N = 2,000 (k = 20) and 10,000 (k = 100), Algorithms 1 and 2, gaussian kernel,
errors against the truth. The least error is that of the best of 12 bandwidths, half an octave apart, and 33
penalties, 4 a decade, lowered towards a parabola in both. Rows that are already in the output are not computed again;
--refit takes the least errors, which no criterion changes, from an earlier output.
``seconds`` counts from the data set's start to the end of the row's criterion.
"""

import argparse
import csv
import itertools
import time
import warnings
from pathlib import Path

import numpy as np

from skewridge import DacKernelRidge
from skewridge.datasets import make_peaks
from skewridge.execution.blas import one_blas_thread
from skewridge.kernels import Kernel, median_bandwidth
from skewridge.linalg.cholesky import solve_path

CELLS = list(itertools.product((2000, 10_000), (1, 2, 4, 6), (1, 2), (1, 2)))  # N, d, peaks, algorithm
NODES = {2000: 20, 10_000: 100}
CRITERIA = ("loo", "dgcv", "cv", "gcv", "cp", "rule")
OCTAVES = np.arange(-5.5, 0.5, 0.5)
PENALTIES = np.logspace(-8, 0, 33)
GRIDS = (
    (OCTAVES, PENALTIES),
    (np.arange(-7.5, 4.5, 0.5), np.logspace(-13, 1, 57)),
)  # the second where the first is too small
COLUMNS = ("N", "d", "peaks", "algorithm", "seed", "criterion", "mse", "least", "regret", "interior", "seconds")


def node_coefficients(gram, y, penalties):
    """(K + n penalty I)^-1 y for every penalty, without leverages."""
    return solve_path(gram, y, penalties, rows=np.empty(0, dtype=int)).coef


def risk_surface(X, y, X_test, truth, allocation, bandwidths, penalties=PENALTIES):
    """Error against the truth at every bandwidth and penalty, (B, P)."""
    center = y.mean()
    base = Kernel("gaussian", bandwidth=bandwidths[0])
    coef = np.zeros((len(bandwidths), len(penalties), len(y)))
    for rows in allocation:
        square = np.empty((len(rows), len(rows)))
        diagonal = base.similarity_upper(X[rows], square)
        for i, bandwidth in enumerate(bandwidths):
            gram = base.rescaled_below(square, diagonal, bandwidth)
            coef[i][:, rows] += node_coefficients(gram, y[rows] - center, penalties) / len(allocation)
    risk = np.empty((len(bandwidths), len(penalties)))
    for i, bandwidth in enumerate(bandwidths):
        values = Kernel("gaussian", bandwidth=bandwidth).cross(X_test, X)
        risk[i] = np.mean((coef[i] @ values.T + center - truth) ** 2, axis=1)
    return risk


def least(risk):
    """The least error and whether it is interior: the grid's, lowered towards a parabola of its logarithm.

    Along each axis it is lowered half-way to the parabola's vertex; all the way, a rough surface would promise errors
    that no setting has.
    """
    i, j = np.unravel_index(np.argmin(risk), risk.shape)
    log, drop = np.log(risk), 0.0
    interior = 0 < i < len(risk) - 1 and 0 < j < risk.shape[1] - 1
    for left, right, inside in (
        (log[i - 1, j], log[(i + 1) % len(log), j], 0 < i < len(log) - 1),
        (log[i, j - 1], log[i, (j + 1) % log.shape[1]], 0 < j < log.shape[1] - 1),
    ):
        bend = left - 2 * log[i, j] + right
        drop += (left - right) ** 2 / (8 * bend) / 2 if inside and bend > 0 else 0.0
    return float(np.exp(log[i, j] - drop)), interior


def find_least(X, y, X_test, truth, given, seed):
    """The least error of these nodes at any bandwidth and penalty, and whether it is interior."""
    allocation = DacKernelRidge(**given, bandwidth=1.0, penalty=1.0).fit(X, y).allocation_
    for octaves, penalties in GRIDS:
        bandwidths = median_bandwidth(X, "gaussian", seed) * 2.0**octaves
        with one_blas_thread():
            lowest, interior = least(risk_surface(X, y, X_test, truth, allocation, bandwidths, penalties))
        if interior:
            break
    return lowest, interior


def run_cell(N, d, peaks, algorithm, seed, known=None):
    X, y, X_test, truth = make_peaks(N, d, peaks, random_state=seed, return_test=True)
    X_test, truth = X_test[::5], truth[::5]
    start = time.perf_counter()
    given = {"n_nodes": NODES[N], "slices": 1 if algorithm == 1 else "scott", "random_state": seed}
    lowest, interior = known or find_least(X, y, X_test, truth, given, seed)
    for criterion in CRITERIA:
        model = DacKernelRidge(**given, penalty=criterion, bandwidth="median" if criterion == "rule" else "auto")
        mse = float(np.mean((model.fit(X, y).predict(X_test) - truth) ** 2))
        seconds = time.perf_counter() - start
        yield (N, d, peaks, algorithm, seed, criterion, mse, lowest, mse / lowest, interior, round(seconds, 2))


def read_known(path):
    """(N, d, peaks, algorithm, seed) -> (least error, interior)."""
    if not path.exists():
        return {}
    with path.open() as file:
        return {tuple(row[:5]): (float(row[7]), row[9] == "True") for row in list(csv.reader(file))[1:]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results.csv")
    parser.add_argument("--part", default="0/1", help="which seeds: i/n takes every n-th from i")
    parser.add_argument("--refit", type=Path, help="take the least errors from this earlier output")
    options = parser.parse_args()
    first, step = (int(v) for v in options.part.split("/"))
    done = read_known(options.out)
    known = read_known(options.refit) if options.refit else {}
    if not done:
        options.out.write_text(",".join(COLUMNS) + "\n")
    warnings.simplefilter("ignore")
    for seed in range(first, options.seeds, step):
        for cell in CELLS:
            key = tuple(str(v) for v in (*cell, seed))
            if key in done:
                continue
            rows = list(run_cell(*cell, seed, known.get(key)))
            with options.out.open("a", newline="") as file:
                csv.writer(file).writerows(rows)
            print(seed, cell, " ".join(f"{r[5]} {r[8]:.2f}" for r in rows), f"{rows[-1][-1]:.1f} s", flush=True)


if __name__ == "__main__":
    main()
