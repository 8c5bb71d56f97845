"""Run tasks in order on threads, with one BLAS thread each, and show progress when asked."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")

REPORT_EVERY = 0.5  # seconds between two progress lines
AHEAD = 2  # tasks under way or waiting for each worker: finished results do not pile up

Watcher = Callable[[str, int, int], None]

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@dataclass(frozen=True)
class Job:
    """How to run: on how many threads, and whether to tell how far the work is."""

    n_jobs: int | None = None
    verbose: int = 0


def run(
    task: Callable[[Item], Result], items: Sequence[Item], job: Job | None = None, label: str = ""
) -> Iterator[Result]:
    """Yield task(item) for every item, in order; the first error ends the run and cancels what has not begun.

    BLAS keeps to one thread whatever n_jobs is: two busy pools on two cores are slower than one, and results
    must not depend on the number of threads.

    Examples
    --------
    >>> list(run(abs, [-1, 2, -3], Job(n_jobs=2)))
    [1, 2, 3]
    """
    job = job or Job()
    workers = min(effective_n_jobs(job.n_jobs), max(1, len(items)))
    with one_blas_thread():
        results = _in_threads(task, items, workers) if workers > 1 else map(task, items)
        yield from _reported(results, len(items), label, job.verbose)


class _BlasLimit:
    """One limit for all runs of the process: set by the first that begins, lifted by the last that ends."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limits: Any = None

    def begin(self) -> None:
        import scipy.linalg  # noqa: F401  its BLAS must be loaded before it can be limited

        with self._lock:
            if self._users == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._users += 1

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


_BLAS_LIMIT = _BlasLimit()


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Have a function told what is being run, how much of it is done, and how much there is.

    Examples
    --------
    >>> with watched(lambda label, done, total: print(label, done, total)):
    ...     _ = list(run(abs, [-1, 2], label="numbers"))
    numbers 1 2
    numbers 2 2
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit every BLAS pool of the process to one thread."""
    _BLAS_LIMIT.begin()
    try:
        yield
    finally:
        _BLAS_LIMIT.end()


def _in_threads(task: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    pool, waiting = ThreadPoolExecutor(workers), deque[Future[Result]]()
    try:
        for item in items:
            waiting.append(pool.submit(task, item))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _reported(results: Iterator[Result], total: int, label: str, verbose: int) -> Iterator[Result]:
    """Pass results on and, when verbose, tell stderr how many are done and how long the rest will take."""
    start = shown = time.monotonic()
    watcher = _WATCHER.get()
    for done, result in enumerate(results, 1):
        yield result
        if watcher is not None:
            watcher(label, done, total)
        now = time.monotonic()
        if verbose and (done == total or now - shown >= REPORT_EVERY):
            shown = now
            left = (now - start) / done * (total - done)
            sys.stderr.write(f"[skewridge] {label}: {done}/{total}, {now - start:.1f} s, {left:.1f} s left\n")
