"""Criteria for a penalty and a bandwidth: what each estimates, from residuals, leverages and traces.

``gcv`` and ``cp`` judge a node by its own rows; the others judge the average of k nodes, if need be from q of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray
from skewridge.linalg.tridiagonal import Path


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


@dataclass(frozen=True)
class Risk:
    """An estimated risk, (...), and what it would be without each of the q nodes, (..., q)."""

    risk: FloatArray
    without: FloatArray

    @property
    def error(self) -> FloatArray:
        """The jackknife standard error over the nodes."""
        return jackknife_error(self.without)


def jackknife_error(without: FloatArray) -> FloatArray:
    """Standard error from leave-one-node-out estimates, (..., q); 0 where nothing was left out."""
    q = without.shape[-1]
    spread = without - without.mean(axis=-1, keepdims=True)
    return np.sqrt((q - 1) / q * np.sum(spread**2, axis=-1))


def error_products(errors: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Weighted inner products of the nodes' errors over rows, (..., q, q), from errors (q, ..., R)."""
    scaled = np.moveaxis(errors * np.sqrt(row_weights), 0, -2)
    return scaled @ np.swapaxes(scaled, -1, -2)


def pair_risk(products: FloatArray, k: int) -> Risk:
    """Mean squared error of the average of k nodes, from the :func:`error_products` of q of them.

    (1/k) mean_j e_j^2 + (1 - 1/k) mean_{j != j'} e_j e_j', averaged over rows by weights that sum to 1. The square of
    the q-average would count the nodes' variance k/q times too often and over-smooth. With q = k it is the squared
    error of the average itself, and its standard error is 0.
    """
    q = products.shape[-1]
    squares = np.einsum("...jj->...j", products)
    crossed = products.sum(axis=-1) - squares  # sum over the other nodes of <e_j, e_j'>
    square, cross = squares.sum(axis=-1), crossed.sum(axis=-1)
    risk = _pair_mean(square, cross, q, k)
    if q == k:
        return Risk(risk, risk[..., None])
    return Risk(risk, _pair_mean(square[..., None] - squares, cross[..., None] - 2 * crossed, q - 1, k))


def mean_risk(parts: list[Risk], shares: FloatArray) -> Risk:
    """The mean of independent estimates with shares that sum to 1; their leave-one-out estimates stand side by side."""
    risk = np.sum([share * part.risk for share, part in zip(shares, parts, strict=True)], axis=0)
    sizes = [part.without.shape[-1] for part in parts]
    if len(parts) == 1 or sum(sizes) == len(parts):
        return Risk(risk, parts[0].without if len(parts) == 1 else risk[..., None])
    scales = [np.sqrt((1 - 1 / q) / (1 - 1 / sum(sizes))) for q in sizes]  # the jackknife's (q - 1) / q
    shifts = [
        (part.without - part.without.mean(axis=-1, keepdims=True)) * scale * share
        for part, scale, share in zip(parts, scales, shares, strict=True)
    ]
    return Risk(risk, risk[..., None] + np.concatenate(shifts, axis=-1))


def dgcv(mean_square: FloatArray, mean_trace: FloatArray, n_rows: int) -> FloatArray:
    """Distributed GCV (Xu, Shang & Cheng 2018): mean (y - fbar)^2 / (1 - tr H / N)^2, tr H = mean_j tr A_j."""
    return mean_square / (1.0 - mean_trace / n_rows) ** 2


def _pair_mean(squares: FloatArray, crossed: FloatArray, q: int, k: int) -> FloatArray:
    """Combine sums over q nodes; with one node left there is no pair, and its square stands for both."""
    pairs = crossed / (q * (q - 1)) if q > 1 else squares
    return squares / (q * k) + (1.0 - 1.0 / k) * pairs


def _mean_square(path: Path, weights: FloatArray | None) -> FloatArray:
    return np.average(path.residual**2, axis=1, weights=weights)
