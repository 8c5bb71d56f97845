"""Compiled loops: similarities, kernel profiles, and products that never hold more than a tile.

Everything here is compiled on first use by numba, releases the GIL and works on *prepared* points (see
``Kernel.prepare``), so a bandwidth never appears. The left points come as rows ``(n, d)``, the right points
feature by feature ``(d, m)``: every inner loop then runs over contiguous memory and is vectorised.

Functions that call each other share this file because numba's cache does not notice changes elsewhere.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

GAUSSIAN, MATERN12, MATERN32, MATERN52, LAPLACIAN, POLYNOMIAL, SOBOLEV = range(7)

TILE_ROWS = 64
TILE_COLUMNS = 512  # one tile of right points and one row of kernel values stay in the first-level cache
TRANSPOSE_TILE = 32

_SQRT3 = np.sqrt(3.0)
_SQRT5 = np.sqrt(5.0)

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # the first 32 bits of ln 2: n * _LN2_HIGH is exact
_LN2_LOW = 1.9082149292705877e-10
_SHIFT = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits
_UNDERFLOW = -708.0


@intrinsic
def _bits_of(typingctx, x):  # type: ignore[no-untyped-def]
    """Reinterpret a float64 as an int64."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _float_of(typingctx, x):  # type: ignore[no-untyped-def]
    """Reinterpret an int64 as a float64."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@njit(nogil=True, cache=True, fastmath={"contract"}, inline="always")
def _exp(x):
    """exp(x) for x <= 0 to 2 units in the last place, as a polynomial that vectorises; 0 below -708.

    x = n ln2 + r with |r| <= ln2 / 2; exp(r) by its Taylor polynomial of degree 13 in Estrin's order, whose
    terms do not wait for each other; 2**n by its bits.
    """
    clipped = max(x, _UNDERFLOW)
    shifted = clipped * _LOG2E + _SHIFT
    n = shifted - _SHIFT
    r = clipped - n * _LN2_HIGH
    r = r - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (1 / 2 + r * (1 / 6)) * r2
    middle = (1 / 24 + r * (1 / 120)) + (1 / 720 + r * (1 / 5040)) * r2
    high = (1 / 40320 + r * (1 / 362880)) + (1 / 3628800 + r * (1 / 39916800)) * r2
    top = 1 / 479001600 + r * (1 / 6227020800)
    value = (low + middle * r4) + (high + top * r4) * (r4 * r4)
    power = _float_of((_bits_of(shifted) + 1023) << 52)
    return value * power if x >= _UNDERFLOW else 0.0


@njit(nogil=True, cache=True, fastmath={"contract"})
def _similarity(code, x, right, start, stop, row):
    """What the profile is a function of: squared or absolute distance, inner product, or product of minima."""
    m = stop - start
    row[:m] = 1.0 if code == SOBOLEV else 0.0
    for f in range(x.size):
        u = x[f]
        z = right[f, start:stop]
        if code == LAPLACIAN:
            for j in range(m):
                row[j] += abs(u - z[j])
        elif code == POLYNOMIAL:
            for j in range(m):
                row[j] += u * z[j]
        elif code == SOBOLEV:
            for j in range(m):
                row[j] *= 1.0 + min(u, z[j])
        else:
            for j in range(m):
                t = u - z[j]
                row[j] += t * t


@njit(nogil=True, cache=True, fastmath={"contract"})
def _integer_power(value, degree):
    result = 1.0
    while degree > 0:
        if degree & 1:
            result *= value
        value *= value
        degree >>= 1
    return result


@njit(nogil=True, cache=True, fastmath={"contract"})
def _profile(code, degree, row, m):
    """Turn similarities into kernel values, in place."""
    if code == GAUSSIAN:
        for j in range(m):
            row[j] = _exp(-row[j])
    elif code == MATERN12:
        for j in range(m):
            row[j] = _exp(-np.sqrt(row[j]))
    elif code == MATERN32:
        for j in range(m):
            t = _SQRT3 * np.sqrt(row[j])
            row[j] = (1.0 + t) * _exp(-t)
    elif code == MATERN52:
        for j in range(m):
            t = _SQRT5 * np.sqrt(row[j])
            row[j] = (1.0 + t + t * t / 3.0) * _exp(-t)
    elif code == LAPLACIAN:
        for j in range(m):
            row[j] = _exp(-row[j])
    elif code == POLYNOMIAL:
        for j in range(m):
            row[j] = _integer_power(1.0 + row[j], degree)


@njit(nogil=True, cache=True)
def _kernel_row(code, degree, x, right, start, stop, row):
    """k(x, z_j) for the right points start..stop, into row."""
    _similarity(code, x, right, start, stop, row)
    _profile(code, degree, row, stop - start)


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def _dot(a, b):
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True)
def gram_lower(code, degree, left, right, out):
    """The lower triangle (diagonal included) of k(X, X); right is left feature by feature."""
    for i in range(left.shape[0]):
        _kernel_row(code, degree, left[i], right, 0, i + 1, out[i])


@njit(nogil=True, cache=True)
def cross(code, degree, left, right, out):
    """k(X, Z)."""
    for i in range(left.shape[0]):
        _kernel_row(code, degree, left[i], right, 0, right.shape[1], out[i])


@njit(nogil=True, cache=True)
def similarity_upper(code, degree, left, right, out, diagonal):
    """The similarities of X with itself: above the diagonal of out, and the diagonal apart."""
    n = left.shape[0]
    for i in range(n):
        _similarity(code, left[i], right, i, i + 1, diagonal[i : i + 1])
        _similarity(code, left[i], right, i + 1, n, out[i, i + 1 :])


@njit(nogil=True, cache=True)
def similarity(code, degree, left, right, out):
    """The similarities of X and Z."""
    for i in range(left.shape[0]):
        _similarity(code, left[i], right, 0, right.shape[1], out[i])


@njit(nogil=True, cache=True)
def rescaled(code, degree, similarities, factor, out):
    """Kernel values from similarities of points that are stretched by a factor more."""
    m = out.shape[1]
    for i in range(out.shape[0]):
        for j in range(m):
            out[i, j] = similarities[i, j] * factor
        _profile(code, degree, out[i], m)


@njit(nogil=True, cache=True)
def rescaled_below(code, degree, square, diagonal, factor):
    """The same for a square matrix: from similarities above its diagonal into its lower triangle."""
    n = square.shape[0]
    for top in range(0, n, TRANSPOSE_TILE):
        bottom = min(top + TRANSPOSE_TILE, n)
        for start in range(0, bottom, TRANSPOSE_TILE):
            for i in range(top, bottom):
                for j in range(start, min(start + TRANSPOSE_TILE, i)):
                    square[i, j] = square[j, i] * factor
        for i in range(top, bottom):
            square[i, i] = diagonal[i] * factor
            _profile(code, degree, square[i], i + 1)


@njit(nogil=True, cache=True)
def matvec(code, degree, left, right, coef, out):
    """k(X, Z) @ coef, one tile of kernel values at a time."""
    n, m = left.shape[0], right.shape[1]
    row = np.empty(TILE_COLUMNS)
    out[:] = 0.0
    for top in range(0, n, TILE_ROWS):
        for start in range(0, m, TILE_COLUMNS):
            stop = min(start + TILE_COLUMNS, m)
            for i in range(top, min(top + TILE_ROWS, n)):
                _kernel_row(code, degree, left[i], right, start, stop, row)
                out[i] += _dot(row[: stop - start], coef[start:stop])


@njit(nogil=True, cache=True, fastmath={"contract"})
def _slope(code, degree, row, m):
    """Turn similarities into what multiplies the direction of each feature's derivative, in place.

    The directions are x - z for distances, sign(x - z) for the laplacian, z for inner products and
    [x < z] / (1 + min(x, z)) for the product of minima.
    """
    for j in range(m):
        s = row[j]
        if code == GAUSSIAN:
            row[j] = -2.0 * _exp(-s)
        elif code == MATERN12:
            row[j] = -_exp(-np.sqrt(s)) / np.sqrt(s) if s > 0.0 else 0.0
        elif code == MATERN32:
            row[j] = -3.0 * _exp(-_SQRT3 * np.sqrt(s))
        elif code == MATERN52:
            t = _SQRT5 * np.sqrt(s)
            row[j] = -(5.0 / 3.0) * (1.0 + t) * _exp(-t)
        elif code == LAPLACIAN:
            row[j] = -_exp(-s)
        elif code == POLYNOMIAL:
            row[j] = degree * _integer_power(1.0 + s, degree - 1)


@njit(nogil=True, cache=True)
def _direction(code, u, z):
    """Derivative of the similarity's feature term; half-way between the one-sided slopes at a kink."""
    if code == LAPLACIAN:
        return np.sign(u - z)
    if code == POLYNOMIAL:
        return z
    if code == SOBOLEV:
        return (1.0 if u < z else 0.5 if u == z else 0.0) / (1.0 + min(u, z))
    return u - z


@njit(nogil=True, cache=True)
def gradient(code, degree, left, right, coef, out):
    """d/dx of k(x, Z) @ coef at every left point, one tile of slopes at a time."""
    n, m = left.shape[0], right.shape[1]
    row = np.empty(TILE_COLUMNS)
    out[:] = 0.0
    for start in range(0, m, TILE_COLUMNS):
        stop = min(start + TILE_COLUMNS, m)
        for i in range(n):
            _similarity(code, left[i], right, start, stop, row)
            _slope(code, degree, row, stop - start)
            for f in range(left.shape[1]):
                total = 0.0
                for j in range(stop - start):
                    total += row[j] * coef[start + j] * _direction(code, left[i, f], right[f, start + j])
                out[i, f] += total
