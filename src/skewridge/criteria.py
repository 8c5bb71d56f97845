"""Criteria for a penalty (and a bandwidth): what each estimates, from residuals, leverages and traces.

``gcv`` and ``cp`` judge a node by its own rows. ``pair_risk`` judges the average of k nodes, from q of them.
"""

from __future__ import annotations

import numpy as np

from .paths import Path
from .slices import FloatArray


def gcv(path: Path, weights: FloatArray | None = None) -> FloatArray:
    """Generalised cross-validation of one node, (P,): n ||r||^2 / (n - tr A)^2.

    With weights the mean square is weighted: sum w r^2 / sum w / (1 - tr A / n)^2.
    """
    n = path.residual.shape[1]
    return _mean_square(path, weights) / (1.0 - path.trace / n) ** 2


def cp(path: Path, weights: FloatArray | None = None) -> FloatArray:
    """Mallows' Cp of one node, (P,): ||r||^2/n + 2 s2 tr A / n.

    The noise variance s2 = ||r||^2 / (n - tr A) is taken where generalised cross-validation is least.
    """
    n = path.residual.shape[1]
    square, trace = _mean_square(path, weights), path.trace
    best = int(np.argmin(gcv(path, weights)))
    noise = square[best] / (1.0 - trace[best] / n)
    return square + 2.0 * noise * trace / n


def pair_risk(total: FloatArray, squares: FloatArray, q: int, k: int) -> FloatArray:
    """Squared error of the average of k nodes at every row, from the errors e_j of q of them.

    (1/k) mean_j e_j^2 + (1 - 1/k) mean_{j != j'} e_j e_j', with total = sum_j e_j and squares = sum_j e_j^2. The
    square of the q-average would count the nodes' variance k/q times too often and over-smooth. With q = k it is
    the squared error of the average itself.
    """
    if q == k:
        return (total / k) ** 2
    return squares / (q * k) + (1.0 - 1.0 / k) * (total**2 - squares) / (q * (q - 1))


def dgcv(mean_square: FloatArray, mean_trace: FloatArray, n_rows: int) -> FloatArray:
    """Distributed GCV (Xu, Shang & Cheng 2018): mean (y - fbar)^2 / (1 - tr H / N)^2, tr H = mean_j tr A_j."""
    return mean_square / (1.0 - mean_trace / n_rows) ** 2


def _mean_square(path: Path, weights: FloatArray | None) -> FloatArray:
    return np.average(path.residual**2, axis=1, weights=weights)
