"""The method in pictures: the slices, the nodes, their average, and centres instead of copies, on one feature.

python examples/pictures.py [--out docs/images]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skewridge import AdaptiveKernelRidge, DacKernelRidge
from skewridge.datasets import make_peaks, peaks_truth
from skewridge.response.slices import slice_response

N_ROWS, N_NODES, N_CENTERS = 600, 30, 14
GRID = np.linspace(0, 1, 1001)[:, None]
BLUE, ORANGE, GREY, BLACK = "#0072b2", "#d55e00", "#8a929b", "#1b1f24"
SETTINGS = {"n_nodes": N_NODES, "bandwidth": 0.03, "penalty": 0.02, "random_state": 0, "keep_nodes": True}


def scatter(ax, X, y, edges=()):
    ax.plot(X, y, ".", color=GREY, ms=3, label="rows")
    for edge in edges:
        ax.axhline(edge, color=BLUE, lw=0.5)
    ax.set(xlabel="x", ylabel="y")


def draw_slices(X, y):
    """The rows with the slices of their response, rows of every slice, and what copies make of them."""
    slices = slice_response(y, "scott")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    scatter(left, X, y, slices.edges[1:-1])
    middles = 0.5 * (slices.edges[:-1] + slices.edges[1:])
    height = 0.9 * np.diff(slices.edges)
    right.barh(middles, slices.counts * slices.copies, height, color="#f3c9a8", label="with copies")
    right.barh(middles, slices.counts, height, color=BLUE, label="rows")
    right.set(xlabel="rows of the slice")
    figure.legend(frameon=False, ncols=3, loc="outside upper center")
    return figure


def draw_nodes(X, y, truth):
    """Every node's curve and the average, rows dealt at random and with copies."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    for ax, title, slices in zip(axes, ("Algorithm 1: rows", "Algorithm 2: copies"), (1, "scott"), strict=True):
        model = DacKernelRidge(slices=slices, **SETTINGS).fit(X, y)
        ax.plot(GRID, model.predict_nodes(GRID).T, color=GREY, lw=0.6)
        ax.plot([], [], color=GREY, lw=0.6, label=f"{N_NODES} nodes")
        ax.plot(GRID, truth, color=BLACK, lw=1, ls="--", label="truth")
        ax.plot(GRID, model.predict(GRID), color=ORANGE, lw=1.8, label="average")
        ax.set(title=f"{title} dealt to nodes", xlabel="x", ylabel="y")
    axes[0].legend(frameon=False)
    return figure


def draw_centers(X, y, truth):
    """Random centres and adaptive ones, few of them, and what each can bend to."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    for ax, title, adapt in zip(axes, ("random centres", "centres over the slices"), (0.0, 0.8), strict=True):
        model = AdaptiveKernelRidge(
            N_CENTERS, adapt, kernel="matern32", bandwidth=0.1, penalty=1e-6, random_state=0
        ).fit(X, y)
        ax.plot(GRID, truth, color=BLACK, lw=1, ls="--", label="truth")
        ax.plot(GRID, model.predict(GRID), color=ORANGE, lw=1.8, label="fit")
        ax.plot(model.centers_, np.full(len(model.centers_), -0.12), "|", color=BLUE, ms=12, label="centres")
        ax.set(title=f"{N_CENTERS} {title}", xlabel="x", ylabel="y")
    axes[0].legend(frameon=False)
    return figure


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    X, y = make_peaks(N_ROWS, 1, random_state=1)
    truth = peaks_truth(GRID)
    pictures = {"slices": draw_slices(X, y), "nodes": draw_nodes(X, y, truth), "centers": draw_centers(X, y, truth)}
    for name, figure in pictures.items():
        figure.savefig(out / f"pictures_{name}.png", dpi=110)


if __name__ == "__main__":
    main()
