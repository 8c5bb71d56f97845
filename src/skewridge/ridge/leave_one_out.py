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

from dataclasses import dataclass

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge.kernels import BANDWIDTH_FREE, Kernel, loops
from skewridge.linalg.cholesky import NotPositiveDefinite, add_gram, inverse_factor, inverse_solve, lower_square


@dataclass(frozen=True)
class LeaveOneOut:
    """The leave-one-out loss and its gradient in the logarithms of scales, ridge and trends.

    Attributes
    ----------
    loss : float, sum w e^2 / sum w, the mean over outputs
    errors : (n, p) array of left-out errors e
    log_scales : (d,) array, dL / dlog s_f; zeros for kernels without scales (polynomial, sobolev)
    log_ridge : float, dL / dlog c
    log_trend : (k,) array, dL / dlog trend_j of every column of Q
    """

    loss: float
    errors: FloatArray
    log_scales: FloatArray
    log_ridge: float
    log_trend: FloatArray


@dataclass(frozen=True)
class _Inverse:
    """P, and above the diagonal of `similar` the rows' similarities."""

    P: FloatArray
    similar: FloatArray


@dataclass(frozen=True)
class _Blocks:
    """The left-out errors and what the gradient needs of them.

    errors, pulls : (n, p) arrays, e and u
    curvature : (n, n) array, P D P
    """

    errors: FloatArray
    pulls: FloatArray
    curvature: FloatArray


def left_out_errors(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    ridge: float,
    *,
    trend: float | FloatArray = 0.0,
    Q: FloatArray | None = None,
    frequencies: FloatArray | None = None,
    groups: IntArray | None = None,
) -> FloatArray:
    """Return every row's error when it (or its group) is left out and the rest refitted, (n, p).

    Examples
    --------
    >>> import numpy as np
    >>> Z, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> flat = Kernel("gaussian", bandwidth=1e-3)  # far rows are predicted by the others' mean
    >>> left_out_errors(flat, Z, Y, ridge=1.0)[:, 0].round(6).tolist()
    [-3.0, -1.5, 4.5]
    """
    Q, f = _columns(Q, len(Z)), _or_ones(frequencies, len(Z))
    P = _inverse(kernel, Z, ridge / f, trend, Q).P
    A = P @ (Y - Y.mean(axis=0))
    return A / P.diagonal()[:, None] if groups is None else errors_by_group(P, A, groups)


def projected_inverse(kernel: Kernel, Z: FloatArray, ridges: FloatArray) -> FloatArray:
    """P of rows with a ridge each, (n, n), without trends."""
    return _inverse(kernel, Z, ridges, 0.0, np.empty((len(Z), 0))).P


def errors_by_group(P: FloatArray, A: FloatArray, groups: IntArray) -> FloatArray:
    """P_BB^-1 A_B of every group B, (n, p): with A = P Y the errors of rows that are left out together."""
    return _solve_blocks(P, A, _members(groups))


def leave_one_out(
    kernel: Kernel,
    Z: FloatArray,
    Y: FloatArray,
    ridge: float,
    *,
    trend: float | FloatArray = 0.0,
    Q: FloatArray | None = None,
    frequencies: FloatArray | None = None,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
) -> LeaveOneOut:
    """Return the leave-one-out loss of a ridge and its exact gradient.

    One evaluation costs about 2 n^3 + 2 n^2 d operations.

    Parameters
    ----------
    kernel : Kernel
    Z : (n, d) array, rows already multiplied by their scales
    Y : (n, p) array, in units of the outputs' standard deviations: their losses are averaged
    ridge : float, c > 0
    trend : float or (k,) array >= 0, what multiplies q q' of all columns of Q, or of every one
    Q : (n, k) array of trend columns, or None
    frequencies : (n,) array, how often every row occurs; None: once
    weights : (n,) array of loss weights >= 0; None: the frequencies
    groups : (n,) array of labels, rows that are left out together; None: every row on its own

    Raises
    ------
    numpy.linalg.LinAlgError
        If G is singular to working precision, or the loss is not finite: raise the ridge.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.linspace(0, 3, 20)[:, None]
    >>> found = leave_one_out(Kernel("matern32", bandwidth=1.0), Z, np.sin(Z), ridge=0.01)
    >>> found.loss < 1e-3, found.log_ridge > 0  # a sine without noise: a smaller ridge is better
    (True, True)
    """
    n = len(Z)
    Q, f = _columns(Q, n), _or_ones(frequencies, n)
    w = f if weights is None else weights
    _check_weights(w, n)
    solved = _inverse(kernel, Z, ridge / f, trend, Q)
    A = solved.P @ (Y - Y.mean(axis=0))
    blocks = _left_out(solved.P, A, w, groups)
    share = 1.0 / (float(w.sum()) * Y.shape[1])
    V, C = solved.P @ blocks.pulls, blocks.curvature  # dL/dG = 2 share [C - (V A' + A V') / 2]
    scales = np.zeros(Z.shape[1])
    if kernel.name not in BANDWIDTH_FREE:
        scales = 2.0 * share * kernel.scale_gradient(Z, solved.similar, C, V, A)
    by_ridge = C.diagonal() - np.sum(V * A, axis=1)
    by_trend = np.sum(Q * (C @ Q), axis=0) - np.sum((Q.T @ V) * (Q.T @ A), axis=1)
    found = LeaveOneOut(
        loss=share * float(np.sum(w[:, None] * blocks.errors**2)),
        errors=blocks.errors,
        log_scales=scales,
        log_ridge=2.0 * share * ridge * float(np.sum(by_ridge / f)),
        log_trend=2.0 * share * trend * by_trend,
    )
    _check_finite(found)
    return found


def _inverse(
    kernel: Kernel,
    Z: FloatArray,
    ridges: FloatArray,
    trend: float | FloatArray,
    Q: FloatArray,
) -> _Inverse:
    """G in the lower triangle of a matrix whose upper one keeps the similarities; then P."""
    n = len(Z)
    square, P = np.empty((n, n)), np.empty((n, n))
    diagonal = kernel.similarity_upper(Z, square)
    kernel.rescaled_below(square, diagonal, kernel.bandwidth)
    add_gram(square, Q - Q.mean(axis=0), trend)  # P removes the mean of Q anyway: less cancels
    square.reshape(-1)[:: n + 1] += ridges
    inverse = inverse_factor(square)
    ones = inverse_solve(inverse, np.ones((1, n)))[0]
    loops().project_out_mean(lower_square(inverse), ones, float(ones.sum()), P)
    if not np.all(P.diagonal() > 0.0):  # nor is NaN
        raise NotPositiveDefinite("the projected inverse has a diagonal that is not positive")
    return _Inverse(P, square)


def _left_out(P: FloatArray, A: FloatArray, w: FloatArray, groups: IntArray | None) -> _Blocks:
    return _single_rows(P, A, w) if groups is None else _groups(P, A, w, _members(groups))


def _single_rows(P: FloatArray, A: FloatArray, w: FloatArray) -> _Blocks:
    """Every row left out on its own; P D P as one symmetric product over rows that count."""
    diagonal = P.diagonal()[:, None]
    errors = A / diagonal
    root = np.sqrt(w * np.sum(errors**2 / diagonal, axis=1))
    counted = np.flatnonzero(root)
    half = (P if len(counted) == len(P) else P[counted]) * root[counted, None]
    return _Blocks(errors, w[:, None] * errors / diagonal, half.T @ half)


def _groups(P: FloatArray, A: FloatArray, w: FloatArray, members: list[IntArray]) -> _Blocks:
    """Rows of a group left out together.

    P D P = (L R' + R L') / 2 with a column of L and of R for every group and output.
    """
    errors = _solve_blocks(P, A, members)
    pulls = _solve_blocks(P, w[:, None] * errors, members)
    left, right = (P @ _by_group(values, members) for values in (errors, pulls))
    product = left @ right.T
    return _Blocks(errors, pulls, 0.5 * (product + product.T))


def _solve_blocks(P: FloatArray, right: FloatArray, members: list[IntArray]) -> FloatArray:
    """P_BB^-1 right_B for every group B, in the rows' order."""
    out = right / P.diagonal()[:, None]
    for rows in (own for own in members if len(own) > 1):
        out[rows] = np.linalg.solve(P[np.ix_(rows, rows)], right[rows])
    return out


def _by_group(values: FloatArray, members: list[IntArray]) -> FloatArray:
    """The rows' values, (n, p), in the columns of their group, (n, p * number of groups)."""
    n, p = values.shape
    out = np.zeros((n, len(members), p))
    for group, rows in enumerate(members):
        out[rows, group] = values[rows]
    return out.reshape(n, -1)


def _members(groups: IntArray) -> list[IntArray]:
    """The rows of every group."""
    _, label, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError("at least two groups to leave out are needed; got one: check `groups`")
    return np.split(np.argsort(label, kind="stable"), np.cumsum(counts)[:-1])


def _columns(Q: FloatArray | None, n: int) -> FloatArray:
    """The trend's columns; (n, 0) where there is none."""
    return np.empty((n, 0)) if Q is None else Q


def _or_ones(values: FloatArray | None, n: int) -> FloatArray:
    return np.ones(n) if values is None else values


def _check_weights(w: FloatArray, n: int) -> None:
    if n < 2:
        raise ValueError(f"leaving one out needs at least two rows; got {n}")
    if w.shape != (n,) or not (np.all(w >= 0.0) and w.sum() > 0.0):
        raise ValueError(f"{n} weights >= 0, not all 0, are needed; got {w.shape}: check `weights`")


def _check_finite(found: LeaveOneOut) -> None:
    numbers = [found.loss, found.log_ridge, *found.log_trend, *found.log_scales]
    if not np.isfinite(numbers).all():
        raise np.linalg.LinAlgError(
            f"the leave-one-out loss, {found.loss:g}, and its gradient must be finite: raise the ridge"
        )
