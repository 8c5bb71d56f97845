"""The solves of ``_tridiagonal_compiled`` in plain numpy: the same names, arguments and results.

Loops run over the rows of T, and every step over all shifts at once.
"""

import numpy as np


def solve_shifted(diagonal, off, shifts, rows, solutions):
    """(T + c I)^-1 z for every row z and shift c; returns D and the subdiagonal of L."""
    n = diagonal.size
    pivots, below = np.empty((len(shifts), n)), np.zeros((len(shifts), n))
    pivots[:, 0] = diagonal[0] + shifts
    for m in range(off.size):
        below[:, m] = off[m] / pivots[:, m]
        pivots[:, m + 1] = diagonal[m + 1] + shifts - off[m] * below[:, m]
    for z, x in zip(rows, solutions, strict=True):
        u = np.full(len(pivots), z[0])
        x[:, 0] = u / pivots[:, 0]
        for m in range(1, n):
            u = z[m] - below[:, m - 1] * u
            x[:, m] = u / pivots[:, m]
        for m in range(n - 2, -1, -1):
            x[:, m] -= below[:, m] * x[:, m + 1]
    return pivots, below


def inverse_diagonals(pivots, below, basis, out):
    """diag(B' (T + c I)^-1 B) for every shift and the columns of B, (n, m)."""
    forward = np.zeros((len(pivots), basis.shape[1]))
    out[:] = 0.0
    for r in range(pivots.shape[1]):
        forward = basis[r] - below[:, r - 1, None] * forward if r > 0 else basis[r] + forward
        out += forward * forward / pivots[:, r, None]
