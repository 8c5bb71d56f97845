"""How loops are compiled: on first use, kept beside the package, free of the interpreter's lock.

A first fit waits for it, so nothing is compiled that nobody calls: numba makes two doors into every function, one for
Python and one for C.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import njit

from skewridge._garbage import no_collection


def inner(**options: Any) -> Any:
    """Compile what compiled code calls, by name or by address, and Python never does."""
    return njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def loop(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile what Python calls and compiled code does not."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return called(shared(**options)(function))

    return decorate


def shared(**options: Any) -> Any:
    """Compile what compiled code calls by name, and Python through :func:`called`."""
    return njit(nogil=True, cache=True, no_cfunc_wrapper=True, **options)


def called(compiled: Any) -> Callable[..., Any]:
    """Return what calls a compiled function from Python; its first call compiles it."""

    @wraps(compiled.py_func)
    def call(*arguments: Any) -> Any:
        if compiled.overloads:
            return compiled(*arguments)
        with no_collection():
            return compiled(*arguments)

    return call
