"""Compiled kernel values and slopes of one row of similarities, in place; called by address as distances are.

What shares ``_exp`` shares this file because numba's cache does not notice changes elsewhere.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from skewridge.linalg._compiling import inner

_SQRT3 = np.sqrt(3.0)
_SQRT5 = np.sqrt(5.0)
_FAR = 1e4  # from here on exp(-t) is 0 in any precision, also times a power of t

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # the first 32 bits of ln 2: n * _LN2_HIGH is exact
_LN2_LOW = 1.9082149292705877e-10
_SHIFT = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits
_UNDERFLOW = -708.0
_GONE = float(np.nextafter(_UNDERFLOW, -np.inf))  # compared with _UNDERFLOW once more, LLVM would turn max into a blend

# The same in single precision; a global np.float32 stays one where a literal would make everything double.
_LOG2E_32 = np.float32(_LOG2E)
_LN2_HIGH_32 = np.float32(0.693359375)
_LN2_LOW_32 = np.float32(-2.12194440e-4)
_SHIFT_32 = np.float32(12582912.0)  # 1.5 * 2**23
_UNDERFLOW_32 = np.float32(-87.0)
_GONE_32 = np.nextafter(_UNDERFLOW_32, np.float32(-np.inf))
_ZERO_32, _ONE_32, _HALF_32 = np.float32(0.0), np.float32(1.0), np.float32(0.5)
# Taylor's 1/6, 1/24, 1/120 and 1/720 moved so that the largest relative error is least: 4e-9 instead of 1.6e-7.
_C3_32, _C4_32, _C5_32, _C6_32 = (np.float32(c) for c in (0.16666535, 0.041667238, 0.00836751, 0.0013863756))


def _reinterpreted(origin, target):  # type: ignore[no-untyped-def]
    """Return an intrinsic that reads the bits of one type as another."""

    @intrinsic
    def reinterpret(typingctx, x):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.bitcast(args[0], context.get_value_type(target))

        return target(origin), generate

    return reinterpret


_bits_of, _float_of = _reinterpreted(types.float64, types.int64), _reinterpreted(types.int64, types.float64)
_bits_of_32, _float_of_32 = _reinterpreted(types.float32, types.int32), _reinterpreted(types.int32, types.float32)


@inner(fastmath={"contract"})
def _exp_double(x):
    """exp(x) for x <= 0 to 2 units in the last place, as a polynomial that vectorises; 0 below -708.

    x = n ln2 + r with |r| <= ln2 / 2; exp(r) by its Taylor polynomial of degree 13 in Estrin's order, whose
    terms do not wait for each other; 2**n by its bits. NaN stays NaN, which max passes on where it comes first.
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
    return 0.0 if x <= _GONE else value * power


@inner(fastmath={"contract"})
def _exp_single(x):
    """exp(x) in single precision, by a polynomial of degree 6; 0 below -87."""
    clipped = max(x, _UNDERFLOW_32)
    shifted = clipped * _LOG2E_32 + _SHIFT_32
    n = shifted - _SHIFT_32
    r = clipped - n * _LN2_HIGH_32
    r = r - n * _LN2_LOW_32
    r2 = r * r
    high = (_C4_32 + r * _C5_32) + _C6_32 * r2
    value = (_ONE_32 + r) + ((_HALF_32 + r * _C3_32) + high * r2) * r2
    power = _float_of_32((_bits_of_32(shifted) + np.int32(127)) << np.int32(23))
    return _ZERO_32 if x <= _GONE_32 else value * power


def _exp(x):
    """exp(x) for x <= 0 in the precision of x."""


@overload(_exp)
def _exp_of(x):
    return (lambda x: _exp_single(x)) if x == types.float32 else (lambda x: _exp_double(x))


@inner(fastmath={"contract"})
def exponential(degree, row, m):
    """Turn similarities into kernel values, in place: exp(-s), for the gaussian and the laplacian."""
    for j in range(m):
        row[j] = _exp(-row[j])


@inner(fastmath={"contract"})
def matern12(degree, row, m):
    """exp(-t) with t = sqrt(s)."""
    for j in range(m):
        row[j] = _exp(-np.sqrt(row[j]))


@inner(fastmath={"contract"})
def matern32(degree, row, m):
    """(1 + t) exp(-t) with t = sqrt(3 s)."""
    one, root3, far = row.dtype.type(1), row.dtype.type(_SQRT3), row.dtype.type(_FAR)
    for j in range(m):
        t = min(root3 * np.sqrt(row[j]), far)
        row[j] = (one + t) * _exp(-t)


@inner(fastmath={"contract"})
def matern52(degree, row, m):
    """(1 + t + t^2 / 3) exp(-t) with t = sqrt(5 s)."""
    one, third = row.dtype.type(1), row.dtype.type(1 / 3)
    root5, far = row.dtype.type(_SQRT5), row.dtype.type(_FAR)
    for j in range(m):
        t = min(root5 * np.sqrt(row[j]), far)
        row[j] = (one + t + t * t * third) * _exp(-t)


@inner(fastmath={"contract"})
def _integer_power(value, degree, one):
    result = one
    while degree > 0:
        if degree & 1:
            result *= value
        value *= value
        degree >>= 1
    return result


@inner(fastmath={"contract"})
def polynomial(degree, row, m):
    """(1 + s)^degree."""
    one = row.dtype.type(1)
    for j in range(m):
        row[j] = _integer_power(one + row[j], degree, one)


@inner(fastmath={"contract"})
def unchanged(degree, row, m):
    """The sobolev kernel is its similarity, and so is what multiplies its direction."""


# Slopes turn similarities into what multiplies the direction of each feature's derivative, in place. Directions are
# x - z for distances, sign(x - z) for the laplacian, z for inner products and [x < z] / (1 + min(x, z)) for products of
# minima.


@inner(fastmath={"contract"})
def gaussian_slope(degree, row, m):
    """-2 exp(-s)."""
    for j in range(m):
        row[j] = -2.0 * _exp(-row[j])


@inner(fastmath={"contract"})
def matern12_slope(degree, row, m):
    """-exp(-t) / t with t = sqrt(s), and 0 at 0."""
    for j in range(m):
        s = row[j]
        row[j] = -_exp(-np.sqrt(s)) / np.sqrt(s) if s > 0.0 else 0.0


@inner(fastmath={"contract"})
def matern32_slope(degree, row, m):
    """-3 exp(-t) with t = sqrt(3 s)."""
    for j in range(m):
        row[j] = -3.0 * _exp(-_SQRT3 * np.sqrt(row[j]))


@inner(fastmath={"contract"})
def matern52_slope(degree, row, m):
    """-5 / 3 (1 + t) exp(-t) with t = sqrt(5 s)."""
    for j in range(m):
        t = min(_SQRT5 * np.sqrt(row[j]), _FAR)
        row[j] = -(5.0 / 3.0) * (1.0 + t) * _exp(-t)


@inner(fastmath={"contract"})
def laplacian_slope(degree, row, m):
    """-exp(-s)."""
    for j in range(m):
        row[j] = -_exp(-row[j])


@inner(fastmath={"contract"})
def polynomial_slope(degree, row, m):
    """degree (1 + s)^(degree - 1)."""
    for j in range(m):
        row[j] = degree * _integer_power(1.0 + row[j], degree - 1, 1.0)
