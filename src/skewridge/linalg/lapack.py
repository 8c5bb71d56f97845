"""LAPACK without the GIL.

``scipy.linalg.lapack`` holds the GIL, so two threads in it take turns. The same routines, called through
the C pointers that ``scipy.linalg.cython_lapack`` publishes, run side by side: ctypes releases the GIL.

Matrices are C-ordered float64 arrays (cholesky and cholesky_solve take float32 as well) of which only the lower
triangle is read and written; LAPACK, which thinks in columns, is told that it is the upper one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from skewridge._typing import AnyFloatArray, FloatArray

NOT_FINITE = -1000  # what compiled solves say of a pivot that is not finite; LAPACK's own words are closer to 0
SQUARED_ROWS = 64  # of a triangle that are squared and summed at a time
_BELOW = np.tri(SQUARED_ROWS, dtype=bool)
SINGLE_TOO = "df"  # numpy's letters of float64 and float32
_LETTER = {"d": "d", "f": "s"}  # LAPACK's


class NotPositiveDefinite(np.linalg.LinAlgError):
    """A leading minor of the matrix, of so many rows, is not positive."""

    def __init__(self, message: str, minor: int = 0) -> None:
        super().__init__(message)
        self.minor = minor


def cholesky(a: FloatArray) -> FloatArray:
    """Overwrite the lower triangle of a with L, a = L L'."""
    n = check_square(a, SINGLE_TOO)
    info = ctypes.c_int()
    routine(in_precision("potrf", a.dtype), 5)(b"U", _int(n), _data(a), _int(n), ctypes.byref(info))
    if info.value > 0:
        raise NotPositiveDefinite(f"leading minor {info.value} of {n} is not positive", info.value)
    return a


def cholesky_solve(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Overwrite b with the solution of (L L') x = b; the rows of a two-dimensional b are right-hand sides."""
    n, n_right = check_square(factor, SINGLE_TOO), 1 if b.ndim == 1 else len(b)
    if b.dtype != factor.dtype:
        raise ValueError(f"right-hand sides in the factor's precision, {factor.dtype}, are needed; got {b.dtype}")
    info, potrs = ctypes.c_int(), routine(in_precision("potrs", factor.dtype), 8)
    potrs(b"U", _int(n), _int(n_right), _data(factor), _int(n), _data(b), _int(n), ctypes.byref(info))
    return b


def squared_columns(lower: AnyFloatArray) -> FloatArray:
    """The squared norms of a lower triangle's columns, (n,); of L^-1: diag((L L')^-1)."""
    n = check_square(lower, SINGLE_TOO)
    total = np.zeros(n)
    for top in range(0, n, SQUARED_ROWS):
        rows = lower[top : top + SQUARED_ROWS]
        total[:top] += np.einsum("ij,ij->j", rows[:, :top], rows[:, :top])
        corner = np.where(_BELOW[: len(rows), : len(rows)], rows[:, top : top + SQUARED_ROWS], 0.0)
        total[top : top + SQUARED_ROWS] += np.einsum("ij,ij->j", corner, corner)
    return total


def add_gram(a: FloatArray, columns: FloatArray, factor: float | FloatArray) -> FloatArray:
    """Add C diag(factor) C' to the lower triangle of a, for C of shape (n, k) and factors >= 0.

    The factor is one for all columns, or a (k,) array.
    """
    if np.size(factor) > 1:
        columns, factor = columns * np.sqrt(factor), 1.0
    n, columns = check_square(a), np.ascontiguousarray(columns, dtype=np.float64)
    if columns.ndim != 2 or len(columns) != n:
        raise ValueError(f"columns of {n} rows are needed; got an array of shape {columns.shape}")
    k = columns.shape[1]
    if k:
        alpha, one = (ctypes.byref(ctypes.c_double(np.sum(value))) for value in (factor, 1.0))
        routine("dsyrk", 10, "cython_blas")(
            *(b"U", b"T", _int(n), _int(k), alpha, _data(columns), _int(k), one, _data(a), _int(n)),
        )
    return a


def lower_solve(factor: FloatArray, rows: FloatArray, transpose: bool = False) -> FloatArray:
    """Overwrite every row v of a C-ordered matrix with L^-1 v, or with L'^-1 v."""
    n, one = check_square(factor), ctypes.byref(ctypes.c_double(1.0))
    if not (rows.flags.c_contiguous and rows.dtype == np.float64 and rows.ndim == 2 and rows.shape[1] == n):
        raise ValueError("C-ordered float64 rows as long as the factor's are needed")
    way = b"N" if transpose else b"T"
    routine("dtrsm", 11, "cython_blas")(
        *(b"L", b"U", way, b"N", _int(n), _int(len(rows)), one, _data(factor), _int(n), _data(rows), _int(n)),
    )
    return rows


def congruence(factor: FloatArray, a: FloatArray) -> FloatArray:
    """Return L^-1 a L'^-1 of a symmetric matrix, which is overwritten."""
    n, info = check_square(a), ctypes.c_int()
    routine("dsygst", 8)(
        *(_int(1), b"U", _int(n), _data(a), _int(n), _data(factor), _int(check_square(factor)), ctypes.byref(info)),
    )
    return np.tril(a) + np.tril(a, -1).T


def pivoted_cholesky(a: FloatArray, tolerance: float) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return rows that span a positive semidefinite matrix and the factor L of a[rows][:, rows] = L L'.

    Rows are taken by what the earlier ones leave unexplained of their diagonal, until that is below the tolerance
    times the largest diagonal; at least one row is taken. Only the lower triangle is read, and overwritten.
    """
    n, largest = check_square(a), float(a.diagonal().max(initial=-np.inf))
    if not (np.isfinite(largest) and largest > 0):
        raise NotPositiveDefinite(f"the largest diagonal of {n} is {largest:g}")
    pivots, rank, info, work = np.empty(n, dtype=np.intc), ctypes.c_int(), ctypes.c_int(), np.empty(2 * n)
    routine("dpstrf", 9)(
        *(b"U", _int(n), _data(a), _int(n), ctypes.c_void_p(pivots.ctypes.data), ctypes.byref(rank)),
        *(ctypes.byref(ctypes.c_double(tolerance * largest)), _data(work), ctypes.byref(info)),
    )
    kept = max(1, rank.value)
    return pivots[:kept].astype(np.int64) - 1, lower_triangle(np.ascontiguousarray(a[:kept, :kept]))


def lower_triangle(a: FloatArray) -> FloatArray:
    """Set what is above the diagonal to 0, in place."""
    for i, row in enumerate(a):
        row[i + 1 :] = 0.0
    return a


def lower_square(factor: FloatArray) -> FloatArray:
    """Overwrite a lower triangular L with the lower triangle of L'L."""
    n, info = check_square(factor), ctypes.c_int()
    routine("dlauum", 5)(b"U", _int(n), _data(factor), _int(n), ctypes.byref(info))
    return factor


@dataclass(frozen=True)
class Tridiagonal:
    """a = Q T Q': T by its diagonal and off-diagonal, Q as LAPACK's reflectors, never formed."""

    diagonal: FloatArray
    off: FloatArray
    reflectors: FloatArray
    scales: FloatArray

    def rotate(self, rows: FloatArray, transpose: bool) -> FloatArray:
        """Overwrite every row v of a C-ordered matrix with Q v, or with Q' v."""
        n, info = len(self.diagonal), ctypes.c_int()
        work = np.empty(64 * max(1, len(rows)))
        size, way = _int(n), b"T" if transpose else b"N"
        routine("dormtr", 13)(
            *(b"L", b"U", way, size, _int(len(rows)), _data(self.reflectors), size, _data(self.scales)),
            *(_data(rows), size, _data(work), _int(work.size), ctypes.byref(info)),
        )
        return rows


def tridiagonalise(a: FloatArray) -> Tridiagonal:
    """Reduce a symmetric matrix; overwrites it with the reflectors."""
    n, info = check_square(a), ctypes.c_int()
    d, e, tau, work = np.empty(n), np.empty(max(1, n - 1)), np.empty(max(1, n - 1)), np.empty(64 * n)
    routine("dsytrd", 10)(
        *(b"U", _int(n), _data(a), _int(n), _data(d), _data(e), _data(tau)),
        *(_data(work), _int(work.size), ctypes.byref(info)),
    )
    return Tridiagonal(d, e[: n - 1], a, tau)


def check_square(a: AnyFloatArray, precisions: str = "d") -> int:
    """Return the order of a square, C-ordered matrix in one of the precisions; others are refused."""
    if not (a.flags.c_contiguous and a.dtype.char in precisions and a.ndim == 2 and a.shape[0] == a.shape[1]):
        raise ValueError("a square, C-ordered matrix of float64 (or float32, where that is taken) is needed")
    return len(a)


def _int(value: int) -> object:
    return ctypes.byref(ctypes.c_int(value))


def _data(a: FloatArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)


@cache
def routine(name: str, n_arguments: int, module: str = "cython_lapack") -> Callable[..., None]:
    """Return LAPACK's (or BLAS') routine as a ctypes function, which frees the GIL."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(routine_address(name, module))


def in_precision(name: str, dtype: np.dtype[Any]) -> str:
    """LAPACK's name of a routine in a precision: dpotrf or spotrf."""
    return _LETTER[dtype.char] + name


@cache
def routine_address(name: str, module: str = "cython_lapack") -> int:
    """Return the C pointer that scipy publishes; compiled code calls it."""
    capsule = import_module(f"scipy.linalg.{module}").__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))
