"""Compiled loops: similarities, kernel values, and products that never hold more than a tile.

Everything here is compiled on first use by numba, releases the GIL and works on *prepared* points (see
``Kernel.prepare``), so a bandwidth never appears. The left points come as rows ``(n, d)``, the right points
feature by feature ``(d, m)``: every inner loop then runs over contiguous memory and is vectorised.

Functions that call each other share this file because numba's cache does not notice changes elsewhere. What belongs to
one kernel stands in ``_compiled_rows`` and is called by address: ``calls`` has two addresses, of similarities and of
kernel values unless said, and the kernel's code.
"""

from functools import cache

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from skewridge.kernels._compiled_rows import (
    LAPLACIAN,
    POLYNOMIAL,
    SOBOLEV,
    address_of,
    call_distances,
    call_moments,
    call_profile,
    call_similarity,
)
from skewridge.kernels.kernel import KERNELS
from skewridge.linalg._tridiagonal_compiled import called, inner, loop, shared
from skewridge.linalg.cholesky import NOT_FINITE

TILE_ROWS = 64
TILE_COLUMNS = 512  # one tile of right points and one row of kernel values stay in the first-level cache
TRANSPOSE_TILE = 32
MOMENT_ROWS = 16  # rows of kernel values that are held at a time, m of them each


@cache
def _calls_of(name, dtype, first, second):  # type: ignore[no-untyped-def]
    """The addresses of a kernel's row functions, compiled if need be, and its code."""
    code = KERNELS.index(name)
    return address_of(first, code, dtype), address_of(second, code, dtype), code


def _by_kernel(first="similarity", second="value"):  # type: ignore[no-untyped-def]
    """What a loop is called with, from a kernel and points."""
    return lambda kernel, points, *others: (
        _calls_of(kernel.name, points.dtype, first, second),
        kernel.degree,
        points,
        *others,
    )


@njit(nogil=True, cache=True, inline="always")
def _kernel_row(calls, degree, x, right, start, stop, row):
    """k(x, z_j) for the right points start..stop, into row."""
    call_similarity(calls[0], x, right, start, stop, row)
    call_profile(calls[1], degree, row, stop - start)


@inner(fastmath={"contract", "reassoc"})
def _dot(a, b, m):
    total = a.dtype.type(0)
    for j in range(m):
        total += a[j] * b[j]
    return total


@inner()
def _add_products(row, coef, start, stop, out):
    """Add row @ coef[q, start:stop] to every output."""
    for q in range(coef.shape[0]):
        out[q] += _dot(row, coef[q, start:stop], stop - start)


@inner(fastmath={"contract"})
def _from_products(calls, row, own, norms, m):
    """Squared distances from inner products: ||x||^2 + ||z||^2 - 2 x.z."""
    if calls[2] != POLYNOMIAL:
        two, zero = row.dtype.type(2), row.dtype.type(0)
        for j in range(m):
            row[j] = max(own + norms[j] - two * row[j], zero)


@shared()
def _cross(calls, degree, left, right, lower, out):
    """k(X, Z), or its lower triangle, diagonal included."""
    first = np.int64(0)  # a literal 0 would be compiled for once more
    for i in range(left.shape[0]):
        _kernel_row(calls, degree, left[i], right, first, i + 1 if lower else right.shape[1], out[i])


cross = called(_cross, _by_kernel())


@inner()
def _copy_rows(rows, top, n_rows, out):
    """Copy some rows, entry by entry: an assignment of slices takes numba two seconds to compile."""
    for i in range(n_rows):
        for f in range(rows.shape[1]):
            out[i, f] = rows[top + i, f]


@inner()
def _tile_of(left):
    """Room for a tile's left points and products: always whole, since BLAS treats fewer rows otherwise."""
    block = np.zeros((TILE_ROWS, left.shape[1]), dtype=left.dtype)
    return block, np.empty(TILE_ROWS * TILE_COLUMNS, dtype=left.dtype)


@inner()
def _blas_values(calls, degree, block, n_rows, rows, norms, tile):
    """Kernel values of a tile's first rows, (TILE_ROWS, m): inner products by BLAS, then the profile."""
    m = rows.shape[0]
    values = tile[: TILE_ROWS * m].reshape(TILE_ROWS, m)
    np.dot(block, rows.T, values)
    for i in range(n_rows):
        _from_products(calls, values[i], _dot(block[i], block[i], block.shape[1]), norms, m)
        call_profile(calls[1], degree, values[i], m)
    return values


@shared()
def _cross_blas(calls, degree, left, rows, norms, lower, out):
    """k(X, Z) with inner products by BLAS, see matvec_blas; lower: no tile right of the diagonal."""
    n, m = out.shape
    block, tile = _tile_of(left)
    for top in range(0, n, TILE_ROWS):
        n_rows = min(TILE_ROWS, n - top)
        _copy_rows(left, top, n_rows, block)
        for start in range(0, min(m, top + n_rows) if lower else m, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, m)
            values = _blas_values(calls, degree, block, n_rows, rows[start:stop], norms[start:stop], tile)
            for i in range(n_rows):
                for j in range(stop - start):
                    out[top + i, start + j] = values[i, j]


cross_blas = called(_cross_blas, _by_kernel())


@loop(_by_kernel())
def similarity_upper(calls, degree, left, right, out, diagonal):
    """The similarities of X with itself: above the diagonal of out, and the diagonal apart."""
    n = left.shape[0]
    for i in range(n):
        call_similarity(calls[0], left[i], right, i, i + 1, diagonal[i : i + 1])
        call_similarity(calls[0], left[i], right, i + 1, n, out[i, i + 1 :])


@loop(_by_kernel())
def similarity(calls, degree, left, right, out):
    """The similarities of X and Z."""
    first = np.int64(0)
    for i in range(left.shape[0]):
        call_similarity(calls[0], left[i], right, first, right.shape[1], out[i])


@loop(_by_kernel())
def rescaled(calls, degree, out, similarities, factor):
    """Kernel values from similarities of points that are stretched by a factor more."""
    m = out.shape[1]
    for i in range(out.shape[0]):
        for j in range(m):
            out[i, j] = similarities[i, j] * factor
        call_profile(calls[1], degree, out[i], m)


@loop(_by_kernel())
def rescaled_below(calls, degree, square, diagonal, factor):
    """rescaled for a square matrix: from similarities above its diagonal into its lower triangle."""
    n = square.shape[0]
    for top in range(0, n, TRANSPOSE_TILE):
        bottom = min(top + TRANSPOSE_TILE, n)
        for start in range(0, bottom, TRANSPOSE_TILE):
            for i in range(top, bottom):
                for j in range(start, min(start + TRANSPOSE_TILE, i)):
                    square[i, j] = square[j, i] * factor
        for i in range(top, bottom):
            square[i, i] = diagonal[i] * factor
            call_profile(calls[1], degree, square[i], i + 1)


@loop(_by_kernel())
def matvec(calls, degree, left, right, coef, out):
    """Add k(X, Z) @ coef' to out, one tile of kernel values at a time; coef is (p, m) and out (n, p)."""
    n, m = left.shape[0], right.shape[1]
    row = np.empty(TILE_COLUMNS, dtype=left.dtype)
    for top in range(0, n, TILE_ROWS):
        for start in range(0, m, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, m)
            for i in range(top, min(top + TILE_ROWS, n)):
                _kernel_row(calls, degree, left[i], right, start, stop, row)
                _add_products(row, coef, start, stop, out[i])


@inner(fastmath={"contract"})
def _add_residual_moments(row, coef, weight, target, out):
    """Add weight * (target - row @ coef') * row to out, (p, m)."""
    m = row.size
    for q in range(coef.shape[0]):
        left = weight * (target[q] - _dot(row, coef[q], m))
        for j in range(m):
            out[q, j] += left * row[j]


@loop(_by_kernel())
def residual_moments(calls, degree, left, right, coef, weights, targets, out):
    """Add k(X, Z)' w (targets - k(X, Z) @ coef') to out, (p, m), with every kernel value computed once."""
    n, m = left.shape[0], right.shape[1]
    values = np.empty((MOMENT_ROWS, m), dtype=left.dtype)
    for top in range(0, n, MOMENT_ROWS):
        n_rows = min(MOMENT_ROWS, n - top)
        for start in range(0, m, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, m)
            for i in range(n_rows):
                _kernel_row(calls, degree, left[top + i], right, start, stop, values[i, start:stop])
        for i in range(n_rows):
            _add_residual_moments(values[i], coef, weights[top + i], targets[top + i], out)


@loop(_by_kernel())
def residual_moments_blas(calls, degree, left, rows, coef, norms, weights, targets, out):
    """residual_moments with inner products by BLAS, see matvec_blas."""
    n, m = left.shape[0], rows.shape[0]
    block, tile = _tile_of(left)
    values = np.empty((TILE_ROWS, m), dtype=left.dtype)
    for top in range(0, n, TILE_ROWS):
        n_rows = min(TILE_ROWS, n - top)
        _copy_rows(left, top, n_rows, block)
        for start in range(0, m, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, m)
            part = _blas_values(calls, degree, block, n_rows, rows[start:stop], norms[start:stop], tile)
            for i in range(n_rows):
                for j in range(stop - start):
                    values[i, start + j] = part[i, j]
        for i in range(n_rows):
            _add_residual_moments(values[i], coef, weights[top + i], targets[top + i], out)


@inner(fastmath={"contract"})
def _nearest(calls, x, low, high, near):
    """The least similarity of x to any point of every box: 0 inside it."""
    zero = x.dtype.type(0)
    for b in range(near.size):
        near[b] = zero
    for f in range(x.size):
        u, below, above = x[f], low[f], high[f]
        for b in range(near.size):
            gap = max(max(below[b] - u, u - above[b]), zero)
            near[b] += gap if calls[2] == LAPLACIAN else gap * gap


@loop(_by_kernel())
def matvec_near(calls, degree, left, right, coef, starts, low, high, reach, out):
    """matvec without the boxes of right points whose similarity to a left point is beyond reach.

    The corners of the boxes come feature by feature, (d, B).
    """
    row, near = np.empty(TILE_COLUMNS, dtype=left.dtype), np.empty(low.shape[1], dtype=left.dtype)
    for i in range(left.shape[0]):
        _nearest(calls, left[i], low, high, near)
        for b in range(near.size):
            if not near[b] > reach:  # nor is NaN, which stays NaN
                start, stop = starts[b], starts[b + 1]
                _kernel_row(calls, degree, left[i], right, start, stop, row)
                _add_products(row, coef, start, stop, out[i])


@njit(nogil=True, cache=True, inline="always")
def _gather(points, rows, right):
    """Some points, feature by feature, into the first columns of right."""
    for j in range(rows.size):
        point = points[rows[j]]
        for f in range(point.size):
            right[f, j] = point[f]


@loop(_by_kernel("pair"))
def matvec_cells(calls, degree, left, cells, points, order, starts, coef, out):
    """k(x, Z) @ coef' with the points Z of x's own cell only, for left points sorted by cell.

    Cell c holds points order[starts[c]:starts[c + 1]], and their coefficients are the same columns
    of coef, (p, M). Left points go two by two, the last of an odd number with itself: a row has the same bits beside
    any other.
    """
    most = 0
    for c in range(starts.size - 1):
        if starts[c + 1] - starts[c] > most:
            most = starts[c + 1] - starts[c]
    right = np.empty((points.shape[1], most), dtype=points.dtype)
    row, other = np.empty(TILE_COLUMNS, dtype=left.dtype), np.empty(TILE_COLUMNS, dtype=left.dtype)
    top, n = 0, left.shape[0]
    while top < n:
        bottom = top + 1
        while bottom < n and cells[bottom] == cells[top]:
            bottom += 1
        first, last = starts[cells[top]], starts[cells[top] + 1]
        _gather(points, order[first:last], right)
        for start in range(0, last - first, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, last - first)
            for i in range(top, bottom, 2):
                j = min(i + 1, bottom - 1)
                call_distances(calls[0], left[i], left[j], right, start, stop, row, other)
                call_profile(calls[1], degree, row, stop - start)
                _add_products(row, coef, first + start, first + stop, out[i])
                if j > i:
                    call_profile(calls[1], degree, other, stop - start)
                    _add_products(other, coef, first + start, first + stop, out[j])
        top = bottom


@loop(_by_kernel())
def matvec_blas(calls, degree, left, rows, coef, norms, out):
    """matvec with inner products by BLAS; the right points come as rows, (m, d), with their squared norms."""
    n, m = left.shape[0], rows.shape[0]
    block, tile = _tile_of(left)
    for top in range(0, n, TILE_ROWS):
        n_rows = min(TILE_ROWS, n - top)
        _copy_rows(left, top, n_rows, block)
        for start in range(0, m, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, m)
            values = _blas_values(calls, degree, block, n_rows, rows[start:stop], norms[start:stop], tile)
            for i in range(n_rows):
                _add_products(values[i], coef, start, stop, out[top + i])


def _calling(n_arguments):  # type: ignore[no-untyped-def]
    """Return an intrinsic that calls the C function at an address with so many pointers, all given as integers.

    The address is an argument, not a constant, so that the compiled code can be cached.
    """

    @intrinsic
    def call(typingctx, address, pointers):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            pointer = ir.IntType(8).as_pointer()
            function = ir.FunctionType(ir.VoidType(), [pointer] * n_arguments)
            values = [builder.extract_value(args[1], i) for i in range(n_arguments)]
            builder.call(
                builder.inttoptr(args[0], function.as_pointer()), [builder.inttoptr(v, pointer) for v in values]
            )
            return context.get_dummy_value()

        return types.void(types.intp, types.UniTuple(types.intp, n_arguments)), generate

    return call


_call5, _call8 = _calling(5), _calling(8)


@inner()
def _node_gram(calls, degree, points, norms, own, matrix):
    """k of a node's points, gathered, into the lower triangle of a matrix."""
    n, d = own.size, points.shape[1]
    left = np.empty((n, d), dtype=points.dtype)
    for i in range(n):
        left[i] = points[own[i]]
    if norms.size:
        _cross_blas(calls, degree, left, left, norms[own], True, matrix)
    else:
        right = np.empty((d, n), dtype=points.dtype)
        for i in range(n):
            for f in range(d):
                right[f, i] = left[i, f]
        _cross(calls, degree, left, right, True, matrix)


@inner()
def _add_ridge(matrix, penalty, weights, own):
    """Add n penalty to the diagonal, or penalty (sum w) / w_i."""
    n = own.size
    total = float(n)
    if weights.size:
        total = 0.0
        for i in range(n):
            total += weights[own[i]]
    for i in range(n):
        matrix[i, i] += penalty * total / (weights[own[i]] if weights.size else 1.0)


@inner()
def _factorise_and_solve(matrix, b, potrf, potrs, upper, ints):
    """Overwrite b with the solution by LAPACK's Cholesky; returns what it says, or that a pivot is not finite.

    ``upper`` holds the letter U and ``ints`` has room for the order, the number of right-hand sides and what LAPACK
    says: the caller owns both, since an array made here would be freed as soon as only its address is in use.
    """
    ints[0], ints[1], ints[2] = len(b), 1, 0
    start = ints.ctypes.data
    u, n, right, info = upper.ctypes.data, start, start + ints.itemsize, start + 2 * ints.itemsize
    a = matrix.ctypes.data
    _call5(potrf, (u, n, a, n, info))
    if ints[2] != 0:
        return ints[2]
    for i in range(len(b)):
        if not np.isfinite(matrix[i, i]):
            return NOT_FINITE
    _call8(potrs, (u, n, right, a, n, b.ctypes.data, n, info))
    return ints[2]


@loop(_by_kernel())
def solve_nodes(
    calls, degree, points, norms, y, weights, penalties, rows, starts, nodes, potrf, potrs, upper, ints, buffer, coef
):
    """Solve some nodes, each in one go: gather, gram, ridge, factorise, solve; fills their part of coef.

    Returns the first node that fails and LAPACK's word on it, or (-1, 0).
    """
    for node in nodes:
        start, stop = starts[node], starts[node + 1]
        n, own, b = stop - start, rows[start:stop], coef[start:stop]
        if n == 0:
            continue
        matrix = buffer[: n * n].reshape(n, n)
        _node_gram(calls, degree, points, norms, own, matrix)
        _add_ridge(matrix, penalties[node], weights, own)
        for i in range(n):
            b[i] = y[own[i]]
        info = _factorise_and_solve(matrix, b, potrf, potrs, upper, ints)
        if info != 0:
            return node, info
    return -1, 0


@inner()
def _direction(calls, u, z):
    """Derivative of the similarity's feature term; half-way between the one-sided slopes at a kink."""
    if calls[2] == LAPLACIAN:
        return np.sign(u - z)
    if calls[2] == POLYNOMIAL:
        return z
    if calls[2] == SOBOLEV:
        return (1.0 if u < z else 0.5 if u == z else 0.0) / (1.0 + min(u, z))
    return u - z


@loop(_by_kernel(second="slope"))
def gradient(calls, degree, left, right, coef, out):
    """Add d/dx of k(x, Z) @ coef at every left point to out, one tile of slopes at a time."""
    n, m = left.shape[0], right.shape[1]
    row = np.empty(TILE_COLUMNS, dtype=left.dtype)
    for start in range(0, m, TILE_COLUMNS):
        stop = min(start + TILE_COLUMNS, m)
        for i in range(n):
            call_similarity(calls[0], left[i], right, start, stop, row)
            call_profile(calls[1], degree, row, stop - start)
            for f in range(left.shape[1]):
                total = 0.0
                for j in range(stop - start):
                    total += row[j] * coef[start + j] * _direction(calls, left[i, f], right[f, start + j])
                out[i, f] += total


@loop()
def distances_from(absolute, x, scales, right, out):
    """Distances from x to every right point, features times their scales: absolute ones, or squared."""
    for start in range(0, out.size, TILE_COLUMNS):
        stop = min(start + TILE_COLUMNS, out.size)
        part = out[start:stop]
        for j in range(part.size):
            part[j] = 0.0
        for f in range(x.size):
            u, s, z = x[f], scales[f], right[f, start:stop]
            if absolute:
                for j in range(part.size):
                    part[j] += s * abs(u - z[j])
            else:
                for j in range(part.size):
                    t = s * (u - z[j])
                    part[j] += t * t


@loop()
def project_out_mean(lower, solved, total, out):
    """A - g g' / total in full, from the lower triangle of a symmetric A; tiles stay in cache."""
    n = lower.shape[0]
    for top in range(0, n, TRANSPOSE_TILE):
        bottom = min(top + TRANSPOSE_TILE, n)
        for start in range(0, bottom, TRANSPOSE_TILE):
            for i in range(top, bottom):
                for j in range(start, min(start + TRANSPOSE_TILE, i + 1)):
                    out[i, j] = lower[i, j] - solved[i] * (solved[j] / total)
            for j in range(start, min(start + TRANSPOSE_TILE, bottom)):
                for i in range(max(top, j), bottom):
                    out[j, i] = out[i, j]


@njit(nogil=True, cache=True, inline="always")
def _add_pulls(row, curvature, v, a, i, pulls):
    """Multiply row by 2 W_ij, j > i, for W = curvature - (v'a + a'v) / 2."""
    m, start = row.size, i + 1
    for j in range(m):
        pulls[j] = 2.0 * curvature[i, start + j]
    for q in range(v.shape[0]):
        own_v, own_a, right_v, right_a = v[q, i], a[q, i], v[q, start:], a[q, start:]
        for j in range(m):
            pulls[j] -= own_v * right_a[j] + own_a * right_v[j]
    for j in range(m):
        row[j] *= pulls[j]


@loop(_by_kernel("moments", "slope"), fastmath={"contract"})
def scale_gradient(calls, degree, left, right, similar, curvature, v, a, out):
    """Add sum_ij W_ij dk(s x_i, s x_j) / dlog s_f to out for every feature f, at s = 1.

    W = curvature - (v'a + a'v) / 2 with v and a, (p, n); it and similarities are read above the
    diagonal: the halves are equal, and a row's distance to itself is 0.
    """
    n = left.shape[0]
    buffer, pulls = np.empty(n), np.empty(n)
    for i in range(n - 1):
        row = buffer[: n - i - 1]
        for j in range(row.size):
            row[j] = similar[i, i + 1 + j]
        call_profile(calls[1], degree, row, row.size)
        _add_pulls(row, curvature, v, a, i, pulls)
        call_moments(calls[0], left[i], right, i + 1, row, out)


@loop()
def interpolate(table, columns, knots, scores, starts, out):
    """Piecewise linear functions of columns, flat beyond their first and last knot.

    Function j is that of column columns[j], with knots and scores from starts[j] to starts[j + 1];
    by shares of an interval, which cannot overflow.
    """
    for j in range(columns.size):
        first, last = starts[j], starts[j + 1] - 1
        for i in range(table.shape[0]):
            x = min(max(table[i, columns[j]], knots[first]), knots[last])
            low, high = first, last
            while high - low > 1:
                middle = (low + high) // 2
                if knots[middle] <= x:
                    low = middle
                else:
                    high = middle
            share = (x - knots[low]) / (knots[low + 1] - knots[low])
            out[i, j] = scores[low] + share * (scores[low + 1] - scores[low])


@loop()
def leaves_of(table, roots, feature, cut, child, out):
    """The leaf of every row in every tree: child[node] of its node, see ``cells.partition.Partitions``.

    A row goes to child[node] where its feature is at most the cut, else (a NaN, too) to the node after that.
    """
    for i in range(table.shape[0]):
        for t in range(roots.size):
            node = roots[t]
            while feature[node] >= 0:
                node = child[node] + (0 if table[i, feature[node]] <= cut[node] else 1)
            out[i, t] = child[node]
