"""Run tasks in order on threads or on another engine, with one BLAS thread each, and show progress when asked."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from joblib import effective_n_jobs

from skewridge.execution.blas import one_blas_thread, one_blas_thread_here
from skewridge.execution.checkpoint import Checkpoint
from skewridge.execution.chunked import RowData, Span
from skewridge.execution.following import advance, carried, is_followed, watcher_here

Item = TypeVar("Item")
Result = TypeVar("Result")

REPORT_EVERY = 0.5  # seconds between two progress lines
AHEAD = 2  # tasks under way or waiting for each worker: finished results do not pile up
SENDING = 1e10  # operations of one thread in the time that another engine takes to be told and to answer


class Engine(Protocol):
    """Somewhere else to run tasks; results come in order, and tasks may be done more than once."""

    def run(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """task(item) for every item."""

    def map_rows(self, task: Callable[..., Any], tables: Sequence[RowData], spans: Sequence[Span]) -> Iterator[Any]:
        """task(rows, ...) for every span of rows."""

    def sum_rows(
        self, task: Callable[..., Any], tables: Sequence[RowData], pieces: Sequence[Sequence[Span]]
    ) -> Iterator[Any]:
        """For every piece, what its spans give, added up."""

    def shuffle(
        self,
        split: Callable[..., Any],
        tables: Sequence[RowData],
        joins: Sequence[Callable[..., Any]],
        n_bytes: Sequence[float],
    ) -> Iterator[Any]:
        """join(pieces), of so many bytes, for every join: split(numbers of joins, rows, ...) gives a piece for each."""

    def take(self, requests: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
        """Some rows of some chunks."""

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """Have delayed values made, and kept where they are made."""

    @property
    def n_threads(self) -> int:
        """Tasks that run at once."""

    @property
    def task_bytes(self) -> float:
        """Memory of a task where there is least."""


_NAMED: ContextVar[tuple[Engine | None, Checkpoint | None] | None] = ContextVar("skewridge", default=None)


@dataclass(frozen=True)
class Job:
    """How to run: on how many threads, whether to tell how far the work is, where else, and what to keep."""

    n_jobs: int | None = None
    verbose: int = 0
    engine: Engine | None = None
    checkpoint: Checkpoint | None = None

    @property
    def here(self) -> Job:
        """The job on the threads of this process, without a checkpoint."""
        return replace(self, engine=None, checkpoint=None)

    @property
    def unkept(self) -> Job:
        """The job without a checkpoint."""
        return replace(self, checkpoint=None)

    def sized(self, n_operations: float) -> Job:
        """The job; on the threads of this process where sending work on rows in memory elsewhere does not pay."""
        if self.engine is None:
            return self
        saved = n_operations * (1 / self.here.n_threads - 1 / self.engine.n_threads)
        return replace(self, engine=None) if saved < SENDING else self

    @property
    def n_threads(self) -> int:
        """Threads of this process that the work is done on."""
        return int(effective_n_jobs(self.n_jobs)) if self.engine is None else 1

    def value(self, name: str, compute: Callable[[], Result]) -> Result:
        """Return the checkpoint's value under a name, or compute it."""
        return compute() if self.checkpoint is None else self.checkpoint.value(name, compute)


def make_job(n_jobs: int | None, verbose: int) -> Job:
    """The job of an estimator, on the engine and with the checkpoint that are in use."""
    return Job(n_jobs, verbose, *(_NAMED.get() or (None, None)))


@contextmanager
def running_on(engine: Engine | None, checkpoint: Checkpoint | None = None) -> Iterator[None]:
    """Have jobs made on an engine, and with a checkpoint; None is the threads of this process."""
    token = _NAMED.set((engine, checkpoint))
    try:
        yield
    finally:
        _NAMED.reset(token)


def engine_is_named() -> bool:
    """Whether an engine was asked for, be it the threads of this process."""
    return _NAMED.get() is not None


def named_engine() -> Engine | None:
    """The engine that was asked for; None is the threads of this process."""
    return (_NAMED.get() or (None, None))[0]


def run(
    task: Callable[[Item], Result],
    items: Iterable[Item],
    job: Job | None = None,
    label: str = "",
    n_items: int | None = None,
) -> Iterator[Result]:
    """Yield task(item) for every item, in order; the first error ends the run and cancels what has not begun.

    BLAS keeps to one thread whatever n_jobs is: two busy pools on two cores are slower than one, and results
    must not depend on the number of threads. Items that have no length come with their number.

    Examples
    --------
    >>> list(run(abs, [-1, 2, -3], Job(n_jobs=2)))
    [1, 2, 3]
    """
    job = job or Job()
    total = len(items) if n_items is None and isinstance(items, Sized) else int(n_items or 0)
    workers = min(job.n_threads, max(1, total))
    with one_blas_thread():
        if job.engine is not None:
            results = job.engine.run(task, items)
        else:
            results = _in_threads(task, items, workers) if workers > 1 else map(task, items)
        yield from reported(results, total, label, job.verbose)


def _in_threads(task: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    pool, waiting, task = (
        ThreadPoolExecutor(workers, initializer=one_blas_thread_here),
        deque[Future[Result]](),
        carried(task),
    )
    try:
        for item in items:
            waiting.append(pool.submit(task, item))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def reported(results: Iterator[Result], total: int, label: str, verbose: int) -> Iterator[Result]:
    """Pass results on and tell how many are done.

    A fit that is followed as a whole counts them as shares of the part under way; else, when
    verbose, stderr is told as well how long the rest will take.
    """
    if is_followed():
        for result in results:
            yield result
            advance(1.0 / max(1, total))
        return
    start = shown = time.monotonic()
    watcher = watcher_here()
    for done, result in enumerate(results, 1):
        yield result
        if watcher is not None:
            watcher(label, done, total)
        now = time.monotonic()
        if verbose and (done == total or now - shown >= REPORT_EVERY):
            shown = now
            left = (now - start) / done * (total - done)
            sys.stderr.write(f"[skewridge] {label}: {done}/{total}, {now - start:.1f} s, {left:.1f} s left\n")
