"""The compiled loops in plain numpy, which they are tested against: the same names, arguments and results."""

import sys

import numpy as np

from skewridge.kernels import loops as compiled_loops
from skewridge.linalg.cholesky import NOT_FINITE, NotPositiveDefinite, cholesky, cholesky_solve

FAR = 1e4  # from here on exp(-t) is 0 in any precision, also times a power of t


def take_the_place_of_the_compiled_loops(monkeypatch):
    """Let every room that calls compiled loops call these."""
    for name, module in list(sys.modules.items()):
        if name.startswith("skewridge.") and getattr(module, "loops", None) is compiled_loops:
            monkeypatch.setattr(module, "loops", lambda: sys.modules[__name__])


def _similarity(kernel, left, right):
    """Squared or absolute distances, inner products, or products of minima, feature by feature."""
    total = np.full((len(left), right.shape[1]), 1 if kernel.name == "sobolev" else 0, dtype=left.dtype)
    for u, z in zip(left.T[:, :, None], right, strict=True):
        if kernel.name == "laplacian":
            total += np.abs(u - z)
        elif kernel.name == "polynomial":
            total += u * z
        elif kernel.name == "sobolev":
            total *= 1 + np.minimum(u, z)
        else:
            total += (u - z) ** 2
    return total


def _profile(kernel, s):
    """Kernel values from similarities."""
    if kernel.name in ("gaussian", "laplacian"):
        return np.exp(-s)
    if kernel.name == "polynomial":
        return (1 + s) ** kernel.degree
    if kernel.name == "sobolev":
        return s
    t = np.minimum(np.sqrt(s * {"matern12": 1, "matern32": 3, "matern52": 5}[kernel.name]), FAR)
    t = t.astype(s.dtype, copy=False)
    return {"matern12": 1, "matern32": 1 + t, "matern52": 1 + t + t * t / 3}[kernel.name] * np.exp(-t)


def _values(kernel, left, right):
    return _profile(kernel, _similarity(kernel, left, right))


def cross(kernel, left, right, lower, out):
    """k(X, Z), or its lower triangle, diagonal included."""
    values = _values(kernel, left, right)
    np.copyto(out, values, where=np.tri(*values.shape, dtype=bool) if lower else True)


def cross_blas(kernel, left, rows, norms, lower, out):
    """k(X, Z); lower is only a saving of the compiled loop."""
    cross(kernel, left, rows.T, False, out)


def similarity_upper(kernel, left, right, out, diagonal):
    """The similarities of X with itself: above the diagonal of out, and the diagonal apart."""
    similar = _similarity(kernel, left, right)
    diagonal[:] = similar.diagonal()
    out[np.triu_indices(len(out), 1)] = similar[np.triu_indices(len(out), 1)]


def similarity(kernel, left, right, out):
    """The similarities of X and Z."""
    out[:] = _similarity(kernel, left, right)


def rescaled(kernel, out, similarities, factor):
    """Kernel values from similarities of points that are stretched by a factor more."""
    out[:] = _profile(kernel, similarities * factor)


def rescaled_below(kernel, square, diagonal, factor):
    """rescaled for a square matrix: from similarities above its diagonal into its lower triangle."""
    for i in range(len(square)):
        square[i, :i] = _profile(kernel, square[:i, i] * factor)
        square[i, i] = _profile(kernel, diagonal[i : i + 1] * factor)[0]


def matvec(kernel, left, right, coef, out):
    """Add k(X, Z) @ coef' to out; coef is (p, m) and out (n, p)."""
    out += _values(kernel, left, right) @ coef.T


def matvec_blas(kernel, left, rows, coef, norms, out):
    """Matvec with the right points as rows."""
    matvec(kernel, left, rows.T, coef, out)


def residual_moments(kernel, left, right, coef, weights, targets, out):
    """Add k(X, Z)' w (targets - k(X, Z) @ coef') to out, (p, m)."""
    values = _values(kernel, left, right)
    out += (weights[:, None] * (targets - values @ coef.T)).T @ values


def residual_moments_blas(kernel, left, rows, coef, norms, weights, targets, out):
    """residual_moments with the right points as rows."""
    residual_moments(kernel, left, rows.T, coef, weights, targets, out)


def matvec_near(kernel, left, right, coef, starts, low, high, reach, out):
    """Matvec without the boxes of right points whose similarity to a left point is beyond reach."""
    for b in range(low.shape[1]):
        gap = np.maximum(np.maximum(low[:, b] - left, left - high[:, b]), 0)
        gap = gap if kernel.name == "laplacian" else gap * gap
        near = ~(gap.sum(axis=1) > reach)  # so is NaN, which stays NaN
        part = slice(starts[b], starts[b + 1])
        out[near] += _values(kernel, left[near], right[:, part]) @ coef[:, part].T


def matvec_cells(kernel, left, cells, points, order, starts, coef, out):
    """Add k(x, Z) @ coef' with the points Z of x's own cell only, for left points sorted by cell."""
    for cell in np.unique(cells):
        rows, part = cells == cell, slice(starts[cell], starts[cell + 1])
        out[rows] += _values(kernel, left[rows], points[order[part]].T) @ coef[:, part].T


def solve_nodes(
    kernel, points, norms, y, weights, penalties, rows, starts, nodes, potrf, potrs, upper, ints, buffer, coef
):
    """Solve some nodes and fill their part of coef; returns the first that fails and LAPACK's word, or (-1, 0)."""
    for node in nodes[np.diff(starts)[nodes] > 0].tolist():
        part = slice(starts[node], starts[node + 1])
        own = rows[part]
        matrix = buffer[: len(own) ** 2].reshape(len(own), len(own))
        cross(kernel, points[own], points[own].T, True, matrix)
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


def _slope(kernel, s):
    """What multiplies the direction of each feature's derivative."""
    if kernel.name == "sobolev":
        return s
    if kernel.name == "polynomial":
        return kernel.degree * (1.0 + s) ** (kernel.degree - 1)
    if kernel.name in ("gaussian", "laplacian"):
        return -(2.0 if kernel.name == "gaussian" else 1.0) * np.exp(-s)
    r = np.sqrt(s)
    if kernel.name == "matern12":
        return -np.divide(np.exp(-r), r, out=np.zeros_like(r), where=r > 0)
    t = np.minimum(np.sqrt(3.0 if kernel.name == "matern32" else 5.0) * r, FAR)
    return -3.0 * np.exp(-t) if kernel.name == "matern32" else -(5.0 / 3.0) * (1.0 + t) * np.exp(-t)


def _direction(kernel, u, z):
    """Derivative of the similarity's feature term; half-way between the one-sided slopes at a kink."""
    if kernel.name == "laplacian":
        return np.sign(u - z)
    if kernel.name == "polynomial":
        return np.broadcast_to(z, (len(u), len(z)))
    if kernel.name == "sobolev":
        return np.where(u < z, 1.0, np.where(u == z, 0.5, 0.0)) / (1.0 + np.minimum(u, z))
    return u - z


def gradient(kernel, left, right, coef, out):
    """Add d/dx of k(x, Z) @ coef at every left point to out."""
    slopes = _slope(kernel, _similarity(kernel, left, right)) * coef
    for f, z in enumerate(right):
        out[:, f] += np.sum(slopes * _direction(kernel, left[:, f, None], z), axis=1)


def distances_from(absolute, x, scales, right, out):
    """Distances from x to every right point, features times their scales."""
    gaps = np.abs(x[:, None] - right) * scales[:, None]
    out[:] = np.sum(gaps if absolute else gaps**2, axis=0)


def project_out_mean(lower, solved, total, out):
    """A - g g' / total in full from the lower triangle of a symmetric A."""
    half = np.tril(lower - np.outer(solved, solved / total))
    out[:] = half + np.tril(half, -1).T


def scale_gradient(kernel, left, right, similar, curvature, v, a, out):
    """Add sum_ij W_ij dk(s x_i, s x_j) / dlog s_f to out for every feature f, at s = 1; W = C - (v'a + a'v) / 2."""
    weights = 2.0 * curvature - (v.T @ a + a.T @ v)
    pulls = np.triu(weights, 1) * _slope(kernel, np.triu(similar, 1))
    for f, z in enumerate(right):
        gaps = np.abs(left[:, f, None] - z)
        out[f] += np.sum(pulls * (gaps if kernel.name == "laplacian" else gaps * gaps))


def interpolate(table, columns, knots, scores, starts, out):
    """Piecewise linear functions of columns, flat beyond their first and last knot."""
    for j, column in enumerate(columns):
        own, values = knots[starts[j] : starts[j + 1]], scores[starts[j] : starts[j + 1]]
        x = np.clip(table[:, column], own[0], own[-1])
        left = np.clip(np.searchsorted(own, x, side="right") - 1, 0, len(own) - 2)
        share = (x - own[left]) / (own[left + 1] - own[left])
        out[:, j] = values[left] + share * (values[left + 1] - values[left])


def leaves_of(table, roots, feature, cut, child, out):
    """The leaf of every row in every tree."""
    node = np.tile(roots, len(table))
    moving = np.flatnonzero(feature[node] >= 0)
    while moving.size:
        at = node[moving]
        right = ~(table[moving // len(roots), feature[at]] <= cut[at])
        node[moving] = child[at] + right
        moving = moving[feature[node[moving]] >= 0]
    out[:] = child[node].reshape(out.shape)
