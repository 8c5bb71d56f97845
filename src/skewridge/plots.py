"""Pictures, drawn with matplotlib (the ``plot`` extra)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .slices import FloatArray

GRAY, BLUE, RED = "0.55", "#4477AA", "#CC3311"  # told apart by readers of any colour vision


def plot_node_estimates(
    model: Any, X: FloatArray, y: FloatArray, truth: tuple[FloatArray, FloatArray], ax: Any, title: str = ""
) -> Any:
    """Draw the paper's Figure 1 for one fitted model of one feature: rows, truth, local curves and their average.

    Parameters
    ----------
    model : DacKernelRidge fitted with ``keep_nodes=True``
    X, y : training rows
    truth : (grid, values) of the noise-free function
    ax : matplotlib axes

    Returns
    -------
    ax
    """
    grid, values = truth
    ax.plot(X[:, 0], y, ".", color="0.85", markersize=2, zorder=0, label="rows")
    for i, curve in enumerate(model.predict_nodes(grid)):
        ax.plot(grid[:, 0], curve, color=BLUE, alpha=0.25, linewidth=0.6, label="nodes" if i == 0 else None)
    ax.plot(grid[:, 0], values, color=GRAY, linewidth=2, label="truth")
    ax.plot(grid[:, 0], model.predict(grid), color=RED, linewidth=1.8, label="average")
    ax.set(title=title, xlabel="x", ylabel="y")
    for handle in ax.legend(loc="upper right", frameon=False).legend_handles:
        handle.set_alpha(1.0)
    return ax


def plot_response(y: FloatArray, edges: FloatArray, ax: Any) -> Any:
    """Draw the histogram of the response over its slices, sideways, so that it stands beside a scatter of y."""
    finite = np.clip(edges, y.min(), y.max())
    ax.hist(y, bins=np.unique(finite), orientation="horizontal", color=GRAY)
    ax.set(title="response", xlabel="rows (log scale)", ylabel="y", xscale="log")
    return ax
