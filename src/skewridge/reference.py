"""The method in plain numpy, to be read aloud: short, slow, and what the engine is tested against.

Algorithm 1 deals the rows to nodes at random, fits kernel ridge regression in every node and averages the fits.
Algorithm 2 first copies the rows of rare slices of the response, so that every node sees them. The average of the
nodes collapses to one expansion over the rows. The low-rank fit keeps the idea and drops the average: it puts its
centres where the response is rare and lets every row enter the loss. Two levels put exact fits in small
cells of x below it, which see it, and other fits beside it, as coordinates and trends, and blend all by what they
predict for rows left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray


def kernel_matrix(name: str, X: FloatArray, Z: FloatArray, bandwidth: float) -> FloatArray:
    """k(x, z) for every row of X and every row of Z, (n, m)."""
    gaps = (X[:, None, :] - Z[None, :, :]) / bandwidth
    if name == "laplacian":
        return np.exp(-np.abs(gaps).sum(axis=2))
    r = np.sqrt((gaps**2).sum(axis=2))
    if name == "gaussian":
        return np.exp(-(r**2))
    if name == "matern12":
        return np.exp(-r)
    if name == "matern32":
        return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
    if name == "matern52":
        return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
    raise ValueError(f"The reference knows gaussian, matern12, matern32, matern52 and laplacian; got {name!r}.")


def slice_labels(y: FloatArray, n_slices: int) -> IntArray:
    """Cut [min y, max y] into slices of equal width, the last one closed: the slice of every row, (N,)."""
    edges = np.linspace(y.min(), y.max(), n_slices + 1)
    return np.searchsorted(edges[1:-1], y, side="right")


def copies_of(labels: IntArray, oversampling: float = 1.0) -> IntArray:
    """Copies of every row, (N,): max(1, floor(tau |fullest slice| / |its slice|))."""
    counts = np.bincount(labels)
    return np.maximum(1, np.floor(oversampling * counts.max() / counts[labels])).astype(np.int64)


def deal(labels: IntArray, copies: IntArray, n_nodes: int, seed: int) -> list[IntArray]:
    """Deal every slice's copies evenly to the nodes in random order; each node then drops what it holds twice."""
    rng = np.random.default_rng(seed)
    hands: list[list[int]] = [[] for _ in range(n_nodes)]
    seat = 0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        for row in rng.permutation(np.repeat(rows, copies[rows])):
            hands[seat % n_nodes].append(int(row))
            seat += 1
    return [np.unique(hand) for hand in hands]


@dataclass(frozen=True)
class Fit:
    """f(x) = intercept + sum_i coef_i k(x, points_i)."""

    points: FloatArray
    coef: FloatArray
    intercept: float
    kernel: str
    bandwidth: float

    def predict(self, X: FloatArray) -> FloatArray:
        """Evaluate f at every row."""
        K = kernel_matrix(self.kernel, X, self.points, self.bandwidth)
        return np.dot(K, self.coef) + self.intercept


def node_coef(K: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Kernel ridge regression of one node: (K + n penalty I) beta = y."""
    return np.asarray(np.linalg.solve(K + len(y) * penalty * np.eye(len(y)), y), dtype=np.float64)


def average_of_nodes(
    X: FloatArray,
    y: FloatArray,
    nodes: Sequence[IntArray],
    *,
    kernel: str,
    bandwidth: float,
    penalty: float,
    fit_intercept: bool = True,
) -> Fit:
    """Fit every node and collapse the average: a row's coefficient is its sum over the nodes that hold it, over k."""
    intercept = float(y.mean()) if fit_intercept else 0.0
    coef = np.zeros(len(y))
    for rows in nodes:
        K = kernel_matrix(kernel, X[rows], X[rows], bandwidth)
        coef[rows] += node_coef(K, y[rows] - intercept, penalty) / len(nodes)
    return Fit(X, coef, intercept, kernel, bandwidth)


def algorithm_1(X: FloatArray, y: FloatArray, n_nodes: int, seed: int, **settings: float | str | bool) -> Fit:
    """Classical divide and conquer: every row is dealt to one node.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> fit = algorithm_1(X, X[:, 0], 3, seed=0, kernel="gaussian", bandwidth=1.0, penalty=1e-6)
    >>> bool(np.abs(fit.predict(X) - X[:, 0]).max() < 0.01)
    True
    """
    everything = np.zeros(len(y), dtype=np.int64)
    nodes = deal(everything, np.ones(len(y), dtype=np.int64), n_nodes, seed)
    return average_of_nodes(X, y, nodes, **settings)  # type: ignore[arg-type]


def algorithm_2(
    X: FloatArray,
    y: FloatArray,
    n_nodes: int,
    n_slices: int,
    seed: int,
    oversampling: float = 1.0,
    **settings: float | str | bool,
) -> Fit:
    """The paper's method: rare rows are copied until their slice is as full as the fullest, then dealt."""
    labels = slice_labels(y, n_slices)
    nodes = deal(labels, copies_of(labels, oversampling), n_nodes, seed)
    return average_of_nodes(X, y, nodes, **settings)  # type: ignore[arg-type]


def adaptive_centers(labels: IntArray, n_centers: int, adapt: float, seed: int) -> IntArray:
    """Rows that become centres: a share ``adapt`` evenly over the occupied slices, the rest uniformly."""
    order = np.random.default_rng(seed).permutation(len(labels))
    turns = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        inside = order[labels[order] == label]
        turns[inside] = np.arange(len(inside))
    evenly = order[np.argsort(turns[order], kind="stable")][: round(adapt * n_centers)]
    uniformly = order[~np.isin(order, evenly)][: n_centers - len(evenly)]
    return np.sort(np.concatenate([evenly, uniformly]))


def low_rank(
    X: FloatArray,
    y: FloatArray,
    centers: FloatArray,
    *,
    kernel: str,
    bandwidth: float,
    penalty: float,
    weights: FloatArray | None = None,
) -> Fit:
    """Kernel ridge regression on centres C with every row in the loss.

    Minimises sum_i w_i (y_i - mean - k(x_i, C) a)^2 + N penalty a'K_CC a, N being the sum of the weights.
    """
    w = np.ones(len(y)) if weights is None else weights
    intercept = float(np.average(y, weights=w))
    K_NC = kernel_matrix(kernel, X, centers, bandwidth)
    K_CC = kernel_matrix(kernel, centers, centers, bandwidth)
    rows = np.sqrt(w)[:, None] * K_NC
    ridge = np.sqrt(w.sum() * penalty) * np.linalg.cholesky(K_CC).T  # a'K_CC a as squares of further rows
    target = np.concatenate([np.sqrt(w) * (y - intercept), np.zeros(len(centers))])
    coef: FloatArray = np.linalg.lstsq(np.vstack([rows, ridge]), target, rcond=None)[0]
    return Fit(centers, coef, intercept, kernel, bandwidth)


def local_ridge(
    Z: FloatArray, y: FloatArray, q: FloatArray, *, kernel: str, ridge: float, trends: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Exact ridge of one cell with refitted mean: coefficients, mean, and left-out predictions.

    G = k(z, z') + q diag(trends) q' + ridge I, P = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1), coefficients P y;
    the prediction of row i by the fit without it is y_i - (P y)_i / P_ii.
    """
    G = kernel_matrix(kernel, Z, Z, 1.0) + (q * trends) @ q.T + ridge * np.eye(len(y))
    inverse = np.linalg.inv(G)
    ones = inverse.sum(axis=1)
    P = inverse - np.outer(ones, ones) / ones.sum()
    mean = float(ones @ y / ones.sum())
    return P @ y, mean, y - (P @ y) / np.diag(P)


@dataclass(frozen=True)
class Local:
    """The learned settings of one local fit."""

    kernel: str
    scales: FloatArray
    ridge: float
    trends: FloatArray


def cells_fit(
    local: Local,
    forms: FloatArray,
    y: FloatArray,
    guide: FloatArray,
    cells: IntArray,
    *,
    new_forms: FloatArray,
    new_guide: FloatArray,
    new_cells: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Level 2: exact fits in the cells of some partitions, averaged.

    Guides, (n, k), level 1 and whatever stands beside it, are the last coordinates and the trends.
    Cells come as labels, one column a partition. Returns left-out predictions of the rows and predictions of new rows.
    """
    Z = np.column_stack([forms, guide]) * local.scales
    Z_new = np.column_stack([new_forms, new_guide]) * local.scales
    left_out, predictions = np.zeros(len(Z)), np.zeros(len(Z_new))
    how = {"kernel": local.kernel, "ridge": local.ridge, "trends": local.trends}
    for own, new in zip(cells.T, new_cells.T, strict=True):
        for cell in np.unique(own):
            here, there = own == cell, new == cell
            coef, mean, without = local_ridge(Z[here], y[here], guide[here], **how)  # type: ignore[arg-type]
            left_out[here] += without / cells.shape[1]
            K = kernel_matrix(local.kernel, Z_new[there], Z[here], 1.0)
            slopes = local.trends * (guide[here].T @ coef)
            predictions[there] += (np.dot(K, coef) + new_guide[there] @ slopes + mean) / cells.shape[1]
    return left_out, predictions


def linear_ridge(X: FloatArray, y: FloatArray, penalty: float) -> tuple[FloatArray, FloatArray, float]:
    """Ridge regression on standardised columns: left-out predictions, slopes and intercept."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
    S = (X - mean) / spread
    hat = S @ np.linalg.solve(S.T @ S + len(y) * penalty * np.eye(X.shape[1]), S.T) + 1 / len(y)
    left_out = y - (y - hat @ y) / (1 - np.diag(hat))
    beta = np.linalg.solve(S.T @ S + len(y) * penalty * np.eye(X.shape[1]), S.T @ (y - y.mean()))
    slopes = beta / spread
    return left_out, slopes, float(y.mean() - slopes @ mean)


def blend_weights(honest: FloatArray, y: FloatArray) -> FloatArray:
    """Least squares of y on honest predictions, (N, M), all centred: weights >= 0 with sum at most 1.

    Rows that would hold over a tenth of the squared error count for less, so that none holds more.
    """
    counts, most = np.ones(len(y)), max(0.1, 10 / len(y))
    for _ in range(20):
        weights = best_weights(honest, y, counts)
        left = y - honest @ weights
        errors = (left - np.average(left, weights=counts)) ** 2
        largest, limit = np.sort(errors)[::-1], 0.0
        for k in range(int(np.ceil(1 / most))):
            limit = most * largest[k:].sum() / (1 - most * k)
            if largest[k] <= limit:
                break
        counts = np.minimum(1.0, limit / np.maximum(errors, 1e-300))
    return weights


def best_weights(honest: FloatArray, y: FloatArray, counts: FloatArray) -> FloatArray:
    """The best of all faces of {w >= 0, sum w <= 1}, rows counting as given."""
    centre, root = np.average(np.column_stack([honest, y]), axis=0, weights=counts), np.sqrt(counts)
    A, b = root[:, None] * (honest - centre[:-1]), root * (y - centre[-1])
    best = np.zeros(A.shape[1])
    for subset in range(1, 2 ** A.shape[1]):
        members = [m for m in range(A.shape[1]) if subset >> m & 1]
        free = np.linalg.lstsq(A[:, members], b, rcond=None)[0]
        last = A[:, members[-1]]
        others = np.linalg.lstsq(A[:, members[:-1]] - last[:, None], b - last, rcond=None)[0]
        for found in (free, np.append(others, 1 - others.sum())):
            weights = np.zeros(A.shape[1])
            weights[members] = found
            allowed = found.min() >= 0 and found.sum() <= 1 + 1e-12
            if allowed and np.sum((b - A @ weights) ** 2) < np.sum((b - A @ best) ** 2):
                best = weights
    return best


def blend(honest: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
    """The weighted sum of the members' new predictions, (n, M), around the mean of y."""
    weights = blend_weights(honest, y)
    return np.asarray(y.mean() + (new - honest.mean(axis=0)) @ weights, dtype=np.float64)
