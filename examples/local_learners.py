"""The same skewed data through four learners: a forest, boosted trees, splines and kernels, dealt in two ways.

    python examples/local_learners.py [--rows 6000] [--out local_learners.png]

Algorithm 1 deals the rows to the nodes at random; Algorithm 2 copies the rare ones first, so that every node sees them.
Overall error and error where the response is rare stand side by side: the second usually falls, the first may rise.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from skewridge import DacKernelRidge, DacRegressor, SmoothingSpline
from skewridge.datasets import make_peaks
from skewridge.metrics import rare_mse

LEARNERS = {
    "random forest": RandomForestRegressor(n_estimators=30),
    "boosted trees": HistGradientBoostingRegressor(),
    "smoothing spline": SmoothingSpline(interactions="all"),
    "kernels": None,
}


def model_of(learner, slices, n_nodes):
    """The learner on nodes; kernel nodes have an estimator of their own, which averages before it predicts."""
    settings = {"n_nodes": n_nodes, "slices": slices, "random_state": 0, "n_jobs": -1}
    if learner is None:
        return DacKernelRidge(kernel="matern32", **settings)
    return DacRegressor(learner, **settings)


def compared(n_rows, n_nodes):
    """Overall and rare-region squared errors of every learner, Algorithm 1 and 2."""
    X, y, X_test, truth = make_peaks(n_rows, 2, random_state=0, return_test=True)
    for name, learner in LEARNERS.items():
        for algorithm, slices in ((1, 1), (2, "scott")):
            fit = model_of(learner, slices, n_nodes).fit(X, y).predict(X_test)
            yield name, algorithm, float(np.mean((fit - truth) ** 2)), float(rare_mse(truth, fit, y_ref=y))


def drawn(rows):
    """Two panels of bars, one a region, Algorithm 1 beside 2."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    names, places = list(LEARNERS), np.arange(len(LEARNERS))
    for ax, title, column in zip(axes, ("overall", "where the response is rare"), (2, 3), strict=True):
        for algorithm, shift, color in ((1, -0.2, "#9aa5b1"), (2, 0.2, "#c2410c")):
            values = [row[column] for row in rows if row[1] == algorithm]
            ax.bar(places + shift, values, 0.4, color=color, label=f"Algorithm {algorithm}")
        ax.set(title=title, yscale="log", ylabel="mean squared error")
        ax.set_xticks(places, names, rotation=20, ha="right")
    axes[1].legend(frameon=False, loc="upper right")
    return figure


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--out", default="local_learners.png")
    options = parser.parse_args()
    rows = list(compared(options.rows, options.nodes))
    for name, algorithm, overall, rare in rows:
        print(f"{name:18} Algorithm {algorithm}  overall {overall:.2e}  rare {rare:.2e}")
    drawn(rows).savefig(options.out, dpi=120)


if __name__ == "__main__":
    main()
