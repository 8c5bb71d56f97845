"""Solves of (T + c I) x = z for a tridiagonal T and many c at once: compiled, or plain where numba is not.

Imported on first use, since numba takes half a second.
"""

from importlib import import_module

from skewridge._validation import compiles

_home = import_module(f"{__package__}._tridiagonal_{'compiled' if compiles() else 'numpy'}")

factorise_shifted = _home.factorise_shifted
solve_shifted = _home.solve_shifted
inverse_diagonals = _home.inverse_diagonals
