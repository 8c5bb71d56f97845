"""Solves of (T + c I) x = z for a tridiagonal T and many c at once: compiled, or plain where numba is not.

Imported on first use, since numba takes half a second.
"""

from typing import TYPE_CHECKING

from skewridge._validation import compiles

if TYPE_CHECKING or not compiles():
    from skewridge.linalg._tridiagonal_numpy import factorise_shifted, inverse_diagonals, solve_shifted
else:
    from skewridge.linalg._tridiagonal_compiled import factorise_shifted, inverse_diagonals, solve_shifted

__all__ = ["factorise_shifted", "inverse_diagonals", "solve_shifted"]
