"""Cholesky factors, triangles, inverse factors and ridge paths: LAPACK and BLAS without the GIL.

``scipy.linalg.lapack`` holds the GIL, so two threads in it take turns. The same routines, called through
the C pointers that ``scipy.linalg.cython_lapack`` publishes, run side by side: ctypes releases the GIL.

Matrices are C-ordered float64 or float32 arrays of which only the lower triangle is read and written; LAPACK, which
thinks in columns, is told that it is the upper one.

A ridge path is the solution for every penalty at once. :func:`tridiagonalise` does the O(n^3) work that no penalty
changes, W^1/2 K W^1/2 = Q T Q' with T tridiagonal; a penalty then costs O(n^2). That is a third of an
eigendecomposition and serves a path as well; leverages cost O(n^2) more for every row whose leverage is asked for.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from skewridge._typing import AnyFloatArray, FloatArray, IntArray

Floats = TypeVar("Floats", bound=AnyFloatArray)

NOT_FINITE = -1000  # what compiled solves say of a pivot that is not finite; LAPACK's own words are closer to 0
BLAS = "cython_blas"
SQUARED_ROWS = 64  # of a triangle that are squared and summed at a time
LEAF = 64  # rows that LAPACK inverts
MULTIPLE = 8  # of rows on one side of a split
LEVERAGES_AT_ONCE = 64
_BELOW = np.tri(SQUARED_ROWS, dtype=bool)
_LETTER = {"d": "d", "f": "s"}  # numpy's and LAPACK's letters of float64 and float32
_REAL = {"d": ctypes.c_double, "f": ctypes.c_float}


class NotPositiveDefinite(np.linalg.LinAlgError):
    """A leading minor of the matrix, of so many rows, is not positive."""

    def __init__(self, message: str, minor: int = 0) -> None:
        super().__init__(message)
        self.minor = minor


class Workspace(threading.local):
    """One square matrix for each thread, used again by every system that fits in it."""

    _buffer: FloatArray = np.empty(0)  # a thread's own as soon as it needs one

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """A process that it is sent to begins with an empty one."""
        return Workspace, ()

    def square(self, n: int, dtype: npt.DTypeLike = np.float64) -> FloatArray:
        """Return an uninitialised (n, n) matrix, valid until the next call in this thread."""
        if self._buffer.size < n * n:
            self._buffer = np.empty(0)  # the old one goes before the new one comes: never both
            self._buffer = np.empty(n * n)
        return self._buffer.view(dtype)[: n * n].reshape(n, n)


def cholesky(a: Floats) -> Floats:
    """Overwrite the lower triangle of a with L, a = L L'."""
    n = len(a)
    minor = lapack("potrf", a, b"U", n, a, n)
    if minor > 0:
        raise NotPositiveDefinite(f"leading minor {minor} of {n} is not positive", minor)
    return a


def cholesky_solve(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Overwrite b with the solution of (L L') x = b; the rows of a two-dimensional b are right-hand sides."""
    n = len(factor)
    lapack("potrs", factor, b"U", n, 1 if b.ndim == 1 else len(b), factor, n, b, n)
    return b


def squared_columns(lower: AnyFloatArray) -> FloatArray:
    """The squared norms of a lower triangle's columns, (n,); of L^-1: diag((L L')^-1)."""
    n = check_square(lower)
    total = np.zeros(n)
    for top in range(0, n, SQUARED_ROWS):
        rows = lower[top : top + SQUARED_ROWS]
        total[:top] += np.einsum("ij,ij->j", rows[:, :top], rows[:, :top])
        corner = np.where(_BELOW[: len(rows), : len(rows)], rows[:, top : top + SQUARED_ROWS], 0.0)
        total[top : top + SQUARED_ROWS] += np.einsum("ij,ij->j", corner, corner)
    return total


def add_gram(a: FloatArray, columns: FloatArray, factor: float | FloatArray) -> FloatArray:
    """Add C diag(factor) C' to the lower triangle of a: C (n, k), one factor >= 0 for all columns, or (k,)."""
    if np.size(factor) > 1:
        columns, factor = columns * np.sqrt(factor), 1.0
    n, columns = len(a), np.ascontiguousarray(columns, dtype=a.dtype)
    if columns.ndim != 2 or len(columns) != n:
        raise ValueError(f"columns of {n} rows are needed; got an array of shape {columns.shape}")
    k = columns.shape[1]
    if k:
        lapack("syrk", a, b"U", b"T", n, k, float(np.sum(factor)), columns, k, 1.0, a, n, module=BLAS)
    return a


def _triangular(name: str, factor: FloatArray, rows: FloatArray, transpose: bool = False) -> FloatArray:
    """Overwrite every row v of C-ordered rows, (m, n), with what BLAS makes of v and L; or of v and L'."""
    n = len(factor)
    if rows.ndim != 2 or rows.shape[1] != n:
        raise ValueError("C-ordered float64 rows as long as the factor's are needed")
    way = b"N" if transpose else b"T"
    lapack(name, factor, b"L", b"U", way, b"N", n, len(rows), 1.0, factor, n, rows, n, module=BLAS)
    return rows


lower_solve = partial(_triangular, "trsm")  # L^-1 v, or L'^-1 v
lower_multiply = partial(_triangular, "trmm")  # L v, or L' v


def congruence(factor: FloatArray, a: FloatArray) -> FloatArray:
    """Return L^-1 a L'^-1 of a symmetric matrix, which is overwritten."""
    n = check_square(factor)
    lapack("sygst", a, 1, b"U", n, a, n, factor, n)
    return np.tril(a) + np.tril(a, -1).T


def pivoted_cholesky(a: FloatArray, tolerance: float) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return rows that span a positive semidefinite matrix and the factor L of a[rows][:, rows] = L L'.

    Rows are taken by what the earlier ones leave unexplained of their diagonal, until that is below the tolerance
    times the largest diagonal; at least one row is taken. Only the lower triangle is read, and overwritten.
    """
    n, largest = len(a), float(a.diagonal().max(initial=-np.inf))
    if not (np.isfinite(largest) and largest > 0):
        raise NotPositiveDefinite(f"the largest diagonal of {n} is {largest:g}")
    pivots, rank, work = np.empty(n, dtype=np.intc), np.empty(1, dtype=np.intc), np.empty(2 * n, dtype=a.dtype)
    lapack("pstrf", a, b"U", n, a, n, pivots, rank, tolerance * largest, work)
    kept = max(1, int(rank[0]))
    return pivots[:kept].astype(np.int64) - 1, np.tril(a[:kept, :kept])


def lower_square(factor: FloatArray) -> FloatArray:
    """Overwrite a lower triangular L with the lower triangle of L'L."""
    n = len(factor)
    lapack("lauum", factor, b"U", n, factor, n)
    return factor


def inverse_factor(a: Floats, factorised: bool = False) -> Floats:
    """Overwrite the lower triangle of a = L L' with L^-1; of a factorised a, which holds L already, as well.

    Leave-one-out needs L^-1: diag(a^-1) are its squared column norms, a^-1 is its square. By halves,
    with X_11 the inverse factor of a_11::

        L_21 = a_21 X_11',   X_22 of a_22 - L_21 L_21',   X_21 = -X_22 L_21 X_11

    so that nearly all work is products of matrices. LAPACK's dpotrf and dtrtri have as many operations
    and take 1.5 times as long (1,000 rows) to twice as long (400 rows).

    Examples
    --------
    >>> inverse_factor(np.array([[4.0, 9.0], [2.0, 2.0]]))  # L = [[2, 0], [1, 1]]; above: not touched
    array([[ 0.5,  9. ],
           [-0.5,  1. ]])
    """
    if check_square(a):
        _invert(a, a.ctypes.data, 0, len(a), factorised)
    return a


def _invert(a: AnyFloatArray, start: int, top: int, stop: int, factorised: bool) -> None:
    """Overwrite the rows and columns of a, whose memory starts there, from top to stop with their inverse factor."""
    n, rows, dtype = len(a), stop - top, a.dtype
    stride, upper = _int(n), start + top * (n + 1) * a.itemsize
    if rows <= LEAF:
        info = ctypes.c_int()
        if not factorised:
            _routine("potrf", dtype, 5)(b"U", _int(rows), upper, stride, ctypes.byref(info))
            if info.value > 0:
                minor = top + info.value
                raise NotPositiveDefinite(f"leading minor {minor} of {n} is not positive", minor)
        _routine("trtri", dtype, 6)(b"U", b"N", _int(rows), upper, stride, ctypes.byref(info))
        if info.value > 0:
            raise NotPositiveDefinite(f"pivot {top + info.value} of {n} is 0", top + info.value)
        return
    half = min(rows - 1, -(-rows // (2 * MULTIPLE)) * MULTIPLE)
    first, second = _int(half), _int(rows - half)
    corner = upper + half * n * a.itemsize
    lower = corner + half * a.itemsize
    one, minus = (ctypes.byref(_REAL[dtype.char](value)) for value in (1.0, -1.0))
    trmm, syrk = _routine("trmm", dtype, 11, BLAS), _routine("syrk", dtype, 10, BLAS)
    _invert(a, start, top, top + half, factorised)
    if not factorised:
        trmm(b"L", b"U", b"T", b"N", first, second, one, upper, stride, corner, stride)
        syrk(b"U", b"T", second, first, minus, corner, stride, one, lower, stride)
    _invert(a, start, top + half, stop, factorised)
    trmm(b"L", b"U", b"N", b"N", first, second, minus, upper, stride, corner, stride)
    trmm(b"R", b"U", b"N", b"N", first, second, one, lower, stride, corner, stride)


lower_inverse = partial(inverse_factor, factorised=True)  # L^-1 in the place of L


def inverse_solve(inverse: FloatArray, rows: FloatArray) -> FloatArray:
    """Overwrite every row v of a C-ordered matrix with a^-1 v = L^-T L^-1 v; errs as the condition of L does."""
    for transpose in (False, True):
        lower_multiply(inverse, rows, transpose)
    return rows


def lapack(name: str, a: AnyFloatArray, *arguments: Any, module: str = "cython_lapack") -> int:
    """Call a routine in the precision of a, its square matrix; returns LAPACK's info, of BLAS 0.

    Arguments are letters as bytes, whole numbers, real ones, and C-ordered arrays of integers or of a's precision.
    """
    check_square(a)
    given: list[Any] = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous or value.dtype not in (a.dtype, np.intc):
                raise ValueError(f"C-ordered arrays in the precision of the matrix, {a.dtype}, are needed")
            given.append(value.ctypes.data)
        elif isinstance(value, float):
            given.append(ctypes.byref(_REAL[a.dtype.char](value)))
        else:
            given.append(value if isinstance(value, bytes) else _int(value))
    info = ctypes.c_int()
    given += [ctypes.byref(info)] if module != BLAS else []
    _routine(name, a.dtype, len(given), module)(*given)
    return info.value


def check_square(a: AnyFloatArray) -> int:
    """Return the order of a square, C-ordered matrix of float64 or float32; others are refused."""
    if not (a.flags.c_contiguous and a.dtype.char in _LETTER and a.ndim == 2 and a.shape[0] == a.shape[1]):
        raise ValueError("a square, C-ordered matrix of float64 or float32 is needed")
    return len(a)


@lru_cache(maxsize=1024)
def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


@cache
def _routine(name: str, dtype: np.dtype[Any], n_arguments: int, module: str = "cython_lapack") -> Callable[..., None]:
    """LAPACK's (or BLAS') routine as a ctypes function, which frees the GIL."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(routine_address(name, dtype, module))


@cache
def routine_address(name: str, dtype: np.dtype[Any], module: str = "cython_lapack") -> int:
    """The C pointer that scipy publishes of a routine in a precision, dpotrf or spotrf; compiled code calls it."""
    capsule = import_module(f"scipy.linalg.{module}").__pyx_capi__[_LETTER[dtype.char] + name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))


# A ridge path


@dataclass(frozen=True)
class Tridiagonal:
    """a = Q T Q': T by its diagonal (n,) and off-diagonal (n - 1,), Q as LAPACK's reflectors, never formed."""

    diagonal: FloatArray
    off: FloatArray
    reflectors: FloatArray
    scales: FloatArray

    def rotate(self, rows: FloatArray, transpose: bool) -> FloatArray:
        """Overwrite every row v of a C-ordered matrix with Q v, or with Q' v."""
        n, m, way, Q = len(self.diagonal), len(rows), b"T" if transpose else b"N", self.reflectors
        work = np.empty(64 * max(1, m))
        lapack("ormtr", Q, b"L", b"U", way, n, m, Q, n, self.scales, rows, n, work, work.size)
        return rows


def tridiagonalise(a: FloatArray) -> Tridiagonal:
    """Reduce a symmetric matrix; overwrites it with the reflectors."""
    n = len(a)
    d, e, tau, work = np.empty(n), np.empty(max(1, n - 1)), np.empty(max(1, n - 1)), np.empty(64 * n)
    lapack("sytrd", a, b"U", n, a, n, d, e, tau, work, work.size)
    return Tridiagonal(d, e[: n - 1], a, tau)


@dataclass(frozen=True)
class Path:
    """A node's estimates along P penalties; every array has one row a penalty.

    coef (P, n); residual (P, n), y - f on the node's rows; unexplained (P, m), 1 - A_ii of the rows (m,) asked for, A
    the hat matrix.
    """

    penalties: FloatArray
    coef: FloatArray
    residual: FloatArray
    unexplained: FloatArray
    rows: IntArray

    @property
    def trace(self) -> FloatArray:
        """tr A, the degrees of freedom, (P,); all leverages must have been asked for."""
        return self.residual.shape[1] - self.unexplained.sum(axis=1)

    @property
    def left_out(self) -> FloatArray:
        """y_i minus the node's estimate without row i, r_i / (1 - A_ii), for the rows asked for, (P, m)."""
        return self.residual[:, self.rows] / self.unexplained


def solve_path(
    gram: FloatArray,
    y: FloatArray,
    penalties: FloatArray,
    weights: FloatArray | None = None,
    rows: IntArray | None = None,
) -> Path:
    """Solve a node for every penalty, with the leverages of some rows (None: of all).

    With c = penalty sum w: coef = W^1/2 Q (T + c)^-1 z, residual = c W^-1 coef, 1 - A_ii = c [Q (T + c)^-1 Q']_ii.
    The lower triangle of the gram is read and overwritten; the upper one stays as it is.
    """
    from skewridge.linalg._tridiagonal_compiled import inverse_diagonals, solve_shifted

    n, root = len(y), None if weights is None else np.sqrt(weights)
    if root is not None:
        for i in range(n):
            gram[i, : i + 1] *= root[: i + 1] * root[i]
    T = tridiagonalise(gram)
    z = T.rotate(np.array([y if root is None else root * y]), transpose=True)

    ridge = penalties * (n if weights is None else weights.sum())
    coef = np.empty((len(ridge), n))
    pivots, below = solve_shifted(T.diagonal, T.off, ridge, z, coef[None])
    T.rotate(coef, transpose=False)
    if root is not None:
        coef *= root
    residual = coef * ridge[:, None]
    if weights is not None:
        residual /= weights

    rows = np.arange(n) if rows is None else rows
    leverages = np.empty((len(ridge), len(rows)))
    for start in range(0, len(rows), LEVERAGES_AT_ONCE):
        block = rows[start : start + LEVERAGES_AT_ONCE]
        units = np.zeros((len(block), n))
        units[np.arange(len(block)), block] = 1.0
        basis = np.ascontiguousarray(T.rotate(units, transpose=True).T)  # a unit vector u becomes Q'u
        forms = np.empty((len(ridge), len(block)))
        inverse_diagonals(pivots, below, basis, forms)
        leverages[:, start : start + len(block)] = forms
    return Path(penalties, coef, residual, leverages * ridge[:, None], rows)
