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


def plot_tuning(tuning: Any, ax: Any) -> Any:
    """Draw the criterion along the penalties, one line a bandwidth, the chosen one in red with its margin.

    Parameters
    ----------
    tuning : Tuning, ``model.tuning_`` of a model that chose a bandwidth or a penalty
    ax : matplotlib axes

    Returns
    -------
    ax
    """
    if tuning.cost is not None:
        cost, bias = tuning.cost["ratio"], tuning.cost["bias"]
        ax.set_title(f"costs {cost:.2f} times the least MSE tried; bias {bias:.2g}", fontsize="medium")
    if tuning.values.size == 0:
        raise ValueError("There is no tuning to draw: nothing was searched.")
    if len(tuning.penalties) == 1:
        ax.plot(tuning.bandwidths, tuning.values[:, 0], "o-", color=BLUE)
        ax.axvline(tuning.bandwidth, color=RED, linestyle="--")
        ax.set(xscale="log", xlabel="bandwidth", ylabel=f"{tuning.criterion} ({tuning.scoring})")
        return ax
    for bandwidth, values, margins in zip(tuning.bandwidths, tuning.values, tuning.margins, strict=True):
        chosen = tuning.bandwidth is None or bandwidth == tuning.bandwidth
        label = "no bandwidth" if tuning.bandwidth is None else f"{bandwidth:.3g}"
        ax.plot(tuning.penalties, values, color=RED if chosen else BLUE, alpha=1.0 if chosen else 0.4, label=label)
        if chosen:
            ax.fill_between(tuning.penalties, values, values + margins, color=RED, alpha=0.2)
    ax.axvline(tuning.penalty, color=RED, linestyle="--")
    low, high = float(tuning.values.min()), float(tuning.values[:, -1].max())
    ax.set(xscale="log", yscale="log", xlabel="penalty", ylabel=f"{tuning.criterion} ({tuning.scoring})")
    ax.set_ylim(max(low, high * 1e-3) * 0.9, high * 1.3)
    ax.legend(title="bandwidth", fontsize="small")
    return ax
