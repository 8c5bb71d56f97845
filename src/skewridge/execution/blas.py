"""One BLAS thread for every thread that works, whoever called: bits must not depend on how many there are.

Some libraries keep one number of threads for the process (OpenBLAS with pthreads), others one for
every thread that calls them (OpenBLAS with OpenMP, MKL). The former is set by the first thread that
begins to work and given back by the last that ends; the latter by every thread for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

from threadpoolctl import ThreadpoolController


class BlasLimit:
    """Holds all pools of some BLAS libraries at one thread while somebody works.

    Parameters
    ----------
    pools : threadpoolctl's controllers of the libraries; None finds those of the process, once
    """

    def __init__(self, pools: list[Any] | None = None) -> None:
        self._lock, self._given, self._users = threading.Lock(), pools, 0
        self._before: list[tuple[Any, int]] = []  # pools of the process, and their threads before
        self._here = _Here()

    @cached_property
    def _pools(self) -> tuple[list[Any], list[Any]]:
        """Pools that keep one number of threads for the whole process, and those that keep one for every thread."""
        pools = self._given
        if pools is None:  # looking for them takes milliseconds
            import scipy.linalg  # noqa: F401  its BLAS must be loaded before it can be limited

            pools = ThreadpoolController().select(user_api="blas").lib_controllers
        openmp = [pool for pool in pools if getattr(pool, "threading_layer", "") == "openmp"]
        own = [pool for pool in pools if pool in openmp or pool.internal_api in ("mkl", "blis")]
        return [pool for pool in pools if pool not in own], own

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have one BLAS thread in this thread and, where they share one number of threads, in all."""
        with self._lock:
            shared, _ = self._pools
            if self._users == 0:
                self._before = [(pool, pool.get_num_threads()) for pool in shared]
            for pool in shared:
                if pool.get_num_threads() != 1:
                    _set_threads(pool, 1)
            self._users += 1
        self.begin_thread()
        owner = threading.get_ident()
        try:
            yield
        finally:
            if owner == threading.get_ident():  # a generator that is thrown away may end in another thread
                self._here.depth -= 1
                if self._here.depth == 0:
                    for pool, before in self._here.before:
                        pool.set_num_threads(before)
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    for pool, before in self._before:
                        _set_threads(pool, before, anybody=True)

    def begin_thread(self) -> None:
        """Have one BLAS thread in this thread; one that works for another ends with its work."""
        self._here.depth += 1
        if self._here.depth == 1:
            _, own = self._pools
            self._here.before = [(pool, pool.get_num_threads()) for pool in own]
            for pool in own:
                pool.set_num_threads(1)


class _Here(threading.local):
    """How often a thread began to work, and the threads of its own pools before."""

    depth = 0
    before: list[tuple[Any, int]] = []  # noqa: RUF012  replaced, never changed


def _set_threads(pool: Any, n_threads: int, anybody: bool = False) -> None:
    """Set the threads of the process; later calls of threads that are no users of this limit count if anybody's do.

    threadpoolctl 3.8 lets one thread alone set OpenBLAS, the first that did, and ignores the others.
    """
    release = getattr(pool, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    pool.set_num_threads(n_threads)
    if release is not None and anybody:
        release(force=True)


LIMIT = BlasLimit()


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread: the pools of the process, and those of this thread."""
    return LIMIT.held()
