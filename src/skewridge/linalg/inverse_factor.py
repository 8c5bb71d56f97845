"""The inverse of a Cholesky factor, L^-1 of a = L L', in one go.

Leave-one-out needs L^-1: diag(a^-1) are its squared column norms, a^-1 is its square. By halves,
with X_11 the inverse factor of a_11::

    L_21 = a_21 X_11',   X_22 of a_22 - L_21 L_21',   X_21 = -X_22 L_21 X_11

so that nearly all work is products of matrices. LAPACK's dpotrf and dtrtri have as many operations
and take 1.5 times as long (1,000 rows) to twice as long (400 rows). Solving with L goes through
L^-1 here: the error grows with the condition of L, the root of that of a.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, TypeVar

import numpy as np

from skewridge._typing import AnyFloatArray, FloatArray
from skewridge.linalg.lapack import SINGLE_TOO, NotPositiveDefinite, check_square, in_precision, routine

Floats = TypeVar("Floats", bound=AnyFloatArray)

LEAF = 64  # rows that LAPACK inverts
MULTIPLE = 8  # of rows on one side of a split


def inverse_factor(a: Floats) -> Floats:
    """Overwrite the lower triangle of a with L^-1, a = L L'; float64 or float32.

    Raises
    ------
    NotPositiveDefinite
        If a pivot is not positive.

    Examples
    --------
    >>> inverse_factor(np.array([[4.0, 9.0], [2.0, 2.0]]))  # L = [[2, 0], [1, 1]]; above: not touched
    array([[ 0.5,  9. ],
           [-0.5,  1. ]])
    """
    n = check_square(a, SINGLE_TOO)
    if n:
        _Halves(a).invert(0, n)
    return a


def lower_inverse(factor: Floats) -> Floats:
    """Overwrite a lower triangle with its inverse; float64 or float32.

    Examples
    --------
    >>> lower_inverse(np.array([[2.0, 9.0], [1.0, 1.0]]))
    array([[ 0.5,  9. ],
           [-0.5,  1. ]])
    """
    n = check_square(factor, SINGLE_TOO)
    if n:
        _Halves(factor, factorised=True).invert(0, n)
    return factor


def inverse_solve(inverse: FloatArray, rows: FloatArray) -> FloatArray:
    """Overwrite every row v of a C-ordered matrix with a^-1 v = L^-T L^-1 v."""
    for transpose in (False, True):
        lower_multiply(inverse, rows, transpose)
    return rows


def lower_multiply(factor: FloatArray, rows: FloatArray, transpose: bool = False) -> FloatArray:
    """Overwrite every row v of a C-ordered matrix with L v, or with L' v."""
    n = check_square(factor)
    if not (rows.flags.c_contiguous and rows.dtype == np.float64 and rows.ndim == 2 and rows.shape[1] == n):
        raise ValueError("C-ordered float64 rows as long as the factor's are needed")
    way = b"N" if transpose else b"T"
    trmm, one = routine("dtrmm", 11, "cython_blas"), _number(1.0, "d")
    size, factor_at, rows_at = _size(n), factor.ctypes.data, rows.ctypes.data
    trmm(b"L", b"U", way, b"N", size, _size(len(rows)), one, factor_at, size, rows_at, size)
    return rows


class _Halves:
    """Calls of BLAS on parts of one matrix, which it sees as upper triangles of columns."""

    def __init__(self, a: AnyFloatArray, factorised: bool = False) -> None:
        self._factorised = factorised
        self._base, self._n, self._bytes = a.ctypes.data, len(a), a.itemsize
        self._stride = _size(len(a))
        letter = a.dtype.char
        self._one, self._minus = _number(1.0, letter), _number(-1.0, letter)
        self._potrf = routine(in_precision("potrf", a.dtype), 5)
        self._trtri = routine(in_precision("trtri", a.dtype), 6)
        self._trmm = routine(in_precision("trmm", a.dtype), 11, "cython_blas")
        self._syrk = routine(in_precision("syrk", a.dtype), 10, "cython_blas")

    def invert(self, top: int, stop: int) -> None:
        """Overwrite rows and columns from top to stop with their inverse factor."""
        n = stop - top
        if n <= LEAF:
            self._leaf(top, n)
            return
        middle = top + min(n - 1, -(-n // (2 * MULTIPLE)) * MULTIPLE)
        first, second = _size(middle - top), _size(stop - middle)
        upper, corner, lower = self._at(top, top), self._at(middle, top), self._at(middle, middle)
        stride, one, minus = self._stride, self._one, self._minus
        self.invert(top, middle)
        if not self._factorised:
            self._trmm(b"L", b"U", b"T", b"N", first, second, one, upper, stride, corner, stride)
            self._syrk(b"U", b"T", second, first, minus, corner, stride, one, lower, stride)
        self.invert(middle, stop)
        self._trmm(b"L", b"U", b"N", b"N", first, second, minus, upper, stride, corner, stride)
        self._trmm(b"R", b"U", b"N", b"N", first, second, one, lower, stride, corner, stride)

    def _leaf(self, top: int, n: int) -> None:
        info, at, size = ctypes.c_int(), self._at(top, top), _size(n)
        if not self._factorised:
            self._potrf(b"U", size, at, self._stride, ctypes.byref(info))
            self._refuse("leading minor", "not positive", top, info.value)
        self._trtri(b"U", b"N", size, at, self._stride, ctypes.byref(info))
        self._refuse("pivot", "0", top, info.value)

    def _refuse(self, what: str, wrong: str, top: int, info: int) -> None:
        if info > 0:
            raise NotPositiveDefinite(f"{what} {top + info} of {self._n} is {wrong}", top + info)

    def _at(self, row: int, column: int) -> int:
        return int(self._base + (row * self._n + column) * self._bytes)


@cache
def _size(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


@cache
def _number(value: float, letter: str) -> Any:
    return ctypes.byref((ctypes.c_double if letter == "d" else ctypes.c_float)(value))
