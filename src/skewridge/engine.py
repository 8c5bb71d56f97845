"""Run tasks in order on threads, with one BLAS thread each, and show progress when asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")

REPORT_EVERY = 0.5  # seconds between two progress lines


def run(
    task: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    n_jobs: int | None = None,
    label: str = "",
    verbose: int = 0,
) -> Iterator[Result]:
    """Yield task(item) for every item, in order; the first error ends the run and cancels what has not begun.

    BLAS keeps to one thread whatever n_jobs is: two busy pools on two cores are slower than one, and results
    must not depend on the number of threads.

    Examples
    --------
    >>> list(run(abs, [-1, 2, -3], n_jobs=2))
    [1, 2, 3]
    """
    workers = min(effective_n_jobs(n_jobs), max(1, len(items)))
    with one_blas_thread():
        results = _in_threads(task, items, workers) if workers > 1 else map(task, items)
        yield from _reported(results, len(items), label, verbose)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit every BLAS pool of the process to one thread."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def _in_threads(task: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[Result]:
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(task, items)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _reported(results: Iterator[Result], total: int, label: str, verbose: int) -> Iterator[Result]:
    """Pass results on and, when verbose, tell stderr how many are done and how long the rest will take."""
    start = shown = time.monotonic()
    for done, result in enumerate(results, 1):
        yield result
        now = time.monotonic()
        if verbose and (done == total or now - shown >= REPORT_EVERY):
            shown = now
            left = (now - start) / done * (total - done)
            sys.stderr.write(f"[skewridge] {label}: {done}/{total}, {now - start:.1f} s, {left:.1f} s left\n")
