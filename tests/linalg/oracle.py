"""The solves of ``_tridiagonal_compiled`` in plain numpy: the same names, arguments and results.

Loops run over the rows of T, and every step over all shifts at once.
"""

import numpy as np


def factorise_shifted(diagonal, off, shifts, pivots, below):
    """L and D of T + c I for every shift c."""
    pivots[:, 0] = diagonal[0] + shifts
    for m in range(off.size):
        below[:, m] = off[m] / pivots[:, m]
        pivots[:, m + 1] = diagonal[m + 1] + shifts - off[m] * below[:, m]


def solve_shifted(pivots, below, z, solutions):
    """(T + c I)^-1 z for every shift."""
    n = pivots.shape[1]
    u = np.full(len(pivots), z[0])
    solutions[:, 0] = u / pivots[:, 0]
    for m in range(1, n):
        u = z[m] - below[:, m - 1] * u
        solutions[:, m] = u / pivots[:, m]
    for m in range(n - 2, -1, -1):
        solutions[:, m] -= below[:, m] * solutions[:, m + 1]


def inverse_diagonals(pivots, below, basis, out):
    """diag(B' (T + c I)^-1 B) for every shift and the columns of B, (n, m)."""
    forward = np.zeros((len(pivots), basis.shape[1]))
    out[:] = 0.0
    for r in range(pivots.shape[1]):
        forward = basis[r] - below[:, r - 1, None] * forward if r > 0 else basis[r] + forward
        out += forward * forward / pivots[:, r, None]
