"""The exact leave-one-out error of kernel ridge regression, and its gradient.

With scaled rows s z, ridge c, frequencies f and trend columns Q::

    G = k(s z, s z') + Q diag(trend) Q' + c diag(1 / f)
    P = G^-1 - G^-1 1 1' G^-1 / (1' G^-1 1)
    e_i = (P y)_i / P_ii
    L = sum w e^2 / sum w

P is the inverse with the mean refitted: e_i is exactly y_i minus the prediction of a fit, mean
included, to the other rows. Rows of a group are left out together, e_B = P_BB^-1 (P y)_B. With
a = P y, u = w e / diag P and v = P u,

    dL/dG = M = (2 / sum w) [P D P - (v a' + a v') / 2],   D = diag(w e^2 / diag P),

and for groups u_B = P_BB^-1 (w e)_B and D = (e_B u_B' + u_B e_B') / 2 block by block.
"""

from __future__ import annotations

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.kernels import BANDWIDTH_FREE, Kernel, loops
from skewridge.linalg.cholesky import NotPositiveDefinite, add_gram, inverse_factor, inverse_solve, lower_square
from skewridge.ridge.sample import Sample


def leave_one_out(
    kernel: Kernel, sample: Sample, ridge: float, trends: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray]:
    """Return the leave-one-out loss of a ridge, left-out errors, (n, p), and the loss's exact gradient, (d + 1 + k,).

    The sample's rows are already multiplied by their scales; ``trends``, (k,), weigh the columns of its trend, where it
    has one. The gradient is that in the logarithms of scales (0 for polynomial and sobolev, which have none), ridge and
    trends; the loss is the mean over outputs. LinAlgError where G is singular to working precision, or the loss is not
    finite: raise the ridge. An evaluation costs about 2 n^3 + 2 n^2 d operations.

    Examples
    --------
    >>> import numpy as np
    >>> Z, one = np.linspace(0, 3, 20)[:, None], np.ones(20)
    >>> loss, _, gradient = leave_one_out(Kernel("matern32", bandwidth=1.0), Sample(Z, np.sin(Z), one, one), ridge=0.01)
    >>> loss < 1e-3, bool(gradient[1] > 0)  # a sine without noise: a smaller ridge is better
    (True, True)
    """
    Z, Y, w, n = sample.Z, sample.Y, sample.loss_weights, len(sample)
    if n < 2:
        raise ValueError(f"leaving one out needs at least two rows; got {n}")
    if w.shape != (n,) or not (np.all(w >= 0.0) and w.sum() > 0.0):
        raise ValueError(f"{n} weights >= 0, not all 0, are needed; got {w.shape}: check `weights`")
    Q = np.empty((n, 0)) if sample.trend is None else sample.trend
    trends = np.zeros(Q.shape[1]) if trends is None else trends
    P, similar = projected_inverse(kernel, Z, ridge / sample.frequencies, Q, trends)
    A = P @ (Y - Y.mean(axis=0))
    if sample.groups is None:
        diagonal = P.diagonal()[:, None]
        errors = A / diagonal
        influence = w[:, None] * errors / diagonal
        root = np.sqrt(w * np.sum(errors**2 / diagonal, axis=1))
        counted = np.flatnonzero(root)
        half = (P if len(counted) == n else P[counted]) * root[counted, None]
        C = half.T @ half  # P D P as one symmetric product over rows that count
    else:
        errors = errors_by_group(P, A, sample.groups)
        influence = errors_by_group(P, w[:, None] * errors, sample.groups)
        own = np.unique(sample.groups, return_inverse=True)[1]
        left, right = np.zeros((2, n, own.max() + 1, Y.shape[1]))  # a column for every group and output
        left[np.arange(n), own], right[np.arange(n), own] = errors, influence
        product = P @ left.reshape(n, -1) @ (P @ right.reshape(n, -1)).T
        C = 0.5 * (product + product.T)
    V, share = P @ influence, 1.0 / (float(w.sum()) * Y.shape[1])  # dL/dG = 2 share [C - (V A' + A V') / 2]
    loss = share * float(np.sum(w[:, None] * errors**2))
    scales = np.zeros(Z.shape[1])
    if kernel.name not in BANDWIDTH_FREE:
        left = kernel.prepare(Z)
        right, v, a = (np.ascontiguousarray(own.T) for own in (left, V, A))
        loops().scale_gradient(kernel, left, right, similar, C, v, a, scales)
        scales *= 2.0 * share
    by_ridge = np.sum((C.diagonal() - np.sum(V * A, axis=1)) / sample.frequencies)
    by_trend = np.sum(Q * (C @ Q), axis=0) - np.sum((Q.T @ V) * (Q.T @ A), axis=1)
    gradient = np.concatenate([scales, [2.0 * share * ridge * float(by_ridge)], 2.0 * share * trends * by_trend])
    if not (np.isfinite(loss) and np.isfinite(gradient).all()):
        raise np.linalg.LinAlgError(
            f"the leave-one-out loss, {loss:g}, and its gradient must be finite: raise the ridge"
        )
    return loss, errors, gradient


def projected_inverse(
    kernel: Kernel, Z: FloatArray, ridges: FloatArray, Q: FloatArray, trends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """P of rows with a ridge each, (n, n), and a matrix that keeps the rows' similarities above its diagonal."""
    n = len(Z)
    square, P = np.empty((n, n)), np.empty((n, n))
    left, diagonal = kernel.prepare(Z), np.empty(n)
    loops().similarity_upper(kernel, left, np.ascontiguousarray(left.T), square, diagonal)
    loops().rescaled_below(kernel, square, diagonal, 1.0)
    add_gram(square, Q - Q.mean(axis=0), trends)  # P removes the mean of Q anyway: less cancels
    square.reshape(-1)[:: n + 1] += ridges
    inverse = inverse_factor(square)
    ones = inverse_solve(inverse, np.ones((1, n)))[0]
    loops().project_out_mean(lower_square(inverse), ones, float(ones.sum()), P)
    if not np.all(P.diagonal() > 0.0):  # nor is NaN
        raise NotPositiveDefinite("the projected inverse has a diagonal that is not positive")
    return P, square


def errors_by_group(P: FloatArray, A: FloatArray, groups: IntArray) -> FloatArray:
    """P_BB^-1 A_B of every group B, (n, p): with A = P Y the errors of rows that are left out together."""
    _, own, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError("at least two groups to leave out are needed; got one: check `groups`")
    out = A / P.diagonal()[:, None]
    for rows in np.split(np.argsort(own, kind="stable"), np.cumsum(counts)[:-1]):
        if len(rows) > 1:
            out[rows] = np.linalg.solve(P[np.ix_(rows, rows)], A[rows])
    return out
