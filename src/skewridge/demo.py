"""The demonstration: ``make demo`` or ``python -m skewridge.demo``.

The paper's two peaks, fitted by two levels, by adaptive centres alone, and by the paper's
Algorithm 1, Algorithm 2 and exact kernel ridge regression, with overall and rare-region error side
by side; and the paper's Figure 1 as a picture.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from skewridge._atomic import atomic_file
from skewridge.datasets import make_peaks
from skewridge.estimators.adaptive import AdaptiveKernelRidge
from skewridge.estimators.dac import DacKernelRidge
from skewridge.estimators.skew_ridge import SkewRidge
from skewridge.metrics import rare_mse

N_ROWS, N_NODES, BANDWIDTH, SEED = 6000, 60, 0.1, 0

METHODS: dict[str, dict[str, Any]] = {
    "Algorithm 1 (classical)": {"n_nodes": N_NODES, "slices": 1},
    "Algorithm 2 (oversampled)": {"n_nodes": N_NODES, "slices": "scott"},
    "exact kernel ridge": {"n_nodes": 1},
}
PENALTIES: dict[str, float | Literal["rule"]] = {
    "(N/k)^(-2/3), the node-size rule, where the published advantage is largest": (N_ROWS / N_NODES) ** (-2 / 3),
    "1/N, the rule in the total number of rows": "rule",
}


def score(model: Any) -> tuple[float, float, float]:
    """Fit a model to the two peaks; return MSE and rare-region MSE against the truth, and seconds."""
    X, y, X_test, truth = make_peaks(N_ROWS, 2, random_state=SEED, return_test=True)
    start = time.perf_counter()
    prediction = model.fit(X, y).predict(X_test)
    seconds = time.perf_counter() - start
    return float(np.mean((prediction - truth) ** 2)), rare_mse(truth, prediction, y_ref=y), seconds


def compare(penalty: float | Literal["rule"]) -> Iterator[tuple[str, float, float, float, float]]:
    """Fit the three methods; yield (name, MSE, rare-region MSE, seconds, N~/N), errors against the truth."""
    for name, settings in METHODS.items():
        model = DacKernelRidge(
            **settings,
            bandwidth=BANDWIDTH,
            penalty=penalty,
            fit_intercept=False,
            random_state=SEED,
            n_jobs=-1,
        )
        yield name, *score(model), model.n_distinct_ / N_ROWS


def recommend() -> Iterator[tuple[str, float, float, float]]:
    """Fit two levels, and level 1 alone; yield (name, MSE, rare-region MSE, seconds)."""
    for name, cls in (("SkewRidge()", SkewRidge), ("AdaptiveKernelRidge()", AdaptiveKernelRidge)):
        yield name, *score(cls(random_state=SEED, n_jobs=-1))


def draw(path: Path) -> None:
    """Draw the paper's Figure 1 for both algorithms."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from skewridge.plots import NodesDisplay, SlicesDisplay

    X, y, grid, truth = make_peaks(2000, 1, random_state=SEED, return_test=True)
    grid, truth = grid[::20], truth[::20]
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), sharey=True, width_ratios=[1, 3, 3], layout="constrained")
    for ax, name in zip(axes[1:], list(METHODS)[:2], strict=True):
        model = DacKernelRidge(
            n_nodes=100,
            slices=METHODS[name]["slices"],
            bandwidth=0.05,
            penalty=0.01,
            fit_intercept=False,
            keep_nodes=True,
            random_state=SEED,
        ).fit(X, y)
        NodesDisplay.from_estimator(model, grid, truth=truth, rows=(X, y), title=name, ax=ax)
    SlicesDisplay.from_estimator(model, horizontal=True, ax=axes[0])
    with atomic_file(path) as file:
        figure.savefig(file, format="png", dpi=150)
    plt.close(figure)


def main(folder: str = "demo_output", *, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Print the table, write the picture, say what to read next; return the figures."""
    DacKernelRidge(n_nodes=2).fit(*make_peaks(100, 2, random_state=SEED)).predict([[0.5, 0.5]])  # compile
    SkewRidge().fit(*make_peaks(100, 2, random_state=SEED))
    say(f"Two narrow peaks in two features, N = {N_ROWS:,} rows.")
    say(f"The paper's method has k = {N_NODES} nodes and the gaussian kernel.")
    say("Errors are against the noise-free truth; the rare region holds the 2% rarest responses.")
    say("\nEverything learned from the data: two levels, and level 1 alone")
    say(f"{'':28}{'MSE':>12}{'rare-region MSE':>18}{'seconds':>10}")
    results: list[dict[str, Any]] = []
    for name, error, rare, seconds in recommend():
        say(f"{name:28}{error:12.2e}{rare:18.2e}{seconds:10.2f}")
        results.append({"name": name, "mse": error, "rare_mse": rare, "seconds": seconds})
    for title, penalty in PENALTIES.items():
        say(f"\nThe paper (DacKernelRidge), penalty = {title}")
        say(f"{'':28}{'MSE':>12}{'rare-region MSE':>18}{'seconds':>10}{'N~/N':>8}")
        for name, error, rare, seconds, ratio in compare(penalty):
            say(f"{name:28}{error:12.2e}{rare:18.2e}{seconds:10.2f}{ratio:8.2f}")
            results.append({"name": name, "penalty": title, "mse": error, "rare_mse": rare, "seconds": seconds})
    picture: Path | None = Path(folder) / "figure1.png"
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        draw(Path(folder) / "figure1.png")
        say(f"\nFigure 1 of the paper, for both algorithms: {picture}")
    except ImportError:
        say("\nFigure 1 was not drawn: it needs matplotlib (pip install 'skewridge[plot]').")
        picture = None
    say("Read next: README.md (quick start), docs/which.md, docs/two-levels.md, docs/method.md.")
    return {"n_rows": N_ROWS, "results": results, "picture": None if picture is None else str(picture)}


if __name__ == "__main__":
    main(*sys.argv[1:2])
