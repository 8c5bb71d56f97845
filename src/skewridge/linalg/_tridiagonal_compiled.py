"""How loops are compiled, and compiled solves of (T + c I) x = z for a tridiagonal T and many c at once.

Loops are compiled on first use, kept beside the package, and free of the interpreter's lock. A first fit waits for
that, so nothing is compiled that nobody calls: numba makes two doors into every function, one for Python and one for C.

T + c I = L D L' with a unit bidiagonal L: every c costs O(n) for a solve and O(n) a row for its leverage, where
a dense factorisation costs O(n^3).
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeAlias

import numpy as np
from numba import config, njit

from skewridge import no_collection

if config.DISABLE_JIT:
    raise RuntimeError("skewridge needs loops that numba compiles; unset NUMBA_DISABLE_JIT.")

Given: TypeAlias = Callable[..., tuple[Any, ...]]  # makes arguments of those that Python gives

shared = partial(njit, nogil=True, cache=True, no_cfunc_wrapper=True)  # called by name, and by Python through called
inner = partial(shared, no_cpython_wrapper=True)  # called by compiled code, by name or by address, and never by Python


def loop(given: Given | None = None, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile what Python calls and compiled code does not."""
    return lambda function: called(shared(**options)(function), given)


def called(compiled: Any, given: Given | None = None) -> Callable[..., Any]:
    """Return what calls a compiled function from Python; its first call compiles it."""

    @wraps(compiled.py_func)
    def call(*arguments: Any) -> Any:
        found = arguments if given is None else given(*arguments)
        if compiled.overloads:
            return compiled(*found)
        with no_collection():
            return compiled(*found)

    return call


@loop(fastmath={"contract"})
def solve_shifted(diagonal, off, shifts, rows, solutions):
    """(T + c I)^-1 z for every row z and shift c, (p, P, n); returns D and the subdiagonal of L for every shift."""
    n = diagonal.size
    pivots, below = np.empty((shifts.size, n)), np.zeros((shifts.size, n))
    for p in range(shifts.size):
        shift, own, under = shifts[p], pivots[p], below[p]
        own[0] = diagonal[0] + shift
        for m in range(n - 1):
            under[m] = off[m] / own[m]
            own[m + 1] = diagonal[m + 1] + shift - off[m] * under[m]
        for q in range(len(rows)):
            z, x = rows[q], solutions[q, p]
            u = z[0]
            x[0] = u / own[0]
            for m in range(1, n):
                u = z[m] - under[m - 1] * u
                x[m] = u / own[m]
            for m in range(n - 2, -1, -1):
                x[m] -= under[m] * x[m + 1]
    return pivots, below


@loop(fastmath={"contract"})
def inverse_diagonals(pivots, below, basis, out):
    """diag(B' (T + c I)^-1 B) for every shift and the columns of B, (n, m); every row of B is read once."""
    n_shifts, n = pivots.shape
    m = basis.shape[1]
    forward = np.zeros((n_shifts, m))
    out[:] = 0.0
    for r in range(n):
        for p in range(n_shifts):
            factor = below[p, r - 1] if r > 0 else 0.0
            scale = 1.0 / pivots[p, r]
            row, total = forward[p], out[p]
            for i in range(m):
                t = basis[r, i] - factor * row[i]
                row[i] = t
                total[i] += t * t * scale
