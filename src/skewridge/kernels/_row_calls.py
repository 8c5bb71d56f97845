"""Calls of compiled row functions by address: what makes a first fit quick to compile.

A compiled function that calls another by name is compiled together with it, once more for every caller. Here a loop
gets the addresses as integers, so that it can be cached, and each row function is compiled once.
"""

from functools import cache

import numpy as np
from numba import from_dtype, types
from numba.extending import intrinsic

from skewridge._garbage import no_collection
from skewridge.kernels import _compiled_distances as distances
from skewridge.kernels import _compiled_profiles as profiles

GAUSSIAN, MATERN12, MATERN32, MATERN52, LAPLACIAN, POLYNOMIAL, SOBOLEV = range(7)

_SIMILARITIES = {
    LAPLACIAN: distances.absolutes,
    POLYNOMIAL: distances.inner_products,
    SOBOLEV: distances.products_of_minima,
}
_PROFILES = {
    GAUSSIAN: profiles.exponential,
    MATERN12: profiles.matern12,
    MATERN32: profiles.matern32,
    MATERN52: profiles.matern52,
    LAPLACIAN: profiles.exponential,
    POLYNOMIAL: profiles.polynomial,
    SOBOLEV: profiles.unchanged,
}
_SLOPES = {
    GAUSSIAN: profiles.gaussian_slope,
    MATERN12: profiles.matern12_slope,
    MATERN32: profiles.matern32_slope,
    MATERN52: profiles.matern52_slope,
    LAPLACIAN: profiles.laplacian_slope,
    POLYNOMIAL: profiles.polynomial_slope,
    SOBOLEV: profiles.unchanged,
}


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


@cache
def _address(function, *signature):  # type: ignore[no-untyped-def]
    """Compile, or load what was compiled before, and say where it is."""
    with no_collection():
        function.compile(signature)
    compiled = function.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def _arrays(dtype):  # type: ignore[no-untyped-def]
    number = from_dtype(np.dtype(dtype))
    return types.Array(number, 1, "C"), types.Array(number, 2, "C")


@cache
def similarity_of(code, dtype):  # type: ignore[no-untyped-def]
    """The address of the kernel's similarities in this precision."""
    row, right = _arrays(dtype)
    function = _SIMILARITIES.get(code, distances.squares)
    return _address(function, row, right, types.int64, types.int64, row)


@cache
def distances_of(code, dtype):  # type: ignore[no-untyped-def]
    """The address of two rows' distances in this precision, for kernels that decay with them."""
    row, right = _arrays(dtype)
    function = distances.absolutes_of_two if code == LAPLACIAN else distances.squares_of_two
    return _address(function, row, row, right, types.int64, types.int64, row, row)


@cache
def profile_of(code, dtype):  # type: ignore[no-untyped-def]
    """The address of the kernel's values from similarities."""
    return _address(_PROFILES[code], types.int64, _arrays(dtype)[0], types.int64)


@cache
def slope_of(code, dtype):  # type: ignore[no-untyped-def]
    """The address of the kernel's slopes from similarities."""
    return _address(_SLOPES[code], types.int64, _arrays(dtype)[0], types.int64)


@cache
def moments_of(code, dtype):  # type: ignore[no-untyped-def]
    """The address of sums of weighted distances, for the gradient of scales."""
    row, right = _arrays(dtype)
    function = distances.weighted_absolutes if code == LAPLACIAN else distances.weighted_squares
    return _address(function, row, right, types.int64, row, row)
