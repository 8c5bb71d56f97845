"""Compiled work on one row: similarities to many points, the kernel's values and slopes of them, and calls by address.

A compiled function that calls another by name is compiled together with it, once more for every caller. The loops of
``_compiled`` get the addresses of these functions as integers, so that they can be cached, and each of these is
compiled once, and only those of the kernels in use: what makes a first fit quick to compile.

The left point comes as ``x``, (d,), the right points feature by feature, (d, m): every inner loop runs over contiguous
memory and is vectorised. None of these raises.
"""

from functools import cache

import numpy as np
from numba import from_dtype, types
from numba.extending import intrinsic, overload

from skewridge import no_collection
from skewridge.linalg._tridiagonal_compiled import inner

GAUSSIAN, MATERN12, MATERN32, MATERN52, LAPLACIAN, POLYNOMIAL, SOBOLEV = range(7)  # as in kernel.KERNELS

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


@inner(fastmath={"contract"})
def squares(x, right, start, stop, row):
    """Squared distances; features come in fours, so that the row is read and written less often."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            t0, t1, t2, t3 = u0 - z0[j], u1 - z1[j], u2 - z2[j], u3 - z3[j]
            row[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
        f += 4
    if f + 2 <= d:
        u0, u1, z0, z1 = x[f], x[f + 1], right[f, start:stop], right[f + 1, start:stop]
        for j in range(m):
            t0, t1 = u0 - z0[j], u1 - z1[j]
            row[j] += t0 * t0 + t1 * t1
        f += 2
    if f < d:
        u0, z0 = x[f], right[f, start:stop]
        for j in range(m):
            t0 = u0 - z0[j]
            row[j] += t0 * t0


@inner(fastmath={"contract"})
def absolutes(x, right, start, stop, row):
    """Absolute distances, features in fours as in squares."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            row[j] += (abs(u0 - z0[j]) + abs(u1 - z1[j])) + (abs(u2 - z2[j]) + abs(u3 - z3[j]))
        f += 4
    for g in range(f, d):
        u0, z0 = x[g], right[g, start:stop]
        for j in range(m):
            row[j] += abs(u0 - z0[j])


@inner(fastmath={"contract"})
def squares_of_two(x, y, right, start, stop, row, other):
    """Squares of two left points at once: what is read of the right points, from memory mostly, serves both."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
        other[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        v0, v1, v2, v3 = y[f], y[f + 1], y[f + 2], y[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            a, b, c, e = z0[j], z1[j], z2[j], z3[j]
            s0, s1, s2, s3 = u0 - a, u1 - b, u2 - c, u3 - e
            t0, t1, t2, t3 = v0 - a, v1 - b, v2 - c, v3 - e
            row[j] += (s0 * s0 + s1 * s1) + (s2 * s2 + s3 * s3)
            other[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
        f += 4
    for g in range(f, d):
        u0, v0, z0 = x[g], y[g], right[g, start:stop]
        for j in range(m):
            s0, t0 = u0 - z0[j], v0 - z0[j]
            row[j] += s0 * s0
            other[j] += t0 * t0


@inner(fastmath={"contract"})
def absolutes_of_two(x, y, right, start, stop, row, other):
    """Absolute distances of two left points at once, as squares_of_two."""
    m, d, f = stop - start, x.size, 0
    for j in range(m):
        row[j] = 0.0
        other[j] = 0.0
    while f + 4 <= d:
        u0, u1, u2, u3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        v0, v1, v2, v3 = y[f], y[f + 1], y[f + 2], y[f + 3]
        z0, z1 = right[f, start:stop], right[f + 1, start:stop]
        z2, z3 = right[f + 2, start:stop], right[f + 3, start:stop]
        for j in range(m):
            a, b, c, e = z0[j], z1[j], z2[j], z3[j]
            row[j] += (abs(u0 - a) + abs(u1 - b)) + (abs(u2 - c) + abs(u3 - e))
            other[j] += (abs(v0 - a) + abs(v1 - b)) + (abs(v2 - c) + abs(v3 - e))
        f += 4
    for g in range(f, d):
        u0, v0, z0 = x[g], y[g], right[g, start:stop]
        for j in range(m):
            row[j] += abs(u0 - z0[j])
            other[j] += abs(v0 - z0[j])


@inner(fastmath={"contract"})
def inner_products(x, right, start, stop, row):
    """Inner products, for the polynomial kernel."""
    m = stop - start
    for j in range(m):
        row[j] = 0.0
    for f in range(x.size):
        u, z = x[f], right[f, start:stop]
        for j in range(m):
            row[j] += u * z[j]


@inner(fastmath={"contract"})
def products_of_minima(x, right, start, stop, row):
    """Products of 1 + the smaller of two features: the sobolev kernel itself."""
    m, one = stop - start, row.dtype.type(1)
    for j in range(m):
        row[j] = 1.0
    for f in range(x.size):
        u, z = x[f], right[f, start:stop]
        for j in range(m):
            row[j] *= one + min(u, z[j])


@inner(fastmath={"contract", "reassoc"})
def weighted_absolutes(x, right, start, row, out):
    """Add sum_j row_j |x_f - z_jf| to every feature's sum; in fours, of which the last may hold its last feature again.

    A second loop for features that are left over would take as long to compile as this one.
    """
    m, last = right.shape[1] - start, x.size - 1
    for f in range(0, x.size, 4):
        f1, f2, f3 = min(f + 1, last), min(f + 2, last), min(f + 3, last)
        u0, u1, u2, u3 = x[f], x[f1], x[f2], x[f3]
        z0, z1, z2, z3 = right[f, start:], right[f1, start:], right[f2, start:], right[f3, start:]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(m):
            w = row[j]
            s0 += w * abs(u0 - z0[j])
            s1 += w * abs(u1 - z1[j])
            s2 += w * abs(u2 - z2[j])
            s3 += w * abs(u3 - z3[j])
        out[f] += s0
        out[f1] += s1 if f + 1 <= last else 0.0
        out[f2] += s2 if f + 2 <= last else 0.0
        out[f3] += s3 if f + 3 <= last else 0.0


@inner(fastmath={"contract", "reassoc"})
def weighted_squares(x, right, start, row, out):
    """Add sum_j row_j (x_f - z_jf)^2 to every feature's sum, as weighted_absolutes."""
    m, last = right.shape[1] - start, x.size - 1
    for f in range(0, x.size, 4):
        f1, f2, f3 = min(f + 1, last), min(f + 2, last), min(f + 3, last)
        u0, u1, u2, u3 = x[f], x[f1], x[f2], x[f3]
        z0, z1, z2, z3 = right[f, start:], right[f1, start:], right[f2, start:], right[f3, start:]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(m):
            w, t0, t1, t2, t3 = row[j], u0 - z0[j], u1 - z1[j], u2 - z2[j], u3 - z3[j]
            s0 += w * (t0 * t0)
            s1 += w * (t1 * t1)
            s2 += w * (t2 * t2)
            s3 += w * (t3 * t3)
        out[f] += s0
        out[f1] += s1 if f + 1 <= last else 0.0
        out[f2] += s2 if f + 2 <= last else 0.0
        out[f3] += s3 if f + 3 <= last else 0.0


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


_LOOPS = {  # what a loop may call: by kernel, or for all others
    "similarity": {
        LAPLACIAN: absolutes,
        POLYNOMIAL: inner_products,
        SOBOLEV: products_of_minima,
        "others": squares,
    },
    "pair": {LAPLACIAN: absolutes_of_two, "others": squares_of_two},
    "moments": {LAPLACIAN: weighted_absolutes, "others": weighted_squares},
    "value": {
        MATERN12: matern12,
        MATERN32: matern32,
        MATERN52: matern52,
        POLYNOMIAL: polynomial,
        SOBOLEV: unchanged,
        "others": exponential,
    },
    "slope": {
        GAUSSIAN: gaussian_slope,
        MATERN12: matern12_slope,
        MATERN32: matern32_slope,
        MATERN52: matern52_slope,
        LAPLACIAN: laplacian_slope,
        POLYNOMIAL: polynomial_slope,
        SOBOLEV: unchanged,
    },
}


@cache
def address_of(kind, code, dtype):  # type: ignore[no-untyped-def]
    """Compile a kernel's row function in a precision, or load what was compiled before, and say where it is."""
    number, whole = from_dtype(np.dtype(dtype)), types.int64
    row, right = types.Array(number, 1, "C"), types.Array(number, 2, "C")
    signature = {
        "similarity": (row, right, whole, whole, row),
        "pair": (row, row, right, whole, whole, row, row),
        "moments": (row, right, whole, row, row),
        "value": (whole, row, whole),
        "slope": (whole, row, whole),
    }[kind]
    choice = _LOOPS[kind]
    function = choice.get(code) or choice["others"]
    with no_collection():
        function.compile(signature)
    compiled = function.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def _calling(*expected):  # type: ignore[no-untyped-def]
    """Return what types and writes the call of a row function; its arrays must be C-ordered and of one precision."""

    def typed(address, *given):  # type: ignore[no-untyped-def]
        arrays = [own for own in given if isinstance(own, types.Array)]
        if any(own.layout != "C" or own.dtype != arrays[0].dtype for own in arrays):
            return None  # numba then says that there is no such call
        arguments = [own if wanted is None else wanted for own, wanted in zip(given, expected, strict=True)]

        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            convention = context.call_conv
            function = convention.get_function_type(types.none, arguments)
            callee = builder.inttoptr(args[0], function.as_pointer())
            convention.call_function(builder, callee, types.none, arguments, args[1:])
            return context.get_dummy_value()

        return types.none(types.intp, *arguments), generate

    return typed


_INTEGER = types.int64
_similarity_call = _calling(None, None, _INTEGER, _INTEGER, None)
_pair_call = _calling(None, None, None, _INTEGER, _INTEGER, None, None)
_profile_call = _calling(_INTEGER, None, _INTEGER)
_moment_call = _calling(None, None, _INTEGER, None, None)


@intrinsic
def call_similarity(typingctx, address, x, right, start, stop, row):  # type: ignore[no-untyped-def]
    """Similarities of x and the right points start..stop, into row."""
    return _similarity_call(address, x, right, start, stop, row)


@intrinsic
def call_distances(typingctx, address, x, y, right, start, stop, row, other):  # type: ignore[no-untyped-def]
    """Distances of x and of y to the right points start..stop, into row and other."""
    return _pair_call(address, x, y, right, start, stop, row, other)


@intrinsic
def call_profile(typingctx, address, degree, row, m):  # type: ignore[no-untyped-def]
    """Turn the first m similarities of a row into kernel values or slopes."""
    return _profile_call(address, degree, row, m)


@intrinsic
def call_moments(typingctx, address, x, right, start, row, out):  # type: ignore[no-untyped-def]
    """Add a row's weighted distances of every feature to out."""
    return _moment_call(address, x, right, start, row, out)
