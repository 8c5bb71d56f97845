"""Compiled solves of (T + c I) x = z for a tridiagonal T and many c at once.

T + c I = L D L' with a unit bidiagonal L: every c costs O(n) for a solve and O(n) a row for its leverage, where
a dense factorisation costs O(n^3).
"""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, fastmath={"contract"})
def _factorise(diagonal, off, shift, pivots, below):
    """D and the subdiagonal of L, T + shift I = L D L'."""
    pivots[0] = diagonal[0] + shift
    for m in range(off.size):
        below[m] = off[m] / pivots[m]
        pivots[m + 1] = diagonal[m + 1] + shift - off[m] * below[m]


@njit(nogil=True, cache=True, fastmath={"contract"})
def _solve(pivots, below, z, x):
    """Forward and backward substitution."""
    n = pivots.size
    u = z[0]
    x[0] = u / pivots[0]
    for m in range(1, n):
        u = z[m] - below[m - 1] * u
        x[m] = u / pivots[m]
    for m in range(n - 2, -1, -1):
        x[m] -= below[m] * x[m + 1]


@njit(nogil=True, cache=True, fastmath={"contract"})
def solve_shifted(diagonal, off, shifts, basis, z, solutions, inverse_diagonals):
    """For every shift c: (T + c I)^-1 z, and diag(Q (T + c I)^-1 Q') with basis = Q'.

    All shifts go through the rows of the basis together, so that it is read once.
    """
    n, n_shifts = diagonal.size, shifts.size
    pivots, below = np.empty((n_shifts, n)), np.zeros((n_shifts, n))
    for p in range(n_shifts):
        _factorise(diagonal, off, shifts[p], pivots[p], below[p])
        _solve(pivots[p], below[p], z, solutions[p])
    forward = np.zeros((n_shifts, n))
    inverse_diagonals[:] = 0.0
    for m in range(n):
        for p in range(n_shifts):
            factor = below[p, m - 1] if m > 0 else 0.0
            scale = 1.0 / pivots[p, m]
            row, total = forward[p], inverse_diagonals[p]
            for i in range(n):
                t = basis[m, i] - factor * row[i]
                row[i] = t
                total[i] += t * t * scale
