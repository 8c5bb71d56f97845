"""How work runs: threads, engine, memory and checkpoint in a context that tasks carry; tasks in order on threads.

What is computed does not depend on it: no algorithm has any of this in its signature, and asks ``current()``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from joblib import effective_n_jobs

from skewridge.execution import blas
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.checkpoint import Checkpoint
from skewridge.execution.chunked import RowData, Table
from skewridge.execution.memory import MACHINE, Budget
from skewridge.execution.progress import STAGE, Stage, followed, stage

if TYPE_CHECKING:
    from skewridge.execution.dask import DaskEngine

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # tasks under way or waiting for each worker: finished results do not pile up
SENDING = 1e10  # operations of one thread in the time that another engine takes to be told and to answer


@dataclass(frozen=True)
class Run:
    """How work runs here; an engine of None that ``is_named`` was asked for: the threads of this process."""

    n_jobs: int | None = None
    engine: DaskEngine | None = None
    is_named: bool = False
    checkpoint: Checkpoint | None = None
    budget: Budget = field(default=MACHINE)

    @property
    def n_threads(self) -> int:
        """Threads of this process that work is done on: one where another engine does it."""
        return int(effective_n_jobs(self.n_jobs)) if self.engine is None else 1

    @property
    def n_workers(self) -> int:
        """Threads that tasks run on, here or elsewhere."""
        return self.n_threads if self.engine is None else self.engine.n_threads

    def value(self, name: str, compute: Callable[[], Result]) -> Result:
        """Return the checkpoint's value under a name, or compute it, with no checkpoint for its parts."""
        if self.checkpoint is None:
            return compute()
        with using(checkpoint=None):
            return self.checkpoint.value(name, compute)


_RUN: ContextVar[Run] = ContextVar("run", default=Run())  # noqa: B039  it is immutable


def current() -> Run:
    """How work runs here."""
    return _RUN.get()


@contextmanager
def using(**changes: Any) -> Iterator[Run]:
    """Run what is inside in another way: fields of ``Run``."""
    token = _RUN.set(replace(_RUN.get(), **changes))
    try:
        yield _RUN.get()
    finally:
        _RUN.reset(token)


@contextmanager
def running(
    n_jobs: int | None = None, verbose: int = 0, memory_limit: float | None = None, **changes: Any
) -> Iterator[Run]:
    """Run an estimator's method as its parameters say, on the engine and with the checkpoint in use, or as changed."""
    with followed(verbose), using(n_jobs=n_jobs, budget=Budget(memory_limit), **changes) as run:
        yield run


def on_threads(n_jobs: int | None = None, rows: RowData | None = None) -> Any:
    """On the threads of this process, so many if it is said, without a checkpoint.

    Light work on rows is done so where they are in memory; those that are read in chunks stay where they are.
    """
    if isinstance(rows, Table):
        return using()
    here: dict[str, Any] = {"engine": None, "checkpoint": None}
    return using(**here) if n_jobs is None else using(**here, n_jobs=n_jobs)


def where_it_pays(n_operations: float) -> Any:
    """Work on rows in memory: on the threads of this process, where sending it elsewhere does not pay."""
    run = _RUN.get()
    if run.engine is None:
        return using()
    saved = n_operations * (1 / effective_n_jobs(run.n_jobs) - 1 / run.engine.n_threads)
    return using(engine=None) if saved < SENDING else using()


def run(
    task: Callable[[Item], Result], items: Iterable[Item], label: str = "", n_items: int | None = None
) -> Iterator[Result]:
    """Yield task(item) for every item, in order; the first error ends the run and cancels what has not begun.

    BLAS keeps to one thread whatever n_jobs is: two busy pools on two cores are slower than one, and results
    must not depend on the number of threads. Items that have no length come with their number.

    Examples
    --------
    >>> with using(n_jobs=2):
    ...     list(run(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    total = len(items) if n_items is None and isinstance(items, Sized) else int(n_items or 0)
    return _run(task, items, total, label, copy_context())


def _run(
    task: Callable[[Item], Result], items: Iterable[Item], total: int, label: str, context: Context
) -> Iterator[Result]:
    """Results of tasks that run as was said where the run was made, whoever asks for them and when."""
    how, around = context.get(_RUN, Run()), context.get(STAGE)
    workers = min(how.n_threads, max(1, total))

    def on_its_share(item: Item) -> Result:
        with stage("", 1.0 / max(1, total)):
            return task(item)

    shares = how.engine is None and around is not None and around.is_filled
    own: Callable[[Item], Result] = on_its_share if shares else task
    in_context: Any = context.run
    results: Iterator[Result]
    with one_blas_thread():
        if how.engine is not None:
            results = how.engine.run(task, items)
        elif workers > 1:
            results = _in_threads(own, items, workers, context)
        else:
            results = map(partial(in_context, own), items)
        for done, result in enumerate(results, 1):  # as `reported` does, a frame less deep
            if around is not None and not shares:
                around.count(label, done, total)
            yield result


def _in_threads(
    task: Callable[[Item], Result], items: Iterable[Item], workers: int, context: Context
) -> Iterator[Result]:
    pool, waiting = ThreadPoolExecutor(workers, initializer=blas.LIMIT.begin_thread), deque[Future[Result]]()
    try:
        for item in items:
            waiting.append(pool.submit(context.copy().run, task, item))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def reported(results: Iterator[Result], total: int, label: str, around: Stage | None) -> Iterator[Result]:
    """Pass results on: each fills its share of the stage around them; outside of stages their number is told."""
    for done, result in enumerate(results, 1):
        if around is not None:
            around.count(label, done, total)
        yield result
