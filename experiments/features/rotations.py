"""Whether rotating features pays: the full matrix of mean products of slopes against its diagonal.

    python experiments/features/rotations.py [--rows 3000] [--splits 3]

Both learn by the loop of skewridge.centers.features on the same folds, with 400 random centres; test errors over those
of standardised features, for every real data set of at most 30 features.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from data import load, names
from skewridge.centers.features import MOST_ROUNDS, _fitted
from skewridge.centers.judging import Candidate, Judge, fold_rows

from skewridge.engine.job import Job, one_blas_thread
from skewridge.kernels.heuristics import median_bandwidth
from skewridge.response.sampling import make_pool


def matrix_root(slopes, full, power):
    """(mean of products of slopes)^power, with mean 1 on the diagonal and a floor; its diagonal alone, or all of it."""
    M = slopes.T @ slopes / len(slopes)
    M = M / np.trace(M) * len(M) if full else np.diag(np.diag(M) / np.trace(M) * len(M))
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 1e-3) ** power) @ vectors.T


def learned(judge, full, power):
    """The matrix that features are to be multiplied by, and the last fit that was better than the one before."""
    ones = np.ones(judge.rows.X.shape[1])
    root = np.eye(len(ones))

    def fit(root):
        rows = replace(judge.rows, X=judge.rows.X @ root)
        width = median_bandwidth(rows.X, "matern32", 0)
        return _fitted(judge.on(rows), Candidate("matern32", 400, 0.0, 2 * width), ones)

    best = fit(root)
    for _ in range(MOST_ROUNDS):
        X = judge.rows.X[: judge.rows.ends[2]] @ root
        proposal = matrix_root(best.kernel.gradient(X, best.basis.centers, best.dual[0]) @ root, full, power)
        trial = fit(proposal)
        if not trial.betters(best, judge.rows.weights[judge.rows.ends[-2] :]):
            break
        root, best = proposal, trial
    return root, best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    for name in names():
        X, y = load(name)
        if X.shape[1] > 30:
            continue
        ratios = []
        for split in range(options.splits):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = np.split(order[: options.rows + 5000], [min(options.rows, int(0.8 * len(y)))])
            center, scale = X[train].mean(axis=0), X[train].std(axis=0)
            Z, v = (X - center) / np.where(scale > 0, scale, 1.0), y - y[train].mean()
            pool = make_pool(Z[train], v[train, None], np.ones(len(train)), "auto", split)
            rows = fold_rows(Z[train], v[train, None], None, {"response": pool}, 10**6)
            judge, errors = Judge(rows, 3, None, True, Job()), []
            for full, power in ((False, 0.0), (False, 0.5), (False, 0.25), (True, 0.5), (True, 0.25)):
                with one_blas_thread():
                    root, best = learned(judge, full, power)
                fit = best.kernel.cross(Z[test] @ root, best.basis.centers) @ best.dual[0]
                errors.append(np.mean((np.clip(fit, v[train].min(), v[train].max()) - v[test]) ** 2))
            ratios.append(np.log(errors) - np.log(errors[0]))
        cells = np.exp(np.mean(ratios, axis=0))[1:]
        print(f"{name:28} diagonal {cells[0]:.3f} {cells[1]:.3f}  full {cells[2]:.3f} {cells[3]:.3f}", flush=True)


if __name__ == "__main__":
    main()
