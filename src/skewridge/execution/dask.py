"""Dask distributed as the engine: work goes to where the rows live, and sums are added up there.

A function travels as bytes inside a task, a recipe that the scheduler can run again; nothing is scattered, so that a
worker that dies takes nothing with it. Which worker does what changes no bit of the result.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from itertools import islice, pairwise
from operator import getitem
from typing import Any

import numpy as np

from skewridge._typing import FloatArray, IntArray
from skewridge._validation import check_choice
from skewridge.execution.blas import one_blas_thread
from skewridge.execution.chunked import RowData, Span, Table
from skewridge.execution.context import current, using
from skewridge.execution.memory import keep_freed, worker_task_bytes
from skewridge.execution.passes import FAN_IN, read_blocks, tree_sum

RETRIES = 2  # of a task that fails
SMALL_BYTES = 1 << 17  # of a function that travels with every task; a larger one is a task's result
AHEAD = 4  # tasks under way or waiting for each thread of the cluster
MOST_BLOCKS = 64  # of one task
GATHERED = 0.3  # of the cluster's memory, for rows on their way to nodes
WAKING = 60.0  # seconds that a cluster without workers is given to start one
SPLIT_ROWS = 1 << 17  # fewest rows that are split at a time, where chunks are smaller


@contextmanager
def use_engine(name: str = "threads", address: Any = None) -> Iterator[None]:
    """Run what is fitted and predicted inside on another engine; results are the same to the last bit.

    Parameters
    ----------
    name : {"threads", "dask"}
        "threads": the threads of this process, ``n_jobs`` of them, which is what happens without this. "dask": the
        workers of a Dask cluster; the driver keeps what has one number a row.
    address : str or cluster, optional
        Of the scheduler, as ``distributed.Client`` takes it. None: the Client that is running.

    Examples
    --------
    >>> from skewridge import DacKernelRidge, use_engine
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(300, 2, random_state=0)
    >>> with use_engine("threads"):  # or "dask", address="tcp://scheduler:8786"
    ...     model = DacKernelRidge(n_nodes=3, random_state=0).fit(X, y)
    """
    if check_choice("name", name, ["threads", "dask"]) == "threads":
        if address is not None:
            raise ValueError(f"engine 'threads' takes no address; got {address!r}. Did you mean 'dask'?")
        with using(engine=None, is_named=True):
            yield
        return
    try:
        from distributed import Client, default_client
    except ImportError as error:
        raise ImportError("use_engine('dask') needs Dask: pip install 'skewridge[dask]'.") from error
    try:
        client = default_client() if address is None else Client(address, set_as_default=False)
    except ValueError as error:
        raise ValueError(
            "use_engine('dask') found no running distributed.Client. Start one, or pass the scheduler's address."
        ) from error
    try:
        with client.as_current(), using(engine=DaskEngine(client), is_named=True):
            yield
    finally:
        if address is not None:
            client.close()


def engine_at_hand() -> DaskEngine | None:
    """The engine that was named, or that of a running Client; none in a worker's task, which would wait for itself."""
    if current().is_named or "distributed" not in sys.modules:
        return current().engine
    from distributed import default_client, get_worker

    try:
        get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        return DaskEngine(default_client())
    except ValueError:
        return None


class DaskEngine:
    """Runs tasks on the workers of a Dask cluster; results come in order, and tasks may be done more than once."""

    def __init__(self, client: Any) -> None:
        self.client = client
        workers = _awake(client)
        self.n_threads = sum(threads for threads, _ in workers)
        self.task_bytes = min(worker_task_bytes(threads, memory) for threads, memory in workers)
        self._all_bytes = sum(memory for _, memory in workers)

    def run(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """task(item) for every item."""
        recipe = self._recipe(task)
        return self._in_order(self._submit(call, recipe, packed(item)) for item in items)

    def map_rows(self, task: Callable[..., Any], tables: Sequence[RowData], spans: Sequence[Span]) -> Iterator[Any]:
        """task(rows, ...) for every span of rows."""
        recipe, size = self._recipe(task), int(np.clip(len(spans) // (AHEAD * self.n_threads), 1, MOST_BLOCKS))
        groups = [spans[first : first + size] for first in range(0, len(spans), size)]
        for results in self._in_order(self._pass(map_blocks, recipe, tables, group) for group in groups):
            yield from results

    def sum_rows(
        self, task: Callable[..., Any], tables: Sequence[RowData], pieces: Sequence[Sequence[Span]]
    ) -> Iterator[Any]:
        """For every piece, what its spans give, added up."""
        recipe, size = self._recipe(task), FAN_IN  # blocks of a task: whole subtrees, and tasks enough for all threads
        n_blocks = sum(len(piece) for piece in pieces)
        while size * FAN_IN <= MOST_BLOCKS and n_blocks >= size * FAN_IN * AHEAD * self.n_threads:
            size *= FAN_IN
        at_once = max(2, AHEAD * self.n_threads * size // max(1, len(pieces[0]))) if pieces else 1

        def total(piece: Sequence[Span]) -> Any:
            groups = [piece[first : first + size] for first in range(0, len(piece), size)]
            parts = [self._pass(sum_blocks, recipe, tables, group) for group in groups]
            while len(parts) > 1:  # level by level of the same tree, so that no worker gathers all of it
                parts = [self._submit(tree_sum, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
            return parts[0]

        return self._in_order((total(piece) for piece in pieces), at_once)

    def shuffle(
        self,
        split: Callable[..., Any],
        tables: Sequence[RowData],
        joins: Sequence[Callable[..., Any]],
        n_bytes: Sequence[float],
    ) -> Iterator[Any]:
        """join(pieces) for every join, with rows split where they are, for as many joins as memory holds at once."""
        recipe, spans = self._recipe(split), whole_chunks(tables[0])
        for numbers in rounds(n_bytes, GATHERED * self._all_bytes, self.n_threads):
            splits = [self._pass(split_block, recipe, tables, [span], numbers) for span in spans]
            pieces = deque([self._submit(getitem, part, place) for part in splits] for place in range(len(numbers)))
            del splits
            calls = (self._submit(join_pieces, packed(joins[number]), pieces.popleft()) for number in numbers)
            yield from self._in_order(calls)

    def take(self, requests: Sequence[tuple[Any, IntArray]]) -> Iterator[FloatArray]:
        """Some rows of some chunks, chunk after chunk; no chunk leaves its worker."""
        return self._in_order(self._submit(take_rows, handle, packed(local)) for handle, local in requests)

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """Have delayed values made, and kept where they are made."""
        futures: list[Any] = self.client.compute(list(values), retries=RETRIES)
        return futures

    def _pass(
        self, function: Callable[..., Any], recipe: Any, tables: Sequence[RowData], spans: Sequence[Span], *more: Any
    ) -> Any:
        """Submit one task on consecutive spans of rows."""
        whole = spans[0][0], spans[-1][1]
        handles: list[list[Any]] = []
        rest: list[Any] = []
        for table in tables:
            if isinstance(table, Table):
                parts = table.parts(whole)
                handles.append([table.chunks[c].handle for c, _, _ in parts])
                rest.append(([(low, high) for _, low, high in parts], table.transforms))
            else:
                handles.append([])
                rest.append(table[slice(*whole)])
        local = [(first - whole[0], last - whole[0]) for first, last in spans]
        return self._submit(function, recipe, handles, packed((rest, local)), *more)

    def _recipe(self, task: Callable[..., Any]) -> Any:
        content = packed(task)
        return content if len(content) <= SMALL_BYTES else self._submit(pickle.loads, content)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.client.submit(function, *arguments, pure=False, retries=RETRIES)

    def _in_order(self, futures: Iterator[Any], at_once: int | None = None) -> Iterator[Any]:
        """Results in the order of the futures, which are made as others are done; an error cancels the others."""
        waiting = deque(islice(futures, at_once or AHEAD * self.n_threads))
        try:
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(islice(futures, 1))
                yield result
        finally:
            if waiting:
                self.client.cancel(list(waiting))


def whole_chunks(X: RowData) -> list[Span]:
    """Rows in spans of whole chunks, several where they are small."""
    edges = X.starts.tolist() if isinstance(X, Table) else [*range(0, len(X), SPLIT_ROWS), len(X)]
    spans = [(edges[0], edges[1])]
    for first, last in pairwise(edges[1:]):
        start = spans[-1][0]
        if last - start <= SPLIT_ROWS:
            spans[-1] = start, last
        else:
            spans.append((first, last))
    return spans


def rounds(n_bytes: Sequence[float], most: float, fewest: int) -> list[list[int]]:
    """Numbers of consecutive things that take at most so much together, or are no more than the fewest."""
    found: list[list[int]] = [[]]
    for number, size in enumerate(n_bytes):
        if len(found[-1]) >= fewest and sum(n_bytes[i] for i in found[-1]) + size > most:
            found.append([])
        found[-1].append(number)
    return found


def _awake(client: Any) -> list[tuple[int, float]]:
    """Threads and memory of every worker; a cluster without any is given a task, for which adaptive ones start some."""

    def sizes(dask_scheduler: Any) -> list[tuple[int, float]]:
        workers = dask_scheduler.workers.values()
        return [(max(1, own.nthreads), float(own.memory_limit or np.inf)) for own in workers]  # no limit is infinite

    workers: list[tuple[int, float]] = client.run_on_scheduler(sizes)
    if workers:
        return workers
    knock = client.submit(int, pure=False)
    try:
        client.wait_for_workers(1, timeout=WAKING)
        return list(client.run_on_scheduler(sizes))
    except TimeoutError as error:
        raise RuntimeError(
            f"The Dask cluster has no workers, and none came within {WAKING:g} s of a task. Start some, as with "
            "cluster.scale(2) or cluster.adapt(minimum=1), or fit inside use_engine('threads')."
        ) from error
    finally:
        knock.cancel()


# Tasks of workers: functions and rows come as bytes, as results of other tasks, or as chunks to read


def packed(value: Any) -> bytes:
    """A value as bytes; functions with what they close over."""
    import cloudpickle

    found: bytes = cloudpickle.dumps(value)
    return found


def at_work(task: Callable[..., Any]) -> Callable[..., Any]:
    """A thread of a worker does a task with one BLAS thread, and uses again what others have freed."""

    @wraps(task)
    def do(*given: Any) -> Any:
        keep_freed()
        with one_blas_thread():
            return task(*given)

    return do


@at_work
def call(recipe: Any, item: bytes) -> Any:
    """task(item)."""
    return _function(recipe)(pickle.loads(item))


@at_work
def map_blocks(recipe: Any, handles: list[list[Any]], rest: bytes) -> list[Any]:
    """task(rows, ...) for every block."""
    return [_function(recipe)(*block) for block in _blocks(handles, rest)]


@at_work
def sum_blocks(recipe: Any, handles: list[list[Any]], rest: bytes) -> Any:
    """Add up the results of blocks."""
    return tree_sum(_function(recipe)(*block) for block in _blocks(handles, rest))


@at_work
def split_block(recipe: Any, handles: list[list[Any]], rest: bytes, numbers: Sequence[int]) -> list[Any]:
    """split(numbers, rows, ...) of one block."""
    pieces: list[Any] = _function(recipe)(numbers, *next(_blocks(handles, rest)))
    return pieces


@at_work
def join_pieces(join: bytes, pieces: list[Any]) -> Any:
    """join(pieces)."""
    return pickle.loads(join)(pieces)


def take_rows(handle: Any, places: bytes) -> FloatArray:
    """Some rows of a chunk."""
    return _whole(handle)[pickle.loads(places)]


@lru_cache(maxsize=8)
def _unpacked(recipe: bytes) -> Any:
    return pickle.loads(recipe)


def _function(recipe: Any) -> Callable[..., Any]:
    """A function that came with the task, or that another task has made."""
    function: Callable[..., Any] = _unpacked(recipe) if isinstance(recipe, bytes) else recipe
    return function


def _whole(handle: Any) -> FloatArray:
    """A chunk's rows: sent as they are, or read here."""
    rows: FloatArray = handle if isinstance(handle, np.ndarray) else handle.read()
    return rows


def _blocks(handles: list[list[Any]], rest: bytes) -> Iterator[tuple[FloatArray, ...]]:
    """The tables' rows block by block: chunks that are read here or were sent, and arrays that came along."""
    known, spans = pickle.loads(rest)

    def rows(own: list[Any], what: Any) -> FloatArray:
        if not own:
            return what
        cuts, transforms = what
        parts = [_whole(handle)[low:high] for handle, (low, high) in zip(own, cuts, strict=True)]
        found = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
        for transform in transforms:
            found = transform(found)
        return found

    return read_blocks([rows(own, what) for own, what in zip(handles, known, strict=True)], spans)
