"""The loops of ``_compiled`` without a compiler: the same names, arguments and results, in numpy.

Used where numba is absent or switched off; several times slower, and tested to the same tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skewridge._typing import AnyFloatArray as FloatArray
from skewridge._typing import IntArray
from skewridge.kernels._numpy_rows import interpolate as interpolate
from skewridge.kernels._numpy_rows import leaves_of as leaves_of
from skewridge.linalg.lapack import NOT_FINITE, NotPositiveDefinite, cholesky, cholesky_solve

GAUSSIAN, MATERN12, MATERN32, MATERN52, LAPLACIAN, POLYNOMIAL, SOBOLEV = range(7)
FAR = 1e4  # from here on exp(-t) is 0 in any precision, also times a power of t
TILE_ROWS = 256  # rows of similarities held at a time


def _tiles(n: int) -> Iterator[slice]:
    return (slice(top, min(top + TILE_ROWS, n)) for top in range(0, n, TILE_ROWS))


def _similarity(code: int, left: FloatArray, right: FloatArray) -> FloatArray:
    """Squared or absolute distances, inner products, or products of minima, feature by feature."""
    total = np.full((len(left), right.shape[1]), 1 if code == SOBOLEV else 0, dtype=left.dtype)
    for u, z in zip(left.T[:, :, None], right, strict=True):
        if code == LAPLACIAN:
            total += np.abs(u - z)
        elif code == POLYNOMIAL:
            total += u * z
        elif code == SOBOLEV:
            total *= 1 + np.minimum(u, z)
        else:
            total += (u - z) ** 2
    return total


def _profile(code: int, degree: int, s: FloatArray) -> FloatArray:
    """Kernel values from similarities."""
    if code in (GAUSSIAN, LAPLACIAN):
        return np.exp(-s)
    if code == POLYNOMIAL:
        power: FloatArray = (1 + s) ** degree
        return power
    if code == SOBOLEV:
        return s
    t = np.minimum(np.sqrt(s * {MATERN12: 1, MATERN32: 3, MATERN52: 5}[code]), FAR).astype(s.dtype, copy=False)
    factor = {MATERN12: 1, MATERN32: 1 + t, MATERN52: 1 + t + t * t / 3}[code]
    values: FloatArray = factor * np.exp(-t)
    return values


def gram_lower(code: int, degree: int, left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """The lower triangle (diagonal included) of k(X, X)."""
    for rows in _tiles(len(left)):
        values = _profile(code, degree, _similarity(code, left[rows], right[:, : rows.stop]))
        for i, row in zip(range(rows.start, rows.stop), values, strict=True):
            out[i, : i + 1] = row[: i + 1]


def cross(code: int, degree: int, left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """k(X, Z)."""
    for rows in _tiles(len(left)):
        out[rows] = _profile(code, degree, _similarity(code, left[rows], right))


def cross_blas(
    code: int, degree: int, left: FloatArray, rows: FloatArray, norms: FloatArray, lower: bool, out: FloatArray
) -> None:
    """k(X, Z); lower is only a saving of the compiled loop."""
    cross(code, degree, left, rows.T, out)


def similarity_upper(
    code: int, degree: int, left: FloatArray, right: FloatArray, out: FloatArray, diagonal: FloatArray
) -> None:
    """The similarities of X with itself: above the diagonal of out, and the diagonal apart."""
    for i in range(len(left)):
        row = _similarity(code, left[i : i + 1], right[:, i:])[0]
        diagonal[i], out[i, i + 1 :] = row[0], row[1:]


def similarity(code: int, degree: int, left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """The similarities of X and Z."""
    for rows in _tiles(len(left)):
        out[rows] = _similarity(code, left[rows], right)


def rescaled(code: int, degree: int, similarities: FloatArray, factor: float, out: FloatArray) -> None:
    """Kernel values from similarities of points that are stretched by a factor more."""
    for rows in _tiles(len(out)):
        out[rows] = _profile(code, degree, similarities[rows] * factor)


def rescaled_below(code: int, degree: int, square: FloatArray, diagonal: FloatArray, factor: float) -> None:
    """rescaled for a square matrix: from similarities above its diagonal into its lower triangle."""
    for i in range(len(square)):
        square[i, :i] = _profile(code, degree, square[:i, i] * factor)
        square[i, i] = _profile(code, degree, diagonal[i : i + 1] * factor)[0]


def matvec(code: int, degree: int, left: FloatArray, right: FloatArray, coef: FloatArray, out: FloatArray) -> None:
    """k(X, Z) @ coef', one tile of kernel values at a time; coef is (p, m) and out (n, p)."""
    for rows in _tiles(len(left)):
        out[rows] = _profile(code, degree, _similarity(code, left[rows], right)) @ coef.T


def residual_moments(
    code: int,
    degree: int,
    left: FloatArray,
    right: FloatArray,
    coef: FloatArray,
    weights: FloatArray,
    targets: FloatArray,
    out: FloatArray,
) -> None:
    """Add k(X, Z)' w (targets - k(X, Z) @ coef') to out, (p, m), with every kernel value computed once."""
    for rows in _tiles(len(left)):
        values = _profile(code, degree, _similarity(code, left[rows], right))
        out += (weights[rows, None] * (targets[rows] - values @ coef.T)).T @ values


def residual_moments_blas(
    code: int,
    degree: int,
    left: FloatArray,
    rows: FloatArray,
    coef: FloatArray,
    norms: FloatArray,
    weights: FloatArray,
    targets: FloatArray,
    out: FloatArray,
) -> None:
    """residual_moments with the right points as rows."""
    residual_moments(code, degree, left, rows.T, coef, weights, targets, out)


def matvec_near(
    code: int,
    degree: int,
    left: FloatArray,
    right: FloatArray,
    coef: FloatArray,
    starts: IntArray,
    low: FloatArray,
    high: FloatArray,
    reach: float,
    out: FloatArray,
) -> None:
    """matvec without the boxes of right points whose similarity to a left point is beyond reach."""
    out[:] = 0.0
    for b in range(low.shape[1]):
        gap = np.maximum(np.maximum(low[:, b] - left, left - high[:, b]), 0)
        near = ~((gap if code == LAPLACIAN else gap * gap).sum(axis=1) > reach)  # so is NaN, which stays NaN
        part = slice(starts[b], starts[b + 1])
        out[near] += _profile(code, degree, _similarity(code, left[near], right[:, part])) @ coef[:, part].T


def matvec_cells(
    code: int,
    degree: int,
    left: FloatArray,
    cells: IntArray,
    points: FloatArray,
    order: IntArray,
    starts: IntArray,
    coef: FloatArray,
    out: FloatArray,
) -> None:
    """k(x, Z) @ coef' with the points Z of x's own cell only, for left points sorted by cell."""
    for cell in np.unique(cells):
        rows, part = cells == cell, slice(starts[cell], starts[cell + 1])
        right = points[order[part]].T
        out[rows] = _profile(code, degree, _similarity(code, left[rows], right)) @ coef[:, part].T


def matvec_blas(
    code: int, degree: int, left: FloatArray, rows: FloatArray, coef: FloatArray, norms: FloatArray, out: FloatArray
) -> None:
    """k(X, Z) @ coef' with the right points as rows."""
    matvec(code, degree, left, rows.T, coef, out)


def solve_nodes(
    code: int,
    degree: int,
    points: FloatArray,
    norms: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    penalties: FloatArray,
    rows: IntArray,
    starts: IntArray,
    nodes: IntArray,
    potrf: int,
    potrs: int,
    upper: IntArray,
    ints: IntArray,
    buffer: FloatArray,
    coef: FloatArray,
) -> tuple[int, int]:
    """Solve some nodes and fill their part of coef; returns the first that fails and LAPACK's word, or (-1, 0)."""
    for node in nodes[np.diff(starts)[nodes] > 0].tolist():
        part = slice(starts[node], starts[node + 1])
        own = rows[part]
        matrix: Any = buffer[: len(own) ** 2].reshape(len(own), len(own))
        gram_lower(code, degree, points[own], points[own].T, matrix)
        inverse = 1.0 / weights[own] if weights.size else 1.0
        total = weights[own].sum() if weights.size else len(own)
        matrix.reshape(-1)[:: len(own) + 1] += penalties[node] * total * inverse
        try:
            factor = cholesky(matrix)
        except NotPositiveDefinite as error:
            return node, error.minor
        if not np.isfinite(factor.diagonal()).all():
            return node, NOT_FINITE
        coef[part] = cholesky_solve(factor, y[own].astype(points.dtype))
    return -1, 0


def _slope(code: int, degree: int, s: FloatArray) -> FloatArray:
    """The factor of each feature's derivative; see ``_compiled._slope``."""
    if code in (POLYNOMIAL, SOBOLEV):
        return s if code == SOBOLEV else degree * (1.0 + s) ** (degree - 1)
    if code in (GAUSSIAN, LAPLACIAN):
        return -(2.0 if code == GAUSSIAN else 1.0) * np.exp(-s)
    r = np.sqrt(s)
    if code == MATERN12:
        return -np.divide(np.exp(-r), r, out=np.zeros_like(r), where=r > 0)
    t = np.minimum(np.sqrt(3.0 if code == MATERN32 else 5.0) * r, FAR)
    return -3.0 * np.exp(-t) if code == MATERN32 else -(5.0 / 3.0) * (1.0 + t) * np.exp(-t)


def _direction(code: int, u: FloatArray, z: FloatArray) -> FloatArray:
    """Derivative of the similarity's feature term; half-way between the one-sided slopes at a kink."""
    if code == LAPLACIAN:
        return np.sign(u - z)
    if code == POLYNOMIAL:
        return np.broadcast_to(z, (len(u), len(z)))
    if code == SOBOLEV:
        return np.where(u < z, 1.0, np.where(u == z, 0.5, 0.0)) / (1.0 + np.minimum(u, z))
    return u - z


def gradient(code: int, degree: int, left: FloatArray, right: FloatArray, coef: FloatArray, out: FloatArray) -> None:
    """d/dx of k(x, Z) @ coef at every left point."""
    for rows in _tiles(len(left)):
        slopes = _slope(code, degree, _similarity(code, left[rows], right)) * coef
        for f, z in enumerate(right):
            out[rows, f] = np.sum(slopes * _direction(code, left[rows, f, None], z), axis=1)


def distances_from(code: int, x: FloatArray, scales: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Distances from x to every right point, features times their scales."""
    out[:] = _similarity(code, (x * scales)[None, :], right * scales[:, None])[0]


def project_out_mean(lower: FloatArray, solved: FloatArray, total: float, out: FloatArray) -> None:
    """A - g g' / total in full from the lower triangle of a symmetric A."""
    half = np.tril(lower - np.outer(solved, solved / total))
    out[:] = half + np.tril(half, -1).T


def scale_gradient(
    code: int,
    degree: int,
    left: FloatArray,
    right: FloatArray,
    similar: FloatArray,
    curvature: FloatArray,
    v: FloatArray,
    a: FloatArray,
    out: FloatArray,
) -> None:
    """sum_ij W_ij dk(s x_i, s x_j) / dlog s_f for every feature f, at s = 1; W = C - (v'a + a'v) / 2."""
    weights = 2.0 * curvature - (v.T @ a + a.T @ v)
    pulls = np.triu(weights, 1) * _slope(code, degree, np.triu(similar, 1))
    for f, z in enumerate(right):
        gaps = np.abs(left[:, f, None] - z)
        out[f] = np.sum(pulls * (gaps if code == LAPLACIAN else gaps * gaps))
